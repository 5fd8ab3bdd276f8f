"""Runs of an agent without a screen: the files of an agent, the program, what it said."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

PATIENCE = 60  # seconds until a run that does not end is given up


class Headless:
    """Agents in a folder, run by the program under test."""

    def __init__(self, program, folder):
        self.program, self.folder = Path(program).absolute(), Path(folder)

    def agent(self, name, tools, rules, dialect="chat", policy=""):
        """Writes an agent whose model is a script; gives the path of its file."""
        script = self.folder / f"{name}.script.toml"
        script.write_text(f'name = "{name}"\n{rules}', encoding="utf-8")
        path = self.folder / f"{name}.toml"
        model = f'[model]\ndialect = "{dialect}"\nscript = "{script.name}"\n'
        head = f'name = "{name}"\ninput = "Please."\nmax_turns = 8\n'
        path.write_text("\n".join((head, model, tools, policy)), encoding="utf-8")
        return path

    def start(self, agent, *options):
        return Run(self, agent, options)

    def run(self, agent, *options):
        """A run to its end."""
        return self.start(agent, *options).end()


class Run:
    """One run; what it said is there when it has ended."""

    def __init__(self, headless, agent, options):
        self.agent = Path(agent)
        self.journal = headless.folder / f"{self.agent.stem}-{len(list(headless.folder.iterdir()))}.jsonl"
        command = [headless.program, "run", agent, "--headless", "--trust", "--journal", self.journal, *options]
        environment = os.environ | {"XDG_STATE_HOME": str(headless.folder / "state")}
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        self.code, self.out, self.err, self.lines = None, b"", b"", []

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def kill(self):
        self.process.kill()

    def end(self):
        try:
            self.out, self.err = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.out, self.err = self.process.communicate()
            raise AssertionError(f"{self.agent.name}: the run did not end: {self.out.decode()[-2000:]}") from None
        self.code = self.process.returncode
        self.lines = [json.loads(line) for line in self.out.splitlines()]
        if not self.lines:
            raise AssertionError(f"{self.agent.name}: the run did not begin: {self.err.decode()}")
        return self

    def all(self, kind):
        return [line for line in self.lines if line["type"] == kind]

    @property
    def how(self):
        return self.lines[-1].get("how")

    @property
    def output(self):
        return self.lines[-1].get("output")

    @property
    def notices(self):
        return [line["message"] for line in self.all("notice")]

    def outputs(self, tool):
        """What ended of a tool: [(output, whether it is an error, why)]."""
        finished = [line for line in self.all("finished") if line["tool"] == tool]
        return [(line["output"], line["is_error"], line.get("failure")) for line in finished]


def until(holds, what):
    """Waits until something holds; gives it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := holds():
            return value
        time.sleep(0.05)
    raise AssertionError(f"it did not come about: {what}")


def is_alive(process):
    """Whether a process is there and has not ended; its parent may not have asked for its end yet."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
