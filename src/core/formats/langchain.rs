//! LangChain's messages (flat, `message_to_dict`, `dumpd`), bare or in the thread states of LangGraph, and the runs
//! of LangSmith.

use super::foreign::any_message;
use super::http_exchanges::{Exchanges, moment};
use super::messages::{Message, ModelCall, each_value, list, member, placed, text};
use super::transcript::{Transcript, utc};
use super::{Contents, Document, Format, Reading, Sample};
use crate::session::{Flags, Kind, PairStatus, Source, SourceResult, pairing};
use serde_json::{Value, json};
use std::sync::Arc;

/// The row of the messages.
pub(super) const FORMAT: Format = Format {
    id: "langchain",
    title: "LangChain messages, LangGraph thread states",
    sniff,
    reading: Reading::Whole(read),
};

/// The row of the runs.
pub(super) const RUNS: Format = Format {
    id: "langsmith",
    title: "LangSmith runs",
    sniff: |sample| {
        let is_run =
            |run: &Document<'_>| run.has("run_type") && (run.has("inputs") || run.has("outputs"));
        let has_runs =
            sample.any(|document| is_run(document) || document.array("runs").iter().any(is_run));
        if has_runs { 98 } else { 0 }
    },
    reading: Reading::Whole(read_runs),
};

fn sniff(sample: &Sample<'_>) -> u8 {
    let is_message = |message: &Document<'_>| {
        let kind = message.text("type").unwrap_or_default();
        let is_spoken = matches!(
            &*kind,
            "human" | "ai" | "HumanMessage" | "AIMessage" | "HumanMessageChunk" | "AIMessageChunk"
        );
        let holds = message.has("content") || message.object("data").has("content");
        is_spoken && holds && !message.has("role")
            || kind == "constructor" && message.has("lc") && message.has("kwargs")
    };
    let is_state = sample.any(|document| {
        let values = document.object("values");
        values.array("messages").iter().any(is_message)
    });
    if is_state || any_message(sample, is_message) {
        97
    } else {
        0
    }
}

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut out = Transcript::new(FORMAT.id, FORMAT.dialect());
    let mut known: Vec<Vec<Value>> = Vec::new();
    let mut waits = false;
    each_value(bytes, |value, place| {
        let value = match value {
            Ok(value) => value,
            Err(kind) => return out.report(place.at, kind),
        };
        let held = value.get("values").unwrap_or(&value);
        let messages = list(held, "messages");
        if messages.is_empty() {
            return Message::add(&mut out, place.line, &value);
        }
        // A history of states begins with the newest; an older one that it goes on from says nothing more.
        if known.iter().any(|later| later.starts_with(messages)) {
            return;
        }
        let label = text(&value["checkpoint"], &["checkpoint_id", "id"]);
        let label = match label {
            "" => format!("state {}", place.number),
            id => format!("checkpoint {id}"),
        };
        out.begin_session(&label, known.is_empty());
        if known.is_empty() {
            let interrupted = |task: &Value| !list(task, "interrupts").is_empty();
            waits = list(&value, "tasks").iter().any(interrupted);
        }
        known.push(messages.to_vec());
        for (message, place) in placed(held, place.member("values"), "messages") {
            Message::add(&mut out, place.line, message);
        }
    });
    let mut contents = out.finish()?;
    if let (true, Some(session)) = (waits, contents.sessions.first_mut()) {
        let is_open = |place: &usize| {
            session.items[*place].kind == Kind::Call
                && !matches!(session.pairing.standing(*place), PairStatus::Paired(_))
        };
        let open: Vec<usize> = (0..session.items.len()).filter(is_open).collect();
        for place in open {
            let flags = &mut session.items[place].flags;
            *flags = flags.with(Flags::AWAITS_APPROVAL);
        }
        session.pairing = pairing::pair(session);
    }
    Ok(contents)
}

fn read_runs(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut runs: Vec<(Value, (u64, u64))> = Vec::new();
    let mut exchanges = Exchanges::default();
    each_value(bytes, |value, place| match value {
        Ok(value) if value.get("runs").is_some_and(Value::is_array) => {
            let held = placed(&value, place, "runs");
            runs.extend(held.map(|(run, place)| (run.clone(), place.pair())));
        }
        Ok(value) => runs.push((value, place.pair())),
        Err(kind) => exchanges.report(place.at, kind),
    });
    runs.sort_by_cached_key(|(run, _)| text(run, &["start_time"]).to_owned());
    for (run, place) in &runs {
        match text(run, &["run_type"]) {
            "llm" => exchanges.push_call(&call_of(run, *place)),
            "tool" => {
                let output = &run["outputs"]["output"];
                let output = member(output, &["kwargs", "data"]).unwrap_or(output);
                let id = text(output, &["tool_call_id"]);
                let times = ["start_time", "end_time"].map(|key| moment(&run[key]));
                exchanges.push_tool_run(id, text(run, &["name"]), times);
            }
            _ => {}
        }
    }
    exchanges.finish(RUNS.id)
}

fn call_of(run: &Value, place: (u64, u64)) -> ModelCall {
    let parameters = &run["extra"]["invocation_params"];
    let metadata = &run["extra"]["metadata"];
    let mut input =
        member(&run["inputs"], &["messages", "input", "prompts"]).unwrap_or(&Value::Null);
    // Batches of one.
    while let Some([inside @ Value::Array(_)]) = input.as_array().map(Vec::as_slice) {
        input = inside;
    }
    let outputs = &run["outputs"];
    let first = outputs
        .pointer("/generations/0/0")
        .or(outputs.pointer("/generations/0"));
    let output = match first {
        Some(generation) => member(generation, &["message", "text"]).unwrap_or(&Value::Null),
        None if outputs.get("choices").is_some() => outputs,
        None => member(outputs, &["messages", "output", "message"]).unwrap_or(outputs),
    };
    let flat = output
        .get("kwargs")
        .or(output.get("data"))
        .unwrap_or(output);
    let usage =
        member(flat, &["usage_metadata"]).or(member(&outputs["llm_output"], &["token_usage"]));
    let ended = text(
        &flat["response_metadata"],
        &["finish_reason", "stop_reason"],
    );
    let model = match text(metadata, &["ls_model_name"]) {
        "" => text(parameters, &["model", "model_name"]),
        model => model,
    };
    ModelCall {
        model: model.to_owned(),
        input: input.clone(),
        output: match run["error"].as_str() {
            Some(error) if !error.is_empty() => json!({ "error": error }),
            _ => output.clone(),
        },
        tools: parameters.get("tools").cloned().unwrap_or_default(),
        usage: usage.cloned().unwrap_or_default(),
        cost: json!({ "total": run["total_cost"], "input": run["prompt_cost"], "output": run["completion_cost"] }),
        stop: ended.to_owned(),
        sent: utc(text(run, &["start_time"])).into(),
        took: moment(&run["end_time"])
            .zip(moment(&run["start_time"]))
            .and_then(|(ended, sent)| ended.checked_sub(sent)),
        place,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::{outline, outlines, read};
    use serde_json::json;

    const CALL: &str = "c1";

    fn history() -> [serde_json::Value; 4] {
        [
            json!({"type": "human", "content": "Is the bridge open?", "id": "m1"}),
            json!({"type": "ai", "content": [{"type": "tool_use", "id": CALL, "name": "bridge", "input": {}}],
                "tool_calls": [{"name": "bridge", "args": {}, "id": CALL, "type": "tool_call"}],
                "invalid_tool_calls": [{"name": "bridge", "args": "{\"at\":", "id": "c2", "error": "cut"}],
                "usage_metadata": {"input_tokens": 30, "output_tokens": 5, "input_token_details": {"cache_read": 10}},
                "response_metadata": {"model_name": "m-1", "finish_reason": "tool_calls"}}),
            json!({"type": "tool", "content": "open", "tool_call_id": CALL, "status": "success"}),
            json!({"type": "tool", "content": "bad arguments", "tool_call_id": "c2", "status": "error"}),
        ]
    }

    #[test]
    fn the_four_spellings_of_a_message_are_read_alike() {
        let flat = history();
        let wrapped = flat
            .clone()
            .map(|it| json!({"type": it["type"], "data": it}));
        let classes = ["HumanMessage", "AIMessage", "ToolMessage", "ToolMessage"];
        let built = flat.iter().zip(classes).map(|(it, class)| {
            let mut kwargs = it.clone();
            kwargs.as_object_mut().unwrap().remove("type");
            json!({"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", class], "kwargs": kwargs})
        });
        let built: Vec<_> = built.collect();
        for text in [
            json!(flat),
            json!(wrapped),
            json!(built),
            json!({"messages": flat}),
        ] {
            assert_eq!(
                outlines("langchain", &text.to_string()),
                ["u c c o o!"],
                "{text}"
            );
        }
        let contents = read("langchain", &json!(flat).to_string());
        assert_eq!(contents.sessions[0].model.as_deref(), Some("m-1"));
        assert_eq!(contents.sessions[0].stops[0].reason, "tool_calls");
    }

    #[test]
    fn a_history_of_states_has_its_forks_and_interrupts_wait() {
        let all = history();
        let other = json!({"type": "human", "content": "And the road?", "id": "m9"});
        let states = json!([
            {"values": {"messages": all[..2]}, "next": ["tools"], "checkpoint": {"checkpoint_id": "k3"},
             "tasks": [{"interrupts": [{"value": "allow?"}]}]},
            {"values": {"messages": all[..1]}, "tasks": [], "checkpoint": {"checkpoint_id": "k2"}},
            {"values": {"messages": [other]}, "tasks": [], "checkpoint": {"checkpoint_id": "k1"}},
        ]);
        let contents = read("langchain", &states.to_string());
        let found: Vec<String> = contents.sessions.iter().map(outline).collect();
        assert_eq!(found, ["u cw? cw?", "u"]);
        let active: Vec<bool> = contents.sessions.iter().map(|one| one.active).collect();
        assert_eq!(active, [true, false]);
    }

    #[test]
    fn runs_are_exchanges() {
        let [human, ai, result, _] = history();
        let mut ai = ai;
        ai["invalid_tool_calls"] = json!([]);
        let run = |start: &str, inputs: &[serde_json::Value], output: serde_json::Value| {
            json!({"id": start, "run_type": "llm", "start_time": start, "inputs": {"messages": [inputs]},
                "outputs": {"generations": [[{"message": output}]]},
                "extra": {"metadata": {"ls_model_name": "m-1"}, "invocation_params": {
                    "tools": [{"type": "function", "function": {"name": "bridge", "parameters": {"type": "object"}}}]}}})
        };
        let answer = json!({"type": "ai", "content": "It is open."});
        let runs = [
            json!({"id": "0", "run_type": "chain", "inputs": {}, "outputs": {}}),
            json!({"id": "3", "run_type": "tool", "name": "bridge_status", "inputs": {}, "outputs": {"output": {"tool_call_id": CALL}},
                "start_time": "2026-03-02T09:00:01.2", "end_time": "2026-03-02T09:00:01.7"}),
            run(
                "2026-03-02T09:00:02",
                &[human.clone(), ai.clone(), result],
                answer,
            ),
            run("2026-03-02T09:00:01", &[human], ai),
        ];
        let text = runs.map(|run| run.to_string()).join("\n");
        let contents = read("langsmith", &text);
        assert_eq!(contents.sessions.len(), 1);
        assert_eq!(outline(&contents.sessions[0]), "u c o a");
        assert!(contents.sessions[0].contract.tools_known());
        let prices = crate::usage::Prices::default();
        let mut usage = crate::usage::UsageReader::new(&contents.sessions[0], &prices);
        assert_eq!(usage.call_duration(1).unwrap(), Some(500));
    }
}
