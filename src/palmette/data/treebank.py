"""Treebanks: a corpus whose words have heads and relations, from Python or from CoNLL-U (`formats/conllu.py`).

The cells that a parser sees are the columns of the corpus, in the order of FIELDS; heads, relations and the labels of
entities are separate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from palmette.data.corpus import Column, Corpus, column_of_names, column_of_strings
from palmette.data.formats.conllu_light import UNKNOWN, faults, heads_of_cells
from palmette.data.subset import picked, take
from palmette.errors import DataError, counted

FIELDS = ("form", "lemma", "upos", "xpos", "feats")
NOTHING = "_"
ENTITY = "entity"  # a field of a treebank that CoNLL-U has in MISC
OUTSIDE = "O"


class Treebank(msgspec.Struct, eq=False):
    """Sentences with trees; heads that are not known are UNKNOWN (-1)."""

    corpus: Corpus  # its columns are FIELDS
    heads: np.ndarray  # i32[N]  counted from 1 within the sentence; 0: the root; -1: unknown
    relations: Column  # of N tokens; `_`: unknown
    entities: Column | None = None  # IOB2 labels of N tokens; None: unknown

    @property
    def offset(self) -> np.ndarray:
        return self.corpus.offset

    @property
    def n_tokens(self) -> int:
        return self.corpus.n_tokens

    @property
    def n_sentences(self) -> int:
        return self.corpus.n_sentences

    @property
    def forms(self) -> Column:
        return self.column("form")

    def column(self, field: str) -> Column:
        """The column of one of FIELDS."""
        return self.corpus.columns[FIELDS.index(field)]

    def with_column(self, field: str, column: Column) -> Treebank:
        """This treebank with other cells in one of FIELDS."""
        columns = list(self.corpus.columns)
        columns[FIELDS.index(field)] = column
        return replace(self, corpus=replace(self.corpus, columns=columns))

    def without(self, fields: Iterable[str]) -> Treebank:
        """This treebank with nothing in some of FIELDS."""
        nothing, made = no_cells(self.n_tokens), self
        for field in fields:
            made = made.with_column(field, nothing)
        return made

    def with_entities(self, entities: Column | None) -> Treebank:
        """This treebank with other labels of entities."""
        return replace(self, entities=entities)

    def with_trees(self, heads: np.ndarray, relations: Column) -> Treebank:
        """These sentences with other trees."""
        return replace(self, heads=heads, relations=relations)

    def take(self, sentences: np.ndarray) -> Treebank:
        """The sentences with these numbers, in this order, without the text that they were read from."""
        tokens = tokens_of(self.offset, sentences)
        entities = None if self.entities is None else picked(self.entities, tokens)
        return Treebank(take(self.corpus, sentences), self.heads[tokens], picked(self.relations, tokens), entities)


def tokens_of(offset: np.ndarray, sentences: np.ndarray) -> np.ndarray:
    """The tokens i64[] of some sentences, one after the other."""
    size = np.diff(offset)[sentences]
    end = np.cumsum(size)
    return np.repeat(offset[sentences] - end + size, size) + np.arange(size.sum())


def without_trees(corpus: Corpus) -> Treebank:
    """A corpus with the columns FIELDS and no trees."""
    n = corpus.n_tokens
    return Treebank(corpus, np.full(n, UNKNOWN, np.int32), no_cells(n))


def no_cells(n: int) -> Column:
    """A column of n tokens in which nothing is known."""
    return column_of_names((NOTHING,)).with_ids(np.zeros(n, np.int32))


# From Python

Word = str | Sequence[str] | Mapping[str, str | int]


def treebank_from_sentences(sentences: Iterable[Iterable[Word]], *, source: str = "the input") -> Treebank:
    """Sentences of words: a form, or (form, upos) or (form, upos, xpos), or a dictionary with form and any other of
    lemma, upos, xpos, feats, head, deprel. The tree of a sentence is checked if any of its words has a head."""
    rows: list[dict[str, str]] = []
    sizes: list[int] = []
    for s, sentence in enumerate(sentences):
        words = [_word(word, f"sentence {s + 1}, word {i + 1}", source) for i, word in enumerate(sentence)]
        if not words:
            raise DataError(f"sentence {s + 1} has no words", file=source, hint="leave empty sentences out")
        rows += words
        sizes.append(len(words))
    offset = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    columns = [column_of_strings(row.get(field, NOTHING) for row in rows) for field in FIELDS]
    head_cells = [row.get("head", NOTHING) for row in rows]
    relations = column_of_strings(row.get("deprel", NOTHING) for row in rows)
    made = Treebank(Corpus(offset, columns, source=source), heads_of_cells(head_cells), relations)
    known = np.add.reduceat(made.heads != UNKNOWN, offset[:-1]) > 0 if rows else np.zeros(0, bool)
    bad = next((fault for fault in faults(made.heads, offset) if known[fault.sentence]), None)
    if bad is not None:
        raise bad.error(0, source, None)
    return made


def _word(word: Word, where: str, source: str) -> dict[str, str]:
    """The cells of a word by name."""
    if isinstance(word, str):
        cells = {"form": word}
    elif isinstance(word, Mapping):
        cells = {name: str(cell) for name, cell in word.items() if cell is not None}
    else:
        names = ("form", "upos", "xpos")
        if not 1 <= len(word) <= len(names):
            raise DataError(
                f"{where}: {counted(len(word), 'cell')}; a word is (form, upos) or (form, upos, xpos)", file=source,
                hint="for more give dictionaries: form, lemma, upos, xpos, feats, head, deprel",
            )  # fmt: skip
        cells = dict(zip(names, map(str, word), strict=False))
    unknown = [name for name in cells if name not in (*FIELDS, "head", "deprel")]
    if unknown or not cells.get("form"):
        what = f"no field {unknown[0]!r}" if unknown else "no form"
        raise DataError(
            f"{where}: {what}",
            file=source,
            hint=f"a word needs form, and may have {', '.join(FIELDS[1:])}, head and deprel",
        )
    for name, cell in cells.items():
        if not cell or any(c in cell for c in "\t\n\r"):
            raise DataError(
                f"{where}: {name} {cell!r} cannot be written to a file: it is empty, or holds a TAB or line end",
                file=source,
            )
    return cells
