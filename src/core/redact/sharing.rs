//! Texts that leave the machine: what is taken out of them is not kept, and equal texts stay equal.

use super::patterns::{Suspected, suspected};
use super::{Hit, Redactor, Vault, without_tags};
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A text without what looks like a secret.
pub fn shareable(text: &str) -> String {
    let redacted = Redactor::default();
    let redacted = redacted.text(text, &mut Vault::default());
    without_tags(&redacted).into_owned()
}

/// JSON without what looks like a secret. What is not JSON as a whole is taken line by line.
pub fn shareable_json(bytes: &[u8]) -> Vec<u8> {
    let redactor = Redactor::default();
    let clean = |part: &[u8]| match redactor.json(part, &mut Vault::default()) {
        Cow::Borrowed(part) => part.to_vec(),
        Cow::Owned(redacted) => {
            let text = String::from_utf8_lossy(&redacted);
            without_tags(&text).into_owned().into_bytes()
        }
    };
    if serde_json::from_slice::<IgnoredAny>(bytes).is_ok() {
        return clean(bytes);
    }
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.flat_map(clean).collect()
}

/// What kinds of secrets a JSON text seems to hold, each once.
pub fn kinds_in_json(bytes: &[u8]) -> Vec<String> {
    // Escapes may hide anything; everything else is found without decoding.
    let is_escaped = memchr::memmem::find(bytes, b"\\u").is_some();
    let is_clean = std::str::from_utf8(bytes).is_ok_and(|text| suspected(text) == Suspected::NONE);
    if is_clean && !is_escaped {
        return Vec::new();
    }
    let redactor = Redactor::default();
    let hits = redactor.hits_of_json(bytes).into_iter();
    // What was taken out of a line before leaves the rest of it.
    let was_taken_out = |hit: &Hit| {
        let bytes = bytes.get(hit.at.clone()).unwrap_or_default();
        memchr::memmem::find(bytes, b"[redacted ").is_some()
    };
    let kinds = hits.filter(|hit| !was_taken_out(hit)).map(|hit| hit.what);
    let kinds: BTreeSet<String> = kinds.collect();
    kinds.into_iter().collect()
}
