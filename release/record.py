"""Record kernel calls of real work: what goes in and what comes out, for `replay.c` on other systems.

    python release/record.py calls.bin

A call is a graph of blocks of memory: the words of its arguments, structs and arrays. A block has its bytes before the
call and after it, and the places where it holds the address of another block. One call per kernel is recorded, the
smallest of those with a thousand bytes, if it fits into LIMIT bytes.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import math
import struct
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from palmette.kernels.core import native
from palmette.kernels.core.types import ArrayType, StructType, leaves, n_words

LIMIT = 20_000_000  # bytes of a call
ENOUGH = 1000
CLOCK = "spent"  # an array of processor cycles (core/team.py), which are never the same


class Call:
    """The blocks of one call: block 0 has the arguments."""

    def __init__(self) -> None:
        self.before: list[bytes] = []
        self.places: list[list[tuple[int, int]]] = []  # where a block holds the address of which
        self.arrays: dict[int, np.ndarray] = {}
        self.clocks: set[int] = set()

    def block(self, data: bytes) -> int:
        self.before.append(data)
        self.places.append([])
        return len(self.before) - 1

    def overlap(self) -> bool:
        """Whether arrays share memory, which blocks do not."""
        spans = sorted((array.ctypes.data, array.ctypes.data + array.nbytes) for array in self.arrays.values())
        return any(after[0] < before[1] for before, after in itertools.pairwise(spans))

    def struct(self, kind: StructType, value: Any, words: bytes) -> int:
        """A block with the words of a struct."""
        number, at = self.block(words), 0
        for (name, leaf), inner in zip(leaves(kind), _flat(kind, value), strict=True):
            if isinstance(leaf, ArrayType):
                self.places[number].append((at, self.array(inner)))
                if name.endswith(CLOCK):
                    self.clocks.add(self.places[number][-1][1])
            at += 8 * n_words(leaf)
        return number

    def array(self, array: np.ndarray) -> int:
        for number, known in self.arrays.items():
            if known.ctypes.data == array.ctypes.data and known.nbytes == array.nbytes:
                return number
        number = self.block(array.tobytes())
        self.arrays[number] = array
        return number


def _flat(kind: Any, value: Any) -> list[Any]:
    """Values in the order of the words."""
    if isinstance(kind, StructType):
        return [leaf for (_, own), inner in zip(kind.fields, value, strict=True) for leaf in _flat(own, inner)]
    return [value]


def _recorded(kernel: Any, arguments: tuple[Any, ...]) -> tuple[Call, bytes]:
    """Run a kernel; its call, and the words of its results."""
    packed, alive = kernel._packed(arguments)
    call, at = Call(), 0
    call.block(packed)
    for (_, kind), value in zip(kernel._signature.arguments, arguments, strict=True):
        if isinstance(kind, StructType):
            _, _, buffer = native.bound(kind, value, "")
            call.places[0].append((at, call.struct(kind, value, bytes(buffer))))
            at += 8
        elif isinstance(kind, ArrayType):
            call.places[0].append((at, call.array(value)))
            at += 8 * n_words(kind)
        else:
            at += 8
    out = (ctypes.c_int64 * kernel._n_results)()
    if kernel._function(packed, out):
        raise kernel._out_of_memory()
    del alive
    return call, bytes(out)


def _result_arrays(kind: Any, words: Sequence[int], at: int = 0) -> Iterator[tuple[int, bytes]]:
    """Where the results have an array (its owner, its address, its lengths), and its bytes."""
    for _, leaf in leaves(kind):
        if isinstance(leaf, ArrayType):
            size = math.prod(words[at + 2 : at + 2 + leaf.ndim]) * np.dtype(leaf.dtype).itemsize
            yield at, ctypes.string_at(words[at + 1], size) if size else b""
            at += 1
        at += n_words(leaf)


def _written(name: str, call: Call, results: bytes, arrays: list[tuple[int, bytes]]) -> bytes:
    """Length and name; results, and the arrays among them; blocks: sizes, number of places, places, bytes before and
    after. Blocks of words, whose addresses differ, are not compared."""
    parts = [struct.pack("<qqq", len(name), len(results), len(arrays)), name.encode(), results]
    for at, data in arrays:
        parts += [struct.pack("<qq", at, len(data)), data]
    parts.append(struct.pack("<q", len(call.before)))
    for number, before in enumerate(call.before):
        places = call.places[number]
        after = call.arrays[number].tobytes() if number in call.arrays and number not in call.clocks else b""
        parts.append(struct.pack("<qqq", len(before), len(after), len(places)))
        parts += [*(struct.pack("<qq", at, target) for at, target in places), before, after]
    return b"".join(parts)


def record(work: Any) -> dict[str, bytes]:
    """Do some work; the calls by kernel."""
    kept: dict[str, bytes] = {}
    kernel_class: Any = native.NativeKernel
    plain = kernel_class.__call__, kernel_class.prepare

    def call(kernel: Any, *arguments: Any) -> Any:
        kernel._packed(arguments)  # binds it
        made, words = _recorded(kernel, arguments)
        result, numbers = kernel._signature.result, struct.unpack(f"={len(words) // 8}q", words)
        size, name = sum(map(len, made.before)), kernel.__name__
        if ENOUGH <= size <= LIMIT and not made.overlap():
            written = _written(name, made, words, list(_result_arrays(result, numbers)))
            if name not in kept or len(written) < len(kept[name]):
                kept[name] = written
        return None if result is None else native._result(result, iter(numbers), arguments)

    kernel_class.__call__ = call
    kernel_class.prepare = lambda kernel, *arguments: functools.partial(call, kernel, *arguments)
    try:
        work()
    finally:
        kernel_class.__call__, kernel_class.prepare = plain
    return kept


WORK = (
    "demo",
    "demo --dataset trees",
    "train train.txt -o a.palm --passes 2 --seed 1 -q",
    "tag a.palm test.txt -o a.txt -q",
    "tag a.palm test.txt -o n.txt --nbest 3 -q",
    "train train.txt -o b.palm --learner perceptron --passes 2 --seed 1 -q",
    "train train.txt -o c.palm --learner crf --iterations 5 -q",
    "tag c.palm test.txt -o c.txt -q",
    "parser train trees.conllu -o p.palm --passes 2 --seed 1 -q",
    "parser parse p.palm trees_test.conllu -o p.conllu -q",
)


def some_work() -> None:
    """Train and use taggers, a CRF and a parser on the sentences of the demo."""
    from palmette.cli import main

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for line in WORK:
            sys.argv = ["palmette", *line.split()]
            try:
                main()
            except SystemExit as end:
                if end.code:
                    raise


if __name__ == "__main__":
    out = Path(sys.argv[1]).resolve()
    found = record(some_work)
    out.write_bytes(struct.pack("<q", len(found)) + b"".join(found[name] for name in sorted(found)))
    print(f"{len(found)} kernels: {' '.join(sorted(found))}")
