#!/usr/bin/env python3
"""Installs each package of target/packages as a new user does, in a place with nothing else in it, and uses the program there.

    packaging/try.py [--shipped]    `--shipped` refuses a program that needs a newer glibc than 2.28
"""

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "target" / "packages"
SESSIONS = ROOT / "sessions"
PARTS = ["doc/retake/THIRD-PARTY-LICENCES.txt", "man/man1/retake.1", "bash-completion/completions/retake", "zsh/site-functions/_retake", "fish/vendor_completions.d/retake.fish"]
GLIBC = 28


def run(*command, code=0, **options):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, timeout=600, **options)
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def the_only(pattern):
    found = list(PACKAGES.glob(pattern))
    assert len(found) == 1, f"{pattern}: {found}"
    return found[0]


def on_a_screen(command, text, env):
    """Starts a program in a terminal, waits for a text, leaves with `q`."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(command[0], command, env)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    seen, left, until = b"", False, time.monotonic() + 60
    while time.monotonic() < until:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        if text in seen and not left:
            os.write(terminal, b"q")
            left = True
    _, status = os.waitpid(child, 0)
    assert left, f"{text!r} is not on the screen: {seen[-2000:]!r}"
    assert os.waitstatus_to_exitcode(status) == 0


def story(program, home, **options):
    """What a new user does first."""
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "TERM": "xterm-256color"}
    version = run(*program, "--version", env=env, **options)
    assert re.fullmatch(r"retake \d+\.\d+\.\d+ \([0-9a-f]{9}\)\n", version), version
    found = run(*program, "check", SESSIONS / "unknown-tool.json", code=1, env=env, **options)
    assert "unknown-tool" in found, found
    whole = [shutil.which(str(program[0])), *map(str, program[1:]), str(SESSIONS / "broken-json.json")]
    on_a_screen(whole, b"malformed-arguments", env)


def wheel(home):
    venv.create(home / "venv", with_pip=True)
    run(home / "venv/bin/pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", the_only("*.whl"))
    share = home / "venv/share"
    assert all((share / part).stat().st_size for part in PARTS)
    story([home / "venv/bin/retake"], home)
    library = "import retake, sys; print(retake.__version__, [one.rule for one in retake.check(sys.argv[1]).errors])"
    found = run(home / "venv/bin/python", "-c", library, SESSIONS / "unknown-tool.json", cwd=home)
    assert "['unknown-tool']" in found, found


def npm(home):
    packages = [path for path in PACKAGES.glob("*.tgz")]
    assert len(packages) == 2, packages
    # The packages of other platforms are not asked for: nothing is published yet.
    run("npm", "install", "--silent", "--offline", "--omit=optional", "--no-audit", "--no-fund", *packages, cwd=home)
    story([home / "node_modules/.bin/retake"], home)
    library = "const found = require('retake').check(process.argv[1]); console.log(found.errors.map((one) => one.rule).join())"
    found = run("node", "-e", library, SESSIONS / "unknown-tool.json", cwd=home)
    assert found == "unknown-tool\n", found
    shutil.rmtree(next((home / "node_modules").glob("retake-*-*")))
    program = str(home / "node_modules/.bin/retake")
    without = subprocess.run([program, "--version"], capture_output=True, text=True)
    assert without.returncode == 1 and "is not installed" in without.stderr, without


def deb(home):
    root = home / "root"
    (root / "var/lib/dpkg/info").mkdir(parents=True)
    (root / "var/lib/dpkg/updates").mkdir()
    (root / "var/lib/dpkg/status").touch()
    # The root holds nothing that it could depend on.
    run("dpkg", f"--root={root}", "--force-depends", "--force-not-root", "--log=/dev/null", "--install", the_only("*.deb"))
    share = root / "usr/share"
    for part in ["man/man1/retake.1.gz", "bash-completion/completions/retake", "doc/retake/changelog.gz", "doc/retake/LICENSE-MIT", PARTS[0]]:
        assert (share / part).stat().st_size, part
    story([root / "usr/bin/retake"], home)


def archive(home):
    sums = ["sha256sum"] if shutil.which("sha256sum") else ["shasum", "-a", "256"]
    run(*sums, "--check", "--quiet", "SHA256SUMS", cwd=PACKAGES)
    # Where `cargo binstall` looks for it, and for the program in it.
    host = re.search(r"^host: (.*)$", run("rustc", "-vV"), re.MULTILINE)[1]
    binstall = re.search(r"\[package.metadata.binstall\]\n((?:.+\n)+)", (ROOT / "Cargo.toml").read_text())[1]
    version = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
    words = {"repo": "R", "version": version, "target": host, "bin": "retake", "binary-ext": ""}
    told = dict(re.findall(r'^(\S+) = "(.*)"$', re.sub(r"\{ (\S+) \}", lambda word: words[word[1]], binstall), re.MULTILINE))
    assert told["pkg-url"] == f"R/releases/download/v{version}/{the_only('*.tar.gz').name}", told
    run("tar", "-xzf", the_only("*.tar.gz"), "-C", home)
    assert (home / told["bin-dir"]).is_file(), told
    assert all((home / "share" / part).stat().st_size for part in PARTS)
    if "--shipped" in sys.argv and sys.platform == "linux":
        needed = re.findall(rb"GLIBC_2\.(\d+)", (home / "retake").read_bytes())
        newest = max(map(int, needed))
        assert newest <= GLIBC, f"needs glibc 2.{newest}"
    story([home / "retake"], home)


NEEDS = {wheel: "python3", npm: "npm", deb: "dpkg", archive: "tar"}

for kind, tool in NEEDS.items():
    if kind is deb and sys.platform != "linux":
        continue
    if not shutil.which(tool):
        print(f"skipped: {kind.__name__}: {tool} is not installed", file=sys.stderr)
        continue
    with tempfile.TemporaryDirectory() as home:
        began = time.monotonic()
        kind(Path(home))
        print(f"{kind.__name__}: installed and used in {time.monotonic() - began:.1f} s")
