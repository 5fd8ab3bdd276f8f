//! Everything that is safe to apply in a session: shown first, then one take.

use super::takes;
use crate::tui::effect::{Effect, TakeOrder};
use crate::tui::keymap::{Command, with_ways};
use crate::tui::recovery::changes::{changes_of, open_arguments};
use crate::tui::recovery::proposal::{Proposal, ProposalVerdict, Proposed};
use crate::tui::stack::{Flow, OpeningLayer, Screen as _};
use crate::tui::state::State;
use crate::tui::state::recovery::Awaited;
use crate::words::counted;
use retake_core::actions::{self, Safety};
use retake_core::rules::{Finding, Severity};
use retake_core::session::takes::{Author, Take, TakeCause};
use retake_live::{SafeFixes, safe_fixes};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Most edits whose differences are shown.
const SHOWN: usize = 200;

/// Shows what all safe fixes of the session would change.
pub(super) fn begin(state: &mut State) {
    if state.recovery.is_busy {
        takes::may_ask(state);
        return;
    }
    if !state.is_known() {
        return state.wait(Awaited::FixAll, "fix all");
    }
    if !state.is_recording() {
        return state
            .say("all safe fixes at once are for recordings; here enter fixes one finding");
    }
    let Some(document) = state.document.clone() else {
        return;
    };
    let Some(session) = document.session(state.session) else {
        return;
    };
    let findings = state.findings_of(state.session);
    let fixes = safe_fixes(session, &findings, state.recovery.target);
    let left = left_words(&findings, &fixes);
    if fixes.applied.is_empty() {
        let words = match &left[..] {
            [] => "nothing to fix in this session".to_owned(),
            left => format!("no safe fix in this session; {}", left.join("; ")),
        };
        return state.say(words);
    }
    let shown = &fixes.edits[..fixes.edits.len().min(SHOWN)];
    let (mut changes, more_removed) = changes_of(session, shown);
    open_arguments(session, &mut changes);
    let mut notes = applied_words(&fixes);
    notes.push(with_ways("one take; ", &[(Command::Undo, "undoes it")]));
    notes.extend(left);
    let hidden = fixes.edits.len() - shown.len();
    if hidden > 0 {
        notes.push(format!(
            "{} more are not shown here",
            counted(hidden, "change")
        ));
    }
    let title = title_of(&fixes);
    let proposal = Proposal::new(&Proposed {
        title: format!("fix all: {title}"),
        safety: Safety::Safe,
        faults: Vec::new(),
        notes: notes.clone(),
        changes,
        more_removed,
        has_words: false,
    });
    let number = state.session;
    let first = fixes.applied.iter().map(|applied| applied.item).min();
    let order = TakeOrder {
        document: document.clone(),
        session: number,
        edits: fixes.edits,
        about: Take {
            title,
            forked_at: first,
            cause: TakeCause {
                rule: None,
                item: first,
                action: Some(FIX_ALL.to_owned()),
                by: Author::Operator,
            },
            notes,
            ..Take::default()
        },
    };
    let decide = move |state: &mut State, _: &mut Proposal, verdict| match verdict {
        ProposalVerdict::Reword => Flow::Stay,
        ProposalVerdict::Accept if !takes::may_ask(state) => Flow::Stay,
        ProposalVerdict::Accept => {
            state.leave_layers();
            state.notice = None;
            state.recovery.is_busy = true;
            state.effects.push(Effect::Take(Box::new(order.clone())));
            Flow::Close
        }
    };
    let is_shown = move |state: &State| {
        let shown = state.document.as_ref();
        shown.is_some_and(|shown| Arc::ptr_eq(shown, &document))
    };
    let opening = OpeningLayer::new(proposal, decide);
    opening.as_long_as(is_shown).over(state);
}

/// The action of such a take.
pub(in crate::tui) const FIX_ALL: &str = "fix-all";

/// What such a take is called.
pub(in crate::tui) fn title_of(fixes: &SafeFixes) -> String {
    match fixes.applied.len() {
        1 => "1 safe fix".to_owned(),
        several => format!("{several} safe fixes"),
    }
}

/// Most items that are named of those that an action fixes.
const NAMED: usize = 8;

/// How many findings of which rule each action fixes, and at which items.
fn applied_words(fixes: &SafeFixes) -> Vec<String> {
    let mut fixed: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    for applied in &fixes.applied {
        let items = fixed.entry((applied.rule, applied.action)).or_default();
        items.push(applied.item);
    }
    let words = fixed.into_iter().map(|((rule, action), items)| {
        let title = actions::find(action).map_or(action, |action| action.title);
        let count = items.len();
        let word = if count == 1 { "item" } else { "items" };
        let named = items.iter().take(NAMED);
        let named: Vec<String> = named.map(|item| (item + 1).to_string()).collect();
        let more = match count.saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "{count} {rule}: {title} ({word} {}{more})",
            named.join(", ")
        )
    });
    words.collect()
}

/// What stays as it is, and why: `2 invalid-arguments stay: the only fix is unsafe`.
fn left_words(findings: &[Finding], fixes: &SafeFixes) -> Vec<String> {
    let applied = fixes.applied.iter().map(|it| (it.item, it.rule));
    let applied: HashSet<_> = applied.collect();
    let is_fixed = |finding: &&Finding| {
        let item = finding.item.unwrap_or_default();
        applied.contains(&(item, finding.rule.id))
    };
    let left = findings.iter().filter(|finding| {
        finding.severity > Severity::Info && !finding.is_settled && !is_fixed(finding)
    });
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    for finding in left {
        *counts
            .entry((finding.rule.id, reason(finding, fixes)))
            .or_default() += 1;
    }
    let words = counts.into_iter().map(|((rule, reason), count)| {
        let stay = if count == 1 { "stays" } else { "stay" };
        match reason {
            Some(reason) => format!("{count} {rule} {stay}: {reason}"),
            None => format!("{count} {rule} may go with these fixes; if not, press Y again"),
        }
    });
    words.collect()
}

/// Why a finding stays; `None` where its fix waits for another one of the same items.
fn reason(finding: &Finding, fixes: &SafeFixes) -> Option<String> {
    let mut refused = fixes.refused.iter();
    let refusal = refused.find(|it| Some(it.item) == finding.item && it.rule == finding.rule.id);
    let offers = |safety| finding.offers.iter().any(|offer| offer.safety == safety);
    match refusal {
        Some(refusal) => Some(refusal.reason.to_string()),
        None if offers(Safety::Safe) => None,
        None if offers(Safety::Unsafe) && offers(Safety::Manual) => {
            Some("the fixes need your words or are unsafe".to_owned())
        }
        None if offers(Safety::Unsafe) => {
            Some("the only fix is unsafe, as it changes what the model saw or did".to_owned())
        }
        None if offers(Safety::Manual) => Some("the fix needs your words".to_owned()),
        None => Some("no fix is offered".to_owned()),
    }
}
