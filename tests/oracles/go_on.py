"""Broken histories in the hands of the real SDKs, against a scripted endpoint that refuses what the provider refuses.

    python go_on.py RETAKE

Each story makes a history as an application would, with one usual accident in it, and lets the same program go on
with it: the next request is refused with the provider's 400. Then `retake fix` writes the history anew, and the program
reaches its final answer with it. Where RETAKE has no `fix` yet, the second half is skipped. Exit code 1: a story went
another way.
"""

import asyncio
import json
import logging
import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"  # nothing but the scripted endpoint is talked to
sys.path.insert(0, str(Path(__file__).parent.parent / "record"))

import anthropic
import openai
from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, SQLiteSession, function_tool

from endpoint import Endpoint
from program import Program

logging.getLogger("openai.agents").setLevel(logging.CRITICAL)  # each refusal is expected here, and judged by its words

ANSWER = "Gate B12, and it boards at 14:05."
GOES_ON = [{"items": [{"call": "gate_of", "arguments": {"flight": "KS 218"}}]}, {"items": [{"text": ANSWER}]}]
QUESTION = "And which gate is it now?"


class Story(NamedTuple):
    """`make` writes the broken history, `go_on` returns the program's answer, `refusal` is in the words of the 400."""

    file: str
    accident: str
    make: Callable
    go_on: Callable
    refusal: str


def endpoint(name, replies, strict=True):
    return Endpoint({"name": name, "replies": replies}, strict=strict)


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def save(path, value):
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


# --- openai-agents ----------------------------------------------------------------------------------------


@function_tool
def gate_of(flight: str) -> str:
    """The gate of a flight."""
    return "B12, boards 14:05"


@function_tool(needs_approval=True)
def change_seat(flight: str, seat: str) -> str:
    """Change the seat of a passenger."""
    return "changed"


def run_agent(server, given, session=None):
    """One run of the agent; with a session it is closed behind the run."""

    async def running():
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0) as client:
            model = OpenAIResponsesModel("gpt-5-mini", client)
            agent = Agent("Airport desk", instructions="Help passengers.", model=model, tools=[gate_of, change_seat])
            settings = RunConfig(tool_not_found_behavior="return_error_to_model")
            return await Runner.run(agent, given, session=session, run_config=settings)

    try:
        return asyncio.run(running())
    finally:
        if session:
            session.close()


def ask_with_session(path, replies, question, strict=True):
    with endpoint(path.stem, replies, strict) as server:
        return run_agent(server, question, SQLiteSession("passenger", path)).final_output


def trimmed_session(path):
    """The application keeps its database small and deletes the oldest rows: the call goes, its output stays."""
    ask_with_session(path, GOES_ON, "Where does KS 218 leave?")
    database = sqlite3.connect(path)
    with database:
        database.execute("DELETE FROM agent_messages WHERE id <= (SELECT min(id) + 1 FROM agent_messages)")
    database.close()


def invented_name(path):
    """A gateway lets a tool name with a dot pass, and it stays in the session."""
    wrong = {"items": [{"call": "functions.gate_of", "arguments": {"flight": "KS 218"}}]}
    ask_with_session(path, [wrong, *GOES_ON], "Where does KS 218 leave?", strict=False)


def go_on_with_session(path):
    return ask_with_session(path, GOES_ON, QUESTION)


def unapproved_call(path):
    """The run stops for an approval; the application keeps its items, and the passenger's next words behind them."""
    with endpoint(
        path.stem, [{"items": [{"call": "change_seat", "arguments": {"flight": "KS 218", "seat": "4A"}}]}]
    ) as server:
        result = run_agent(server, "Seat 4A, please.")
    assert result.interruptions, "the change must wait for its approval"
    save(path, [*result.to_input_list(), {"role": "user", "content": "Never mind the seat."}])


def go_on_with_items(path):
    with endpoint(path.stem, GOES_ON) as server:
        return run_agent(server, [*load(path), {"role": "user", "content": QUESTION}]).final_output


# --- openai, a loop over Chat Completions -----------------------------------------------------------------

PARAMETERS = {"type": "object", "properties": {"flight": {"type": "string"}}, "required": ["flight"]}
CHAT_TOOLS = [{"type": "function", "function": {"name": "gate_of", "parameters": PARAMETERS}}]


def chat_turn(server, messages):
    """One model call; its message joins the others."""
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0) as client:
        reply = client.chat.completions.create(model="gpt-4.1-mini", messages=messages, tools=CHAT_TOOLS)
    messages.append(reply.choices[0].message.model_dump(exclude_none=True))
    return messages[-1]


def lost_output(path):
    """The tool raises, the loop forgets to answer, and the passenger writes again."""
    messages = [{"role": "user", "content": "Where does KS 218 leave?"}]
    with endpoint(path.stem, GOES_ON) as server:
        chat_turn(server, messages)
    save(path, [*messages, {"role": "user", "content": "Hello?"}])


def early_output(path):
    """The tool's task stores its output before the model's message is stored."""
    messages = [{"role": "user", "content": "Where does KS 218 leave?"}]
    with endpoint(path.stem, GOES_ON) as server:
        call = chat_turn(server, messages)["tool_calls"][0]
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": "B12"})
        chat_turn(server, messages)
    messages[1], messages[2] = messages[2], messages[1]
    save(path, messages)


def go_on_with_chat(path):
    messages = [*load(path), {"role": "user", "content": QUESTION}]
    with endpoint(path.stem, GOES_ON) as server:
        while calls := chat_turn(server, messages).get("tool_calls"):
            messages += [{"role": "tool", "tool_call_id": call["id"], "content": "B12"} for call in calls]
    return messages[-1]["content"]


# --- anthropic, a loop over Messages ----------------------------------------------------------------------

ANTHROPIC_TOOLS = [{"name": "gate_of", "input_schema": PARAMETERS}]


def anthropic_turn(server, messages):
    with anthropic.Anthropic(base_url=server.url, api_key="unused", max_retries=0) as client:
        reply = client.messages.create(
            model="claude-opus-4-6", max_tokens=512, messages=messages, tools=ANTHROPIC_TOOLS
        )
    content = [block.model_dump(exclude_none=True) for block in reply.content]
    messages.append({"role": "assistant", "content": content})
    return [block for block in content if block["type"] == "tool_use"]


def forgotten_result(path):
    """The passenger interrupts, and the loop sends the new words without the result."""
    messages = [{"role": "user", "content": "Where does KS 218 leave?"}]
    with endpoint(path.stem, GOES_ON) as server:
        anthropic_turn(server, messages)
    messages.append({"role": "user", "content": "Wait, I have another question first."})
    save(path, [*messages, {"role": "assistant", "content": [{"type": "text", "text": "Yes?"}]}])


def words_before_result(path):
    """The passenger's words are put before the result, in one message."""
    messages = [{"role": "user", "content": "Where does KS 218 leave?"}]
    with endpoint(path.stem, GOES_ON) as server:
        (call,) = anthropic_turn(server, messages)
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "B12"}
    messages.append({"role": "user", "content": [{"type": "text", "text": "Quick, please."}, result]})
    save(path, [*messages, {"role": "assistant", "content": [{"type": "text", "text": "B12."}]}])


def go_on_with_messages(path):
    messages = [*load(path), {"role": "user", "content": QUESTION}]
    with endpoint(path.stem, GOES_ON) as server:
        while calls := anthropic_turn(server, messages):
            results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "B12"} for call in calls]
            messages.append({"role": "user", "content": results})
    return messages[-1]["content"][0]["text"]


STORIES = [
    Story(
        "trimmed-session.db",
        "a session database without its oldest rows",
        trimmed_session,
        go_on_with_session,
        "No tool call found for function call output with call_id call_",
    ),
    Story(
        "invented-name.db",
        "a session database with a tool name that has a dot",
        invented_name,
        go_on_with_session,
        "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    ),
    Story(
        "unapproved-call.json",
        "the items of a run that stopped for an approval",
        unapproved_call,
        go_on_with_items,
        "No tool output found for function call call_",
    ),
    Story(
        "lost-output.json",
        "Chat messages where a call has no output",
        lost_output,
        go_on_with_chat,
        "The following tool_call_ids did not have response messages: call_",
    ),
    Story(
        "early-output.json",
        "Chat messages where an output stands before its call",
        early_output,
        go_on_with_chat,
        "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    ),
    Story(
        "forgotten-result.json",
        "Anthropic messages where a call has no result",
        forgotten_result,
        go_on_with_messages,
        "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_",
    ),
    Story(
        "words-before-result.json",
        "Anthropic messages where words stand before a result",
        words_before_result,
        go_on_with_messages,
        "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_",
    ),
]


def refused(story, path):
    """What went wrong with the first half of a story, or None: the provider's 400 has to end it."""
    try:
        answer = story.go_on(path)
    except (openai.BadRequestError, anthropic.BadRequestError) as error:
        return None if story.refusal in str(error) else f"refused for another reason: {error}"
    return f"it was not refused, the answer is {answer!r}"


def goes_on(retake, story, path):
    """What went wrong with the second half, or None."""
    fixed = path.with_name(f"fixed-{path.name}")
    before = path.read_bytes()
    done = retake.run("fix", path, "-o", fixed)
    if not fixed.exists():
        return f"retake fix wrote nothing, exit code {done.returncode}: {done.stderr.strip()}"
    if path.read_bytes() != before:
        return "retake fix changed the recording"
    try:
        answer = story.go_on(fixed)
    except (openai.APIError, anthropic.APIError) as error:
        return f"still refused: {error}"
    return None if answer == ANSWER else f"the answer is {answer!r}"


def main():
    retake = Program(sys.argv[1])
    fixes, failed = "fix" in retake.commands, 0
    with tempfile.TemporaryDirectory(prefix="retake-go-on.") as folder:
        for story in STORIES:
            path = Path(folder) / story.file
            story.make(path)
            wrong = refused(story, path) or (goes_on(retake, story, path) if fixes else None)
            print(f"{story.file}: {story.accident}: {wrong or ('refused, fixed, goes on' if fixes else 'refused')}")
            failed += wrong is not None
    if not fixes:
        print("skipped: going on with the fixed histories; this retake has no command fix")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
