"""A second opinion about `check`: valid histories are damaged at random, and the oracles and `check` have to agree.

    python differ.py RETAKE [--count N] [--seed N]

A history that an oracle refuses and `check` finds no fault in, or the other way round, is printed and kept in a folder,
whose name comes last. Exit code 1: there was one. Where a provider's answer is not known, nothing is compared.
"""

import argparse
import copy
import json
import random
import shutil
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from oracles import ANTHROPIC, CHAT, ORACLES, REFUSED, RESPONSES
from produced import ANY_RULE, RULES
from program import Program

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
    """Whether nobody knows what a provider answers: a call or an output stands twice, or (Responses) in the wrong order."""
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


def write(author, folder, count):
    """The histories as files, a folder for each dialect: {path: (dialect, request)}."""
    written = {}
    for number in range(count):
        dialect = (RESPONSES, CHAT, ANTHROPIC)[number % 3]
        request = author.request(dialect)
        author.damage(request)
        path = folder / dialect / f"{number:05}.{dialect}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(request), encoding="utf-8")
        written[str(path)] = dialect, request
    return written


def faults(retake, folder):
    """The rules that `check` reports as errors, for each file that it can read."""
    found = defaultdict(set)
    for dialect in (RESPONSES, CHAT, ANTHROPIC):
        for each in retake.check(folder / dialect, "--target", dialect):
            if each["type"] == "finding" and each["severity"] == "error":
                found[each["path"]].add(each["rule"])
            elif each["type"] == "session":
                found[each["path"]] |= set()
    return found


def disagreements(written, found):
    for path, (dialect, request) in written.items():
        if path not in found or undecided(dialect, request):
            continue
        verdicts = [(oracle, oracle.judge(dialect, request)) for oracle in ORACLES]
        refusals = [(oracle, verdict) for oracle, verdict in verdicts if verdict.word == REFUSED]
        faults = found[path] & ANY_RULE
        for oracle, verdict in refusals:
            if not faults & RULES.get(verdict.about, ANY_RULE):
                yield f"{path}: {oracle.name} refuses it: {verdict.reason}; check: {', '.join(faults) or 'nothing'}"
        if faults and not refusals:
            yield f"{path}: check finds {', '.join(sorted(faults))}, and no oracle refuses it"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("retake", metavar="RETAKE")
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="retake-differ."))
    written = write(Author(options.seed), folder, options.count)
    found = faults(Program(options.retake), folder)
    lines = list(disagreements(written, found))
    decided = [path for path in written if path in found and not undecided(*written[path])]
    faulty = sum(bool(found[path] & ANY_RULE) for path in decided)
    print(
        f"damaged histories: {len(decided)} judged, {faulty} faulty, {len(lines)} disagreements (seed {options.seed})"
    )
    for line in lines:
        print(f"  {line}")
    if lines:
        print(folder)
        sys.exit(1)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
