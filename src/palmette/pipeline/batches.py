"""Many texts annotated together: a call for each short one would cost more than its words.

They become one text with blank lines between them, which no component looks across, and what is found is cut again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import numpy as np

from palmette.data.corpus import Column, Corpus
from palmette.data.treebank import Treebank
from palmette.errors import DataError
from palmette.pipeline.document import Document
from palmette.pipeline.split_text import BETWEEN_PARAGRAPHS, SplitText, empty_split

BATCH = 256  # texts
CHARACTERS = 1 << 16  # of a batch, about


def batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Texts, several at a time."""
    if isinstance(texts, str):
        raise DataError("a list of texts is expected, and this is a string", hint="call the pipeline: nlp(text)")
    rest = iter(texts)
    while batch := list(islice(rest, 1)):
        size = _length(batch[0])
        while len(batch) < BATCH and size < CHARACTERS and (more := list(islice(rest, 1))):
            batch += more
            size += _length(more[0])
        yield batch


def _length(text: str) -> int:
    if not isinstance(text, str):
        raise DataError(f"a text is a string, and this is {type(text).__name__}", hint="pipe() takes several texts")
    return len(text)


def documents(
    texts: list[str], split: Callable[[str], SplitText], annotate: Callable[[Treebank], Treebank]
) -> list[Document]:
    """Texts split and annotated together, as documents of their own."""
    whole = split(BETWEEN_PARAGRAPHS.join(texts))
    found = annotate(whole.treebank())
    if len(texts) == 1:
        return [Document(whole, found)]
    start = np.cumsum([0, *(len(text) + len(BETWEEN_PARAGRAPHS) for text in texts)])
    tokens = np.searchsorted(whole.start, start)
    sentences = np.searchsorted(whole.sentence, tokens)
    words = whole.first_word[tokens]
    return [
        Document(*_part(whole, found, text, int(start[k]), (tokens[k : k + 2], sentences[k : k + 2], words[k : k + 2])))
        for k, text in enumerate(texts)
    ]


def _part(
    whole: SplitText, found: Treebank, text: str, start: int, bounds: tuple[np.ndarray, ...]
) -> tuple[SplitText, Treebank]:
    """One of the texts: its tokens, sentences and words by their bounds. Types of cells are shared by all."""
    token, sentence, word = (slice(int(lo), int(hi)) for lo, hi in bounds)
    forms = _cells(whole.forms, word)
    split = SplitText(
        text, whole.start[token] - start, whole.end[token] - start,
        whole.sentence[sentence.start : sentence.stop + 1] - token.start,
        whole.first_word[token.start : token.stop + 1] - word.start, forms, whole.paragraph[sentence],
    )  # fmt: skip
    split = split if split.n_tokens else empty_split(text)
    columns = [_cells(column, word) for column in found.corpus.columns]
    corpus = Corpus(split.offset, columns, source=found.corpus.source)
    return split, Treebank(corpus, found.heads[word], _cells(found.relations, word))


def _cells(column: Column, which: slice) -> Column:
    made = Column(column.ids[which], column.data, column.start, column.end, column.hash, column.power)
    made.__dict__["types"] = column.types
    return made
