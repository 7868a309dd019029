"""`palmette train` from several files in shards, or on a cluster: options that go together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.errors import UsageError

if TYPE_CHECKING:
    from palmette.cli.train import Train
    from palmette.estimators.tagger import Tagger


def in_shards(command: Train, tagger: Tagger) -> bool:
    """Whether files are trained from in shards, each read by its own worker. UsageError for what does not go along."""
    if command.ray is None and (len(command.data) == 1 or tagger.shards == 1):
        return False
    for name in ("dev_share", "compact"):
        if command.given(name) or getattr(command, name, False):
            raise UsageError(f"--{name.replace('_', '-')} does not apply to files in shards: give --dev FILE")
    if "-" in command.data:
        raise UsageError("shards are read from files, not from standard input")
    return True
