"""`Classifier`: two classes of sentences, told apart by the latent structure that serves the decision best.

    classifier = Classifier(views="all", combine="cotrain").fit(sentences, classes)
    classifier.predict(sentences), classifier.decision_function(sentences), classifier.structures(sentences)

A sentence is a list of words or of (word, part of speech) tuples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from palmette.classification.files import (
    ClassifiedSentence,
    check_classified_output,
    classified_bytes,
    stream_classified,
    two_classes,
)
from palmette.classification.fit import ClassifierTask, fit_classifier, types_of
from palmette.classification.model import ClassifierModel, View
from palmette.classification.options import ClassifierOptions, LatentSettings
from palmette.classification.scores import BinaryScores, binary_scores
from palmette.classification.serialise import load_classifier
from palmette.data.corpus import Corpus, column_of_types
from palmette.data.files import FilePath, check_apart
from palmette.data.items import Items, corpus_from_items
from palmette.data.stream import Processed
from palmette.data.subset import take
from palmette.data.text import PLAIN, TextSpec
from palmette.display import drawn_by
from palmette.errors import DataError, UsageError, counted
from palmette.estimators.base import Estimator, FileUse, FitOptions
from palmette.estimators.tagger import Tagger
from palmette.features.encode import Encoder
from palmette.features.named import named_set
from palmette.features.resources import Resources
from palmette.features.templates import TemplateSet, read_templates
from palmette.options.declare import OptionError
from palmette.structures.chain.model import ChainModel
from palmette.training.checks import warn_of_same_labels
from palmette.training.result import TrainResult, report_end, reporter


class Classifier(ClassifierOptions, Estimator):
    """A classifier over latent structures.

    Parameters are declared options; `palmette classifier train --help` and the reference pages explain all of them.
    """

    _repr_html_ = drawn_by("reports.notebook:model")

    def _settings(self, chunker: ChainModel | None = None) -> LatentSettings:
        """The options of learning, checked, every variant as a value."""
        self._check_values()
        values = {name: getattr(self, name) for name in LatentSettings.__options__}
        if chunker is not None:
            if self.types is not None:
                raise OptionError("types", "a classifier that starts from a chunker takes the types of the chunker")
            values["types"] = types_of(chunker)
        if self.latent == "none":
            values["pairs"] = False  # the one pair would count the words
        return LatentSettings(**values)

    # Training

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Any],
        *,
        dev: tuple[Iterable[Any], Iterable[Any]] | None = None,
        positive: str | None = None,
        **options: Unpack[FitOptions],
    ) -> Classifier:
        """Learn from sentences X and their classes y, of which there are two.

        y: strings, or what `str` makes of other values. dev: a pair (X, y) of development data that chooses the pass.
        positive: the class that scores 0 and above; not needed for 0 and 1, no and yes, and similar pairs. names: keep
        the attributes' names, for `inspect`. resume: the `model_` of a classifier, which is trained further.
        checkpoint: keep what an exact resumption needs. threads: default all cores; the model is the same for any
        number. verbose: print a line per pass."""
        self._settings(self._chunker())  # wrong parameters are reported before any data is read
        resume: ClassifierModel | None = options.get("resume")
        if resume is not None and positive is None:
            positive = resume.classes[1]
        if dev is not None and len(dev) != 2:
            raise UsageError("dev is a pair of sentences and their classes: dev=(X, y)")
        items, given = self._items(X), [str(label) for label in y]
        classes = two_classes(set(given), positive, items.corpus.source)
        labels = _signs(given, classes, items)
        held_out = None
        if dev is not None:
            more = self._items(dev[0])
            held_out = more.corpus, _signs([str(label) for label in dev[1]], classes, more)
        return self.fit_corpus(items.corpus, labels, held_out, classes=classes, **options)

    def fit_file(
        self, path: FilePath, dev: FilePath | None = None, *, format: str | None = None, spec: TextSpec = PLAIN,
        **options: Any,
    ) -> Classifier:  # fmt: skip
        """Learn from a file with a class and a sentence per line, or of JSON lines; `dev` is another one of
        development data. The options are those of `fit`."""
        from palmette.classification.files import read_classified

        def read(name: FilePath) -> tuple[list[Any], list[str]]:
            found = read_classified(name, format, labelled=True, spec=spec)
            return [one.tokens for one in found], [str(one.label) for one in found]

        return self.fit(*read(path), dev=None if dev is None else read(dev), **options)

    def fit_corpus(
        self,
        corpus: Corpus,
        y: np.ndarray,
        dev: tuple[Corpus, np.ndarray] | None = None,
        *,
        classes: tuple[str, str] = ("0", "1"),
        **options: Unpack[FitOptions],
    ) -> Classifier:
        """Learn from a corpus whose sentences have the classes y i8[S], 1 or -1; classes: negative and positive. The
        options are those of `fit`.

        Positive sentences come first in training, so that the model does not depend on how the classes alternate."""
        asked: dict[str, Any] = dict(options)
        resume, verbose = options.get("resume"), asked.pop("verbose", False)
        chunker = self._chunker()
        parts = [np.flatnonzero(y == sign) for sign in (1, -1)]
        if dev is None and self.dev_share is not None:
            parts, held_out = _split(parts, self.dev_share, self.seed)
            dev = take(corpus, held_out), y[held_out]
        corpus, y = take(corpus, np.concatenate(parts)), y[np.concatenate(parts)]
        if resume is not None and resume.classes != classes:
            before = ", ".join(resume.classes)
            raise OptionError("resume", f"the classes are {', '.join(classes)}, and {before} in the model")
        encoder = self._encoder(len(corpus.columns)) if resume is None else resume.encoder
        settings = self._settings(chunker)
        warn_of_same_labels(classes, "classes")
        size = None if self.init_range == "auto" else float(self.init_range)
        self.outcome_: TrainResult
        asked["progress"] = reporter(options.get("progress"), verbose)
        tagger = str(self.tagger) if isinstance(self.tagger, str | Path) else None
        task = ClassifierTask(corpus, y, dev, encoder, settings, classes, chunker, range=size, tagger=tagger, **asked)
        self.model_, self.outcome_ = fit_classifier(task)
        report_end(self.outcome_, verbose)
        return self

    def _chunker(self) -> ChainModel | None:
        if self.init is None or isinstance(self.init, ChainModel):
            return self.init
        tagger = self.init if isinstance(self.init, Tagger) else Tagger.load(self.init)
        return tagger.model_

    def _encoder(self, n_columns: int) -> Encoder:
        if self.template is not None:
            given = self.template
            templates = given if isinstance(given, TemplateSet) else read_templates(given)
        else:
            templates = named_set(self.features, 1, n_columns)
        return Encoder(templates, Resources(), self.unicode)

    def _items(self, X: Iterable[Any]) -> Items:
        if isinstance(X, str):
            raise DataError("a list of sentences is expected, and this is a string")
        items = corpus_from_items(X, None, mode="columns")
        with_pos(items.corpus, self._tagger())
        return items

    def _tagger(self) -> Tagger | None:
        return self.tagger if self.tagger is None or isinstance(self.tagger, Tagger) else Tagger.load(self.tagger)

    # Using

    def decision_function(self, X: Iterable[Any]) -> np.ndarray:
        """The score of each sentence f64[S]: 0 and above is the positive class. A sentence without tokens scores 0."""
        items = self._items(X)
        scores = np.zeros(items.size)
        scores[items.places] = self._fitted().decide(items.corpus)[0]
        return scores

    def predict(self, X: Iterable[Any]) -> np.ndarray:
        """The class of each sentence, as in `classes_`."""
        return np.asarray(self.classes_[(self.decision_function(X) >= 0).astype(np.int64)])

    def structures(self, X: Iterable[Any]) -> list[dict[str, list[str]]]:
        """The latent tags of each sentence in each view: as its views were combined."""
        model, items = self._fitted(), self._items(X)
        _, states = model.decide(items.corpus, structures=True)
        offset = items.corpus.offset.tolist()
        found = [named_tags(model.views, states[:, a:b]) for a, b in pairwise(offset)]
        return items.with_empty(found, lambda: {view.name: [] for view in model.views})

    def classify_file(
        self,
        source: FilePath,
        target: FilePath,
        *,
        format: str | None = None,
        output: str = "lines",
        structures: bool = False,
        **options: Any,
    ) -> int:
        """Write the class and score of each sentence of a file, in blocks; returns the number of sentences. `format`
        and `output`: see classification/files.py; `structures` writes the latent tags of each view too. `options`
        are those of `FileUse`: `threads`; `spec`, the encoding of the source, which is that of the target unless
        `output_encoding` is another one; `progress`."""
        use = FileUse(**options)
        check_apart([target], [source])
        check_classified_output(output)

        def work(sentences: list[ClassifiedSentence]) -> Processed:
            return Processed(self.classified(sentences, output=output, structures=structures), (len(sentences),))

        return use.write(stream_classified(source, format, labelled=False, spec=use.spec), work, target)

    def classified(
        self, sentences: Sequence[ClassifiedSentence], *, output: str = "lines", structures: bool = False
    ) -> bytes:
        """The text that `classify_file` writes for some sentences."""
        items = [sentence.tokens for sentence in sentences]
        scores = self.decision_function(items)
        labels = [str(name) for name in self.classes_[(scores >= 0).astype(np.int64)]]
        tags: Sequence[dict[str, list[str]] | None] = self.structures(items) if structures else [None] * len(items)
        return classified_bytes([sentence.words for sentence in sentences], labels, scores.tolist(), tags, output)

    def evaluate(self, X: Iterable[Any], y: Iterable[Any]) -> BinaryScores:
        """Accuracy, precision, recall and F of the positive class, area under the ROC curve."""
        model, items = self._fitted(), self._items(X)
        gold = _signs([str(label) for label in y], tuple(model.classes), items)
        return binary_scores(gold > 0, model.decide(items.corpus)[0], model.classes[1])

    def score(self, X: Iterable[Any], y: Iterable[Any]) -> float:
        """Accuracy."""
        return self.evaluate(X, y).accuracy

    # Keeping

    def save(self, path: FilePath) -> None:
        """Write the model file, whole or not at all."""
        self._fitted().save(str(path))

    @classmethod
    def load(cls, path: FilePath, *, copy: bool = False) -> Classifier:
        """Read a model file, which is mapped. `copy` reads it into memory instead: for files that may be overwritten in
        place while the model is in use."""
        model = load_classifier(str(path), copy=copy)
        made = cls(template=model.encoder.templates, **model.settings.values())
        made.model_ = model
        return made

    @property
    def classes_(self) -> np.ndarray:
        """The negative class and the positive one."""
        return np.array(self._fitted().classes)

    @property
    def views_(self) -> list[str]:
        return [view.name for view in self._fitted().views]

    @property
    def training_log_(self) -> list[dict[str, Any]]:
        """A dictionary a pass: accuracy on the training data as it went and on dev, updates, decodings, ..."""
        history: list[dict[str, Any]] = self._fitted().meta["history"]
        return history


def _signs(given: Sequence[str], classes: tuple[str, ...], items: Items) -> np.ndarray:
    """Classes as 1 and -1, i8[S], of the sentences that have tokens."""
    if len(given) != items.size:
        raise DataError(f"{counted(items.size, 'sentence')} and {counted(len(given), 'class', 'classes')}")
    strange = next((label for label in given if label not in classes), None)
    if strange is not None:
        raise DataError(f"the class {strange!r} is not one of {', '.join(classes)}")
    signs = np.array([1 if label == classes[1] else -1 for label in given], np.int8)
    return np.asarray(signs[items.places])


def _split(parts: list[np.ndarray], share: float, seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Numbers of sentences per class, without a share of each class that is held out, and those held out."""
    kept, out = [], []
    for k, numbers in enumerate(parts):
        drawn = np.random.default_rng([seed, 1 + k]).permutation(numbers.size)
        n = max(1, round(share * numbers.size))
        kept.append(numbers[np.sort(drawn[n:])])
        out.append(numbers[np.sort(drawn[:n])])
    return kept, np.concatenate(out)


def with_pos(corpus: Corpus, tagger: Tagger | None) -> None:
    """Add a column of parts of speech to a corpus of bare words."""
    if tagger is not None and len(corpus.columns) == 1 and corpus.n_tokens:
        ids, _ = tagger.model_.tag(corpus)
        corpus.columns.append(column_of_types(ids, tagger.labels_))


def named_tags(views: Sequence[View], states: np.ndarray) -> dict[str, list[str]]:
    """The tags of one sentence's states i16[R, n] in each view."""
    return {view.name: [view.tags[h] for h in row] for view, row in zip(views, states.tolist(), strict=True)}
