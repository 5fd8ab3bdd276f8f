//! Exports of Langfuse: a trace with its observations, of which each generation is an exchange.

use super::http_exchanges::{Exchanges, moment};
use super::messages::{ModelCall, each_value, list, member, placed, text, unquoted};
use super::transcript::utc;
use super::{Contents, Format, Reading};
use crate::session::{Source, SourceResult};
use serde_json::{Value, json};
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "langfuse",
    title: "Langfuse traces",
    sniff: |sample| {
        let is_trace = sample.any(|document| {
            document.has("observations")
                || document.has("traceId") && document.has("startTime") && document.has("input")
        });
        if is_trace { 97 } else { 0 }
    },
    reading: Reading::Whole(read),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut exchanges = Exchanges::default();
    let mut found: Vec<(Value, (u64, u64))> = Vec::new();
    each_value(bytes, |value, place| match value {
        Ok(value) if list(&value, "observations").is_empty() => found.push((value, place.pair())),
        Ok(value) => {
            let held = placed(&value, place, "observations");
            found.extend(held.map(|(one, place)| (one.clone(), place.pair())));
        }
        Err(kind) => exchanges.report(place.at, kind),
    });
    found.sort_by_cached_key(|(one, _)| text(one, &["startTime"]).to_owned());
    for (one, place) in &found {
        match text(one, &["type"]) {
            "GENERATION" => exchanges.push_call(&call_of(one, *place)),
            // Which span is a tool's is known by its name alone, in older exports.
            "TOOL" | "SPAN" => {
                let output = unquoted(&one["output"]);
                let id = text(&output, &["tool_call_id"]);
                let run = ["startTime", "endTime"].map(|key| moment(&one[key]));
                exchanges.push_tool_run(id, text(one, &["name"]), run);
            }
            _ => {}
        }
    }
    exchanges.finish(FORMAT.id)
}

fn call_of(one: &Value, place: (u64, u64)) -> ModelCall {
    let mut input = unquoted(&one["input"]);
    let listed = member(&input, &["tools"]).cloned();
    if let Some(messages) = input.get_mut("messages") {
        input = messages.take();
    }
    let mut tools: Vec<Value> = Vec::new();
    // LangChain's handler writes tools as messages.
    if let Value::Array(messages) = &mut input {
        messages.retain(|message| {
            let is_tool = message["role"] == "tool" && message["content"]["type"] == "function";
            tools.extend(is_tool.then(|| message["content"].clone()));
            !is_tool
        });
    }
    let usage = &one["usageDetails"];
    let count = |names: &[&str]| member(usage, names).cloned();
    ModelCall {
        model: text(one, &["model"]).to_owned(),
        input,
        output: match unquoted(&one["output"]) {
            Value::Null if one["level"] == "ERROR" => json!({ "error": one["statusMessage"] }),
            output => output,
        },
        tools: match (listed, tools.is_empty()) {
            (Some(listed), _) => listed,
            (None, false) => Value::Array(tools),
            (None, true) => Value::Null,
        },
        usage: json!({
            "prompt_tokens": count(&["input", "promptTokens"]),
            "completion_tokens": count(&["output", "completionTokens"]),
        }),
        cost: match &one["costDetails"] {
            Value::Object(parts) if !parts.is_empty() => one["costDetails"].clone(),
            _ => json!({
                "total": member(one, &["calculatedTotalCost", "totalCost"]),
                "input": member(one, &["calculatedInputCost", "inputCost"]),
                "output": member(one, &["calculatedOutputCost", "outputCost"]),
            }),
        },
        stop: String::new(),
        sent: utc(text(one, &["startTime"])).into(),
        took: one["latency"]
            .as_f64()
            .map(|seconds| (seconds * 1000.0) as u64),
        place,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::{outline, read};
    use serde_json::json;

    #[test]
    fn generations_are_exchanges() {
        let tool = json!({"type": "function", "function": {"name": "knock", "parameters": {"type": "object"}}});
        let user = json!({"role": "user", "content": "Knock."});
        let call = json!({"role": "assistant", "content": "", "additional_kwargs": {"tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "knock", "arguments": "{}"}}]}});
        let listed = json!([user, {"role": "tool", "content": tool}]);
        let then = json!([user, call, {"role": "tool", "content": "who is there", "additional_kwargs": {}, "tool_call_id": "c1"}]);
        let text = json!({"trace": {"id": "t"}, "observations": [
            {"type": "SPAN", "name": "agent", "input": "x"},
            {"type": "SPAN", "name": "knock", "startTime": "2026-03-02T09:00:01.600Z", "endTime": "2026-03-02T09:00:01.850Z"},
            {"type": "GENERATION", "startTime": "2026-03-02T09:00:02.000Z", "model": "m-1", "input": then.to_string(), "output": "A visitor."},
            {"type": "GENERATION", "startTime": "2026-03-02T09:00:01.000Z", "model": "m-1", "input": listed.to_string(), "output": call.to_string(),
             "usageDetails": {"input": 8, "output": 2}, "costDetails": {"input": 0.5, "output": 0.25, "total": 0.75}, "latency": 0.5},
        ]});
        let contents = read("langfuse", &text.to_string());
        assert_eq!(contents.sessions.len(), 1);
        assert_eq!(outline(&contents.sessions[0]), "u c o a");
        assert!(contents.sessions[0].contract.tools_known());
        let prices = crate::usage::Prices::default();
        let mut usage = crate::usage::UsageReader::new(&contents.sessions[0], &prices);
        assert_eq!(usage.call_duration(1).unwrap(), Some(250));
        let cost = usage.turn(1).unwrap().cost.unwrap();
        assert_eq!((cost.input.dollars(), cost.all.dollars()), (0.5, 0.75));
    }
}
