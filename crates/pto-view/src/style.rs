//! Colours and letters of every picture, for light and dark surroundings.
//!
//! Plain classes with plain colours: programs that know neither variables nor media queries show the light scheme.

use std::fmt::Write;

/// Colours of lanes and runs, in order; each has at least 4.5:1 against the text on it.
const HUES: [(&str, &str); 8] = [
    ("#0f766e", "#3fc2b0"),
    ("#0b7094", "#43b6d6"),
    ("#1d66b0", "#62a8ee"),
    ("#3f5bc4", "#8a9df5"),
    ("#5b4bc9", "#a493f6"),
    ("#7740bf", "#bd88ee"),
    ("#9133aa", "#d580dc"),
    ("#a32c86", "#e57cc0"),
];

/// What differs between the schemes: selector, property, light, dark.
const COLOURS: [(&str, &str, &str, &str); 24] = [
    (".page", "fill", "#ffffff", "#15171c"),
    (".card", "fill", "#f4f5f8", "#1f222a"),
    ("text,.ink", "fill", "#1b1f27", "#e7e9ee"),
    (".mark", "fill", "#596170", "#a2a9b8"),
    (".on", "fill", "#ffffff", "#101318"),
    ("text.good", "fill", "#146c2e", "#6fd48b"),
    ("text.warn", "fill", "#8f4a00", "#ffb95e"),
    ("text.bad", "fill", "#b3211f", "#ff8a84"),
    (".dot.good", "fill", "#1f8a3f", "#4cc06c"),
    (".dot.warn", "fill", "#c26a00", "#f2a33c"),
    (".dot.bad", "fill", "#c92a2a", "#ff6b66"),
    (".ground", "fill", "#eef0f4", "#22262f"),
    (".lane", "fill", "#f4f5f8", "#1d2028"),
    (".empty", "fill", "#ffffff", "#171a20"),
    (".index", "fill", "#ffffff", "#171a20"),
    (".index", "stroke", "#c3c9d4", "#3d4451"),
    (".hollow", "fill", "#ffffff", "#171a20"),
    (".shade", "fill", "#1b1f27", "#e7e9ee"),
    (".tick,.rule", "stroke", "#d8dce4", "#343a46"),
    (".limit,.shared", "stroke", "#c92a2a", "#ff6b66"),
    (".shared", "fill", "#c92a2a", "#ff6b66"),
    (".hit", "stroke", "#c92a2a", "#ff5c57"),
    (".moved", "stroke", "#d97800", "#ffb95e"),
    (".drop,.out", "stroke", "#8a6d3b", "#d8b36a"),
];

/// What is the same in both.
const SHAPES: &str = "\
text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}\
.mark{font-size:11px}.on,.cellink{font-size:11px}.on{pointer-events:none}.mid{text-anchor:middle}.end{text-anchor:end}\
.name,.pipe{font-weight:600}.title{font-size:20px;font-weight:650}.section{font-size:15px;font-weight:650}\
.value{font-size:18px;font-weight:600}.struck{text-decoration:line-through}\
.cell{stroke-width:0}.index{stroke-width:1}.hit{stroke-width:2}.moved{stroke-width:2;stroke-dasharray:3 2}\
.drop,.out{stroke-width:1.2;stroke-dasharray:2 2}.out{stroke-width:2}\
.arrow{fill:none;stroke-width:1.3;stroke-opacity:.75}.arrow.hit{stroke-width:1.8;stroke-opacity:1}\
.head{stroke:none!important}.ribbon{fill-opacity:.3}.ribbon:hover{fill-opacity:.75}\
.tick{stroke-width:1}.rule{stroke-opacity:.6}.fine{display:none}\
.many{fill-opacity:.6}.tile{fill-opacity:.28;stroke-width:1.2}.tile:hover,.block:hover{fill-opacity:.85}\
.limit{stroke-width:1.5;stroke-dasharray:6 3}.shared{fill-opacity:.25;stroke-width:1;stroke-dasharray:3 2}";

fn scheme(out: &mut String, pick: impl Fn((&'static str, &'static str)) -> &'static str) {
    for (at, hue) in HUES.into_iter().enumerate() {
        let colour = pick(hue);
        let _ = write!(out, ".g{at}{{fill:{colour}}}.s{at}{{stroke:{colour}}}");
    }
    for (selector, property, light, dark) in COLOURS {
        let _ = write!(out, "{selector}{{{property}:{}}}", pick((light, dark)));
    }
    // Heads of arrows take the colour of the line, cells keep theirs.
    let (hit, moved) = (pick(("#c92a2a", "#ff5c57")), pick(("#d97800", "#ffb95e")));
    let _ = write!(out, ".head.hit{{fill:{hit}}}.head.moved{{fill:{moved}}}");
}

/// The style sheet of the pictures.
pub(crate) fn sheet() -> String {
    let mut out = SHAPES.to_owned();
    scheme(&mut out, |(light, _)| light);
    out.push_str("@media (prefers-color-scheme:dark){");
    scheme(&mut out, |(_, dark)| dark);
    out.push('}');
    out
}
