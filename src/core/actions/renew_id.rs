//! renew-id: a call gets an id that no other has, and its outputs with it.
//!
//! The new id is made from the old one and the number of the item: the same recording always gets the same id.

use super::belonging::open_partner;
use super::evidence::{named, ordinal};
use super::plan::{ActionContext, ActionError, ActionInput, Plan, Result};
use crate::session::{CallId, Edit, Family, Item, Kind, PairStatus};
use crate::wire::write::set_call_id;

/// The longest call id that every provider takes: that of Chat.
const LONGEST: usize = 40;

pub(crate) fn plan(scene: &ActionContext<'_>, _: &ActionInput<'_>) -> Result<Plan> {
    let item = scene.item()?;
    if !matches!(item.kind, Kind::Call | Kind::Output) {
        return Err(ActionError::WrongKind("a call or its result"));
    }
    if matches!(item.family, Family::Legacy | Family::Program) {
        return Err(ActionError::NotInDialect(
            "calls of this type have no id of their own".to_owned(),
        ));
    }
    scene.may_touch(scene.item)?;
    if item.call_id.is_none()
        && let Some(partner) = open_partner(scene, scene.item)?
    {
        return join(scene, partner);
    }
    let call = match (item.kind, scene.standing(scene.item)) {
        (Kind::Call, _) => scene.item,
        (_, PairStatus::Paired(call) | PairStatus::Duplicate(call)) => call,
        _ => {
            let reason = "it answers no call whose id it could take: turn it into text, or drop it";
            return Err(ActionError::WouldBreak(reason.to_owned()));
        }
    };
    renew(scene, call)
}

/// One new id for a call and all its outputs.
fn renew(scene: &ActionContext<'_>, call: u32) -> Result<Plan> {
    scene.may_touch(call)?;
    let item = scene.at(call)?;
    let old = scene.session().call_id(item)?;
    let id = fresh(scene, item, &old, call);
    let mut planned = Plan::default();
    give(scene, call, &id, &mut planned)?;
    if let PairStatus::Paired(output) | PairStatus::Severed(output) = scene.standing(call) {
        give(scene, output, &id, &mut planned)?;
    }
    for output in scene.around.further_outputs(call) {
        give(scene, *output, &id, &mut planned)?;
    }
    planned.note(if old.is_empty() {
        format!("the new id is {id}")
    } else {
        format!("the id was {old}, the new one is {id}")
    });
    Ok(planned)
}

/// Lets a half without id take that of its partner.
fn join(scene: &ActionContext<'_>, partner: u32) -> Result<Plan> {
    let id = scene.session().call_id(scene.at(partner)?)?;
    let mut planned = Plan::default();
    give(scene, scene.item, &id, &mut planned)?;
    planned.note(format!(
        "it takes the id of {}, which is open and takes its place",
        named(scene, partner)
    ));
    Ok(planned)
}

fn give(scene: &ActionContext<'_>, index: u32, id: &str, planned: &mut Plan) -> Result<()> {
    let patches = set_call_id(scene.at(index)?, &scene.bytes(index)?, id)?;
    planned.edits.push(Edit::rewrite(index, patches));
    Ok(())
}

/// An id that the providers take and the session does not have: prefix, what can be kept of the old one, the
/// number of the item.
fn fresh(scene: &ActionContext<'_>, item: &Item, old: &str, index: u32) -> String {
    let prefix = item.facts().map_or("call_", |facts| facts.call_prefix);
    let kept = old.strip_prefix(prefix).unwrap_or(old);
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-' || *byte == b'_';
    let kept = kept.bytes().filter(is_plain).map(char::from);
    let kept = kept.collect::<String>();
    let mut tail = ordinal(index);
    loop {
        let room = LONGEST.saturating_sub(prefix.len() + tail.len() + 1);
        let kept = kept.get(..room).unwrap_or(&kept);
        let joint = if kept.is_empty() { "" } else { "_" };
        let id = format!("{prefix}{kept}{joint}{tail}");
        if !scene.around.has_call_id(CallId::new(id.as_bytes(), 0).hash) {
            return id;
        }
        tail.push('b');
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::actions::fixture::{USER, anthropic, fixture, history};
    use crate::session::Dialect;

    fn chat(id: &str) -> [String; 2] {
        [
            format!(
                r#"{{"role":"assistant","tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}}"#
            ),
            format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"1"}}"#),
        ]
    }

    #[test]
    fn a_reused_id_is_renewed_in_the_call_and_its_output_always_to_the_same() {
        let [call, out] = chat("call_0");
        let fixture =
            fixture(&history(&[USER, &call, &out, &call, &out, USER])).target(Dialect::Anthropic);
        let planned = fixture
            .apply("duplicate-call-id", "renew-id", &ActionInput::default())
            .unwrap();
        assert!(fixture.after(&planned, 3).contains(r#""id":"call_0_4""#));
        assert_eq!(
            fixture.after(&planned, 4),
            out.replace("call_0", "call_0_4")
        );
        assert_eq!(
            fixture.after(&planned, 1),
            fixture.after(&Plan::default(), 1)
        );
        assert_eq!(
            planned.notes,
            ["the id was call_0, the new one is call_0_4"]
        );
    }

    #[test]
    fn ids_that_are_too_long_or_have_odd_characters_fit_afterwards() {
        let [call, out] = chat(&"c".repeat(60));
        let long = fixture(&history(&[USER, &call, &out]));
        let planned = long.act(1, "renew-id", &ActionInput::default()).unwrap();
        assert!(
            long.after(&planned, 2)
                .contains(&format!("\"call_{}_2\"", "c".repeat(33)))
        );
        let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"functions.f:0","name":"f","input":{}}]}"#;
        let result = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"functions.f:0","content":"1"}]}"#;
        let odd = fixture(&anthropic(&[USER, call, result]));
        let planned = odd
            .apply("malformed-message", "renew-id", &ActionInput::default())
            .unwrap();
        for item in [1, 2] {
            assert!(
                odd.after(&planned, item)
                    .contains(r#""toolu_functionsf0_2""#)
            );
        }
    }

    #[test]
    fn a_new_id_is_nobody_else_s() {
        let [call, out] = chat("call_0");
        let [taken, taken_out] = chat("call_0_4");
        let fixture = fixture(&history(&[
            USER, &call, &out, &call, &out, &taken, &taken_out,
        ]));
        let planned = fixture
            .apply("duplicate-call-id", "renew-id", &ActionInput::default())
            .unwrap();
        assert!(fixture.after(&planned, 3).contains(r#""call_0_4b""#));
    }

    #[test]
    fn a_half_without_an_id_gets_the_id_of_the_open_one() {
        let [call, out] = chat("call_7");
        let out = out.replace(r#""tool_call_id":"call_7","#, "");
        let alone = fixture(&history(&[USER, &call, &out, USER]));
        let planned = alone
            .apply("missing-call-id", "renew-id", &ActionInput::default())
            .unwrap();
        assert!(
            alone
                .after(&planned, 2)
                .contains(r#""tool_call_id":"call_7""#)
        );
        let call = call.replace(r#""id":"call_7","#, "");
        let both = fixture(&history(&[USER, &call, &out, USER]));
        let planned = both
            .apply("missing-call-id", "renew-id", &ActionInput::default())
            .unwrap();
        assert!(both.after(&planned, 1).contains(r#""id":"call_2""#));
        assert!(
            both.after(&planned, 2)
                .contains(r#""tool_call_id":"call_2""#)
        );
    }
}
