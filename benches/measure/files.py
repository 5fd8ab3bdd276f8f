"""The measured files: made once by the generator, kept, and read into the page cache before use."""
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .terminal import Failure

EXTENSIONS = {"claude-jsonl": "jsonl", "responses": "json", "chat": "json"}  # of the generator's own formats
MORE_FORMATS = Path(__file__).resolve().parent.parent / "more_formats.py"  # writes further ones
FOLDER_SESSIONS = 200
FOLDER_SESSION_BYTES = 960_000  # 200 of them make 197 MB


@dataclass(frozen=True)
class Recording:
    """One generated session with the tools it is judged by and the defects planted in it."""

    path: Path
    tools: Path
    truth: Path

    def bytes(self):
        return self.path.stat().st_size

    def planted(self):
        return json.loads(self.truth.read_text())["list"]


class Files:
    """Makes what is missing and keeps it in the work folder."""

    def __init__(self, folder, generator):
        self.folder, self.generator = Path(folder).resolve(), Path(generator)
        self.folder.mkdir(parents=True, exist_ok=True)

    def recording(self, form, size):
        """A session of about the size ("100M"), its bytes in the page cache."""
        path = self.folder / f"{form}-{size}.{EXTENSIONS.get(form, 'recording')}"
        made = Recording(path, Path(f"{path}.tools.json"), Path(f"{path}.truth.json"))
        if not made.truth.exists():  # the generator writes it last
            print(f"making {path.name} ...", file=sys.stderr)
            self._generate(form, size, 1, path)
        warm(path)
        return made

    def session_folder(self):
        """A folder of 200 sessions and nothing else, and the recordings in it."""
        folder, beside = self.folder / "sessions-200", self.folder / "sessions-200-truth"
        folder.mkdir(exist_ok=True)
        beside.mkdir(exist_ok=True)
        recordings = []
        for seed in range(1, FOLDER_SESSIONS + 1):
            path = folder / f"session-{seed:03}.jsonl"
            made = Recording(path, beside / f"{path.name}.tools.json", beside / f"{path.name}.truth.json")
            if not made.truth.exists():
                if seed == 1:
                    print(f"making {folder.name}/ ...", file=sys.stderr)
                self._generate("claude-jsonl", FOLDER_SESSION_BYTES, seed, path)
                os.replace(f"{path}.tools.json", made.tools)
                os.replace(f"{path}.truth.json", made.truth)
            warm(path)
            recordings.append(made)
        return folder, recordings

    def empty_folder(self):
        folder = self.folder / "empty"
        folder.mkdir(exist_ok=True)
        return folder

    def _generate(self, form, size, seed, path):
        if not self.generator.is_file():
            raise Failure(f"{path.name} must be made, but there is no generator at {self.generator}; "
                          "give its place with --generator, or a folder of made files with --work")
        script = [str(self.generator)] if form in EXTENSIONS else [str(MORE_FORMATS), str(self.generator)]
        command = [sys.executable, "-B", *script, "--format", form, "--bytes", str(size),
                   "--seed", str(seed), "--out", str(path)]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise Failure(f"the generator failed on {path.name}: {done.stderr.strip()[-300:]}")


def warm(path):
    """Reads the file once, so that no measured command waits for the disk."""
    block = bytearray(1 << 20)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(block):
            pass
