"""What the stories of both engines need: sessions, what the program says of them, and an object store."""

import contextlib
import fcntl
import json
import os
import pathlib
import random
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

import pyarrow.parquet

sys.path.append(str(pathlib.Path(__file__).parent.parent / "tables_real"))
from same import TABLES, in_order

PROGRAM = os.path.abspath(sys.argv[1])
#: How many sessions there are; RETAKE_SESSIONS sets it.
SESSIONS = int(os.environ.get("RETAKE_SESSIONS") or (20_000 if os.environ.get("RETAKE_LONG") == "1" else 300))
FILES_PER_TASK = max(15, SESSIONS // 100)
TOOL = {"name": "weigh", "parameters": {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}}
TOOLS = [{"type": "function", "function": TOOL}]


def raise_loopback():
    """In a network of its own, the loopback has to be switched on."""
    with contextlib.suppress(PermissionError), socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 0x41))  # SIOCSIFFLAGS: IFF_UP, IFF_RUNNING


def make_sessions(folder):
    """Requests of a few to some dozen turns; in about half of them something is broken."""
    for number in range(SESSIONS):
        dice = random.Random(number)
        messages = [{"role": "system", "content": "You weigh things."}]
        for turn in range(dice.randint(1, 40)):
            call = {"id": f"c{number}-{turn}", "type": "function",
                    "function": {"name": "weigh", "arguments": json.dumps({"what": f"crate {dice.randint(1, 99)}"})}}
            output = {"role": "tool", "tool_call_id": call["id"], "content": "kg\u00e9 " * dice.randint(1, 200)}
            match dice.randint(0, 60):
                case 0: call["function"]["name"] = "wiegh"
                case 1: call["function"]["arguments"] = '{"what": '
                case 2: call["function"]["arguments"] = '{"whom": 3}'
                case 3: output = {"role": "user", "content": "Never mind."}
                case 4: output["tool_call_id"] = "c-of-nobody"
            messages += [{"role": "user", "content": f"Weigh {turn}."}, {"role": "assistant", "content": None, "tool_calls": [call]}, output]
        place = folder / f"day-{number % 7}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"run-{number:05}.json").write_text(json.dumps({"model": "gpt-5.2", "tools": TOOLS, "messages": messages}))
    # Other files happen to be there, too.
    (folder / "day-0" / "notes.json").write_text("[1, 2")
    (folder / "day-0" / "readme.md").write_text("runs")


def program_writes(folder, output):
    """The tables of one machine."""
    done = subprocess.run([PROGRAM, "check", folder, "--format", "parquet", "-o", output], capture_output=True, text=True)
    assert done.returncode in (0, 1), done


def same_tables(got, wanted):
    """Two folders of tables hold the same rows, to the byte."""
    for name in TABLES:
        same_table(pyarrow.parquet.read_table(pathlib.Path(got) / name), pathlib.Path(wanted), name)


def same_table(table, wanted, name):
    expected = pyarrow.parquet.read_table(wanted / name)
    assert table.num_rows == expected.num_rows and (expected.num_rows or name == "problems"), (name, table.num_rows, expected.num_rows)
    assert in_order(table, expected.schema) == in_order(expected, expected.schema), name


def when(folder, parts, act):
    """Acts once a folder of tables has this many parts, in a thread; gives how many there were then."""
    seen = []

    def watch():
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            there = len(list(pathlib.Path(folder).glob("files/part-*.parquet")))
            if there >= parts:
                act()
                seen.append(there)
                return
            time.sleep(0.002)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread, seen


@contextlib.contextmanager
def said(what):
    """Says what held, and how long that took."""
    begun = time.perf_counter()
    yield
    print(f"ok   {what} ({time.perf_counter() - begun:.1f} s)", flush=True)


def a_changed_file_is_done_again(write, folder, output):
    """Parts of files that changed or are gone are written again, the others stay."""
    first = {path.name: path.stat().st_mtime_ns for path in pathlib.Path(output).glob("files/*.parquet")}
    again = write(folder, output)
    assert again.kept == again.parts == len(first) and again.unreadable == (), again
    copy = folder.parent / "copy"
    shutil.copytree(folder, copy)
    (copy / "day-3" / "run-00003.json").write_text('{"messages": [{"role": "user", "content": "Go."}]}')
    (copy / "day-6" / "run-00006.json").unlink()
    (copy / "day-1" / "run-00001.json").write_bytes(b"\x00\x01" * 100)
    changed = folder.parent / "changed"
    write(copy, changed)
    program_writes(copy, folder.parent / "changed-wanted")
    same_tables(changed, folder.parent / "changed-wanted")
    # By itself a file that is no recording was to be one.
    named = write([copy / "day-1" / "run-00001.json", copy / "day-3" / "run-00003.json"], changed)
    assert [pathlib.Path(file.path).name for file in named.unreadable] == ["run-00001.json"], named
    assert "binary" in named.unreadable[0].message and (named.files, named.kept) == (2, 0), named
    left = pyarrow.parquet.read_table(changed / "sessions")
    assert left.num_rows == 1, "the parts of other files are gone"


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def object_store():
    """S3 on the loopback; gives what fsspec is given to reach it."""
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.1):
                break
            assert server.poll() is None, "the object store ended"
            time.sleep(0.1)
        yield {"key": "test", "secret": "test", "client_kwargs": {"endpoint_url": f"http://127.0.0.1:{port}", "region_name": "eu-west-1"}}
    finally:
        server.kill()
        server.wait()


def objects_give_the_same(write, folder, options, name):
    """From S3 to S3; gives how many recordings there were."""
    import s3fs

    store = s3fs.S3FileSystem(**options, skip_instance_cache=True)
    for bucket in (f"runs-{name}", f"tables-{name}"):
        store.mkdir(bucket)
    count = 0
    for day in sorted(folder.iterdir())[:3]:
        paths = sorted(day.iterdir())[:40]
        store.put([str(path) for path in paths], [f"runs-{name}/all/{day.name}/{path.name}" for path in paths])
        count += len(paths)
    here = folder.parent / f"objects-{name}"
    store.get(f"runs-{name}/all", str(here / "runs"), recursive=True)
    program_writes(here / "runs", here / "wanted")
    for kept in (False, True):
        done = write(f"s3://runs-{name}/all", f"s3://tables-{name}/out", storage_options=options)
        assert done.files == count - 1 and (done.kept == done.parts) == kept, (done, count)
    store.get(f"tables-{name}/out", str(here / "got"), recursive=True)
    for table in TABLES:
        got = pyarrow.parquet.read_table(here / "got" / table)
        paths = [str(here / "runs") + path.removeprefix(f"s3://runs-{name}/all") for path in got["path"].to_pylist()]
        got = got.set_column(got.schema.get_field_index("path"), "path", [paths])
        same_table(got, here / "wanted", table)
    return count


raise_loopback()
