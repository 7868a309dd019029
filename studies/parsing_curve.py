"""Early update against max-violation by size of the training data, by sentence length, and in a fixed order.

All cells have what the published comparison had: heads alone, basic templates, merging of states, a beam of 8, one
sentence after the other. They are part of the record of the parsing study.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from palmette import Treebank
from palmette.training import trainer
from studies.common import Cell, Record, markdown, mean
from studies.parsing_page import SMALL, SMALL_DEV, UNLABELLED, reached

COMPARED = ("early", "max-violation")
SIZES = (3000, 6000)  # 1,500 and 12,544 are stages of their own, with three seeds
LONG = 22  # words
PART = 600  # training sentences of either length
Trained = Callable[..., tuple[Any, Cell]]
Bank = Callable[[str], Treebank]


def _settings(update: str, seed: int) -> dict[str, Any]:
    return {"features": "basic", "merge": True, "update": update, "seed": seed}


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
    """Cells by size, by length and in a fixed order. heads: from a part of the treebank to its trees without relations;
    trained: a training and its figures."""

    def one(train: Treebank, dev: Treebank, update: str) -> Cell:
        return trained(train, dev, UNLABELLED[update], **_settings(update, 1))[1]

    def in_order(update: str) -> Cell:
        with fixed_order():
            return one(heads("train").take(np.arange(SMALL)), heads("dev").take(np.arange(SMALL_DEV)), update)

    for long in (True, False):
        for update in COMPARED:
            what = {"stage": "length", "long": long, "update": update, "seed": 1}
            record.cell(
                what,
                lambda w=long, u=update: one(of_length(heads("train"), w, PART), of_length(heads("dev"), w), u),
            )
    for update in COMPARED:
        record.cell({"stage": "fixed order", "update": update, "seed": 1}, lambda u=update: in_order(u))
    for size in SIZES:
        for update in COMPARED:
            what = {"stage": "curve", "trees": size, "update": update, "seed": 1}
            record.cell(what, lambda n=size, u=update: one(heads("train").take(np.arange(n)), heads("dev"), u))


# --- the page -----------------------------------------------------------------------------------------------


def part(record: Record) -> str:
    """Sections of the page, with what was not run."""
    sizes = [("1,500 (800 dev sentences)", {"stage": "few unlabelled"})]
    sizes += [(f"{size:,}", {"stage": "curve", "trees": size}) for size in SIZES]
    sizes += [("12,544", {"stage": "unlabelled"})]
    lengths = [(f"{LONG} words and more", {"stage": "length", "long": True}),
               (f"fewer than {LONG} words", {"stage": "length", "long": False})]  # fmt: skip
    orders = [
        ("shuffled before each pass", {"stage": "few unlabelled", "seed": 1}),
        ("fixed", {"stage": "fixed order"}),
    ]
    return "\n\n".join((
        "## Early and max-violation by size of the training data",
        f"Heads alone, basic templates, merging of states, beam 8, at most {UNLABELLED['early']} passes of early and "
        f"{UNLABELLED['max-violation']} of max-violation; best UAS on dev. Gap: early minus max-violation.",
        markdown(_head("trees"), [_row(record, name, what) for name, what in sizes]),
        "## By sentence length",
        f"The same, trained on the first {PART} training sentences of a length and scored on all dev sentences of it, "
        "one seed.",
        markdown(_head("sentences"), [_row(record, name, what) for name, what in lengths]),
        "## A fixed order of the training sentences",
        f"The same, the first {SMALL:,} trees and {SMALL_DEV} dev sentences, one seed.",
        markdown(_head("order"), [_row(record, name, what) for name, what in orders]),
        "Not run: cut-offs for templates (`--min-count`), and more than one seed of the last three sections.",
    ))  # fmt: skip


def _head(first: str) -> list[str]:
    return [first, "seeds", "early", "pass", "max-violation", "pass", "gap", "passes of max-violation to its best",
            "passes of early to that"]  # fmt: skip


def _row(record: Record, name: str, what: Cell) -> list[str]:
    cells = {update: record.some(update=update, **what) for update in COMPARED}
    if not all(cells.values()):
        return [name, "—", "not run", "", "not run", "", "", "", ""]
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
    return [name, str(len(cells["early"])), *figures, f"{gap:+.2f}", str(reached(other, level)),
            str(told) if told else "never"]  # fmt: skip
