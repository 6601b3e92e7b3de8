//! Modules, functions, and texts without functions.

use pto_ir::check::rules as program;
use pto_ir::{Dispatch, Function, LaunchAttributes, OpKind, Place, Region, Type};
use pto_isa::Target;

use super::call::{Arg, Call};
use super::control::block_arguments;
use super::name::text_of;
use super::{Elaborator, Free, shorten};
use crate::diagnostic::{Diagnostic, suggest};
use crate::rules;
use crate::span::Span;
use crate::syntax::{Kind, Node};
use crate::view::{Entry, Op, integer};

/// The function of a text that has none.
pub(super) const IMPLICIT: &str = "main";

/// Attributes of modules and functions that say something about the program.
const KNOWN: [&str; 4] = ["pto.target_arch", "pto.dyn_ubuf_size", "pto.dispatch", "pto.kernel_kind"];

/// Names by which texts call the targets.
const TARGETS: [(&str, Target); 6] = [
    ("cpu", Target::Cpu),
    ("a2a3", Target::A2A3),
    ("a2", Target::A2A3),
    ("a3", Target::A2A3),
    ("a5", Target::A5),
    ("host", Target::Host),
];

pub(super) fn empty() -> Function {
    Function {
        name: String::new(),
        private: false,
        launch: LaunchAttributes::default(),
        values: Vec::new(),
        parameters: 0,
        body: Region::default(),
        place: Place::default(),
    }
}

impl<'t> Elaborator<'t> {
    /// The whole text: modules and functions, or operations of one implicit function.
    pub(super) fn file(&mut self, root: Node<'t>, arguments: &[Free<'t>]) {
        let mut loose = Vec::new();
        self.items(root, &mut loose);
        if loose.is_empty() {
            return;
        }
        match self.module.functions.is_empty() {
            true => self.implicit(&loose, arguments),
            false => {
                for op in loose {
                    let message = format!("expected `{}` in a function, found it outside", op.name());
                    self.report(Diagnostic::new(&rules::OPERATION, message).at(op.name_span()));
                }
            }
        }
    }

    fn items(&mut self, block: Node<'t>, loose: &mut Vec<Op<'t>>) {
        for op in Op::all(block) {
            match op.name() {
                "module" | "builtin.module" => {
                    let call = Call::read(op, "");
                    let outer = self.dyn_ub;
                    self.module_attributes(&call.attributes);
                    // The parser bounds how deep modules nest.
                    call.regions.iter().for_each(|region| self.items(*region, loose));
                    self.dyn_ub = outer;
                }
                "func.func" => self.function(&Call::read(op, "")),
                _ => loose.push(op),
            }
        }
    }

    fn module_attributes(&mut self, attributes: &[Entry<'t>]) {
        for entry in attributes {
            match (entry.name(), entry.value) {
                ("pto.target_arch", Some(value)) => self.target(value),
                ("pto.dyn_ubuf_size", Some(value)) => self.dyn_ub = self.byte_count(value).or(self.dyn_ub),
                _ => self.near_known(*entry),
            }
        }
    }

    fn target(&mut self, value: Node<'t>) {
        let name = text_of(value).unwrap_or_default();
        match TARGETS.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name)) {
            // Of nested modules the outermost says it for all.
            Some((_, target)) => self.module.target = self.module.target.or(Some(*target)),
            None => {
                let names = TARGETS.map(|(name, _)| name);
                let message = format!("expected a target, one of {}; found `{}`", names.join(", "), shorten(&name));
                let mut found = Diagnostic::new(&rules::ENUMERATOR, message).at(value.span());
                if let Some(near) = suggest(&name, names) {
                    found = found.with_help(format!("did you mean `{near}`?"));
                }
                self.report(found);
            }
        }
    }

    fn byte_count(&mut self, value: Node<'t>) -> Option<u64> {
        match integer(value).map(u64::try_from) {
            Some(Ok(bytes)) => Some(bytes),
            _ => {
                let message = format!("expected a number of bytes, found `{}`", shorten(value.text()));
                self.report(Diagnostic::new(&rules::NUMBER, message).at(value.span()));
                None
            }
        }
    }

    /// Other dialects may say what they like; a name that is nearly ours is a slip.
    fn near_known(&mut self, entry: Entry<'t>) {
        let name = entry.name();
        if !name.starts_with("pto.") || KNOWN.contains(&name) {
            return;
        }
        if let Some(near) = suggest(name, KNOWN) {
            let message = format!("no attribute is called `{}`", shorten(name));
            let help = format!("did you mean `{near}`?");
            self.report(Diagnostic::new(&rules::ATTRIBUTE, message).at(entry.key.span()).with_help(help));
        }
    }

    fn launch_attributes(&mut self, attributes: &[Entry<'t>]) -> LaunchAttributes {
        let mut launch = LaunchAttributes { dyn_ub: self.dyn_ub, dispatch: Dispatch::default() };
        for entry in attributes {
            match (entry.name(), entry.value) {
                ("pto.dyn_ubuf_size", Some(value)) => launch.dyn_ub = self.byte_count(value).or(launch.dyn_ub),
                ("pto.dispatch", Some(value)) => match text_of(value).as_deref() {
                    Some("direct") => launch.dispatch = Dispatch::Direct,
                    Some("launch") => launch.dispatch = Dispatch::Launch,
                    _ => {
                        let message = format!("expected \"launch\" or \"direct\", found `{}`", shorten(value.text()));
                        self.report(Diagnostic::new(&rules::ENUMERATOR, message).at(value.span()));
                    }
                },
                ("pto.target_arch", Some(value)) => self.target(value),
                _ => self.near_known(*entry),
            }
        }
        launch
    }

    /// `func.func @k(%a: T) attributes {...} { ... }`; a declaration without a body adds nothing to the program.
    fn function(&mut self, call: &Call<'t>) {
        self.wrong = false;
        let Some(body) = call.regions.first().copied() else { return };
        let symbol = call.op.symbol();
        let (name, place) = match (symbol, call.attribute("sym_name").and_then(|entry| entry.value)) {
            (Some((symbol, _)), _) => {
                (symbol.text().trim_start_matches('@').trim_matches('"').to_string(), symbol.span())
            }
            (None, Some(value)) => (text_of(value).unwrap_or_default(), value.span()),
            (None, None) => {
                self.malformed::<()>(call, "expected a name as in `func.func @name`");
                return;
            }
        };
        let declared = symbol.and_then(|(_, arguments)| arguments);
        let parameters: Vec<Arg<'t>> = match declared {
            Some(arguments) => arguments.parameters().map(|(node, ty)| Arg { node, ty }).collect(),
            None => block_arguments(Some(body)),
        };
        self.unique_name(&name, place);
        let visibility = call.attribute("sym_visibility").and_then(|entry| entry.value).and_then(text_of);
        self.begin(name, place.into(), &parameters);
        self.function.private = call.op.has_word("private") || visibility.as_deref() == Some("private");
        self.function.launch = self.launch_attributes(&call.attributes);
        self.function.body = self.region(Some(body), |_| {});
        self.end(call.op.span());
    }

    fn unique_name(&mut self, name: &str, place: Span) {
        // Names are few per file in practice; the table makes hostile files linear too.
        if let Some(first) = self.functions.insert(name.to_string(), place) {
            let found = Diagnostic::new(&program::REDEFINED, format!("`@{}` is defined a second time", shorten(name)));
            self.report(found.at(place).with_label(first, "first defined here"));
        }
    }

    /// Starts a function with its parameters.
    fn begin(&mut self, name: String, place: Place, parameters: &[Arg<'t>]) {
        self.function = Function { name, place, ..empty() };
        self.scope.clear();
        self.ops.clear();
        for parameter in parameters {
            if parameter.node.kind() != Kind::Value {
                let message = format!("expected the name of a parameter, found `{}`", shorten(parameter.node.text()));
                self.report(Diagnostic::new(&rules::OPERANDS, message).at(parameter.node.span()));
                continue;
            }
            let ty = match parameter.ty {
                Some(ty) => self.read_type(ty),
                None => {
                    let message = format!("expected a type for `{}`, found none", parameter.node.text());
                    self.report(Diagnostic::new(&rules::OPERANDS, message).at(parameter.node.span()));
                    self.module.types.intern(Type::Opaque("?".into()))
                }
            };
            self.define(parameter.node, ty);
        }
        self.function.parameters = self.function.values.len();
    }

    fn end(&mut self, span: Span) {
        let function = std::mem::replace(&mut self.function, empty());
        self.module.functions.push(function);
        self.broken.push(self.wrong);
        self.spans.push(span);
    }

    /// A text without functions: `.arg` lines are its parameters.
    fn implicit(&mut self, loose: &[Op<'t>], arguments: &[Free<'t>]) {
        self.wrong = false;
        let directive = |name: &'static str| loose.iter().copied().filter(move |op| op.name() == name);
        let mut parameters: Vec<Arg<'t>> = Vec::new();
        for op in directive(".arg") {
            match op.operands()[..] {
                [node] => parameters.push(Arg { node, ty: op.types().first().copied() }),
                _ => {
                    self.malformed::<()>(&Call::read(op, ""), "expected one name and its type as in `.arg %a : f32`");
                }
            }
        }
        self.fragment = parameters.is_empty() && arguments.is_empty();
        parameters.extend(arguments.iter().map(|free| Arg { node: free.node, ty: free.ty }));
        let heads: Vec<Op<'t>> = directive(".func").collect();
        let symbol = heads.first().and_then(|op| op.symbol()).map(|(symbol, _)| symbol);
        let name = symbol.map_or(IMPLICIT, |symbol| symbol.text().trim_start_matches('@')).to_string();
        let place = symbol.map_or(loose[0].name_span(), Node::span);
        self.begin(name, place.into(), &parameters);
        for free in arguments {
            let message = format!("`{}` is not defined, and taken for an argument", free.node.text());
            let help = format!("declare it: `.arg {} : ...`", free.node.text());
            self.report(Diagnostic::new(&rules::IMPLICIT_ARGUMENT, message).at(free.node.span()).with_help(help));
        }
        for op in directive(".target") {
            match op.body().next() {
                Some(value) => self.target(value),
                None => drop(self.malformed::<()>(&Call::read(op, ""), "expected a target as in `.target \"a5\"`")),
            }
        }
        for op in heads {
            let attributes: Vec<Entry<'t>> = op.attributes().collect();
            self.function.launch = self.launch_attributes(&attributes);
        }
        for op in loose {
            if !matches!(op.name(), ".arg" | ".target" | ".func") {
                self.operation(*op);
            }
        }
        let ends = matches!(self.ops.last().map(|op| &op.kind), Some(OpKind::Return(_)));
        if let Some(last) = loose.last().filter(|_| !ends) {
            // The end of the text is the end of the function.
            self.push(OpKind::Return(Vec::new()), last.name_span());
        }
        self.function.body = Region { ops: std::mem::take(&mut self.ops) };
        // What could not be read may stand anywhere between and around the operations.
        self.end(Span::new(0, u32::MAX));
    }
}
