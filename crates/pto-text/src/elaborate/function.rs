//! Modules, functions, and texts without functions.

use pto_ir::check::rules as program;
use pto_ir::{Attribute, Declaration, Dispatch, Function, LaunchAttributes, OpKind, Place, Region, Type, TypeId};
use pto_isa::Target;

use super::call::{Arg, Call};
use super::control::block_arguments;
use super::name::text_of;
use super::{Elaborator, Free, shorten, table};
use crate::diagnostic::{Diagnostic, suggest};
use crate::rules;
use crate::span::Span;
use crate::syntax::{Kind, Node};
use crate::view::{Arguments, Entry, Op, integer, type_list};

/// The function of a text that has none.
pub(super) const IMPLICIT: &str = "main";

/// Attributes of modules and functions that say something about the program.
const KNOWN: [&str; 4] = ["pto.target_arch", "pto.dyn_ubuf_size", "pto.dispatch", "pto.kernel_kind"];

/// Attributes that the generic form has in the place of syntax.
const SYNTACTIC: [&str; 5] = ["sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs"];

/// Names by which texts call the targets.
const TARGETS: [(&str, Target); 6] = [
    ("cpu", Target::Cpu),
    ("a2a3", Target::A2A3),
    ("a2", Target::A2A3),
    ("a3", Target::A2A3),
    ("a5", Target::A5),
    ("host", Target::Host),
];

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
                    let found = match table::find(op.name()) {
                        Some(_) => {
                            let message = format!("expected `{}` in a function, found it outside", op.name());
                            Diagnostic::new(&rules::OPERATION, message)
                        }
                        None => {
                            let message = format!("`{}` is not part of this instruction set", shorten(op.name()));
                            Diagnostic::new(&program::OP, message)
                        }
                    };
                    self.report(found.at(op.name_span()));
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
                    self.locate(&call.locations);
                    self.module_attributes(&call);
                    // The parser bounds how deep modules nest.
                    call.regions.iter().for_each(|region| self.items(*region, loose));
                    self.dyn_ub = outer;
                }
                "func.func" => self.function(&Call::read(op, "")),
                _ => loose.push(op),
            }
        }
    }

    /// What a module says. Texts with several modules become one, which is called what the first is called.
    fn module_attributes(&mut self, call: &Call<'t>) {
        for entry in &call.attributes {
            match (entry.name(), entry.value) {
                ("pto.target_arch", Some(value)) => self.target(value),
                ("pto.dyn_ubuf_size", Some(value)) => self.dyn_ub = self.byte_count(value).or(self.dyn_ub),
                _ => self.near_known(*entry),
            }
        }
        let kept = self.kept(&call.attributes, &["pto.target_arch", "pto.dyn_ubuf_size"]);
        let named = call.op.body().find(|term| term.kind() == Kind::Symbol);
        let quoted = call.attribute("sym_name").and_then(|entry| entry.value);
        let name = named.map(|symbol| symbol_name(symbol.text()));
        let name = name.or_else(|| quoted.and_then(text_of));
        match self.modules {
            0 => (self.module.name, self.module.attributes) = (name, kept),
            _ => {
                for (node, what) in named.or(quoted).map(|node| (node, "name")).into_iter() {
                    self.leave_out(node, what, node.text());
                }
                for entry in call.attributes.iter().filter(|entry| kept.iter().any(|one| *one.name == *entry.name())) {
                    self.leave_out(entry.node, "attribute", entry.name());
                }
            }
        }
        self.modules += 1;
    }

    /// The attributes that say nothing here, as they are spelt.
    fn kept(&mut self, attributes: &[Entry<'t>], understood: &[&str]) -> Vec<Attribute> {
        let mut kept = Vec::new();
        for entry in attributes {
            let name = entry.name();
            if understood.contains(&name) || SYNTACTIC.contains(&name) {
                continue;
            }
            // The value is everything behind the key: `1 : i32`, `(i32) -> ()`.
            let terms: Vec<Node<'t>> = match entry.value {
                Some(_) => entry.node.children().skip(1).collect(),
                None => Vec::new(),
            };
            match self.reader.spelt(&terms) {
                Some(text) if entry.value.is_some() => {
                    kept.push(Attribute { name: entry.key.text().into(), value: Some(text.into()) });
                }
                Some(_) => kept.push(Attribute { name: entry.key.text().into(), value: None }),
                None => self.leave_out(entry.node, "attribute", name),
            }
        }
        kept
    }

    fn target(&mut self, value: Node<'t>) {
        let name = text_of(value).unwrap_or_default();
        match TARGETS.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name)) {
            Some((_, target)) => match self.module.target {
                Some(first) if first != *target => {
                    let message = format!("expected one target for the whole text, found {target} besides {first}");
                    self.report(
                        Diagnostic::new(&rules::ATTRIBUTE, message)
                            .at(value.span())
                            .with_help("check the modules one by one, each in a file of its own"),
                    );
                }
                _ => self.module.target = Some(*target),
            },
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

    /// `func.func @k(%a: T) attributes {...} { ... }`.
    fn function(&mut self, call: &Call<'t>) {
        self.wrong = false;
        self.locate(&call.locations);
        // The generic form writes a declaration with an empty region.
        let body = call.regions.first().copied().filter(|body| !call.op.is_generic() || !body.is_empty());
        let symbol = call.op.symbol();
        let (name, place) = match (symbol, call.attribute("sym_name").and_then(|entry| entry.value)) {
            (Some((symbol, _)), _) => (symbol_name(symbol.text()), symbol.span()),
            (None, Some(value)) => (text_of(value).unwrap_or_default(), value.span()),
            (None, None) => {
                self.malformed::<()>(call, "expected a name as in `func.func @name`");
                return;
            }
        };
        let declared = symbol.and_then(|(_, arguments)| arguments);
        self.parameter_extras(declared);
        self.unique_name(&name, place);
        let visibility = call.attribute("sym_visibility").and_then(|entry| entry.value).and_then(text_of);
        let private = call.op.has_word("private") || visibility.as_deref() == Some("private");
        let results = self.declared_results(call);
        let understood: &[&str] = &["pto.target_arch", "pto.dyn_ubuf_size", "pto.dispatch"];
        let Some(body) = body else {
            let parameters = self.declared_parameters(call, declared);
            let attributes = self.kept(&call.attributes, &[]);
            let place = place.into();
            let declaration = Declaration { name, private, parameters, results, attributes, place };
            return self.module.declarations.push(declaration);
        };
        let parameters: Vec<Arg<'t>> = match declared {
            Some(arguments) => arguments.parameters().map(|(node, ty)| Arg { node, ty }).collect(),
            None => block_arguments(Some(body)),
        };
        self.begin(name, place.into(), &parameters);
        (self.function.private, self.function.results) = (private, results);
        self.function.launch = self.launch_attributes(&call.attributes);
        self.function.attributes = self.kept(&call.attributes, understood);
        self.function.body = self.region(Some(body), |_| {});
        self.end(call.op.span());
    }

    /// What stands behind the types of parameters.
    fn parameter_extras(&mut self, declared: Option<Arguments<'t>>) {
        let terms = declared.into_iter().flat_map(|arguments| arguments.node().children());
        for term in terms {
            match (term.kind(), term.child(0).map(Node::text)) {
                (Kind::Dict, _) => {
                    for entry in term.children().filter_map(Entry::cast) {
                        self.leave_out(entry.node, "attribute", entry.name());
                    }
                }
                (Kind::Call, Some("loc")) => self.locate(&[term]),
                _ => {}
            }
        }
    }

    /// The types that a function says it returns: behind `->`, or in the generic form in its type.
    fn declared_results(&mut self, call: &Call<'t>) -> Vec<TypeId> {
        let nodes = match function_type(call) {
            Some((_, results)) => results,
            None => call.result_types.clone(),
        };
        nodes.into_iter().map(|node| self.read_type(node)).collect()
    }

    /// The types of a declaration's parameters, which may have names or not.
    fn declared_parameters(&mut self, call: &Call<'t>, declared: Option<Arguments<'t>>) -> Vec<TypeId> {
        let nodes: Vec<Node<'t>> = match (function_type(call), declared) {
            (Some((parameters, _)), _) => parameters,
            (None, Some(arguments)) => arguments.parameters().map(|(node, ty)| ty.unwrap_or(node)).collect(),
            (None, None) => Vec::new(),
        };
        nodes.into_iter().map(|node| self.read_type(node)).collect()
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
        self.function = Function { name, place, ..Function::default() };
        self.scope.clear();
        self.missing.clear();
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
                    self.module.types.intern(Type::unknown())
                }
            };
            self.define(parameter.node, ty);
        }
        self.function.parameters = self.function.values.len();
    }

    fn end(&mut self, span: Span) {
        let function = std::mem::take(&mut self.function);
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
        let name = symbol.map_or_else(|| IMPLICIT.into(), |symbol| symbol_name(symbol.text()));
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
            self.function.attributes =
                self.kept(&attributes, &["pto.target_arch", "pto.dyn_ubuf_size", "pto.dispatch"]);
        }
        for op in directive(".module") {
            self.module_attributes(&Call::read(op, ""));
        }
        for op in loose {
            if !matches!(op.name(), ".arg" | ".target" | ".func" | ".module") {
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

/// A symbol's name without `@` and quotes.
fn symbol_name(text: &str) -> String {
    text.trim_start_matches('@').trim_matches('"').to_string()
}

/// Parameters and results of `function_type = (A, B) -> C`.
fn function_type<'t>(call: &Call<'t>) -> Option<(Vec<Node<'t>>, Vec<Node<'t>>)> {
    let entry = call.attribute("function_type")?;
    let types = |kind: Kind| entry.node.children().skip(1).find(|term| term.kind() == kind);
    let parameters = types(Kind::Paren).map_or_else(Vec::new, |group| group.children().collect());
    Some((parameters, types(Kind::Results).map_or_else(Vec::new, type_list)))
}
