"""`ParsedDocument`: a text with its sentences, tokens and words, as a pipeline found them.

    doc = nlp("Time flies.")
    doc.sentences[0].words[1].lemma

A document is two records of arrays, where the words are (`SplitText`) and what they are (`Treebank`); sentences, tokens
and words are views of them that look up what they are asked for. Places are characters of `doc.text`. `_` is nothing,
as in CoNLL-U.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from palmette.data.corpus import Column, Corpus
from palmette.data.treebank import Treebank
from palmette.display import drawn, drawn_by
from palmette.errors import DataError, counted
from palmette.pipeline.output import conllu_bytes, entity_spans, features, plain_sentences
from palmette.pipeline.split_text import BETWEEN_PARAGRAPHS, SplitText, empty_split


class ParsedDocument:
    """An annotated text."""

    _repr_html_ = drawn_by("pipeline.notebook:document_html")

    def __init__(self, split: SplitText, treebank: Treebank) -> None:
        self.split = split
        self.treebank = treebank  # of the words of `split`

    @property
    def text(self) -> str:
        return self.split.text

    @cached_property
    def sentences(self) -> list[Sentence]:
        return [Sentence(self, s) for s in range(self.split.n_sentences)]

    @property
    def tokens(self) -> list[Token]:
        """The tokens of all sentences."""
        return [token for sentence in self.sentences for token in sentence.tokens]

    @property
    def words(self) -> list[Word]:
        """The words of all sentences."""
        return [word for sentence in self.sentences for word in sentence.words]

    @property
    def entities(self) -> list[Entity]:
        """The named entities of all sentences."""
        return [entity for sentence in self.sentences for entity in sentence.entities]

    def to_conllu(self) -> str:
        """The document as CoNLL-U, with `# text`, multi-word tokens and the white space between tokens."""
        return conllu_bytes(self.split, self.treebank).decode()

    def to_dict(self) -> dict[str, Any]:
        """The document as plain data that JSON can hold."""
        return {"text": self.text, "sentences": list(plain_sentences(self.split, self.treebank))}

    def __len__(self) -> int:
        return self.split.n_sentences

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    def __repr__(self) -> str:
        short = self.text if len(self.text) <= 40 else f"{self.text[:40]}..."
        size = f"{counted(self.split.n_sentences, 'sentence')}, {counted(self.split.n_words, 'word')}"
        return f"ParsedDocument({short!r}, {size})"

    # What words and tokens look up

    @cached_property
    def token_of(self) -> np.ndarray:
        """i64[N]: the token of each word."""
        return np.repeat(np.arange(self.split.n_tokens), np.diff(self.split.first_word))

    def cell(self, field: str, word: int) -> str:
        """The cell of a word in one of FIELDS."""
        column = self.treebank.column(field)
        return column.types[column.ids[word]]


class Sentence:
    """A sentence of a document. `print` draws its tree."""

    _repr_html_ = drawn_by("pipeline.notebook:sentence_html")

    def __init__(self, document: ParsedDocument, index: int) -> None:
        self.document = document
        self.index = index  # in its document, from 0

    @property
    def _tokens(self) -> tuple[int, int]:
        marks = self.document.split.sentence
        return int(marks[self.index]), int(marks[self.index + 1])

    @cached_property
    def tokens(self) -> list[Token]:
        """The tokens as the text has them."""
        first, last = self._tokens
        return [Token(self, t) for t in range(first, last)]

    @cached_property
    def words(self) -> list[Word]:
        """The words: those of tokens, and the parts of multi-word tokens."""
        marks = self.document.split.first_word
        first, last = (int(marks[t]) for t in self._tokens)
        return [Word(self, i, i - first + 1) for i in range(first, last)]

    @cached_property
    def entities(self) -> list[Entity]:
        """The named entities; none if the pipeline does not find them."""
        marks = self.document.split.first_word
        lo, hi = (int(marks[t]) for t in self._tokens)
        found = entity_spans(self.document.treebank, lo, hi)
        return [Entity(self, span.type, span.start, span.end) for span in found]

    @property
    def start(self) -> int:
        return int(self.document.split.start[self._tokens[0]])

    @property
    def end(self) -> int:
        return int(self.document.split.end[self._tokens[1] - 1])

    @property
    def text(self) -> str:
        return self.document.text[self.start : self.end]

    @property
    def paragraph(self) -> bool:
        """Whether it begins a paragraph."""
        return bool(self.document.split.paragraph[self.index])

    @property
    def root(self) -> Word | None:
        """The word that depends on none; None without a tree."""
        return next((word for word in self.words if word.head == 0), None)

    def to_dict(self) -> dict[str, Any]:
        """The sentence as plain data that JSON can hold; what is not known is left out."""
        found = plain_sentences(self.document.split, self.document.treebank, self.index, self.index + 1)
        return next(found)

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[Word]:
        return iter(self.words)

    def __repr__(self) -> str:
        return f"Sentence({self.text!r})"

    def __str__(self) -> str:
        return drawn(self, "pipeline.notebook:sentence_text")


class Entity:
    """A named entity: some words of a sentence with a label, such as PER."""

    def __init__(self, sentence: Sentence, label: str, first: int, last: int) -> None:
        self.sentence = sentence
        self.label = label
        self._bounds = first, last  # words of the sentence, from 0; the one after the last

    @property
    def words(self) -> list[Word]:
        first, last = self._bounds
        return self.sentence.words[first:last]

    @property
    def start(self) -> int:
        """Its first character in the document's text."""
        return self.words[0].start

    @property
    def end(self) -> int:
        """The character after its last one."""
        return self.words[-1].end

    @property
    def text(self) -> str:
        return self.sentence.document.text[self.start : self.end]

    def __repr__(self) -> str:
        return f"Entity({self.text!r}, {self.label!r}, {self.start}, {self.end})"


class Token:
    """A token of the text: one word, or several (French `du`, Spanish `dámelo`)."""

    def __init__(self, sentence: Sentence, index: int) -> None:
        self.sentence = sentence
        self.index = index  # in its document, from 0

    @property
    def start(self) -> int:
        return int(self.sentence.document.split.start[self.index])

    @property
    def end(self) -> int:
        return int(self.sentence.document.split.end[self.index])

    @property
    def text(self) -> str:
        return self.sentence.document.text[self.start : self.end]

    @property
    def space_after(self) -> bool:
        """Whether white space, or the end of the text, follows."""
        text = self.sentence.document.text
        return self.end >= len(text) or text[self.end].isspace()

    @property
    def words(self) -> list[Word]:
        split = self.sentence.document.split
        before = int(split.first_word[self.sentence._tokens[0]])
        first, last = int(split.first_word[self.index]), int(split.first_word[self.index + 1])
        return self.sentence.words[first - before : last - before]

    @property
    def is_multiword(self) -> bool:
        return len(self.words) > 1

    def __repr__(self) -> str:
        return f"Token({self.text!r})"


class Word:
    """A word with its annotations."""

    _repr_html_ = drawn_by("pipeline.notebook:word_html")

    def __init__(self, sentence: Sentence, index: int, number: int) -> None:
        self.sentence = sentence
        self.index = index  # in its document, from 0
        self.id = number  # in its sentence, from 1, as heads count

    def _cell(self, field: str) -> str:
        return self.sentence.document.cell(field, self.index)

    @property
    def form(self) -> str:
        return self._cell("form")

    text = form
    """The form, by the name that tokens and sentences have for theirs."""

    @property
    def lemma(self) -> str:
        return self._cell("lemma")

    @property
    def upos(self) -> str:
        return self._cell("upos")

    @property
    def xpos(self) -> str:
        return self._cell("xpos")

    @property
    def feats_text(self) -> str:
        """The morphological features as CoNLL-U has them: `Number=Sing|Tense=Pres`."""
        return self._cell("feats")

    @property
    def feats(self) -> dict[str, str]:
        """The morphological features by category."""
        return features(self.feats_text)

    @property
    def head(self) -> int | None:
        """The number of the word that it depends on; 0: none, it is the root; None without a tree."""
        head = int(self.sentence.document.treebank.heads[self.index])
        return None if head < 0 else head

    @property
    def head_word(self) -> Word | None:
        """The word that it depends on."""
        head = self.head
        return self.sentence.words[head - 1] if head else None

    @property
    def deprel(self) -> str:
        relations = self.sentence.document.treebank.relations
        return relations.types[relations.ids[self.index]]

    @property
    def token(self) -> Token:
        """The token that it is, or is a part of."""
        document = self.sentence.document
        return self.sentence.tokens[int(document.token_of[self.index]) - self.sentence._tokens[0]]

    @property
    def start(self) -> int:
        """Where its token begins."""
        return self.token.start

    @property
    def end(self) -> int:
        """Where its token ends."""
        return self.token.end

    @property
    def space_after(self) -> bool:
        """Whether white space follows: False inside of a multi-word token."""
        token = self.token
        return token.space_after and token.words[-1] is self

    def __repr__(self) -> str:
        return f"Word({self.id}, {self.form!r})"


# Many texts annotated together: a call for each short one would cost more than its words.
#
# They become one text with blank lines between them, which no component looks across, and what is found is cut again.

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
) -> list[ParsedDocument]:
    """Texts split and annotated together, as documents of their own."""
    whole = split(BETWEEN_PARAGRAPHS.join(texts))
    found = annotate(whole.treebank())
    if len(texts) == 1:
        return [ParsedDocument(whole, found)]
    start = np.cumsum([0, *(len(text) + len(BETWEEN_PARAGRAPHS) for text in texts)])
    tokens = np.searchsorted(whole.start, start)
    sentences = np.searchsorted(whole.sentence, tokens)
    words = whole.first_word[tokens]
    return [
        ParsedDocument(
            *_part(whole, found, text, int(start[k]), (tokens[k : k + 2], sentences[k : k + 2], words[k : k + 2]))
        )
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
    entities = None if found.entities is None else _cells(found.entities, word)
    return split, Treebank(corpus, found.heads[word], _cells(found.relations, word), entities)


def _cells(column: Column, which: slice) -> Column:
    made = Column(column.ids[which], column.data, column.start, column.end, column.hash, column.power)
    made.__dict__["types"] = column.types
    return made
