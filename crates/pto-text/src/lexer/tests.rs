use super::*;
use TokenKind::*;

fn tokens(text: &str) -> Vec<(TokenKind, &str)> {
    let mut lexer = Lexer::new(text);
    std::iter::from_fn(|| Some(lexer.next_token()).filter(|token| token.kind != Eof))
        .map(|token| (token.kind, &text[token.span.range()]))
        .collect()
}

#[test]
fn names_keep_their_dots() {
    assert_eq!(
        tokens("mscatter.row.clamp .arg a. b"),
        [(Word, "mscatter.row.clamp"), (Word, ".arg"), (Word, "a"), (BadChar, "."), (Word, "b"),]
    );
}

#[test]
fn values_symbols_labels() {
    assert_eq!(
        tokens("%0#1 %a-b->@f @\"x y\"::@z ^bb0 %"),
        [
            (Value, "%0#1"),
            (Value, "%a-b"),
            (Arrow, "->"),
            (Symbol, "@f"),
            (Symbol, "@\"x y\"::@z"),
            (Label, "^bb0"),
            (BadChar, "%"),
        ]
    );
}

#[test]
fn numbers_and_dimensions() {
    assert_eq!(
        tokens("0x1F -3 1.5e-3 2e5 7."),
        [(Int, "0x1F"), (Int, "-3"), (Float, "1.5e-3"), (Float, "2e5"), (Float, "7."),]
    );
    assert_eq!(
        tokens("8x?xf32 ?x?xbf16 8x? 0x32xf32 *xf32 ?"),
        [
            (Shape, "8x?x"),
            (Word, "f32"),
            (Shape, "?x?x"),
            (Word, "bf16"),
            (Shape, "8x?"),
            (Shape, "0x32x"),
            (Word, "f32"),
            (Shape, "*x"),
            (Word, "f32"),
            (Punct, "?"),
        ]
    );
    assert_eq!(tokens("8x4f32 12abc"), [(BadNumber, "8x4f32"), (BadNumber, "12abc")]);
}

#[test]
fn hash_is_an_attribute_or_a_comment() {
    assert_eq!(
        tokens("# text\na # more\n#pto.layout<nd> b #x"),
        [(Word, "a"), (Hash, "#pto.layout"), (Lt, "<"), (Word, "nd"), (Gt, ">"), (Word, "b"), (Hash, "#x"),]
    );
    assert_eq!(
        tokens("#pto.tassign %arg0, @tile(0x1000)\n#map = 1\n#note: see above"),
        [(Hash, "#map"), (Equal, "="), (Int, "1"),]
    );
}

#[test]
fn strings_end_on_their_line() {
    assert_eq!(tokens("\"a\\\"b\" \"open\nnext"), [(Str, "\"a\\\"b\""), (BadStr, "\"open"), (Word, "next")]);
    assert_eq!(tokens("\"\\ü"), [(BadStr, "\"\\ü")]);
}

#[test]
fn trivia_is_flagged() {
    let mut lexer = Lexer::new("a // c\n b\u{0}");
    let (a, b) = (lexer.next_token(), lexer.next_token());
    assert!(a.newline && !a.comment && b.newline && b.comment);
    assert_eq!(lexer.next_token().kind, BadChar);
    assert_eq!(lexer.next_token().kind, Eof);
}

#[test]
fn unknown_characters_are_taken_in_runs() {
    assert_eq!(tokens("äöü ~"), [(BadChar, "äöü"), (BadChar, "~")]);
    assert_eq!(tokens("\u{feff}a"), [(Word, "a")]);
}
