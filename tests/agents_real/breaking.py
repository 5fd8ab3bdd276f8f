"""Accidents in the session files of agents: a result whose call is gone, a call whose result is gone, a line that was cut off."""

import json
import sqlite3
from contextlib import closing

ORPHAN, UNANSWERED, CUT = ACCIDENTS = ["orphaned result", "call without result", "line cut off"]


def contains(value, kinds):
    """Whether a value holds an object of one of these types, at any depth."""
    if isinstance(value, dict):
        return value.get("type") in kinds or value.get("role") in kinds or any(contains(inner, kinds) for inner in value.values())
    return isinstance(value, list) and any(contains(inner, kinds) for inner in value)


# The types of calls and of their results.
CALLS = {"claude-code": {"tool_use"}, "codex": {"function_call"}, "pi": {"toolCall"}}
RESULTS = {"claude-code": {"tool_result"}, "codex": {"function_call_output"}, "pi": {"toolResult"}}
LINKS = {"claude-code": ("uuid", "parentUuid"), "pi": ("id", "parentId"), "codex": ("", "")}


def is_record(agent, line):
    """Whether a line is a part of the history, and not of what the program says of itself."""
    return line.get("type") in {"claude-code": {"user", "assistant"}, "codex": {"response_item"}, "pi": {"message"}}[agent]


def without(agent, lines, kinds):
    """The lines without those of these types; what hung on one hangs on the line before it."""
    own, parent = LINKS[agent]
    kept, instead = [], {}
    for line in lines:
        if is_record(agent, line) and contains(line, kinds):
            instead[line.get(own)] = line.get(parent)
        else:
            kept.append(line)
    for line in kept if parent else []:
        while line.get(parent) in instead:
            line[parent] = instead[line[parent]]
    return kept


def broken(agent, path, accident):
    """Breaks a session in its store, a file or a database."""
    if agent == "opencode":
        break_database(path)
        return
    lines = path.read_text(encoding="utf-8").splitlines()
    if accident == CUT:
        at = next(at for at, line in enumerate(lines) if is_call(agent, json.loads(line)))
        lines[at] = lines[at][: len(lines[at]) // 2]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return
    values = [json.loads(line) for line in lines]
    if agent == "gemini-cli":
        values = broken_chat(values, accident)
    else:
        values = without(agent, values, (CALLS if accident == ORPHAN else RESULTS)[agent])
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")


def is_call(agent, line):
    if agent == "gemini-cli":
        return "toolCalls" in line
    return is_record(agent, line) and contains(line, CALLS[agent])


def broken_chat(lines, accident):
    """Gemini CLI keeps a result twice: beside its call, and as a message of the user."""
    if accident == ORPHAN:
        return [line for line in lines if "toolCalls" not in line]
    for line in lines:
        for call in line.get("toolCalls", []):
            call.pop("result", None)
            call["status"] = "executing"
    return [line for line in lines if "functionResponse" not in json.dumps(line.get("content"))]


def break_database(path):
    """Calls that are still running."""
    with closing(sqlite3.connect(path)) as database, database:
        for number, data in database.execute("SELECT rowid, data FROM part").fetchall():
            part = json.loads(data)
            if part["type"] == "tool":
                state = part["state"]
                part["state"] = {"status": "running", "input": state["input"], "time": {"start": state["time"]["start"]}}
                database.execute("UPDATE part SET data = ? WHERE rowid = ?", (json.dumps(part), number))
