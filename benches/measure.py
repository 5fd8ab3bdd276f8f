#!/usr/bin/env python3
"""Measures whole commands beside well-known programs and prints the ratios as a Markdown table.

    benches/measure.py --small --rows 1,2        a quick look at files of up to 100 MB
    benches/measure.py --full --write-readme     everything, into benches/README.md

See benches/README.md for what each row measures and how. Ratios judge nothing here: the exit
code is 1 only when a measurement failed or findings differ from the planted defects.
"""
import argparse
import gc
import os
import shlex
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # no __pycache__ beside the sources

from measure import checking, looking, proxying  # noqa: E402
from measure.bench import Bench  # noqa: E402
from measure.files import Files  # noqa: E402
from measure.table import FAILED, Result, markdown, write_into  # noqa: E402
from measure.terminal import Failure  # noqa: E402

PROJECT = Path(__file__).resolve().parent.parent
PROXY = "{retake} proxy --upstream http://{upstream} --journal {journal}"

# The rows of the table of speeds.
ROWS = {
    1: looking.first_paint,
    2: looking.end_at_once,
    3: checking.lines,
    4: checking.arrays,
    5: looking.memory,
    6: looking.keys,
    7: looking.find,
    8: looking.follow,
    9: checking.fixing,
    10: checking.folder,
    11: proxying.short,
    12: proxying.long,
    13: proxying.streams,
    14: proxying.kept,
    15: looking.start,
    16: checking.formats,
}


def row_numbers(text):
    rows = [int(number) for number in text.split(",")]
    unknown = sorted(set(rows) - set(ROWS))
    if unknown:
        raise argparse.ArgumentTypeError(f"no such rows: {unknown}; there are {sorted(ROWS)}")
    return rows


def command(text):
    """A program and its arguments; a path is made absolute, because programs are started in other folders."""
    program, *arguments = shlex.split(text)
    return [os.path.abspath(program) if os.sep in program else program, *arguments]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    release = PROJECT / "target/release"
    parser.add_argument("--rows", type=row_numbers, default=sorted(ROWS), help="as 1,3,15; default: all")
    parser.add_argument("--pairs", type=int, default=5, help="measured pairs of each line (default: 5)")
    parser.add_argument("--small", action="store_true", help="files of up to 100 MB instead of 1 GB")
    parser.add_argument("--full", action="store_true", help="also 2.5 GB in row 1")
    parser.add_argument("--retake", type=command, default=[str(release / "retake")], metavar="CMD")
    parser.add_argument("--minimal", type=command, default=[str(release / "examples/minimal_tui")], metavar="CMD")
    parser.add_argument("--load", type=command, default=[str(release / "examples/proxy_load")], metavar="CMD")
    parser.add_argument("--proxy", default=f"{PROXY} --headless --listen 127.0.0.1:0", metavar="CMD",
                        help="the proxy under test; its first line of output holds its address")
    parser.add_argument("--proxy-screen", default=f"{PROXY} --listen {{listen}}", metavar="CMD",
                        help="the same with its screen")
    parser.add_argument("--mitmdump", type=command, default=["mitmdump"], metavar="CMD",
                        help="measured beside the proxy where it is installed")
    parser.add_argument("--generator", type=Path, default=PROJECT.parent / "shared/bench/gen.py", metavar="PATH")
    parser.add_argument("--work", type=Path, default=PROJECT / "target/bench-files", metavar="FOLDER",
                        help="where made files are kept (default: target/bench-files)")
    parser.add_argument("--calibrate", action="store_true",
                        help="each peer against itself: shows the noise of this machine, needs no retake")
    parser.add_argument("--write-readme", action="store_true", help="put the table into benches/README.md")
    given = parser.parse_args()
    if given.pairs < 1:
        parser.error("--pairs must be at least 1")
    if given.calibrate and given.write_readme:
        parser.error("--calibrate measures no retake, so there is nothing for benches/README.md")
    return given


def measure(bench, rows):
    """The lines of all rows; a row that fails costs that row."""
    results = []
    for row in rows:
        try:
            for result in ROWS[row](bench):
                print("  ".join(result.cells()), file=sys.stderr)
                results.append(result)
        except Failure as failure:
            print(f"row {row}: {failure}", file=sys.stderr)
            reason = str(failure).partition("\n")[0]
            results.append(Result(row, ROWS[row].__name__.replace("_", " "), "–", said=f"{FAILED}: {reason}"))
    return results


def main():
    given = arguments()
    gc.disable()  # a collection between two pieces of output would look like a slow frame
    bench = Bench(Files(given.work, given.generator), given.retake, given.minimal, given.pairs,
                  load=given.load, proxy=given.proxy, proxy_screen=given.proxy_screen, mitmdump=given.mitmdump,
                  small=given.small, full=given.full, calibrate=given.calibrate)
    results = measure(bench, given.rows)
    notes = [f"retake asked the terminal: {', '.join(sorted(bench.questions))}"] if bench.questions else []
    table = markdown(results, given.pairs, notes, given.calibrate)
    print(table)
    if any(result.wrong() for result in results):
        if given.write_readme:
            print("benches/README.md was not changed: see what failed above", file=sys.stderr)
        return 1
    if given.write_readme:
        try:
            write_into(PROJECT / "benches" / "README.md", table)
        except (OSError, ValueError) as error:
            print(f"benches/README.md was not changed: {error}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
