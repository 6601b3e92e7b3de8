//! The text of PTO programs: from bytes to a syntax tree and back, with every finding placed.
//!
//! The way of a text: [`Source`] holds it, [`parse`] makes a [`Tree`] of it and reports what it could not read,
//! [`view`] reads operations out of the tree, [`print()`] writes the tree in canonical form. All four spellings (PTO-AS,
//! SSA, destination-passing style, with addresses and flags) go through the same lexer, parser and printer: none of them
//! knows what an operation means. [`elaborate()`] does: it makes one [`Program`] of any of them, which
//! [`Program::check`] judges for a target and [`to_text`] writes in any of them.
//!
//! Findings are data ([`Diagnostic`]), whoever makes them; [`diagnostic`] has the renderers for terminals, JSON and SARIF.
//!
//! ```
//! use pto_text::{Source, parse, print, view::Op};
//!
//! let source = Source::new("kernel.pto", "
//!     %d = pto.mgather %m, %i // gather
//!        : (!pto.partition_tensor_view<64x32xf32>, !pto.tile<8x32xi32>) -> !pto.tile<8x32xf32>");
//! let parsed = parse(&source);
//! assert!(parsed.is_clean());
//!
//! let op = Op::all(parsed.tree.root()).next().unwrap();
//! assert_eq!((op.name(), op.operands().len(), op.result_types().len()), ("pto.mgather", 2, 1));
//! assert!(print(&parsed.tree).ends_with("-> !pto.tile<8x32xf32> // gather\n"));
//! ```

mod check;
pub mod diagnostic;
mod elaborate;
mod judge;
mod lexer;
mod parser;
mod printer;
mod regular;
pub mod rules;
mod source;
mod span;
pub mod syntax;
mod token;
pub mod view;
mod write;

pub use diagnostic::{Diagnostic, Label, Levels, suggest};
pub use elaborate::{Program, elaborate, operation_attributes, operation_names, type_at};
pub use judge::{Judgement, fold, judge};
pub use lexer::Lexer;
pub use parser::{MAX_DEPTH, MAX_DIAGNOSTICS, Parse, parse};
pub use printer::print;
pub use source::{Position, Source};
pub use span::Span;
pub use syntax::{Kind, Node, NodeId, Tree};
pub use token::{Token, TokenKind};
pub use write::{Form, to_text, with_constants};
