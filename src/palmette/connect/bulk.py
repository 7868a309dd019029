"""Many files through one tagger, on threads or on a Ray cluster; what is done is not done again.

Each input has one output of the same name (without `.gz`) in a folder, which is written whole or not at all, and beside
it a record in `.palmette/`: the checksum of the model, the options, and size and time of the input. An output is done
if its record says the same again; otherwise it is made anew, which is reported. Files in the folder without a record
are not ours: nothing is overwritten.
"""

from __future__ import annotations

import glob
import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from palmette.data.files import FilePath, check_apart, write_whole
from palmette.data.formats.spec import FormatSpec
from palmette.errors import DataError, PalmetteError, UsageError, counted
from palmette.structures.chain.files import spec_for

logger = logging.getLogger(__name__)
RECORDS = ".palmette"
WINDOW = 256  # tasks that a cluster has at a time
PARQUET = (".parquet", ".arrow", ".feather")
Progress = Callable[[int], None]  # called with the number of tokens so far


class BulkJob(NamedTuple):
    """What is done with every file; it travels to workers."""

    model: str  # a path that workers can read
    checksum: str
    spec: FormatSpec | None
    options: dict[str, Any]  # of `Tagger.tag_file`, or of `tag_table` for tables

    @property
    def key(self) -> str:
        """A checksum of everything but the input."""
        spec = None if self.spec is None else self.spec.stored()
        text = json.dumps([self.checksum, spec, self.options], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


class BulkResult(NamedTuple):
    """What became of the inputs."""

    done: int  # files tagged now
    there: int  # that were done before
    renewed: int  # of those tagged now, outputs that were out of date
    tokens: int
    failed: list[str]  # messages


def inputs_of(patterns: Sequence[FilePath]) -> list[str]:
    """The files that names and patterns (`data/*.txt.gz`, `data/**/*.txt`) stand for, in order; each once."""
    found: list[str] = []
    for pattern in patterns:
        text = str(os.fspath(pattern))
        matches = [text] if os.path.exists(text) else sorted(glob.glob(text, recursive=True))
        matches = [name for name in matches if not os.path.isdir(name)]
        if not matches:
            raise DataError("no such file", file=text)
        found += matches
    return list(dict.fromkeys(os.path.abspath(name) for name in found))


def target_of(source: str, folder: str) -> str:
    """Where the output of an input goes."""
    return os.path.join(folder, os.path.basename(source).removesuffix(".gz"))


def tag_files(
    model: FilePath,
    sources: Sequence[FilePath],
    folder: FilePath,
    *,
    spec: FormatSpec | None = None,
    cluster: str | None = None,
    threads: int = 1,
    progress: Progress | None = None,
    **options: Any,
) -> BulkResult:
    """Tag files (names or patterns) with the model of a file, each into a file of the same name in a folder.

    cluster: as for `Tagger.fit_files`; its workers read model and inputs, and write outputs, by the same paths.
    options: those of `Tagger.tag_file`. A file that cannot be tagged does not keep the others from it."""
    inputs, where = inputs_of(sources), os.path.abspath(os.fspath(folder))
    job = BulkJob(os.path.abspath(str(os.fspath(model))), _checksum(os.fspath(model)), spec, options)
    _check_targets(inputs, where, job.model)
    os.makedirs(os.path.join(where, RECORDS), exist_ok=True)
    states = {source: _state(job, source, target_of(source, where)) for source in inputs}
    to_do = [source for source in inputs if states[source] != "done"]
    renewed = sum(state == "old" for state in states.values())
    if renewed:
        logger.info(
            "%s out of date: the model, the options or the input changed", counted(renewed, "output is", "outputs are")
        )
    tokens, done, failed = 0, 0, []
    work = _on_ray(job, to_do, where, cluster) if cluster is not None else _on_threads(job, to_do, where, threads)
    for found in work:
        if isinstance(found, str):
            failed.append(found)
            logger.warning("%s", found)
            continue
        done, tokens = done + 1, tokens + found
        if progress is not None:
            progress(tokens)
    return BulkResult(done, len(inputs) - len(to_do), renewed, tokens, failed)


def _check_targets(inputs: Sequence[str], folder: str, model: str) -> None:
    """UsageError if two inputs have the same output, or an output is an input or the model."""
    seen: dict[str, str] = {}
    for source in inputs:
        target = target_of(source, folder)
        if target in seen:
            raise UsageError(f"{seen[target]} and {source} would both be written to {target}")
        seen[target] = source
    check_apart(seen, [model, *inputs])


def _checksum(path: Any) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(error.strerror or "cannot be read", file=str(path)) from None


def _record_of(target: str) -> str:
    folder, name = os.path.split(target)
    return os.path.join(folder, RECORDS, f"{name}.json")


def _input_state(source: str) -> list[int]:
    found = os.stat(source)
    return [found.st_size, found.st_mtime_ns]


def _state(job: BulkJob, source: str, target: str) -> str:
    """`done`, `old` (made by another model, or of another input) or `missing`."""
    if not os.path.exists(target):
        return "missing"
    try:
        with open(_record_of(target), encoding="utf-8") as file:
            record = json.load(file)
    except (OSError, ValueError):
        raise UsageError(
            f"{target} exists and was not written by this command: move it, or choose another folder"
        ) from None
    return "done" if record == _record(job, source) else "old"


def _record(job: BulkJob, source: str) -> dict[str, Any]:
    return {"job": job.key, "source": source, "input": _input_state(source)}


def tag_one(job: BulkJob, source: str, target: str) -> int | str:
    """Tag one file and write its record; the number of tokens, or which file could not be done, and why."""
    try:
        record = _record(job, source)  # of the input as it was before it was read
        _write_record(target, record | {"unfinished": True})  # an unfinished output is one of ours
        tagger = loaded(job.model)
        if source.endswith(PARQUET):
            from palmette.connect.batches import tag_table

            tokens = tag_table(tagger, source, target, **job.options)
        else:
            spec = spec_for(tagger.model_, source, job.spec)
            tokens = tagger.tag_file(source, target, spec=spec, **job.options)
        _write_record(target, record)
        return tokens
    except (PalmetteError, OSError) as error:
        said = str(error)
        return said if source in said else f"{source}: {said}"


def _write_record(target: str, record: dict[str, Any]) -> None:
    with write_whole(_record_of(target)) as out:
        out.write(json.dumps(record).encode())


_loaded: dict[tuple[str, int, int], Any] = {}


def loaded(path: str) -> Any:
    """The tagger of a model file, loaded once per process, and again if the file has changed."""
    from palmette.estimators.tagger import Tagger

    try:
        found = os.stat(path)
    except OSError as error:
        raise DataError(error.strerror or "cannot be read", file=path) from None
    key = (path, found.st_mtime_ns, found.st_size)
    if key not in _loaded:
        for old in [known for known in _loaded if known[0] == path]:
            del _loaded[old]
        _loaded[key] = Tagger.load(path, copy=True)
    return _loaded[key]


def _on_threads(job: BulkJob, sources: Sequence[str], folder: str, threads: int) -> Iterator[int | str]:
    """What `tag_one` says of each file."""
    from palmette.data.stream import map_in_order

    loaded(job.model)
    yield from map_in_order(lambda source: tag_one(job, source, target_of(source, folder)), sources, threads)


def _on_ray(job: BulkJob, sources: Sequence[str], folder: str, address: str) -> Iterator[int | str]:
    """The same by tasks: a task whose worker dies is done again by another one."""
    from palmette.connect.ray_cluster import Connection

    connection = Connection(address)
    try:
        yield from _by_tasks(connection.ray, job, sources, folder)
    finally:
        connection.close()


def _by_tasks(ray: Any, job: BulkJob, sources: Sequence[str], folder: str) -> Iterator[int | str]:
    task = ray.remote(num_cpus=1, max_retries=3)(tag_one)
    shared, waiting = ray.put(job), list(reversed(sources))
    running: dict[Any, str] = {}
    while waiting or running:
        while waiting and len(running) < WINDOW:
            source = waiting.pop()
            running[task.remote(shared, source, target_of(source, folder))] = source
        ready, _ = ray.wait(list(running), num_returns=1)
        for reference in ready:
            source = running.pop(reference)
            try:
                yield ray.get(reference)
            except ray.exceptions.RayError as error:
                yield f"{source}: the worker was lost: {type(error).__name__}"
