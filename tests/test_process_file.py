"""The one loop over the blocks of a file: order, sums, progress, and files that are written whole or not at all."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from palmette.data import Processed, map_in_order, process_file


@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_are_written_in_order_and_counts_are_summed(tmp_path: Path, threads: int) -> None:
    def work(block: int) -> Processed:
        time.sleep(0.001 * (7 - block))  # the first blocks take longest
        return Processed(f"{block}\n".encode(), (block, 1))

    seen: list[int] = []
    totals = process_file(range(7), work, tmp_path / "out", threads=threads, progress=seen.append)
    assert (tmp_path / "out").read_text(encoding="utf-8").split() == [str(k) for k in range(7)]
    assert totals == (21, 7)
    assert seen == [0, 1, 3, 6, 10, 15, 21]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_leaves_the_old_file(tmp_path: Path, threads: int) -> None:
    (tmp_path / "out").write_text("old", encoding="utf-8")

    def work(block: int) -> Processed:
        if block == 3:
            raise ValueError("block 3")
        return Processed(b"new", (1,))

    with pytest.raises(ValueError, match="block 3"):
        process_file(range(9), work, tmp_path / "out", threads=threads)
    assert (tmp_path / "out").read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_no_blocks_make_an_empty_file(tmp_path: Path) -> None:
    assert process_file([], lambda block: Processed(b"", (0,)), tmp_path / "out") == ()
    assert (tmp_path / "out").read_bytes() == b""


def test_few_blocks_are_in_memory() -> None:
    read, lock, done = [0], threading.Lock(), [0]

    def blocks() -> Iterator[int]:
        for k in range(50):
            with lock:
                read[0] += 1
                assert read[0] - done[0] <= 2 + 2
            yield k

    for k, found in enumerate(map_in_order(lambda block: block * 2, blocks(), 2)):
        assert found == 2 * k
        with lock:
            done[0] += 1
    assert done == [50]
