"""Checks and fixes what tool-calling agents send and record.

    >>> import retake
    >>> report = retake.check("run.jsonl")          # a recording of any agent
    >>> for finding in report.findings:
    ...     print(finding.severity, finding.rule, finding.message)

    >>> verdict = retake.will_accept(request)       # before it is sent
    >>> if not verdict:
    ...     request = retake.heal(request).history

    >>> tables = retake.tables("runs/")             # of a folder, for data engines
    >>> tables.calls.to_polars()

A recording is judged as what happened: a call at its end waits for its output. A request is judged as what is about to be
sent: a call at its end was never answered, and the provider refuses it.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Dict, Generic, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union, cast

from . import _retake
from ._retake import RetakeError
from ._tables import Arrow, Table, Tables, Unreadable, tables_of_paths

__all__ = [
    "Finding",
    "Fixed",
    "Offer",
    "Problem",
    "Report",
    "RetakeError",
    "Session",
    "Step",
    "Table",
    "Tables",
    "Unreadable",
    "Verdict",
    "check",
    "fix",
    "heal",
    "tables",
    "will_accept",
]

__version__ = _retake.VERSION

#: A history: the text of a recording or of a request, or its JSON as Python has it.
History = Union[bytes, bytearray, memoryview, Sequence[Any], Mapping[str, Any]]
H = TypeVar("H")


@dataclass(frozen=True)
class Offer:
    """A recovery that applies to a finding."""

    action: str
    #: ``safe`` keeps what the model meant, ``unsafe`` changes what it saw or did, ``manual`` needs words.
    safety: str


@dataclass(frozen=True)
class Finding:
    """One defect. Turns, items, lines and columns count from 1."""

    rule: str
    #: ``error``, ``warning`` or ``info``.
    severity: str
    message: str
    session: str
    turn: Optional[int]
    item: Optional[int]
    tool: Optional[str]
    call_id: Optional[str]
    #: JSON pointer into the arguments or the output.
    pointer: Optional[str]
    cause: Optional[str]
    line: Optional[int]
    column: Optional[int]
    #: The byte at which its item begins, where the file holds it as it is.
    offset: Optional[int]
    #: What kind of error an output is that reports one.
    class_: Optional[str]
    #: Its record in a file without lines: ``exchange 3``.
    record: Optional[str]
    #: An example of the words in which the provider refuses it.
    refusal: Optional[str]
    offers: Tuple[Offer, ...]

    def as_dict(self) -> Dict[str, Any]:
        """A flat row: offers are the names of their actions."""
        row = dict(self.__dict__)
        row["class"] = row.pop("class_")
        row["offers"] = [offer.action for offer in self.offers]
        return row


@dataclass(frozen=True)
class Problem:
    """Something that could not be read as it stands."""

    message: str
    line: Optional[int]
    column: Optional[int]
    #: Counted from 0.
    byte: int
    #: Whether something was not read for it.
    is_unread: bool


@dataclass(frozen=True)
class Session:
    """One session of a recording."""

    name: str
    #: The dialect that it was judged for.
    dialect: str
    turns: int
    items: int
    calls: int
    outputs: int
    #: Without them no call can be found to be unknown.
    tools_known: bool
    findings: Tuple[Finding, ...]
    problems: Tuple[Problem, ...]


@dataclass(frozen=True)
class Report(Arrow):
    """What a check found. As a table it is its findings, with the columns of the table ``findings``."""

    path: str
    format: str
    #: The file that tools were taken from, where the recording does not hold them.
    tools_from: Optional[str]
    sessions: Tuple[Session, ...]
    #: Problems that belong to no session.
    unplaced_problems: Tuple[Problem, ...]

    @property
    def findings(self) -> List[Finding]:
        """The findings of all sessions, in the order of the histories."""
        return [finding for session in self.sessions for finding in session.findings]

    @property
    def errors(self) -> List[Finding]:
        return [finding for finding in self.findings if finding.severity == "error"]

    @property
    def problems(self) -> List[Problem]:
        return [problem for session in self.sessions for problem in session.problems] + list(self.unplaced_problems)

    @property
    def is_clean(self) -> bool:
        """Whether everything was read and no finding is an error."""
        return not self.errors and not any(problem.is_unread for problem in self.problems)

    def rows(self) -> List[Dict[str, Any]]:
        """The findings as flat rows, with more than the table has: offers and the words of the provider."""
        return [{"path": self.path, **finding.as_dict()} for finding in self.findings]

    def _native(self) -> _retake.Table:
        return _retake.table_of_json("findings", json.dumps(self.rows()))


@dataclass(frozen=True)
class Verdict:
    """Whether a provider takes a request; true where it does, as far as is known."""

    report: Report

    @property
    def is_accepted(self) -> bool:
        return self.report.is_clean

    @property
    def findings(self) -> List[Finding]:
        """What the provider refuses the request for."""
        return self.report.findings

    def __bool__(self) -> bool:
        return self.is_accepted

    def __str__(self) -> str:
        if self.is_accepted:
            return "accepted"
        faults = [f"{finding.rule}: {finding.message}" for finding in self.findings]
        return "\n".join(faults + [problem.message for problem in self.report.problems if problem.is_unread])


@dataclass(frozen=True)
class Step:
    """An action that a fix applied, or could not apply. Sessions and items count from 1, items as they were then."""

    session: int
    item: int
    rule: str
    action: str
    #: What it says of what it did, or why it could not.
    notes: Tuple[str, ...]


@dataclass(frozen=True)
class Fixed(Generic[H]):
    """A history that was fixed; what was given is left as it is."""

    #: The fixed history: bytes where bytes were given, else its JSON.
    history: H
    applied: Tuple[Step, ...]
    refused: Tuple[Step, ...]
    #: What is left in it.
    left: Report

    @property
    def is_changed(self) -> bool:
        return bool(self.applied)


def check(
    source: Union[str, "os.PathLike[str]", History],
    *,
    dialect: Optional[str] = None,
    tools: Optional[Sequence[Any]] = None,
    output_schema: Optional[Mapping[str, Any]] = None,
    format: Optional[str] = None,
) -> Report:
    """Checks a recording: a path (a file, or the database of an agent), its text as bytes, or its JSON.

    ``dialect`` judges for that provider (``responses``, ``chat``, ``anthropic``, ``gemini``, ``converse``) instead of that of the
    recording. ``tools`` are definitions as requests hold them, for recordings that do not say which were offered.

    Raises :class:`RetakeError` where nothing can be read, :class:`OSError` where a file cannot be opened.
    """
    options = _options(dialect, tools, output_schema, format)
    if isinstance(source, (str, os.PathLike)):
        return _report(json.loads(_retake.check_path(source, options)))
    return _report(json.loads(_retake.check_bytes(_bytes(source), options)))


def tables(
    paths: Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]],
    *,
    dialect: Optional[str] = None,
    tools: Optional[Sequence[Any]] = None,
    output_schema: Optional[Mapping[str, Any]] = None,
    format: Optional[str] = None,
) -> Tables:
    """The tables of recordings in memory, read on all cores: files, or folders of them. Options are those of :func:`check`.

    They hold what ``retake check --format parquet`` writes, which is for more than fits into memory; ``retake.ray`` and
    ``retake.spark`` are for more than one machine.

    Raises an exception as :func:`check` does where nothing can be read at all.
    """
    named = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    return tables_of_paths(named, _options(dialect, tools, output_schema, format))


def will_accept(
    request: History,
    *,
    provider: Optional[str] = None,
    tools: Optional[Sequence[Any]] = None,
    model: Optional[str] = None,
    format: Optional[str] = None,
) -> Verdict:
    """Whether a provider takes a request: a body, or the list of its messages or items.

    ``provider`` is a dialect, as in :func:`check`. ``model`` is what the request is sent to, where it does not name one.
    """
    if model is not None:
        if not isinstance(request, Mapping):
            raise TypeError("`model` needs the request as a mapping; a list of messages does not name one")
        request = {"model": model, **request}
    options = _options(provider, tools, None, format, True)
    return Verdict(_report(json.loads(_retake.check_bytes(_bytes(request), options))))


def fix(
    source: H,
    *,
    dialect: Optional[str] = None,
    tools: Optional[Sequence[Any]] = None,
    allow_unsafe: bool = False,
    format: Optional[str] = None,
) -> Fixed[H]:
    """Fixes a recording: its text as bytes, or its JSON. Only what is safe is applied; with ``allow_unsafe`` for errors also
    what changes what the model saw."""
    return _fix(source, dialect, tools, allow_unsafe, format, False)


def heal(
    request: H,
    *,
    provider: Optional[str] = None,
    tools: Optional[Sequence[Any]] = None,
    allow_unsafe: bool = False,
    format: Optional[str] = None,
) -> Fixed[H]:
    """Fixes a request that is about to be sent, so that its provider takes it; see :func:`fix`."""
    return _fix(request, provider, tools, allow_unsafe, format, True)


def _fix(
    source: H,
    dialect: Optional[str],
    tools: Optional[Sequence[Any]],
    allow_unsafe: bool,
    format: Optional[str],
    is_request: bool,
) -> Fixed[H]:
    data = _bytes(cast(History, source))
    options = _options(dialect, tools, None, format, is_request)
    text, done = _retake.fix_bytes(data, options, allow_unsafe)
    fixed = json.loads(done)
    is_text = isinstance(source, (bytes, bytearray, memoryview))
    return Fixed(
        history=cast(H, text if is_text else json.loads(text)),
        applied=tuple(_step(step) for step in fixed["applied"]),
        refused=tuple(_step(step) for step in fixed["refused"]),
        left=_report(fixed["left"]),
    )


def _bytes(source: History) -> bytes:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    if isinstance(source, str):
        raise TypeError("give a text as bytes; a string is the name of a file, which `check` alone takes")
    return json.dumps(source, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _options(
    dialect: Optional[str],
    tools: Optional[Sequence[Any]],
    output_schema: Optional[Mapping[str, Any]],
    format: Optional[str],
    is_request: bool = False,
) -> _retake.Options:
    return {
        "format": format,
        "dialect": dialect,
        "tools": None if tools is None else json.dumps(tools),
        "output_schema": None if output_schema is None else json.dumps(output_schema),
        "is_request": is_request,
    }


def _step(step: Dict[str, Any]) -> Step:
    return Step(**{**step, "notes": tuple(step["notes"])})


def _problem(problem: Dict[str, Any]) -> Problem:
    return Problem(**problem)


def _report(report: Dict[str, Any]) -> Report:
    def finding(session: str, found: Dict[str, Any]) -> Finding:
        offers = tuple(Offer(**offer) for offer in found.pop("offers"))
        return Finding(session=session, offers=offers, class_=found.pop("class"), **found)

    def session(found: Dict[str, Any]) -> Session:
        return Session(
            name=found["name"],
            dialect=found["target"],
            turns=found["turns"],
            items=found["items"],
            calls=found["calls"],
            outputs=found["outputs"],
            tools_known=found["tools_known"],
            findings=tuple(finding(found["name"], one) for one in found["findings"]),
            problems=tuple(_problem(one) for one in found["problems"]),
        )

    return Report(
        path=report["path"],
        format=report["format"],
        tools_from=report["tools_from"],
        sessions=tuple(session(one) for one in report["sessions"]),
        unplaced_problems=tuple(_problem(one) for one in report["problems"]),
    )
