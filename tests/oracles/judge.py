"""Independent judges over request bodies.

    python judge.py PATH...           one line for each file and oracle: accepted, refused with the reason, cannot judge
    python judge.py --measure CASES   how often each oracle is right about cases whose verdict is known

A file is one request body; its name says the dialect: `*.chat.json`, `*.responses.json`, `*.anthropic.json`. Exit
code 1 means that an oracle refused a file, or that an oracle is not what it was measured to be.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from oracles import ACCEPTED, ANTHROPIC, CANNOT_JUDGE, CHAT, ORACLES, REFUSED, RESPONSES

# How many of the refused cases each oracle catches. None may refuse a case that is accepted. A number
# that falls says that a new version of the oracle judges less than we rely on.
CATCHES = {
    ("reference", RESPONSES): 10,
    ("reference", CHAT): 17,
    ("reference", ANTHROPIC): 17,
    ("openai-agents", RESPONSES): 4,
    ("mistral_common", RESPONSES): 4,
    ("mistral_common", CHAT): 13,
    ("mistral_common", ANTHROPIC): 9,
    ("sdk-types", RESPONSES): 2,
    ("sdk-types", CHAT): 3,
    ("sdk-types", ANTHROPIC): 2,
}


def dialect_of(path):
    """The dialect in a file's name, or None."""
    suffixes = Path(path).suffixes
    return suffixes[-2][1:] if len(suffixes) > 1 and suffixes[-2][1:] in (RESPONSES, CHAT, ANTHROPIC) else None


def verdicts(path):
    """What each oracle says about one file: [(oracle, verdict)]."""
    request = json.loads(Path(path).read_text(encoding="utf-8"))
    return [(oracle, oracle.judge(dialect_of(path), request)) for oracle in ORACLES]


def bodies(paths):
    for path in map(Path, paths):
        yield from sorted(file for file in path.rglob("*.json") if dialect_of(file)) if path.is_dir() else [path]


def judge(paths):
    refused = 0
    for path in bodies(paths):
        for oracle, verdict in verdicts(path):
            reason = f" ({verdict.reason})" if verdict.reason else ""
            print(f"{path}: {oracle.name}: {verdict.word}{reason}")
            refused += verdict.word == REFUSED
    return 1 if refused else 0


def measure(path):
    cases = json.loads(Path(path).read_text(encoding="utf-8"))["cases"]
    decided = [case for case in cases if case["verdict"] in ("ok", "reject")]
    wrong = []
    print(row("oracle", "dialect", "refuses", "accepts", "misses", "false alarms", "cannot judge"))
    for oracle in ORACLES:
        for dialect in oracle.dialects:
            counts, false_alarms = score(oracle, [case for case in decided if case["dialect"] == dialect])
            print(row(oracle.name, dialect, *columns(counts)))
            wrong += [f"{oracle.name} refuses {name}, which is accepted: {reason}" for name, reason in false_alarms]
            caught, wanted = counts["reject", REFUSED], CATCHES[oracle.name, dialect]
            if caught != wanted:
                wrong.append(
                    f"{oracle.name} catches {caught} of the refused {dialect} cases; it was measured to catch {wanted}"
                )
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


def score(oracle, cases):
    """({(known verdict, said): number}, [(case, reason) of each false alarm])."""
    counts, false_alarms = Counter(), []
    for case in cases:
        said = oracle.judge(case["dialect"], case["body"])
        counts[case["verdict"], said.word] += 1
        if case["verdict"] == "ok" and said.word == REFUSED:
            false_alarms.append((case["id"], said.reason))
    return counts, false_alarms


def columns(counts):
    known = Counter()
    for (verdict, _), number in counts.items():
        known[verdict] += number
    return (
        f"{counts['reject', REFUSED]} of {known['reject']}",
        f"{counts['ok', ACCEPTED]} of {known['ok']}",
        counts["reject", ACCEPTED],
        counts["ok", REFUSED],
        counts["ok", CANNOT_JUDGE] + counts["reject", CANNOT_JUDGE],
    )


def row(oracle, dialect, *cells):
    return f"{oracle:<16}{dialect:<11}" + "".join(f"{cell:>14}" for cell in cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="*", metavar="PATH", help="request bodies, or folders of them")
    parser.add_argument("--measure", metavar="CASES", help="judge the judges by cases with a known verdict")
    options = parser.parse_args()
    sys.exit(measure(options.measure) if options.measure else judge(options.path))


if __name__ == "__main__":
    main()
