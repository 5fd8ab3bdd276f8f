#!/usr/bin/env python3
"""Packs a folder as the archive of a release: names in order, no owner, the time of SOURCE_DATE_EPOCH.

    packaging/archive.py FOLDER INTO VERSION TARGET

Its name is the one that `cargo binstall` is told in Cargo.toml.
"""

import gzip
import os
import re
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def name_of_archive(version, target):
    url = re.search(r'^pkg-url = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
    return url.rsplit("/", 1)[1].replace("{ version }", version).replace("{ target }", target)


def main(folder, into, version, target):
    time = int(os.environ["SOURCE_DATE_EPOCH"])

    def plain(member):
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = time
        return member

    with open(Path(into) / name_of_archive(version, target), "wb") as out:
        with gzip.GzipFile("", "wb", fileobj=out, mtime=time) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
            # `add` goes through a folder in the order of names.
            for path in sorted(Path(folder).iterdir()):
                archive.add(path, path.name, filter=plain)


if __name__ == "__main__":
    main(*sys.argv[1:])
