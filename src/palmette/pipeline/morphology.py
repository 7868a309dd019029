"""XPOS and FEATS of words that have UPOS: bundles of parts.

A label is what a word has in both fields. Its parts are its XPOS, each of its categories (`Case=Gen`) and its FEATS as
a whole. A word gets a label that the treebank has with its UPOS; a word that the treebank has often with this UPOS gets
one of those that it has there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
import numpy as np

from palmette.data import array_specs
from palmette.data.array_specs import ArraySpec
from palmette.data.corpus import Column, column_of_strings
from palmette.data.model_file import AGAIN, check_text, read_metadata
from palmette.data.treebank import NOTHING, Treebank
from palmette.errors import DataError, ModelError
from palmette.features.encode import Encoder, hash_optional
from palmette.features.named import named_text
from palmette.features.resources import Resources
from palmette.features.templates import parse
from palmette.pipeline.bundles import (
    LARGEST,
    BundleMeta,
    BundleModel,
    Lesson,
    Rising,
    Schedule,
    bundle_from_parts,
    bundle_parts,
    learn_bundles,
    lists_of,
)
from palmette.pipeline.chains import corpus_of
from palmette.pipeline.kernels.bundles import Bundles
from palmette.pipeline.known_words import SHORT, WordMemo, keys_of_cells, looked_up, lower, mixed
from palmette.training.result import Progress

READ = ("form", "upos")
FIELDS = ("xpos", "feats")
PARTS = {
    "both": "categories, and FEATS as a whole",
    "categories": "categories alone",
    "whole": "FEATS as a whole alone",
}
CONTEXTS = {
    "wide": "two words to each side, and pairs of words",
    # For treebanks that are small or whose words change much
    "near": "the neighbouring words, each by itself, and endings without their vowels",
}
PASSES = 8
CAP = 0.1
MIN_COUNT = 2  # of attributes: those that occur once say more about the treebank than about others

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
# Chains of suffixes, as Turkish has them, are long.
_LONG_SUFFIXES = "".join(f"U{62 + n}:%x[0,0,lower.suffix{n}]\n" for n in range(6, 10)) + "".join(
    f"U{71 + n}:%x[0,1]/%x[0,0,lower.suffix{n}]\n" for n in (1, *range(4, 10))
)
# Endings that vowel harmony changes are one without their vowels.
_SKELETONS = "".join(
    f"U{80 + n}:%x[0,0,skeleton.suffix{n}]\nU{90 + n}:%x[0,1]/%x[0,0,skeleton.suffix{n}]\n" for n in range(2, 10)
)


_PLACE = re.compile(r"%x\[(-?\d+),(\d+)")


def templates_text(context: str = "wide") -> str:
    """The templates of one of CONTEXTS, in the syntax of CRF++."""
    text = named_text("pos", 0, 1) + _TAG_TEXT + _LONG_SUFFIXES
    if context == "wide":
        return text
    return "".join(line for line in text.splitlines(True) if _is_near(line)) + _SKELETONS


def _is_near(line: str) -> bool:
    """Whether a template reads at most the neighbours of a word, and not two words together but their UPOS."""
    places = {(int(row), column) for row, column in _PLACE.findall(line)}
    rows = {row for row, _ in places}
    return all(abs(row) <= 1 for row in rows) and (len(rows) < 2 or all(column == "1" for _, column in places))


class KnownWords(NamedTuple):
    """Words that keep to some labels."""

    key: np.ndarray  # u64[]  of form and UPOS, rising
    group: np.ndarray  # i32[]


class Morphology:
    """A trained model of XPOS and FEATS, or of one of them."""

    def __init__(
        self, fields: Sequence[str], labels: list[tuple[str, ...]], upos: list[str], words: KnownWords,
        model: BundleModel, parts: str,
    ) -> None:  # fmt: skip
        self.fields = tuple(fields)
        self.labels = labels  # each a cell per field
        self.upos = upos  # the group of each has its number; the next one is that of any other UPOS
        self.words = words
        self.model = model
        self.parts = parts  # one of PARTS

    def with_model(self, model: BundleModel) -> Morphology:
        """The same labels and words with other weights."""
        return Morphology(self.fields, self.labels, self.upos, self.words, model, self.parts)

    def apply(self, treebank: Treebank) -> Treebank:
        """The treebank with XPOS and FEATS."""
        found = self.model.tag(corpus_of(treebank, READ), self._groups(treebank))
        for field, cells in zip(self.fields, self._cells, strict=True):
            treebank = treebank.with_column(field, cells.with_ids(cells.ids[found]))
        return treebank

    @cached_property
    def _cells(self) -> list[Column]:
        """What the labels have in each field."""
        return [column_of_strings(cells) for cells in zip(*self.labels, strict=True)]

    def _groups(self, treebank: Treebank) -> np.ndarray:
        """The group i32[N] of each word."""
        if treebank.n_tokens <= SHORT:
            words = list(zip(*(treebank.column(field).cells() for field in READ), strict=True))
            return np.array(self._memo.of(words), np.int32)
        return self._groups_of(*(treebank.column(field) for field in READ))

    @cached_property
    def _memo(self) -> WordMemo[tuple[str, ...], int]:
        def groups(words: list[tuple[str, ...]]) -> list[int]:
            found: list[int] = self._groups_of(*map(column_of_strings, zip(*words, strict=True))).tolist()
            return found

        return WordMemo(groups)

    def _groups_of(self, form: Column, upos: Column) -> np.ndarray:
        number = {tag: k for k, tag in enumerate(self.upos)}
        group = np.array([number.get(tag, len(number)) for tag in upos.types], np.int32)[upos.ids]
        if not self.words.key.size:
            return group
        pairs, inverse = np.unique(form.ids * np.int64(len(upos.types)) + upos.ids, return_inverse=True)
        forms, tags = pairs // len(upos.types), pairs % len(upos.types)
        place = looked_up(self.words.key, mixed(form.hash[forms], upos.hash[tags]))
        small, _ = hash_optional([lower(cell) for cell in form.types])
        place = np.where(place < 0, looked_up(self.words.key, mixed(small[forms], upos.hash[tags])), place)[inverse]
        return np.where(place < 0, group, self.words.group[place])


def parts_of(label: Sequence[str], fields: Sequence[str], which: str) -> list[str]:
    """The names of the parts of a label, at least one: a label of FEATS alone that has no category is its own part."""
    made: list[str] = []
    for field, cell in zip(fields, label, strict=True):
        if field != "feats" or which != "categories":
            made.append(f"{field} {cell}")
        if field == "feats" and which != "whole" and cell != NOTHING:
            made += cell.split("|")
    return list(dict.fromkeys(made)) or [f"feats {NOTHING}"]


def numbered_parts(labels: Iterable[Sequence[str]], fields: Sequence[str], which: str) -> list[list[int]]:
    """The parts of each label as numbers, by first occurrence."""
    names: dict[str, int] = {}
    return [[names.setdefault(part, len(names)) for part in parts_of(label, fields, which)] for label in labels]


def learn_morphology(
    treebank: Treebank, fields: Sequence[str], *, parts: str = "both", context: str = "wide",
    passes: int | None = None, seed: int = 1, progress: Progress | None = None,
) -> Morphology:  # fmt: skip
    """The model of a treebank with gold UPOS, of one of PARTS and CONTEXTS. No word keeps to labels yet; see
    `with_known_words`."""
    labels = list(dict.fromkeys(_cells(treebank, fields)))
    gold = _numbers(treebank, fields, labels)
    upos = treebank.column("upos")
    groups = [np.unique(gold[upos.ids == k]).tolist() for k in range(len(upos.types))]
    groups.append(list(range(len(labels))))
    rows = numbered_parts(labels, fields, parts)
    if max(map(max, rows)) > LARGEST:
        raise DataError(
            f"{len(labels):,} different pairs of XPOS and FEATS are too many", file=treebank.corpus.source,
            hint="are these columns XPOS and FEATS?",
        )  # fmt: skip
    lesson = Lesson(Bundles(*lists_of(rows), *lists_of(groups)), gold, upos.ids)
    encoder = Encoder(parse(templates_text(context), "morphology", "crfpp"), Resources())
    schedule = Schedule(passes or PASSES, seed, CAP, MIN_COUNT)
    model = learn_bundles(corpus_of(treebank, READ), encoder, lesson, schedule, progress)
    none = KnownWords(np.zeros(0, np.uint64), np.zeros(0, np.int32))
    return Morphology(fields, labels, upos.types, none, model, parts)


def with_known_words(made: Morphology, treebank: Treebank, known: int | None) -> Morphology:
    """The model with words that keep to the labels that they have in its treebank: those that occur so often with their
    UPOS; None: no word does."""
    if known is None:
        return made
    form, upos = (treebank.column(field) for field in READ)
    gold = _numbers(treebank, made.fields, made.labels)
    seen: dict[tuple[int, int], Counter[int]] = {}
    for f, u, y in zip(form.ids.tolist(), upos.ids.tolist(), gold.tolist(), strict=True):
        seen.setdefault((f, u), Counter())[y] += 1
    bundles = made.model.bundles
    before = bundles.begin.size - 1
    sets: dict[tuple[int, ...], int] = {}
    entries: dict[tuple[str, str], int] = {}
    for (f, u), counts in seen.items():
        if counts.total() >= known:
            entries[form.types[f], upos.types[u]] = sets.setdefault(tuple(sorted(counts)), before + len(sets))
    key, first = np.unique(keys_of_cells(entries), return_index=True)
    group = np.array(list(entries.values()), np.int32)[first]
    begin, member = lists_of(list(sets))
    more = bundles._replace(
        begin=np.concatenate((bundles.begin, bundles.begin[-1] + begin[1:])),
        member=np.concatenate((bundles.member, member)),
    )
    model = msgspec.structs.replace(made.model, bundles=more)
    return Morphology(made.fields, made.labels, made.upos, KnownWords(key, group), model, made.parts)


def _cells(treebank: Treebank, fields: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(treebank.column(field).cells() for field in fields), strict=True)


def _numbers(treebank: Treebank, fields: Sequence[str], labels: Sequence[tuple[str, ...]]) -> np.ndarray:
    """The number i32[N] of the label of each word."""
    number = {label: k for k, label in enumerate(labels)}
    return np.array([number[label] for label in _cells(treebank, fields)], np.int32)


# The model of XPOS and FEATS as arrays and metadata, to and from a file.

WORDS = (
    ArraySpec("word.key", np.uint64, ("words",), rules=(Rising(),)),
    ArraySpec("word.group", np.int32, ("words",), low=0, high="groups"),
)


class MorphologyMeta(msgspec.Struct, frozen=True):
    """The metadata that is stored with the arrays."""

    fields: list[str]
    labels: list[list[str]]  # each a cell per field
    upos: list[str]
    parts: str
    model: BundleMeta


def morphology_parts(made: Morphology) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the metadata of a model."""
    arrays, model = bundle_parts(made.model)
    meta = {
        "fields": list(made.fields),
        "labels": [list(label) for label in made.labels],
        "upos": made.upos,
        "parts": made.parts,
        "model": model,
    }
    return arrays | {"word.key": made.words.key, "word.group": made.words.group}, meta


def morphology_from_parts(arrays: Mapping[str, np.ndarray], meta: dict[str, Any], source: str) -> Morphology:
    """The model of arrays and metadata as `morphology_parts` gives them, all of them checked."""
    stored = read_metadata(meta, MorphologyMeta, "morphology", source)
    _check(stored, source)
    labels = [tuple(label) for label in stored.labels]
    rest = {name: array for name, array in arrays.items() if not name.startswith("word.")}
    rows = numbered_parts(labels, stored.fields, stored.parts)
    model = bundle_from_parts(rest, stored.model, rows, len(READ), source)
    groups = model.bundles.begin.size - 1
    found = array_specs.unpack(arrays, WORDS, {"groups": groups}, source)
    if groups <= len(stored.upos):
        raise ModelError("damaged model: a tag has no group of labels", file=source, hint=AGAIN)
    return Morphology(stored.fields, labels, stored.upos, KnownWords(*found.values()), model, stored.parts)


def _check(stored: MorphologyMeta, source: str) -> None:
    fields = stored.fields
    cells = [cell for label in stored.labels for cell in label]
    check_text([*cells, *stored.upos], "a label", source)
    good = fields and set(fields) <= set(FIELDS) and len(set(fields)) == len(fields) and stored.parts in PARTS
    if not good or any(len(label) != len(fields) for label in stored.labels):
        raise ModelError("damaged model: labels of other fields than XPOS and FEATS", file=source, hint=AGAIN)
    if any(not cell or any(mark in cell for mark in "\t\n\r") for cell in cells):
        raise ModelError("damaged model: a label that cannot be written", file=source, hint=AGAIN)
