"""The rows about `check` and `fix`: speed, findings, and that time grows with size (3, 4, 9, 10)."""
import os
import shlex

from . import commands
from .commands import FINDINGS_EXIT, seconds
from .table import WRONG, Limit, Result

LINEAR = Limit(12, 12)  # ten times the bytes may take this many times as long


def check_time(bench, path, tools):
    return seconds([*bench.retake, "check", str(path), "--tools", str(tools)], exits=(FINDINGS_EXIT,))


def exactness(bench, row, work, path, tools, recordings):
    """The line that says whether the findings are exactly the planted ones."""
    differs = commands.difference(bench.retake, path, tools, recordings)
    planted = sum(len(made.planted()) for made in recordings)
    return Result(row, f"{work}, findings", f"{planted} planted defects",
                  said=f"{WRONG}: {differs}" if differs else "exact")


def one_file(bench, row, form, limit):
    made, tenth = (bench.files.recording(form, size) for size in (bench.big, bench.tenth))
    shape = "JSONL" if form == "claude-jsonl" else f"one-line {form}"
    work = f"`check` {bench.big} {shape}"
    yield bench.compare(row, work, "`wc -l`", limit, lambda: check_time(bench, made.path, made.tools),
                        lambda: seconds(["wc", "-l", str(made.path)]))
    if bench.calibrate:
        return
    yield bench.compare(row, f"{work}, for its growth", f"the same, {bench.tenth}", LINEAR,
                        lambda: check_time(bench, made.path, made.tools),
                        lambda: check_time(bench, tenth.path, tenth.tools))
    yield exactness(bench, row, work, made.path, made.tools, [made])


def lines(bench):
    yield from one_file(bench, 3, "claude-jsonl", Limit(3, 2))


def arrays(bench):
    for form in ("responses", "chat"):
        yield from one_file(bench, 4, form, Limit(4, 2.5))


def folder(bench):
    path, recordings = bench.files.session_folder()
    tools = recordings[0].tools  # all were made with the same catalogue
    work = f"`check` {len(recordings)} sessions, {sum(made.bytes() for made in recordings) / 1e6:.0f} MB"
    # On two cores the pipe takes up to three times as long, by chance, and the ratio would flatter.
    core = str(min(os.sched_getaffinity(0)))
    together = ["taskset", "-c", core, "sh", "-c", f"cat {shlex.quote(str(path))}/* | wc -l"]
    yield bench.compare(10, work, "`cat * | wc -l`, one core", Limit(4, 2), lambda: check_time(bench, path, tools),
                        lambda: seconds(together))
    if not bench.calibrate:
        yield exactness(bench, 10, work, path, tools, recordings)


LINES = ("pi", "gemini-cli", "codex", "copilot-cli", "openhands")
REPEATED = ("otel", "vcr", "har")  # each request repeats its history
DATABASES = ("opencode-sqlite", "hermes-sqlite")
DATABASE_RATE = 200  # MB a second


def formats(bench):
    """Each format beside a log of Claude Code of the same size."""
    peer = bench.files.recording("claude-jsonl", bench.some)
    for form in LINES + REPEATED + DATABASES:
        made = bench.files.recording(form, bench.some)
        limit = Limit(1.5, 1.3)
        if form in DATABASES:
            milliseconds = made.bytes() / DATABASE_RATE / 1e3
            limit = Limit(milliseconds, milliseconds / 2, "ms")
        work = f"`check` {bench.some} {form}"
        yield bench.compare(16, work, "the same, claude-code", limit,
                            lambda made=made: check_time(bench, made.path, made.tools),
                            lambda: check_time(bench, peer.path, peer.tools))
        if not bench.calibrate:
            yield exactness(bench, 16, work, made.path, made.tools, [made])


MENDED = ("bad_json", "orphan_call", "orphan_output")  # the planted defects that may have a safe offer


def left_after(bench, made, fixed):
    """How many planted defects still have a safe offer after `fix`. JSON whose repair is not clear is left to the operator."""
    mended = {commands.RULES[kind] for kind in MENDED}
    found = commands.findings(bench.retake, fixed, made.tools, exits=(0, FINDINGS_EXIT),
                              counts=commands.is_mendable)
    call_ids = {defect["call_id"] for defect in made.planted() if defect["kind"] in MENDED}
    return sum(rule in mended and call_id in call_ids for _, rule, call_id in found)


def fixing(bench):
    for form in ("claude-jsonl", "responses", "chat"):
        made = bench.files.recording(form, bench.big)
        fixed = made.path.with_name(f"fixed-{made.path.name}")
        shape = "JSONL" if form == "claude-jsonl" else f"one-line {form}"

        def fresh(argv, exits=(0,), target=fixed):
            target.unlink(missing_ok=True)
            return seconds([*argv, str(target)], exits=exits)

        fix = [*bench.retake, "fix", str(made.path), "--tools", str(made.tools), "-o"]
        work = f"`fix -o` {bench.big} {shape}"
        try:
            yield bench.compare(9, work, "`cp`", Limit(2, 1.3), lambda: fresh(fix, (0, FINDINGS_EXIT)),
                                lambda: fresh(["cp", str(made.path)]))
            if not bench.calibrate:
                fresh(fix, (0, FINDINGS_EXIT))
                left = left_after(bench, made, fixed)
                mended = sum(defect["kind"] in MENDED for defect in made.planted())
                yield Result(9, f"{work}, result", f"{mended} planted defects that may have a safe offer",
                             said=f"{WRONG}: {left} left" if left else "all mended")
        finally:
            fixed.unlink(missing_ok=True)
