//! A reply of OpenAI Responses (OpenAI API reference, Responses and its streaming events).

use super::{End, NewCall, NewEvent, NewReply, pieces};
use serde_json::{Value, json};

pub(in crate::dialects) fn whole(reply: &NewReply) -> Value {
    let reason = match reply.end {
        End::Natural => None,
        End::Length => Some("max_output_tokens"),
        End::ContentFilter => Some("content_filter"),
    };
    let status = reason.map_or("completed", |_| "incomplete");
    json!({
        "id": format!("resp_{}", reply.tag),
        "object": "response",
        "created_at": reply.created,
        "status": status,
        "error": null,
        "incomplete_details": reason.map(|reason| json!({"reason": reason})),
        "instructions": null,
        "metadata": {},
        "model": reply.model,
        "output": output(reply),
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": reply.tools,
        "usage": {
            "input_tokens": reply.input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": reply.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": reply.input_tokens + reply.output_tokens,
        },
    })
}

fn output(reply: &NewReply) -> Vec<Value> {
    let mut output = Vec::new();
    if let Some(reasoning) = &reply.reasoning {
        output.push(json!({
            "id": format!("rs_{}", reply.tag),
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": reasoning}],
        }));
    }
    output.extend(messages(reply));
    let call = |(number, call): (usize, &NewCall)| {
        let (prefix, kind, key, said) = match &call.input {
            Some(input) => ("ctc", "custom_tool_call", "input", input),
            None => ("fc", "function_call", "arguments", &call.arguments),
        };
        json!({
            "id": format!("{prefix}_{}_{number}", reply.tag),
            "type": kind,
            "status": "completed",
            "call_id": call.id,
            "name": call.name,
            key: said,
        })
    };
    output.extend(reply.calls.iter().enumerate().map(call));
    if let Some(status) = output.last_mut().and_then(|last| last.get_mut("status"))
        && reply.end != End::Natural
    {
        *status = "incomplete".into();
    }
    output
}

fn messages(reply: &NewReply) -> impl Iterator<Item = Value> {
    let text = |text: &String| {
        vec![json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})]
    };
    let mut contents = reply.texts.iter().map(text).collect::<Vec<_>>();
    if let Some(refusal) = &reply.refusal {
        let refusal = json!({"type": "refusal", "refusal": refusal});
        match contents.last_mut() {
            Some(last) => last.push(refusal),
            None => contents.push(vec![refusal]),
        }
    }
    contents.into_iter().enumerate().map(|(number, content)| {
        let id = match number {
            0 => format!("msg_{}", reply.tag),
            _ => format!("msg_{}_{number}", reply.tag),
        };
        json!({"id": id, "type": "message", "status": "completed", "role": "assistant", "content": content})
    })
}

/// The events of its stream, in the order of the reference.
pub(in crate::dialects) fn events(reply: &NewReply, piece: usize) -> Vec<NewEvent> {
    let whole = whole(reply);
    let mut begun = whole.clone();
    for (key, value) in [
        ("status", json!("in_progress")),
        ("output", json!([])),
        ("usage", Value::Null),
        ("incomplete_details", Value::Null),
    ] {
        begun[key] = value;
    }
    let mut events = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
    ];
    for (index, item) in whole["output"].as_array().into_iter().flatten().enumerate() {
        let kind = item["type"].as_str().unwrap_or_default();
        let mut added = item.clone();
        if item.get("status").is_some() {
            added["status"] = "in_progress".into();
        }
        let (grown, empty) = match kind {
            "function_call" => ("arguments", json!("")),
            "custom_tool_call" => ("input", json!("")),
            "reasoning" => ("summary", json!([])),
            _ => ("content", json!([])),
        };
        added[grown] = empty;
        events.push(
            json!({"type": "response.output_item.added", "output_index": index, "item": added}),
        );
        match kind {
            "function_call" | "custom_tool_call" => grow_call(item, index, piece, &mut events),
            "reasoning" => grow_parts(item, index, piece, &REASONING, &mut events),
            _ => grow_parts(item, index, piece, &MESSAGE, &mut events),
        }
        events.push(
            json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        );
    }
    let status = whole["status"].as_str().unwrap_or_default();
    events.push(json!({"type": format!("response.{status}"), "response": whole}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    events.iter().map(NewEvent::named).collect()
}

fn grow_call(item: &Value, index: usize, piece: usize, events: &mut Vec<Value>) {
    let (stem, key) = match item["type"] == "custom_tool_call" {
        true => ("response.custom_tool_call_input", "input"),
        false => ("response.function_call_arguments", "arguments"),
    };
    for delta in pieces(item[key].as_str().unwrap_or_default(), piece) {
        events.push(json!({
            "type": format!("{stem}.delta"), "item_id": item["id"], "output_index": index, "delta": delta,
        }));
    }
    if item["status"] == "completed" {
        let mut done = json!({
            "type": format!("{stem}.done"), "item_id": item["id"], "output_index": index,
            key: item[key],
        });
        if key == "arguments" {
            done["name"] = item["name"].clone();
        }
        events.push(done);
    }
}

/// Where the parts of an item stand, and what the events about them are called.
struct Parts {
    list: &'static str,
    count: &'static str,
    part: &'static str,
}

const MESSAGE: Parts = Parts {
    list: "content",
    count: "content_index",
    part: "response.content_part",
};
const REASONING: Parts = Parts {
    list: "summary",
    count: "summary_index",
    part: "response.reasoning_summary_part",
};

fn grow_parts(item: &Value, index: usize, piece: usize, parts: &Parts, events: &mut Vec<Value>) {
    for (number, part) in item[parts.list]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let (stem, field) = match part["type"].as_str() {
            Some("refusal") => ("response.refusal", "refusal"),
            Some("summary_text") => ("response.reasoning_summary_text", "text"),
            _ => ("response.output_text", "text"),
        };
        let mut push = |kind: &str, members: Value| {
            let mut event = json!({
                "type": kind, "item_id": item["id"], "output_index": index, parts.count: number,
            });
            if let (Value::Object(event), Value::Object(members)) = (&mut event, members) {
                event.extend(members);
            }
            if kind.starts_with("response.output_text") {
                event["logprobs"] = json!([]);
            }
            events.push(event);
        };
        let mut empty = part.clone();
        empty[field] = "".into();
        push(&format!("{}.added", parts.part), json!({"part": empty}));
        for delta in pieces(part[field].as_str().unwrap_or_default(), piece) {
            push(&format!("{stem}.delta"), json!({"delta": delta}));
        }
        push(&format!("{stem}.done"), json!({field: part[field]}));
        push(&format!("{}.done", parts.part), json!({"part": part}));
    }
}
