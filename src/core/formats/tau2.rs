//! Results of tau2-bench: simulations of an agent and a user, both of which may call tools.

use super::foreign::any_message;
use super::messages::{Message, each_value, list, placed, text, text_of};
use super::transcript::Transcript;
use super::{Contents, Format, Reading};
use crate::session::{Flags, Kind, Source, SourceResult};
use serde_json::{Value, json};
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "tau-bench",
    title: "tau2-bench simulations",
    sniff: |sample| {
        let is_document = sample.any(|document| document.has("simulations"));
        let is_message = sample.mentions("\"requestor\"")
            && any_message(sample, |message| {
                let is_output = message.says("role", "tool") && message.has("requestor");
                let mut calls = message.array("tool_calls").into_iter();
                is_output || calls.any(|call| call.has("requestor") && !call.has("function"))
            });
        if is_document || is_message { 97 } else { 0 }
    },
    reading: Reading::Whole(read),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut out = Transcript::new(FORMAT.id, FORMAT.dialect());
    each_value(bytes, |value, place| {
        let value = match value {
            Ok(value) => value,
            Err(kind) => return out.report(place.at, kind),
        };
        let simulations = match value.get("simulations").is_some_and(Value::is_array) {
            true => placed(&value, place, "simulations").collect(),
            false => vec![(&value, place)],
        };
        for (simulation, place) in simulations {
            if list(simulation, "messages").is_empty() {
                add(&mut out, place.line, simulation);
                continue;
            }
            let words = [("task", "task_id"), ("trial", "trial")];
            let words = words.map(|(word, key)| (word, text_of(&simulation[key])));
            let known = words.iter().filter(|(_, value)| !value.is_empty());
            let mut label: Vec<String> = known
                .map(|(word, value)| format!("{word} {value}"))
                .collect();
            if label.is_empty() {
                let id = text_of(&simulation["id"]);
                label.extend((!id.is_empty()).then(|| format!("simulation {id}")));
            }
            let reward = text_of(&simulation["reward_info"]["reward"]);
            label.extend((!reward.is_empty()).then(|| format!("reward {reward}")));
            out.begin_session(&label.join(", "), true);
            for (message, place) in placed(simulation, place, "messages") {
                add(&mut out, place.line, message);
            }
        }
    });
    out.finish()
}

fn add(out: &mut Transcript, number: u64, message: &Value) {
    let is_users = text(message, &["requestor"]) == "user"
        || text(message, &["role"]) == "user" && !list(message, "tool_calls").is_empty();
    let mut message = message.clone();
    if is_users && text(&message, &["role"]) == "user" {
        message["role"] = json!("assistant");
    }
    let first = out.items().len();
    Message::add(out, number, &message);
    for item in &mut out.items()[first..] {
        let is_call = matches!(item.kind, Kind::Call | Kind::Output);
        item.flags
            .set_if(Flags::FOREIGN_CALLER, is_users && is_call);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::{outline, read};
    use crate::session::Flags;
    use serde_json::json;

    #[test]
    fn a_simulation_is_named_by_its_task_or_id_and_its_reward() {
        let messages = json!([{"role": "user", "content": "Hi.", "requestor": "user"}]);
        let reward = json!({"reward": 0.0});
        let text = json!({"info": {}, "simulations": [
            {"id": "b2ed", "reward_info": reward, "messages": messages},
            {"id": "b2ee", "task_id": "7", "trial": 1, "reward_info": reward, "messages": messages}]});
        let contents = read("tau-bench", &text.to_string());
        let labels = contents.sessions.iter().map(|it| &*it.label);
        assert_eq!(
            labels.collect::<Vec<_>>(),
            ["simulation b2ed, reward 0.0", "task 7, trial 1, reward 0.0"]
        );
    }

    #[test]
    fn calls_of_the_user_are_no_calls_of_the_agent() {
        let text = json!({"info": {}, "tasks": [], "simulations": [{"id": "1", "task_id": "t", "trial": 0, "messages": [
            {"role": "assistant", "content": "Hello.", "tool_calls": null},
            {"role": "user", "content": null, "tool_calls": [{"id": "u1", "name": "restart", "arguments": {}, "requestor": "user"}]},
            {"role": "tool", "id": "u1", "content": "done", "requestor": "user", "error": false},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "a1", "name": "look", "arguments": {}, "requestor": "assistant"}]},
            {"role": "tool", "id": "a1", "content": "no", "requestor": "assistant", "error": true},
        ]}]});
        let contents = read("tau-bench", &text.to_string());
        let session = &contents.sessions[0];
        assert_eq!(
            (outline(session).as_str(), session.label.as_str()),
            ("a c o c o!", "task t, trial 0")
        );
        let foreign = session
            .items
            .iter()
            .map(|item| item.flags.has(Flags::FOREIGN_CALLER));
        assert_eq!(
            foreign.collect::<Vec<_>>(),
            [false, true, true, false, false]
        );
    }
}
