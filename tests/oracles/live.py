"""Judges what live runs leave: the journals of the bundled agents, as requests in every dialect.

    python live.py RETAKE

Each agent runs without a screen: under policies that bring it to its end, without one (it ends for want of somebody to decide),
interrupted while a tool runs, and killed there. What a run that ended left is converted, and each judge has to accept it; what is
left open where nobody decided, or where the run was killed, is converted, mended by `fix` and then has to be accepted. Exit code 1: it was
not, or a run ended in another way than it has to.
"""

import json
import sys
import tempfile
from pathlib import Path

from oracles import ANTHROPIC, CHAT, RESPONSES
from produced import SESSIONS, Judge, conversion, judge_conversions, judge_fixed
from program import Program

sys.path.insert(0, str(Path(__file__).parent.parent / "live_real"))

from headless import Headless, until

AGENTS = SESSIONS / "agents"
POLICIES = {
    "tell": """
[on.unknown-tool]
do = "inject"
wording = "nearest"
[on.malformed-arguments]
do = "inject"
wording = "reason"
[on.invalid-arguments]
do = "inject"
wording = "violations"
[on.invalid-final-output]
do = "retry"
wording = "violations"
""",
    "mend": """
[on.unknown-tool]
do = "suggest"
[on.malformed-arguments]
do = "repair"
[on.invalid-arguments]
do = "inject"
wording = "with-schema"
[on.invalid-final-output]
do = "fallback"
value = { flight = "unknown", price = 0, currency = "EUR" }
include_in_history = true
""",
    "drop": """
[on.unknown-tool]
do = "drop"
[on.malformed-arguments]
do = "drop"
""",
}
DIALECTS = (RESPONSES, CHAT, ANTHROPIC)

# Two calls in one reply; the second one of them takes its time.
SLOW = """
[[tools]]
name = "quick"
canned = "done"

[[tools]]
name = "slow"
command = ["sh", "-c", "echo up > MARK; sleep 600"]
approval = "never"
"""
SLOW_RULES = """
[[rule]]
turn = 1
text = "Both."
calls = [{ name = "quick", arguments = {} }, { name = "slow", arguments = {} }]

[[rule]]
text = "{{ last }}"
"""
# How the bundled agents have to end, by policy; "own" is the one in the agent's file. Without one nobody decides.
ENDS = {
    "flights": {"tell": "final", "mend": "final", None: "unattended"},
    "parallel": {"tell": "final", "mend": "final", None: "unattended"},
    "broken-json": {"tell": "final", "mend": "final", None: "unattended"},
    "final": {"tell": "final", "mend": "fallback", "own": "final"},
}


def judged(judge, run):
    """Judges the journal of a run that ended, in every dialect."""
    for dialect in DIALECTS:
        judge_conversions(judge, run.journal, 1, dialect)


def mended(judge, run):
    """Judges the journal of a run that left calls open, in every dialect, as `fix` closes them."""
    for dialect in DIALECTS:
        if request := conversion(judge, run.journal, 1, dialect):
            path = judge.folder / f"{run.journal.stem}-to-{dialect}.json"
            path.write_text(json.dumps(request), encoding="utf-8")
            judge_fixed(judge, path, dialect, f"{run.journal.name}, as {dialect}, fixed")


def expect(judge, run, how):
    if how and run.how != how:
        judge.tally.wrong.append(f"{run.agent.name}: it ended as {run.how} and not as {how}: {run.lines[-1]}")
    if run.err:
        judge.tally.wrong.append(f"{run.agent.name}: stderr: {run.err.decode()[:300]}")


def with_policies(judge, live):
    """Every bundled agent under every policy."""
    for agent in sorted(AGENTS.glob("*.toml")):
        if agent.name.endswith(".script.toml"):
            continue
        ends = ENDS.get(agent.stem, {})
        if "own" in ends:
            run = live.run(agent)
            expect(judge, run, ends["own"])
            judged(judge, run)
        for name, text in POLICIES.items():
            policy = live.folder / f"{name}.policy"
            policy.write_text(text, encoding="utf-8")
            run = live.run(agent, "--policy", policy)
            expect(judge, run, ends.get(name))
            judged(judge, run)


def undecided(judge, live):
    """Nobody decides."""
    for stem, ends in ENDS.items():
        if None in ends:
            run = live.run(AGENTS / f"{stem}.toml")
            expect(judge, run, ends[None])
            mended(judge, run)


def stopped(judge, live):
    """Interrupted, and killed, while one of two calls runs, in each dialect."""
    for dialect in DIALECTS:
        for stop in ("interrupt", "kill"):
            name = f"{stop}-{dialect}"
            mark = live.folder / f"{name}.mark"
            started = live.start(live.agent(name, SLOW.replace("MARK", str(mark)), SLOW_RULES, dialect))
            until(mark.exists, f"{name}: the tool runs")
            getattr(started, stop)()
            run = started.end()
            if stop == "kill":
                mended(judge, run)
            else:
                expect(judge, run, "aborted")
                judged(judge, run)


def main():
    retake, wrong = Program(sys.argv[1]), 0
    if "run" not in retake.commands:
        print("skipped: live runs; this retake has no command run")
        return
    parts = [
        ("live runs under policies", with_policies),
        ("live runs that nobody decided in, fixed", undecided),
        ("live runs interrupted, or killed and fixed", stopped),
    ]
    for title, part in parts:
        with tempfile.TemporaryDirectory(prefix="retake-live.") as folder:
            judge = Judge(retake, Path(folder))
            part(judge, Headless(retake.path, folder))
        judge.tally.wrong += judge.tally.left  # what `check` knows of has no place here either
        judge.tally.left = []
        judge.tally.print(title)
        wrong += len(judge.tally.wrong)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
