//! sanitise-name: a name that the provider's pattern refuses is spelled so that it is taken, in every
//! item that carries it.

use super::plan::{ActionContext, ActionError, ActionInput, Plan, Result};
use crate::json::{Cursor, display_text};
use crate::session::{Edit, Family, Flags, Kind, NameId, PairStatus, ToolKind};
use crate::wire::Fields;
use crate::wire::tools::call_name_fault;
use crate::wire::write::rename;

/// The longest name that every provider takes: that of Chat and Gemini.
const LONGEST: usize = 64;

/// What a call without a name is called.
const NAMELESS: &str = "unnamed_tool";

pub(crate) fn plan(scene: &ActionContext<'_>, _: &ActionInput<'_>) -> Result<Plan> {
    let call = scene.call()?;
    scene.may_touch(call)?;
    let name = scene.at(call)?.name;
    let old = scene.session().name(scene.at(call)?);
    if is_offered(scene, call, old) {
        let facts = scene.at(call)?.facts();
        if facts.is_some_and(|facts| facts.namespaces) && old.contains('.') {
            return with_namespace_apart(scene, call, old);
        }
        return Err(ActionError::WouldBreak(format!(
            "the tool is offered as {old}: rename it where the tools are defined"
        )));
    }
    let mut planned = Plan::default();
    spell(scene, name, scene.around.named(name), &mut planned)?;
    if planned.edits.is_empty() {
        return Err(ActionError::NothingToDo);
    }
    Ok(planned)
}

/// Spells the name of a call that gets an answer so that the provider takes it: once answered, the call
/// stays in the history, and a refused name would make every later request fail.
pub(crate) fn spell_answered(
    scene: &ActionContext<'_>,
    call: u32,
    planned: &mut Plan,
) -> Result<()> {
    let item = scene.at(call)?;
    // The output of a legacy call names the tool itself.
    if !matches!(item.family, Family::Function | Family::Custom) {
        return Ok(());
    }
    let session = scene.session();
    let is_refused = call_name_fault(scene.target, session, item).is_some();
    if !is_refused || is_offered(scene, call, session.name(item)) {
        return Ok(());
    }
    let output = match scene.standing(call) {
        PairStatus::Paired(output) => Some(output),
        _ => None,
    };
    let output =
        output.filter(|output| scene.at(*output).is_ok_and(|other| other.name == item.name));
    let pair: Vec<u32> = [call].into_iter().chain(output).collect();
    spell(scene, item.name, &pair, planned)
}

/// Gives the items of a name another that every provider takes.
fn spell(scene: &ActionContext<'_>, name: NameId, items: &[u32], planned: &mut Plan) -> Result<()> {
    let old = scene.session().names.text(name);
    let mut known = [None, None];
    for index in items {
        let item = scene.at(*index)?;
        // An output without a name has nothing to rename, and shares no name with a call that has none.
        let is_other = item.kind == Kind::Output && old.is_empty();
        if is_other || item.flags.has(Flags::COMPACTED) {
            continue;
        }
        if scene.awaits_approval(*index) {
            planned.note("a call of this name awaits an approval and keeps it");
            continue;
        }
        let bytes = scene.bytes(*index)?;
        let fields = Fields::read(&mut Cursor::new(&bytes))?;
        let has_space = fields.namespace.is_some_and(|space| !space.is_empty());
        let place = &mut known[usize::from(has_space)];
        let is_first = place.is_none();
        let new = place.get_or_insert_with(|| replacement(scene, name, old, &fields));
        if *new == old {
            return Err(ActionError::NothingToDo);
        }
        if is_first {
            planned.note(format!("the name was \"{old}\", and becomes {new}"));
        }
        let patches = rename(item, &bytes, new)?;
        planned.edits.push(Edit::rewrite(*index, patches));
    }
    Ok(())
}

/// The tool is offered in a namespace, and the call holds both in its name: Responses wants each in a
/// member of its own.
fn with_namespace_apart(scene: &ActionContext<'_>, call: u32, name: &str) -> Result<Plan> {
    let mut planned = Plan::default();
    planned.note(format!("the namespace of {name} is a member of its own"));
    planned.edits.push(Edit::rewrite(
        call,
        rename(scene.at(call)?, &scene.bytes(call)?, name)?,
    ));
    Ok(planned)
}

fn is_offered(scene: &ActionContext<'_>, call: u32, name: &str) -> bool {
    let offered = scene.around.offered(call as usize);
    offered.is_some_and(|offered| {
        let mut tools = offered.tools();
        tools.any(|tool| tool.name == name && tool.kind != ToolKind::Hosted)
    })
}

/// The new name; where the namespace is a member of its own, both parts are checked.
fn replacement(scene: &ActionContext<'_>, name: NameId, old: &str, fields: &Fields<'_>) -> String {
    let space = fields.namespace.filter(|space| !space.is_empty());
    let new = match (space, fields.name) {
        (Some(space), Some(own)) => {
            let parts = [space, own].map(|part| spelled(&display_text(part)));
            parts.join(".")
        }
        _ => spelled(old),
    };
    unlike_any_other(scene, name, old, new)
}

/// Whether every provider takes a name.
pub(crate) fn is_plain(name: &str) -> bool {
    spelled(name) == name
}

/// The name with every character that some provider refuses as `_`.
fn spelled(name: &str) -> String {
    let is_plain = |character: &char| {
        character.is_ascii_alphanumeric() || *character == '_' || *character == '-'
    };
    let plain = name
        .chars()
        .map(|character| Some(character).filter(is_plain).unwrap_or('_'));
    let plain = plain.take(LONGEST).collect::<String>();
    if plain.is_empty() {
        NAMELESS.to_owned()
    } else {
        plain
    }
}

/// Two names never become one: where another name is, or becomes, the same, this one gets its number in the
/// session's table as a suffix.
fn unlike_any_other(scene: &ActionContext<'_>, name: NameId, old: &str, new: String) -> String {
    let session = scene.session();
    let mut position = 0;
    let mut is_taken = false;
    for (index, (other, text)) in session.names.iter().enumerate() {
        if other == name {
            position = index;
        } else if text != old {
            is_taken |= text == new || spelled(text) == new;
        }
    }
    let mut tools = session.contract.tool_sets.iter().flat_map(|set| &set.tools);
    is_taken |= new != old && tools.any(|tool| tool.name == new);
    if !is_taken || new == old {
        return new;
    }
    let tail = format!("_{position}");
    let room = LONGEST.saturating_sub(tail.len());
    format!("{}{tail}", new.get(..room).unwrap_or(&new))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::actions::fixture::{USER, fixture, history};
    use serde_json::json;

    fn call(id: &str, name: &str) -> String {
        format!(
            r#"{{"role":"assistant","tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"{name}","arguments":"{{}}"}}}}]}}"#
        )
    }

    fn out(id: &str, name: &str) -> String {
        format!(r#"{{"role":"tool","tool_call_id":"{id}","name":"{name}","content":"1"}}"#)
    }

    #[test]
    fn every_call_and_output_of_the_name_is_spelled_alike() {
        let name = "browser.tabs.open";
        let fixture = fixture(&history(&[
            USER,
            &call("a", name),
            &out("a", name),
            &call("b", name),
            &out("b", ""),
        ]));
        let planned = fixture
            .apply(
                "invalid-tool-name",
                "sanitise-name",
                &ActionInput::default(),
            )
            .unwrap();
        assert_eq!(planned.edits.len(), 3);
        for item in [1, 2, 3] {
            assert!(
                fixture
                    .after(&planned, item)
                    .contains(r#""name":"browser_tabs_open""#)
            );
        }
        assert_eq!(
            planned.notes,
            ["the name was \"browser.tabs.open\", and becomes browser_tabs_open"]
        );
    }

    #[test]
    fn two_names_never_become_one() {
        let fixture = fixture(&history(&[
            USER,
            &call("a", "$x"),
            &out("a", ""),
            &call("b", "_x"),
            &out("b", ""),
        ]));
        let planned = fixture
            .apply(
                "invalid-tool-name",
                "sanitise-name",
                &ActionInput::default(),
            )
            .unwrap();
        assert!(
            !fixture.after(&planned, 1).contains(r#""_x""#),
            "{}",
            fixture.after(&planned, 1)
        );
    }

    #[test]
    fn a_call_without_a_name_gets_one_and_a_tool_that_is_defined_so_keeps_it() {
        let nameless = fixture(&history(&[USER, &call("a", ""), &out("a", "")]));
        let planned = nameless
            .apply(
                "invalid-tool-name",
                "sanitise-name",
                &ActionInput::default(),
            )
            .unwrap();
        assert!(nameless.after(&planned, 1).contains("unnamed_tool"));
        let defined = fixture(&history(&[USER, &call("a", "a.b"), &out("a", "")]))
            .tools(json!([{"name": "a.b"}]));
        let refusal = defined.apply(
            "invalid-tool-name",
            "sanitise-name",
            &ActionInput::default(),
        );
        assert!(
            matches!(refusal, Err(ActionError::WouldBreak(_))),
            "{refusal:?}"
        );
    }
}
