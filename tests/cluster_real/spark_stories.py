"""`retake.spark` on a cluster of two executors, of which one is killed while it works.

    python spark_stories.py RETAKE

Exit code 1: a story went another way.
"""

import os
import pathlib
import signal
import sys
import tempfile

from common import (
    FILES_PER_TASK, SESSIONS, a_changed_file_is_done_again, make_sessions, object_store, objects_give_the_same, program_writes, said,
    same_table, same_tables, when)

os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}

from pyspark.sql import SparkSession

import retake.spark


def executors(spark):
    """The processes of the executors of this session."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words and spark.sparkContext.applicationId.encode() in words:
            found.append(int(process.name))
    return found


with tempfile.TemporaryDirectory(prefix="retake-spark-") as here:
    here = pathlib.Path(here)
    folder, wanted = here / "runs", here / "wanted"
    make_sessions(folder)
    program_writes(folder, wanted)
    settings = {
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false", "spark.local.dir": str(here / "spark"), "spark.sql.warehouse.dir": str(here / "warehouse"),
        # Not that of this machine: times are moments wherever they are read.
        "spark.sql.session.timeZone": "Asia/Tokyo",
    }
    spark = SparkSession.builder.master("local-cluster[2,1,1024]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")

    def write(paths, output, **options):
        return retake.spark.write(spark, paths, output, files_per_task=FILES_PER_TASK, **options)

    try:
        with said("tables of a cluster are those of one machine"):
            for name in ("findings", "sessions"):
                same_table(retake.spark.read(spark, folder, name, files_per_task=FILES_PER_TASK).toArrow(), wanted, name)
        with said("S3 gives the same"), object_store() as options:
            objects_give_the_same(write, folder, options, "spark")
        with said("what a killed executor did is done again"):
            first = executors(spark)
            assert len(first) == 2, first
            watch, seen = when(here / "out", 4, lambda: os.kill(first[0], signal.SIGKILL))
            done = write(folder, here / "out")
            watch.join()
            assert seen and seen[0] < done.parts and done.kept == 0, (seen, done)
            assert first[0] not in executors(spark)
            same_tables(here / "out", wanted)
        with said("a changed file is done again"):
            a_changed_file_is_done_again(write, folder, here / "out")
    finally:
        spark.stop()
print(f"spark: {SESSIONS} sessions")
