//! What the model reads of a server's answer.

use retake_core::engine::Outcome;
use retake_core::session::ledger::Failure;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use std::time::Instant;

/// How much of an answer the model reads from its start, and as much from its end.
const ENDS: usize = 64 * 1024;

/// An answer as text: its texts, and for what is no text a word about it.
pub(crate) fn answered(result: CallToolResult, started: Instant) -> Outcome {
    let texts: Vec<String> = result.content.iter().map(text_of).collect();
    let text = match (texts.is_empty(), &result.structured_content) {
        (true, Some(value)) => value.to_string(),
        _ => texts.join("\n"),
    };
    let is_error = result.is_error == Some(true);
    let output = match (text.trim().is_empty(), is_error) {
        (true, true) => "the tool reported an error without saying which".to_owned(),
        _ => bounded(text),
    };
    Outcome {
        output,
        is_error,
        failure: is_error.then_some(Failure::Reported),
        ms: passed(started),
    }
}

/// A call that brought no answer.
pub(crate) fn failed(failure: Failure, why: String, started: Instant) -> Outcome {
    Outcome {
        output: bounded(why),
        is_error: true,
        failure: Some(failure),
        ms: passed(started),
    }
}

fn passed(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn text_of(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => left_out("image", &image.mime_type, image.data.len()),
        ContentBlock::Audio(audio) => left_out("audio", &audio.mime_type, audio.data.len()),
        ContentBlock::Resource(held) => match &held.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            ResourceContents::BlobResourceContents {
                mime_type, blob, ..
            } => left_out(
                "file",
                mime_type.as_deref().unwrap_or("unknown type"),
                blob.len(),
            ),
            _ => "[a file of an unknown kind, not shown to the model]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[link to {}]", link.uri),
        _ => "[something that is no text, not shown to the model]".to_owned(),
    }
}

fn left_out(what: &str, kind: &str, base64: usize) -> String {
    format!(
        "[{what}, {kind}, {} bytes, not shown to the model]",
        base64 / 4 * 3
    )
}

/// The start and the end of a long text.
fn bounded(text: String) -> String {
    if text.len() <= 2 * ENDS {
        return text;
    }
    let head = text.floor_char_boundary(ENDS);
    let tail = text.ceil_char_boundary(text.len() - ENDS);
    let dropped = tail - head;
    format!(
        "{}\n[{dropped} bytes dropped]\n{}",
        &text[..head],
        &text[tail..]
    )
}
