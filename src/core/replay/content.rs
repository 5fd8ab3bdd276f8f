//! What an item says, in words that all dialects share: what is no text stands in brackets.

use crate::dialects::Content;
use crate::session::{Item, Session, SourceError};
use crate::wire::Part;
use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The content of an item. What is no JSON says nothing.
pub(super) fn content(session: &Session, item: &Item) -> Result<Content, SourceError> {
    let bytes = session.bytes(item)?;
    Ok(Content::of(item, &bytes).unwrap_or_default())
}

/// The texts of a content and its refusals, part by part.
pub(super) fn texts_and_refusals(content: &Content) -> [Vec<String>; 2] {
    let is_refusal = |part: &&Part| matches!(part, Part::Refusal(_));
    let (refusals, texts): (Vec<&Part>, Vec<&Part>) = content.parts.iter().partition(is_refusal);
    [texts, refusals].map(|parts| parts.into_iter().map(words_of).collect())
}

/// Text and refusal, the parts one below the other: in a history they are one. A part without words is
/// none, since not every provider takes one.
pub(super) fn words(content: &Content) -> String {
    let mut parts = texts_and_refusals(content).concat();
    parts.retain(|part| !part.trim().is_empty());
    parts.join("\n")
}

fn words_of(part: &Part) -> String {
    match part {
        Part::Text(text) | Part::Refusal(text) => text.clone(),
        Part::Json(json) => match serde_json::from_str::<Value>(json) {
            Ok(value) => value.to_string(),
            Err(_) => json.clone(),
        },
        Part::Image(url) => picture(url),
        Part::Other(of_type) => format!("[{of_type}]"),
        Part::Call(_) | Part::Result(_) => String::new(),
    }
}

/// A picture in brackets: where it is, or which one of so many characters it is.
fn picture(url: &str) -> String {
    if !url.starts_with("data:") {
        return format!("[picture {url}]");
    }
    let mut hasher = DefaultHasher::new();
    url.hash(&mut hasher);
    let (length, hash) = (url.len(), hasher.finish());
    format!("[picture of {length} characters, {hash:016x}]")
}
