"""Judges what live runs leave: the journals of the bundled agents, as requests in every dialect.

    python live.py RETAKE

Each agent runs without a screen: under policies that bring it to its end, without one (it ends for want of somebody to decide) and then
mended by `fix`, interrupted while a tool runs, and killed there. What each run left is converted, and judged as `produced.py` judges it. Exit
code 1: there was an error, or a run ended in another way than it has to.
"""

import sys
import tempfile
from pathlib import Path

from oracles import ANTHROPIC, CHAT, RESPONSES
from produced import SESSIONS, Judge, judge_conversions
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
# How the bundled agents have to end, by policy; without one nobody decides.
ENDS = {
    "flights": {"tell": "final", "mend": "final", None: "unattended"},
    "parallel": {"tell": "final", "mend": "final", None: "unattended"},
    "broken-json": {"tell": "final", "mend": "final", None: "unattended"},
    "final": {"tell": "final", "mend": "fallback"},
}


def judged(judge, run, fixed=None):
    """Judges the journal of a run in every dialect."""
    for dialect in DIALECTS:
        judge_conversions(judge, fixed or run.journal, 1, dialect)


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
        for name, text in POLICIES.items():
            policy = live.folder / f"{name}.policy"
            policy.write_text(text, encoding="utf-8")
            run = live.run(agent, "--policy", policy)
            expect(judge, run, ENDS.get(agent.stem, {}).get(name))
            judged(judge, run)


def mended_later(judge, live):
    """Nobody decides; what is left is mended by `fix`."""
    for stem, ends in ENDS.items():
        if None not in ends:
            continue
        run = live.run(AGENTS / f"{stem}.toml")
        expect(judge, run, ends[None])
        judged(judge, run)
        fixed = live.folder / f"{run.journal.stem}-fixed.json"
        if judge.write(fixed, "fix", run.journal, must=True):
            judged(judge, run, fixed)


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
            if stop == "interrupt":
                expect(judge, run, "aborted")
                left = [each for each in judge.retake.check(run.journal) if each.get("rule") == "pending-call"]
                judge.tally.wrong += [f"{name}: {each['message']}" for each in left]
            judged(judge, run)


def main():
    retake, wrong = Program(sys.argv[1]), 0
    if "run" not in retake.commands:
        print("skipped: live runs; this retake has no command run")
        return
    parts = [
        ("live runs under policies", with_policies),
        ("live runs that nobody decided in, and fixed", mended_later),
        ("live runs interrupted and killed", stopped),
    ]
    for title, part in parts:
        with tempfile.TemporaryDirectory(prefix="retake-live.") as folder:
            judge = Judge(retake, Path(folder))
            part(judge, Headless(retake.path, folder))
        judge.tally.print(title)
        wrong += len(judge.tally.wrong)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
