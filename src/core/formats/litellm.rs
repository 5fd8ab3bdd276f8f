//! Logs of LiteLLM: the payload of its logging callbacks and the rows of its spend log, one request with its reply.

use super::http_exchanges::Exchanges;
use super::messages::{ModelCall, each_value, member, text, unquoted};
use super::transcript::utc;
use super::{Contents, Format, Reading};
use crate::session::{Source, SourceResult};
use serde_json::{Value, json};
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "litellm",
    title: "LiteLLM logs",
    sniff: |sample| {
        let is_payload = sample.any(|document| {
            let marks = [
                "litellm_call_id",
                "call_type",
                "custom_llm_provider",
                "response_cost",
                "spend",
            ];
            let marks = marks.iter().filter(|mark| document.has(mark)).count();
            marks > 1 && (document.has("messages") || document.has("proxy_server_request"))
        });
        if is_payload { 97 } else { 0 }
    },
    reading: Reading::Whole(read),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut exchanges = Exchanges::default();
    each_value(bytes, |value, place| match value {
        Ok(value) => exchanges.push_call(&call_of(&value, place.pair())),
        Err(kind) => exchanges.report(place.at, kind),
    });
    exchanges.finish(FORMAT.id)
}

fn call_of(one: &Value, place: (u64, u64)) -> ModelCall {
    let request = unquoted(&one["proxy_server_request"]);
    let request = request.get("body").unwrap_or(&request);
    let holders = [
        one,
        request,
        &one["model_parameters"],
        &one["optional_params"],
    ];
    let found = |names: &[&str]| {
        let is_said = |value: &&Value| !matches!(value, Value::Array(list) if list.is_empty());
        let mut found = holders.iter().filter_map(|holder| member(holder, names));
        found.find(is_said).map(unquoted).unwrap_or_default()
    };
    let output = match unquoted(&one["response"]) {
        // The row of a failed request has its error apart.
        empty if empty == json!({}) || empty.is_null() => json!({ "error": error_of(one) }),
        response => response,
    };
    ModelCall {
        model: text(one, &["model"]).to_owned(),
        input: found(&["messages", "input"]),
        output,
        tools: found(&["tools"]),
        usage: json!({
            "prompt_tokens": one["prompt_tokens"],
            "completion_tokens": one["completion_tokens"],
        }),
        cost: found(&["response_cost", "spend"]),
        stop: String::new(),
        sent: match &one["startTime"] {
            Value::Number(seconds) => json!(seconds.as_f64().map(|it| (it * 1000.0) as u64)),
            time => utc(time.as_str().unwrap_or_default()).into(),
        },
        took: None,
        place,
    }
}

fn error_of(one: &Value) -> Option<&str> {
    let holders = [one, &one["metadata"]];
    let errors = holders.map(|holder| text(&holder["error_information"], &["error_message"]));
    let mut errors = [text(one, &["error_str"])].into_iter().chain(errors);
    errors.find(|error| !error.is_empty())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::outlines;
    use serde_json::json;

    #[test]
    fn payloads_are_exchanges_and_failures_are_notices() {
        let tools = json!([{"type": "function", "function": {"name": "knock", "parameters": {"type": "object"}}}]);
        let user = json!({"role": "user", "content": "Knock."});
        let call = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "knock", "arguments": "{"}}]});
        let log = |messages: serde_json::Value, response: serde_json::Value, error: &str| {
            json!({"id": "1", "call_type": "acompletion", "custom_llm_provider": "x", "response_cost": 0.1, "startTime": 1772442000.5,
                "model": "m-1", "messages": messages, "model_parameters": {"tools": tools}, "response": response, "error_str": error})
        };
        let lines = [
            log(
                json!([user]),
                json!({"choices": [{"message": call}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}),
                "",
            ),
            log(
                json!([user, call, {"role": "tool", "tool_call_id": "c1", "content": "bad"}]),
                json!({}),
                "429: slow down",
            ),
        ];
        let text = lines.map(|line| line.to_string()).join("\n");
        assert_eq!(outlines("litellm", &text), ["u c o n!"]);
    }
}
