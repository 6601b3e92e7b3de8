//! Whatever a document holds, whatever is asked about any place of it: every request is answered, and none of the
//! answers is that the server has failed.

use std::path::Path;

use lsp_server::{Connection, Message, Notification, Request, RequestId, Response};
use proptest::prelude::*;
use serde_json::{Value, json};

const URI: &str = "file:///t.pto";

/// The programs that the tests of the language have: good and bad ones.
fn programs() -> Vec<String> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pto-text/tests");
    let mut paths: Vec<_> = ["programs", "samples", "broken"]
        .iter()
        .flat_map(|directory| std::fs::read_dir(tests.join(directory)).expect("a directory"))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    assert!(paths.len() > 10);
    paths.iter().map(|path| std::fs::read_to_string(path).expect("a text")).collect()
}

/// A session: opens a text, applies changes, asks everything at some places; gives the answers and what was published.
fn session(text: &str, changes: &[Value], places: &[(u32, u32)]) -> (Vec<Response>, Vec<Value>) {
    let (server, client) = Connection::memory();
    let running = std::thread::spawn(move || pto_lsp::serve(&server));
    let mut asked = 0;
    let mut ask = |method: &str, params: Value| {
        asked += 1;
        let request = Request { id: RequestId::from(asked), method: method.into(), params };
        client.sender.send(request.into()).expect("the server listens");
    };
    let tell = |method: &str, params: Value| {
        client.sender.send(Notification { method: method.into(), params }.into()).expect("the server listens");
    };
    ask("initialize", json!({"capabilities": {}}));
    tell("initialized", json!({}));
    let document = json!({"uri": URI, "languageId": "pto", "version": 1, "text": text});
    tell("textDocument/didOpen", json!({"textDocument": document}));
    let document = json!({"uri": URI, "version": 2});
    tell("textDocument/didChange", json!({"textDocument": document, "contentChanges": changes}));
    let document = json!({"uri": URI});
    for (line, character) in places {
        let params = json!({"textDocument": document, "position": {"line": line, "character": character}});
        for what in ["hover", "definition", "completion"] {
            ask(&format!("textDocument/{what}"), params.clone());
        }
    }
    ask("textDocument/documentSymbol", json!({"textDocument": document}));
    ask("textDocument/formatting", json!({"textDocument": document, "options": {"tabSize": 2, "insertSpaces": true}}));
    let mut answers = Vec::new();
    let mut published = Vec::new();
    while published.is_empty() || answers.len() < asked as usize {
        match client.receiver.recv().expect("the server speaks") {
            Message::Response(response) => answers.push(response),
            Message::Notification(notification) => published.push(notification.params),
            Message::Request(request) => panic!("asked for {}", request.method),
        }
    }
    drop(client);
    assert_eq!(running.join().expect("no panic"), pto_lsp::Ended::Abruptly);
    (answers, published)
}

fn assert_answered(answers: &[Response]) {
    for answer in answers {
        assert!(answer.response_result.is_ok(), "{answer:?}");
    }
}

/// A place every few columns of a text.
fn places(text: &str) -> Vec<(u32, u32)> {
    let of_line = |(line, text): (usize, &str)| {
        (0..=text.encode_utf16().count() as u32 + 1)
            .step_by(3)
            .map(move |column| (line as u32, column))
            .collect::<Vec<_>>()
    };
    text.lines().enumerate().flat_map(of_line).collect()
}

#[test]
fn every_place_of_every_program_is_answered() {
    for text in programs() {
        let (answers, _) = session(&text, &[], &places(&text));
        assert_answered(&answers);
    }
}

#[test]
fn formatting_every_program_gives_the_canonical_text() {
    for text in programs() {
        let parsed = pto_text::parse(&pto_text::Source::new("t", text.as_str()));
        let (answers, _) = session(&text, &[], &[]);
        let edits = answers.last().expect("an answer").response_result.clone().expect("a result");
        if parsed.diagnostics.iter().any(pto_text::Diagnostic::is_error) {
            assert!(edits.is_null());
            continue;
        }
        let mut result = pto_lsp::Text::new(text.clone());
        for edit in edits.as_array().expect("edits") {
            let place = |end: &str| serde_json::from_value(edit["range"][end].clone()).expect("a position");
            let offset = |end| result.offset(place(end), pto_lsp::Encoding::Utf16);
            let range = offset("start")..offset("end");
            assert!(result.replace(range, edit["newText"].as_str().expect("a text")));
        }
        assert_eq!(result.as_str(), pto_text::print(&parsed.tree));
    }
}

fn edit() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just(String::new()),
        "[ -~\n]{0,6}",
        prop::sample::select(vec![
            "{",
            "}",
            "(",
            ")",
            "<",
            ">",
            "%",
            "!t",
            "\"",
            "//",
            "\r\n",
            "𝄞",
            "%r:9",
            "pto.tload"
        ])
        .prop_map(String::from),
    ];
    (0u32..40, 0u32..90, 0u32..3, 0u32..30, word).prop_map(|(line, column, lines, columns, text)| {
        let start = json!({"line": line, "character": column});
        let end = json!({"line": line + lines, "character": if lines == 0 { column + columns } else { columns }});
        json!({"range": {"start": start, "end": end}, "text": text})
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Programs with changes in random places, as they are while somebody types.
    #[test]
    fn mutilated_programs_are_answered(
        which in 0usize..1000,
        changes in prop::collection::vec(edit(), 0..6),
        places in prop::collection::vec((0u32..40, 0u32..90), 1..20),
    ) {
        let programs = programs();
        let (answers, published) = session(&programs[which % programs.len()], &changes, &places);
        assert_answered(&answers);
        prop_assert_eq!(&published.last().expect("published")["uri"], URI);
    }
}
