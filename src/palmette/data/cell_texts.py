"""Cells of a column as strings, made when they are asked for: a list of all would take longer than scoring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np


class CellTexts(Sequence[str]):
    """The strings types[ids[i]]."""

    def __init__(self, ids: np.ndarray, types: Sequence[str]) -> None:
        self.ids, self.types = ids, types

    def __len__(self) -> int:
        return int(self.ids.size)

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self.types[i] for i in self.ids[at].tolist()]
        return self.types[int(self.ids[at])]
