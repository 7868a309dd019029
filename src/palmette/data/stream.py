"""Files of any size in bounded memory: cut into blocks between sentences, worked on by threads, written whole or not
at all.

`process_file` is the one loop that tagging, parsing and classifying a file go through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import chain, islice
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeVar

from palmette.data.files import FilePath, shown
from palmette.data.text import PLAIN, SENTENCE, UTF8, TextSpec, n_line_ends, text_blocks, write_text
from palmette.errors import DataError
from palmette.options.spelling import spelt

if TYPE_CHECKING:
    from concurrent.futures import Future

BLOCK = 1 << 20
"""Bytes of a block, about."""

Progress = Callable[[int], None]
"""Called after each block with the first count so far, such as the number of tokens."""

_Block = TypeVar("_Block")
_Result = TypeVar("_Result")


# Reading


class Cut(NamedTuple):
    """Where bytes of whole lines may be cut: after the position that `last` returns; 0: nowhere.

    `long` finds a place in more than one block without any, for sentences that do not end at line ends. The first block
    is held back until `ready` accepts it.
    """

    last: Callable[[bytes], int]
    long: Callable[[bytes], int] | None = None
    ready: Callable[[bytes], object] = bool


def after_blank_line(data: bytes) -> int:
    """The position after the last blank line."""
    at = len(data)
    while at > 0:
        start = data.rfind(b"\n", 0, at - 1) + 1
        if not data[start : at - 1].removesuffix(b"\r").strip(b" \t"):
            return at
        at = start
    return 0


BLANK_LINES = Cut(after_blank_line)
LINES = Cut(len)


def cut_blocks(path: FilePath, cut: Cut, block: int = BLOCK, spec: TextSpec = PLAIN) -> Iterator[tuple[int, bytes]]:
    """Pieces of the file that end between sentences, each with the number of its first line; DataError if a sentence
    does not end in SENTENCE times as many bytes as a line may have.

    Every byte is looked at once: `whole` holds lines without a place to cut, `tail` the start of the last line."""
    line = 1
    whole: list[bytes] = []
    tail: list[bytes] = []
    limit = block
    for piece in text_blocks(path, spec, block):
        end = piece.rfind(b"\n") + 1
        if end == 0:
            tail.append(piece)
            continue
        fresh = b"".join([*tail, piece[:end]])
        tail = [piece[end:]]
        at = cut.last(fresh)
        if at == 0 and cut.long is not None and sum(map(len, whole)) + len(fresh) >= limit:
            fresh = b"".join([*whole, fresh])
            whole = []
            at = cut.long(fresh)
            limit = block if at else 2 * len(fresh)
        if at == 0:
            whole.append(fresh)
            if sum(map(len, whole)) > SENTENCE * spec.max_line:
                raise _endless(shown(path), line, spec)
            continue
        data = b"".join([*whole, fresh[:at]])
        whole = [fresh[at:]]
        if line == 1 and not cut.ready(data):
            whole.insert(0, data)
            continue
        yield line, data
        line += n_line_ends(data)
    if rest := b"".join([*whole, *tail]):
        yield line, rest


def _endless(file: str, line: int, spec: TextSpec) -> DataError:
    return DataError(
        f"a sentence that begins here has no end within {SENTENCE * spec.max_line:,} bytes", file=file, line=line,
        hint="sentences end with a blank line; if they are that long, allow a quarter of their bytes: "
        + spelt(TextSpec, "max_line"),
    )  # fmt: skip


# Working and writing


class Processed(NamedTuple):
    """The output for one block, and its counts, which are summed over all blocks."""

    data: bytes
    counts: tuple[int, ...]


def process_file(
    blocks: Iterable[_Block],
    work: Callable[[_Block], Processed],
    target: FilePath,
    *,
    threads: int = 1,
    progress: Progress | None = None,
    encoding: str = UTF8,
    opened: Callable[[FilePath, str], AbstractContextManager[BinaryIO]] = write_text,
    flush: bool = False,
) -> tuple[int, ...]:
    """Write work(block) for every block, in order, to `target`: whole or not at all. Returns the sums of the counts.
    The data of a block is UTF-8; it is written in `encoding`. `opened` opens the target. `flush`: a reader of standard
    output gets each block at once.

    `work` runs on several threads at once and must not change shared state. Few blocks are in memory at a time."""
    totals: tuple[int, ...] = ()
    with opened(target, encoding) as out:
        for data, counts in map_in_order(work, blocks, threads):
            out.write(data)
            if flush:
                out.flush()
            totals = tuple(map(sum, zip(totals, counts, strict=True))) if totals else counts
            if progress is not None:
                progress(totals[0])
    return totals


def map_in_order(work: Callable[[_Block], _Result], blocks: Iterable[_Block], threads: int) -> Iterator[_Result]:
    """work(block) for each block, in order, on several threads; at most threads + 1 blocks are pending."""
    if threads <= 1:
        yield from map(work, blocks)
        return
    rest = iter(blocks)
    begun = list(islice(rest, 2))
    blocks = chain(begun, rest)
    if len(begun) < 2:  # no thread is started for one block
        yield from map(work, blocks)
        return
    from collections import deque
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        pending: deque[Future[_Result]] = deque()
        for block in blocks:
            pending.append(pool.submit(work, block))
            if len(pending) > threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
