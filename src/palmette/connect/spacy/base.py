"""What the components share: their model and its file, batches, errors, pickles.

A component's config is kept by spaCy; the model is a file beside it (`model.palm` in the component's folder), which is
mapped and never executed. A saved pipeline brings its own copy, so the file that `model` names may be gone by
then: what is wrong with it is an error when the component is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import numpy as np
from spacy import util
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
from spacy.pipeline import Pipe
from spacy.tokens import Doc, Token

from palmette.data.corpus import Column, Corpus, column_of_types
from palmette.data.files import FilePath
from palmette.data.treebank import NOTHING
from palmette.errors import DataError, PalmetteError, UsageError
from palmette.estimators.base import Estimator

# What a model reads of spaCy documents: their words in sentences, and columns of token attributes.
#
# Whitespace tokens are not words: they are left out here, and components give them no label. A document is cut where
# its sentences start; without sentences it is one. Attributes come as whole arrays, so that no token becomes a Python
# object. D documents, N words, S sentences.

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


class SpacyWords:
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


MODEL_FILE = "model.palm"


class Component(Pipe):
    """A component that annotates documents with a trained model."""

    estimator_class: Any  # its `load` reads the model file

    def __init__(self, name: str, model: str | None, **config: Any) -> None:
        self.name = name
        self.config = {"model": model, **config}
        self._estimator: Any = None
        self._problem: PalmetteError = UsageError("it has no model; add it with config={'model': 'FILE.palm'}")
        if model is not None:
            self._refuse(model)
            try:
                self._take(self._loaded(model))
            except PalmetteError as error:
                self._problem = error

    def _refuse(self, model: str) -> None:
        """UsageError if the model is there and of a kind that this component never takes."""

    def _loaded(self, model: str) -> Any:
        return self.estimator_class.load(model)

    # What each component defines

    def _check(self, estimator: Any) -> None:
        """UsageError if documents cannot be annotated with this model."""
        raise NotImplementedError

    def _annotate(self, words: SpacyWords) -> None:
        raise NotImplementedError

    def _labels(self) -> Iterable[str]:
        raise NotImplementedError

    # The model

    def use(self, estimator: Estimator) -> None:
        """Annotate with this trained Tagger or Parser from now on."""
        try:
            self._take(estimator)
        except UsageError as error:
            raise UsageError(f"{self.name}: {error}") from None

    def _take(self, estimator: Any) -> None:
        if not isinstance(estimator, self.estimator_class):
            raise UsageError(f"it needs a {self.estimator_class.__name__}, not a {type(estimator).__name__}")
        estimator._fitted()
        self._check(estimator)
        self._estimator = estimator

    @property
    def estimator(self) -> Any:
        """The Tagger or Parser; an error if there is none."""
        if self._estimator is None:
            raise UsageError(f"{self.name}: {self._problem}") from self._problem
        return self._estimator

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that it can give; none before it has a model."""
        return () if self._estimator is None else tuple(self._labels())

    # Annotating

    def __call__(self, doc: Doc) -> Doc:
        """Annotate a document."""
        self._batch([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate a stream; the documents of a batch are read and annotated together."""
        for docs in util.minibatch(stream, size=batch_size):
            try:
                self._batch(docs)
            except Exception:
                yield from self._singly(docs)
            else:
                yield from docs

    def _singly(self, docs: Sequence[Doc]) -> Iterator[Doc]:
        """The documents of a batch one by one: only those that fail go to the error handler, and are left out."""
        for doc in docs:
            try:
                self._batch([doc])
            except Exception as error:
                self.get_error_handler()(self.name, self, [doc], error)
            else:
                yield doc

    def _batch(self, docs: Sequence[Doc]) -> None:
        _ = self.estimator  # its error also without a document to annotate
        self._annotate(SpacyWords(docs))

    # Training

    def initialize(self, get_examples: Callable[[], Iterable[Any]], *, nlp: Any = None, **settings: Any) -> NoReturn:
        """An error: spaCy does not train this component."""
        raise self._not_trained_here()

    def update(self, examples: Iterable[Any], **settings: Any) -> NoReturn:
        """An error: spaCy does not train this component."""
        raise self._not_trained_here()

    def _not_trained_here(self) -> UsageError:
        kind = self.estimator_class.__name__
        helper = "sentences" if kind == "Tagger" else "trees"
        return UsageError(
            f"{self.name} is not trained by spaCy. Train its model with `palmette train`, or in Python: "
            f"{kind}(...).fit(*palmette.connect.spacy.{helper}(docs)), and save it. To train other components "
            f"next to it, disable it meanwhile: nlp.select_pipes(disable=[{self.name!r}]), or frozen_components."
        )

    # Keeping

    def to_disk(self, path: FilePath, *, exclude: Iterable[str] = ()) -> None:
        """Write the model into a folder."""
        util.to_disk(Path(path), {MODEL_FILE: lambda file: self.estimator.save(file)}, exclude)

    def from_disk(self, path: FilePath, *, exclude: Iterable[str] = ()) -> Component:
        """Read the model of a folder. No code from it is run."""
        util.from_disk(Path(path), {MODEL_FILE: lambda file: self.use(self.estimator_class.load(file))}, exclude)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The model as bytes."""
        made: bytes = util.to_bytes({MODEL_FILE: self._model_bytes}, exclude)
        return made

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> Component:
        """Read what `to_bytes` has made. No code from it is run."""
        util.from_bytes(bytes_data, {MODEL_FILE: self._use_bytes}, exclude)
        return self

    def _model_bytes(self) -> bytes:
        with TemporaryDirectory() as folder:
            file = Path(folder) / MODEL_FILE
            self.estimator.save(file)
            return file.read_bytes()

    def _use_bytes(self, data: bytes) -> None:
        with TemporaryDirectory() as folder:
            file = Path(folder) / MODEL_FILE
            file.write_bytes(data)
            self.use(self.estimator_class.load(file, copy=True))

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle holds the config and the model file: processes of `nlp.pipe` get it where they are not forked."""
        data = None if self._estimator is None else self.to_bytes()
        return _rebuilt, (type(self), self.name, self.config, data, getattr(self, "error_handler", None))


def _rebuilt(
    kind: type[Component], name: str, config: dict[str, Any], data: bytes | None, error_handler: Callable | None
) -> Component:
    made = kind(name, **(config if data is None else {**config, "model": None}))
    made.config = config
    if data is not None:
        made.from_bytes(data)
    if error_handler is not None:
        made.set_error_handler(error_handler)
    return made
