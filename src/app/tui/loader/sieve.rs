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
use retake_live::in_background;
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
    let mut elsewhere = 0;
    let others = 0..document.recording.sessions.len();
    for other in others.filter(|other| *other != sifting.session && !sifting.is_preview) {
        let Some(items) = sift(sifting, other, cancel)? else {
            return Ok(());
        };
        elsewhere += items.len();
    }
    if elsewhere > 0 {
        report(Report::SiftedElsewhere(document.clone(), elsewhere));
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
