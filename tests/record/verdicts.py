"""What the providers refuse with a 400, and in which words: pairing, order, ids, names, shapes.

    refusal("chat", request) -> Refusal or None

Written from the providers' documents and from refusals that people reported, not from retake's own rules, so that it is
a second opinion about them. It says nothing where a provider's answer is not known: two outputs for one call
and an output before its call (Responses), a thinking block with other words. Only the standard library is used.
"""

import re
from typing import NamedTuple

RESPONSES, CHAT, ANTHROPIC = "responses", "chat", "anthropic"

# call -> output; each pairs by call_id
OUTPUTS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "local_shell_call": "local_shell_call_output",
}
PREFIXES = {"function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs"}
NAME = re.compile(r"[a-zA-Z0-9_-]+")


class Refusal(NamedTuple):
    """`about` is what the refusal is about: pairing, reasoning, name, id or shape."""

    about: str
    message: str
    param: str | None = None
    code: str | None = None

    def body(self):
        """The `error` of the reply."""
        return {"message": self.message, "type": "invalid_request_error", "param": self.param, "code": self.code}


def refusal(dialect, request):
    """The first thing a provider of this dialect would refuse in a request, or None."""
    judge = {RESPONSES: responses_refusals, CHAT: chat_refusals, ANTHROPIC: anthropic_refusals}[dialect]
    return next(judge(request), None)


def openai_name(name, where, longest):
    if not isinstance(name, str) or not NAME.fullmatch(name):
        pattern = "^[a-zA-Z0-9_-]+$"
        text = f"string does not match pattern. Expected a string that matches the pattern '{pattern}'."
        yield Refusal("name", f"Invalid '{where}': {text}", where, "invalid_value")
    else:
        yield from too_long(name, where, longest, "name")


def too_long(text, where, longest, about="id"):
    if isinstance(text, str) and len(text) > longest:
        much = f"maximum length {longest}, but got a string with length {len(text)} instead."
        message = f"Invalid '{where}': string too long. Expected a string with {much}"
        yield Refusal(about, message, where, "string_above_max_length")


def wrong_type(where, wanted, value):
    kinds = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    words = f"expected {wanted}, but got {kinds.get(type(value), 'a number')} instead."
    return Refusal("shape", f"Invalid type for '{where}': {words}", where, "invalid_type")


# --- OpenAI Chat Completions --------------------------------------------------------------------------


INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")


def chat_refusals(request):
    for number, tool in enumerate(request.get("tools") or []):
        if tool.get("type") == "function":
            yield from openai_name(tool["function"].get("name"), f"tools[{number}].function.name", 64)
    messages = request.get("messages", [])
    for at, message in enumerate(messages):
        if message.get("role") == "assistant":
            yield from chat_assistant(at, message)
        elif message.get("role") == "tool":
            yield from chat_tool_shape(at, message)
    for at, message in enumerate(messages):
        if message.get("role") == "assistant":
            yield from chat_answers(at, message, messages[at + 1 :])
        elif message.get("role") == "tool":
            yield from chat_answer(at, message, messages[:at])


def chat_assistant(at, message):
    calls = message.get("tool_calls")
    if calls == []:
        yield Refusal("shape", f"[] is too short - 'messages.{at}.tool_calls'", None, None)
    if message.get("content") is None and not any(message.get(key) for key in INSTEAD_OF_CONTENT):
        where = f"messages.[{at}].content"
        yield Refusal("shape", "Invalid value for 'content': expected a string, got null.", where, None)
    for number, call in enumerate(calls or []):
        where = f"messages[{at}].tool_calls[{number}]"
        yield from too_long(call.get("id"), f"{where}.id", 40)
        if function := call.get("function"):
            yield from openai_name(function.get("name"), f"{where}.function.name", 64)
            if not isinstance(function.get("arguments"), str):
                yield wrong_type(f"{where}.function.arguments", "a string", function.get("arguments"))


def chat_answers(at, message, later):
    """Every call has its output in the tool messages that follow at once."""
    calls = [call.get("id") for call in message.get("tool_calls") or []]
    answered = [reply.get("tool_call_id") for reply in chat_tool_messages(later)]
    missing = [call for call in calls if call not in answered]
    if missing or len(calls) != len(set(calls)):
        rule = "must be followed by tool messages responding to each 'tool_call_id'."
        named = f"The following tool_call_ids did not have response messages: {', '.join(map(str, missing or calls))}"
        text = f"An assistant message with 'tool_calls' {rule} {named}"
        yield Refusal("pairing", text, f"messages.[{at + 1 + len(answered)}].role", None)


def chat_tool_messages(messages):
    for message in messages:
        if message.get("role") != "tool":
            return
        yield message


def chat_tool_shape(at, message):
    if not message.get("tool_call_id"):
        words = "messages with role 'tool' must have a 'tool_call_id'"
        yield Refusal("pairing", f"Missing parameter 'tool_call_id': {words}.", f"messages.[{at}].tool_call_id", None)
    if not isinstance(message.get("content"), str | list):
        yield wrong_type(f"messages[{at}].content", "one of a string or array of objects", message.get("content"))


def chat_answer(at, message, before):
    """An output stands behind the message that called for it, with nothing but other outputs between."""
    asked = next((earlier for earlier in reversed(before) if earlier.get("role") != "tool"), {})
    if message.get("tool_call_id") not in [call.get("id") for call in asked.get("tool_calls") or []]:
        words = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
        yield Refusal("pairing", f"Invalid parameter: {words}", f"messages.[{at}].role", None)


# --- OpenAI Responses ---------------------------------------------------------------------------------


def responses_refusals(request):
    for number, tool in enumerate(request.get("tools") or []):
        if tool.get("type") in ("function", "custom"):
            yield from openai_name(tool.get("name"), f"tools[{number}].name", 128)
    items = request.get("input", [])
    if isinstance(items, str):
        return
    yield from responses_ids(items)
    for at, item in enumerate(items):
        yield from responses_shape(at, item)
    for at, item in enumerate(items):
        if item.get("type") == "reasoning" and not has_follower(items[at + 1 :]):
            words = "of type 'reasoning' was provided without its required following item."
            yield Refusal("reasoning", f"Item '{item.get('id')}' {words}", "input", None)
    # With either of these the rest of the history lies on the server.
    yield from responses_pairs(items, bool(request.get("previous_response_id") or request.get("conversation")))


def responses_ids(items):
    seen = set()
    for at, item in enumerate(items):
        name, prefix = item.get("id"), PREFIXES.get(item.get("type"))
        if name is None or item.get("type") == "item_reference":
            continue
        if prefix and not name.startswith(prefix):
            words = f"Expected an ID that begins with '{prefix}'."
            yield Refusal("id", f"Invalid 'input[{at}].id': '{name}'. {words}", f"input[{at}].id", "invalid_value")
        yield from too_long(name, f"input[{at}].id", 64)
        if name in seen:
            words = "Remove duplicate items from your input and try again."
            yield Refusal("id", f"Duplicate item found with id {name}. {words}", "input", None)
        seen.add(name)


def responses_shape(at, item):
    where = f"input[{at}]"
    yield from too_long(item.get("call_id"), f"{where}.call_id", 64)
    if item.get("type") == "function_call":
        if not isinstance(item.get("arguments"), str):
            yield wrong_type(f"{where}.arguments", "a string", item.get("arguments"))
        yield from openai_name(item.get("name"), f"{where}.name", 128)
    if item.get("type") in ("function_call_output", "custom_tool_call_output"):
        if not isinstance(item.get("output"), str | list):
            yield wrong_type(f"{where}.output", "one of an array of objects or string", item.get("output"))


def has_follower(later):
    """Whether the item behind a run of reasoning is the model's own."""
    item = next((item for item in later if item.get("type") != "reasoning"), None)
    if item is None:
        return False
    if item.get("type") in (None, "message"):
        return item.get("role") == "assistant"
    return not item["type"].endswith("_output") and item["type"] != "mcp_approval_response"


def responses_pairs(items, rest_on_server):
    def key(item):
        return item.get("call_id") or item.get("id")

    for call_type, output_type in OUTPUTS.items():
        calls = {key(item): item for item in items if item.get("type") == call_type}
        keys = {key(item) for item in items if item.get("type") == output_type}
        # A local shell's output may name either id of its call.
        keys |= {key(item) for item in calls.values() if call_type == "local_shell_call" and item.get("id") in keys}
        owned = {name for name, item in calls.items() if (item.get("caller") or {}).get("type") == "program"}
        spoken = call_type.replace("_", " ")
        for name in calls:
            if name not in keys and name not in owned:
                yield Refusal("pairing", f"No tool output found for {spoken} {name}.", "input", None)
        known = set(calls) | {item.get("id") for item in calls.values()}
        for item in items:
            if item.get("type") == output_type and key(item) not in known and not rest_on_server:
                message = f"No tool call found for {spoken} output with call_id {key(item)}."
                yield Refusal("pairing", message, "input", None)


# --- Anthropic Messages -------------------------------------------------------------------------------

UNANSWERED = "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
UNASKED = "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."


def blocks(message):
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def anthropic_refusals(request):
    for number, tool in enumerate(request.get("tools") or []):
        if "input_schema" in tool and not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", tool.get("name", "")):
            pattern = "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
            yield Refusal("name", f"tools.{number}.custom.name: {pattern}")
    messages = request.get("messages", [])
    for at, message in enumerate(messages):
        yield from anthropic_shape(at, message, at + 1 == len(messages))
    yield from anthropic_pairs(merged(messages))


def anthropic_shape(at, message, last):
    # "system" stands among the messages since 2026, where the instructions change in the middle.
    if message.get("role") not in ("user", "assistant", "system"):
        allowed = 'Allowed roles are "user" or "assistant".'
        yield Refusal("shape", f'messages: Unexpected role "{message.get("role")}". {allowed}')
    if (
        not message.get("content")
        and not message.get("output_config")
        and not (last and message.get("role") == "assistant")
    ):
        words = "all messages must have non-empty content except for the optional final assistant message"
        yield Refusal("shape", f"messages.{at}: {words}")
    for number, block in enumerate(blocks(message)):
        where = f"messages.{at}.content.{number}"
        kind = block.get("type")
        if kind == "text" and not block.get("text") and isinstance(message["content"], list):
            yield Refusal("shape", "messages: text content blocks must be non-empty")
        if kind == "thinking" and not block.get("signature"):
            yield Refusal("shape", f"{where}: Invalid `signature` in `thinking` block")
        if kind == "tool_use":
            yield from anthropic_call(where, block)
        if kind == "tool_result" and block.get("is_error") and not block.get("content"):
            yield Refusal("shape", f"{where}.tool_result: content cannot be empty if `is_error` is true")


def anthropic_call(where, block):
    if not isinstance(block.get("input"), dict):
        yield Refusal("shape", f"{where}.tool_use.input: Input should be a valid dictionary")
    if not NAME.fullmatch(block.get("id") or ""):
        yield Refusal("id", f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", block.get("name") or ""):
        yield Refusal("name", f"{where}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")


def merged(messages):
    """Messages of one role in a row are one message to the API; each keeps the number of its first."""
    joined = []
    for at, message in enumerate(messages):
        if joined and joined[-1][1] == message.get("role"):
            joined[-1][2].extend(blocks(message))
        else:
            joined.append((at, message.get("role"), list(blocks(message))))
    return joined


def anthropic_pairs(messages):
    ids, asked = set(), []
    for number, (at, role, content) in enumerate(messages):
        results = [block.get("tool_use_id") for block in content if block.get("type") == "tool_result"]
        for place, block in enumerate(content):
            if block.get("type") == "tool_result" and (role != "user" or block.get("tool_use_id") not in asked):
                text = f"unexpected `tool_use_id` found in `tool_result` blocks: {block.get('tool_use_id')}. {UNASKED}"
                yield Refusal("pairing", f"messages.{at}.content.{place}: {text}")
            if block.get("type") == "tool_use" and block.get("id") in ids:
                yield Refusal("pairing", f"messages.{at}.content.{place}: `tool_use` ids must be unique")
            if block.get("type") == "tool_use":
                ids.add(block.get("id"))
        for name in (name for place, name in enumerate(results) if name in results[:place]):
            text = f"each tool_use must have a single result. Found multiple `tool_result` blocks with id: {name}"
            yield Refusal("pairing", f"messages.{at}: {text}")
        asked = [block.get("id") for block in content if block.get("type") == "tool_use"] if role == "assistant" else []
        following = messages[number + 1][2] if number + 1 < len(messages) else []
        missing = [name for name in asked if name not in leading_results(following)]
        if missing:
            words = "`tool_use` ids were found without `tool_result` blocks immediately after"
            yield Refusal("pairing", f"messages.{at}: {words}: {', '.join(map(str, missing))}. {UNANSWERED}")


def leading_results(content):
    """The results a message begins with: behind other blocks they do not count."""
    names = []
    for block in content:
        if block.get("type") != "tool_result":
            break
        names.append(block.get("tool_use_id"))
    return names
