"""A program in a real pseudo-terminal, with a timestamp on every piece of its output."""
import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import termios
import time

from .others import process_seconds
from .screen import Screen

COLUMNS, ROWS = 200, 60
QUIET = 0.006  # seconds without output after which a screen counts as settled
FRAME_GAP = 0.004  # pieces nearer than this belong to one frame (a pty gives at most 4 KB at once)
PATIENCE = 60.0  # seconds after which a screen that does not come is a failure


class Failure(Exception):
    """A measurement that could not be made; the text says what was seen instead."""


def environment(**more):
    """The environment of every measured program: nothing of the user's settings."""
    kept = {k: v for k, v in os.environ.items()
            if not k.startswith(("LESS", "RETAKE", "LC_")) and k not in ("NO_COLOR", "LINES", "COLUMNS")}
    return {**kept, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "LESSHISTFILE": "-", **more}


class Terminal:
    """Spawns argv at once; `started` is the moment before fork/exec."""

    def __init__(self, argv, folder=None, quit_key=b"q", **variables):
        self.argv, self.quit_key = argv, quit_key
        self.screen = Screen(COLUMNS, ROWS)
        self.closed = False
        self._pieces, self._fed = [], 0  # (seconds, bytes); how many the screen has seen
        program = shutil.which(argv[0])
        if program is None:
            raise Failure(f"{argv[0]} is not installed or not built")
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        # Opened by the leader of a new session, the slave becomes its controlling terminal.
        actions = [(os.POSIX_SPAWN_OPEN, 0, os.ttyname(slave), os.O_RDWR, 0),
                   (os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]
        variables, here = environment(**variables), os.getcwd()
        os.chdir(folder or here)
        try:
            self.started = time.perf_counter()
            self.pid = os.posix_spawn(program, argv, variables, file_actions=actions, setsid=True,
                                      setsigdef=[signal.SIGPIPE])
        finally:
            os.chdir(here)
        os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ------------------------------------------------------------------ bytes

    def _read(self, seconds):
        """Reads one piece if it comes within the time; says whether it did."""
        if self.closed or not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:  # EIO: the program has ended
            data = b""
        now = time.perf_counter()
        self.closed = not data
        if data:
            self._pieces.append((now, data))
        return bool(data)

    def _feed(self, shown=None):
        """Gives the new pieces to the screen; when the last frame ended in which `shown` became true."""
        pieces, hit = self._pieces, None
        for at in range(self._fed, len(pieces)):
            self.screen.feed(pieces[at][1])
            if hit is None and shown and shown(self.screen):
                hit = at
        self._fed = len(pieces)
        if hit is None:
            return None
        while hit + 1 < len(pieces) and pieces[hit + 1][0] - pieces[hit][0] < FRAME_GAP:
            hit += 1
        return pieces[hit][0]

    # ------------------------------------------------------------------ waiting

    def wait_for(self, marker, patience=PATIENCE):
        """The moment at which the frame that shows the text was complete.

        The screen is computed while the program is quiet, so that computing it delays no timestamp.
        """
        fed, end = time.perf_counter(), time.perf_counter() + patience
        while True:
            now = time.perf_counter()
            if self._read(QUIET) and now - fed < 0.25:
                continue
            moment = self._feed(lambda screen: screen.shows(marker))
            if moment is not None:
                return moment
            fed = time.perf_counter()
            if self.closed or now > end:
                raise Failure(self._absence(marker))

    def wait_for_raw_mode(self):
        """Waits until typed keys reach the program one by one."""
        end = time.perf_counter() + PATIENCE
        while termios.tcgetattr(self.master)[3] & termios.ICANON:
            if self.closed or time.perf_counter() > end:
                raise Failure(self._absence("a terminal in raw mode"))
            self._read(0.0002)

    def settle(self, seconds=QUIET):
        """Reads until the program is quiet, or animates on."""
        end = time.perf_counter() + max(0.25, seconds)
        while self._read(seconds) and time.perf_counter() < end:
            pass
        self._feed()
        if self.closed:
            raise Failure(self._absence("a running program"))

    def wait_until_idle(self, patience=PATIENCE):
        """Waits until the program uses no processor: everything is indexed and checked."""
        end, used = time.perf_counter() + patience, -1.0
        while (now_used := process_seconds(self.pid)) - used > 0.011:  # a clock tick is 0.01 s
            used, until = now_used, time.perf_counter() + 0.4
            while (left := until - time.perf_counter()) > 0:
                self._read(left)
                if self.closed:
                    raise Failure(self._absence("a running program"))
            self._feed()
            if until > end:
                raise Failure(f"{self.argv[0]} was still busy after {patience:.0f} s")

    # ------------------------------------------------------------------ keys

    def send(self, keys):
        """Types keys; the moment before."""
        moment = time.perf_counter()
        os.write(self.master, keys)
        return moment

    def press(self, key):
        """Seconds from a key to the end of the next frame; None when nothing was painted."""
        self.settle()
        sent = self.send(key)
        if not self._read(0.25):
            return None
        while self._read(FRAME_GAP):
            pass
        return self._pieces[-1][0] - sent

    def press_for(self, key, marker):
        """Seconds from a key to the end of the frame that shows the text."""
        self.settle()
        if self.screen.shows(marker):
            raise Failure(f"{marker!r} is on the screen already, before the key {key!r}")
        return -self.send(key) + self.wait_for(marker)

    # ------------------------------------------------------------------ the process

    def peak_memory(self):
        """Peak resident bytes (VmHWM)."""
        with open(f"/proc/{self.pid}/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        raise Failure("no VmHWM in /proc")

    def close(self):
        """Quits with the program's key, then with signals; always reaps it."""
        for quitting in (lambda: self.send(self.quit_key), lambda: os.kill(self.pid, signal.SIGTERM),
                         lambda: os.kill(self.pid, signal.SIGKILL)):
            if self._reaped(0):
                break
            try:
                quitting()
            except OSError:  # it has just ended by itself
                pass
            if self._reaped(1.0):
                break
        os.close(self.master)

    def _reaped(self, seconds):
        end = time.perf_counter() + seconds
        while self.pid and os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            self._read(0.001)
            if time.perf_counter() >= end:
                return False
        self.pid = None
        return True

    def _absence(self, wanted):
        seen = [row for row in self.screen.rows() if row]
        state = "has ended" if self.closed else "runs"
        sight = "".join(f"\n    | {row[:160]}" for row in seen[:12])
        return f"{' '.join(self.argv)} never showed {wanted!r}; it {state}, its screen {'shows:' + sight if seen else 'is empty'}"
