"""Numbers and strings at checked places of a binary file, many at a time.

A file is u8[size]. Whatever it says about places and sizes is checked against the file before it is followed, and no
array is made that is larger than a small multiple of it.
"""

from __future__ import annotations

import numpy as np

from palmette.errors import ModelError
from palmette.structures.stored import Names


class Part:
    """A stretch of a file with a name for messages."""

    def __init__(self, data: np.ndarray, begin: int, end: int, name: str, source: str) -> None:
        self.begin, self.name, self.source = begin, name, source
        if not 0 <= begin <= end <= data.size:
            raise self.damaged(f"it should be at byte {begin:,}, and the file has {data.size:,}")
        self.data = data[begin:end]

    def damaged(self, what: str) -> ModelError:
        return ModelError(f"damaged model: {self.name}: {what}", file=self.source)

    def check(self, begin: int, size: int, what: str) -> None:
        """ModelError unless so many bytes are there."""
        if begin < 0 or begin + size > self.data.size:
            raise self.damaged(f"{what} ends at byte {begin + size:,}, and there are {self.data.size:,}")

    def numbers(self, begin: int, count: int, what: str) -> np.ndarray:
        """32-bit numbers one after the other, i64[count]."""
        self.check(begin, 4 * count, what)
        return self.data[begin : begin + 4 * count].view("<u4").astype(np.int64)

    def numbers_at(self, places: np.ndarray, what: str) -> np.ndarray:
        """The 32-bit number at each of these places, i64[]."""
        if not places.size:
            return np.zeros(0, np.int64)
        if places.min() < 0 or places.max() + 4 > self.data.size:
            worst = places.min() if places.min() < 0 else places.max()
            raise self.damaged(f"{what} is at byte {int(worst):,}, and there are {self.data.size:,}")
        if not (places & 3).any():
            words = self.data[: self.data.size & ~3].view("<u4")
            return words[places >> 2].astype(np.int64)
        data = self.data
        low = data[places].astype(np.int64) | data[places + 1].astype(np.int64) << 8
        return low | data[places + 2].astype(np.int64) << 16 | data[places + 3].astype(np.int64) << 24

    def tag(self, begin: int, expected: bytes) -> None:
        """ModelError unless these bytes are there."""
        self.check(begin, len(expected), "its mark")
        found = self.data[begin : begin + len(expected)].tobytes()
        if found != expected:
            raise self.damaged(f"it should begin with {expected!r}, and has {found!r}")


def within_groups(count: np.ndarray) -> np.ndarray:
    """0, 1, 2, ... within each of the groups of these sizes, i64[]."""
    first = np.cumsum(count) - count
    return np.arange(int(count.sum())) - np.repeat(first, count)


def names_of(data: np.ndarray, offset: np.ndarray, what: str, source: str) -> Names:
    """Strings that are concatenated in `data`; ModelError if one is not UTF-8."""
    starts = offset[:-1][np.diff(offset) > 0]
    odd = (data[starts] & 0xC0) == 0x80  # the middle of a character
    try:
        data.tobytes().decode()
        bad = int(starts[odd][0]) if odd.any() else None
    except UnicodeDecodeError as error:
        bad = error.start
    if bad is not None:
        k = int(np.searchsorted(offset, bad, side="right")) - 1
        shown = data[offset[k] : offset[k + 1]][:40].tobytes()
        raise ModelError(
            f"{what} {k} is not UTF-8: {shown!r}", file=source,
            hint="train the model on data in UTF-8, or convert its strings with the tool that made it",
        )  # fmt: skip
    return Names(data, offset)
