"""The search of `palmette tune`: what is tried, how trainings run, which settings continue, and the record of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.lazy import door

if TYPE_CHECKING:
    from palmette.tuning.run import TuneResult, tune, tune_file

__getattr__, __dir__ = door(__name__)
