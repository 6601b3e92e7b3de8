//! The rules of the text itself, most of them `parse.*`: each with the texts that explain it.
//!
//! Whether a program means something is judged elsewhere ([`pto_ir::check::rules`], [`pto_isa::rules`]); these rules
//! say whether it can be read and written.

use pto_isa::rule::{Rule, Severity};

macro_rules! rules {
    ($($(#[$doc:meta])* $id:ident = $name:literal, $severity:ident, $summary:literal, $help:literal, $spec:literal;)*) => {
        $($(#[$doc])* pub static $id: Rule = Rule {
            name: $name, severity: Severity::$severity, summary: $summary, help: $help, spec: $spec,
        };)*

        /// Every rule of this module.
        pub static RULES: &[&Rule] = &[$(&$id),*];
    };
}

rules! {
    /// The input is larger than the tool reads.
    FILE_SIZE = "parse.file-size", Error,
        "An input file is smaller than 4 GiB.",
        "Split the program into several files.",
        "Offsets into a text are 32 bits wide; this is a limit of the tool, not of the language.";
    /// The input is not text.
    UTF8 = "parse.utf8", Error,
        "A program is text in UTF-8.",
        "Save the file as UTF-8, or remove the bytes that are shown as U+FFFD.",
        "The language is MLIR text, which is UTF-8 (MLIR Language Reference, \"Notation\").";
    /// A character with which no token begins.
    CHARACTER = "parse.character", Error,
        "Outside strings and comments, only the characters of the language appear.",
        "Remove the character, or put it into a string or a comment.",
        "Names are letters, digits, `_`, `$` and `.`; values begin with `%`, symbols with `@`, types with `!`, attributes with `#`.";
    /// A string without its end.
    STRING = "parse.string", Error,
        "A string ends with `\"` on the line on which it begins.",
        "Close the string; write a line break inside it as `\\n`.",
        "string-literal ::= `\"` [^\"\\n\\f\\v\\r]* `\"` (MLIR Language Reference, \"Common syntax\").";
    /// A number or a dimension list that cannot be read.
    NUMBER = "parse.number", Error,
        "A number is digits, `0x` and hexadecimal digits, or a decimal fraction; dimensions are numbers or `?` joined by `x`, with the element type behind the last `x`.",
        "Separate the number from the name behind it, or complete the dimensions as in `8x?xf32`.",
        "Types: `!pto.tensor_view<?x?xf32>`, `!pto.partition_tensor_view<8x32xf32>` (the language, \"Text\").";
    /// Something else was expected here.
    EXPECTED = "parse.expected", Error,
        "Every part of an operation stands where its syntax wants it.",
        "Write what the message expects, or remove what was found.",
        "Operations are written `%r = dialect.op operands {attributes} : types -> types`, `dialect.op ins(...) outs(...)`, `\"dialect.op\"(...)`, or as a PTO-AS line.";
    /// A line that is not an operation.
    OPERATION = "parse.operation", Error,
        "Where an operation may stand, an operation stands: results and `=` if it has any, then its name.",
        "Begin with the operation's name (`pto.mgather`, `mscatter.row`, `\"pto.tscatter\"`), or with `%result =` before it.",
        "operation ::= op-result-list? (generic-operation | custom-operation) trailing-location? (MLIR Language Reference).";
    /// A type was expected here.
    TYPE = "parse.type", Error,
        "Behind `:` and `->` stand types.",
        "Write a type such as `f32`, `index`, `!pto.tile_buf<vec, 8x32xf32>`, or a list of types in parentheses.",
        "Types: `!pto.ptr<f32>`, `!pto.tile_buf<...>`, `!pto.tile<...>`, `!pto.memref<...>`, `!pto.group<...>`, element types f32 f16 bf16 i8 ... index (the language, \"Text\").";
    /// A bracket that nothing closes.
    UNCLOSED = "parse.unclosed", Error,
        "Every `(`, `[`, `{` and `<` is closed, in the order opposite to their opening.",
        "Add the closing bracket that is missing.",
        "Brackets nest (MLIR Language Reference, \"Common syntax\").";
    /// A closing bracket that nothing opened.
    UNMATCHED = "parse.unmatched", Error,
        "Every `)`, `]`, `}` and `>` closes something.",
        "Remove the bracket, or add the one that opens it.",
        "Brackets nest (MLIR Language Reference, \"Common syntax\").";
    /// Brackets inside brackets, too many.
    NESTING = "parse.nesting", Error,
        "Brackets and regions nest at most 256 deep.",
        "Give inner types or attributes a name with an alias, and move inner regions into functions of their own.",
        "A limit of the tool: it keeps hostile files from exhausting the stack.";
    /// A gap of the documentation that was not filled in.
    PLACEHOLDER = "parse.placeholder", Error,
        "A program names concrete types and values; `...` stands for one only in documentation.",
        "Replace `...` by what it stands for, for example `!pto.tile_buf<vec, 8x32xf32>`.",
        "The forms on the instruction pages leave `...` where a program has concrete types.";
    /// A type of the dialect without its `!`.
    MISSING_BANG = "parse.missing-bang", Warning,
        "A type of the dialect begins with `!`.",
        "Write `!` before the type's name; `pto fmt` does it for you.",
        "A `pto.tile<...>` without `!`, as in the MGATHER page, is read with a warning (the language, \"Text\").";
    /// One attribute given twice.
    DUPLICATE_KEY = "parse.duplicate-key", Error,
        "A dictionary gives every attribute once.",
        "Remove one of the two.",
        "attribute-dict entries have distinct names (MLIR Language Reference, \"Attributes\").";
    /// An alias that nothing defines.
    UNKNOWN_ALIAS = "parse.unknown-alias", Error,
        "`!name` and `#name` without a dialect stand for an alias that the file defines.",
        "Define it at the top of the file (`!name = ...`, `#name = ...`), or write the dialect's name before it. A comment needs a blank behind its `#`.",
        "type-alias-def ::= `!` alias-name `=` type; attribute-alias-def ::= `#` alias-name `=` attribute-value (MLIR Language Reference).";
    /// One alias defined twice.
    DUPLICATE_ALIAS = "parse.duplicate-alias", Error,
        "An alias is defined once.",
        "Remove or rename one of the two definitions.",
        "type-alias-def ::= `!` alias-name `=` type; attribute-alias-def ::= `#` alias-name `=` attribute-value (MLIR Language Reference).";
    /// An operation has parts that do not fit.
    OPERANDS = "parse.operands", Error,
        "An operation has the operands, types and results that its form wants, no more and no fewer.",
        "Add what the message misses, or remove what is too much, so that the operation has one of its forms.",
        "Forms: `pto.mscatter ins(%src, %idx : A, B) outs(%mem : C)`, `%dst = pto.mgather %mem, %idx : (A, B) -> C` (the language, \"Text\").";
    /// An attribute or keyword that an operation does not take.
    ATTRIBUTE = "parse.attribute", Error,
        "An operation takes the attributes and keywords of its form; an attribute of another dialect has that dialect's name before a dot.",
        "Write the name that is suggested, or remove the attribute.",
        "Attributes: `coalesce`, `gatherOob`, `scatterAtomicOp`, `scatterOob`, `scatterConflict` (the language, \"Text\").";
    /// A name that is none of an enumeration.
    ENUMERATOR = "parse.enumerator", Error,
        "A policy, layout, pipe, target or suffix is one of the names that there are.",
        "Write one of the names that the message lists.",
        "Attributes: `coalesce = #pto<coalesce row|elem>`, `scatterOob = #pto<scatter_oob undefined|skip|clamp|wrap>`; suffixes `.row|.elem`, `.skip|.clamp|.wrap|.zero`, `.atomic_*`, `.last|.default` (the language, \"Text\").";
    /// A type of the dialect that does not exist.
    UNKNOWN_TYPE = "parse.unknown-type", Error,
        "A type of the dialect is one of those that there are.",
        "Write the name that is suggested.",
        "Types: `!pto.ptr`, `!pto.tensor_view`, `!pto.partition_tensor_view`, `!pto.tile_buf`, `!pto.tile`, `!pto.memref`, `!pto.group` (the language, \"Text\").";
    /// A type with parameters that do not fit.
    TYPE_PARAMETER = "parse.type-parameter", Error,
        "The parameters of a type are complete and of the right form.",
        "Give a tile its location, element type, rows and columns; a view its dimensions and element type.",
        "Types: `!pto.tile_buf<loc=vec, dtype=f32, rows=8, cols=32, v_row=8, v_col=?, blayout=row_major, slayout=none_box, fractal=512, pad=0>` (the language, \"Text\").";
    /// A type at a use that is not the one at the definition.
    MISMATCH = "type.mismatch", Error,
        "The type behind an operand is the type that its value was defined with.",
        "Write the type of the definition, or define the value with the type that is meant.",
        "Every use of a value repeats the type of its definition (MLIR Language Reference, \"Operations\").";
    /// A value of a fragment that is taken for an argument.
    IMPLICIT_ARGUMENT = "type.implicit-argument", Warning,
        "A text without functions declares its arguments with `.arg`.",
        "Declare the argument with its type, as in `.arg %a : !pto.tile<8x32xf32>`.",
        "PTO-AS: `.arg %a : T`, `.const %c = 0 : index` (the language, \"Text\"). Texts of a few lines, as on the instruction pages, are read without.";
    /// A program that a spelling cannot express.
    FORM = "unsupported.form", Error,
        "A program is written in a spelling that can express all of it.",
        "Choose another spelling, or change what the message names.",
        "`pto fmt --form` converts between the four spellings where the program can be so expressed, and says why where not (the command line).";
    /// Something that says nothing to this instruction set, and that a converted text leaves out.
    DROPPED = "unsupported.dropped", Warning,
        "What a text says to other tools on its operations and parameters is not part of the program.",
        "Nothing needs to be done: the program means the same; to keep everything as it is, format without `--form`.",
        "Attributes of other dialects, locations and overflow hints do not change what this instruction set computes; modules and functions keep theirs.";
    /// More errors than are shown.
    TOO_MANY = "parse.too-many-errors", Note,
        "At most 1000 findings about the text of one file are reported.",
        "Repair the first ones and check again.",
        "A limit of the tool: it keeps the report on a file that is not a program short.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_explained() {
        for (at, rule) in RULES.iter().enumerate() {
            let prefix = rule.name.split('.').next().unwrap_or_default();
            assert!(pto_isa::rule::PREFIXES.contains(&prefix), "{}", rule.name);
            assert!(RULES[..at].iter().all(|other| other.name != rule.name), "{} twice", rule.name);
            for text in [rule.summary, rule.help, rule.spec] {
                assert!(text.ends_with(['.', ';', ')']) && text.len() > 15, "{}: {text}", rule.name);
            }
        }
    }
}
