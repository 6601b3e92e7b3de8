//! Messages over byte streams, read so that nothing a client sends ends the server but the end of the stream.
//!
//! The reader of `lsp-server` gives up at the first message that is no JSON, and allocates what a header asks for. This
//! one answers such a message as JSON-RPC wants it and reads on, and its memory grows with what has arrived.

use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crossbeam_channel::bounded;
use lsp_server::{Connection, ErrorCode, Message};
use serde_json::{Value, json};

/// Bytes of the largest message that is read; larger ones are refused.
pub const MAX_MESSAGE: u64 = 1 << 30;

/// Bytes of the longest header line that is looked at.
const MAX_HEADER: u64 = 4096;

/// Messages that may wait on their way in or out: enough that changes typed during a check arrive together.
const WAITING: usize = 1024;

/// The threads behind a connection.
#[derive(Debug)]
pub struct Transport {
    writer: JoinHandle<io::Result<()>>,
}

impl Transport {
    /// Waits until everything has been written. The connection has to be dropped before.
    ///
    /// # Errors
    ///
    /// What went wrong while writing.
    pub fn finish(self) -> io::Result<()> {
        // The reader may still be waiting for input, which ends with the process.
        self.writer.join().unwrap_or_else(|_| Err(io::Error::other("the writer has panicked")))
    }
}

/// A connection over a pair of byte streams.
///
/// ```
/// let input = b"Content-Length: 33\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}";
/// let (connection, transport) = pto_lsp::transport(&input[..], std::io::sink());
/// assert_eq!(pto_lsp::serve(&connection), pto_lsp::Ended::Abruptly);
/// drop(connection);
/// transport.finish().unwrap();
/// ```
pub fn transport(
    mut input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> (Connection, Transport) {
    let (to_server, receiver) = bounded(WAITING);
    let (sender, from_server) = bounded::<Message>(WAITING);
    let output = Arc::new(Mutex::new(output));
    let refusals = Arc::clone(&output);
    std::thread::spawn(move || {
        while let Ok(Some(body)) = frame(&mut input) {
            match body.and_then(|bytes| message(&bytes)) {
                Ok(message) => {
                    if to_server.send(message).is_err() {
                        break;
                    }
                }
                Err(refusal) => {
                    let mut output = refusals.lock().unwrap_or_else(PoisonError::into_inner);
                    if write_frame(&mut *output, &refusal.answer().to_string()).is_err() {
                        break;
                    }
                }
            }
        }
    });
    let writer = std::thread::spawn(move || {
        for message in from_server {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            message.write(&mut *output)?;
        }
        Ok(())
    });
    (Connection { sender, receiver }, Transport { writer })
}

/// Why a message is not taken.
#[derive(Debug)]
struct Refusal {
    code: ErrorCode,
    /// The message's own, if it could be read.
    id: Value,
    why: String,
}

impl Refusal {
    fn new(code: ErrorCode, why: impl Into<String>) -> Self {
        Self { code, id: Value::Null, why: why.into() }
    }

    fn answer(&self) -> Value {
        json!({"jsonrpc": "2.0", "id": self.id, "error": {"code": self.code as i32, "message": self.why}})
    }
}

/// The body of the next message; `None` at the end of the stream.
fn frame(input: &mut impl BufRead) -> io::Result<Option<Result<Vec<u8>, Refusal>>> {
    let mut length = None;
    let mut wrong = None;
    loop {
        let mut line = Vec::new();
        input.by_ref().take(MAX_HEADER).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches(['\r', '\n']);
        if line.is_empty() {
            break;
        }
        match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse::<u64>().ok();
            }
            Some((name, _)) if name.eq_ignore_ascii_case("content-type") => {}
            _ => wrong = Some("expected the headers Content-Length and Content-Type"),
        }
    }
    let Some(length) = length else {
        let why = wrong.unwrap_or("expected a header Content-Length with the number of bytes");
        return Ok(Some(Err(Refusal::new(ErrorCode::ParseError, why))));
    };
    if length > MAX_MESSAGE {
        io::copy(&mut input.by_ref().take(length), &mut io::sink())?;
        let why = format!("the message has {length} bytes; at most {MAX_MESSAGE} are read");
        return Ok(Some(Err(Refusal::new(ErrorCode::InvalidRequest, why))));
    }
    let mut body = Vec::new();
    input.by_ref().take(length).read_to_end(&mut body)?;
    // A stream that ends inside a message has nobody left to tell.
    Ok((body.len() as u64 == length).then_some(Ok(body)))
}

/// A body as a message.
fn message(body: &[u8]) -> Result<Message, Refusal> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| Refusal::new(ErrorCode::ParseError, format!("the message is not JSON: {error}")))?;
    let id = value.get("id").cloned().unwrap_or(Value::Null);
    let refuse = |why: &str| Refusal { id: id.clone(), ..Refusal::new(ErrorCode::InvalidRequest, why) };
    if !value.is_object() {
        return Err(refuse("expected one request, response or notification"));
    }
    let plausible = id.is_string() || id.as_i64().is_some_and(|id| i32::try_from(id).is_ok());
    if value.get("id").is_some() && !plausible {
        // An answer to something that had no id is not answered again.
        return Err(refuse("expected an id that is a string or a 32-bit integer"));
    }
    if value.get("method").is_some_and(|method| !method.is_string()) {
        return Err(refuse("expected a method that is a string"));
    }
    serde_json::from_value(value).map_err(|_| refuse("expected a request, a response or a notification"))
}

fn write_frame(output: &mut impl Write, text: &str) -> io::Result<()> {
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(body: &str) -> Vec<u8> {
        format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
    }

    #[test]
    fn a_message_that_cannot_be_read_is_answered_and_the_next_one_read() {
        let mut input = Vec::new();
        input.extend(framed("{"));
        input.extend(framed("[]"));
        input.extend(framed(r#"{"id": 1.5, "method": "x"}"#));
        input.extend(framed(r#"{"id": 7, "method": 3}"#));
        input.extend(b"Nonsense\r\n\r\n");
        input.extend(b"Content-Length: many\r\n\r\n");
        input.extend(framed("\u{fe}"));
        input.extend(framed(r#"{"jsonrpc": "2.0", "method": "exit"}"#));
        let mut input = &input[..];
        let mut codes = Vec::new();
        while let Some(body) = frame(&mut input).unwrap() {
            codes.push(body.and_then(|bytes| message(&bytes)).map_err(|refusal| refusal.code as i32));
        }
        let (last, refused) = codes.split_last().unwrap();
        assert!(matches!(last, Ok(Message::Notification(exit)) if exit.method == "exit"));
        let refused: Vec<i32> = refused.iter().map(|code| *code.as_ref().unwrap_err()).collect();
        assert_eq!(refused, [-32700, -32600, -32600, -32600, -32700, -32700, -32700]);
    }

    #[test]
    fn memory_grows_with_what_arrives() {
        // A header that asks for a gigabyte, and nothing behind it.
        let mut input = &b"Content-Length: 1073741824\r\n\r\n{}"[..];
        assert!(frame(&mut input).unwrap().is_none());
        let mut huge = &b"Content-Length: 99999999999\r\n\r\n{}"[..];
        assert!(frame(&mut huge).unwrap().unwrap().is_err());
    }

    #[test]
    fn a_header_without_an_end_is_read_in_pieces() {
        let mut input = &vec![b'x'; 100_000][..];
        assert!(frame(&mut input).unwrap().is_none());
    }
}
