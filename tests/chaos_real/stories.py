"""`retake proxy --chaos` over two settings of one program: the report tells them apart. Usage: stories.py RETAKE"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "proxy_real"))

from programs import PATIENCE, Wrong, scripted

UNKNOWN = ["unknown-tool-near", "unknown-tool-far"]

# What is tried over each API: everything, and what needs a stream.
SPECS = {"responses": "chaos.toml", "chat": "streams.toml"}


def campaign(retake, upstream, way, api, folder):
    """What the report says of each fault, and the exit code."""
    journals = folder / f"{way}-{api}"
    command = [retake, "proxy", "--chaos", HERE / SPECS[api], "--format", "json", "--upstream", upstream]
    command += ["--listen", "127.0.0.1:0", "--journal", journals, "--", sys.executable, HERE / "agent.py", way, api]
    environment = os.environ | {"XDG_STATE_HOME": str(folder / "state")}
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30 * PATIENCE, env=environment)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if not lines or lines[0]["type"] != "control" or not lines[0]["is_sound"]:
        raise Wrong(f"{way} {api}: the run without a fault: {done.stdout}{done.stderr}")
    for line in lines:
        if line["type"] == "trial":
            print(f"  {line['fault']}: {line['outcome']} {line['how'] or ''} {line['error'] or ''}")
    return {line["fault"]: line for line in lines if line["type"] == "trial"}, done.returncode, journals


def expect(fine, words):
    if not fine:
        raise Wrong(words)


def told_apart(retake, upstream, api, folder):
    print(f"openai-agents over {api}, as it is:")
    default, code, journals = campaign(retake, upstream, "default", api, folder)
    expect(code == 1, f"the exit code is {code}")
    for fault in UNKNOWN:
        line = default[fault]
        expect(line["outcome"] == "killed", f"{fault}: {line}")
        expect("ModelBehaviorError" in (line["error"] or ""), f"{fault}: {line}")
        checked = subprocess.run([retake, "check", journals / line["journal"], "--format", "json"], capture_output=True, text=True, timeout=PATIENCE)
        expect('"rule":"unknown-tool"' in checked.stdout, f"the journal of {fault}: {checked.stdout}{checked.stderr}")
    print(f"openai-agents over {api}, with tool_not_found_behavior:")
    answering, code, _ = campaign(retake, upstream, "answering", api, folder)
    for fault in UNKNOWN:
        line = answering[fault]
        expect(line["outcome"] == "survived" and line["how"] == "answered", f"{fault}: {line}")
    different = sorted(fault for fault in default if default[fault]["outcome"] != answering[fault]["outcome"])
    expect(different == sorted(UNKNOWN), f"they differ in {different}")


def main(retake):
    retake = str(Path(retake).resolve())
    with tempfile.TemporaryDirectory() as folder, scripted(retake, HERE / "model.script.toml") as upstream:
        for api in SPECS:
            told_apart(retake, upstream, api, Path(folder))
    print("the reports tell them apart")


main(*sys.argv[1:])
