"""What a model reads of spaCy documents: their words in sentences, and columns of token attributes.

Whitespace tokens are no words: they are left out here, and components give them no label. A document is cut where its
sentences start; without sentences it is one. Attributes come as whole arrays, so that no token becomes a Python object.
D documents, N words, S sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from spacy.attrs import (
    DEP,
    ENT_TYPE,
    IS_SPACE,
    LEMMA,
    LOWER,
    MORPH,
    NORM,
    ORTH,
    POS,
    PREFIX,
    SENT_START,
    SHAPE,
    SUFFIX,
    TAG,
)
from spacy.tokens import Doc, Token

from palmette.data.corpus import Column, Corpus, column_of_types
from palmette.data.treebank import NOTHING
from palmette.errors import DataError, UsageError

ATTRIBUTES = {
    "text": ORTH, "lower_": LOWER, "norm_": NORM, "shape_": SHAPE, "prefix_": PREFIX, "suffix_": SUFFIX,
    "lemma_": LEMMA, "tag_": TAG, "pos_": POS, "morph": MORPH, "dep_": DEP, "ent_type_": ENT_TYPE,
}  # fmt: skip
MAY_BE_EMPTY = frozenset(("morph", "ent_type_"))  # nothing is a value of these, written as in CoNLL-U
EXTENSION = "_."


def check_attributes(names: Iterable[str]) -> None:
    """UsageError unless these are token attributes that can be read."""
    for name in names:
        own = name.removeprefix(EXTENSION)
        if name.startswith(EXTENSION) and Token.has_extension(own):
            continue
        if name.startswith(EXTENSION):
            raise UsageError(f"columns: tokens have no extension {own!r}: Token.set_extension({own!r}, default=None)")
        if name not in ATTRIBUTES:
            raise UsageError(
                f"columns: there is no token attribute {name!r}; choose from {', '.join(ATTRIBUTES)}, or _.NAME for an "
                "extension"
            )


class Words:
    """The words of some documents."""

    def __init__(self, docs: Sequence[Doc]) -> None:
        self.docs = docs
        self.first = np.concatenate(([0], np.cumsum([len(doc) for doc in docs]))).astype(np.int64)  # i64[D+1], tokens
        marks = _joined([doc.to_array([IS_SPACE, SENT_START]) for doc in docs], 2)
        starts = marks[:, 1] == 1
        for doc, first in zip(docs, self.first.tolist(), strict=False):
            if "sents" in doc.user_hooks:
                starts[first : first + len(doc)] = False
                starts[[first + sent.start for sent in doc.sents]] = True
        starts[self.first[:-1][np.diff(self.first) > 0]] = True
        self.sentence_of = np.cumsum(starts) - 1  # i64[tokens]  counts sentences without words too
        self.tokens = np.flatnonzero(marks[:, 0] == 0)  # i64[N]  the place of each word among all tokens
        sizes = np.bincount(self.sentence_of[self.tokens])
        self.offset = np.concatenate(([0], np.cumsum(sizes[sizes > 0]))).astype(np.int64)  # i64[S+1], words
        self.cuts = np.searchsorted(self.tokens, self.first).tolist()  # D+1 numbers, words

    @property
    def n_words(self) -> int:
        return int(self.tokens.size)

    def parts(self) -> list[tuple[Doc, slice, np.ndarray]]:
        """Each document: itself, its words among all, and their places i64[] in it."""
        slices = [slice(a, b) for a, b in pairwise(self.cuts)]
        rows = zip(self.docs, slices, self.first.tolist(), strict=False)
        return [(doc, own, self.tokens[own] - first) for doc, own, first in rows]

    def corpus(self, columns: Iterable[str]) -> Corpus:
        """The words as a tagger reads them; each column is an attribute, which every word must have."""
        return Corpus(self.offset, [self.column(name) for name in columns], source="the documents")

    def cells(self, columns: Sequence[str]) -> list[Any]:
        """The words as Python data: strings, or tuples if there are several columns."""
        found = []
        for name in columns:
            ids, types = self._values(name, required=True)
            found.append([types[k] for k in ids.tolist()])
        return found[0] if len(found) == 1 else list(zip(*found, strict=True))

    def column(self, name: str, *, required: bool = True) -> Column:
        """The attribute of all words. DataError if a word does not have it and it is required; otherwise `_`."""
        return column_of_types(*self._values(name, required))

    def _values(self, name: str, required: bool) -> tuple[np.ndarray, list[str]]:
        """The attribute of all words: the distinct values, and the number i32[N] of each word's."""
        ids, types = self._extension(name) if name.startswith(EXTENSION) else self._attribute(name)
        if "" not in types:
            return ids, types
        if required and name not in MAY_BE_EMPTY:
            raise self.lacking(int(np.argmax(ids == types.index(""))), name)
        return _numbered([cell or NOTHING for cell in types], ids)

    def _attribute(self, name: str) -> tuple[np.ndarray, list[str]]:
        values = _joined([doc.to_array(ATTRIBUTES[name]) for doc in self.docs])[self.tokens]
        found, first, ids = np.unique(values, return_index=True, return_inverse=True)
        owners = np.searchsorted(self.first, self.tokens[first], side="right") - 1
        pairs = zip(owners.tolist(), found.tolist(), strict=True)
        return ids.astype(np.int32), [self.docs[d].vocab.strings[value] for d, value in pairs]

    def _extension(self, name: str) -> tuple[np.ndarray, list[str]]:
        own = name.removeprefix(EXTENSION)
        cells = [doc[i]._.get(own) for doc, _, places in self.parts() for i in places.tolist()]
        for k, cell in enumerate(cells):
            if cell is not None and not isinstance(cell, str):
                raise DataError(f"{self.place(k)}: {name} is {cell!r}, and a column holds strings")
        return _numbered([cell or "" for cell in cells], np.arange(len(cells)))

    def place(self, word: int) -> str:
        """Where a word is, for messages."""
        token = int(self.tokens[word])
        d = int(np.searchsorted(self.first, token, side="right")) - 1
        i = token - int(self.first[d])
        return f"token {i} ({self.docs[d][i].text!r}) of {_brief(self.docs[d])}"

    def lacking(self, word: int, name: str) -> DataError:
        """The error for a word without an attribute."""
        return DataError(
            f"{self.place(word)} has no {name}, which the model reads",
            hint=f"put a component that sets {name} before it in the pipeline, or choose other attributes in config",
        )


def _numbered(cells: list[str], places: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """The cells at these places i64[N] as numbers i32[N] of distinct ones, and these."""
    number: dict[str, int] = {}
    ids = np.array([number.setdefault(cell, len(number)) for cell in cells], np.int32)
    return ids[places], list(number)


def _joined(arrays: list[Any], width: int = 0) -> np.ndarray:
    """Arrays u64[tokens] of documents one after the other; of the given width, if it is not 0."""
    empty = np.zeros((0, width) if width else 0, np.uint64)
    return np.concatenate([empty, *arrays])


def _brief(doc: Doc, most: int = 40) -> str:
    text = doc.text if len(doc.text) <= most else doc.text[:most] + "..."
    return f"the document {text!r}"
