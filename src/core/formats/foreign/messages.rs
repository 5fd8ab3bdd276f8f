//! Message lists of agent frameworks: each has roles, contents and calls that look like those of a
//! provider, and are none.

use crate::formats::sample::{Document, Sample};

/// How many documents of the head are looked into.
const DOCUMENTS: usize = 16;

/// ShareGPT: `conversations` of `from` and `value`.
pub(super) fn is_sharegpt(sample: &Sample<'_>) -> bool {
    sample.any(|document| {
        let mut turns = document.array("conversations").into_iter();
        turns.any(|turn| turn.has("from") && turn.has("value"))
    })
}

/// The documents, and the bodies of requests in them.
fn holders<'a>(sample: &Sample<'a>) -> Vec<Document<'a>> {
    let documents = sample.documents.iter().take(DOCUMENTS);
    documents
        .flat_map(|document| {
            let request = document.object("request");
            [
                document.object("body"),
                request.object("body"),
                document.clone(),
                request,
            ]
        })
        .collect()
}

/// Whether a message of the head, bare or in a body, meets a condition.
pub(in crate::formats) fn any_message<'a>(
    sample: &Sample<'a>,
    condition: impl Fn(&Document<'a>) -> bool,
) -> bool {
    holders(sample)
        .iter()
        .any(|holder| condition(holder) || holder.array("messages").iter().any(&condition))
}

/// Whether a part of a content does.
pub(in crate::formats) fn any_part<'a>(
    sample: &Sample<'a>,
    condition: impl Fn(&Document<'a>) -> bool,
) -> bool {
    any_message(sample, |message| {
        message.array("content").iter().any(&condition)
    })
}
