//! The tree of takes as the screen draws it.

use crate::tui::state::document::Place;
use crate::tui::state::takes::{Decided, TakeRow, TakesView};
use retake_core::actions;
use retake_core::session::takes::{Author, FindingCounts, ItemMark, Take, TakeId, Takes};
use retake_live::live::CONTINUE;
use retake_live::{AS_REQUEST, TakeStore};
use std::sync::Arc;

/// The takes, for the screen.
pub(super) fn view_of(bench: &mut TakeStore, current: TakeId) -> Arc<TakesView> {
    let rows = take_rows(bench, current);
    let (bookmarks, notes) = (bench.bookmarks(current), bench.item_notes(current));
    // Where nothing was decided yet, nothing can be lost.
    let is_at_stake = rows.len() > 1 || !bookmarks.is_empty() || !notes.is_empty();
    let banner = bench
        .not_recording()
        .filter(|trouble| is_at_stake || trouble.is_of_the_journal());
    Arc::new(TakesView {
        banner: banner.map(ToString::to_string),
        in_memory: bench.takes_in_memory(),
        dropped: bench.takes().count_dropped(),
        rows,
        current: current.0,
        left_in: bench.takes().current().0,
        bookmarks,
        notes,
        decided: decided(bench.takes(), current),
    })
}

/// What a policy did about items that the current take still has in their places.
fn decided(takes: &Takes, current: TakeId) -> Vec<Decided> {
    let mut decided = Vec::new();
    for take in takes
        .line(current)
        .into_iter()
        .filter_map(|id| takes.get(id))
    {
        if take.own.is_some() {
            // The history was written anew: its items have other numbers.
            decided.clear();
        }
        let cause = &take.cause;
        let item = cause.item.or(take.forked_at);
        let (Author::Policy, Some(id), Some(item)) = (cause.by, cause.action.as_deref(), item)
        else {
            continue;
        };
        let action = actions::find(id).map_or(id, |action| action.title);
        let rule = cause
            .rule
            .as_deref()
            .map_or_else(String::new, |rule| format!(" ({rule})"));
        decided.push(Decided {
            place: Place {
                session: take.session as usize,
                item: item as usize,
            },
            words: format!("policy: {action}{rule}"),
        });
    }
    decided
}

/// The takes of a recording, itself first.
pub fn take_rows(bench: &TakeStore, current: TakeId) -> Vec<TakeRow> {
    let takes = bench.takes();
    let note = |id: TakeId| {
        let mut notes = takes.notes(id);
        let found = notes.find(|(mark, _)| *mark == ItemMark::whole());
        found.map_or_else(String::new, |(_, text)| text.to_owned())
    };
    // What was found in the recording is noted with the takes that were made of it.
    let mut children = takes.children(TakeId::MAIN).iter();
    let of_main = children.find_map(|id| judged(takes.get(*id)?));
    let rows = takes.listed().into_iter().map(|branch| {
        let row = TakeRow {
            id: branch.id.0,
            rails: branch.rails,
            note: note(branch.id),
            is_current: branch.id == current,
            is_renamed: takes.is_renamed(branch.id),
            is_first_request: branch.id == TakeId::MAIN && bench.is_run(),
            ..TakeRow::default()
        };
        match takes.get(branch.id) {
            Some(take) => row_of(take, row),
            None => TakeRow {
                findings: of_main.map(|(before, _)| (before, before)),
                ..row
            },
        }
    });
    rows.collect()
}

fn row_of(take: &Take, row: TakeRow) -> TakeRow {
    let action = match take.cause.action.as_deref() {
        None => "fork",
        Some(AS_REQUEST) => "rebuilt as a request",
        Some(CONTINUE) => "live",
        Some(id) => actions::find(id).map_or(id, |action| action.title),
    };
    let wording = match (&take.wording, &take.words) {
        // The JSON of the item says less than what was changed in it, which names the take.
        (None, Some(_)) if take.cause.action.as_deref() == Some("edit") => String::new(),
        (Some(name), Some(words)) => format!("{name}: {words}"),
        (None, Some(words)) => words.clone(),
        // A sample of the lab says what the model did.
        (_, None) => take.outcome.live.clone().unwrap_or_default(),
    };
    let is_rebuilt = take.cause.action.as_deref() == Some(AS_REQUEST);
    TakeRow {
        parent: Some(take.parent.0),
        name: match is_rebuilt {
            true => String::new(),
            false => take.title.clone(),
        },
        is_rebuilt,
        action: action.to_owned(),
        rule: take.cause.rule.clone().unwrap_or_default(),
        wording,
        findings: judged(take),
        fork: take.forked_at.map(|item| item as usize + 1),
        ..row
    }
}

/// The findings before a take and after it, where they are known.
fn judged(take: &Take) -> Option<(FindingCounts, FindingCounts)> {
    let (before, after) = (take.outcome.before, take.outcome.after);
    // Journals of earlier versions do not say that nothing was found.
    let is_judged = take.outcome.checked || [before, after] != [FindingCounts::default(); 2];
    is_judged.then_some((before, after))
}
