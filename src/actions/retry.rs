//! retry: the model is asked again, from the reply at hand on, plain or with feedback.

use super::evidence::{ordinal, render};
use super::{Choice, Planned, Refusal, Scene};
use crate::session::{Edit, Flags, Kind, Standing, Turn, Voice};

pub(super) fn plan(scene: &Scene<'_>, choice: &Choice<'_>) -> Result<Planned, Refusal> {
    let turn = scene.reply()?;
    let before = asks_before(scene, turn)?;
    spare_approvals(scene, turn)?;
    let ran = tools_that_ran(scene, turn);
    if !ran.is_empty() && !choice.confirmed {
        return Err(Refusal::NeedsConfirmation(format!(
            "tools of this turn ran already, and may run again: {}",
            ran.join(", ")
        )));
    }
    let mut planned = Planned::of(vec![Edit::Cut { from: turn.first }]);
    planned.asks_model = true;
    drop_early_outputs(scene, turn, &mut planned)?;
    if !ran.is_empty() {
        planned.note(format!("these tools ran already: {}", ran.join(", ")));
    }
    tell_of_later_turns(scene, turn, &mut planned);
    if choice.words.is_some_and(|words| !words.trim().is_empty()) {
        let leaves = |item: &u32| planned.edits.contains(&Edit::Drop { item: *item });
        let after = (0..=before).rev().find(|item| !leaves(item));
        let Some(after) = after else {
            return Err(Refusal::WouldBreak(
                "nothing would stand before the feedback".to_owned(),
            ));
        };
        planned.edits.push(Edit::Say {
            after,
            voice: Voice::User,
            text: render(scene, &scene.defect, scene.item, choice.words)?,
        });
    }
    Ok(planned)
}

/// The item behind which the model is asked again.
fn asks_before(scene: &Scene<'_>, turn: Turn) -> Result<u32, Refusal> {
    let items = &scene.session().items[..turn.first as usize];
    let asks = |kind| matches!(kind, Kind::User | Kind::Output | Kind::System);
    let found = items.iter().any(|item| asks(item.kind));
    turn.first.checked_sub(1).filter(|_| found).ok_or_else(|| {
        let reason = "nothing stands before this reply that the model could answer";
        Refusal::WouldBreak(reason.to_owned())
    })
}

/// What waits for a decision must not be forgotten.
fn spare_approvals(scene: &Scene<'_>, turn: Turn) -> Result<(), Refusal> {
    let behind = turn.first as usize..scene.session().items.len();
    let mut behind = behind.filter_map(|index| u32::try_from(index).ok());
    match behind.find(|index| scene.awaits_approval(*index)) {
        None => Ok(()),
        Some(waiting) => Err(Refusal::WouldBreak(format!(
            "it would cut the call of {} at item {}, which awaits an approval",
            scene.tool(waiting),
            ordinal(waiting)
        ))),
    }
}

/// The tools of a turn that have an output, and so may have done something.
fn tools_that_ran(scene: &Scene<'_>, turn: Turn) -> Vec<String> {
    let calls = (turn.first..turn.end).filter(|index| may_have_run(scene, *index));
    let told = calls.map(|call| format!("{} (item {})", scene.tool(call), ordinal(call)));
    told.collect()
}

/// Whether a call was answered by its tool: not rejected, and of a tool that there is.
fn may_have_run(scene: &Scene<'_>, index: u32) -> bool {
    let is_call = scene.at(index).is_ok_and(|item| item.kind == Kind::Call);
    let Standing::Paired(output) = scene.standing(index) else {
        return false;
    };
    let is_rejected = scene
        .at(output)
        .is_ok_and(|item| item.flags.has(Flags::REJECTED));
    let mut known = scene.defects_of(index);
    // A note says that the call was answered all the same.
    let was_unknown =
        known.any(|defect| defect.rule == "unknown-tool" && defect.fact("note").is_none());
    is_call && !is_rejected && !was_unknown
}

/// An output that was written before its call leaves with it; a call that was made earlier cannot go on without its output.
fn drop_early_outputs(scene: &Scene<'_>, turn: Turn, planned: &mut Planned) -> Result<(), Refusal> {
    for item in 0..turn.first {
        let Standing::Paired(other) = scene.standing(item) else {
            continue;
        };
        if other < turn.first {
            continue;
        }
        if scene.at(item)?.kind != Kind::Output {
            return Err(Refusal::WouldBreak(format!(
                "item {} would be left without item {}, which it needs: retry the turn of item {0}",
                ordinal(item),
                ordinal(other)
            )));
        }
        planned.note(format!("the output at item {} leaves, too", ordinal(item)));
        planned.edits.push(Edit::Drop { item });
    }
    Ok(())
}

fn tell_of_later_turns(scene: &Scene<'_>, turn: Turn, planned: &mut Planned) {
    let later = &scene.session().items[turn.end as usize..];
    let calls = later.iter().filter(|item| item.kind == Kind::Call).count();
    if !later.is_empty() {
        let items = later.len();
        planned.note(format!(
            "{items} later items leave the take, {calls} of them calls"
        ));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::actions::stage::{USER, history, only, stage};

    const REASONING: &str = r#"{"type":"reasoning","id":"rs_1","summary":[]}"#;
    const CALL: &str =
        r#"{"type":"function_call","call_id":"call_1","name":"pay","arguments":"{"}"#;
    const OUT: &str = r#"{"type":"function_call_output","call_id":"call_1","output":"paid"}"#;

    #[test]
    fn a_reply_is_cut_off_whole_and_feedback_is_said_before_it() {
        let stage = stage(&history(&[USER, REASONING, CALL]));
        let plain = stage
            .mend("malformed-arguments", "retry", &Choice::default())
            .unwrap();
        assert_eq!(only(&plain), &Edit::Cut { from: 1 });
        assert!(plain.asks_model && plain.notes.is_empty());
        let told = stage
            .mend(
                "malformed-arguments",
                "retry",
                &Choice::words("Write JSON."),
            )
            .unwrap();
        let feedback = Edit::Say {
            after: 0,
            voice: Voice::User,
            text: "Write JSON.".to_owned(),
        };
        assert_eq!(told.edits, [Edit::Cut { from: 1 }, feedback]);
    }

    #[test]
    fn tools_that_ran_are_named_and_run_again_only_if_the_operator_says_so() {
        let stage = stage(&history(&[USER, CALL, OUT, USER]));
        let refusal = stage
            .mend("malformed-arguments", "retry", &Choice::default())
            .unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "tools of this turn ran already, and may run again: pay (item 2)"
        );
        assert!(refusal.is_question());
        let confirmed = Choice {
            confirmed: true,
            ..Choice::default()
        };
        let planned = stage
            .mend("malformed-arguments", "retry", &confirmed)
            .unwrap();
        assert_eq!(
            planned.notes,
            [
                "these tools ran already: pay (item 2)",
                "1 later items leave the take, 0 of them calls"
            ]
        );
    }

    #[test]
    fn a_pending_approval_is_never_cut_away_and_nothing_is_asked_of_nobody() {
        let request = r#"{"type":"mcp_approval_request","id":"mcpr_1","server_label":"s","name":"pay","arguments":"{}"}"#;
        let waits = stage(&history(&[USER, CALL, OUT, request]));
        let confirmed = Choice {
            confirmed: true,
            ..Choice::default()
        };
        let refusal = waits.act(1, "retry", &confirmed).unwrap_err();
        assert!(
            refusal.to_string().contains("awaits an approval"),
            "{refusal}"
        );
        let alone = stage(&history(&[CALL, USER]));
        assert!(matches!(
            alone.act(0, "retry", &confirmed),
            Err(Refusal::WouldBreak(_))
        ));
        assert!(matches!(
            alone.act(1, "retry", &confirmed),
            Err(Refusal::WrongKind(_))
        ));
    }
}
