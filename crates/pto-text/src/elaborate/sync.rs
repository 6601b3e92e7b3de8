//! Flags, events, barriers, cache maintenance.

use pto_ir::{Flag, OpKind, Pipe};

use super::call::Call;
use super::name::{Enumerator, word_of};
use super::{Elaborator, count, shorten};
use crate::diagnostic::{Diagnostic, suggest};
use crate::rules;
use crate::syntax::{Kind, Node};

/// The classes of instructions that events are recorded for, and the pipes they run on.
const CLASSES: [(&str, Pipe); 13] = [
    ("TLOAD", Pipe::Mte2),
    ("TSTORE", Pipe::Mte3),
    ("TSTORE_VEC", Pipe::Mte3),
    ("TSTORE_ACC", Pipe::Fix),
    ("TVEC", Pipe::V),
    ("TVECWAIT_EVENT", Pipe::V),
    ("TMOV_M2V", Pipe::V),
    ("TMOV_V2M", Pipe::Mte3),
    ("TMOV_M2L", Pipe::Mte1),
    ("TMOV_M2B", Pipe::Mte1),
    ("TMOV_M2S", Pipe::Fix),
    ("TMATMUL", Pipe::M),
    ("TSCALAR", Pipe::S),
];

impl<'t> Elaborator<'t> {
    /// The three parts of `[from, to, event]`, or of the attributes that the generic form has in their place.
    fn three(&mut self, call: &Call<'t>, keys: [&str; 3]) -> Option<[Node<'t>; 3]> {
        let listed: Vec<Node<'t>> = match call.brackets.first() {
            Some(list) => list.children().collect(),
            None => keys.iter().filter_map(|key| call.attribute(key)?.value).collect(),
        };
        match listed[..] {
            [from, to, event] => Some([from, to, event]),
            _ => {
                let message = format!("expected two pipes and an event, found {}", count(listed.len(), "part"));
                self.malformed(call, message)
            }
        }
    }

    fn event_number(&mut self, node: Node<'t>) -> Option<u8> {
        let word = word_of(node).unwrap_or(node.text());
        let number = word.strip_prefix("EVENT_ID").unwrap_or(word).parse::<u8>();
        match number {
            // Whether there is such an event is judged with the other rules on flags.
            Ok(number) => Some(number),
            Err(_) => {
                let message = format!("expected an event from EVENT_ID0 to EVENT_ID7, found `{}`", shorten(word));
                self.report(Diagnostic::new(&rules::ENUMERATOR, message).at(node.span()));
                None
            }
        }
    }

    pub(super) fn flag(&mut self, call: &Call<'t>, make: fn(Flag) -> OpKind) -> Option<OpKind> {
        let [from, to, event] = self.three(call, ["src_pipe", "dst_pipe", "event_id"])?;
        let (from, to) = (self.take(Pipe::read(from)), self.take(Pipe::read(to)));
        let event = self.event_number(event)?;
        Some(make(Flag { from: from?, to: to?, event }))
    }

    /// Events name classes of instructions; here they are flags between the pipes of those.
    pub(super) fn event(&mut self, call: &Call<'t>, make: fn(Flag) -> OpKind) -> Option<OpKind> {
        let [from, to, event] = self.three(call, ["src_op", "dst_op", "event_id"])?;
        let (from, to) = (self.class(from), self.class(to));
        let event = self.event_number(event)?;
        Some(make(Flag { from: from?, to: to?, event }))
    }

    fn class(&mut self, node: Node<'t>) -> Option<Pipe> {
        let word = word_of(node).unwrap_or(node.text());
        if let Some((_, pipe)) = CLASSES.iter().find(|(name, _)| *name == word) {
            return Some(*pipe);
        }
        if let Some(pipe) = Pipe::from_name(word) {
            return Some(pipe);
        }
        let names = CLASSES.map(|(name, _)| name);
        let message =
            format!("expected a class of instructions, one of {}; found `{}`", names.join(", "), shorten(word));
        let mut found = Diagnostic::new(&rules::ENUMERATOR, message).at(node.span());
        if let Some(near) = suggest(word, names) {
            found = found.with_help(format!("did you mean `{near}`?"));
        }
        self.report(found);
        None
    }

    /// `pto.barrier <PIPE_ALL>`, `#pto.pipe<PIPE_V>`, `["PIPE_V"]`, and without a pipe for all of them.
    pub(super) fn barrier(&mut self, call: &Call<'t>) -> Option<OpKind> {
        let listed = call.brackets.first().and_then(|list| list.child(0));
        let node = call.attribute("pipe").and_then(|entry| entry.value).or(listed);
        match node.or(call.rest.first().copied()) {
            Some(node) => self.take(Pipe::read(node)).map(OpKind::Barrier),
            None => Some(OpKind::Barrier(Pipe::All)),
        }
    }

    /// An operation that names what it works on only by words.
    pub(super) fn plain(&mut self, call: &Call<'t>, op: OpKind) -> Option<OpKind> {
        match call.operands.first() {
            Some(node) if node.kind() == Kind::Value => {
                let message = format!("expected no operand, found `{}`", node.text());
                self.malformed(call, message)
            }
            _ => Some(op),
        }
    }
}
