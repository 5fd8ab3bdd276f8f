"""Results as a Markdown table, and its place in benches/README.md."""
import os
import platform
import statistics
from dataclasses import dataclass

from .others import BUSY

START, END = "<!-- bench:start -->", "<!-- bench:end -->"
COLUMNS = ("row", "work", "peer", "retake median", "peer median", "ratio", "floor", "goal", "verdict")
FAILED, WRONG = "FAILED", "DIFFERENT"  # verdicts beside goal, floor, below and exact
DISTURBED = " (busy)"


@dataclass(frozen=True)
class Limit:
    """The most that is allowed: `x` judges the ratio, `ms` and `MB` judge retake's own value."""

    floor: float
    goal: float
    unit: str = "x"

    def verdict(self, value):
        if value <= self.goal:
            return "goal"
        return "floor" if value <= self.floor else "below"

    def text(self, bound):
        return f"≤ {bound:g}{'x' if self.unit == 'x' else ' ' + self.unit}"


@dataclass(frozen=True)
class Quantity:
    """A measured value: seconds, bytes, or a rate in a second."""

    value: float
    kind: str = "seconds"
    spread: float | None = None  # half the interquartile range, as a part of the value

    def text(self):
        spread = f" ±{self.spread:.0%}" if self.spread is not None else ""
        if self.kind == "bytes":
            return f"{self.value / 1e6:.1f} MB{spread}"
        if self.kind == "rate":
            return f"{self.value:,.0f}/s{spread}"
        if self.value < 0.5e-3:
            return f"{self.value * 1e6:.1f} µs{spread}"
        if self.value < 0.1:
            return f"{self.value * 1e3:.2f} ms{spread}"
        return f"{self.value:.3f} s{spread}"

    def in_unit(self, unit):
        return self.value * 1e3 if unit == "ms" else self.value / 1e6


def median(values, kind="seconds"):
    """The median and how far the middle half of the values lies around it."""
    if len(values) < 2:
        return Quantity(values[0], kind)
    first, middle, third = statistics.quantiles(values, n=4, method="inclusive")
    return Quantity(middle, kind, (third - first) / 2 / middle)


@dataclass(frozen=True)
class Result:
    """One line of the table."""

    row: int
    work: str
    peer: str
    ours: Quantity | None = None
    theirs: Quantity | None = None
    limit: Limit | None = None
    said: str | None = None  # the verdict in words, where no limit judges
    others: float = 0.0  # cores that other processes used meanwhile

    def wrong(self):
        """Whether there is no value to trust; a slow one is not a fault of the run."""
        return bool(self.said) and self.said.startswith((FAILED, WRONG))

    def verdict(self):
        if self.said:
            return self.said
        return self.limit.verdict(self._judged()) + (DISTURBED if self.disturbed() else "")

    def disturbed(self):
        return self.others > BUSY

    def _judged(self):
        if self.limit.unit == "x":
            return self.ours.value / self.theirs.value
        return self.ours.in_unit(self.limit.unit)

    def cells(self):
        ratio = f"{self.ours.value / self.theirs.value:.2f}x" if self.ours and self.theirs else "–"
        bounds = [self.limit.text(b) for b in (self.limit.floor, self.limit.goal)] if self.limit else ["–", "–"]
        values = [quantity.text() if quantity else "–" for quantity in (self.ours, self.theirs)]
        return [str(self.row), self.work, self.peer, *values, ratio, *bounds, self.verdict()]


def markdown(results, pairs, notes, calibrated=False):
    """The table, the machine below it, and what else was noticed."""
    columns = [column.replace("retake", "same peer") for column in COLUMNS] if calibrated else COLUMNS
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in result.cells()) + " |" for result in results]
    lines += ["", f"{machine()}; medians of at least {pairs} pairs (± half the interquartile range), "
              "both sides in one run, files in the page cache."]
    if any(result.disturbed() for result in results):
        notes = [*notes, f"Busy: other processes used more than {BUSY:g} cores meanwhile, so measure again"]
    return "\n".join(lines + [f"{note}." for note in notes])


def machine():
    """What the figures depend on, without a name of the machine."""
    kernel = platform.release().partition("-")[0]
    return f"{os.cpu_count()} cores, {platform.system()} {kernel}"


def write_into(readme, table):
    """Replaces what stands between the two marks; a ValueError when they are not there."""
    text = readme.read_text(encoding="utf-8")
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise ValueError(f"{readme} has no {START} ... {END}")
    readme.write_text(f"{before}{START}\n{table}\n{END}{after}", encoding="utf-8")
