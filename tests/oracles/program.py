"""The program under test, run from outside."""

import json
import subprocess
from pathlib import Path


class Program:
    """retake: its commands, as its help lists them, and what they say."""

    def __init__(self, path):
        self.path = Path(path).absolute()
        listed = self.run("--help").stdout.partition("Commands:\n")[2].partition("\n\n")[0]
        self.commands = {line.split()[0] for line in listed.splitlines()}

    def run(self, *arguments):
        return subprocess.run(
            [self.path, *arguments], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )

    def check(self, path, *options):
        """What `check` reports, as its JSON objects."""
        return [json.loads(line) for line in self.run("check", path, "--format", "json", *options).stdout.splitlines()]
