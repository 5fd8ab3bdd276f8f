"""The rows about the proxy: what it adds to an exchange, beside the barest proxy there can be (11 to 14)."""
import json
import os
import re
import shlex
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .others import Others, process_seconds
from .table import Limit, Quantity, Result, median
from .terminal import PATIENCE, Failure, Terminal, environment

PEER = "bare hyper"
ADDRESS = re.compile(r"127\.0\.0\.1:\d+")
AT_ONCE = 32
REQUESTS = 2_000  # of each round and target
STREAMS = 8  # of each round and target; 1,600 deltas
LONG = 205_000
EXCHANGES, LONG_EVERY = 10_000, 10
REDRAW = 0.02  # seconds between keys that make the screen draw again
UNJUDGED = "–"


class Server:
    """A server of its own process, with the address of its first line or a given one."""

    def __init__(self, argv, folder, address=None):
        program = shutil.which(argv[0])
        if program is None:
            raise Failure(f"{argv[0]} is not installed or not built")
        self.argv = argv
        # Into files: a pipe would have to be emptied by this process while it measures.
        self._said, self._complained = (tempfile.TemporaryFile(dir=folder) for _ in range(2))
        self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=self._said, stderr=self._complained,
                                         cwd=folder, env=environment(HOME=str(folder)))
        self.pid = self._process.pid
        try:
            self.address = self._first_line() if address is None else awaited(address, self._lives)
        except Failure:
            self.stop()
            raise

    def _lives(self):
        if self._process.poll() is not None:
            self._complained.seek(0)
            said = self._complained.read()[-300:].decode(errors="replace").strip()
            raise Failure(f"{shlex.join(self.argv)[:200]} has ended: {said}")

    def _first_line(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            first, newline, _ = os.pread(self._said.fileno(), 4096, 0).decode(errors="replace").partition("\n")
            if newline and (found := ADDRESS.search(first)):
                return found[0]
            self._lives()
            time.sleep(0.005)
        raise Failure(f"{shlex.join(self.argv)[:200]} never told its address in its first line")

    def memory(self):
        """Resident bytes once it has nothing to do."""
        used = -1.0
        while (now_used := process_seconds(self.pid)) > used:
            used = now_used
            time.sleep(0.4)
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s*(\d+) kB", status)[1]) * 1024

    def stop(self):
        for how in (signal.SIGTERM, signal.SIGKILL):
            self._process.send_signal(how)
            try:
                self._process.wait(5)
                break
            except subprocess.TimeoutExpired:
                pass
        self._said.close()
        self._complained.close()


def free_address():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


def awaited(address, lives=lambda: None):
    """The address, once something listens there."""
    host, port = address.split(":")
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            return address
        except OSError:
            lives()
            time.sleep(0.02)
    raise Failure(f"nothing listens on {address}")


class Redrawn(Terminal):
    """A screen that is drawn again all the time: keys move a cursor, and everything painted is taken off."""

    def __enter__(self):
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._redraw)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self.close()

    def _redraw(self):
        while not (self._stop.is_set() or self.closed):
            self.send(b"jk")
            until = time.monotonic() + REDRAW
            while (left := until - time.monotonic()) > 0 and not self.closed:
                self._read(left)


class Stand:
    """The upstream, the bare proxy and the proxy under test, each a process, and the load on them."""

    def __init__(self, bench, stack, work):
        self.bench, self._stack, self._work = bench, stack, Path(work)
        self.servers = {}
        self._upstream = self._start([*bench.load, "upstream"])
        self.targets = {"direct": self._upstream.address}

    def _start(self, argv, address=None):
        server = Server(argv, self._work, address)
        self._stack.callback(server.stop)
        return server

    def _add(self, name, server):
        self.servers[name], self.targets[name] = server, server.address

    def _filled(self, template, **places):
        """A command line; whatever stands for something is put in word by word."""
        places = {**places, "upstream": self._upstream.address,
                  "journal": str(self._work / f"journal-{len(os.listdir(self._work))}.jsonl")}
        argv = []
        for word in shlex.split(template):
            argv += self.bench.retake if word == "{retake}" else [word.format(**places)]
        return argv

    def add_pass(self, name="pass"):
        self._add(name, self._start([*self.bench.load, "pass", self._upstream.address]))

    def add_proxy(self):
        if self.bench.calibrate:
            return self.add_pass("retake")
        return self._add("retake", self._start(self._filled(self.bench.proxy)))

    def add_screen(self):
        if self.bench.calibrate:
            return self.add_pass("retake")
        address = free_address()
        terminal = Redrawn(self._filled(self.bench.proxy_screen, listen=address), quit_key=b"Q", folder=self._work)
        self._stack.enter_context(terminal)
        self.targets["retake"] = awaited(address)
        return None

    def add_mitmdump(self):
        """Whether there is one to compare with."""
        if self.bench.calibrate or not shutil.which(self.bench.mitmdump[0]):
            return False
        address = free_address()
        port = address.partition(":")[2]
        argv = [*self.bench.mitmdump, "-q", "--mode", f"reverse:http://{self._upstream.address}",
                "--listen-host", "127.0.0.1", "-p", port, "--set", "stream_large_bodies=1"]
        self._add("mitmdump", self._start(argv, address))
        return True

    def load(self, *options, only=None):
        """One run of the client: what each target took, in nanoseconds."""
        targets = [f"{name}={address}" for name, address in self.targets.items() if only in (None, name)]
        argv = [*self.bench.load, "load", *targets, *map(str, options)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failure(f"the load failed: {done.stderr.strip()[-300:]}")
        return json.loads(done.stdout)

    def rounds(self, *options):
        """Several runs, as one thing to ask for medians."""
        before = {name: process_seconds(server.pid) for name, server in self.servers.items()}
        others = Others()
        runs = [self.load(*options) for _ in range(self.bench.pairs)]
        used = {name: process_seconds(server.pid) - before[name] for name, server in self.servers.items()}
        return Rounds(runs, used, others.cores())


class Rounds:
    """What several runs of one load told."""

    def __init__(self, runs, used, others):
        self.runs, self.used, self.others = runs, used, others

    def added(self, name, what, part):
        """What a target adds to asking without a proxy: the median over the runs."""
        return median([(run[name][what][part] - run["direct"][what][part]) / 1e9 for run in self.runs])

    def per_second(self, name):
        return Quantity(statistics.median(run[name]["per_second"] for run in self.runs), "rate")

    def processor(self, name):
        """Processor time of one exchange."""
        return Quantity(self.used[name] / sum(run[name]["requests"] for run in self.runs))

    def line(self, row, work, what, part, limit=None, ours="retake", theirs="pass", peer=PEER):
        mine, other = self.added(ours, what, part), self.added(theirs, what, part)
        if other.value <= 0 or mine.value <= 0:
            lost = PEER if other.value <= 0 else "retake"
            return Result(row, work, peer, said=f"lost in noise: {lost} added nothing", others=self.others)
        return Result(row, work, peer, mine, other, limit, None if limit else UNJUDGED, self.others)

    def value(self, row, work, of):
        return Result(row, work, PEER, of("retake"), of("pass"), said=UNJUDGED, others=self.others)


@contextmanager
def stand(bench):
    with tempfile.TemporaryDirectory(prefix="proxy-", dir=bench.files.folder) as work, ExitStack() as stack:
        yield Stand(bench, stack, work)


def exchanges(bench, row, size, limit, *options):
    """The lines of whole exchanges of a size."""
    with stand(bench) as servers:
        servers.add_pass()
        servers.add_proxy()
        for at_once in (1, AT_ONCE):
            where = "one at a time" if at_once == 1 else f"{at_once} at a time"
            for answer, kind in (("text", size), ("call", f"{size}, reply with a call")):
                rounds = servers.rounds("--answer", answer, "--concurrency", at_once, "--requests", REQUESTS, *options)
                work = f"proxy, {kind}, {where}"
                yield rounds.line(row, f"{work}, added p50", "whole", "p50", limit)
                yield rounds.line(row, f"{work}, added p99", "whole", "p99")
                if at_once > 1:
                    yield rounds.value(row, f"{work}, exchanges a second", rounds.per_second)
                    yield rounds.value(row, f"{work}, processor time", rounds.processor)
        if servers.add_mitmdump():
            rounds = servers.rounds("--requests", REQUESTS // 10, *options)
            yield rounds.line(row, f"proxy, {size}, one at a time, added p50", "whole", "p50",
                              theirs="mitmdump", peer="`mitmdump`")


def short(bench):
    yield from exchanges(bench, 11, "1 KB exchange", Limit(2, 1.3))


def long(bench):
    yield from exchanges(bench, 12, "205 KB request", Limit(3, 1.5), "--bytes", LONG)


def streams(bench):
    for dialect, has_screen in (("chat", False), ("responses", False), ("responses", True)):
        with stand(bench) as servers:
            servers.add_pass()
            if has_screen:
                servers.add_screen()
            else:
                servers.add_proxy()
            has_mitmdump = dialect == "chat" and servers.add_mitmdump()
            rounds = servers.rounds("--answer", "stream", "--dialect", dialect, "--requests", STREAMS, "--batch", 1)
            work = f"proxy, stream of 200 deltas, {dialect}{', screen redrawn' * has_screen}"
            # A p99 of the first byte would be the slowest of a few streams.
            for what, word, part in (("first", "first byte", "p50"), ("chunk", "delta", "p50"), ("chunk", "delta", "p99")):
                yield rounds.line(13, f"{work}, {word} later, {part}", what, part, Limit(2, 1.3))
            if has_mitmdump:
                yield rounds.line(13, f"{work}, delta later, p50", "chunk", "p50",
                                  theirs="mitmdump", peer="`mitmdump`, streaming")


def kept(bench):
    """Resident memory behind 10,000 exchanges, of which each tenth is long."""
    options = ("--answer", "text,call", "--long-every", LONG_EVERY, "--long-bytes", LONG, "--concurrency", 8)
    work = f"proxy, memory behind {EXCHANGES:,} exchanges, {EXCHANGES // LONG_EVERY:,} of 205 KB"
    used, others = {}, Others()
    for number in range(bench.pairs):
        with stand(bench) as servers:
            servers.add_pass()
            servers.add_proxy()
            if number == 0:  # one of mitmdump takes longer than all the others
                servers.add_mitmdump()
            for name, server in servers.servers.items():
                servers.load("--requests", EXCHANGES, *options, only=name)
                used.setdefault(name, []).append(server.memory())
    values = {name: median(bytes_used, "bytes") for name, bytes_used in used.items()}
    yield Result(14, work, PEER, values["retake"], values["pass"], Limit(90, 45, "MB"), others=others.cores())
    if "mitmdump" in values:
        yield Result(14, work, "`mitmdump`", values["retake"], values["mitmdump"], said=UNJUDGED)
