"""Commands without a screen: how long they run, and whether `check` finds what was planted."""
import json
import os
import shutil
import signal
import subprocess
import time

from .terminal import Failure, environment

# What the generator plants, by the rule that must find it.
RULES = {
    "unknown_tool": "unknown-tool",
    "bad_json": "malformed-arguments",
    "schema": "invalid-arguments",
    "orphan_call": "orphan-call",
    "orphan_output": "orphan-output",
}
FINDINGS_EXIT = 1  # `check` found something, and so it should


def seconds(argv, exits=(0,)):
    """Wall time from before fork/exec to the end of the process; its output is thrown away."""
    program = shutil.which(argv[0])
    if program is None:
        raise Failure(f"{argv[0]} is not installed or not built")
    null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    variables = environment()
    start = time.perf_counter()
    pid = os.posix_spawn(program, argv, variables, file_actions=null, setsigdef=[signal.SIGPIPE])
    _, status = os.waitpid(pid, 0)
    taken = time.perf_counter() - start
    code = os.waitstatus_to_exitcode(status)
    if code not in exits:
        raise Failure(f"{' '.join(argv)[:200]} ended with {code}, not with {exits}")
    return taken


def is_mendable(finding):
    """Whether `fix` would do something about it: waiting is safe, too, but changes nothing."""
    return any(offer["safety"] == "safe" and offer["action"] != "wait" for offer in finding["offers"])


def findings(retake, path, tools, exits=(FINDINGS_EXIT,), counts=lambda finding: True):
    """The (file, rule, call id) of every finding of `check` that counts, for the planted rules."""
    argv = [*retake, "check", str(path), "--tools", str(tools), "--format", "json"]
    found = set()
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment()) as check:
        for line in check.stdout:
            event = json.loads(line)
            if event["type"] == "finding" and event["rule"] in RULES.values() and counts(event):
                found.add((os.path.basename(event["path"]), event["rule"], event["call_id"]))
    if check.returncode not in exits:
        raise Failure(f"check of {path} ended with {check.returncode}, not with {exits}")
    return found


def difference(retake, path, tools, recordings):
    """How the findings differ from the planted defects; None when they are exactly those."""
    planted = {(made.path.name, RULES[defect["kind"]], defect["call_id"])
               for made in recordings for defect in made.planted()}
    found = findings(retake, path, tools)
    if found == planted:
        return None
    missing, extra = planted - found, found - planted
    examples = [f"{word} {rule} {call_id} in {name}" for word, some in (("missing", missing), ("extra", extra))
                for name, rule, call_id in sorted(some, key=str)[:2]]
    return f"{len(missing)} missing, {len(extra)} extra ({'; '.join(examples)})"
