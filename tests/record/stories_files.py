"""Stories written by hand in the shape of a coding agent's own log: these programs cannot run against a script here.

The tools, texts and projects are invented; only the shape of the lines is that of Claude Code and Codex.
"""

import datetime
import json
import uuid

from recording import SESSIONS, write_lines
from replies import EPOCH, Ids


class Clock:
    """Times of log lines, a few seconds apart."""

    def __init__(self):
        self.now = datetime.datetime.fromtimestamp(EPOCH, datetime.UTC)

    def tick(self, seconds=3):
        self.now += datetime.timedelta(seconds=seconds)
        return self.now.strftime("%Y-%m-%dT%H:%M:%S.000Z")


# --- Claude Code --------------------------------------------------------------------------------------


class ClaudeCode:
    """Builds the lines of one Claude Code session: a chain by `parentUuid`, one content block a line."""

    def __init__(self, cwd, branch):
        self.lines, self.last = [], None
        self.clock, self.ids, self.session = Clock(), Ids(cwd), str(uuid.uuid4())
        self.place = {"cwd": cwd, "sessionId": self.session, "version": "2.1.91", "gitBranch": branch}

    def line(self, kind, parent, **fields):
        head = {"parentUuid": parent, "isSidechain": False, "userType": "external", **self.place}
        line = {**head, "type": kind, **fields, "uuid": str(uuid.uuid4()), "timestamp": self.clock.tick()}
        self.lines.append(line)
        return line["uuid"]

    def user(self, words, **flags):
        message = {"role": "user", "content": words}
        self.last = self.line("user", self.last, message=message, **flags)

    def assistant(self, *blocks, stop):
        """One model message; returns for each call its id and the line it stands on."""
        identity, request = self.ids.new("msg_01"), self.ids.new("req_01")
        calls = []
        for at, block in enumerate(blocks):
            if block["type"] == "tool_use":
                block = {"type": "tool_use", "id": self.ids.new("toolu_01"), **block}
            message = {
                "model": "claude-opus-4-6",
                "id": identity,
                "type": "message",
                "role": "assistant",
                "content": [block],
            }
            message["stop_reason"] = stop if at == len(blocks) - 1 else None
            message |= {
                "stop_sequence": None,
                "usage": {"input_tokens": 4, "cache_read_input_tokens": 18000, "output_tokens": 60},
            }
            self.last = self.line("assistant", self.last, message=message, requestId=request)
            if block["type"] == "tool_use":
                calls.append((block["id"], self.last))
        return calls

    def result(self, call, words, structured):
        identity, source = call
        block = {"tool_use_id": identity, "type": "tool_result", "content": words}
        message = {"role": "user", "content": [block]}
        self.last = self.line(
            "user", self.last, message=message, toolUseResult=structured, sourceToolAssistantUUID=source
        )

    def progress(self, call, seconds):
        identity, source = call
        data = {"type": "bash_progress", "output": "", "fullOutput": "", "elapsedTimeSeconds": seconds, "totalLines": 0}
        self.line("progress", source, data=data, toolUseID=f"bash-progress-{seconds}", parentToolUseID=identity)

    def compact(self, summary, tokens):
        metadata = {"trigger": "auto", "preTokens": tokens}
        fields = {"content": "Conversation compacted", "level": "info", "isMeta": False, "compactMetadata": metadata}
        self.last = self.line("system", None, logicalParentUuid=self.last, subtype="compact_boundary", **fields)
        self.user(summary, isVisibleInTranscriptOnly=True, isCompactSummary=True)

    def snapshot(self):
        identity = str(uuid.uuid4())
        inner = {"messageId": identity, "trackedFileBackups": {}, "timestamp": self.clock.tick(1)}
        self.lines.append(
            {"type": "file-history-snapshot", "messageId": identity, "snapshot": inner, "isSnapshotUpdate": False}
        )


def text(words):
    return {"type": "text", "text": words}


def call(name, **arguments):
    return {"type": "tool_use", "name": name, "input": arguments}


def shell(stdout):
    return {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False}


def orphan_at_compaction():
    """The history is compacted while the tests run; their output is never written."""
    log = ClaudeCode("/home/mara/tideclock", "fix/neap")
    log.snapshot()
    log.user("Neap tides are a day late in tideclock. Find out why and fix it.")
    (grep,) = log.assistant(
        text("I look for the place where the phase is computed."),
        call("Grep", pattern="def phase", path="src"),
        stop="tool_use",
    )
    found = "src/tideclock/moon.py:14:def phase(day):"
    log.result(grep, found, {"mode": "content", "numFiles": 1, "filenames": [], "content": found, "numLines": 1})
    (read,) = log.assistant(call("Read", file_path="/home/mara/tideclock/src/tideclock/moon.py"), stop="tool_use")
    source = "14\tdef phase(day):\n15\t    return round((day - EPOCH_DAY) % 29.53)"
    log.result(
        read,
        source,
        {
            "type": "text",
            "file": {
                "filePath": "/home/mara/tideclock/src/tideclock/moon.py",
                "content": source,
                "numLines": 2,
                "startLine": 14,
                "totalLines": 40,
            },
        },
    )
    old, new = "round((day - EPOCH_DAY) % 29.53)", "int((day - EPOCH_DAY) % 29.530589)"
    (edit,) = log.assistant(
        text("`round` moves the last half day into the next phase."),
        call("Edit", file_path="/home/mara/tideclock/src/tideclock/moon.py", old_string=old, new_string=new),
        stop="tool_use",
    )
    changed = {
        "filePath": "/home/mara/tideclock/src/tideclock/moon.py",
        "oldString": old,
        "newString": new,
        "replaceAll": False,
        "userModified": False,
    }
    log.result(edit, "The file was updated.", changed)
    (tests,) = log.assistant(call("Bash", command="python -m pytest -q", description="Run the tests"), stop="tool_use")
    log.progress(tests, 2)
    log.progress(tests, 6)
    log.compact(
        "Neap tides were late because phase() rounded; moon.py truncates now. The tests still have to pass.",
        168_412,
    )
    (diff,) = log.assistant(
        text("I check what has changed."),
        call("Bash", command="git diff --stat", description="Show the change"),
        stop="tool_use",
    )
    log.result(diff, " src/tideclock/moon.py | 2 +-", shell(" src/tideclock/moon.py | 2 +-"))
    log.assistant(
        text("The phase is truncated now, so neap tides fall on the right day. How the tests went I do not know."),
        stop="end_turn",
    )
    log.line("system", log.last, subtype="turn_duration", durationMs=64_000, isMeta=False)
    write_lines("orphan-at-compaction.jsonl", log.lines)


def looks_broken():
    """Nothing is wrong here: parallel calls, a result written before its call, two objects on one line."""
    log = ClaudeCode("/home/otto/recipe-scaler", "main")
    log.user("Does scaling by zero crash? Look at the code and the tests.")
    code, tests = log.assistant(
        text("I read both at once."),
        call("Read", file_path="/home/otto/recipe-scaler/src/scale.ts"),
        call("Read", file_path="/home/otto/recipe-scaler/test/scale.test.ts"),
        stop="tool_use",
    )
    for read, path, words in (
        (code, "src/scale.ts", "1\texport const scale = (grams: number, by: number) => grams * by;"),
        (tests, "test/scale.test.ts", "1\ttest('doubles', () => expect(scale(50, 2)).toBe(100));"),
    ):
        file = {
            "filePath": f"/home/otto/recipe-scaler/{path}",
            "content": words,
            "numLines": 1,
            "startLine": 1,
            "totalLines": 1,
        }
        log.result(read, words, {"type": "text", "file": file})
    (run,) = log.assistant(call("Bash", command="npm test", description="Run the tests"), stop="tool_use")
    log.result(run, "1 passed", shell("1 passed"))
    log.assistant(text("No: zero gives zero grams. There is no test for it, though."), stop="end_turn")
    lines = [json.dumps(line) for line in log.lines]
    # The writers of such a log race. Lines 2 to 7 (from 0) are two calls, their results, the next call and its result.
    order = [0, 1, 2, 4, 3, 5, 7, 6, 8]
    lines = [lines[at] for at in order]
    lines[-2:] = [lines[-2] + lines[-1]]
    (SESSIONS / "looks-broken.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


# --- Codex --------------------------------------------------------------------------------------------


class Codex:
    """Builds the lines of one Codex rollout."""

    def __init__(self, cwd):
        self.lines, self.clock, self.ids, self.cwd = [], Clock(), Ids(cwd), cwd

    def line(self, kind, **payload):
        self.lines.append({"timestamp": self.clock.tick(), "type": kind, "payload": payload})

    def event(self, kind, **fields):
        self.line("event_msg", type=kind, **fields)

    def message(self, role, words):
        self.line("response_item", **codex_message(role, words))
        if role != "developer":
            self.event(f"{'agent' if role == 'assistant' else role}_message", message=words)

    def turn(self, words):
        """A turn starts; its id comes back."""
        turn = str(uuid.uuid4())
        self.event("task_started", turn_id=turn, model_context_window=272_000)
        policy = {"approval_policy": "on-request", "sandbox_policy": {"type": "workspace-write"}}
        self.line(
            "turn_context", turn_id=turn, cwd=self.cwd, **policy, model="gpt-5-codex", effort="medium", summary="auto"
        )
        self.message("user", words)
        return turn

    def reasoning(self, words):
        summary = [{"type": "summary_text", "text": words}]
        self.line(
            "response_item",
            type="reasoning",
            summary=summary,
            content=None,
            encrypted_content=self.ids.new("scripted-", 40),
        )

    def execute(self, command):
        identity = self.ids.new("call_")
        arguments = json.dumps({"cmd": command, "workdir": self.cwd})
        self.line("response_item", type="function_call", name="exec_command", arguments=arguments, call_id=identity)
        return identity

    def executed(self, identity, stdout, code=0):
        words = f"Wall time: 0.4 seconds\nProcess exited with code {code}\nOutput:\n{stdout}"
        self.line("response_item", type="function_call_output", call_id=identity, output=words)

    def patch(self, words, answer):
        identity = self.ids.new("call_")
        self.line(
            "response_item",
            type="custom_tool_call",
            status="completed",
            call_id=identity,
            name="apply_patch",
            input=words,
        )
        output = json.dumps({"output": answer, "metadata": {"exit_code": 0, "duration_seconds": 0.0}})
        self.line("response_item", type="custom_tool_call_output", call_id=identity, output=output)


def codex_message(role, words):
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}


PATCH = """*** Begin Patch
*** Update File: src/retry.rs
@@ pub fn delay(attempt: u32) -> Duration
-    Duration::from_millis(250 * 2u64.pow(attempt))
+    Duration::from_millis(250 * 2u64.saturating_pow(attempt)).min(LONGEST)
*** End Patch
"""


def aborted_turn():
    """A rollout with a free-form tool and a compaction; then the user stops a turn and its call stays open."""
    log = Codex("/home/ilse/mailrelay")
    identity = str(uuid.uuid4())
    git = {"commit_hash": "9c1d2e7f", "branch": "main", "repository_url": "https://example.org/mailrelay.git"}
    log.line(
        "session_meta",
        id=identity,
        timestamp=log.clock.tick(0),
        cwd=log.cwd,
        originator="codex_cli_rs",
        cli_version="0.125.0",
        source="cli",
        git=git,
    )
    turn = log.turn("The retry delay overflows after 60 attempts. Cap it at a minute.")
    log.reasoning("Find the delay first.")
    log.executed(log.execute("rg -n 'fn delay' src"), "src/retry.rs:9:pub fn delay(attempt: u32) -> Duration {")
    log.patch(PATCH, "Success. Updated the following files:\nM src/retry.rs\n")
    log.message("assistant", "The delay saturates now and never exceeds LONGEST, one minute.")
    log.event("task_complete", turn_id=turn, last_agent_message=None)
    wish = codex_message("user", "The retry delay overflows after 60 attempts. Cap it at a minute.")
    summary = codex_message("user", "Done so far: delay() in src/retry.rs saturates and is capped at LONGEST.")
    log.line("compacted", message="", replacement_history=[wish, summary])
    log.event("context_compacted")
    turn = log.turn("Run the whole test suite.")
    log.execute("cargo test --workspace --release")
    log.event("turn_aborted", turn_id=turn, reason="interrupted")
    turn = log.turn("That takes too long. Only the retry tests, please.")
    log.executed(log.execute("cargo test retry"), "test result: ok. 4 passed")
    log.message("assistant", "The four retry tests pass.")
    log.event("task_complete", turn_id=turn, last_agent_message="The four retry tests pass.")
    write_lines("aborted-turn.jsonl", log.lines)


STORIES = {
    "orphan-at-compaction": orphan_at_compaction,
    "looks-broken": looks_broken,
    "aborted-turn": aborted_turn,
}
