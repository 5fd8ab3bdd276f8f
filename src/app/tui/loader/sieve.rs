//! Which items a filter lets through, decided on all cores.

use super::hits;
use crate::tui::effect::Sifting;
use crate::tui::filter::{Filter, ItemHead, ItemView};
use crate::tui::report::Report;
use crate::tui::state::document::{Checked, Place, has_failed, is_failure};
use crate::tui::state::preview::{Previews, tool_of};
use crate::tui::state::tree::Shown;
use rayon::prelude::*;
use retake_core::session::{Session, SourceError};
use retake_core::wire::with_parsed_arguments;
use retake_live::in_background;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many items one task decides.
const PART: usize = 4096;

/// Reports the items of the session that a filter lets through, then how many there are in the others of its file.
pub(super) fn sift_all(
    sifting: &Sifting,
    cancel: &AtomicBool,
    report: &dyn Fn(Report),
) -> Result<(), SourceError> {
    let Some(items) = sift(sifting, sifting.session, cancel)? else {
        return Ok(());
    };
    let document = &sifting.document;
    let Some(session) = document.session(sifting.session) else {
        return Ok(());
    };
    report(Report::Sifted {
        document: document.clone(),
        session: sifting.session,
        shown: Arc::new(Shown::new(session, items)),
        is_preview: sifting.is_preview,
    });
    let mut elsewhere = Vec::new();
    let others = 0..document.recording.sessions.len();
    for other in others.filter(|other| *other != sifting.session && !sifting.is_preview) {
        let Some(items) = sift(sifting, other, cancel)? else {
            return Ok(());
        };
        elsewhere.extend((!items.is_empty()).then_some((other, items.len())));
    }
    if !elsewhere.is_empty() {
        report(Report::SiftedElsewhere {
            document: document.clone(),
            items: elsewhere,
        });
    }
    Ok(())
}

/// The items of a session that a filter lets through; `None` if it was called off.
fn sift(
    sifting: &Sifting,
    number: usize,
    cancel: &AtomicBool,
) -> Result<Option<Vec<u32>>, SourceError> {
    let Some(session) = sifting.document.session(number) else {
        return Ok(None);
    };
    in_background(|| {
        let count = session.items.len();
        let parts = (0..count)
            .into_par_iter()
            .step_by(PART)
            .map(|from| {
                let to = (from + PART).min(count);
                sift_part(sifting, (number, session), from..to, cancel)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let items = parts.into_iter().flatten().collect();
        let is_done = !cancel.load(Ordering::Relaxed);
        Ok(is_done.then_some(items))
    })
}

fn sift_part(
    sifting: &Sifting,
    (number, session): (usize, &Session),
    part: std::ops::Range<usize>,
    cancel: &AtomicBool,
) -> Result<Vec<u32>, SourceError> {
    let mut filter = sifting.filter.clone();
    let mut previews = Previews::default();
    let mut bytes = Vec::new();
    let mut passed = Vec::new();
    for index in part {
        if cancel.load(Ordering::Relaxed) {
            break;
        }
        let item = &session.items[index];
        let checked = sifting.checked.get(number).and_then(Option::as_deref);
        let findings: Vec<_> = checked
            .map_or(&[][..], |checked: &Checked| checked.of_item(index))
            .iter()
            .map(|finding| (finding.rule.id, finding.severity))
            .collect();
        let head = ItemHead {
            is_failed: is_failure(session, checked, index) || has_failed(session, checked, index),
            kind: item.kind,
            tool: tool_of(session, index),
            findings: &findings,
            has_note: sifting.takes.note(item.span.start).is_some(),
        };
        let passes = match filter.matches_head(&head) {
            Some(passes) => passes,
            None => {
                session.source.read_into(item.span, &mut bytes)?;
                let place = Place {
                    session: number,
                    item: index,
                };
                let row = match &filter {
                    Filter::Terms(_) => {
                        format!("{} {}", head.tool, previews.of(session, place))
                    }
                    Filter::Everything | Filter::Jq(_) => String::new(),
                };
                let bytes = match &filter {
                    Filter::Jq(_) => with_parsed_arguments(item, &bytes),
                    Filter::Everything | Filter::Terms(_) => Cow::Borrowed(&*bytes),
                };
                filter.matches(&ItemView {
                    head,
                    row: &row,
                    bytes: &bytes,
                    shows: &|needle| hits::in_item(needle, session, item, &bytes) > 0,
                })
            }
        };
        if passes && let Ok(index) = u32::try_from(index) {
            passed.push(index);
        }
    }
    Ok(passed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::state::tests::opened;

    #[test]
    fn an_expression_finds_the_arguments_of_a_call_under_one_name_in_every_dialect() {
        let recordings = [
            (
                "Responses",
                r#"{"model":"m","input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"c","name":"fly","arguments":"{\"city\":\"Oslo\"}"}]}"#,
            ),
            (
                "Chat",
                r#"{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"fly","arguments":"{\"city\":\"Oslo\"}"}}]}]}"#,
            ),
            (
                "Anthropic",
                r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"fly","input":{"city":"Oslo"}}]}]}"#,
            ),
            (
                "Gemini",
                r#"{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[{"functionCall":{"name":"fly","args":{"city":"Oslo"}}}]}]}"#,
            ),
            (
                "Bedrock",
                r#"{"modelId":"m","messages":[{"role":"user","content":[{"text":"x"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"c","name":"fly","input":{"city":"Oslo"}}}]}]}"#,
            ),
            (
                "Codex",
                concat!(
                    r#"{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[]}}"#,
                    "\n",
                    r#"{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"function_call","name":"fly","arguments":"{\"city\":\"Oslo\"}","call_id":"c"}}"#,
                ),
            ),
            (
                "pi",
                concat!(
                    r#"{"type":"session","version":3,"id":"a","timestamp":"2026-01-01T00:00:00Z","cwd":"/"}"#,
                    "\n",
                    r#"{"type":"message","id":"1","parentId":null,"timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":[{"type":"text","text":"x"}]}}"#,
                    "\n",
                    r#"{"type":"message","id":"2","parentId":"1","timestamp":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"fly","arguments":{"city":"Oslo"}}]}}"#,
                ),
            ),
        ];
        for (dialect, text) in recordings {
            let state = opened(text, (80, 24));
            let sifting = |filter: &str| Sifting {
                filter: Filter::parse(filter).unwrap(),
                document: state.document.clone().unwrap(),
                session: 0,
                checked: Vec::new(),
                takes: state.recovery.takes.clone(),
                is_preview: false,
            };
            let kept = |filter: &str| {
                let shown = sift(&sifting(filter), 0, &AtomicBool::new(false)).unwrap();
                shown.unwrap().len()
            };
            let kept = [r#".arguments.city == "Oslo""#, ".arguments.city"].map(kept);
            assert_eq!(kept, [1, 1], "{dialect}");
        }
    }
}
