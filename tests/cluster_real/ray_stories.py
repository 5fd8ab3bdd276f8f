"""`retake.ray` on a cluster of two nodes, of which one is killed while it works.

    python ray_stories.py RETAKE

Exit code 1: a story went another way.
"""

import contextlib
import logging
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from common import (
    FILES_PER_TASK, SESSIONS, a_changed_file_is_done_again, free_port, make_sessions, object_store, objects_give_the_same, program_writes, said,
    same_table, same_tables, when)

os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DATA_DISABLE_PROGRESS_BARS": "1"}


def processes_of(process):
    """A process with all that it started."""
    found = [process]
    with contextlib.suppress(OSError):
        for child in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split():
            found += processes_of(int(child))
    return found


@contextlib.contextmanager
def node(here, host, *words):
    """A node of a cluster; gives what kills it."""
    log = here / f"node-{len(list(here.glob('node-*')))}"
    command = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", "start", "--block", "--node-ip-address", host]
    command += ["--num-cpus", "1", "--object-store-memory", str(100 << 20), "--disable-usage-stats", *words]
    with log.open("w") as output:
        started = subprocess.Popen(command, stdout=output, stderr=output)

    def kill():
        for process in processes_of(started.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        started.wait()

    try:
        deadline = time.monotonic() + 180
        while "Ray runtime started" not in log.read_text():
            assert started.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield kill
    finally:
        kill()


with tempfile.TemporaryDirectory(prefix="rr-", ignore_cleanup_errors=True) as here:
    # What Ray writes to the home folder goes with the test.
    os.environ["HOME"] = here

    import pyarrow
    import ray

    import retake
    import retake.ray

    here = pathlib.Path(here)
    folder, wanted = here / "runs", here / "wanted"
    make_sessions(folder)
    program_writes(folder, wanted)

    def write(paths, output, **options):
        return retake.ray.write(paths, output, files_per_task=FILES_PER_TASK, **options)

    with contextlib.ExitStack() as nodes:
        # Ray takes 127.0.0.1 for the address of the machine.
        address = f"127.0.0.2:{free_port()}"
        nodes.enter_context(node(here, "127.0.0.2", "--head", "--port", address.split(":")[1], "--include-dashboard", "false", "--temp-dir", str(here / "ray")))
        kill_second = nodes.enter_context(node(here, "127.0.0.3", "--address", address))
        ray.init(address=address, _node_ip_address="127.0.0.2", log_to_driver=False, logging_level=logging.ERROR)
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        nodes.callback(ray.shutdown)
        assert sum(it["Alive"] for it in ray.nodes()) == 2, ray.nodes()
        with said("a table of a cluster is that of one machine"):
            table = retake.ray.read(folder, "findings", files_per_task=FILES_PER_TASK)
            same_table(pyarrow.concat_tables(ray.get(table.to_arrow_refs())), wanted, "findings")
        with said("S3 gives the same"), object_store() as options:
            objects_give_the_same(write, folder, options, "ray")
        with said("what a killed node did is done again"):
            watch, seen = when(here / "out", 4, kill_second)
            done = write(folder, here / "out")
            watch.join()
            assert seen and seen[0] < done.parts and done.kept == 0, (seen, done)
            assert sum(it["Alive"] for it in ray.nodes()) == 1, ray.nodes()
            same_tables(here / "out", wanted)
        with said("a changed file is done again"):
            a_changed_file_is_done_again(write, folder, here / "out")
print(f"ray: {SESSIONS} sessions")
