"""What the components share: their model and its file, batches, errors, pickles.

A component's config is kept by spaCy; the model is a file beside it (`model.palm` in the component's folder), which is
mapped and never executed. A saved pipeline brings its own copy, so the file that `model` names may be gone by
then: what is wrong with it is an error when the component is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from spacy import util
from spacy.pipeline import Pipe
from spacy.tokens import Doc

from palmette.connect.spacy.words import Words
from palmette.data.files import FilePath
from palmette.errors import PalmetteError, UsageError
from palmette.estimators.base import Estimator

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
            try:
                self._take(self.estimator_class.load(model))
            except PalmetteError as error:
                self._problem = error

    # What each component defines

    def _check(self, estimator: Any) -> None:
        """UsageError if documents cannot be annotated with this model."""
        raise NotImplementedError

    def _annotate(self, words: Words) -> None:
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
        self._annotate(Words(docs))

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
            f"beside it, disable it meanwhile: nlp.select_pipes(disable=[{self.name!r}]), or frozen_components."
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
