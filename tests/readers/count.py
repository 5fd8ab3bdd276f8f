"""Counts the messages of the user, the calls and the results of recordings, by nothing but the layout of each format.

Usage: count.py FILE...   prints one JSON object: {file: [messages of the user, calls, results]}
"""

import glob
import json
import sys


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def document(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def pi(path):
    messages = [entry["message"] for entry in lines(path) if entry["type"] == "message"]
    blocks = [block for it in messages if it["role"] == "assistant" for block in it["content"]]
    calls = sum(block["type"] == "toolCall" for block in blocks)
    roles = [message["role"] for message in messages]
    return roles.count("user"), calls, roles.count("toolResult")


def atif(path):
    steps = document(path)["steps"]
    results = [it for step in steps for it in (step.get("observation") or {}).get("results", [])]
    results = [it for it in results if it.get("source_call_id") or it.get("content")]
    answers = sum(bool(result.get("source_call_id")) for result in results)
    users = sum(step["source"] == "user" for step in steps) + len(results) - answers
    return users, sum(len(step.get("tool_calls") or []) for step in steps), answers


def gemini_cli(path):
    messages = document(path)["messages"]
    calls = [call for message in messages for call in message.get("toolCalls", [])]
    users = sum(message["type"] == "user" for message in messages)
    return users, len(calls), sum(len(call.get("result") or []) for call in calls)


def codex_exec(path):
    kinds = ("command_execution", "mcp_tool_call", "file_change", "web_search")
    items = [(event["type"], event["item"]) for event in lines(path) if "item" in event]
    calls = {item["id"] for _, item in items if item["type"] in kinds}
    done = [item for kind, item in items if kind == "item.completed" and item["type"] in kinds]
    return 0, len(calls), len(done)


def openhands(path):
    events = document(path)
    pairs = [event for event in events if event.get("tool_call_metadata")]
    users = sum(it.get("action") == "message" and it["source"] == "user" for it in events)
    return users, sum("action" in it for it in pairs), sum("observation" in it for it in pairs)


def swe_agent(path):
    history = document(path)["history"]
    roles = [message["role"] for message in history]
    calls = sum(len(message.get("tool_calls") or []) for message in history)
    return roles.count("user"), calls, roles.count("tool")


def blocks(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def cline(path):
    messages = document(path)
    messages = messages["messages"] if isinstance(messages, dict) else messages
    kinds = [(message["role"], block["type"]) for message in messages for block in blocks(message)]
    return tuple(kinds.count(kind) for kind in [("user", "text"), ("assistant", "tool_use"), ("user", "tool_result")])


def cline_xml(path):
    """A result is headed `[tool ...] Result:`; its text is the rest of the block, or the next one."""
    users = results = 0
    for message in document(path):
        texts = [block["text"] for block in blocks(message)]
        heads = [text for text in texts if text.startswith("[") and "] Result:" in text]
        if message["role"] == "user":
            users += len(texts) - sum(2 if head.endswith("Result:") else 1 for head in heads)
            results += len(heads)
    return users, results, results


def mini_swe_agent(path):
    messages = document(path)["messages"]
    roles = [message["role"] for message in messages]
    calls = sum(len(message.get("tool_calls") or []) for message in messages)
    return roles.count("user"), calls, roles.count("tool")


def bfcl(path):
    """Calls in Python stand in what was decoded of a text."""
    users = calls = results = 0
    for entry in lines(path):
        for turn in entry["inference_log"]:
            if isinstance(turn, list):
                continue
            users += sum(message["role"] == "user" for message in turn["begin_of_turn_query"])
            for step in (step for name, step in turn.items() if name.startswith("step_")):
                said = [it["content"] for it in step if it["role"] == "assistant"][0]
                found = [it["model_response_decoded"] for it in step if "model_response_decoded" in it]
                calls += len(said) if isinstance(said, list) else sum(map(len, found))
                results += sum(it["role"] == "tool" for it in step)
    return users, calls, results


def fast_agent(path):
    messages = document(path)["messages"]
    users = sum(message["role"] == "user" and bool(message["content"]) for message in messages)
    counts = [sum(len(message.get(key) or {}) for message in messages) for key in ("tool_calls", "tool_results")]
    return users, *counts


def opencode_tree(path):
    root, session = path.split("/session/")[0], path.rsplit("/", 1)[1]
    users = calls = results = 0
    for file in glob.glob(f"{root}/message/{session[:-5]}/*.json"):
        users += document(file)["role"] == "user"
        for part in glob.glob(f"{root}/part/{file.rsplit('/', 1)[1][:-5]}/*.json"):
            part = document(part)
            calls += part["type"] == "tool"
            results += part["type"] == "tool" and part["state"]["status"] in ("completed", "error")
    return users, calls, results


READERS = {
    "bfcl": bfcl,
    "fast-agent": fast_agent,
    "cline": cline,
    "cline-xml": cline_xml,
    "mini-swe-agent": mini_swe_agent,
    "storage": opencode_tree,
    "pi_session_jsonl": pi,
    "atif_trajectory": atif,
    "gemini_cli_session": gemini_cli,
    "codex_exec_stream": codex_exec,
    "openhands_events": openhands,
    "swe_agent_traj": swe_agent,
}

found = {path: next(read(path) for name, read in READERS.items() if f"/{name}/" in path) for path in sys.argv[1:]}
print(json.dumps(found))
