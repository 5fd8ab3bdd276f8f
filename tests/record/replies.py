"""Spells one scripted reply as each provider would: OpenAI Responses, OpenAI Chat, Anthropic Messages.

A reply of a script is the same for all three:

    {"items": [{"reasoning": "why"}, {"text": "words"},
               {"call": "tool", "arguments": {...} or "raw text", "id": "call_1"},
               {"web_search": "query"}, {"refusal": "words"}],
     "stop": "length" | "filter"}

`arguments` as text is sent as it is, so a script can break its JSON. `"stop": "length"` says that the
last item was cut at the token limit. Every id and time is computed from the script's name and the
number of the reply: the same script gives the same bytes.
"""

import hashlib
import json

EPOCH = 1_772_442_000  # 2 March 2026, 09:00 UTC: the clock of every recording starts here
CHUNK = 24  # characters in one streamed piece


class Ids:
    """Ids that look like a provider's and are the same in every run."""

    def __init__(self, seed):
        self.seed, self.count = seed, 0

    def new(self, prefix, length=24):
        self.count += 1
        digest = hashlib.sha256(f"{self.seed}/{self.count}".encode()).hexdigest()
        return prefix + digest[:length]


def arguments_text(item):
    """The arguments as the model wrote them: text stays as it is."""
    arguments = item.get("arguments", {})
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def tokens(value):
    """A rough count, enough for a usage block."""
    return max(1, len(json.dumps(value)) // 4)


def pieces(text):
    return [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]


# --- OpenAI Responses ---------------------------------------------------------------------------------


def responses_item(item, ids, cut):
    status = "incomplete" if cut else "completed"
    if "reasoning" in item:
        return {
            "id": ids.new("rs_"),
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": item["reasoning"]}],
            "encrypted_content": ids.new("scripted-", 40),
        }
    if "call" in item:
        return {
            "id": ids.new("fc_"),
            "type": "function_call",
            "status": status,
            "call_id": item.get("id") or ids.new("call_"),
            "name": item["call"],
            "arguments": arguments_text(item),
        }
    if "web_search" in item:
        action = {"type": "search", "query": item["web_search"]}
        return {"id": ids.new("ws_"), "type": "web_search_call", "status": status, "action": action}
    if "refusal" in item:
        part = {"type": "refusal", "refusal": item["refusal"]}
    else:
        part = {"type": "output_text", "text": item["text"], "annotations": [], "logprobs": []}
    return {"id": ids.new("msg_"), "type": "message", "status": status, "role": "assistant", "content": [part]}


def responses_body(reply, request, ids, number):
    """A whole response body (OpenAI API reference, Responses)."""
    stop, items = reply.get("stop"), reply["items"]
    output = [responses_item(item, ids, stop and at == len(items) - 1) for at, item in enumerate(items)]
    reason = {"length": "max_output_tokens", "filter": "content_filter"}.get(stop)
    sent, made = tokens(request), tokens(output)
    return {
        "id": ids.new("resp_"),
        "object": "response",
        "created_at": EPOCH + 7 * number,
        "status": "incomplete" if reason else "completed",
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": request.get("instructions"),
        "max_output_tokens": request.get("max_output_tokens"),
        "model": request.get("model"),
        "output": output,
        "parallel_tool_calls": request.get("parallel_tool_calls", True),
        "previous_response_id": request.get("previous_response_id"),
        "text": request.get("text", {"format": {"type": "text"}}),
        "tool_choice": request.get("tool_choice", "auto"),
        "tools": request.get("tools", []),
        "usage": {
            "input_tokens": sent,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": made,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": sent + made,
        },
    }


def responses_item_events(item, index):
    """The events between `output_item.added` and `output_item.done` of one item."""
    place = {"item_id": item["id"], "output_index": index}
    if item["type"] == "function_call":
        for piece in pieces(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
        if item["status"] == "completed":
            whole = {"name": item["name"], "arguments": item["arguments"]}
            yield {"type": "response.function_call_arguments.done", **place, **whole}
    elif item["type"] == "message":
        part = item["content"][0]
        kind, key = ("refusal", "refusal") if part["type"] == "refusal" else ("output_text", "text")
        place["content_index"] = 0
        yield {"type": "response.content_part.added", **place, "part": {**part, key: ""}}
        for piece in pieces(part[key]):
            yield {"type": f"response.{kind}.delta", **place, "delta": piece, "logprobs": []}
        yield {"type": f"response.{kind}.done", **place, key: part[key], "logprobs": []}
        yield {"type": "response.content_part.done", **place, "part": part}


def responses_events(body):
    """The same response as the events of a stream, in the order of the API reference."""
    empty = {**body, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    events = [{"type": "response.created", "response": empty}, {"type": "response.in_progress", "response": empty}]
    for index, item in enumerate(body["output"]):
        begun = {**item, "status": "in_progress"} if "status" in item else item
        if item["type"] == "function_call":
            begun = {**begun, "arguments": ""}
        elif item["type"] == "message":
            begun = {**begun, "content": []}
        events.append({"type": "response.output_item.added", "output_index": index, "item": begun})
        events.extend(responses_item_events(item, index))
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": f"response.{body['status']}", "response": body})
    return [(event["type"], {**event, "sequence_number": at}) for at, event in enumerate(events)]


# --- OpenAI Chat --------------------------------------------------------------------------------------


def chat_message(reply, ids):
    words = [item["text"] for item in reply["items"] if "text" in item]
    refusals = [item["refusal"] for item in reply["items"] if "refusal" in item]
    message = {"role": "assistant", "content": "\n".join(words) or None, "refusal": "\n".join(refusals) or None}
    calls = [item for item in reply["items"] if "call" in item]
    if calls:
        message["tool_calls"] = [
            {
                "id": item.get("id") or ids.new("call_"),
                "type": "function",
                "function": {"name": item["call"], "arguments": arguments_text(item)},
            }
            for item in calls
        ]
    message["annotations"] = []
    return message


def chat_body(reply, request, ids, number):
    """A whole chat completion (OpenAI API reference, Chat Completions)."""
    message = chat_message(reply, ids)
    natural = "tool_calls" if "tool_calls" in message else "stop"
    finish = {"length": "length", "filter": "content_filter"}.get(reply.get("stop"), natural)
    sent, made = tokens(request), tokens(message)
    return {
        "id": ids.new("chatcmpl-"),
        "object": "chat.completion",
        "created": EPOCH + 7 * number,
        "model": request.get("model"),
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {"prompt_tokens": sent, "completion_tokens": made, "total_tokens": sent + made},
    }


def chat_events(body):
    """The same completion as chunks; they have no event name."""
    choice = body["choices"][0]
    message = choice["message"]
    deltas = [{"role": "assistant", "content": None if message["content"] is None else ""}]
    for key in ("content", "refusal"):
        deltas += [{key: piece} for piece in pieces(message[key] or "")]
    for index, call in enumerate(message.get("tool_calls", [])):
        head = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        deltas.append({"tool_calls": [head]})
        for piece in pieces(call["function"]["arguments"]):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    frame = {key: body[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    chunks = [{**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    chunks.append({**frame, "choices": [], "usage": body["usage"]})
    return [(None, chunk) for chunk in chunks] + [(None, "[DONE]")]


# --- Anthropic Messages -------------------------------------------------------------------------------


def anthropic_block(item, ids):
    if "reasoning" in item:
        return {"type": "thinking", "thinking": item["reasoning"], "signature": ids.new("scripted-", 40)}
    if "call" in item:
        arguments = item.get("arguments", {})  # text is kept for the stream, see anthropic_events
        return {
            "type": "tool_use",
            "id": item.get("id") or ids.new("toolu_01"),
            "name": item["call"],
            "input": arguments,
        }
    return {"type": "text", "text": item.get("text", item.get("refusal"))}


def anthropic_body(reply, request, ids, number):
    """A whole message (Anthropic API reference, Messages)."""
    content = [anthropic_block(item, ids) for item in reply["items"]]
    called = any(block["type"] == "tool_use" for block in content)
    refused = any("refusal" in item for item in reply["items"])
    natural = "refusal" if refused else "tool_use" if called else "end_turn"
    return {
        "id": ids.new("msg_01"),
        "type": "message",
        "role": "assistant",
        "model": request.get("model"),
        "content": content,
        "stop_reason": {"length": "max_tokens", "filter": "refusal"}.get(reply.get("stop"), natural),
        "stop_sequence": None,
        "usage": {"input_tokens": tokens(request), "output_tokens": tokens(content)},
    }


def anthropic_deltas(block):
    if block["type"] == "text":
        return [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
    if block["type"] == "thinking":
        thoughts = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
        return thoughts + [{"type": "signature_delta", "signature": block["signature"]}]
    text = arguments_text({"arguments": block["input"]})
    return [{"type": "input_json_delta", "partial_json": piece} for piece in pieces("" if text == "{}" else text)]


def anthropic_events(body):
    """The same message as the events of a stream."""
    empty = {**body, "content": [], "stop_reason": None, "usage": {**body["usage"], "output_tokens": 1}}
    events = [{"type": "message_start", "message": empty}]
    blank = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
    for index, block in enumerate(body["content"]):
        start = {**block, **blank[block["type"]]}
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        if index == 0:
            events.append({"type": "ping"})
        for delta in anthropic_deltas(block):
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": body["usage"]["output_tokens"]}})
    events.append({"type": "message_stop"})
    return [(event["type"], event) for event in events]


# --- the table ----------------------------------------------------------------------------------------

# The end of the request's path -> (whole body, events of a stream, what an error body has beside `error`).
DIALECTS = {
    "/responses": (responses_body, responses_events, {}),
    "/chat/completions": (chat_body, chat_events, {}),
    "/messages": (anthropic_body, anthropic_events, {"type": "error"}),
}


def server_sent(events):
    """Events as the bytes of an SSE stream."""
    frames = []
    for name, data in events:
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        frames.append((f"event: {name}\n" if name else "") + f"data: {text}\n\n")
    return "".join(frames).encode()
