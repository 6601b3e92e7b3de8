//! Findings as an editor shows them.

use gen_lsp_types as lsp;
use pto_isa::Severity;
use pto_text::Diagnostic;

use crate::document::Document;
use crate::server::Client;

/// The findings of a document.
///
/// A program without a target of its own is legal if one target takes it. Then what the other targets refuse is
/// information, not an error: it is for the author to know, and nothing has to be repaired.
pub(crate) fn of(document: &Document, uri: &lsp::Uri, client: &Client) -> Vec<lsp::Diagnostic> {
    let judged = document.analysis().judgement();
    let legal = judged.targets.iter().any(|(_, legal)| *legal);
    judged.found.iter().map(|one| convert(document, uri, client, one, legal)).collect()
}

fn convert(document: &Document, uri: &lsp::Uri, client: &Client, one: &Diagnostic, legal: bool) -> lsp::Diagnostic {
    let severity = match one.severity {
        Severity::Error if legal => lsp::DiagnosticSeverity::Information,
        Severity::Error => lsp::DiagnosticSeverity::Error,
        Severity::Warning => lsp::DiagnosticSeverity::Warning,
        Severity::Note => lsp::DiagnosticSeverity::Information,
    };
    let range = |span| document.text.range(span, client.encoding);
    let mut message = match one.target {
        Some(target) if !one.message.contains(target) => format!("{} (on {target})", one.message),
        _ => one.message.clone(),
    };
    let mut related = Vec::new();
    for label in &one.labels {
        if client.related_information {
            let location = lsp::Location { uri: uri.clone(), range: range(label.span) };
            related.push(lsp::DiagnosticRelatedInformation { location, message: label.message.clone() });
        } else {
            let line = range(label.span).start.line + 1;
            message += &format!("\nline {line}: {}", label.message);
        }
    }
    for note in &one.notes {
        message += &format!("\nnote: {note}");
    }
    message += &format!("\nhelp: {}", one.advice());
    lsp::Diagnostic {
        range: range(one.span.unwrap_or_default()),
        severity: Some(severity),
        code: Some(one.rule.name.to_string().into()),
        source: Some("pto".into()),
        message: message.into(),
        related_information: (!related.is_empty()).then_some(related),
        ..lsp::Diagnostic::default()
    }
}
