"""What engines read in the tables of `check` is what its JSON report says: at once, after a kill, after changes."""

import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import duckdb
import polars
import pyarrow.ipc
import pyarrow.parquet

from same import TABLES

PROGRAM = os.path.abspath(sys.argv[1])
SOURCES = [path for path in ["sessions", "../shared/corpus"] if os.path.isdir(path)]


def retake(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)


def write(sources, folder, *words):
    return retake("check", *sources, "--format", "parquet", "-o", folder, *words)


def reported(sources):
    """The exit code of the JSON report, and its lines by type."""
    done = retake("check", *sources, "--format", "json")
    lines = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        line = json.loads(line)
        lines[line["type"]].append(line)
    return done.returncode, lines


def rows(folder, table):
    """The rows of a table in an order of their own."""
    return sorted(duckdb.sql(f"SELECT * FROM '{folder}/{table}/*.parquet'").fetchall(), key=repr)


def everything(folder):
    return {table: rows(folder, table) for table in TABLES}


def parts(folder):
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.glob("*/*.parquet")}


def same(what, left, right):
    assert left == right, f"{what}: {left!r} is not {right!r}"


def engines_agree_with_the_report(here):
    folder = here / "all"
    code, lines = reported(SOURCES)
    done = write(SOURCES, folder)
    same("exit code", done.returncode, code)
    by_rule = dict(collections.Counter(line["rule"] for line in lines["finding"]))
    assert by_rule and lines["session"], "nothing to compare"

    sql = f"SELECT rule, count(*) FROM '{folder}/findings/*.parquet' GROUP BY ALL"
    same("DuckDB", dict(duckdb.sql(sql).fetchall()), by_rule)
    frame = polars.read_parquet(folder / "findings" / "*.parquet")
    same("Polars", dict(frame["rule"].value_counts().iter_rows()), by_rule)
    table = pyarrow.parquet.read_table(folder / "findings")
    same("pyarrow", dict(collections.Counter(table["rule"].to_pylist())), by_rule)

    for name in ["path", "session", "line", "column", "turn", "item", "severity", "tool", "call_id", "message", "pointer", "cause"]:
        wanted = collections.Counter((line["rule"], line[name]) for line in lines["finding"])
        got = collections.Counter(frame.select("rule", name).iter_rows())
        same(f"findings.{name}", got, wanted)
    sessions = polars.read_parquet(folder / "sessions" / "*.parquet")
    for name in ["path", "format", "target", "turns", "items", "calls", "outputs", "tools_known", "problems"]:
        wanted = collections.Counter((line["session"], line[name]) for line in lines["session"])
        same(f"sessions.{name}", collections.Counter(sessions.select("session", name).iter_rows()), wanted)
    wanted = collections.Counter(line["severity"] for line in lines["finding"])
    for severity in ["error", "warning", "info"]:
        same(severity, sessions[f"{severity}s"].sum(), wanted[severity])
    items = polars.read_parquet(folder / "items" / "*.parquet")
    same("items", len(items), sum(line["items"] for line in lines["session"]))
    calls = polars.read_parquet(folder / "calls" / "*.parquet")
    same("calls", len(calls.filter(polars.col("kind") == "call")), sum(line["calls"] for line in lines["session"]))
    # A finding names an item of the other table.
    joined = duckdb.sql(f"""
        SELECT count(*) FROM '{folder}/findings/*.parquet' f JOIN '{folder}/items/*.parquet' i USING (path, session, item)
        WHERE f.call_id IS NOT DISTINCT FROM i.call_id AND f.turn = i.turn AND f.item IS NOT NULL""").fetchall()[0][0]
    same("items of findings", joined, sum(line["item"] is not None for line in lines["finding"]))
    first = next((folder / "findings").glob("*.parquet"))
    facts = pyarrow.parquet.read_metadata(first).metadata
    same("schema version", facts[b"retake.schema_version"], b"1")
    return sessions


def usage_agrees(sessions):
    """What `usage` counts of the files with one session."""
    usage = retake("usage", "sessions", "--format", "json")
    lines = [json.loads(line) for line in usage.stdout.splitlines()]
    lines = {(line["path"], line["session"]): line for line in lines if line["type"] == "session"}
    compared = 0
    for row in sessions.iter_rows(named=True):
        line = lines.get((row["path"], row["session"]))
        if line is None:
            continue
        for name in ["model", "turns", "counted", "input_tokens", "cached_tokens", "output_tokens", "cost_usd", "model_ms", "tools_ms"]:
            same(f"{row['path']} {name}", row[name], line[name])
        compared += 1
    assert compared > 5, compared


def arrow_files_hold_the_same(here):
    done = retake("check", "sessions", "--format", "arrow", "-o", here / "arrow")
    write(["sessions"], here / "parquet")
    for table in TABLES:
        frames = [pyarrow.ipc.open_file(path).read_all() for path in sorted((here / "arrow" / table).glob("*.arrow"))]
        frame = pyarrow.concat_tables(frames)
        same("metadata", frame.schema.metadata[b"retake.table"], table.encode())
        wanted = pyarrow.parquet.read_table(here / "parquet" / table)
        same(table, frame.num_rows, wanted.num_rows)
        same(table, frame.schema.names, wanted.schema.names)
    assert done.returncode in (0, 1, 3), done


def a_changed_file_is_done_again(here):
    inputs, folder = here / "inputs", here / "changed"
    shutil.copytree("sessions", inputs)
    # More files than one part has.
    for copy in range(4):
        shutil.copytree("sessions", inputs / f"copy-{copy}")
    write([inputs], folder)
    before, old = everything(folder), parts(folder)
    again = write([inputs], folder)
    same("unchanged", parts(folder), old)
    assert "had not changed" in again.stdout, again
    same("exit code", again.returncode, write([inputs], here / "fresh-0").returncode)

    victim = inputs / "copy-3" / "broken-json.json"
    victim.write_bytes((inputs / "waiting-approval.json").read_bytes())
    write([inputs], folder)
    new = parts(folder)
    assert new != old and set(new.items()) & set(old.items()), "some parts stay, some are written again"
    write([inputs], here / "fresh-1")
    same("after a change", everything(folder), everything(here / "fresh-1"))
    assert everything(folder) != before
    victim.unlink()
    write([inputs], folder)
    write([inputs], here / "fresh-2")
    same("after a removal", everything(folder), everything(here / "fresh-2"))
    write([inputs], folder, "--only", "unknown-tool")
    rules = {row[7] for row in rows(folder, "findings")}
    same("other rules", rules, {"unknown-tool"})
    shutil.rmtree(inputs)


def a_killed_run_is_gone_on_with(here):
    inputs, folder = here / "many", here / "killed"
    for copy in range(60):
        shutil.copytree("sessions", inputs / f"copy-{copy}")
    write([inputs], here / "whole")
    wanted = everything(here / "whole")
    killed = 0
    for wait in range(200):
        process = subprocess.Popen(
            [PROGRAM, "check", inputs, "--format", "parquet", "-o", folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        had = len(list(folder.glob("problems/part-*.parquet")))
        # Killed once it has gone on by a part or two.
        while process.poll() is None and len(list(folder.glob("problems/part-*.parquet"))) < had + 1:
            time.sleep(0.001)
        if process.poll() is not None:
            break
        time.sleep(0.01 * (wait % 3))
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed += 1
        if killed == 4:
            break
    assert killed > 1, "it ended before it was killed"
    kept = parts(folder)
    done = write([inputs], folder)
    assert "had not changed" in done.stdout, done
    assert set(kept) & set(parts(folder)), "nothing was kept"
    same("after kills", everything(folder), wanted)
    left = [path.name for path in folder.glob("*/.*")]
    same("files that are not whole", left, [])


def wrong_uses_are_refused(here):
    for words, said in [
        (["--format", "parquet"], "-o FOLDER names it"),
        (["--format", "parquet", "-o", "sessions"], "holds no tables of retake"),
        (["--format", "json", "-o", here / "x"], "goes to standard output"),
    ]:
        done = retake("check", "sessions", *words)
        assert done.returncode == 2 and said in done.stderr, done
    missing = write(["missing.json"], here / "missing")
    same("nothing to read", missing.returncode, 2)
    some = write(["sessions", "missing.json"], here / "some")
    same("something unreadable", some.returncode, 3)


with tempfile.TemporaryDirectory() as here:
    here = pathlib.Path(here)
    wrong_uses_are_refused(here)
    usage_agrees(engines_agree_with_the_report(here))
    arrow_files_hold_the_same(here)
    a_changed_file_is_done_again(here)
    a_killed_run_is_gone_on_with(here)
print("tables: DuckDB, Polars and pyarrow read what the report says")
