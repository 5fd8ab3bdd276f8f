"""The programs under test: a scripted model, and a proxy before it."""

import json
import os
import signal
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PATIENCE = 60  # seconds until a program that does not end is given up


class Wrong(Exception):
    """A story went another way."""


@contextmanager
def scripted(retake, script):
    """A script as a provider; gives its address."""
    command = [retake, "scripted", script]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


class Proxy:
    """`retake proxy --headless` before an upstream, from entering the context to leaving it; then it is interrupted, and what it said is
    there."""

    def __init__(self, retake, folder, upstream, *options):
        folder = Path(folder)
        journal = folder / f"proxy-{len(list(folder.iterdir()))}.jsonl"
        command = [retake, "proxy", "--headless", "--listen", "127.0.0.1:0", "--upstream", upstream, "--journal", journal]
        self.process = subprocess.Popen(
            [*command, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"XDG_STATE_HOME": str(folder / "state")},
        )
        self.lines, self.err = [], b""
        first = self.process.stdout.readline()
        if not first:
            raise Wrong(f"the proxy did not begin: {self.process.stderr.read().decode()}")
        self._take(first)
        self.address = self.lines[0]["address"]
        # A pipe that nobody reads would stop it.
        self.readers = [threading.Thread(target=read, daemon=True) for read in (self._read_lines, self._read_errors)]
        for reader in self.readers:
            reader.start()

    def _take(self, line):
        self.lines.append(json.loads(line))

    def _read_lines(self):
        for line in self.process.stdout:
            self._take(line)

    def _read_errors(self):
        self.err = self.process.stderr.read()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.process.send_signal(signal.SIGINT)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Wrong("the proxy did not end when it was interrupted") from error
        for reader in self.readers:
            reader.join(PATIENCE)
        if kind is None:
            if code != 130:
                raise Wrong(f"the proxy ended with {code}: {self.err.decode()}")
            if self.lines[-1]["type"] != "end":
                raise Wrong(f"the last line of the proxy is no end: {self.lines[-1]}")

    def all(self, kind):
        return [line for line in self.lines if line["type"] == kind]
