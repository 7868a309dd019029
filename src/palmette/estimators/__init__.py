"""`Tagger`, what all estimators share, and two functions over labelled and unlabelled sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.lazy import door

if TYPE_CHECKING:
    from palmette.estimators.data_check import check
    from palmette.estimators.picking import pick, pick_file

__getattr__, __dir__ = door(__name__)
