"""`palmette tag` with many files: each into a file of the same name in a folder."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from palmette.cli.common import OF_FILES, SearchOptions, biases
from palmette.cli.output import Meter
from palmette.connect.bulk import tag_files
from palmette.data.formats.spec import FormatSpec
from palmette.errors import DataError, UsageError, counted

if TYPE_CHECKING:
    from palmette.cli.tag import Tag


def tag_bulk(command: Tag, decode: str) -> None:
    """Tag all files that are not done; exit code 1 if some could not be tagged."""
    if command.text is not None or command.nbest is not None or command.data == "-":
        raise UsageError("many files: leave --text, --nbest and standard input out")
    if command.output == "-":
        raise UsageError("many files need a folder for their outputs: -o FOLDER/")
    if command.with_:
        raise UsageError("--with does not apply to many files: make the columns in a first run")
    if any(getattr(command, name) is not None for name in SearchOptions.__options__):
        raise UsageError("many files are searched as in training: leave the options of the search out")
    spec = command.params(FormatSpec) if command.given(*OF_FILES) or command.flat.get(FormatSpec) else None
    options: dict[str, Any] = {
        "output": command.to, "bias": biases(command.bias), "known": command.known, "scores": command.scores,
        "states": command.show_states, "confidence": command.confidence, "marginals": command.marginals,
        "output_encoding": command.output_encoding,
    }  # fmt: skip
    if decode != "viterbi":
        options |= {"decode": decode, "cap": command.cap}
    begun = time.perf_counter()
    found = tag_files(
        command.model, [command.data, *(command.more or ())], command.output,
        spec=None if spec is None else FormatSpec(**spec), cluster=command.ray, threads=command.n_threads,
        progress=None if command.quiet else Meter(), **{name: value for name, value in options.items() if value},
    )  # fmt: skip
    if not command.quiet:
        seconds = time.perf_counter() - begun
        before = f"; {counted(found.there, 'file')} done before" if found.there else ""
        print(f"{counted(found.done, 'file')}, {counted(found.tokens, 'token')} in {seconds:.1f} s{before}")
    if found.failed:
        shown = "\n".join(found.failed[:10])
        raise DataError(f"{counted(len(found.failed), 'file')} could not be tagged:\n{shown}")
