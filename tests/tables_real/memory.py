"""The tables of the Python package are those that the program writes, and engines take them as they are.

    python memory.py RETAKE

Exit code 1: a story went another way.
"""

import collections
import os
import pathlib
import subprocess
import sys
import tempfile

import duckdb
import polars
import pyarrow
import pyarrow.parquet

import retake
from same import TABLES, facts, in_order

PROGRAM = os.path.abspath(sys.argv[1])
SOURCES = [path for path in ["sessions", "../shared/corpus"] if os.path.isdir(path)]


def the_package_has_the_tables_of_the_program(here):
    subprocess.run([PROGRAM, "check", *SOURCES, "--format", "parquet", "-o", here], capture_output=True)
    tables = retake.tables(SOURCES)
    for name in TABLES:
        wanted = pyarrow.parquet.read_table(here / name)
        table = getattr(tables, name)
        got = table.to_arrow()
        assert len(table) == got.num_rows == wanted.num_rows, (name, got.num_rows, wanted.num_rows)
        assert got.schema.names == wanted.schema.names and got.schema.types == wanted.schema.types, (got.schema, wanted.schema)
        assert facts(got.schema) == facts(wanted.schema) and facts(got.schema)[b"retake.schema_version"] == b"1"
        assert in_order(got, wanted.schema) == in_order(wanted, wanted.schema), name
    assert tables.findings.to_arrow().num_rows > 20
    assert tables.unreadable == (), tables.unreadable


def engines_take_a_table_as_it_is(_):
    calls = retake.tables("sessions").calls
    wanted = collections.Counter(pyarrow.table(calls)["tool"].to_pylist())
    assert len(wanted) > 5
    assert dict(duckdb.sql("SELECT tool, count(*) FROM calls GROUP BY ALL").fetchall()) == wanted
    assert dict(polars.DataFrame(calls)["tool"].value_counts().iter_rows()) == wanted
    assert dict(calls.to_polars()["tool"].value_counts().iter_rows()) == wanted
    assert calls.to_pandas()["tool"].isna().sum() == wanted[None] and len(calls.to_pandas()) == len(calls)
    assert pyarrow.RecordBatchReader.from_stream(calls).schema == calls.to_arrow().schema
    # It can be taken again.
    assert calls.to_arrow() == calls.to_arrow()


def a_report_is_the_table_of_its_findings(_):
    compared = 0
    for path in sorted(set(retake.tables("sessions").sessions.to_arrow()["path"].to_pylist())):
        report, tables = retake.check(path), retake.tables(path)
        assert report.to_arrow() == tables.findings.to_arrow(), path
        assert report.to_polars().equals(tables.findings.to_polars()), path
        compared += len(report.findings)
    assert compared > 20, compared
    of_list = retake.check([{"role": "user", "content": "Go."}, {"role": "tool", "tool_call_id": "c9", "content": "?"}])
    assert "orphan-output" in duckdb.sql("SELECT rule FROM of_list").fetchall()[0], of_list
    fixed = retake.fix([{"role": "user", "content": "Go."}])
    assert fixed.left.to_arrow().num_rows == 0 and fixed.left.to_arrow().schema == of_list.to_arrow().schema


def what_cannot_be_read_is_named(here):
    (here / "notes.json").write_text("[1, 2")
    (here / "ok.json").write_text('[{"role": "user", "content": "Go."}]')
    # In a folder it is another file; by itself it was to be a recording.
    assert retake.tables(here).unreadable == ()
    tables = retake.tables([here / "ok.json", here / "notes.json", str(here / "missing.json")])
    assert [pathlib.Path(file.path).name for file in tables.unreadable] == ["notes.json", "missing.json"], tables.unreadable
    assert len(tables.sessions) == 1 and "not recognised" in tables.unreadable[0].message
    for path, error in ((here / "missing.json", FileNotFoundError), (here / "notes.json", retake.RetakeError)):
        try:
            retake.tables(path)
        except error:
            continue
        raise AssertionError(path)
    empty = here / "empty"
    empty.mkdir()
    try:
        retake.tables(empty)
    except retake.RetakeError as error:
        assert "no recorded session" in str(error), error


for story in [
    the_package_has_the_tables_of_the_program,
    engines_take_a_table_as_it_is,
    a_report_is_the_table_of_its_findings,
    what_cannot_be_read_is_named,
]:
    with tempfile.TemporaryDirectory() as here:
        story(pathlib.Path(here))
    print(f"ok   {story.__name__.replace('_', ' ')}")
