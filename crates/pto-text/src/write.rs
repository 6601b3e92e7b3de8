//! From a program to text, in any of the four spellings.
//!
//! - `types`: types as each spelling writes them;
//! - `names`: a name for every value;
//! - `define`: which tiles the SSA spellings define by the instruction that writes them;
//! - `ops`: operations;
//! - `constants`: numbers made values, for other tools.
//!
//! What a spelling cannot express is refused with the reason: control flow in PTO-AS, a tile that is written twice in
//! SSA, a tile without an address at level 3, operations outside the instruction set anywhere.

mod constants;
mod define;
mod names;
mod ops;
mod types;

use pto_ir::{
    Attribute, Declaration, Dispatch, Function, LaunchAttributes, Module, OpKind, Place, Region, Type, TypeId, ValueId,
};

use crate::diagnostic::Diagnostic;
use crate::parser::MAX_DIAGNOSTICS;
use crate::rules;
use crate::span::Span;
use crate::syntax::Tree;
pub use constants::with_constants;
use define::Defined;

/// A spelling of the language.
///
/// ```
/// use pto_text::Form;
/// assert_eq!(Form::from_name("ssa"), Some(Form::Ssa));
/// assert_eq!(Form::Level3.name(), "level3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// PTO-AS: one instruction a line, policies as suffixes, no functions.
    As,
    /// Level 1: instructions define their tiles.
    Ssa,
    /// Level 2: tiles are allocated, and written by `outs(...)`.
    Dps,
    /// Level 3: level 2 with every address given.
    Level3,
}

impl Form {
    /// Every spelling.
    pub const ALL: [Self; 4] = [Self::As, Self::Ssa, Self::Dps, Self::Level3];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::As => "as",
            Self::Ssa => "ssa",
            Self::Dps => "dps",
            Self::Level3 => "level3",
        }
    }

    /// The spelling with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }

    /// Whether instructions define the tiles that they write.
    fn defines_tiles(self) -> bool {
        matches!(self, Self::As | Self::Ssa)
    }
}

/// Writes a program in a spelling.
///
/// ```
/// use pto_text::{Form, Source, elaborate, parse, to_text};
/// let text = "
///     .arg %m : !pto.memref<64x32xf32>
///     .arg %i : !pto.tile<8x32xi32>
///     %d = mgather.elem %m, %i : (!pto.memref<64x32xf32>, !pto.tile<8x32xi32>) -> !pto.tile<8x32xf32>";
/// let module = elaborate(&parse(&Source::new("k.pto", text))).module;
/// let dps = to_text(&module, Form::Dps, None).unwrap();
/// assert!(dps.contains("%d = pto.alloc_tile : !pto.tile_buf<vec, 8x32xf32>"));
/// assert!(dps.contains("outs(%d : !pto.tile_buf<vec, 8x32xf32>) {coalesce = #pto<coalesce elem>}"));
/// // Nobody has given the tiles addresses.
/// let refused = to_text(&module, Form::Level3, None).unwrap_err();
/// assert_eq!(refused[0].rule.name, "unsupported.form");
/// ```
///
/// # Errors
///
/// Everything that the spelling cannot express, each with its place in the text that the program came from.
///
/// With the tree of that text, its comments are kept: each before the operation that it stands before or behind.
pub fn to_text(module: &Module, form: Form, comments: Option<&Tree>) -> Result<String, Vec<Diagnostic>> {
    let mut writer = Writer::new(module, form, comments);
    match form {
        Form::As => writer.assembly(),
        _ => writer.module(),
    }
    writer.comments_up_to(u32::MAX);
    if writer.refused.is_empty() { Ok(writer.out) } else { Err(writer.refused) }
}

struct Writer<'m> {
    module: &'m Module,
    function: Option<&'m Function>,
    form: Form,
    out: String,
    depth: usize,
    /// The name of each value of the function being written.
    names: Vec<String>,
    /// How this spelling writes the types, each made once.
    types: types::Spellings,
    defined: Defined,
    comments: Vec<(Span, &'m str)>,
    next_comment: usize,
    refused: Vec<Diagnostic>,
}

impl<'m> Writer<'m> {
    fn new(module: &'m Module, form: Form, tree: Option<&'m Tree>) -> Self {
        let comments = tree.map_or_else(Vec::new, |tree| {
            tree.comments().iter().map(|span| (*span, tree.source().slice(*span))).collect()
        });
        Self {
            module,
            function: None,
            form,
            out: String::new(),
            depth: 0,
            names: Vec::new(),
            types: types::Spellings::default(),
            defined: Defined::default(),
            comments,
            next_comment: 0,
            refused: Vec::new(),
        }
    }

    fn refuse(&mut self, place: Place, message: impl Into<String>) {
        self.refuse_with(Diagnostic::new(&rules::FORM, message).at(place.into()));
    }

    /// Takes note of a reason, as far as reasons are shown.
    fn refuse_with(&mut self, found: Diagnostic) {
        match self.refused.len() {
            0..MAX_DIAGNOSTICS => self.refused.push(found),
            MAX_DIAGNOSTICS => {
                let message = format!("only the first {MAX_DIAGNOSTICS} findings are shown");
                self.refused.push(Diagnostic::new(&rules::TOO_MANY, message));
            }
            _ => {}
        }
    }

    /// Writes the comments that stand before an offset of the original text.
    fn comments_up_to(&mut self, offset: u32) {
        while let Some((span, text)) =
            self.comments.get(self.next_comment).copied().filter(|(span, _)| span.start < offset)
        {
            self.next_comment += 1;
            debug_assert!(span.start <= span.end);
            let text = match text.strip_prefix('#') {
                // Only PTO-AS has comments that begin with `#`.
                Some(rest) => format!("// {}", rest.trim_start_matches('#').trim_start()),
                None => text.to_string(),
            };
            self.line(&text);
        }
    }

    fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn module(&mut self) {
        let target = self.module.target.map(|target| format!("pto.target_arch = \"{target}\""));
        let attributes = dictionary(target.into_iter().collect(), &self.module.attributes);
        let name = self.module.name.as_ref().map_or_else(String::new, |name| format!(" @{}", symbol(name)));
        let module = self.module;
        let places = module.functions.iter().map(|function| function.place.start);
        let declared = module.declarations.iter().map(|declaration| declaration.place.start);
        if let Some(first) = places.chain(declared).min() {
            // What stands before the first function stands before the module, as most files have it.
            self.comments_up_to(first);
        }
        self.line(&format!("module{name}{attributes} {{"));
        self.depth += 1;
        let mut declarations = module.declarations.iter().peekable();
        for function in &module.functions {
            while let Some(one) = declarations.next_if(|one| one.place.start <= function.place.start) {
                self.declaration(one);
            }
            self.comments_up_to(function.place.start);
            self.function(function);
        }
        declarations.for_each(|one| self.declaration(one));
        self.depth -= 1;
        self.line("}");
    }

    fn declaration(&mut self, declaration: &'m Declaration) {
        self.comments_up_to(declaration.place.start);
        let mut types = |ids: &[TypeId]| -> Vec<String> {
            ids.iter().map(|id| self.types.of(&self.module.types, *id, self.form)).collect()
        };
        let (parameters, results) = (types(&declaration.parameters).join(", "), arrow(&types(&declaration.results)));
        let private = if declaration.private { "private " } else { "" };
        let attributes = dictionary(Vec::new(), &declaration.attributes);
        let name = symbol(&declaration.name);
        self.line(&format!("func.func {private}@{name}({parameters}){results}{attributes}"));
    }

    /// Makes ready for a function's values.
    fn enter(&mut self, function: &'m Function) {
        self.function = Some(function);
        self.names = names::of(function);
        for value in &function.values {
            if self.module.types.get(value.ty).is_unknown() {
                self.refuse(value.place, format!("expected a type for `%{}`, found none", value.name));
            }
        }
        self.defined = Defined::default();
        if self.form.defines_tiles() {
            let (defined, refused) = define::defined(function, &self.names);
            self.defined = defined;
            refused.into_iter().for_each(|(place, message)| self.refuse(place, message));
        }
        if self.form == Form::Level3 {
            self.check_addresses(function);
        }
    }

    /// At level 3 every tile has an address.
    fn check_addresses(&mut self, function: &'m Function) {
        let mut unplaced: Vec<ValueId> = function.parameter_ids().collect();
        unplaced.retain(|value| matches!(self.module.types.get(function.value(*value).ty), Type::Tile(_)));
        let mut placed = Vec::new();
        define::for_each_op(&function.body, &mut |op| match op.kind {
            OpKind::AllocTile { result, address: None, .. } => unplaced.push(result),
            OpKind::Assign { tile, .. } => placed.push(tile),
            _ => {}
        });
        placed.sort_unstable();
        for value in unplaced {
            if placed.binary_search(&value).is_err() {
                let message = format!(
                    "expected an address for %{}, as level 3 gives every tile one",
                    self.names[value.0 as usize]
                );
                let found = Diagnostic::new(&rules::FORM, message).at(function.value(value).place.into());
                self.refuse_with(found.with_help("place the tiles first: `pto lower --to level3`"));
            }
        }
    }

    fn function(&mut self, function: &'m Function) {
        self.enter(function);
        let parameters: Vec<String> =
            function.parameter_ids().map(|value| format!("{}: {}", self.name(value), self.type_of(value))).collect();
        let private = if function.private { "private " } else { "" };
        let attributes = dictionary(launch(function.launch), &function.attributes);
        let results: Vec<String> =
            function.results.iter().map(|id| self.types.of(&self.module.types, *id, self.form)).collect();
        let (name, results) = (symbol(&function.name), arrow(&results));
        self.line(&format!("func.func {private}@{name}({}){results}{attributes} {{", parameters.join(", ")));
        self.region(&function.body);
        self.line("}");
    }

    fn region(&mut self, region: &'m Region) {
        self.depth += 1;
        for op in &region.ops {
            self.op(op);
        }
        self.depth -= 1;
    }

    /// PTO-AS: the lines of one function.
    fn assembly(&mut self) {
        let function = match self.module.functions.as_slice() {
            [function] => function,
            [] => return,
            [_, second, ..] => {
                let message =
                    format!("expected one function, as PTO-AS has no way to name them, found `@{}` too", second.name);
                return self.refuse(second.place, message);
            }
        };
        if function.private {
            self.refuse(function.place, "expected a public function: PTO-AS has no private ones");
        }
        if !function.results.is_empty() {
            self.refuse(function.place, "expected a function without results: PTO-AS has no way to name them");
        }
        for declaration in &self.module.declarations {
            let message = format!("expected one function, as PTO-AS declares none, found `@{}` too", declaration.name);
            self.refuse(declaration.place, message);
        }
        self.enter(function);
        if self.module.name.is_some() || !self.module.attributes.is_empty() {
            let name = self.module.name.as_ref().map_or_else(String::new, |name| format!(" @{}", symbol(name)));
            self.line(&format!(".module{name}{}", dictionary(Vec::new(), &self.module.attributes)));
        }
        if let Some(target) = self.module.target {
            self.line(&format!(".target \"{target}\""));
        }
        let attributes = dictionary(launch(function.launch), &function.attributes);
        if function.name != "main" || !attributes.is_empty() {
            self.line(&format!(".func @{}{attributes}", symbol(&function.name)));
        }
        for value in function.parameter_ids() {
            self.comments_up_to(function.value(value).place.start);
            let line = format!(".arg {} : {}", self.name(value), self.type_of(value));
            self.line(&line);
        }
        let returns = |op: &pto_ir::Op| matches!(&op.kind, OpKind::Return(values) if values.is_empty());
        let ops = match function.body.ops.as_slice() {
            // The end of the text is the end of the function, unless it would be taken for an earlier return's.
            [rest @ .., last] if returns(last) && !rest.last().is_some_and(returns) => rest,
            ops => ops,
        };
        ops.iter().for_each(|op| self.op(op));
    }
}

/// `attributes {...}`, or nothing.
fn dictionary(known: Vec<String>, others: &[Attribute]) -> String {
    let other = |attribute: &Attribute| match &attribute.value {
        Some(value) => format!("{} = {value}", attribute.name),
        None => attribute.name.to_string(),
    };
    let all: Vec<String> = known.into_iter().chain(others.iter().map(other)).collect();
    if all.is_empty() { String::new() } else { format!(" attributes {{{}}}", all.join(", ")) }
}

/// `-> T`, `-> (T, U)`, or nothing.
fn arrow(results: &[String]) -> String {
    match results {
        [] => String::new(),
        [one] if !one.starts_with('(') => format!(" -> {one}"),
        several => format!(" -> ({})", several.join(", ")),
    }
}

/// What a function says about its launch, as attributes.
fn launch(launch: LaunchAttributes) -> Vec<String> {
    let size = launch.dyn_ub.map(|bytes| format!("pto.dyn_ubuf_size = {bytes} : i64"));
    let dispatch = (launch.dispatch == Dispatch::Direct).then(|| "pto.dispatch = \"direct\"".to_string());
    [size, dispatch].into_iter().flatten().collect()
}

/// A symbol's name, in quotes if it has to be.
fn symbol(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.');
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts && name.chars().all(plain) {
        return name.into();
    }
    let text: String = name.chars().filter(|c| !matches!(c, '"' | '\\') && !c.is_control()).collect();
    format!("\"{text}\"")
}
