//! What a provider says when it refuses a request, as findings at the items that it means. The provider is
//! stricter than the rules in places, and it is the one to be satisfied.

use super::Recording;
use super::blame::{Suspect, suspects};
use retake_core::engine::REFUSED_BY_PROVIDERS;
use retake_core::rules::{self, Finding, REFUSAL, Severity};
use retake_core::session::{Kind, Session, SourceError};
use retake_core::wire::provider_errors::{Decoded, decode};

/// The rule of what is refused without one of its own: the shape of an item, for all that anybody can say.
const OF_NO_RULE: &str = "malformed-message";
/// Most items of one sentence.
const MOST_ITEMS: usize = 20;
/// Most characters of the provider's words.
const MOST_WORDS: usize = 500;

/// Adds to the findings of a request what its provider refused it for: at each item that the provider means,
/// and of which no rule says what a provider refuses. `text` is the provider's. Fails where the
/// source cannot be read.
pub fn add_refusal(
    recording: &Recording,
    text: &str,
    findings: &mut Vec<Finding>,
) -> Result<(), SourceError> {
    let [session] = recording.sessions.as_slice() else {
        return Ok(());
    };
    let decoded = decode(text);
    for decoded in decoded.iter().filter(|one| one.fault.is_of_request()) {
        let found = suspects(recording, std::slice::from_ref(findings), decoded)?;
        let found = narrowed(session, found, decoded);
        for item in found.into_iter().take(MOST_ITEMS) {
            if !is_known(session, item, findings) {
                add(session, item, (decoded, text), findings);
            }
        }
    }
    rules::sort(findings);
    Ok(())
}

/// The items that are meant. A place is often that of a whole message: of its items those count that
/// the fault is about.
fn narrowed(session: &Session, found: Vec<Suspect>, decoded: &Decoded) -> Vec<usize> {
    let of_definition = decoded.place.as_ref().is_some_and(|at| at.path == "tools");
    let mut items: Vec<usize> = found.into_iter().map(|suspect| suspect.item).collect();
    if of_definition && decoded.call_ids.is_empty() && decoded.item_ids.is_empty() {
        items.clear();
    }
    let kind = match decoded.rule {
        Some("orphan-output" | "misplaced-output" | "duplicate-output") => Kind::Output,
        Some("orphan-reasoning" | "missing-signature") => Kind::Reasoning,
        Some("orphan-hosted-result") => Kind::HostedOutput,
        Some("assistant-prefill") => Kind::Assistant,
        Some("malformed-message" | "image-limits") | None => {
            return items.into_iter().take(1).collect();
        }
        Some(_) => Kind::Call,
    };
    let is_meant = |item: &usize| session.items[*item].kind == kind;
    match items.iter().any(is_meant) {
        true => items.retain(is_meant),
        false => items.truncate(1),
    }
    items
}

/// Whether a rule says of an item, or of the other half of its pair, what a provider refuses.
fn is_known(session: &Session, item: usize, findings: &[Finding]) -> bool {
    rules::of_pair(session, findings, item).any(|finding| {
        finding.severity == Severity::Error
            && !finding.is_settled
            && REFUSED_BY_PROVIDERS.contains(&finding.rule.id)
    })
}

fn add(session: &Session, item: usize, (decoded, text): (&Decoded, &str), to: &mut Vec<Finding>) {
    let Some(rule) = rules::find(decoded.rule.unwrap_or(OF_NO_RULE)) else {
        return;
    };
    let text = shortened(text);
    let is_same = |one: &&mut Finding| {
        one.rule.id == rule.id && one.item.is_some_and(|known| known as usize == item)
    };
    // A rule says the same, and thought that the provider would take it.
    if let Some(known) = to.iter_mut().find(is_same) {
        known.severity = Severity::Error;
        known.is_settled = false;
        known.facts.push((REFUSAL, text));
        return;
    }
    let is_half = matches!(session.items[item].kind, Kind::Call | Kind::Output);
    let mut finding = Finding::new(rule, item)
        .as_bad_as(Severity::Error)
        .beside(session.pairing.partner(item))
        .offering(|offer| match offer.action {
            "close-turn" => false,
            "drop-item" => !is_half || session.items[item].kind == Kind::Output,
            "drop-pair" => is_half,
            _ => true,
        })
        .fact(REFUSAL, text);
    let tool = finding.tool(session).unwrap_or_default().to_owned();
    finding = finding.fact("tool", tool);
    to.push(match session.items[item].kind {
        Kind::Call => finding.of_call(session),
        _ => finding,
    });
}

fn shortened(text: &str) -> String {
    let mut words: String = text.chars().take(MOST_WORDS).collect();
    if words.len() < text.len() {
        words.push('…');
    }
    words
}
