//! A reply of OpenAI Chat Completions (OpenAI API reference). Reasoning stands where DeepSeek, vLLM
//! and llama.cpp put it.

use super::{End, NewEvent, NewReply, pieces};
use serde_json::{Map, Value, json};

/// The whole chat completion.
pub(in crate::dialects) fn whole(reply: &NewReply) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    message.insert("content".to_owned(), json!(reply.one_text()));
    message.insert("refusal".to_owned(), json!(reply.refusal));
    if let Some(reasoning) = &reply.reasoning {
        message.insert("reasoning_content".to_owned(), reasoning.clone().into());
    }
    if !reply.calls.is_empty() {
        let calls = reply.calls.iter().map(|call| {
            json!({
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            })
        });
        message.insert("tool_calls".to_owned(), calls.collect());
    }
    json!({
        "id": format!("chatcmpl-{}", reply.tag),
        "object": "chat.completion",
        "created": reply.created,
        "model": reply.model,
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(reply)}],
        "usage": usage(reply),
    })
}

fn finish_reason(reply: &NewReply) -> &'static str {
    match reply.end {
        End::Length => "length",
        End::ContentFilter => "content_filter",
        End::Natural if reply.calls.is_empty() => "stop",
        End::Natural => "tool_calls",
    }
}

fn usage(reply: &NewReply) -> Value {
    json!({
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
    })
}

/// Its chunks, and the mark that ends a stream.
pub(in crate::dialects) fn events(
    reply: &NewReply,
    piece: usize,
    with_usage: bool,
) -> Vec<NewEvent> {
    let said = reply.one_text();
    let content = said.as_ref().map(|_| "");
    let mut deltas = vec![json!({"role": "assistant", "content": content})];
    for (key, text) in [
        ("reasoning_content", &reply.reasoning),
        ("content", &said),
        ("refusal", &reply.refusal),
    ] {
        let text = text.iter().flat_map(|text| match text.as_str() {
            // An empty text is one as well.
            "" => vec![""],
            text => pieces(text, piece),
        });
        deltas.extend(text.map(|delta| json!({key: delta})));
    }
    for (index, call) in reply.calls.iter().enumerate() {
        // The first fragment has id and name, later ones only more of the arguments.
        deltas.push(json!({"tool_calls": [{
            "index": index,
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": ""},
        }]}));
        for delta in pieces(&call.arguments, piece) {
            deltas
                .push(json!({"tool_calls": [{"index": index, "function": {"arguments": delta}}]}));
        }
    }
    let mut chunks = deltas
        .into_iter()
        .map(|delta| choice(&delta, None))
        .collect::<Vec<_>>();
    chunks.push(choice(&json!({}), Some(finish_reason(reply))));
    if with_usage {
        chunks.push(json!({"choices": [], "usage": usage(reply)}));
    }
    let chunk = |rest: Value| {
        let mut chunk = json!({
            "id": format!("chatcmpl-{}", reply.tag),
            "object": "chat.completion.chunk",
            "created": reply.created,
            "model": reply.model,
        });
        if let (Value::Object(chunk), Value::Object(rest)) = (&mut chunk, rest) {
            chunk.extend(rest);
        }
        chunk.to_string()
    };
    let chunks = chunks.into_iter().map(chunk);
    let data = chunks.chain(["[DONE]".to_owned()]);
    data.map(|data| NewEvent { name: None, data }).collect()
}

fn choice(delta: &Value, finish_reason: Option<&str>) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason}]})
}
