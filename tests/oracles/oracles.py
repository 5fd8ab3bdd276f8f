"""The independent judges: each looks at one request body and says what it thinks of it.

    for oracle in ORACLES: oracle.judge("chat", request) -> Verdict

A verdict is `accepted`, `refused` with a reason, or `cannot judge` with a reason: where an oracle's rules are stricter
than the provider's, or it does not know the items, it must not speak. An oracle that accepts has found nothing in what
it looks at; most look at a part only.
"""

import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "record"))

import agents.run_internal.items as agents_items
from agents.models.chatcmpl_converter import Converter
from anthropic.types.beta import BetaMessageParam
from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import MistralRequestValidatorV13, ValidationMode
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses.response_input_item_param import ResponseInputItemParam
from pydantic import ConfigDict, TypeAdapter, ValidationError

from verdicts import ANTHROPIC, CHAT, RESPONSES, refusal

ACCEPTED, REFUSED, CANNOT_JUDGE = "accepted", "refused", "cannot judge"


class Verdict(NamedTuple):
    """`about` narrows what a refusal is about (pairing, reasoning, name, id, shape), where the oracle says it."""

    word: str
    reason: str = ""
    about: str | None = None


class Oracle(NamedTuple):
    name: str
    looks_at: str
    dialects: tuple
    ask: Callable

    def judge(self, dialect, request):
        if dialect not in self.dialects:
            return Verdict(CANNOT_JUDGE, "another dialect")
        return self.ask(dialect, copy.deepcopy(request))


def history(dialect, request):
    """The items or messages of a request; a plain text is one message."""
    items = request.get("input" if dialect == RESPONSES else "messages", [])
    return [{"role": "user", "content": items}] if isinstance(items, str) else items


# --- the small reference: pairing, order and shapes as the providers word them ---------------------------


def reference(dialect, request):
    refused = refusal(dialect, request)
    return Verdict(REFUSED, refused.message, refused.about) if refused else Verdict(ACCEPTED)


# --- openai-agents: what its own pruning would drop -------------------------------------------------------


def agents_orphans(_, request):
    """`drop_orphan_function_calls` and the de-duplication of a run's input leave a whole history as it is."""
    if request.get("previous_response_id") or request.get("conversation"):
        return Verdict(CANNOT_JUDGE, "the calls may lie on the server")
    if any(
        item.get("type") == "tool_search_call" and item.get("execution") == "server"
        for item in history(RESPONSES, request)
    ):
        return Verdict(CANNOT_JUDGE, "a search of the server's own")
    items = agents_items.normalize_input_items_for_api(history(RESPONSES, request))
    kept = agents_items.drop_orphan_function_calls(items, output_pruning_indexes=set(range(len(items))))
    if dropped := [item for item in items if item not in kept]:
        return Verdict(REFUSED, f"the SDK would drop {named(dropped[0])}", "pairing")
    single = agents_items.deduplicate_input_items_preferring_latest(items)
    if len(single) != len(items):
        return Verdict(REFUSED, "the SDK would merge items of one identity")
    return Verdict(ACCEPTED)


def named(item):
    return f"{item.get('type')} {item.get('call_id') or item.get('id') or ''}".strip()


# --- the types of the clients: shapes only ----------------------------------------------------------------

EXACT = ConfigDict(extra="forbid", strict=True)
TYPES = {
    RESPONSES: TypeAdapter(list[ResponseInputItemParam], config=EXACT),
    CHAT: TypeAdapter(list[ChatCompletionMessageParam], config=EXACT),
    ANTHROPIC: TypeAdapter(list[BetaMessageParam], config=EXACT),
}


def sdk_types(dialect, request):
    """Each item fits one of the client's types, without a key that the type does not have."""
    for at, item in enumerate(history(dialect, request)):
        try:
            drain(TYPES[dialect].validate_python([as_declared(dialect, item)]))
        except ValidationError as errors:
            return Verdict(REFUSED, f"item {at + 1}: {nearest_error(errors)}", "shape")
    return Verdict(ACCEPTED)


# What the servers take and the types do not know: a tool's name beside its output, the citations of a reply sent back.
UNDECLARED = {(CHAT, "tool"): {"name"}, (CHAT, "assistant"): {"annotations"}}
# What the types ask of a reply sent back and the servers do not: clients without the server's state leave it out.
LEFT_OUT = {"id": "msg_0", "status": "completed"}


def as_declared(dialect, item):
    """The item as its type declares it; null is taken for a key that is not there."""
    undeclared = UNDECLARED.get((dialect, item.get("role")), ())
    item = {key: part for key, part in item.items() if key == "content" or (part is not None and key not in undeclared)}
    if dialect == RESPONSES and item.get("role") == "assistant" and isinstance(item.get("content"), list):
        parts = [{"annotations": [], **part} if part.get("type") == "output_text" else part for part in item["content"]]
        item = {**LEFT_OUT, **item, "type": "message", "content": parts}
    return item


def drain(value):
    """Iterables are checked when they are read, so everything is read."""
    if isinstance(value, dict):
        value = value.values()
    if not isinstance(value, str) and hasattr(value, "__iter__"):
        for part in value:
            drain(part)


def nearest_error(errors):
    """The first complaint of the variant that the item was meant to be: the one whose `type` and `role` fit."""
    variants = {}
    for error in errors.errors(include_url=False, include_input=False, include_context=False):
        place = [str(part) for part in error["loc"]]
        variants.setdefault(tuple(place[:2]), []).append((place, error["msg"]))
    meant = [found for found in variants.values() if not any(place[-1:] in (["type"], ["role"]) for place, _ in found)]
    place, words = min(meant or variants.values(), key=len)[0]
    return ": ".join(part for part in (".".join(place[1:]), words) if part)


# --- mistral_common: pairing and order of Chat messages ---------------------------------------------------

VALIDATOR = MistralRequestValidatorV13(mode=ValidationMode.serving)
WORDS = "words"


def mistral(dialect, request):
    """The three dialects as Chat messages, without what this validator is stricter about than OpenAI.

    Version 13 asks no form of the call ids; before it they had to be nine letters or digits.
    """
    try:
        messages = AS_CHAT[dialect](history(dialect, request), request)
        calls = [call for message in messages for call in message.get("tool_calls") or []]
        if any(len((call.get("function") or {}).get("name") or "") > 64 for call in calls):
            raise Unjudgeable("a name that is too long for Chat")
    except Unjudgeable as why:
        return Verdict(CANNOT_JUDGE, str(why))
    try:
        asked = ChatCompletionRequest.from_openai([tamed(*each) for each in enumerate(with_ends(messages))], model="m")
        VALIDATOR.validate_request(asked)
    except (MistralCommonException, ValidationError, ValueError) as why:
        return Verdict(REFUSED, " ".join(str(why).split())[:200])
    return Verdict(ACCEPTED)


class Unjudgeable(Exception):
    """A history that this oracle cannot be asked about, and why."""


def with_ends(messages):
    """Mistral wants a user's message first and no assistant's message last; OpenAI does not mind."""
    user = {"role": "user", "content": WORDS}
    first = [] if messages and messages[0].get("role") in ("user", "system", "developer") else [user]
    last = [user] if messages and messages[-1].get("role") == "assistant" else []
    return [*first, *messages, *last]


def tamed(at, message):
    """What people say may hold parts that Mistral does not know, and instructions may stand anywhere at OpenAI."""
    role = message.get("role")
    if role == "user" or (role in ("system", "developer") and at > 0):
        return {"role": "user", "content": WORDS}
    if role in ("system", "developer"):
        return {"role": "system", "content": WORDS}
    if role == "assistant" and (message.get("refusal") or isinstance(message.get("content"), list)):
        message = {**message, "content": WORDS}
    if role == "tool":
        content = WORDS if isinstance(message.get("content"), list) else message.get("content")
        return {"role": role, "content": content, "tool_call_id": message.get("tool_call_id")}
    return {key: value for key, value in message.items() if key in ("role", "content", "tool_calls")}


def chat_as_it_is(messages, _):
    for message in messages:
        if message.get("role") == "function" or message.get("function_call") or message.get("audio"):
            raise Unjudgeable("functions of before 2024, or audio")
        if any(call.get("type") == "custom" for call in message.get("tool_calls") or []):
            raise Unjudgeable("custom calls")
    return messages


def responses_as_chat(items, request):
    """The conversion is openai-agents' own."""
    if request.get("previous_response_id") or request.get("conversation"):
        raise Unjudgeable("the calls may lie on the server")
    known = (None, "message", "function_call", "function_call_output", "reasoning")
    if other := next((item["type"] for item in items if item.get("type") not in known), None):
        raise Unjudgeable(f"{other} has no Chat message")
    items = [item for item in items if item.get("type") != "reasoning"]
    if not in_turns(items):
        raise Unjudgeable("Responses pairs by id, so an output need not follow its call at once")
    try:
        return Converter.items_to_messages(items)
    except Exception as why:  # the converter raises errors of many kinds for items that it does not expect
        raise Unjudgeable(f"the converter: {why}") from why


def in_turns(items):
    """Whether every output that has a call stands among the outputs behind it, before any other item."""
    calls, outputs = ({item.get("call_id") for item in items if item.get("type") == kind} for kind in CALL_AND_OUTPUT)
    open_calls, answering = set(), False
    for item in items:
        name, is_output = item.get("call_id"), item.get("type") == "function_call_output"
        if is_output and name in calls - open_calls:
            return False
        if not is_output and (answering or item.get("type") != "function_call"):
            if open_calls & outputs:
                return False
            open_calls = set()
        answering = is_output
        if is_output:
            open_calls.discard(name)
        elif item.get("type") == "function_call":
            open_calls.add(name)
    return True


CALL_AND_OUTPUT = ("function_call", "function_call_output")


def anthropic_as_chat(messages, _):
    """Results become tool messages, in the order of the blocks; neighbours of one role are one message to the API."""
    chat = []
    for message in messages:
        content = message.get("content")
        content = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        calls = [
            {
                "id": block["id"],
                "type": "function",
                "function": {"name": "tool", "arguments": json.dumps(block.get("input"))},
            }
            for block in content
            if block.get("type") == "tool_use"
        ]
        if message.get("role") == "assistant":
            if chat and chat[-1]["role"] == "assistant":
                chat[-1].setdefault("tool_calls", []).extend(calls)
            else:
                chat.append({"role": "assistant", "content": WORDS, "tool_calls": calls})
            continue
        for block in content:
            if block.get("type") == "tool_result":
                chat.append({"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": WORDS})
            else:
                chat.append({"role": "user", "content": WORDS})
    return [{key: value for key, value in message.items() if value != []} for message in chat]


AS_CHAT = {CHAT: chat_as_it_is, RESPONSES: responses_as_chat, ANTHROPIC: anthropic_as_chat}

ORACLES = (
    Oracle("reference", "pairing, order, ids, names, shapes", (RESPONSES, CHAT, ANTHROPIC), reference),
    Oracle("openai-agents", "pairs and identities of items", (RESPONSES,), agents_orphans),
    Oracle("mistral_common", "pairing and order", (RESPONSES, CHAT, ANTHROPIC), mistral),
    Oracle("sdk-types", "the shape of each item", (RESPONSES, CHAT, ANTHROPIC), sdk_types),
)
