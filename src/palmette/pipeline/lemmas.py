"""`Lemmas`: the component of a pipeline that finds lemmas.

A lemma is an edit script of its form (`data/edit_scripts.py`). Pairs of a form and its tags that the treebank has keep
the script that is most frequent there, in a dictionary of hashes; of other words a classifier of single words chooses
one by affixes, shape and tags. All is done once for each distinct word and tags of a text.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import msgspec
import numpy as np

from palmette.data.array_specs import ArraySpec, RisingWithin, unpack
from palmette.data.corpus import Column, Corpus, column_of_strings, column_of_types
from palmette.data.edit_scripts import applied, is_script, lower, script_of
from palmette.data.model_file import AGAIN, check_text, read_metadata
from palmette.data.treebank import NOTHING, Treebank
from palmette.errors import ModelError, UsageError, not_fitted
from palmette.estimators.tagger import Tagger
from palmette.features.encode import hash_optional
from palmette.features.templates import parse
from palmette.options.learners import Arow
from palmette.pipeline.chains import accuracy, compacted, packed_chains, trained_chain, unpacked_chains
from palmette.structures.chain.model import ChainModel
from palmette.training.result import Progress

logger = logging.getLogger(__name__)
READ = ("form", "upos", "feats")
MODEL = "words"

_TEMPLATES = """\
U00:%x[0,0]
U01:%x[0,0,lower]
U02:%x[0,1]
U03:%x[0,2]
U04:%x[0,1]/%x[0,2]
U10:%x[0,1]/%x[0,0,lower.suffix1]
U11:%x[0,1]/%x[0,0,lower.suffix2]
U12:%x[0,1]/%x[0,0,lower.suffix3]
U13:%x[0,1]/%x[0,0,lower.suffix4]
U14:%x[0,1]/%x[0,0,lower.suffix5]
U15:%x[0,1]/%x[0,0,lower.prefix1]
U16:%x[0,1]/%x[0,0,lower.prefix2]
U17:%x[0,1]/%x[0,0,lower.prefix3]
U18:%x[0,1]/%x[0,0,lower.prefix4]
U20:%x[0,2]/%x[0,0,lower.suffix1]
U21:%x[0,2]/%x[0,0,lower.suffix2]
U22:%x[0,2]/%x[0,0,lower.suffix3]
U23:%x[0,2]/%x[0,0,lower.suffix4]
U30:%x[0,0,lower.suffix1]
U31:%x[0,0,lower.suffix2]
U32:%x[0,0,lower.suffix3]
U33:%x[0,0,lower.suffix4]
U34:%x[0,0,lower.suffix5]
U40:%x[0,0,short_shape]
U41:%x[0,1]/%x[0,0,short_shape]
U42:%x[0,1]/%x[0,0,length]
"""


class LemmasMeta(msgspec.Struct, frozen=True):
    """What is stored beside the arrays."""

    scripts: list[str]
    models: dict[str, Any]


DICTIONARY = (
    ArraySpec("dictionary.key", np.uint64, ("entries",)),
    ArraySpec("dictionary.script", np.int32, ("entries",), low=0, high="scripts"),
)


class Lemmas:
    """Lemmas of words that have tags."""

    def __init__(self, *, passes: int | None = None, seed: int = 1) -> None:
        self.passes, self.seed = passes, seed

    def fit(
        self, treebank: Treebank, dev: Treebank | None = None, *, progress: Progress | None = None, threads: int = 1
    ) -> Self:
        """Learn from the lemmas of a treebank."""
        if treebank.column("lemma").types in ([], [NOTHING]):
            raise UsageError("there are no lemmas to learn: every cell is '_'")
        words = list(zip(*(treebank.column(field).cells() for field in (*READ, "lemma")), strict=True))
        counts = Counter(words)
        made = {pair: script_of(*pair) for pair in {(form, lemma) for form, _, _, lemma in counts}}
        scripts: dict[str, int] = {}
        for form, _, _, lemma in counts:
            scripts.setdefault(made[form, lemma], len(scripts))
        self.scripts_ = list(scripts)
        numbers = {pair: scripts[script] for pair, script in made.items()}
        self.keys_, self.numbers_ = _dictionary(counts, numbers)
        rows = [(form, upos, feats, made[form, lemma]) for form, upos, feats, lemma in counts]
        self.model_ = self._trained(rows, progress)
        if dev is not None and dev.n_tokens:
            found = self.apply(dev).column("lemma")
            logger.info("lemmas: %.2f on dev", 100 * accuracy(found, dev.column("lemma")))
        return self

    def _trained(self, rows: list[tuple[str, str, str, str]], progress: Progress | None) -> ChainModel:
        columns = [column_of_strings(cells) for cells in zip(*rows, strict=True)]
        corpus = Corpus(np.arange(len(rows) + 1, dtype=np.int64), columns[:3], columns[3])
        templates = parse(_TEMPLATES, "lemmas", "crfpp")
        tagger = Tagger(
            template=templates, learner=Arow(), state_features="seen", passes=self.passes or 8, seed=self.seed
        )
        return trained_chain(corpus, tagger, progress)

    def apply(self, treebank: Treebank) -> Treebank:
        """The treebank with the lemmas of its words, by their forms, UPOS and FEATS."""
        if not hasattr(self, "model_"):
            raise not_fitted("Lemmas")
        if not treebank.n_tokens:
            return treebank
        columns = [treebank.column(field) for field in READ]
        ids = columns[0].ids.astype(np.int64)
        for column in columns[1:]:
            ids = ids * len(column.types) + column.ids
        _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
        distinct = [column.ids[first] for column in columns]
        number = self._known(columns, distinct)
        unknown = np.flatnonzero(number < 0)
        scripts = [*self.scripts_, *self.model_.labels]
        if unknown.size:
            offset = np.arange(unknown.size + 1, dtype=np.int64)
            parts = [_taken(column, own[unknown]) for column, own in zip(columns, distinct, strict=True)]
            found, _ = self.model_.tag(Corpus(offset, parts))
            number[unknown] = found + len(self.scripts_)
        forms = columns[0].types
        lemmas = [applied(scripts[k], forms[f]) for k, f in zip(number.tolist(), distinct[0].tolist(), strict=True)]
        made = column_of_strings(lemmas)
        return treebank.with_column("lemma", column_of_types(made.ids[inverse], made.types))

    def _known(self, columns: Sequence[Column], distinct: Sequence[np.ndarray]) -> np.ndarray:
        """The script i64[] of each distinct word by the dictionary, -1 if it has none."""
        form, upos, feats = (column.hash[own] for column, own in zip(columns, distinct, strict=True))
        small, _ = hash_optional([lower(cell) for cell in columns[0].types])
        number = np.full(form.size, -1, np.int64)
        for key in (_mixed(form, upos, feats), _mixed(form, upos), _mixed(small[distinct[0]], upos)):
            place = np.minimum(np.searchsorted(self.keys_, key), self.keys_.size - 1)
            hit = (number < 0) & (self.keys_[place] == key)
            number[hit] = self.numbers_[place[hit]]
        return number

    def compact(self, dev: Treebank | None, most_loss: float) -> None:
        """Make the classifier small."""
        self.model_, _ = compacted(self.model_, None, most_loss)

    def parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, models = packed_chains({MODEL: self.model_})
        arrays |= {"dictionary.key": self.keys_, "dictionary.script": self.numbers_}
        return arrays, {"scripts": self.scripts_, "models": models}

    @classmethod
    def from_parts(cls, arrays: Mapping[str, np.ndarray], meta: dict[str, Any], source: str) -> Self:
        stored = read_metadata(meta, LemmasMeta, "metadata", source)
        found = unpack(arrays, DICTIONARY, {"scripts": len(stored.scripts)}, source)
        made = cls()
        made.scripts_ = stored.scripts
        made.keys_, made.numbers_ = (found[spec.name] for spec in DICTIONARY)
        rest = {name: array for name, array in arrays.items() if name not in found}
        made.model_ = unpacked_chains(rest, stored.models, [MODEL], len(READ), source)[MODEL]
        return made


def _dictionary(counts: Counter[tuple[str, ...]], numbers: dict[tuple[str, str], int]) -> tuple[np.ndarray, np.ndarray]:
    """Keys u64[] in rising order and the most frequent script i32[] of each: of form and UPOS, and of form, UPOS and
    FEATS where that is not the same."""
    by_tag: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    by_all: dict[tuple[str, str, str], Counter[int]] = defaultdict(Counter)
    for (form, upos, feats, lemma), n in counts.items():
        by_tag[form, upos][numbers[form, lemma]] += n
        by_all[form, upos, feats][numbers[form, lemma]] += n
    best = {key: scripts.most_common(1)[0][0] for key, scripts in by_tag.items()}
    more = {key: scripts.most_common(1)[0][0] for key, scripts in by_all.items()}
    more = {key: script for key, script in more.items() if script != best[key[:2]]}
    keys = np.concatenate((_keys(best), _keys(more)))
    order = np.argsort(keys, kind="stable")
    return keys[order], np.array([*best.values(), *more.values()], np.int32)[order]


def _keys(entries: Iterable[tuple[str, ...]]) -> np.ndarray:
    columns = list(zip(*entries, strict=True))
    return _mixed(*(hash_optional(cells)[0] for cells in columns)) if columns else np.zeros(0, np.uint64)


def _mixed(*hashes: np.ndarray) -> np.ndarray:
    """One hash u64[] of several."""
    with np.errstate(over="ignore"):
        made = np.full(hashes[0].size, len(hashes), np.uint64)
        for hash in hashes:
            made = (made ^ hash) * np.uint64(0x9E3779B97F4A7C15)
            made ^= made >> np.uint64(29)
    return made


def _taken(column: Column, ids: np.ndarray) -> Column:
    made = Column(ids, column.data, column.start, column.end, column.hash, column.power)
    made.__dict__["types"] = column.types
    return made
