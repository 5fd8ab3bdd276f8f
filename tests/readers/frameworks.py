"""Counts the calls and the results of recorded exchanges and of frameworks, by nothing but the layout of each format.

Usage: frameworks.py FILE...   prints one JSON object: {file: [calls, results]}

Of exchanges that repeat a history only those count that no later one goes on from.
"""

import json
import re
import sys
import zipfile



def document(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def parsed(side):
    body = side.get("parsed_body", side.get("body"))
    if isinstance(body, dict) and "string" in body:
        body = body["string"]
    if isinstance(body, bytes):
        body = body.decode()
    if not isinstance(body, str):
        return body
    try:
        return json.loads(body)
    except ValueError:
        return [json.loads(line[5:]) for line in body.splitlines() if line.startswith("data:") and "[DONE]" not in line]


def walk(value):
    """Each object in a value."""
    if isinstance(value, dict):
        yield value
        for inside in value.values():
            yield from walk(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from walk(inside)


def asked(request):
    """The calls and the results in a request."""
    history = request.get("messages") or request.get("input") or request.get("contents") or []
    calls = results = 0
    for part in walk(history):
        calls += len(part.get("tool_calls") or [])
        calls += part.get("type") in ("function_call", "tool_use")
        calls += "functionCall" in part or isinstance(part.get("function_call"), dict)
        results += part.get("type") in ("function_call_output", "tool_result")
        results += "functionResponse" in part or "function_response" in part
        results += part.get("role") == "tool"
    return calls, results


def replied(reply):
    """The calls in a reply, streamed or not."""
    if isinstance(reply, dict):
        parts = reply.get("output") or reply.get("content") or reply.get("choices") or reply.get("candidates") or []
        return asked({"messages": parts})[0]
    calls = set()
    for number, event in enumerate(reply or []):
        item = event.get("item") or event.get("content_block") or {}
        if event.get("type") in ("response.output_item.done", "content_block_start"):
            calls |= {item.get("id")} if item.get("type") in ("function_call", "tool_use") else set()
        for choice in event.get("choices") or []:
            for call in (choice.get("delta") or {}).get("tool_calls") or []:
                calls |= {call["id"]} if call.get("id") and call["id"] != "null" else set()
        for part in walk(event.get("candidates") or []):
            calls |= {number} if "functionCall" in part else set()
    return len(calls)


def spoken(request):
    """What tells histories apart: the texts of the user, and how many results there are."""
    history = request.get("messages") or request.get("input") or request.get("contents") or []
    texts = [json.dumps(it.get("content", it.get("parts"))) for it in history if it.get("role") == "user"]
    return texts[:1], len(history)


def exchanges(pairs):
    pairs = [(request, reply) for request, reply in pairs if isinstance(request, dict) and any(spoken(request)[0])]
    ends = []
    for place, (request, reply) in enumerate(pairs):
        first, length = spoken(request)
        later = [spoken(other) for other, _ in pairs[place + 1 :]]
        if not any(begin == first and length <= more for begin, more in later):
            calls, results = asked(request)
            ends.append((calls + replied(reply), results))
    return [sum(calls for calls, _ in ends), sum(results for _, results in ends)]


def vcr(path):
    import yaml

    with open(path, encoding="utf-8") as file:
        cassette = yaml.safe_load(file)
    held = cassette.get("interactions") or cassette.get("http_interactions")
    return exchanges([(parsed(one["request"]), parsed(one["response"])) for one in held])


def llama_stack(path):
    recording = document(path)
    body = recording["response"]["body"]
    data = [part["__data__"] for part in body] if isinstance(body, list) else body["__data__"]
    return exchanges([(recording["request"]["body"], data)])


def adk(path):
    parts = [part for event in document(path)["events"] for part in event["content"]["parts"]]
    return [sum("function_call" in part for part in parts), sum("function_response" in part for part in parts)]


def chat(messages):
    calls = sum(len(message.get("tool_calls") or []) for message in messages)
    return calls, sum(message["role"] == "tool" for message in messages)


def inspect(path):
    if path.endswith(".eval"):
        archive = zipfile.ZipFile(path)
        samples = [json.loads(archive.read(name)) for name in archive.namelist() if name.startswith("samples/")]
    else:
        samples = document(path)["samples"]
    counts = [chat(sample["messages"]) for sample in samples]
    return [sum(calls for calls, _ in counts), sum(results for _, results in counts)]


def tau2(path):
    counts = [chat(simulation["messages"]) for simulation in document(path)["simulations"]]
    return [sum(calls for calls, _ in counts), sum(results for _, results in counts)]


def otel(path):
    spans = document(path)["spans"]
    kinds = [span["attributes"].get("gen_ai.operation.name") for span in spans]
    outputs = "".join(str(span["attributes"].get("gen_ai.output")) for span in spans)
    return [outputs.count('"tool.name"'), kinds.count("execute_tool")]


def langfuse(path):
    ran = [it for it in document(path)["observations"] if it["type"] == "TOOL" or re.match("Web-Search", it["name"])]
    return [len(ran), len(ran)]


def mcp(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.split(": ", 1) for line in file if line.startswith("STD") and "STDERR" not in line]
    messages = [json.loads(message) for _, message in lines]
    calls = {message["id"] for message in messages if message.get("method") == "tools/call"}
    return [len(calls), sum(it.get("id") in calls and ("result" in it or "error" in it) for it in messages)]


def toolbench(path):
    """The longest way to a leaf, or the one that was finished last."""

    def ways(node, way):
        way = way + [node]
        return [way] if not node["children"] else [it for child in node["children"] for it in ways(child, way)]

    found = ways(document(path)["tree"]["tree"], [])
    done = [way for way in found if way[-1].get("finished")]
    longest = max(len(way) for way in found)
    best = done[-1] if done else [way for way in found if len(way) == longest][-1]
    inputs = [node for node in best[1:] if node["node_type"] == "Action Input"]
    return [len(inputs), sum("observation" in node for node in inputs)]


READERS = {
    "http_": vcr,
    "llama_stack_recording": llama_stack,
    "adk_session": adk,
    "inspect_eval_log": inspect,
    "tau2_simulation/toolorchestra": tau2,
    "otel_genai_spans": otel,
    "langfuse_trace": langfuse,
    "mcp_stdio": mcp,
    "toolbench/": toolbench,
}

found = {path: next(read(path) for name, read in READERS.items() if f"/{name}" in path) for path in sys.argv[1:]}
print(json.dumps(found))
