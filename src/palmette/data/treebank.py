"""Treebanks: a corpus of CoNLL-U (or CoNLL-X) whose words have heads and relations.

The cells that a parser sees are columns of the corpus, in the order of FIELDS; heads and relations stand beside it.
`tree_write` puts them back into the lines they came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from palmette.data.corpus import Column, Corpus, column_of_strings, column_of_types
from palmette.data.files import FilePath, read_all, shown
from palmette.data.formats.columns import CONLLU_FIELDS, Layout, parse_columns
from palmette.data.read import BLOCK, FORMATS, cut_blocks
from palmette.data.subset import picked, take
from palmette.data.tree_checks import UNKNOWN, Fault, faults, heads_of_cells
from palmette.errors import DataError
from palmette.kernels.io.columns import BLANK_LINE, DROPPED_LINE

FIELDS = ("form", "lemma", "upos", "xpos", "feats")
NOTHING = "_"
_HEAD, _RELATION = CONLLU_FIELDS.index("head"), CONLLU_FIELDS.index("deprel")
_CELLS = tuple(CONLLU_FIELDS.index(name) for name in FIELDS)

Say = Callable[[str], None]


@dataclass
class Treebank:
    """Sentences with trees, or without where heads are UNKNOWN (-1)."""

    corpus: Corpus  # its columns are FIELDS
    heads: np.ndarray  # i32[N]  counted from 1 within the sentence; 0: the root; -1: unknown
    relations: Column  # of N tokens; `_` where unknown

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
        """The same with other cells in one of FIELDS."""
        columns = list(self.corpus.columns)
        columns[FIELDS.index(field)] = column
        return replace(self, corpus=replace(self.corpus, columns=columns))

    def with_trees(self, heads: np.ndarray, relations: Column) -> Treebank:
        """The same sentences with other trees."""
        return replace(self, heads=heads, relations=relations)

    def take(self, sentences: np.ndarray) -> Treebank:
        """The sentences with these numbers, in this order, without the text behind them."""
        tokens = tokens_of(self.offset, sentences)
        return Treebank(take(self.corpus, sentences), self.heads[tokens], picked(self.relations, tokens))


def tokens_of(offset: np.ndarray, sentences: np.ndarray) -> np.ndarray:
    """The tokens i64[] of some sentences, one after the other."""
    size = np.diff(offset)[sentences]
    end = np.cumsum(size)
    return np.repeat(offset[sentences] - end + size, size) + np.arange(size.sum())


def read_treebank(path: FilePath, *, labelled: bool = True, skip_bad: bool = False, say: Say | None = None) -> Treebank:
    """A whole file. `labelled`: every sentence must have a tree; where it has not, that is an error, or with
    `skip_bad` the sentence is left out and counted. Not labelled: heads and relations are not looked at."""
    return treebank_of_bytes(read_all(path), shown(path), labelled=labelled, skip_bad=skip_bad, say=say)


def treebank_of_bytes(
    data: bytes, source: str, *, labelled: bool = True, skip_bad: bool = False, say: Say | None = None
) -> Treebank:
    """The same from the bytes of a file."""
    reader = _Reader(source, labelled, skip_bad)
    made = reader(data, 1)
    reader.tell(say)
    return made


def stream_treebank(
    path: FilePath, *, labelled: bool = True, skip_bad: bool = False, say: Say | None = None, block: int = BLOCK
) -> Iterator[Treebank]:
    """A file in treebanks of about `block` bytes, cut between sentences; from a pipe, as soon as one is there.
    Parts without a sentence (comments alone, say) come too, so that they can be written back."""
    reader = _Reader(shown(path), labelled, skip_bad)
    for line, data in cut_blocks(path, FORMATS["conllu"].cut, block):
        yield reader(data, line)
    reader.tell(say)


class _Reader:
    """Blocks of bytes to treebanks, and what was left out on the way."""

    def __init__(self, source: str, labelled: bool, skip_bad: bool) -> None:
        self.source, self.labelled, self.skip_bad = source, labelled, skip_bad
        self.layout = Layout(
            conllu=True, columns=(*_CELLS, _HEAD) if labelled else _CELLS, label=_RELATION, labelled=labelled
        )
        self.n_sentences = 0
        self.left_out: list[DataError] = []

    def __call__(self, data: bytes, first_line: int) -> Treebank:
        corpus = parse_columns(data, self.layout, self.source, first_line)
        if corpus.n_tokens == 0:
            return unparsed(replace(corpus, columns=[column_of_strings([]) for _ in FIELDS]))
        if not self.labelled:
            self.n_sentences += corpus.n_sentences
            return unparsed(corpus)
        *columns, head_cells = corpus.columns
        assert corpus.labels is not None
        heads = heads_of_cells(head_cells.types)[head_cells.ids]
        made = Treebank(replace(corpus, columns=columns, labels=None), heads, corpus.labels)
        return self._checked(made)

    def _checked(self, treebank: Treebank) -> Treebank:
        relations = treebank.relations
        nameless = np.array([not name for name in relations.types], np.bool_)[relations.ids]
        found = faults(treebank.heads, treebank.offset, nameless)
        for fault in found:
            error = fault.error(self.n_sentences, self.source, treebank.corpus.line_of(fault.token))
            if not self.skip_bad:
                raise error
            self.left_out.append(error)
        self.n_sentences += treebank.n_sentences
        return without(treebank, found) if found else treebank

    def tell(self, say: Say | None) -> None:
        if say is not None and self.left_out:
            first = str(self.left_out[0]).partition("\n")[0]
            say(f"{len(self.left_out)} of {self.n_sentences} sentences left out: they are no trees; the first: {first}")


def without(treebank: Treebank, bad: Sequence[Fault]) -> Treebank:
    """The treebank without some sentences. Their lines stay where they are, so that line numbers hold, but are not
    written any more."""
    keep = np.ones(treebank.n_sentences, bool)
    keep[[fault.sentence for fault in bad]] = False
    made = treebank.take(np.flatnonzero(keep))
    lines = treebank.corpus.lines
    if lines is None:
        return made
    part = np.cumsum(lines.kind == BLANK_LINE) - (lines.kind == BLANK_LINE)  # a blank line belongs to what it ends
    gone = np.isin(part, part[lines.tokens[treebank.offset[:-1][~keep]]])
    tokens = lines.tokens[tokens_of(treebank.offset, np.flatnonzero(keep))]
    kept = replace(
        lines, kind=np.where(gone, np.uint8(DROPPED_LINE), lines.kind), tokens=tokens,
        cut=np.zeros(0, np.int64), resume=np.zeros(0, np.int64),
    )  # fmt: skip
    return replace(made, corpus=replace(made.corpus, lines=kept))


def unparsed(corpus: Corpus) -> Treebank:
    """A corpus with the columns FIELDS and no trees."""
    n = corpus.n_tokens
    return Treebank(corpus, np.full(n, UNKNOWN, np.int32), column_of_types(np.zeros(n, np.int32), [NOTHING]))


# From Python

Word = str | Sequence[str] | Mapping[str, str | int]


def treebank_from_sentences(sentences: Iterable[Iterable[Word]], *, source: str = "the input") -> Treebank:
    """Sentences of words: a form, or (form, upos) or (form, upos, xpos), or a dictionary with form and any other of
    lemma, upos, xpos, feats, head, deprel. Trees are checked where a sentence has a head at all."""
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
    """The cells of a word by their names."""
    if isinstance(word, str):
        cells = {"form": word}
    elif isinstance(word, Mapping):
        cells = {name: str(cell) for name, cell in word.items() if cell is not None}
    else:
        names = ("form", "upos", "xpos")
        if not 1 <= len(word) <= len(names):
            raise DataError(
                f"{where}: {len(word)} cells, and a word is (form, upos) or (form, upos, xpos)", file=source,
                hint="for more give dictionaries: form, lemma, upos, xpos, feats, head, deprel",
            )  # fmt: skip
        cells = dict(zip(names, map(str, word), strict=False))
    unknown = [name for name in cells if name not in (*FIELDS, "head", "deprel")]
    if unknown or not cells.get("form"):
        what = f"no field {unknown[0]!r}" if unknown else "no form"
        raise DataError(
            f"{where}: {what}", file=source, hint=f"a word may have {', '.join(FIELDS)}, head and deprel; form it needs"
        )
    for name, cell in cells.items():
        if not cell or any(c in cell for c in "\t\n\r"):
            raise DataError(
                f"{where}: {name} {cell!r} cannot stand in a file: it is empty, or holds a TAB or line end", file=source
            )
    return cells
