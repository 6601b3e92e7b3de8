//! PTO programs in editors: a server of the Language Server Protocol.
//!
//! [`serve`] answers one client over a [`Connection`]; [`transport`] makes one of a pair of byte streams, such as
//! standard input and output. What an editor gets:
//!
//! - diagnostics while typing: what `pto check` finds, with the rule's name as the code;
//! - hover: types, byte layouts of tiles, what operations do and on which pipes, what a broken rule means;
//! - definitions of values, aliases and functions; an outline; names completed; the canonical format.
//!
//! The way of a message: [`transport`] reads it, [`serve`] keeps the documents ([`Text`]) up to date and hands requests
//! to one module each. Changes are only noted; a document is judged when no more messages wait, so of many changes in a
//! row only the last is.
//!
//! ```
//! use lsp_server::{Connection, Message, Notification, Request};
//! let (server, client) = Connection::memory();
//! let running = std::thread::spawn(move || pto_lsp::serve(&server));
//! let send = |message: Message| client.sender.send(message).unwrap();
//! send(Request::new(1.into(), "initialize".into(), serde_json::json!({"capabilities": {}})).into());
//! send(Request::new(2.into(), "shutdown".into(), ()).into());
//! send(Notification::new("exit".into(), ()).into());
//! assert_eq!(running.join().unwrap(), pto_lsp::Ended::Orderly);
//! ```

mod attributes;
mod completion;
mod diagnostics;
mod document;
mod format;
mod hover;
mod layout;
mod names;
mod operations;
mod server;
mod symbols;
mod text;
mod transport;

pub use lsp_server::Connection;
pub use server::{Ended, serve};
pub use text::{Encoding, MAX_TEXT, Text};
pub use transport::{MAX_MESSAGE, Transport, transport};
