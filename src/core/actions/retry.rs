//! retry: request this reply again, plain or with feedback.

use super::evidence::{is_unreadable, named, ordinal, render};
use super::plan::{ActionContext, ActionError, ActionInput, Plan, Result};
use crate::session::{Edit, Flags, Kind, MessageRole, PairStatus, Turn};
use std::collections::HashSet;

/// Faults for which a runtime refuses a call before its tool starts.
const NEVER_RAN: &[&str] = &["unknown-tool", "malformed-arguments", "invalid-arguments"];

pub(crate) fn plan(scene: &ActionContext<'_>, choice: &ActionInput<'_>) -> Result<Plan> {
    let turn = scene.reply()?;
    let before = asks_before(scene, turn)?;
    spare_approvals(scene, turn)?;
    let ran = tools_that_ran(scene, turn);
    if !ran.is_empty() && !choice.confirmed {
        return Err(ActionError::NeedsConfirmation(format!(
            "these calls ran already: {}; they may run again",
            ran.join(", ")
        )));
    }
    let lost = calls_whose_output_was_lost(scene, turn, choice);
    if !lost.is_empty() && !choice.confirmed {
        return Err(ActionError::NeedsConfirmation(format!(
            "no output was recorded of {}: it may have run, and may run again; `supply output` records what came of it",
            lost.join(", ")
        )));
    }
    let mut planned = Plan::of(vec![Edit::Cut { from: turn.first }]);
    planned.asks_model = true;
    drop_early_outputs(scene, turn, &mut planned)?;
    if !ran.is_empty() {
        planned.note(format!("these calls ran already: {}", ran.join(", ")));
    }
    warn(scene, turn, &lost, &mut planned);
    if choice.words.is_some_and(|words| !words.trim().is_empty()) {
        let leaves = |item: &u32| planned.edits.contains(&Edit::Drop { item: *item });
        let after = (0..=before).rev().find(|item| !leaves(item));
        let Some(after) = after else {
            return Err(ActionError::WouldBreak(
                "nothing would stand before the feedback".to_owned(),
            ));
        };
        let text = render(scene, &scene.defect, scene.item, choice.words)?;
        planned.texts.push(text.clone());
        planned.edits.push(Edit::Say {
            after,
            voice: MessageRole::User,
            text,
        });
    }
    Ok(planned)
}

/// The item after which the model replies again.
fn asks_before(scene: &ActionContext<'_>, turn: Turn) -> Result<u32> {
    let items = &scene.session().items[..turn.first as usize];
    let asks = |kind| matches!(kind, Kind::User | Kind::Output | Kind::System);
    let found = items.iter().any(|item| asks(item.kind));
    turn.first.checked_sub(1).filter(|_| found).ok_or_else(|| {
        let reason = "nothing before this reply could be answered by the model";
        ActionError::WouldBreak(reason.to_owned())
    })
}

/// What waits for a decision must not be forgotten.
fn spare_approvals(scene: &ActionContext<'_>, turn: Turn) -> Result<()> {
    let last = scene.around.last_waiting();
    match last.filter(|waiting| *waiting >= turn.first) {
        None => Ok(()),
        Some(waiting) => Err(ActionError::WouldBreak(format!(
            "it would cut {}, which awaits an approval",
            named(scene, waiting)
        ))),
    }
}

/// The calls of a turn that were answered by their tool: not rejected, and of a tool that there is.
fn tools_that_ran(scene: &ActionContext<'_>, turn: Turn) -> Vec<String> {
    let known = std::iter::once(&scene.defect).chain(scene.beside);
    // A note says that the call was answered all the same.
    let unknown = known
        .filter(|defect| defect.rule == "unknown-tool" && defect.fact("note").is_none())
        .filter_map(|defect| defect.item)
        .collect::<HashSet<_>>();
    let ran = calls_of(scene, turn).filter(|call| match scene.standing(*call) {
        PairStatus::Paired(output) => {
            let output = scene.at(output);
            !unknown.contains(call) && output.is_ok_and(|item| !item.flags.has(Flags::REJECTED))
        }
        _ => false,
    });
    ran.map(|call| call_summary(scene, call)).collect()
}

/// Sound calls without an output: their tools may have run before the output could be written.
fn calls_whose_output_was_lost(
    scene: &ActionContext<'_>,
    turn: Turn,
    choice: &ActionInput<'_>,
) -> Vec<String> {
    let known = std::iter::once(&scene.defect).chain(scene.beside);
    let never_ran = known
        .filter(|defect| NEVER_RAN.contains(&defect.rule))
        .filter_map(|defect| defect.item)
        .collect::<HashSet<_>>();
    let is_unheard = |call: u32| {
        let id = scene.at(call).ok();
        let id = id.and_then(|item| scene.session().call_id(item).ok());
        id.is_some_and(|id| choice.never_ran.contains(&id))
    };
    let may_have_run = |call: &u32| {
        !never_ran.contains(call) && !is_unreadable(scene, *call) && !is_unheard(*call)
    };
    let lost = calls_of(scene, turn)
        .filter(|call| scene.is_unanswered(*call))
        .filter(may_have_run);
    lost.map(|call| call_summary(scene, call)).collect()
}

/// An output that was written before its call leaves with it; a call that was made earlier cannot go
/// on without its output.
fn drop_early_outputs(scene: &ActionContext<'_>, turn: Turn, planned: &mut Plan) -> Result<()> {
    for item in 0..turn.first {
        let PairStatus::Paired(other) = scene.standing(item) else {
            continue;
        };
        if other < turn.first {
            continue;
        }
        if scene.at(item)?.kind != Kind::Output {
            return Err(ActionError::WouldBreak(format!(
                "{} would be left without {}, which it needs: retry that turn",
                named(scene, item),
                named(scene, other)
            )));
        }
        planned.note(format!("{} leaves, too", named(scene, item)));
        planned.edits.push(Edit::Drop { item });
    }
    Ok(())
}

fn calls_of<'s>(scene: &'s ActionContext<'_>, turn: Turn) -> impl Iterator<Item = u32> + 's {
    let is_call = |index: &u32| scene.at(*index).is_ok_and(|item| item.kind == Kind::Call);
    (turn.first..turn.end).filter(is_call)
}

fn call_summary(scene: &ActionContext<'_>, call: u32) -> String {
    named(scene, call)
}

/// What the operator should know: calls whose tools may have run although no output was recorded, and what
/// else leaves the take.
fn warn(scene: &ActionContext<'_>, turn: Turn, lost: &[String], planned: &mut Plan) {
    if !lost.is_empty() {
        planned.note(format!(
            "no output was recorded of {}: it may have run",
            lost.join(", ")
        ));
    }
    let later = scene.session().items.len() - turn.end as usize;
    if later > 0 {
        planned.note(format!(
            "what came later leaves the take: items from {} on",
            ordinal(turn.end)
        ));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::actions::fixture::{USER, fixture, history, only};

    const REASONING: &str = r#"{"type":"reasoning","id":"rs_1","summary":[]}"#;
    const CALL: &str =
        r#"{"type":"function_call","call_id":"call_1","name":"pay","arguments":"{"}"#;
    const OUT: &str = r#"{"type":"function_call_output","call_id":"call_1","output":"paid"}"#;

    #[test]
    fn a_retry_removes_the_whole_reply_and_adds_the_feedback() {
        let fixture = fixture(&history(&[USER, REASONING, CALL]));
        let plain = fixture
            .apply("malformed-arguments", "retry", &ActionInput::default())
            .unwrap();
        assert_eq!(only(&plain), &Edit::Cut { from: 1 });
        assert!(plain.asks_model);
        assert!(plain.notes.is_empty(), "broken JSON never reaches a tool");
        let told = fixture
            .apply(
                "malformed-arguments",
                "retry",
                &ActionInput::words("Write JSON."),
            )
            .unwrap();
        let feedback = Edit::Say {
            after: 0,
            voice: MessageRole::User,
            text: "Write JSON.".to_owned(),
        };
        assert_eq!(told.edits, [Edit::Cut { from: 1 }, feedback]);
    }

    #[test]
    fn a_call_whose_output_was_lost_may_have_run() {
        // Semantics, story 12: the tool ran, the crash came before its output was saved.
        let call = r#"{"type":"function_call","call_id":"call_1","name":"pay","arguments":"{}"}"#;
        let later = r#"{"type":"message","role":"assistant","content":"so?"}"#;
        let fixture = fixture(&history(&[USER, call, USER, later]));
        let refusal = fixture
            .act(1, "retry", &ActionInput::default())
            .unwrap_err();
        assert!(refusal.is_question());
        assert!(
            refusal
                .to_string()
                .starts_with("no output was recorded of the pay call of turn 2"),
            "{refusal}"
        );
        let confirmed = ActionInput {
            confirmed: true,
            ..ActionInput::default()
        };
        assert!(fixture.act(1, "retry", &confirmed).is_ok());
        let supplied = fixture.apply("orphan-call", "supply-output", &ActionInput::words("paid"));
        assert!(matches!(
            only(&supplied.unwrap()),
            Edit::Answer { call: 1, .. }
        ));
    }

    #[test]
    fn tools_that_ran_are_named_and_run_again_only_if_the_operator_says_so() {
        let fixture = fixture(&history(&[USER, CALL, OUT, USER]));
        let refusal = fixture
            .apply("malformed-arguments", "retry", &ActionInput::default())
            .unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "these calls ran already: the pay call of turn 2; they may run again"
        );
        assert!(refusal.is_question());
        let confirmed = ActionInput {
            confirmed: true,
            ..ActionInput::default()
        };
        let planned = fixture
            .apply("malformed-arguments", "retry", &confirmed)
            .unwrap();
        assert_eq!(
            planned.notes,
            [
                "these calls ran already: the pay call of turn 2",
                "what came later leaves the take: items from 4 on"
            ]
        );
    }

    #[test]
    fn a_pending_approval_is_never_cut_away_and_nothing_is_asked_of_nobody() {
        let request = r#"{"type":"mcp_approval_request","id":"mcpr_1","server_label":"s","name":"pay","arguments":"{}"}"#;
        let waits = fixture(&history(&[USER, CALL, OUT, request]));
        let confirmed = ActionInput {
            confirmed: true,
            ..ActionInput::default()
        };
        let refusal = waits.act(1, "retry", &confirmed).unwrap_err();
        assert!(
            refusal.to_string().contains("awaits an approval"),
            "{refusal}"
        );
        let alone = fixture(&history(&[CALL, USER]));
        assert!(matches!(
            alone.act(0, "retry", &confirmed),
            Err(ActionError::WouldBreak(_))
        ));
        assert!(matches!(
            alone.act(1, "retry", &confirmed),
            Err(ActionError::WrongKind(_))
        ));
    }

    #[test]
    fn no_half_of_a_pair_remains() {
        let confirmed = ActionInput {
            confirmed: true,
            words: Some("Again."),
            ..ActionInput::default()
        };
        let early = fixture(&history(&[USER, OUT, CALL]));
        let planned = early.act(2, "retry", &confirmed).unwrap();
        assert_eq!(
            planned.edits[..2],
            [Edit::Cut { from: 2 }, Edit::Drop { item: 1 }]
        );
        assert!(matches!(planned.edits[2], Edit::Say { after: 0, .. }));
        let said = r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}"#;
        let late = fixture(&history(&[USER, CALL, USER, said, OUT]));
        let refusal = late.act(3, "retry", &confirmed);
        assert!(
            matches!(refusal, Err(ActionError::WouldBreak(_))),
            "{refusal:?}"
        );
    }
}
