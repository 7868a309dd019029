"""Early update against max-violation by size of the training data, by sentence length, in a fixed order, and with
cut-offs.

All cells have what the published comparison had: heads alone, basic templates, merging of states, a beam of 8, one
sentence after the other. They are part of the record of the parsing study.
"""

from __future__ import annotations

import contextlib
import itertools
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from palmette.data import Treebank
from palmette.training import trainer
from studies.common import Cell, Record, markdown, mean
from studies.parsing_page import SMALL, SMALL_DEV, UNLABELLED, reached

COMPARED = ("early", "max-violation")
SIZES = (3000, 6000)  # 1,500 and 12,544 are stages of their own, with three seeds
LONG = 22  # words
CUTS = (1, 3)  # features of fewer gold states are left out; 0, as elsewhere, keeps those of wrong states too
SEEDS = (1, 2, 3)
MORE_SEEDS = (4, 5)  # of the whole training data: with three the difference was left undecided
PART = 600  # training sentences of either length
Trained = Callable[..., tuple[Any, Cell]]
Bank = Callable[[str], Treebank]


def _settings(update: str, seed: int, cut: int = 0) -> dict[str, Any]:
    return {"features": "basic", "merge": True, "update": update, "seed": seed, "min_count": cut}


def of_length(bank: Treebank, long: bool, most: int | None = None) -> Treebank:
    """The first sentences of at least LONG words, or of fewer."""
    words = np.diff(bank.offset)
    return bank.take(np.flatnonzero((words >= LONG) == long)[:most])


@contextlib.contextmanager
def fixed_order() -> Iterator[None]:
    """Every pass takes the sentences in the order of the file."""
    usual = trainer.shuffled
    trainer.shuffled = lambda seed, number, n: np.arange(n)  # type: ignore[assignment]
    try:
        yield
    finally:
        trainer.shuffled = usual


def run(record: Record, heads: Bank, trained: Trained) -> None:
    """Cells by size, by length, in a fixed order and with cut-offs, then more seeds of the whole training data. heads:
    from a part of the treebank to its trees without relations; trained: a training and its figures."""

    def one(train: Treebank, dev: Treebank, update: str, seed: int, cut: int = 0) -> Cell:
        return trained(train, dev, UNLABELLED[update], **_settings(update, seed, cut))[1]

    def few(update: str, seed: int, cut: int = 0) -> Cell:
        return one(heads("train").take(np.arange(SMALL)), heads("dev").take(np.arange(SMALL_DEV)), update, seed, cut)

    def in_order(update: str, seed: int) -> Cell:
        with fixed_order():
            return few(update, seed)

    def by_length(long: bool, update: str, seed: int) -> Cell:
        return one(of_length(heads("train"), long, PART), of_length(heads("dev"), long), update, seed)

    def by_size(size: int, update: str, seed: int) -> Cell:
        return one(heads("train").take(np.arange(size)), heads("dev"), update, seed)

    for seed, update in itertools.product(SEEDS, COMPARED):
        own = {"update": update, "seed": seed}
        for long in (True, False):
            record.cell({"stage": "length", "long": long} | own, lambda w=long, o=own: by_length(w, **o))
        record.cell({"stage": "fixed order"} | own, lambda o=own: in_order(**o))
        for cut in CUTS:
            record.cell({"stage": "cut-off", "min_count": cut} | own, lambda c=cut, o=own: few(cut=c, **o))
        for size in SIZES:
            record.cell({"stage": "curve", "trees": size} | own, lambda n=size, o=own: by_size(n, **o))
    for seed, update in itertools.product(MORE_SEEDS, COMPARED):
        own = {"update": update, "seed": seed}
        record.cell({"stage": "unlabelled"} | own, lambda o=own: one(heads("train"), heads("dev"), **o))


# --- the page -----------------------------------------------------------------------------------------------


def part(record: Record) -> str:
    """Sections of the page, with what was not run."""
    few = {"stage": "few unlabelled"}
    sizes = {"1,500 (800 dev sentences)": few}
    sizes |= {f"{size:,}": {"stage": "curve", "trees": size} for size in SIZES}
    sizes |= {"12,544": {"stage": "unlabelled"}}
    lengths = {f"{LONG} words and more": {"stage": "length", "long": True},
               f"fewer than {LONG} words": {"stage": "length", "long": False}}  # fmt: skip
    orders = {"shuffled before each pass": few, "fixed": {"stage": "fixed order"}}
    cuts = {"0: all, also those of wrong states": few} | {str(n): {"stage": "cut-off", "min_count": n} for n in CUTS}
    parts = {"trees": sizes, "sentences": lengths, "order": orders, "cut-off": cuts}
    tables = [markdown(_head(name), [_row(record, *row) for row in rows.items()]) for name, rows in parts.items()]
    return "\n\n".join((
        "## Early and max-violation by size of the training data",
        f"Heads alone, basic templates, merging of states, beam 8, at most {UNLABELLED['early']} passes of early and "
        f"{UNLABELLED['max-violation']} of max-violation; best UAS on dev. Gap: early minus max-violation.",
        tables[0],
        "## By sentence length",
        f"The same, trained on the first {PART} training sentences of a length and scored on all dev sentences of it.",
        tables[1],
        "## A fixed order of the training sentences",
        f"The same, the first {SMALL:,} trees and {SMALL_DEV} dev sentences.",
        tables[2],
        "## Cut-offs of features",
        "The same sentences; features that occur in fewer states of the gold derivations are left out (`--min-count`; "
        "with rich templates: [rare features](../parsing.md#rare-features)).",
        tables[3],
        *_not_run(record, parts),
    ))  # fmt: skip


def _not_run(record: Record, parts: dict[str, dict[str, Cell]]) -> list[str]:
    """A sentence on rows that lack cells or have fewer seeds than others."""
    short: dict[int, list[str]] = {}
    for part, rows in parts.items():
        for name, what in rows.items():
            many = min(len(record.some(update=update, **what)) for update in COMPARED)
            if many < len(SEEDS):
                short.setdefault(many, []).append(f"{part} {name}")
    told = [f"{n or 'none'} for {', '.join(names)}" for n, names in sorted(short.items())]
    return [f"Of {len(SEEDS)} seeds there was time for {'; '.join(told)}."] if told else []


def _head(first: str) -> list[str]:
    return [first, "seeds", "early", "pass", "max-violation", "pass", "gap", "passes of max-violation to its best",
            "passes of early to that"]  # fmt: skip


def _row(record: Record, name: str, what: Cell) -> list[str]:
    cells = {update: record.some(update=update, **what) for update in COMPARED}
    if not all(cells.values()):
        return [name, "0", "not run", "", "not run", "", "", "", ""]
    figures = []
    for own in cells.values():
        best = [max(c["uas"]) for c in own]
        figures += [mean(best), f"{statistics.mean(c['uas'].index(max(c['uas'])) + 1 for c in own):.0f}"]
    early, other = (
        [statistics.mean(v) for v in zip(*(c["uas"] for c in cells[update]), strict=True)] for update in COMPARED
    )
    gap = statistics.mean(max(c["uas"]) for c in cells["early"]) - statistics.mean(
        max(c["uas"]) for c in cells["max-violation"]
    )
    level = max(other)
    told = reached(early, level)
    return [name, str(min(map(len, cells.values()))), *figures, f"{gap:+.2f}", str(reached(other, level)),
            str(told) if told else "never"]  # fmt: skip
