"""A second opinion about `check`: valid histories are damaged at random, and the oracles and `check` have to agree.

    python differ.py RETAKE [--count N] [--seed N]

A history that an oracle refuses and `check` finds no fault in, or the other way round, is printed and kept in a folder,
whose name comes last. Exit code 1: there was one. Where a provider's answer is not known, nothing is compared.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from histories import Author, undecided
from oracles import ANTHROPIC, CHAT, ORACLES, REFUSED, RESPONSES
from produced import ANY_RULE, RULES
from program import Program


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
