//! malformed-message: a message or item whose shape the provider refuses whatever it holds.

use super::{Finding, Rule, RulePage, Run, Scope, Severity, pairs};
use crate::actions::Offer;
use crate::json::Cursor;
use crate::session::{CallId, Flags, Item, Kind, Session, Span};
use crate::wire::{ShapeFault, shape_fault};
use std::collections::HashMap;

pub(crate) static RULE: Rule = Rule {
    id: "malformed-message",
    severity: Severity::Error,
    summary: "a message or item whose shape the provider refuses whatever it holds",
    message: "this {kind} {fault}: {provider} refuses a request that holds it",
    page: RulePage {
        what: "A message, item or block that breaks the provider's own format: an empty list of calls, content \
            or arguments of the wrong type, an empty text, an id that is too long, has characters or a prefix \
            that are not accepted, or occurs twice.",
        why: "The whole history goes out with every request, so one such item makes this and every later \
            request fail, and the error names a place and seldom the item.",
        example: r#"{"role": "assistant", "content": null} without calls: Chat answers "expected a string, got null"."#,
        what_to_do: "Correct the item, leave it out, or give the call and its output a new id. Then mend the \
            client that wrote it: providers send some of these shapes in replies, and do not take them back.",
        limits: "Judged only where the item is spelled in the target's dialect, since a conversion would spell \
            it anew. A request is judged as a whole. Of other recordings only what was about to be sent when \
            they end is judged, as a warning: what a reply followed was taken, what ends a recording was not \
            sent yet, and the logs of clients are not requests. Gemini and compatible servers may accept more, \
            or less.",
    },
    offers: &[
        Offer::safe("renew-id"),
        Offer::safe("repair-arguments"),
        Offer::manual("edit"),
        Offer::manual("supply-output"),
        Offer::unsafe_("drop-item"),
        Offer::unsafe_("drop-pair"),
    ],
    scope: Scope::Session(check),
};

/// Formats that hold items as they are sent; other files are a client's own log, or replies.
const AS_SENT: &[&str] = &[
    "openai-chat",
    "openai-responses",
    "anthropic-messages",
    "agents-sqlite",
];

/// What openai-agents puts in the place of an id for models that give none; it takes it out before
/// it sends the item.
const PLACEHOLDER_ID: &[u8] = b"__fake_id__";

/// How many bytes of an item usually hold its id.
const ID_HEAD: u64 = 256;

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let Some(from) = first_unproven(run.session) else {
        return;
    };
    let mut bytes = Vec::new();
    for (index, item) in run.session.items.iter().enumerate().skip(from) {
        if is_foreign_output(run, item) {
            findings.push(finding(run, index, ShapeFault::UnknownRole));
        }
        let is_marked = item.flags.has(Flags::MALFORMED) && !item.flags.has(Flags::COMPACTED);
        // Bytes that cannot be read have been reported by the item pass.
        if is_marked
            && is_spelled_for(run, item)
            && run.session.source.read_into(item.span, &mut bytes).is_ok()
            && let Some(fault) = shape_fault(item, &bytes)
            && !is_excused(run.session, index, fault, &bytes)
        {
            findings.push(finding(run, index, fault));
        }
    }
    if run.target.facts().item_ids {
        check_ids(run, from, findings);
    }
}

/// The first item of which it is not known that the provider took it; `None` where there is none.
pub(crate) fn first_unproven(session: &Session) -> Option<usize> {
    if session.contract.is_request {
        return Some(0);
    }
    if !AS_SENT.contains(&session.format) {
        return None;
    }
    let last_reply = session
        .items
        .iter()
        .rposition(|item| item.kind.is_from_model());
    let Some(last_reply) = last_reply else {
        return Some(0);
    };
    let is_answered = session.items[last_reply..]
        .iter()
        .any(|item| matches!(item.kind, Kind::User | Kind::Output | Kind::System));
    let turn = session.turns.get(session.items[last_reply].turn as usize);
    turn.filter(|_| is_answered).map(|turn| turn.first as usize)
}

/// Whether a request to Anthropic holds an output as Chat spells it: `Unexpected role "tool"`.
fn is_foreign_output(run: &Run<'_>, item: &Item) -> bool {
    let session = run.session;
    run.target.facts().refuses_tool_role
        && session.dialect == run.target
        && session.contract.is_request
        && item.is_message_with_calls()
        && item.kind == Kind::Output
}

/// Whether the item is sent unchanged: it has the target's spelling.
fn is_spelled_for(run: &Run<'_>, item: &Item) -> bool {
    item.dialect == Some(run.target)
}

fn is_excused(session: &Session, index: usize, fault: ShapeFault, bytes: &[u8]) -> bool {
    let item = &session.items[index];
    match fault {
        // missing-signature tells it.
        ShapeFault::BlankSignature => true,
        // "except for the optional final assistant message".
        ShapeFault::EmptyMessage => {
            item.kind == Kind::Assistant && index + 1 == session.items.len()
        }
        ShapeFault::ItemIdPrefix { .. } => {
            !session.contract.is_request && own_id(bytes) == Some(PLACEHOLDER_ID)
        }
        _ => false,
    }
}

/// Responses: `Duplicate item found with id ...`. Only items that have an id of their own are read, most of
/// them by their beginning.
fn check_ids(run: &Run<'_>, from: usize, findings: &mut Vec<Finding>) {
    let session = run.session;
    let mut first: HashMap<u64, usize> = HashMap::new();
    let mut bytes = Vec::new();
    for (index, item) in session.items.iter().enumerate() {
        let is_named = item.flags.has(Flags::OWN_ID) && !item.flags.has(Flags::COMPACTED);
        if !is_named {
            continue;
        }
        let spans = [item.span.head(ID_HEAD), item.span];
        let reads = |span: &Span| {
            let read = session.source.read_into(*span, &mut bytes);
            read.is_ok() && own_id(&bytes).is_some()
        };
        let Some(id) = spans.iter().any(reads).then(|| own_id(&bytes)).flatten() else {
            continue;
        };
        if id == PLACEHOLDER_ID && !session.contract.is_request {
            continue;
        }
        let earlier = *first.entry(CallId::new(id, 0).hash).or_insert(index);
        if earlier < index && index >= from {
            let finding = finding(run, index, ShapeFault::DuplicateItemId);
            findings.push(finding.beside(Some(earlier)));
        }
    }
}

/// The id of an item, or of the beginning of one.
fn own_id(bytes: &[u8]) -> Option<&[u8]> {
    let mut id = None;
    // A beginning ends in the middle; an id that was read by then is whole.
    let _ = Cursor::new(bytes).object(|cursor, key| {
        if key == b"id" {
            id = cursor.string()?;
        }
        Ok(())
    });
    id
}

fn finding(run: &Run<'_>, index: usize, fault: ShapeFault) -> Finding {
    let session = run.session;
    let item = &session.items[index];
    let is_half = matches!(item.kind, Kind::Call | Kind::Output);
    let tool = if is_half {
        pairs::tool(session, index)
    } else {
        ""
    };
    Finding::new(&RULE, index)
        .warning_if(!session.contract.is_request)
        .fact("tool", tool)
        .fact("kind", kind_words(item))
        .fact("fault", fault.words())
        .fact("provider", run.target.facts().title)
        .beside(session.pairing.partner(index))
        .offering(|offer| match offer.action {
            "renew-id" => fault.is_of_call_id() && item.kind == Kind::Call,
            "repair-arguments" => {
                matches!(fault, ShapeFault::ArgumentsNotString | ShapeFault::NoInput)
            }
            "supply-output" => {
                matches!(fault, ShapeFault::ContentType | ShapeFault::EmptyError)
                    && item.kind == Kind::Output
            }
            "drop-item" => !is_half,
            "drop-pair" => is_half,
            _ => true,
        })
        .in_branch_of(session)
}

fn kind_words(item: &Item) -> String {
    match item.kind {
        Kind::System | Kind::User | Kind::Assistant => format!("{} message", item.kind.word()),
        Kind::Other => "message".to_owned(),
        kind => kind.word().to_owned(),
    }
}

#[cfg(test)]
mod tests;
