"""What `retake.ray` and `retake.spark` share: recordings on any file system that fsspec knows, divided into parts, and what a task
does with a part. A part depends on nothing but its files, so a task that failed is done again with the same outcome."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import uuid
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, TypedDict, Union

from . import _options, _retake
from ._tables import Path, Table, Unreadable, tables_of_files

try:
    import fsspec  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import pyarrow  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import pyarrow.parquet  # type: ignore[import-not-found,import-untyped,unused-ignore]
except ImportError as missing:
    raise ImportError("tables of more than one machine need pyarrow and fsspec: pip install pyarrow fsspec") from missing

#: The table that says which files a part holds, and why some could not be read. Of a part it is written last: what has
#: it is whole.
FILES = "files"

Paths = Union[Path, Sequence[Path]]


class Options(TypedDict, total=False):
    """How recordings are found, read and divided; the first four as :func:`retake.check` has them."""

    dialect: Optional[str]
    tools: Optional[Sequence[Any]]
    output_schema: Optional[Mapping[str, Any]]
    format: Optional[str]
    #: What fsspec is given to open their file system: keys, endpoints.
    storage_options: Mapping[str, Any]
    #: How many recordings a task reads, 256 if not given.
    files_per_task: int


@dataclass(frozen=True)
class Written:
    """A folder of tables that was written."""

    parts: int
    #: How many of the parts were there already.
    kept: int
    files: int
    unreadable: Tuple[Unreadable, ...]


class Job:
    """What each task is given beside its part, which is JSON."""

    def __init__(self, options: Options) -> None:
        given = [options.get(key) for key in ("dialect", "tools", "output_schema", "format")]
        self.reading: _retake.Options = _options(*given)  # type: ignore[arg-type]
        self.storage = dict(options.get("storage_options") or {})
        self.files_per_task = options.get("files_per_task", 256)

    def parts(self, paths: Paths) -> List[str]:
        """The recordings that paths name. A part has another name where its files or the options are others."""
        named = [paths] if isinstance(paths, (str, os.PathLike)) else paths
        files = sorted({file for path in named for file in self._find(os.fspath(path))})
        parts = []
        for start in range(0, len(files), self.files_per_task):
            chosen = files[start : start + self.files_per_task]
            digest = hashlib.sha256(json.dumps([_retake.VERSION, self.reading, chosen]).encode())
            parts.append(json.dumps({"name": f"part-{digest.hexdigest()[:20]}.parquet", "files": [file[:2] for file in chosen]}))
        return parts

    def _find(self, path: str) -> Iterator[Tuple[str, bool, str]]:
        """The names of recordings, whether each was found in a folder, and what tells whether it changed."""
        system, root = self._system(path)
        system.invalidate_cache()
        if _is_local(system):
            found, failures = _retake.walk([root])
            for _, error in failures:
                raise error
            for file, in_folder in found:
                yield os.fspath(file), in_folder, _stamp(system.info(os.fspath(file)))
        elif system.isdir(root):
            for file, info in system.find(root, detail=True).items():
                below = file[len(root) :].strip("/").split("/")
                if _retake.may_be_recording(below[-1]) and not any(name.startswith(".") for name in below):
                    yield system.unstrip_protocol(file), True, _stamp(info)
        else:
            yield system.unstrip_protocol(root), False, _stamp(system.info(root))

    def _system(self, path: str) -> Tuple[Any, str]:
        system, root = fsspec.core.url_to_fs(path, **(self.storage if "://" in path else {}))
        return system, str(root)

    def schema(self, table: str) -> pyarrow.Schema:
        return self._read([])[0][table].schema

    def _read(self, files: Sequence[Tuple[str, bool]]) -> Tuple[Dict[str, pyarrow.Table], Dict[str, str]]:
        """The tables of some files; why files cannot be read."""
        with tempfile.TemporaryDirectory(prefix="retake-") as folder:
            places: Dict[str, str] = {}
            remote: Dict[Any, List[Tuple[str, str]]] = {}
            for number, (name, _) in enumerate(files):
                system, root = self._system(name)
                places[name] = root
                if not _is_local(system):
                    places[name] = os.path.join(folder, str(number), os.path.basename(root))
                    os.mkdir(os.path.dirname(places[name]))
                    remote.setdefault(system, []).append((root, places[name]))
            for system, copies in remote.items():
                _fetch(system, copies)
            rows, refused = tables_of_files([(name, places[name], in_folder) for name, in_folder in files], self.reading)
        return {name: Table(name, table).to_arrow() for name, table in rows.items()}, {name: str(error) for name, error in refused}

    def read(self, part: str, table: str) -> pyarrow.Table:
        """A task: one table of a part."""
        # The engine has a task for each core.
        os.environ.setdefault("RAYON_NUM_THREADS", "1")
        return self._read(json.loads(part)["files"])[0][table]

    def write(self, part: str, output: str) -> pyarrow.Table:
        """A task: writes all tables of a part; gives the one of its files."""
        os.environ.setdefault("RAYON_NUM_THREADS", "1")
        files = json.loads(part)["files"]
        tables, messages = self._read(files)
        rows = [{"path": name, "message": messages.get(name)} for name, _ in files]
        tables[FILES] = pyarrow.Table.from_pylist(rows, FILES_SCHEMA)
        system, root = self._system(output)
        for table, content in tables.items():
            _put(system, f"{root}/{table}", json.loads(part)["name"], content)
        return tables[FILES]

    def missing(self, parts: Sequence[str], output: str) -> List[str]:
        """The parts that are not in a folder of tables yet."""
        there = self._written(output, FILES)
        return [part for part in parts if json.loads(part)["name"] not in there]

    def finish(self, parts: Sequence[str], written: int, output: str) -> Written:
        """Removes the parts of files that changed or are no longer named."""
        names = {json.loads(part)["name"] for part in parts}
        tables = {}
        for table in [FILES, *self._read([])[0]]:
            tables[table] = self._written(output, table)
            system, _ = self._system(output)
            for name in tables[table].keys() - names:
                system.rm_file(tables[table][name])
        files = []
        for name in names:
            with system.open(tables[FILES][name], "rb") as file:
                files += pyarrow.parquet.read_table(file).to_pylist()
        unreadable = [Unreadable(**file) for file in files if file["message"] is not None]
        unreadable.sort(key=lambda file: file.path)
        return Written(len(parts), len(parts) - written, len(files), tuple(unreadable))

    def _written(self, output: str, table: str) -> Dict[str, str]:
        """The parts of a table by their names."""
        system, root = self._system(output)
        system.invalidate_cache()
        folder = f"{root}/{table}"
        paths = system.ls(folder, detail=False) if system.exists(folder) else []
        named = {path.rsplit("/", 1)[-1]: path for path in paths}
        return {name: path for name, path in named.items() if name.startswith("part-") and name.endswith(".parquet")}


FILES_SCHEMA = pyarrow.schema([("path", pyarrow.string()), ("message", pyarrow.string())])


def _is_local(system: Any) -> bool:
    return "file" in ([system.protocol] if isinstance(system.protocol, str) else system.protocol)


def _stamp(info: Mapping[str, Any]) -> str:
    changed = (info[key] for key in ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified") if info.get(key))
    return f"{info['size']}@{next(changed, '')}"


def _fetch(system: Any, copies: Sequence[Tuple[str, str]]) -> None:
    """Copies files to this machine; one that is gone stays missing, and is reported so."""
    try:
        system.get([source for source, _ in copies], [place for _, place in copies])
    except FileNotFoundError:
        for source, place in copies:
            try:
                system.get_file(source, place)
            except FileNotFoundError:
                continue


def _put(system: Any, folder: str, name: str, table: pyarrow.Table) -> None:
    """Writes a file that is there as a whole or not at all."""
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink, compression="zstd")
    data = sink.getvalue().to_pybytes()
    if not _is_local(system):
        system.makedirs(folder, exist_ok=True)
        system.pipe_file(f"{folder}/{name}", data)
        return
    os.makedirs(folder, exist_ok=True)
    unfinished = f"{folder}/.{name}.{uuid.uuid4().hex}.tmp"
    with open(unfinished, "wb") as file:
        file.write(data)
    os.replace(unfinished, f"{folder}/{name}")
