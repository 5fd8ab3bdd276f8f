"""The rows about the screen: first paint, End, memory, keys, find, follow, start (1, 2, 5, 6, 7, 8, 15)."""
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from contextlib import ExitStack
from itertools import chain, cycle, islice
from pathlib import Path

from .commands import seconds
from .table import Limit, Quantity, Result, median
from .terminal import Failure, Terminal

FIRST, LAST = "FIRST-PROMPT", "LAST-MESSAGE"  # texts that the generator puts first and last
SEARCHED = LAST[1:]  # typed into the prompt; the whole word can then only be the hit
LESS = ["less", "-n", "-S"]  # -S: less is far slower when it has to wrap a 5 MB line

PAGE_DOWN = b"\x1b[6~"
KEYS = [b"j", b"j", b"J", PAGE_DOWN, b"j", b"J", b"G", b"k", b"k", b"g"]  # each of them moves
FAR = {b"G": LAST, b"g": FIRST}
MINIMAL_FAR = {b"G": "   999  ", b"g": "     0  "}  # the numbers of its rows
KEYS_PER_PAIR = 40  # 5 pairs make the 200 keys
APPENDS = 3  # lines appended in each opened file


def painted(terminal, marker):
    with terminal:
        return terminal.wait_for(marker) - terminal.started


def ready(terminal, marker):
    """The terminal once it shows the text; closed when it never does."""
    try:
        terminal.wait_for(marker)
    except Failure:
        terminal.close()
        raise
    return terminal


def first_paint(bench):
    limit = Limit(5, 2.5)
    for form in ("claude-jsonl", "responses", "chat"):
        for size in bench.sizes():
            if size == "2.5G" and form != "claude-jsonl":
                continue
            # less reads a one-line file to its end before it paints, so lines are its best case.
            lines = bench.files.recording("claude-jsonl", size).path
            opened = bench.files.recording(form, size).path
            shape = "JSONL" if form == "claude-jsonl" else f"one-line {form}"
            yield bench.compare(
                1, f"first full paint, {size} {shape}", "`less -S`, JSONL", limit,
                lambda: painted(bench.open(opened), FIRST),
                lambda: painted(Terminal(["less", "-S", str(lines)]), lines.name))


def end_at_once(bench):
    path = bench.files.recording("claude-jsonl", bench.big).path

    def ours():
        with bench.open(path) as terminal:
            terminal.wait_for_raw_mode()
            terminal.send(b"G")
            return terminal.wait_for(LAST) - terminal.started

    yield bench.compare(2, f"End right after opening {bench.big}", "`less -n -S +G`", Limit(10, 4), ours,
                        lambda: painted(Terminal([*LESS, "+G", str(path)]), "(END)"))


def memory(bench):
    path = bench.files.recording("claude-jsonl", bench.big).path
    file = Quantity(path.stat().st_size, "bytes")

    def opened():
        if bench.calibrate:
            return ready(Terminal([*LESS, str(path)]), path.name)
        return ready(bench.open(path), FIRST)

    def ours():
        with opened() as terminal:
            terminal.wait_until_idle()
            terminal.press(b"G")
            terminal.press(b"g")
            terminal.wait_until_idle()
            return terminal.peak_memory()

    used = median([ours() for _ in range(bench.pairs)], "bytes")
    yield Result(5, f"peak memory, {bench.big} fully indexed", "file size", used, file, Limit(0.10, 0.05))


def minimal(bench):
    return ready(Terminal(bench.minimal), "minimal")


def press_keys(terminal, far):
    """Seconds for each key of one pair. `far` says what a jump must show: a "loading" is not an answer to it."""
    taken = [terminal.press_for(key, far[key]) if key in far else terminal.press(key)
             for key in islice(cycle(KEYS), KEYS_PER_PAIR)]
    silent = taken.count(None)
    if silent > KEYS_PER_PAIR // 10:
        raise Failure(f"{silent} of {KEYS_PER_PAIR} keys painted nothing in {' '.join(terminal.argv)}")
    return [one for one in taken if one is not None]


def key_rows(work, ours, theirs, cores):
    """The p50 and the slowest key of all pairs."""
    mine, other = list(chain(*ours)), list(chain(*theirs))
    yield Result(6, f"key to paint, {work}, p50 of {len(mine)}", "minimal ratatui", median(mine), median(other),
                 Limit(4, 2), others=cores)
    yield Result(6, f"key to paint, {work}, slowest", "minimal ratatui", Quantity(max(mine)), Quantity(max(other)),
                 Limit(16, 8, "ms"), others=cores)


def keys(bench):
    path = bench.files.recording("claude-jsonl", bench.big).path

    def theirs():
        return press_keys(beside, MINIMAL_FAR)

    def indexed():
        return press_keys(subject, FAR)

    def indexing():
        with ready(bench.open(path), FIRST) as terminal:
            return press_keys(terminal, FAR)

    with ExitStack() as stack:
        beside = stack.enter_context(minimal(bench))
        if not bench.calibrate:
            subject = stack.enter_context(ready(bench.open(path), FIRST))
            subject.wait_until_idle()
        yield from key_rows(f"{bench.big} indexed", *bench.pairs_of(indexed, theirs))
        yield from key_rows(f"{bench.big} right after opening", *bench.pairs_of(indexing, theirs))


def find(bench):
    path = bench.files.recording("claude-jsonl", bench.big).path
    counter = next((name for name in ("rg", "grep") if shutil.which(name)), None)
    if counter is None:
        raise Failure("neither rg nor grep is installed")

    def ours():
        with ready(bench.open(path), FIRST) as terminal:
            terminal.wait_until_idle()
            return terminal.press_for(b"/" + SEARCHED.encode() + b"\r", LAST)

    peer = f"`{counter} -c`" + (" (rg is not installed)" if counter == "grep" else "")
    yield bench.compare(7, f"find a text of the last event, {bench.big}", peer, Limit(3, 1.3), ours,
                        lambda: seconds([counter, "-c", SEARCHED, str(path)]))


class Growing:
    """A copy of a recording to which lines are appended; removed at the end."""

    def __init__(self, path):
        handle, self.path = tempfile.mkstemp(prefix="growing-", suffix=path.suffix, dir=path.parent)
        os.close(handle)
        subprocess.run(["cp", "--reflink=auto", str(path), self.path], check=True)
        with open(self.path, "rb") as file:
            file.seek(-65536, os.SEEK_END)
            self.event = json.loads(file.read().splitlines()[-1])
        self.appended = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        Path(self.path).unlink()

    def append(self):
        """Appends one user message; its text."""
        self.appended += 1
        text, parent = f"FOLLOWED-{self.appended}-TEXT", self.event["uuid"]
        # The text stands in the first columns of the line, where less -S shows it.
        head = {"type": "user", "message": {"role": "user", "content": text}, "parentUuid": parent,
                "uuid": f"{self.appended:08x}{parent[8:]}"}
        kept = ("isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "timestamp")
        self.event = {**head, **{key: self.event[key] for key in kept}}
        line = json.dumps(self.event, separators=(",", ":")).encode() + b"\n"
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        os.write(handle, line)
        os.close(handle)
        return text


def follow(bench):
    def paint(terminal, growing):
        """Median seconds from before an append to the frame that shows it."""
        taken = []
        for _ in range(APPENDS):
            terminal.settle(0.1)
            before = time.perf_counter()
            taken.append(terminal.wait_for(growing.append()) - before)
        return statistics.median(taken)

    def ours(growing):
        with ready(bench.open(growing.path), FIRST) as terminal:
            terminal.wait_until_idle()
            terminal.send(b"F")
            return paint(terminal, growing)

    def theirs(growing):
        with Terminal([*LESS, "+F", growing.path], quit_key=b"\x03q") as terminal:
            terminal.wait_for("Waiting for data")
            return paint(terminal, growing)

    for size in dict.fromkeys(("1M", bench.big)):
        with Growing(bench.files.recording("claude-jsonl", size).path) as growing:
            yield bench.compare(8, f"follow: appended line to paint, {size}", "`less -n -S +F`", Limit(50, 10, "ms"),
                                lambda: ours(growing), lambda: theirs(growing))


def start(bench):
    empty = bench.files.empty_folder()

    def ours():
        # The home folder is empty too, so the picker finds no session of any agent.
        with bench.open(folder=empty, HOME=str(empty)) as terminal:
            moment = terminal.wait_for("retake")
            if not terminal.screen.alternate:
                raise Failure("retake printed its name without opening the screen")
            return moment - terminal.started

    yield bench.compare(15, "start: empty screen painted", "minimal ratatui", Limit(4, 2), ours,
                        lambda: painted(Terminal(bench.minimal), "minimal"))
    yield bench.compare(15, "`--version`", "`true`", Limit(10, 3, "ms"),
                        lambda: seconds([*bench.retake, "--version"]), lambda: seconds(["true"]))
    ours, theirs = (Quantity(stripped(argv[0]), "bytes") for argv in (bench.retake, bench.minimal))
    yield Result(15, "stripped binary", "minimal ratatui", theirs if bench.calibrate else ours, theirs,
                 Limit(12, 8, "MB"))


def stripped(program):
    """Bytes of the program without its symbols."""
    found = shutil.which(program)
    if found is None:
        raise Failure(f"{program} is not built")
    with tempfile.TemporaryDirectory() as folder:
        bare = os.path.join(folder, "stripped")
        done = shutil.which("strip") and subprocess.run(
            ["strip", "-o", bare, found], check=False, stderr=subprocess.DEVNULL)
        return os.path.getsize(bare if done and done.returncode == 0 else found)
