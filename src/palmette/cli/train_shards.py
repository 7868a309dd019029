"""`palmette train` from several files, or on a cluster: options that go together, and the call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from palmette.data.formats.spec import FormatSpec
from palmette.errors import UsageError

if TYPE_CHECKING:
    from palmette.cli.train import Train
    from palmette.estimators.tagger import Tagger


def in_shards(command: Train) -> bool:
    """Whether files are trained from in shards, each read by its own worker. UsageError for what does not go along."""
    if command.ray is None and not command.more:
        return False
    for name in ("dev_share", "compact"):
        if command.given(name) or getattr(command, name, False):
            raise UsageError(f"--{name.replace('_', '-')} does not apply to files in shards: give --dev FILE")
    if command.data == "-":
        raise UsageError("shards are read from files, not from standard input")
    return True


def fit_shards(command: Train, tagger: Tagger, old: Tagger | None, spec: FormatSpec, progress: Any) -> None:
    """Train on threads, or on the workers of a cluster. The output is written after each pass."""
    tagger.fit_files(
        [command.data, *(command.more or ())], command.dev, spec=spec, cluster=command.ray, threads=command.threads,
        resume=None if old is None else old.model_, output=command.output, checkpoint=command.checkpoint,
        names=not command.strip, progress=progress,
    )  # fmt: skip
