//! The life of a server: from `initialize` to `exit`, one message after the other.
//!
//! Every request is answered, with a result or with an error of the protocol; notifications that are not known are
//! passed over. Nothing a client sends ends the loop but `exit` and the end of its stream.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crossbeam_channel::RecvTimeoutError;
use gen_lsp_types as lsp;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::document::Document;
use crate::text::{Encoding, Text};
use crate::{completion, diagnostics, format, hover, names, symbols};

/// How long a changed document waits for the next change before it is judged.
const PAUSE: Duration = Duration::from_millis(20);

/// How a server came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The client said `shutdown`, then `exit`: the process exits with code 0.
    Orderly,
    /// The client said `exit` alone, or went away: code 1.
    Abruptly,
}

/// What the client can do.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) encoding: Encoding,
    pub(crate) related_information: bool,
    pub(crate) hierarchical_symbols: bool,
    pub(crate) hover_kind: lsp::MarkupKind,
}

impl Client {
    /// Reads what matters here; what a client says otherwise, rightly or wrongly, does not keep it from being served.
    fn new(initialize: &Value) -> Self {
        let capability = |path: &str| initialize.pointer(&format!("/capabilities/{path}")).unwrap_or(&Value::Null);
        let is_listed = |path: &str, name: &str| {
            capability(path).as_array().is_some_and(|list| list.iter().any(|item| item == name))
        };
        let is_true = |path: &str| capability(path) == &Value::Bool(true);
        let utf8 = is_listed("general/positionEncodings", "utf-8");
        let markdown = is_listed("textDocument/hover/contentFormat", "markdown");
        Self {
            encoding: if utf8 { Encoding::Utf8 } else { Encoding::Utf16 },
            related_information: is_true("textDocument/publishDiagnostics/relatedInformation"),
            hierarchical_symbols: is_true("textDocument/documentSymbol/hierarchicalDocumentSymbolSupport"),
            hover_kind: if markdown { lsp::MarkupKind::Markdown } else { lsp::MarkupKind::PlainText },
        }
    }
}

/// Serves one client until it leaves.
pub fn serve(connection: &Connection) -> Ended {
    let mut server =
        Server { connection, client: None, shut_down: false, documents: BTreeMap::new(), pending: BTreeSet::new() };
    loop {
        let message = if server.pending.is_empty() {
            connection.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            connection.receiver.recv_timeout(PAUSE)
        };
        match message {
            Ok(Message::Request(request)) => server.request(request),
            Ok(Message::Notification(exit)) if exit.method == "exit" => {
                return if server.shut_down { Ended::Orderly } else { Ended::Abruptly };
            }
            Ok(Message::Notification(notification)) => server.notification(notification),
            // This server asks nothing.
            Ok(Message::Response(_)) => {}
            Err(RecvTimeoutError::Timeout) => server.publish(),
            Err(RecvTimeoutError::Disconnected) => return Ended::Abruptly,
        }
    }
}

/// Why a request gets no result.
struct Failure {
    code: ErrorCode,
    why: String,
}

type Answer = Result<Value, Failure>;

struct Server<'a> {
    connection: &'a Connection,
    /// Known from `initialize` on.
    client: Option<Client>,
    shut_down: bool,
    /// By their identifiers, which are compared as they are.
    documents: BTreeMap<String, Document>,
    /// Documents that have changed since they were judged.
    pending: BTreeSet<String>,
}

impl Server<'_> {
    fn send(&self, message: impl Into<Message>) {
        // A client that no longer listens is noticed when its stream ends.
        let _ = self.connection.sender.send(message.into());
    }

    fn request(&mut self, request: Request) {
        let Request { id, method, params } = request;
        // A mistake in this program costs one answer, not the session.
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer(&method, params))).unwrap_or_else(|_| {
            Err(Failure { code: ErrorCode::InternalError, why: format!("`{method}` has failed: a bug of pto") })
        });
        self.send(match answer {
            Ok(result) => Response::new_ok(id, result),
            Err(Failure { code, why }) => Response::new_err(id, code as i32, why),
        });
    }

    fn answer(&mut self, method: &str, params: Value) -> Answer {
        let fail = |code, why: &str| Err(Failure { code, why: why.into() });
        if self.shut_down {
            return fail(ErrorCode::InvalidRequest, "the server has been shut down");
        }
        let Some(client) = &self.client else {
            if method != "initialize" {
                return fail(ErrorCode::ServerNotInitialized, "expected `initialize` first");
            }
            let client = Client::new(&params);
            let result = capabilities(&client);
            self.client = Some(client);
            return to_value(result);
        };
        match method {
            "initialize" => fail(ErrorCode::InvalidRequest, "the server has been initialized before"),
            "shutdown" => {
                self.shut_down = true;
                Ok(Value::Null)
            }
            "textDocument/hover" => {
                let params: lsp::HoverParams = read(params)?;
                let (document, offset) = self.at(client, &params.text_document_position_params)?;
                to_value(hover::at(document, offset as u32, client))
            }
            "textDocument/definition" => {
                let params: lsp::DefinitionParams = read(params)?;
                let (document, offset) = self.at(client, &params.text_document_position_params)?;
                let tree = &document.analysis().parsed.tree;
                let found = names::definition(tree, &names::path(tree, offset as u32));
                to_value(found.map(|node| lsp::Location {
                    uri: params.text_document_position_params.text_document.uri,
                    range: document.text.range(node.span(), client.encoding),
                }))
            }
            "textDocument/completion" => {
                let params: lsp::CompletionParams = read(params)?;
                let (document, offset) = self.at(client, &params.text_document_position_params)?;
                to_value(completion::items(document, offset))
            }
            "textDocument/documentSymbol" => {
                let params: lsp::DocumentSymbolParams = read(params)?;
                let document = self.document(&params.text_document.uri)?;
                to_value(symbols::of(document, &params.text_document.uri, client))
            }
            "textDocument/formatting" => {
                let params: lsp::DocumentFormattingParams = read(params)?;
                to_value(format::edits(self.document(&params.text_document.uri)?, client.encoding))
            }
            _ => fail(ErrorCode::MethodNotFound, &format!("`{method}` is not something this server does")),
        }
    }

    fn document(&self, uri: &lsp::Uri) -> Result<&Document, Failure> {
        self.documents
            .get(&uri.0)
            .ok_or_else(|| Failure { code: ErrorCode::InvalidParams, why: format!("`{uri}` is not open") })
    }

    /// The document and the offset that a request is about.
    fn at(&self, client: &Client, place: &lsp::TextDocumentPositionParams) -> Result<(&Document, usize), Failure> {
        let document = self.document(&place.text_document.uri)?;
        Ok((document, document.text.offset(place.position, client.encoding)))
    }

    fn notification(&mut self, notification: Notification) {
        let Notification { method, params } = notification;
        let Some(client) = &self.client else { return };
        let encoding = client.encoding;
        match method.as_str() {
            "textDocument/didOpen" => {
                let Ok(lsp::DidOpenTextDocumentParams { text_document }) = serde_json::from_value(params) else {
                    return;
                };
                let document = Document::new(text_document.text, text_document.version);
                self.pending.insert(text_document.uri.0.clone());
                self.documents.insert(text_document.uri.0, document);
            }
            "textDocument/didChange" => {
                let Ok(params) = serde_json::from_value::<lsp::DidChangeTextDocumentParams>(params) else { return };
                let uri = params.text_document.text_document_identifier.uri.0;
                let Some(document) = self.documents.get_mut(&uri) else { return };
                document.edit(params.text_document.version, |text| {
                    params.content_changes.into_iter().for_each(|one| change(text, one, encoding));
                });
                self.pending.insert(uri);
            }
            "textDocument/didSave" => {
                let Ok(params) = serde_json::from_value::<lsp::DidSaveTextDocumentParams>(params) else { return };
                let uri = params.text_document.uri.0;
                let Some(document) = self.documents.get_mut(&uri) else { return };
                // What was saved is what there is, should the two have come apart.
                if let Some(saved) = params.text.filter(|saved| saved != document.text.as_str()) {
                    let version = document.version;
                    document.edit(version, |text| *text = Text::new(saved));
                    self.pending.insert(uri);
                }
            }
            "textDocument/didClose" => {
                let Ok(params) = serde_json::from_value::<lsp::DidCloseTextDocumentParams>(params) else { return };
                let uri = params.text_document.uri;
                self.pending.remove(&uri.0);
                if self.documents.remove(&uri.0).is_some() {
                    self.publish_list(uri, None, Vec::new());
                }
            }
            _ => {}
        }
    }

    /// Judges the documents that have changed and tells the client what was found.
    fn publish(&mut self) {
        let Some(client) = &self.client else { return };
        for uri in std::mem::take(&mut self.pending) {
            let Some(document) = self.documents.get(&uri) else { continue };
            let uri = lsp::Uri(uri);
            let found = catch_unwind(AssertUnwindSafe(|| diagnostics::of(document, &uri, client)));
            self.publish_list(uri, Some(document.version), found.unwrap_or_default());
        }
    }

    fn publish_list(&self, uri: lsp::Uri, version: Option<i32>, diagnostics: Vec<lsp::Diagnostic>) {
        let params = lsp::PublishDiagnosticsParams { uri, version, diagnostics };
        if let Ok(params) = serde_json::to_value(params) {
            self.send(Notification { method: "textDocument/publishDiagnostics".into(), params });
        }
    }
}

fn change(text: &mut Text, change: lsp::TextDocumentContentChangeEvent, encoding: Encoding) {
    match change {
        lsp::TextDocumentContentChangeEvent::TextDocumentContentChangePartial(part) => {
            let (start, end) = (text.offset(part.range.start, encoding), text.offset(part.range.end, encoding));
            // A text that has grown too large stays as it is; the client's next whole text sets it right.
            text.replace(start.min(end)..start.max(end), &part.text);
        }
        lsp::TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(whole) => {
            *text = Text::new(whole.text);
        }
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Failure> {
    serde_json::from_value(params).map_err(|error| Failure { code: ErrorCode::InvalidParams, why: error.to_string() })
}

fn to_value(result: impl Serialize) -> Answer {
    serde_json::to_value(result).map_err(|error| Failure { code: ErrorCode::InternalError, why: error.to_string() })
}

fn capabilities(client: &Client) -> Value {
    let encoding = match client.encoding {
        Encoding::Utf8 => "utf-8",
        Encoding::Utf16 => "utf-16",
    };
    json!({
        "capabilities": {
            "positionEncoding": encoding,
            // Incremental changes; what is saved is not sent again.
            "textDocumentSync": {"openClose": true, "change": 2, "save": {"includeText": false}},
            "hoverProvider": true,
            "definitionProvider": true,
            "documentSymbolProvider": true,
            "documentFormattingProvider": true,
            "completionProvider": {"triggerCharacters": ["%", ".", "{"]},
        },
        "serverInfo": {"name": "pto", "version": env!("CARGO_PKG_VERSION")},
    })
}
