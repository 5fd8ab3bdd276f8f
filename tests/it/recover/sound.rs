//! Every action on every item of recordings that are sound: it is refused, or leaves them sound.

use super::Before;
use super::recordings::{Case, bundled, corpus, told, wire_cases};
use retake_core::actions::{ACTIONS, ActionContext, ActionInput, Defect, SessionIndex};
use retake_core::rules::Severity;
use retake_core::session::Source;
use retake_live::{Base, check_session};

/// Longer sessions are left to the test of offers: here each item is tried with each action.
const LONG: usize = 60;

/// Larger recordings are for long runs.
const LARGE: u64 = 200_000;

/// Every action on every item; how many changed something.
fn act_on_all(before: &Before<'_>, wrong: &mut Vec<String>) -> usize {
    let around = SessionIndex::new(before.session);
    let target = before.case.target.unwrap_or(before.session.dialect);
    let mut count = 0;
    for item in 0..u32::try_from(before.session.items.len()).unwrap() {
        let scene = ActionContext {
            around: &around,
            target,
            item,
            defect: Defect::default(),
            beside: &[],
        };
        for action in ACTIONS {
            let choice = ActionInput {
                keeps_schema: false,
                words: Some("well").filter(|_| action.id != "repair-arguments"),
                whole_turn: true,
                include_in_history: true,
                confirmed: true,
                never_ran: &[],
            };
            let Ok(planned) = (action.plan)(&scene, &choice) else {
                continue;
            };
            count += 1;
            let place = format!("{} item {} {}", before.case.name, item + 1, action.id);
            match before.after(&planned.edits) {
                Ok(Some(after)) => {
                    let new = before.brought(action.id, &after);
                    if !new.is_empty() {
                        wrong.push(format!("{place} brings {new:?}: {:?}", planned.edits));
                    }
                }
                Ok(None) => {}
                Err(complaint) => wrong.push(format!("{place} {complaint}")),
            }
        }
    }
    count
}

fn act_on_sound_ones(case: &Case, wrong: &mut Vec<String>) -> usize {
    let Ok(base) = Base::new(case.recording.clone(), case.path.as_deref()) else {
        return 0;
    };
    if base.rope().len() > LARGE && std::env::var_os("RETAKE_LONG").is_none() {
        return 0;
    }
    let mut count = 0;
    for (number, session) in case.recording.sessions.iter().enumerate() {
        let findings = check_session(session, case.target).unwrap();
        let is_sound = findings
            .iter()
            .all(|finding| finding.severity == Severity::Info);
        if is_sound && session.items.len() <= LONG {
            let before = Before {
                case,
                base: &base,
                number,
                session,
                findings: &findings,
            };
            count += act_on_all(&before, wrong);
        }
    }
    count
}

#[test]
fn no_action_breaks_a_sound_transcript() {
    let cases = [
        bundled(),
        wire_cases(),
        told(),
        corpus().unwrap_or_default(),
    ];
    let mut wrong = Vec::new();
    let cases = cases.iter().flatten();
    let count: usize = cases.map(|case| act_on_sound_ones(case, &mut wrong)).sum();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 300, "{count}");
}
