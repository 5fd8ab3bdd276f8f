#!/usr/bin/env python3
"""Makes recorded transcripts with known defects in more formats than the generator that it builds on.

    more_formats.py GENERATOR --format pi --bytes 100M --seed 1 --out FILE

GENERATOR is the path of `gen.py`, which says what happens in a run; here are further writers for it. FILE.tools.json and
FILE.truth.json are written beside FILE as that generator writes them. A database keeps a call and its result in one
place, so that opencode has no orphan outputs. Traffic and traces repeat their history in each request, from the last
message of the user on.
"""
import importlib.util
import json
import os
import sqlite3
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the generator
spec = importlib.util.spec_from_file_location("generator", sys.argv.pop(1))
generator = importlib.util.module_from_spec(spec)
spec.loader.exec_module(generator)
dumps = generator.dumps

START = 1_772_442_000  # seconds since 1970
MODEL = "gpt-5"


class Writer:
    """What all writers share; `line` counts seconds."""

    def __init__(self, run, sink):
        self.run, self.sink, self.tick, self.last = run, sink, 0, None

    def new_call_id(self):
        return "call_" + self.run.hex(24)

    def time(self):
        self.tick += 1
        t = self.tick
        return f"2026-03-{1 + t // 86400 % 28:02}T{t // 3600 % 24:02}:{t // 60 % 60:02}:{t % 60:02}.000Z"

    def line(self, value):
        self.sink.put(dumps(value) + "\n")

    def head(self):
        pass

    def tail(self):
        pass


class Pi(Writer):
    def head(self):
        self.line({"type": "session", "version": 3, "id": self.run.hex(16), "timestamp": self.time(), "cwd": "/home/dev"})

    def message(self, message):
        parent, self.last = self.last, self.run.hex(8)
        self.line({"type": "message", "id": self.last, "parentId": parent, "timestamp": self.time(), "message": message})

    def user(self, text):
        self.message({"role": "user", "content": [{"type": "text", "text": text}]})

    def turn(self, thinking, say, calls):
        ids = [self.new_call_id() for _ in calls]
        content = [{"type": "thinking", "thinking": thinking}] if thinking else []
        content += [{"type": "text", "text": say}] if say else []
        content += [{"type": "toolCall", "id": i, "name": name, "arguments": raw if args is None else args}
                    for i, (name, args, raw, _, _) in zip(ids, calls)]
        usage = {"input": 9, "output": 40, "cacheRead": 900, "cacheWrite": 0}
        self.message({"role": "assistant", "api": "openai-responses", "provider": "openai", "model": MODEL,
                      "content": content, "usage": usage, "stopReason": "toolUse" if calls else "stop"})
        return ids

    def output(self, call_id, text, error):
        self.message({"role": "toolResult", "toolCallId": call_id, "toolName": "tool", "isError": error,
                      "content": [{"type": "text", "text": text}]})


class Codex(Writer):
    def item(self, kind, payload):
        self.line({"timestamp": self.time(), "type": kind, "payload": payload})

    def head(self):
        self.item("session_meta", {"id": self.run.hex(32), "timestamp": self.time(), "cwd": "/home/dev",
                                   "originator": "codex_cli_rs", "cli_version": "0.169.0"})

    def user(self, text):
        self.item("event_msg", {"type": "user_message", "message": text})
        self.item("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})

    def turn(self, thinking, say, calls):
        if thinking:
            self.item("response_item", {"type": "reasoning", "summary": [{"type": "summary_text", "text": thinking}],
                                        "encrypted_content": self.run.hex(400)})
        if say:
            self.item("event_msg", {"type": "agent_message", "message": say})
            content = [{"type": "output_text", "text": say}]
            self.item("response_item", {"type": "message", "role": "assistant", "content": content})
        ids = [self.new_call_id() for _ in calls]
        for i, (name, _, raw, _, _) in zip(ids, calls):
            self.item("response_item", {"type": "function_call", "name": name, "arguments": raw, "call_id": i})
        return ids

    def output(self, call_id, text, error):
        self.item("response_item", {"type": "function_call_output", "call_id": call_id, "output": text})


class Copilot(Writer):
    def event(self, kind, data):
        parent, self.last = self.last, self.run.hex(16)
        self.line({"type": kind, "data": data, "id": self.last, "timestamp": self.time(), "parentId": parent})

    def head(self):
        self.event("session.start", {"sessionId": self.run.hex(16), "selectedModel": MODEL})

    def user(self, text):
        self.event("user.message", {"content": text})

    def turn(self, thinking, say, calls):
        ids = [self.new_call_id() for _ in calls]
        asked = [{"toolCallId": i, "name": name, "arguments": raw if args is None else args}
                 for i, (name, args, raw, _, _) in zip(ids, calls)]
        self.event("assistant.message", {"content": say or "", "reasoningText": thinking or "", "toolRequests": asked,
                                         "outputTokens": 40})
        return ids

    def output(self, call_id, text, error):
        result = {"error": {"message": text}} if error else {"result": {"content": text}}
        self.event("tool.execution_complete", {"toolCallId": call_id, "success": not error, **result})


class OpenHands(Writer):
    def event(self, kind, **more):
        event = {"kind": kind, "id": self.run.hex(16), "timestamp": self.time()[:-1], **more}
        self.sink.put(("[" if self.tick == 1 else ",\n") + dumps(event))

    def message(self, source, role, text):
        said = {"role": role, "content": [{"type": "text", "text": text}]}
        self.event("MessageEvent", source=source, llm_message=said)

    def user(self, text):
        self.message("user", "user", text)

    def turn(self, thinking, say, calls):
        ids, reply = [self.new_call_id() for _ in calls], self.run.hex(16)
        if not calls:
            self.message("agent", "assistant", say)
        for place, (i, (name, _, raw, _, _)) in enumerate(zip(ids, calls)):
            thought = [{"type": "text", "text": say}] if say and place == 0 else []
            self.event("ActionEvent", source="agent", thought=thought, tool_name=name, tool_call_id=i,
                       tool_call={"id": i, "name": name, "arguments": raw}, llm_response_id=reply)
        return ids

    def output(self, call_id, text, error):
        said = {"content": [{"type": "text", "text": text}], "is_error": error}
        self.event("ObservationEvent", source="environment", tool_name="tool", tool_call_id=call_id, observation=said)

    def tail(self):
        self.sink.put("]\n")


class Held(Writer):
    """Formats that keep a call and its result in one place: a reply is written when all of its results are known."""

    def __init__(self, run, sink):
        super().__init__(run, sink)
        self.reply = None

    def turn(self, thinking, say, calls):
        self.flush()
        ids = [self.new_call_id() for _ in calls]
        self.reply = (thinking, say, list(zip(ids, calls)), {})
        return ids

    def user(self, text):
        self.flush()
        self.say(text)

    def output(self, call_id, text, error):
        if call_id in [i for i, _ in self.reply[2]]:
            self.reply[3][call_id] = (text, error)
        else:
            self.stray(call_id, text)

    def flush(self):
        if self.reply:
            self.write(*self.reply)
        self.reply = None

    def tail(self):
        self.flush()


class GeminiCli(Held):
    def __init__(self, run, sink):
        super().__init__(run, sink)
        self.strays = []

    def head(self):
        time = self.time()
        self.line({"sessionId": self.run.hex(16), "projectHash": "h", "startTime": time, "lastUpdated": time})

    def message(self, kind, **more):
        self.line({"id": self.run.hex(16), "timestamp": self.time(), "type": kind, **more})

    def say(self, text):
        self.message("user", content=[{"text": text}])

    def stray(self, call_id, text):
        self.strays.append({"functionResponse": {"id": call_id, "name": "lost", "response": {"output": text}}})

    def write(self, thinking, say, calls, results):
        made = []
        for i, (name, args, raw, _, _) in calls:
            call = {"id": i, "name": name, "args": raw if args is None else args, "status": "executing"}
            if i in results:
                text, error = results[i]
                answer = {"id": i, "name": name, "response": {"error" if error else "output": text}}
                call |= {"status": "error" if error else "success", "result": [{"functionResponse": answer}]}
            made.append(call)
        thoughts = [{"subject": "Plan", "description": thinking}] if thinking else []
        tokens = {"input": 900, "output": 40, "cached": 0, "thoughts": 0, "tool": 0, "total": 940}
        self.message("gemini", content=say or "", model="gemini-2.5-pro", thoughts=thoughts, tokens=tokens, toolCalls=made)
        for stray in self.strays:
            self.message("user", content=[stray])
        self.strays = []


class Database:
    """Rows instead of bytes; their size is counted in the sink, whose file the database takes the place of."""

    SCHEMA = ""

    def open(self):
        self.path = self.sink.f.name + ".rows"
        if os.path.exists(self.path):
            os.remove(self.path)
        self.db = sqlite3.connect(self.path)
        self.db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + self.SCHEMA)

    def row(self, table, *values):
        places = ", ".join("?" * len(values))
        self.db.execute(f"INSERT INTO {table} VALUES ({places})", values)
        self.sink.n += sum(len(value) for value in values if isinstance(value, str))

    def close(self):
        self.db.commit()
        self.db.close()
        os.replace(self.path, self.sink.f.name)


class OpenCode(Database, Held):
    SCHEMA = """CREATE TABLE session (id text, parent_id text, title text, revert text, time_created integer);
        CREATE TABLE message (id text, session_id text, time_created integer, data text);
        CREATE TABLE part (id text, message_id text, session_id text, data text);"""

    def head(self):
        self.open()
        self.row("session", "ses_1", None, "Boats", None, START)

    def message(self, data, parts):
        self.tick += 1
        time = (START + self.tick) * 1000
        name = f"msg_{self.tick:012}"
        self.row("message", name, "ses_1", time, dumps({**data, "time": {"created": time}}))
        for number, part in enumerate(parts):
            self.row("part", f"prt_{self.tick:012}_{number:03}", name, "ses_1", dumps(part))

    def say(self, text):
        self.message({"role": "user"}, [{"type": "text", "text": text}])

    def stray(self, call_id, text):
        self.run.defects.pop()
        self.run.counts["outputs"] -= 1

    def write(self, thinking, say, calls, results):
        parts = [{"type": "step-start"}]
        parts += [{"type": "reasoning", "text": thinking}] if thinking else []
        parts += [{"type": "text", "text": say}] if say else []
        for i, (name, args, raw, _, _) in calls:
            state = {"status": "running", "input": args or {}}
            if args is None:
                state["raw"] = raw
            if i in results:
                text, error = results[i]
                state |= {"status": "error", "error": text} if error else {"status": "completed", "output": text}
            parts.append({"type": "tool", "callID": i, "tool": name, "state": state})
        tokens = {"input": 900, "output": 40, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        self.message({"role": "assistant", "modelID": MODEL, "tokens": tokens}, parts)

    def tail(self):
        self.flush()
        self.close()


class Hermes(Database, Writer):
    SCHEMA = """CREATE TABLE sessions (id TEXT PRIMARY KEY, title TEXT, model TEXT, started_at REAL, input_tokens INTEGER,
            output_tokens INTEGER);
        CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, content TEXT,
            tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL, finish_reason TEXT);"""

    def head(self):
        self.open()
        self.row("sessions", "s1", "Boats", MODEL, START, 900, 40)

    def message(self, role, content, call_id=None, calls=None):
        self.tick += 1
        stop = "stop" if role == "assistant" else None
        self.row("messages", None, "s1", role, content, call_id, calls, None, START + self.tick, stop)

    def user(self, text):
        self.message("user", text)

    def turn(self, thinking, say, calls):
        ids = [self.new_call_id() for _ in calls]
        made = [{"id": i, "type": "function", "function": {"name": name, "arguments": raw}}
                for i, (name, _, raw, _, _) in zip(ids, calls)]
        self.message("assistant", say or "", None, dumps(made) if made else None)
        return ids

    def output(self, call_id, text, error):
        self.message("tool", text, call_id)

    def tail(self):
        self.close()


class Exchanges(Writer):
    """Requests to a model, each with the history since the last message of the user."""

    def user(self, text):
        self.history = [{"role": "user", "content": text}]

    def turn(self, thinking, say, calls):
        ids = [self.new_call_id() for _ in calls]
        reply = {"role": "assistant", "content": say}
        if calls:
            reply["tool_calls"] = [{"id": i, "type": "function", "function": {"name": name, "arguments": raw}}
                                   for i, (name, _, raw, _, _) in zip(ids, calls)]
        self.exchange(reply, "tool_calls" if calls else "stop")
        self.history.append(reply)
        return ids

    def output(self, call_id, text, error):
        self.history.append({"role": "tool", "tool_call_id": call_id, "content": text})

    def bodies(self, reply, stop):
        choice = {"index": 0, "message": reply, "finish_reason": stop}
        request = {"model": MODEL, "messages": self.history}
        return dumps(request), dumps({"id": self.run.hex(16), "object": "chat.completion", "choices": [choice]})


URL = "https://api.openai.com/v1/chat/completions"


class Vcr(Exchanges):
    def head(self):
        self.sink.put("interactions:\n")

    def exchange(self, reply, stop):
        request, response = self.bodies(reply, stop)
        self.sink.put(f"- request:\n    body: {dumps(request)}\n    method: POST\n    uri: {URL}\n"
                      f"  response:\n    body:\n      string: {dumps(response)}\n    status:\n      code: 200\n")

    def tail(self):
        self.sink.put("version: 1\n")


class Har(Exchanges):
    def head(self):
        self.sink.put('{"log":{"version":"1.2","entries":[')

    def exchange(self, reply, stop):
        request, response = self.bodies(reply, stop)
        self.sink.put(("" if self.tick == 0 else ",") + dumps({
            "startedDateTime": self.time(), "time": 900,
            "request": {"method": "POST", "url": URL, "postData": {"mimeType": "application/json", "text": request}},
            "response": {"status": 200, "content": {"mimeType": "application/json", "text": response}}}))

    def tail(self):
        self.sink.put("]}}\n")


class Otel(Exchanges):
    """A span a line, as a collector writes them; a trace for each message of the user."""

    def user(self, text):
        super().user(text)
        self.trace = self.run.hex(32)

    def exchange(self, reply, stop):
        self.tick += 1
        start = (START + self.tick) * 1_000_000_000
        said = [spelled({**reply, "finish_reason": stop})]
        attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": MODEL,
                      "gen_ai.input.messages": dumps([spelled(message) for message in self.history]),
                      "gen_ai.output.messages": dumps(said)}
        span = {"traceId": self.trace, "spanId": self.run.hex(16), "name": "chat " + MODEL,
                "startTimeUnixNano": str(start), "endTimeUnixNano": str(start + 500_000_000),
                "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]}
        self.line({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})


def spelled(message):
    """A message of Chat as the conventions for spans spell it."""
    if message["role"] == "tool":
        parts = [{"type": "tool_call_response", "id": message["tool_call_id"], "response": message["content"]}]
    else:
        parts = [{"type": "text", "content": message["content"]}] if message["content"] else []
        parts += [{"type": "tool_call", "id": call["id"], **call["function"]} for call in message.get("tool_calls", [])]
    more = {"finish_reason": message["finish_reason"]} if "finish_reason" in message else {}
    return {"role": message["role"], "parts": parts, **more}


generator.WRITERS.update({
    "codex": Codex, "copilot-cli": Copilot, "gemini-cli": GeminiCli, "har": Har, "hermes-sqlite": Hermes,
    "opencode-sqlite": OpenCode, "openhands": OpenHands, "otel": Otel, "pi": Pi, "vcr": Vcr,
})

if __name__ == "__main__":
    generator.main()
