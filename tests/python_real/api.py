"""The Python package beside the program: both find the same, and a history in memory is judged, healed and left as it was.

    python api.py RETAKE

Exit code 1: a story went another way.
"""

import copy
import importlib
import json
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

import retake

ROOT = Path(__file__).parent.parent.parent
CALL = {"id": "c1", "type": "function", "function": {"name": "weigh", "arguments": '{"what": "crate 7"}'}}
OPEN = [{"role": "user", "content": "Weigh it."}, {"role": "assistant", "content": None, "tool_calls": [CALL]}]
TOOL = {"type": "function", "function": {"name": "weigh", "parameters": {"type": "object", "properties": {"what": {"type": "string"}}}}}
#: What the program says of a finding and the package says, too.
SAID = ("rule", "severity", "message", "session", "turn", "item", "tool", "call_id", "pointer", "cause", "line", "column")


def the_package_finds_what_the_program_finds(program):
    files = [path for path in sorted((ROOT / "sessions").iterdir()) if path.suffix in {".json", ".jsonl", ".sse", ".db"}]
    corpus = ROOT.parent / "shared" / "corpus"
    files += [path for path in sorted(corpus.rglob("*")) if path.is_file() and path.stat().st_size < 2_000_000]
    if not corpus.is_dir():
        print("skipped: ../shared/corpus is absent")
    compared = 0
    for path in files:
        run = subprocess.run([program, "check", "--format", "json", path], capture_output=True, text=True)
        lines = [json.loads(line) for line in run.stdout.splitlines()]
        try:
            report = retake.check(path)
        except (retake.RetakeError, OSError):
            assert run.returncode in (2, 3), (path, run)
            continue
        expected = [tuple(line[key] for key in SAID) for line in lines if line["type"] == "finding"]
        found = [tuple(getattr(finding, key) for key in SAID) for finding in report.findings]
        # The program writes characters that a terminal obeys as escapes, so parsed texts are the same.
        assert found == expected, (path, found, expected)
        unread = any(problem.is_unread for problem in report.problems)
        assert (run.returncode == 3) == unread and (run.returncode == 0) == report.is_clean, (path, run.returncode, report)
        compared += 1
    assert compared > 20, compared
    return f"{compared} recordings"


def a_history_is_healed_and_what_was_given_stays(_):
    given = copy.deepcopy(OPEN)
    verdict = retake.will_accept(given)
    assert not verdict and [finding.rule for finding in verdict.findings] == ["orphan-call"], verdict
    assert "tool_call" in verdict.findings[0].refusal and "orphan-call" in str(verdict)
    healed = retake.heal(given)
    assert given == OPEN and healed.is_changed and retake.will_accept(healed.history)
    assert healed.history[:2] == OPEN and healed.history[2]["tool_call_id"] == "c1", healed
    assert [step.rule for step in healed.applied] == ["orphan-call"], healed.applied
    text = retake.heal(json.dumps(OPEN).encode()).history
    assert isinstance(text, bytes) and json.loads(text) == healed.history


def a_recording_may_wait_where_a_request_may_not(_):
    report = retake.check(OPEN)
    assert report.is_clean and [finding.rule for finding in report.findings] == ["pending-call"], report
    assert not retake.fix(OPEN).is_changed


def tools_and_providers_are_known(_):
    unknown = copy.deepcopy(OPEN)
    unknown[1]["tool_calls"][0]["function"]["name"] = "weight"
    report = retake.check(unknown, tools=[TOOL])
    assert "unknown-tool" in [finding.rule for finding in report.errors], report
    finding = report.errors[0]
    assert finding.tool == "weight" and "take-suggestion" in [offer.action for offer in finding.offers], finding
    assert report.rows()[0]["rule"] == finding.rule and report.sessions[0].tools_known
    body = {"messages": [*OPEN, {"role": "assistant", "content": "So"}]}
    assert "orphan-call" in [finding.rule for finding in retake.will_accept(body, model="m", provider="chat").findings]


def what_cannot_be_read_is_an_error_with_a_reason(_):
    for given, reason in ((b"", "empty"), ([], "not recognised"), (b"\0\1\2", "binary"), ({"a": 1}, "not recognised")):
        try:
            retake.check(given)
        except retake.RetakeError as error:
            assert reason in str(error), error
        else:
            raise AssertionError(given)
    for wrong in ({"dialect": "cobol"}, {"tools": [{"no": "name"}]}, {"format": "no-such-format"}):
        try:
            retake.check(OPEN, **wrong)
        except retake.RetakeError:
            continue
        raise AssertionError(wrong)
    try:
        retake.check("no/such/file.jsonl")
    except FileNotFoundError:
        pass
    try:
        retake.heal(json.dumps(OPEN))
    except TypeError as error:
        assert "bytes" in str(error)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        Path(file.name).write_text(json.dumps(OPEN))
        assert retake.check(Path(file.name)).path == file.name


def what_is_missing_for_a_cluster_is_named(_):
    for module, package in (("retake.ray", "ray[data]"), ("retake.spark", "pyspark")):
        try:
            importlib.import_module(module)
        except ImportError as error:
            assert "pip install" in str(error) and package in str(error), error
        else:
            raise AssertionError(f"{module}: this environment is to have no engine")


def other_threads_run_meanwhile(_):
    history = OPEN[:1] * 40_000
    ticks, ended = [], threading.Event()

    def tick():
        while not ended.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    text = json.dumps(history).encode()
    thread = threading.Thread(target=tick)
    thread.start()
    begun = time.perf_counter()
    retake.check(text)
    took = time.perf_counter() - begun
    ended.set()
    thread.join()
    meanwhile = sum(1 for moment in ticks if begun < moment < begun + took * 0.9)
    assert meanwhile >= 5, (meanwhile, took)
    return f"{meanwhile} ticks in {took:.2f} s"


def main(program):
    failed = 0
    stories = [value for name, value in globals().items() if "_" in name and callable(value) and value.__module__ == __name__]
    for story in stories:
        try:
            said = story(program)
        except Exception:
            traceback.print_exc()
            failed += 1
            print("FAILED ", story.__name__)
        else:
            print("ok ", story.__name__, said or "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
