"""Histories written at random: valid ones, and damage as programs do it."""

import copy
import json
import random

from oracles import ANTHROPIC, CHAT, RESPONSES

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


class Author:
    """Writes valid histories, and damages them."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def request(self, dialect):
        turns = self.random.randint(1, 3)
        return {RESPONSES: self.responses, CHAT: self.chat, ANTHROPIC: self.anthropic}[dialect](turns)

    def names(self, prefix):
        return [f"{prefix}{self.random.randrange(10**9):09}" for _ in range(self.random.randint(1, 3))]

    def city(self):
        return {"city": f"place {self.random.randrange(10**6)}"}

    def sometimes(self, *values):
        return list(values) if self.random.random() < 0.5 else []

    def responses(self, turns):
        items = [{"role": "user", "content": "hi"}]
        for _ in range(turns):
            calls = [
                {
                    "type": "function_call",
                    "id": name.replace("call", "fc"),
                    "call_id": name,
                    "name": "weather",
                    "arguments": json.dumps(self.city()),
                }
                for name in self.names("call_")
            ]
            reasoning = {"type": "reasoning", "id": calls[0]["id"].replace("fc", "rs"), "summary": []}
            part = {"type": "output_text", "text": "ok", "annotations": []}
            said = {"type": "message", "role": "assistant", "status": "completed", "content": [part]}
            outputs = [self.words(type="function_call_output", call_id=call["call_id"]) for call in calls]
            items += [*self.sometimes(reasoning), *calls, *outputs]
            items += self.sometimes(
                {**said, "id": calls[0]["id"].replace("fc", "msg")}, {"role": "user", "content": "and"}
            )
        tools = [{"type": "function", "name": "weather", "parameters": SCHEMA}]
        return {"model": "m", "input": items, "tools": tools}

    def words(self, **item):
        """An output with words of its own, so that it is no copy of another."""
        key = "output" if "call_id" in item else "content"
        return {**item, key: f"{self.random.randrange(10**6)} degrees"}

    def chat(self, turns):
        messages = [*self.sometimes({"role": "system", "content": "be short"}), {"role": "user", "content": "hi"}]
        for _ in range(turns):
            calls = [
                {"id": name, "type": "function", "function": {"name": "weather", "arguments": json.dumps(self.city())}}
                for name in self.names("call_")
            ]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            messages += [self.words(role="tool", tool_call_id=call["id"]) for call in calls]
            messages += self.sometimes({"role": "assistant", "content": "ok"}, {"role": "user", "content": "and"})
        tools = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
        return {"model": "m", "messages": messages, "tools": tools}

    def anthropic(self, turns):
        messages = [{"role": "user", "content": "hi"}]
        for _ in range(turns):
            names = self.names("toolu_")
            calls = [{"type": "tool_use", "id": name, "name": "weather", "input": self.city()} for name in names]
            text = {"type": "text", "text": "look"}
            results = [self.words(type="tool_result", tool_use_id=name) for name in names]
            messages.append({"role": "assistant", "content": [*self.sometimes(text), *calls]})
            messages.append({"role": "user", "content": [*results, *self.sometimes(text)]})
            messages += self.sometimes({"role": "assistant", "content": "ok"}, {"role": "user", "content": "and"})
        tools = [{"name": "weather", "input_schema": SCHEMA}]
        return {"model": "m", "max_tokens": 512, "messages": messages, "tools": tools}

    def damage(self, request):
        """Up to three accidents: something is lost, doubled, moved, renamed, or the user speaks in between."""
        history = request.get("input") or request["messages"]
        for _ in range(self.random.randint(0, 3)):
            parts = [
                item[key] for item in history for key in ("content", "tool_calls") if isinstance(item.get(key), list)
            ]
            some = self.random.choice([part for part in (history, *parts) if part])
            at = self.random.randrange(len(some))
            accident = self.random.choice((self.lose, self.double, self.move, self.rename, self.interrupt))
            accident(history if accident == self.interrupt else some, at)
            if not history:
                history.append({"role": "user", "content": "hi"})

    def lose(self, some, at):
        del some[at]

    def double(self, some, at):
        some.insert(self.random.randint(at, len(some)), copy.deepcopy(some[at]))

    def move(self, some, at):
        item = some.pop(at)
        some.insert(self.random.randint(0, len(some)), item)

    def rename(self, some, at):
        for key in ("call_id", "tool_call_id", "tool_use_id"):
            if key in some[at]:
                some[at][key] = "call_other"

    def interrupt(self, history, at):
        history.insert(min(at, len(history)), {"role": "user", "content": "wait"})


def undecided(dialect, request):
    """Whether a provider's answer is not known: a call or output stands twice, or (Responses) in the wrong order."""
    if dialect == ANTHROPIC:
        return False
    history = request.get("input") or request.get("messages")
    calls = [item["call_id"] for item in history if item.get("type") == "function_call"]
    calls += [call["id"] for item in history for call in item.get("tool_calls") or []]
    outputs = [item.get("tool_call_id") or item["call_id"] for item in history if is_output(item)]
    doubled = len(set(calls)) < len(calls) or len(set(outputs)) < len(outputs)
    return doubled or (dialect == RESPONSES and early_output(history))


def is_output(item):
    return item.get("role") == "tool" or item.get("type") == "function_call_output"


def early_output(items):
    called, outputs = set(), set()
    for item in items:
        if is_output(item):
            outputs.add(item["call_id"])
        elif item.get("type") == "function_call":
            called.add(item["call_id"])
            if item["call_id"] in outputs:
                return True
    return False
