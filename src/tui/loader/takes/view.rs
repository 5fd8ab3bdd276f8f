//! The tree of takes as the screen draws it.

use super::WHOLE;
use crate::actions;
use crate::runtime::Workbench;
use crate::session::takes::{ItemMark, Take, TakeId, Tally};
use crate::tui::recovery::takes::TakeRow;
use crate::tui::state::recovery::TakesView;
use std::sync::Arc;

/// The takes, for the screen.
pub(super) fn view_of(bench: &Workbench, current: TakeId) -> Arc<TakesView> {
    let takes = bench.takes();
    let whole = ItemMark::new(0, WHOLE);
    let note = |id: TakeId| {
        let mut notes = takes.notes(id);
        let found = notes.find(|(mark, _)| *mark == whole);
        found.map_or_else(String::new, |(_, text)| text.to_owned())
    };
    let rows = takes.branches().into_iter().map(|branch| {
        let row = TakeRow {
            id: branch.id.0,
            rails: branch.rails,
            note: note(branch.id),
            is_current: branch.id == current,
            ..TakeRow::default()
        };
        takes
            .get(branch.id)
            .map_or(row.clone(), |take| row_of(take, row))
    });
    let of_items = |(mark, text): (ItemMark, &str)| (mark.at, text.to_owned());
    Arc::new(TakesView {
        rows: rows.collect(),
        current: current.0,
        banner: bench.not_recording().map(ToString::to_string),
        bookmarks: takes.bookmarks(current).map(|mark| mark.at).collect(),
        notes: takes
            .notes(current)
            .filter(|(mark, _)| *mark != whole)
            .map(of_items)
            .collect(),
    })
}

fn row_of(take: &Take, row: TakeRow) -> TakeRow {
    let action = match take.cause.action.as_deref() {
        None => "fork",
        Some(id) => actions::find(id).map_or(id, |action| action.title),
    };
    let wording = match (&take.wording, &take.words) {
        (Some(name), Some(words)) => format!("{name}: {words}"),
        (None, Some(words)) => words.clone(),
        (_, None) => String::new(),
    };
    let sum = |tally: Tally| (tally.errors + tally.warnings) as usize;
    let outcome = &take.outcome;
    let is_judged = [outcome.before, outcome.after] != [Tally::default(); 2];
    TakeRow {
        parent: Some(take.parent.0),
        name: take.title.clone(),
        action: action.to_owned(),
        rule: take.cause.rule.clone().unwrap_or_default(),
        wording,
        findings: is_judged.then(|| (sum(outcome.before), sum(outcome.after))),
        fork: take.forked_at.map(|item| item as usize + 1),
        ..row
    }
}
