#!/usr/bin/env python3
"""Writes the licences of every crate that is part of the programs, with their texts.

    packaging/licences.py FILE

Exit code 1: a crate has a licence that is not known to allow passing the program on, or no licence at all.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

# Licences that allow passing a program on with their text beside it.
ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-1-Clause", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "bzip2-1.0.6",
    "CC0-1.0", "CDLA-Permissive-2.0", "ISC", "MIT", "MIT-0", "MPL-2.0", "Unicode-3.0", "Unicode-DFS-2016", "Unlicense", "WTFPL", "Zlib",
}  # fmt: skip
TEXT = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright)", re.IGNORECASE)


def metadata():
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def parts_of_programs(packages):
    """The packages that are linked into what is shipped: no build scripts, no tests."""
    nodes = {node["id"]: node for node in packages["resolve"]["nodes"]}
    seen, waiting = set(), list(packages["workspace_members"])
    while waiting:
        package = waiting.pop()
        if package in seen:
            continue
        seen.add(package)
        for dependency in nodes[package]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    return seen - set(packages["workspace_members"])


def is_allowed(expression):
    """Whether an SPDX expression can be met: one choice of each `OR`, all of an `AND`."""
    words = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def either():
        found = both()
        while words and words[0] == "OR":
            words.pop(0)
            found = both() or found
        return found

    def both():
        found = one()
        while words and words[0] == "AND":
            words.pop(0)
            found = one() and found
        return found

    def one():
        word = words.pop(0)
        if word == "(":
            found = either()
            words.pop(0)
            return found
        if words and words[0] == "WITH":
            word = f"{word} WITH {words[1]}"
            del words[:2]
        return word in ALLOWED

    return either()


def main(target):
    packages = metadata()
    linked = parts_of_programs(packages)
    crates = sorted((one for one in packages["packages"] if one["id"] in linked), key=lambda one: (one["name"], one["version"]))
    refused = [one for one in crates if not one["license"] or not is_allowed(one["license"])]
    for one in refused:
        print(f"{one['name']} {one['version']}: {one['license'] or 'no licence'}", file=sys.stderr)
    if refused:
        return 1
    texts = defaultdict(list)
    for one in crates:
        folder = Path(one["manifest_path"]).parent
        files = [path for path in sorted(folder.iterdir()) if path.is_file() and TEXT.match(path.name)]
        for path in files:
            text = "\n".join(line.rstrip() for line in path.read_text(errors="replace").splitlines()).strip()
            texts[text].append(f"{one['name']} {one['version']}")
    with open(target, "w") as out:
        out.write(f"retake is made with these {len(crates)} crates of other projects. The texts of their licences follow.\n\n")
        for one in crates:
            out.write(f"{one['name']} {one['version']}  {one['license']}\n")
        for text, names in sorted(texts.items(), key=lambda item: item[1]):
            out.write(f"\n{'-' * 80}\n{', '.join(dict.fromkeys(names))}\n\n{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
