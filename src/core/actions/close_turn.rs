//! close-turn: a turn that a crash left open is ended honestly. Nothing runs again.

use super::answer::{ends_on_outputs, put, spare_lost_output};
use super::evidence;
use super::evidence::named;
use super::plan::{ActionContext, ActionError, ActionInput, Plan, Result};
use crate::session::{Edit, MessageRole, Speaker, Turn};

/// What the model reads of a call whose tool may have run.
const MAY_HAVE_RUN: &str = "The run ended before this tool returned a result. It may have run: check before you \
    call it again.";

/// What it reads of a call that no tool could take.
const DID_NOT_RUN: &str = "The run ended at this call. It did not run: there is no such tool.";

/// What it reads of a call whose arguments no tool could read, for one because they were cut off.
const UNREADABLE: &str =
    "The run ended at this call. It did not run: its arguments are no whole JSON object.";

/// What closes the turn where the server wants a message of the model before the user's next one.
const CLOSING: &str = "The run ended here.";

/// Models whose server refuses a user message after outputs (`Unexpected role 'user' after
/// role 'tool'`, code 3230).
const CLOSED_BY_A_REPLY: &[&str] = &[
    "mistral",
    "mixtral",
    "ministral",
    "magistral",
    "codestral",
    "devstral",
    "pixtral",
];

pub(crate) fn plan(scene: &ActionContext<'_>, choice: &ActionInput<'_>) -> Result<Plan> {
    let turn = scene.reply()?;
    let mut planned = Plan::default();
    answer_what_is_open(scene, turn, choice.words, &mut planned)?;
    if planned.edits.is_empty() {
        return Err(ActionError::NothingToDo);
    }
    if wants_a_reply(scene, turn) {
        planned.edits.push(Edit::Say {
            after: turn.end.saturating_sub(1),
            voice: MessageRole::Assistant,
            text: CLOSING.to_owned(),
        });
        planned.note("this server wants a message of the model before the user's next one");
    }
    planned.asks_model = ends_on_outputs(scene, &planned);
    Ok(planned)
}

/// Answers every call of the turn that has no output.
pub(crate) fn answer_what_is_open(
    scene: &ActionContext<'_>,
    turn: Turn,
    words: Option<&str>,
    planned: &mut Plan,
) -> Result<()> {
    if (turn.first..turn.end).any(|index| scene.awaits_approval(index)) {
        return Err(ActionError::AwaitsApproval);
    }
    let mut families = Vec::new();
    for call in (turn.first..turn.end).filter(|index| scene.is_unanswered(*index)) {
        // Outputs without ids belong to the first calls of their family.
        let family = scene.at(call)?.family;
        if !families.contains(&family) {
            families.push(family);
            spare_lost_output(scene, call)?;
        }
        let no_such_tool = is_not_offered(scene, call);
        let own = if no_such_tool {
            DID_NOT_RUN
        } else if evidence::is_unreadable(scene, call) {
            UNREADABLE
        } else {
            MAY_HAVE_RUN
        };
        let text = evidence::render(scene, &scene.defect, call, words.or(Some(own)))?;
        put(scene, call, text, true, planned)?;
        if own == MAY_HAVE_RUN {
            planned.note(format!(
                "{} may have run; its result is not known",
                named(scene, call)
            ));
        }
    }
    Ok(())
}

fn is_not_offered(scene: &ActionContext<'_>, call: u32) -> bool {
    let Ok(item) = scene.at(call) else {
        return false;
    };
    let is_named = !item.name.is_none() && scene.session().contract.tools_known();
    let offered = scene.around.offered(call as usize);
    is_named && offered.is_some_and(|offered| offered.tool(item.name).is_none())
}

fn wants_a_reply(scene: &ActionContext<'_>, turn: Turn) -> bool {
    let session = scene.session();
    let next = session.items.get(turn.end as usize).map(|item| item.turn);
    let next = next.and_then(|turn| session.turns.get(turn as usize));
    let model = session.model.as_deref().unwrap_or_default().to_lowercase();
    scene.target.facts().is_common
        && next.is_some_and(|next| next.speaker == Speaker::User)
        && CLOSED_BY_A_REPLY.iter().any(|name| model.contains(name))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::actions::fixture::{USER, fixture, history};
    use serde_json::json;

    const CALL: &str = r#"{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"pay","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"pray","arguments":"{}"}}]}"#;
    const OUT: &str = r#"{"role":"tool","tool_call_id":"b","content":"done"}"#;

    fn answers(planned: &Plan) -> Vec<(u32, &str)> {
        let answers = planned.edits.iter().filter_map(|edit| match edit {
            Edit::Answer { call, text, .. } => Some((*call, text.as_str())),
            _ => None,
        });
        answers.collect()
    }

    #[test]
    fn what_is_open_is_answered_honestly_and_what_has_its_output_is_left_alone() {
        let fixture = fixture(&history(&[USER, CALL, OUT, USER]));
        let planned = fixture
            .act(1, "close-turn", &ActionInput::default())
            .unwrap();
        assert_eq!(answers(&planned), [(1, MAY_HAVE_RUN)]);
        assert_eq!(
            planned.notes,
            ["the pay call of turn 2 may have run; its result is not known"]
        );
        assert_eq!(
            fixture.act(0, "close-turn", &ActionInput::default()),
            Err(ActionError::WrongKind("a reply of the model"))
        );
    }

    #[test]
    fn what_may_be_the_output_of_a_call_is_not_passed_over() {
        let out = OUT.replace(r#""tool_call_id":"b","#, "");
        let fixture = fixture(&history(&[USER, CALL, &out, USER]));
        let refusal = fixture
            .act(1, "close-turn", &ActionInput::default())
            .unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "the output of turn 2 (item 4), which has no id, is probably its own: give that the id first"
        );
        assert!(
            fixture
                .act(2, "inject-error", &ActionInput::default())
                .is_ok()
        );
    }

    #[test]
    fn a_call_of_no_tool_did_not_run() {
        let fixture = fixture(&history(&[USER, CALL])).tools(json!([{"name": "pay"}]));
        let planned = fixture
            .apply("pending-call", "close-turn", &ActionInput::default())
            .unwrap();
        assert_eq!(answers(&planned), [(1, MAY_HAVE_RUN), (2, DID_NOT_RUN)]);
        assert!(planned.asks_model);
    }

    #[test]
    fn a_call_whose_arguments_were_cut_off_did_not_run() {
        let cut = CALL.replacen(r#""arguments":"{}""#, r#""arguments":"{\"to\":\"an""#, 1);
        let fixture = fixture(&history(&[USER, &cut]));
        let planned = fixture
            .act(1, "close-turn", &ActionInput::default())
            .unwrap();
        assert_eq!(answers(&planned), [(1, UNREADABLE), (2, MAY_HAVE_RUN)]);
        let planned = fixture
            .act(1, "inject-error", &ActionInput::default())
            .unwrap();
        let [(1, told)] = answers(&planned)[..] else {
            panic!("{planned:?}");
        };
        assert!(
            told.contains("are not a JSON object") && told.contains("was not run"),
            "{told}"
        );
    }

    #[test]
    fn mistral_wants_a_reply_before_the_next_message_of_the_user() {
        let mut fixture = fixture(&history(&[USER, CALL, USER]));
        let count = |fixture: &crate::actions::fixture::ActionFixture| {
            let planned = fixture
                .act(1, "close-turn", &ActionInput::default())
                .unwrap();
            planned.edits.len()
        };
        assert_eq!(count(&fixture), 2);
        fixture.session.model = Some("mistral-large-2512".to_owned());
        assert_eq!(count(&fixture), 3);
    }
}
