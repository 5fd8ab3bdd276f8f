//! drop-item: an item leaves the history, unless something else needs it.

use super::belonging::{drop_all, follower};
use super::evidence::named;
use super::plan::{ActionContext, ActionError, ActionInput, Plan, Result};
use crate::session::{Kind, PairStatus};

pub(crate) fn plan(scene: &ActionContext<'_>, _: &ActionInput<'_>) -> Result<Plan> {
    if let Some(reason) = needed_by(scene)? {
        return Err(ActionError::WouldBreak(reason));
    }
    drop_all(scene, &[scene.item])
}

/// Why the item has to stay, if it has to.
fn needed_by(scene: &ActionContext<'_>) -> Result<Option<String>> {
    let item = scene.item()?;
    let standing = scene.standing(scene.item);
    Ok(match (item.kind, standing) {
        (Kind::Call | Kind::HostedCall | Kind::ApprovalRequest, PairStatus::Paired(output)) => {
            Some(format!(
                "{} would answer nothing: drop the pair",
                named(scene, output)
            ))
        }
        (
            Kind::Call | Kind::ApprovalRequest | Kind::Output | Kind::ApprovalResponse,
            PairStatus::Severed(partner),
        ) => Some(format!(
            "{} is on the other side of a compaction: drop the pair",
            named(scene, partner)
        )),
        (Kind::Output | Kind::HostedOutput | Kind::ApprovalResponse, PairStatus::Paired(call)) => {
            Some(format!(
                "{}, which it answers, would be left without an answer: drop the pair",
                named(scene, call)
            ))
        }
        // Thinking without a valid signature is refused, whatever follows from it.
        (Kind::Reasoning, _)
            if item.facts().is_some_and(|facts| facts.signs_reasoning)
                && scene.defect.rule == "missing-signature" =>
        {
            None
        }
        (Kind::Reasoning, _) => led_to(scene)?,
        (Kind::Compaction, _) => {
            Some("without the mark, what it replaced would be sent again".to_owned())
        }
        (Kind::ToolDefinitions, _) => Some("the tools that it brings would be missing".to_owned()),
        (Kind::System, _) if is_setting(scene)? => {
            Some("it is a setting of the request, not an item of a list".to_owned())
        }
        (Kind::User, _) if is_bare_input(scene)? => {
            Some("it is the run's whole input, not an item of a list".to_owned())
        }
        (Kind::User, _) if opens_history(scene) => Some(
            "the history would begin with a reply of the model, which the provider refuses"
                .to_owned(),
        ),
        _ => None,
    })
}

/// `input` of a request, or `original_input` of a run, as a text instead of a list.
fn is_bare_input(scene: &ActionContext<'_>) -> Result<bool> {
    let item = scene.item()?;
    Ok(item.facts().is_some_and(|facts| facts.calls_key.is_none())
        && scene.bytes(scene.item)?.starts_with(b"\""))
}

/// Instructions of a request that are a text or a list of blocks instead of a message.
fn is_setting(scene: &ActionContext<'_>) -> Result<bool> {
    Ok(!scene.bytes(scene.item)?.starts_with(b"{"))
}

fn led_to(scene: &ActionContext<'_>) -> Result<Option<String>> {
    let turn = scene.turn(scene.item)?;
    let next = follower(&scene.session().items, turn, scene.item);
    Ok(next.map(|next| {
        format!(
            "{} follows from it, and providers want both or none",
            named(scene, next)
        )
    }))
}

/// Whether this is the only user message before the first reply; some providers require one.
fn opens_history(scene: &ActionContext<'_>) -> bool {
    let items = &scene.session().items;
    let reply = items.iter().position(|item| item.kind.is_from_model());
    let Some(before) = reply.and_then(|reply| items.get(..reply)) else {
        return false;
    };
    let others = before.iter().enumerate().filter(|(index, item)| {
        *index != scene.item as usize && matches!(item.kind, Kind::User | Kind::Compaction)
    });
    scene.target.facts().opens_with_user
        && (scene.item as usize) < before.len()
        && others.count() == 0
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::actions::fixture::{USER, anthropic, dropped, fixture, history};
    use crate::session::Dialect;

    const REASONING: &str = r#"{"type":"reasoning","id":"rs_1","summary":[]}"#;
    const CALL: &str = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;
    const OUT: &str = r#"{"type":"function_call_output","call_id":"c","output":"1"}"#;

    #[test]
    fn a_half_of_a_pair_and_reasoning_with_its_follower_stay() {
        let fixture = fixture(&history(&[USER, REASONING, CALL, OUT, OUT, USER]));
        let refusals = [
            (
                1,
                "the f call of turn 2 follows from it, and providers want both or none",
            ),
            (
                2,
                "the output of f in turn 2 (item 4) would answer nothing: drop the pair",
            ),
            (
                3,
                "the f call of turn 2, which it answers, would be left without an answer: drop the pair",
            ),
        ];
        for (item, reason) in refusals {
            let refusal = fixture
                .act(item, "drop-item", &ActionInput::default())
                .unwrap_err();
            assert_eq!(refusal.to_string(), reason);
        }
        let planned = fixture
            .apply("duplicate-output", "drop-item", &ActionInput::default())
            .unwrap();
        assert_eq!(dropped(&planned), [4]);
    }

    #[test]
    fn reasoning_goes_with_the_message_that_it_led_to_and_alone_when_it_led_nowhere() {
        let say = r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ten"}]}"#;
        let both = fixture(&history(&[USER, REASONING, say, USER]));
        let planned = both.act(2, "drop-item", &ActionInput::default()).unwrap();
        assert_eq!(dropped(&planned), [1, 2]);
        assert_eq!(
            planned.notes,
            ["the reasoning of turn 2 led to it and goes as well"]
        );
        let lost = fixture(&history(&[USER, REASONING, USER]));
        let planned = lost
            .apply("orphan-reasoning", "drop-item", &ActionInput::default())
            .unwrap();
        assert_eq!(dropped(&planned), [1]);
    }

    #[test]
    fn anthropic_begins_with_the_user() {
        let say = r#"{"role":"assistant","content":"hello"}"#;
        let fixture = fixture(&anthropic(&[USER, say, USER])).target(Dialect::Anthropic);
        assert!(
            fixture
                .act(0, "drop-item", &ActionInput::default())
                .is_err()
        );
        assert!(fixture.act(2, "drop-item", &ActionInput::default()).is_ok());
    }
}
