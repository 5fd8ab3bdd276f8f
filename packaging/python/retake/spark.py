"""Recordings in tables on a Spark cluster. ``retake`` is installed for the Python of each executor.

    >>> import retake.spark
    >>> findings = retake.spark.read(spark, "s3://runs/2026", "findings")       # a DataFrame
    >>> findings.groupBy("rule").count().show()
    >>> retake.spark.write(spark, "s3://runs/2026", "s3://tables/2026")         # all tables at once
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Callable, Iterator, List

try:
    import pyarrow  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from pyspark.sql import DataFrame, SparkSession  # type: ignore[import-not-found,unused-ignore]
except ImportError as missing:
    raise ImportError("retake.spark needs Spark 3.5 or newer: pip install pyspark") from missing

from ._cluster import FILES_SCHEMA, Job, Options, Paths, Written
from ._tables import Path

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["read", "write"]

#: Spark's words for the types of columns. Its times have microseconds.
TYPES = {"string": "string", "int64": "bigint", "double": "double", "bool": "boolean", "timestamp[ms, tz=UTC]": "timestamp"}


def read(spark: SparkSession, paths: Paths, table: str = "findings", **options: Unpack[Options]) -> DataFrame:
    """A table of recordings: files or folders, on any file system that fsspec knows. ``retake help tables`` describes the columns.

    Files that cannot be read are left out; :func:`write` reports them."""
    job = Job(options)
    schema = job.schema(table)
    return _tasks(spark, job.parts(paths), partial(job.read, table=table), schema)


def write(spark: SparkSession, paths: Paths, output: Path, **options: Unpack[Options]) -> Written:
    """Writes all tables of recordings to a folder, as Parquet files. Parts that are there already stay, so that a run which was ended
    is gone on with; parts of files that changed or are no longer named are removed."""
    job, folder = Job(options), os.fspath(output)
    parts = job.parts(paths)
    missing = job.missing(parts, folder)
    if missing:
        _tasks(spark, missing, partial(job.write, output=folder), FILES_SCHEMA).count()
    return job.finish(parts, len(missing), folder)


def _tasks(spark: SparkSession, parts: List[str], task: Callable[[str], pyarrow.Table], schema: pyarrow.Schema) -> DataFrame:
    def run(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            for part in batch.column(0).to_pylist():
                yield from task(part).cast(_spark_schema(schema)).to_batches()

    rows = spark.createDataFrame([(part,) for part in parts], "part string").repartition(max(1, len(parts)))
    return rows.mapInArrow(run, ", ".join(f"`{field.name}` {TYPES[str(field.type)]}" for field in schema))


def _spark_schema(schema: pyarrow.Schema) -> pyarrow.Schema:
    is_time = pyarrow.types.is_timestamp
    return pyarrow.schema(
        [(field.name, pyarrow.timestamp("us", tz="UTC") if is_time(field.type) else field.type) for field in schema]
    )
