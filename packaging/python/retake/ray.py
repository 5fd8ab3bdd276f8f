"""Recordings in tables on a Ray cluster. ``retake`` is installed on each of its nodes.

    >>> import retake.ray
    >>> findings = retake.ray.read("s3://runs/2026", "findings")        # a ray.data.Dataset
    >>> findings.groupby("rule").count().show()
    >>> retake.ray.write("s3://runs/2026", "s3://tables/2026")          # all tables at once
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Callable, List

try:
    import pyarrow  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import ray.data  # type: ignore[import-not-found,unused-ignore]
except ImportError as missing:
    raise ImportError("retake.ray needs Ray Data: pip install 'ray[data]'") from missing

from ._cluster import Job, Options, Paths, Written
from ._tables import Path

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["read", "write"]


def read(paths: Paths, table: str = "findings", **options: Unpack[Options]) -> "ray.data.Dataset":
    """A table of recordings: files or folders, on any file system that fsspec knows. ``retake help tables`` describes the columns.

    Files that cannot be read are left out; :func:`write` reports them."""
    job = Job(options)
    job.schema(table)
    return _tasks(job.parts(paths), partial(job.read, table=table))


def write(paths: Paths, output: Path, **options: Unpack[Options]) -> Written:
    """Writes all tables of recordings to a folder, as Parquet files. Parts that are there already stay, so that a run which was ended
    is gone on with; parts of files that changed or are no longer named are removed."""
    job, folder = Job(options), os.fspath(output)
    parts = job.parts(paths)
    missing = job.missing(parts, folder)
    if missing:
        _tasks(missing, partial(job.write, output=folder)).materialize()
    return job.finish(parts, len(missing), folder)


def _tasks(parts: List[str], task: Callable[[str], pyarrow.Table]) -> "ray.data.Dataset":
    def run(batch: pyarrow.Table) -> pyarrow.Table:
        return task(batch["part"][0].as_py())

    rows = ray.data.from_items([{"part": part} for part in parts], override_num_blocks=len(parts))
    return rows.map_batches(run, batch_size=1, batch_format="pyarrow", num_cpus=1)
