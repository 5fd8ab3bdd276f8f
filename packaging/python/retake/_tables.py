"""The tables of recordings, for everything that reads the Arrow C stream of an object."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _retake

if TYPE_CHECKING:
    import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import polars  # type: ignore[import-not-found,unused-ignore]
    import pyarrow  # type: ignore[import-not-found,import-untyped,unused-ignore]


class Arrow:
    """Something that is a table: ``duckdb.sql("SELECT * FROM table")``, ``polars.DataFrame(table)`` and
    ``pyarrow.table(table)`` take it as it is, without a copy."""

    def _native(self) -> _retake.Table:
        raise NotImplementedError

    def __arrow_c_schema__(self) -> Any:
        return self._native().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        # The protocol lets a producer keep its own schema.
        return self._native().__arrow_c_stream__()

    def to_arrow(self) -> "pyarrow.Table":
        """A :class:`pyarrow.Table`; needs pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> "polars.DataFrame":
        """A :class:`polars.DataFrame`; needs Polars."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> "pandas.DataFrame":
        """A :class:`pandas.DataFrame`; needs pandas and pyarrow."""
        return self.to_arrow().to_pandas()


class Table(Arrow):
    """A table in memory. ``retake help tables`` describes the columns."""

    def __init__(self, name: str, native: _retake.Table) -> None:
        self.name = name
        self._table = native

    def _native(self) -> _retake.Table:
        return self._table

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return f"<retake.Table {self.name}: {len(self)} rows>"


@dataclass(frozen=True)
class Unreadable:
    """A file that could not be read."""

    path: str
    message: str


@dataclass(frozen=True)
class Tables:
    """The tables of some recordings, as ``retake check --format parquet`` writes them."""

    sessions: Table
    items: Table
    calls: Table
    findings: Table
    problems: Table
    #: What could not be read.
    unreadable: Tuple[Unreadable, ...]


Path = Union[str, "os.PathLike[str]"]
Rows = Dict[str, _retake.Table]


def tables_of_files(files: Sequence[Tuple[str, Path, bool]], options: _retake.Options) -> Tuple[Rows, List[Tuple[str, Exception]]]:
    """Files are the names that their rows have, their paths, and whether they were found in a folder: there, other files
    than recordings do not count."""
    rows, refused = _retake.tables([(name, path) for name, path, _ in files], options)
    named = [(files[number], error, is_other) for number, error, is_other in refused]
    return rows, [(name, error) for (name, _, in_folder), error, is_other in named if not (in_folder and is_other)]


def tables_of_paths(paths: Sequence[Path], options: _retake.Options) -> Tables:
    walked, failures = _retake.walk(paths)
    files: List[Tuple[str, Path, bool]] = [(os.fspath(path), path, in_folder) for path, in_folder in walked]
    rows, refused = tables_of_files(files, options)
    refused = [(os.fspath(path), error) for path, error in failures] + refused
    if refused and not any(len(table) for table in rows.values()):
        raise refused[0][1]
    return Tables(
        **{name: Table(name, table) for name, table in rows.items()},
        unreadable=tuple(Unreadable(path, str(error)) for path, error in refused),
    )
