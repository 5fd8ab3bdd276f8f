"""What every row needs: the two sides taken in turn, the programs, the sizes."""
import time
from dataclasses import dataclass, field

from .files import Files
from .others import Others
from .table import Result, median
from .terminal import Terminal

QUICK = 0.1  # seconds; a pair that is over sooner is noisier and costs little
MORE = 5  # so it is measured this many times as often


@dataclass
class Bench:
    files: Files
    retake: list  # the program's argv
    minimal: list  # argv of benches/minimal_tui.rs
    pairs: int
    load: list = ()  # argv of benches/proxy_load
    proxy: str = ""  # command line of the proxy under test; its first line holds its address
    proxy_screen: str = ""  # the same with its screen
    mitmdump: list = ()
    small: bool = False
    full: bool = False
    calibrate: bool = False  # the peer stands on both sides: every ratio should be near 1
    questions: set = field(default_factory=set)  # terminal queries that retake made

    @property
    def big(self):
        """The size that DESIGN's rows speak of, or a tenth of it for a quick look."""
        return "100M" if self.small else "1G"

    @property
    def tenth(self):
        return "10M" if self.small else "100M"

    @property
    def some(self):
        """The size of one file of many formats."""
        return "30M" if self.small else "300M"

    def sizes(self):
        if self.small:
            return ["1M", "10M", "100M"]
        return ["1M", "100M", "1G"] + ["2.5G"] * self.full

    def open(self, *arguments, **options):
        """Retake's screen; what it asks the terminal is noted when it closes."""
        return Asked(self.questions, [*self.retake, *map(str, arguments)], quit_key=b"Q", **options)

    def pairs_of(self, ours, theirs):
        """Both sides in turn, once unmeasured, then in changing order.

        Gives the two lists of their values and the cores that other processes used meanwhile.
        """
        sides = (theirs, theirs) if self.calibrate else (ours, theirs)
        start = time.perf_counter()
        for side in sides:
            side()
        quick = time.perf_counter() - start < QUICK
        taken, others = ([], []), Others()
        for pair in range(self.pairs * (MORE if quick else 1)):
            for which in ((0, 1) if pair % 2 else (1, 0)):
                taken[which].append(sides[which]())
        return *taken, others.cores()

    def compare(self, row, work, peer, limit, ours, theirs, kind="seconds"):
        """The line of two functions that give one value each time they are called."""
        mine, other, cores = self.pairs_of(ours, theirs)
        return Result(row, work, peer, median(mine, kind), median(other, kind), limit, others=cores)


class Asked(Terminal):
    """A terminal that passes on what its program asked."""

    def __init__(self, questions, argv, **options):
        self._questions = questions
        super().__init__(argv, **options)

    def close(self):
        super().close()
        self._feed()
        self._questions |= self.screen.questions
