"""Judges what retake writes: conversions of the bundled sessions, and what `fix` makes of every defective history.

    python produced.py RETAKE [CASES]

Every result is a request body. An oracle that refuses one is an error, unless retake's own `check` says of the same
body that something of this kind is wrong: then the defect was left, and is listed. But `fix` may not leave what a safe
action could mend, and may not break anything else. CASES holds request bodies with known verdicts (wire_cases.json).
A command that RETAKE does not have is skipped. Exit code 1: there was an error.
"""

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from histories import Author, undecided
from judge import verdicts
from oracles import ACCEPTED, ANTHROPIC, CANNOT_JUDGE, CHAT, ORACLES, REFUSED, RESPONSES
from program import Program

SESSIONS = Path(__file__).parent.parent.parent / "sessions"

# What `check` calls the kinds of things that a refusal can be about.
PAIRING = {"orphan-call", "pending-call", "orphan-output", "misplaced-output", "duplicate-output", "duplicate-call-id"}
RULES = {
    "pairing": PAIRING | {"missing-call-id", "split-pair"},
    "reasoning": {"orphan-reasoning"},
    "name": {"invalid-tool-name", "invalid-tool-definition"},
    "id": {"malformed-message", "duplicate-call-id", "missing-call-id"},
    "shape": {"malformed-message", "malformed-arguments", "missing-call-id", "orphan-call", "missing-signature"},
}
ANY_RULE = set().union(*RULES.values())


class Tally:
    """What was judged, what was left, what is wrong."""

    def __init__(self):
        self.words, self.bodies, self.left, self.wrong, self.unwritten = Counter(), 0, [], [], []

    def print(self, title):
        print(f"{title}: {self.bodies} request bodies")
        for oracle in ORACLES:
            said = [self.words[oracle.name, word] for word in (ACCEPTED, REFUSED, CANNOT_JUDGE)]
            print("  {:<16}{} accepted, {} refused, {} not judged".format(oracle.name, *said))
        for title, lines in (("left", self.left), ("not written", self.unwritten), ("WRONG", self.wrong)):
            for line in lines:
                print(f"  {title}: {line}")


class Judge:
    """Writes with the program under test, and asks every oracle about what was written."""

    def __init__(self, retake, folder):
        self.retake, self.folder, self.tally = retake, folder, Tally()

    def write(self, out, command, path, *options, must=False):
        """Whether a command wrote `out`. Not to write is listed, or wrong if it `must`; a crash is always wrong."""
        done = self.retake.run(command, path, *options, "-o", out)
        said = f"{' '.join((command, path.name, *options))}: exit code {done.returncode}: {done.stderr.strip()[:300]}"
        if done.returncode not in (0, 1, 2, 3) or (must and not out.exists()):
            self.tally.wrong.append(said)
        elif not out.exists():
            self.tally.unwritten.append(said)
        return out.exists()

    def body(self, name, dialect, request, origin, fixed=None):
        """Judges one request. In the file that `fix` wrote nothing may be left that a safe action could mend."""
        path = self.folder / f"{name}.{dialect}.json"
        path.write_text(json.dumps(request), encoding="utf-8")
        found = findings(self.retake, path, "--target", dialect)
        mendable = {each["rule"] for each in findings(self.retake, fixed) if has_safe_offer(each)} if fixed else set()
        self.tally.bodies += 1
        for oracle, verdict in verdicts(path):
            self.tally.words[oracle.name, verdict.word] += 1
            if verdict.word != REFUSED:
                continue
            known = {each["rule"] for each in found} & RULES.get(verdict.about, ANY_RULE)
            rules = ", ".join(sorted(known or {each["rule"] for each in found})) or "nothing"
            line = f"{origin}: {oracle.name}: {verdict.reason} [check: {rules}]"
            (self.tally.left if known and not known & mendable else self.tally.wrong).append(line)

    def nothing_new(self, path, fixed, origin):
        """`fix` may not make a defect of a kind that the recording did not have."""
        before, after = (error_rules(self.retake, each) for each in (path, fixed))
        if after - before:
            self.tally.wrong.append(f"{origin}: there was no {', '.join(sorted(after - before))} before")


def error_rules(retake, path):
    return {each["rule"] for each in findings(retake, path) if each["severity"] == "error"}


def findings(retake, path, *options):
    return [each for each in retake.check(path, *options) if each["type"] == "finding"]


def has_safe_offer(finding):
    """Whether `fix` should mend it: what merely waits has nothing to mend."""
    return finding["severity"] != "info" and any(offer["safety"] == "safe" for offer in finding["offers"])


class Recording(NamedTuple):
    """One recording, the dialect and the number of its sessions, and whether a safe action could mend something."""

    path: Path
    dialect: str
    sessions: int
    mendable: bool


def bundled(retake):
    for name in json.loads((SESSIONS / "truth.json").read_text(encoding="utf-8")):
        reported = retake.check(SESSIONS / name)
        sessions = [each for each in reported if each["type"] == "session"]
        mendable = any(each["type"] == "finding" and has_safe_offer(each) for each in reported)
        yield Recording(SESSIONS / name, sessions[0]["target"], len(sessions), mendable)


def as_request(path, dialect):
    """A file in its own format as a request body, where that is plain to see; else None."""
    if path.suffix != ".json":
        return None
    document = json.loads(path.read_text(encoding="utf-8"))
    key = "input" if dialect == RESPONSES else "messages"
    if isinstance(document, list) and all("role" in item or "type" in item for item in document):
        return {"model": "m", key: document}
    return document if isinstance(document, dict) and key in document else None


def converted(judge):
    for recording in bundled(judge.retake):
        for dialect in (RESPONSES, CHAT, ANTHROPIC):
            judge_conversions(judge, recording.path, recording.sessions, dialect)


def judge_conversions(judge, path, sessions, dialect, fixed=None):
    """Every session of a file as a request of one dialect."""
    for number in range(1, sessions + 1):
        if request := conversion(judge, path, number, dialect):
            judge.body(f"{path.stem}-{number}", dialect, request, f"{path.name}, {number}, as {dialect}", fixed)


def conversion(judge, path, session, dialect):
    """One session of a file as a request of one dialect, or None."""
    out = judge.folder / f"{path.stem}-{session}-as-{dialect}.json"
    written = judge.write(out, "convert", path, "--session", str(session), "--to", dialect, "--request")
    return json.loads(out.read_text(encoding="utf-8")) if written else None


def fixed_sessions(judge):
    for recording in bundled(judge.retake):
        path, dialect = recording.path, recording.dialect
        out = judge.folder / f"fixed-{path.name}"
        if not recording.mendable:
            continue
        if not judge.write(out, "fix", path):  # logs of exchanges and streams have no items to change
            fix_conversions(judge, recording)
            continue
        judge.nothing_new(path, out, out.name)
        if request := as_request(out, dialect):
            judge.body(out.stem, dialect, request, out.name, out)
        else:
            judge_conversions(judge, out, recording.sessions, dialect, out)


def fix_conversions(judge, recording):
    for number in range(1, recording.sessions + 1):
        request = conversion(judge, recording.path, number, recording.dialect)
        if request:
            path = judge.folder / f"{recording.path.stem}-{number}.json"
            path.write_text(json.dumps(request), encoding="utf-8")
            judge_fixed(judge, path, recording.dialect, f"{recording.path.name}, {number}, converted and fixed")


def judge_fixed(judge, path, dialect, origin):
    """A request that `check` finds something in, as `fix` leaves it."""
    out = path.with_name(f"fixed-{path.name}")
    mendable = any(has_safe_offer(each) for each in findings(judge.retake, path))
    if judge.write(out, "fix", path, must=mendable):
        judge.nothing_new(path, out, origin)
        judge.body(out.stem, dialect, json.loads(out.read_text(encoding="utf-8")), origin, out)


def random_histories(judge, count, damaged):
    """Histories, one in `damaged` of them damaged, a third in each dialect: [(path, dialect)]."""
    author = Author(seed=count)
    for number in range(count):
        dialect = (RESPONSES, CHAT, ANTHROPIC)[number % 3]
        request = author.request(dialect)
        if number % damaged == 0:
            author.damage(request)
        path = judge.folder / f"random-{number}-{dialect}.json"
        path.write_text(json.dumps(request), encoding="utf-8")
        if not undecided(dialect, request):
            yield path, dialect


def converted_histories(judge):
    for path, _ in random_histories(judge, 40, damaged=2):
        for dialect in (RESPONSES, CHAT, ANTHROPIC):
            judge_conversions(judge, path, 1, dialect)


def fixed_histories(judge):
    for path, dialect in random_histories(judge, 90, damaged=1):
        if findings(judge.retake, path):
            judge_fixed(judge, path, dialect, f"{path.name}, fixed")


def fixed_cases(judge, cases):
    """Every case but those that a provider accepts and `check` finds nothing in."""
    for case in json.loads(Path(cases).read_text(encoding="utf-8"))["cases"]:
        path = judge.folder / f"{case['id']}.json"
        path.write_text(json.dumps(case["body"], indent=2), encoding="utf-8")
        if case["verdict"] != "ok" or findings(judge.retake, path):
            judge_fixed(judge, path, case["dialect"], f"{case['id']} ({case['rule']}), fixed")


def main():
    retake, cases = Program(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
    parts = [
        ("convert", "sessions, converted", converted),
        ("convert", "histories written at random, converted", converted_histories),
        ("fix", "sessions, fixed", fixed_sessions),
        ("fix", "histories written at random, fixed", fixed_histories),
    ]
    if cases:
        parts.append(("fix", "cases, fixed", lambda judge: fixed_cases(judge, cases)))
    wrong = 0
    for command, title, part in parts:
        if command not in retake.commands:
            print(f"skipped: {title}; this retake has no command {command}")
            continue
        with tempfile.TemporaryDirectory(prefix="retake-oracles.") as folder:
            judge = Judge(retake, Path(folder))
            part(judge)
        if not judge.tally.bodies:
            judge.tally.wrong.append("nothing was written, so nothing was judged")
        judge.tally.print(title)
        wrong += len(judge.tally.wrong)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
