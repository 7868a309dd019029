"""`Lemmas`: the component of a pipeline that finds lemmas.

A lemma is an edit script of its form (`edit_scripts.py`). Pairs of a form and its UPOS that the treebank has keep
the script that is most frequent there, in a dictionary of hashes; where that depends on FEATS, so does the dictionary.
Of other words a model of single words chooses the script, by affixes, shape and tags (word_scripts.py). All is done
once for each distinct word and tags of a text.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import msgspec
import numpy as np

from palmette.data.array_specs import ArraySpec, unpack
from palmette.data.corpus import Column, Corpus, column_of_strings
from palmette.data.model_file import AGAIN, check_text, read_metadata
from palmette.data.treebank import NOTHING, Treebank
from palmette.errors import ModelError, UsageError, not_fitted
from palmette.features.encode import hash_optional
from palmette.pipeline.chains import accuracy
from palmette.pipeline.edit_scripts import applied, is_script, lower, script_of
from palmette.pipeline.keys import keys_of_cells, looked_up, mixed
from palmette.pipeline.memo import SHORT, Memo
from palmette.pipeline.stored_bundles import BundleMeta, Rising, bundle_from_parts, bundle_parts
from palmette.pipeline.word_scripts import READ, WordScripts, learn_scripts, numbered_parts
from palmette.training.result import Progress

logger = logging.getLogger(__name__)

STORED = (
    ArraySpec("dictionary.key", np.uint64, ("entries",), rules=(Rising(),)),
    ArraySpec("dictionary.script", np.int32, ("entries",), low=0, high="scripts"),
    ArraySpec("lemmas.key", np.uint64, ("lemmas",), rules=(Rising(),)),
)


class LemmasMeta(msgspec.Struct, frozen=True):
    """What is stored beside the arrays."""

    scripts: list[str]
    upos: list[str]
    model: BundleMeta


class Lemmas:
    """Lemmas of words that have tags."""

    def __init__(self, *, passes: int | None = None, seed: int = 1) -> None:
        self.passes, self.seed = passes, seed

    def fit(
        self, treebank: Treebank, dev: Treebank | None = None, *, progress: Progress | None = None, threads: int = 1
    ) -> Self:
        """Learn from the lemmas of a treebank."""
        if all(cell == NOTHING for cell in treebank.column("lemma").types):
            raise UsageError(f"there are no lemmas to learn: every cell is {NOTHING!r}")
        counts = Counter(zip(*(treebank.column(field).cells() for field in (*READ, "lemma")), strict=True))
        made = {pair: script_of(*pair) for pair in dict.fromkeys((row[0], row[-1]) for row in counts)}
        scripts = {script: k for k, script in enumerate(dict.fromkeys(made.values()))}
        numbers = {pair: scripts[script] for pair, script in made.items()}
        self.scripts_ = list(scripts)
        self.keys_, self.numbers_ = _dictionary(counts, numbers)
        rows = [(form, upos, feats, numbers[form, lemma]) for form, upos, feats, lemma in counts]
        lemmas = {(row[-1], row[1]) for row in counts}
        self.model_ = learn_scripts(rows, self.scripts_, lemmas, passes=self.passes, seed=self.seed, progress=progress)
        if dev is not None and dev.n_tokens:
            found = self.apply(dev).column("lemma")
            logger.info(
                "lemmas: on dev %.2f, by their UPOS and FEATS there", 100 * accuracy(found, dev.column("lemma"))
            )
        return self

    def apply(self, treebank: Treebank) -> Treebank:
        """The treebank with the lemmas of its words, by their forms, UPOS and FEATS."""
        if not hasattr(self, "model_"):
            raise not_fitted("Lemmas")
        if not treebank.n_tokens:
            return treebank
        columns = [treebank.column(field) for field in READ]
        if treebank.n_tokens <= SHORT:
            words = list(zip(*(column.cells() for column in columns), strict=True))
            return treebank.with_column("lemma", column_of_strings(self._memo.of(words)))
        ids = columns[0].ids.astype(np.int64)
        for column in columns[1:]:
            ids = ids * len(column.types) + column.ids
        _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
        distinct = [column.with_ids(column.ids[first]) for column in columns]
        made = column_of_strings(self._lemmas(distinct))
        return treebank.with_column("lemma", made.with_ids(made.ids[inverse]))

    @cached_property
    def _memo(self) -> Memo[tuple[str, ...], str]:
        return Memo(lambda words: self._lemmas([column_of_strings(cells) for cells in zip(*words, strict=True)]))

    def _lemmas(self, words: Sequence[Column]) -> list[str]:
        """The lemmas of words, each with its tags."""
        number = self._known(words)
        unknown = np.flatnonzero(number < 0)
        forms, scripts = words[0].types, self.scripts_
        lemmas = [
            applied(scripts[k], forms[f]) if k >= 0 else ""
            for k, f in zip(number.tolist(), words[0].ids.tolist(), strict=True)
        ]
        if unknown.size:
            others = [column.with_ids(column.ids[unknown]) for column in words]
            offset = np.arange(unknown.size + 1, dtype=np.int64)
            found = self.model_.lemmas(Corpus(offset, others), scripts)
            for k, lemma in zip(unknown.tolist(), found, strict=True):
                lemmas[k] = lemma
        return lemmas

    def _known(self, words: Sequence[Column]) -> np.ndarray:
        """The script i64[] of each word by the dictionary, -1 if it has none."""
        form, upos, feats = (column.hash[column.ids] for column in words)
        small, _ = hash_optional([lower(cell) for cell in words[0].types])
        number = np.full(form.size, -1, np.int64)
        for key in (mixed(form, upos, feats), mixed(form, upos), mixed(small[words[0].ids], upos)):
            place = looked_up(self.keys_, key)
            hit = (number < 0) & (place >= 0)
            number[hit] = self.numbers_[place[hit]]
        return number

    def parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, model = bundle_parts(self.model_.model)
        arrays |= {"dictionary.key": self.keys_, "dictionary.script": self.numbers_, "lemmas.key": self.model_.known}
        return arrays, {"scripts": self.scripts_, "upos": self.model_.upos, "model": model}

    @classmethod
    def from_parts(cls, arrays: Mapping[str, np.ndarray], meta: dict[str, Any], source: str) -> Self:
        stored = read_metadata(meta, LemmasMeta, "metadata", source)
        check_text([*stored.scripts, *stored.upos], "a script", source)
        if not all(map(is_script, stored.scripts)) or any(mark in text for text in stored.scripts for mark in "\t\n\r"):
            raise ModelError("damaged model: a text that is not a script", file=source, hint=AGAIN)
        found = unpack(arrays, STORED, {"scripts": len(stored.scripts)}, source)
        rest = {name: array for name, array in arrays.items() if name not in found}
        model = bundle_from_parts(rest, stored.model, numbered_parts(stored.scripts), len(READ), source)
        if model.bundles.begin.size - 1 <= len(stored.upos):
            raise ModelError("damaged model: a tag has no group of scripts", file=source, hint=AGAIN)
        made = cls()
        made.scripts_ = stored.scripts
        made.keys_, made.numbers_ = found["dictionary.key"], found["dictionary.script"]
        made.model_ = WordScripts(model, stored.upos, found["lemmas.key"])
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
    keys, first = np.unique(np.concatenate((keys_of_cells(best), keys_of_cells(more))), return_index=True)
    return keys, np.array([*best.values(), *more.values()], np.int32)[first]
