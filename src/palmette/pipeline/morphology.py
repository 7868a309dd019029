"""XPOS and FEATS of words that have UPOS: bundles of parts.

A label is what a word has in both fields. Its parts are its XPOS, each of its categories (`Case=Gen`) and its FEATS as
a whole. A word gets a label that the treebank has with its UPOS; a word that the treebank has with this UPOS gets one
of those that it has there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import column_of_strings, column_of_types
from palmette.data.treebank import NOTHING, Treebank
from palmette.features.encode import Encoder
from palmette.features.named import named_text
from palmette.features.resources import Resources
from palmette.features.templates import parse
from palmette.kernels.bundle.forms import Bundles
from palmette.pipeline.bundles import BundleModel, Lesson, Schedule, learn_bundles, lists_of
from palmette.pipeline.chains import corpus_of
from palmette.pipeline.keys import keys_of_cells, looked_up, mixed
from palmette.training.result import Progress

READ = ("form", "upos")
FIELDS = ("xpos", "feats")
PARTS = {
    "both": "categories, and FEATS as a whole",
    "categories": "categories alone",
    "whole": "FEATS as a whole alone",
}
KNOWN = 3  # occurrences from which a word keeps to the labels that it has in the treebank
PASSES = 8
CAP = 0.1

# Column 1 is UPOS
_TAG_TEXT = """\
U50:%x[0,1]
U51:%x[-1,1]
U52:%x[1,1]
U53:%x[-2,1]/%x[-1,1]
U54:%x[1,1]/%x[2,1]
U55:%x[-1,1]/%x[0,1]
U56:%x[0,1]/%x[1,1]
U57:%x[-1,1]/%x[0,1]/%x[1,1]
U58:%x[-2,1]/%x[-1,1]/%x[0,1]
U59:%x[0,1]/%x[1,1]/%x[2,1]
U60:%x[0,1]/%x[0,0,lower]
U61:%x[0,1]/%x[0,0,lower.suffix2]
U62:%x[0,1]/%x[0,0,lower.suffix3]
U63:%x[0,1]/%x[-1,0,lower]
U64:%x[0,1]/%x[1,0,lower]
U65:%x[0,1]/%x[0,0,short_shape]
U66:%x[-1,1]/%x[0,0,lower]
U67:%x[0,0,lower]/%x[1,1]
"""


def templates_text() -> str:
    """The templates, in the syntax of CRF++."""
    return named_text("pos", 0, 1) + _TAG_TEXT


class Words(NamedTuple):
    """Words that keep to some labels."""

    key: np.ndarray  # u64[]  of form and UPOS, rising
    group: np.ndarray  # i32[]


class Morphology:
    """A trained model of XPOS and FEATS, or of one of them."""

    def __init__(
        self, fields: Sequence[str], labels: list[tuple[str, ...]], upos: list[str], words: Words, model: BundleModel,
        parts: str,
    ) -> None:  # fmt: skip
        self.fields = tuple(fields)
        self.labels = labels  # each a cell per field
        self.upos = upos  # the group of each has its number; the next one is that of any other UPOS
        self.words = words
        self.model = model
        self.parts = parts  # one of PARTS

    def apply(self, treebank: Treebank) -> Treebank:
        """The treebank with XPOS and FEATS."""
        found = self.model.tag(corpus_of(treebank, READ), self._groups(treebank))
        for k, field in enumerate(self.fields):
            cells = column_of_strings([label[k] for label in self.labels])
            treebank = treebank.with_column(field, column_of_types(cells.ids[found], cells.types))
        return treebank

    def _groups(self, treebank: Treebank) -> np.ndarray:
        """The group i32[N] of each word."""
        form, upos = (treebank.column(field) for field in READ)
        number = {tag: k for k, tag in enumerate(self.upos)}
        group = np.array([number.get(tag, len(number)) for tag in upos.types], np.int32)[upos.ids]
        pairs, inverse = np.unique(form.ids * np.int64(len(upos.types)) + upos.ids, return_inverse=True)
        forms, tags = pairs // len(upos.types), pairs % len(upos.types)
        place = looked_up(self.words.key, mixed(form.hash[forms], upos.hash[tags]))[inverse]
        return np.where(place >= 0, self.words.group[place], group) if self.words.key.size else group


def parts_of(label: Sequence[str], fields: Sequence[str], which: str) -> list[str]:
    """The names of the parts of a label."""
    made: list[str] = []
    for field, cell in zip(fields, label, strict=True):
        if field != "feats" or which != "categories":
            made.append(f"{field} {cell}")
        if field == "feats" and which != "whole" and cell != NOTHING:
            made += cell.split("|")
    return list(dict.fromkeys(made))


def numbered_parts(labels: Iterable[Sequence[str]], fields: Sequence[str], which: str) -> list[list[int]]:
    """The parts of each label as numbers, by first occurrence."""
    names: dict[str, int] = {}
    return [[names.setdefault(part, len(names)) for part in parts_of(label, fields, which)] for label in labels]


def learn_morphology(
    treebank: Treebank, fields: Sequence[str], *, parts: str = "both", passes: int | None = None, seed: int = 1,
    progress: Progress | None = None, known: int = KNOWN, cap: float = CAP, min_count: int = 1, text: str | None = None,
) -> Morphology:  # fmt: skip
    """The model of a treebank with gold UPOS."""
    numbers: dict[tuple[str, ...], int] = {}
    cells = zip(*(treebank.column(field).cells() for field in fields), strict=True)
    gold = np.array([numbers.setdefault(label, len(numbers)) for label in cells], np.int32)
    rows = numbered_parts(numbers, fields, parts)
    upos = treebank.column("upos")
    tags = upos.types
    lists = [np.unique(gold[upos.ids == k]).tolist() for k in range(len(tags))]
    lists.append(list(range(len(numbers))))
    lesson = Lesson(Bundles(*lists_of(rows), *lists_of(lists)), gold, upos.ids)
    encoder = Encoder(parse(text or templates_text(), "morphology", "crfpp"), Resources())
    schedule = Schedule(passes or PASSES, seed, cap, min_count)
    model = learn_bundles(corpus_of(treebank, READ), encoder, lesson, schedule, progress)
    words, lists = _words(treebank, gold, lists, known)
    bundles = model.bundles._replace(**dict(zip(("begin", "member"), lists_of(lists), strict=True)))
    return Morphology(fields, list(numbers), tags, words, model._replace(bundles=bundles), parts)


def _words(treebank: Treebank, gold: np.ndarray, lists: list[list[int]], known: int) -> tuple[Words, list[list[int]]]:
    """The words that occur often enough, and the groups with theirs added."""
    form, upos = (treebank.column(field) for field in READ)
    seen: dict[tuple[int, int], Counter[int]] = {}
    for f, u, y in zip(form.ids.tolist(), upos.ids.tolist(), gold.tolist(), strict=True):
        seen.setdefault((f, u), Counter())[y] += 1
    sets: dict[tuple[int, ...], int] = {}
    entries: dict[tuple[str, str], int] = {}
    for (f, u), counts in seen.items():
        if counts.total() >= known:
            own = tuple(sorted(counts))
            entries[form.types[f], upos.types[u]] = sets.setdefault(own, len(lists) + len(sets))
    key = keys_of_cells(entries)
    order = np.argsort(key, kind="stable")
    group = np.array(list(entries.values()), np.int32)
    return Words(key[order], group[order]), [*lists, *map(list, sets)]
