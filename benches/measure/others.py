"""How much of the machine other processes used while something was measured.

Both sides, measured in turn, are disturbed alike only on average; a program of two threads loses
more beside a busy process than one of a single thread.
"""
import os
import resource
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
BUSY = 0.25  # cores; what the kernel does for the terminal itself stays far below


class Others:
    """Counts from the moment it is made."""

    def __init__(self):
        self._before = self._now()

    def cores(self):
        """Cores that others used on average since then, time stolen by a hypervisor included."""
        machine, own, clock = (now - before for now, before in zip(self._now(), self._before))
        return max(0.0, machine - own) / clock

    @staticmethod
    def _now():
        return machine_seconds(), own_seconds(), time.monotonic()


def machine_seconds():
    """Seconds that all cores were not idle."""
    with open("/proc/stat") as stat:
        user, nice, system, _idle, _waiting, hard, soft, stolen = map(int, stat.readline().split()[1:9])
    return (user + nice + system + hard + soft + stolen) / TICKS


def own_seconds():
    """Seconds of this process, of the children it has reaped and of those that still run."""
    used = sum(usage.ru_utime + usage.ru_stime
               for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
    for children in Path("/proc/self/task").glob("*/children"):
        used += sum(process_seconds(pid) for pid in children.read_text().split())
    return used


def process_seconds(pid):
    """Seconds that a running process has used, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
