"""`Classifier`: two classes of sentences, told apart by the latent structure that serves the decision best.

    classifier = Classifier(views="all", combine="cotrain").fit(positives, negatives)
    classifier.predict(sentences), classifier.decision(sentences), classifier.structures(sentences)

A sentence is a list of words or of (word, part of speech) tuples.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from palmette.data.corpus import Corpus, column_of_types
from palmette.data.files import FilePath
from palmette.data.formats.classified import (
    ClassifiedSentence,
    check_classified_output,
    classified_bytes,
    stream_classified,
)
from palmette.data.items import Items, corpus_from_items
from palmette.data.stream import Processed, process_file
from palmette.errors import DataError, UsageError
from palmette.estimators.tagger import Tagger
from palmette.evaluation.binary import BinaryScores, binary_scores
from palmette.features.encode import Encoder
from palmette.features.named import NAMED_SETS, named_set
from palmette.features.resources import Resources
from palmette.features.templates import TemplateSet, read_templates
from palmette.options.classifier_settings import CAP, TYPES, Settings, checked
from palmette.structures.chain.model import ChainModel
from palmette.structures.latent.model import ClassifierModel
from palmette.structures.latent.serialise import load_classifier
from palmette.structures.latent.views import View, check_latent, type_names, view_names
from palmette.training.latent.fit import Task, fit_classifier
from palmette.training.latent.start import types_of
from palmette.training.result import Progress, TrainResult

Say = Callable[[str], None]
POSITIVE, NEGATIVE = "1", "0"


class Classifier:
    """A classifier over latent structures.

    learner: pa (online), lclr or lclr-variant (batch).
    views: representations of the latent chunking: "all" or some of iob1, iob2, ioe1, ioe2, o+c.
    combine: add (each view its own structure), vote (all take the majority's) or cotrain (each takes that of the
        others).
    types: chunk types: how many, or their names; None: 4, or those of the chunker that it starts from.
    latent: chunks; a number of general states instead; or "none": words alone, without structure.
    features: a named template set, or `template`: a file.
    init: a supervised chunker (a Tagger, or its file) to start from, with `init_range` as its largest weight, or
        "auto": that of a model trained from zero.
    tagger: a Tagger (or its file) that gives the parts of speech to sentences of bare words.
    pa_type, aggressiveness: PA, PA-I (steps of at most the aggressiveness) or PA-II.
    normalise: divide features by their length. pairs: weights for pairs of chunk tags.
    estimator: avg (mean of all weights) or last.
    cap: how often a negative sentence is decoded at most in a pass. bound: measure the bound on the loss.
    inner_rounds, inner_passes: limits of the batch learners' inner loops.
    The rest as for `Tagger`.
    """

    def __init__(
        self,
        learner: str = "pa",
        *,
        views: str | Sequence[str] = ("iob2",),
        combine: str = "add",
        types: int | Sequence[str] | None = None,
        latent: str | int = "chunks",
        features: str = "ngrams",
        template: FilePath | TemplateSet | None = None,
        init: Any = None,
        init_range: float | str = 0.1,
        tagger: Any = None,
        pa_type: str = "PA",
        aggressiveness: float = 1.0,
        normalise: bool = True,
        pairs: bool = True,
        estimator: str = "pass",
        passes: int = 10,
        patience: int | None = None,
        cap: int = CAP,
        bound: bool = False,
        inner_rounds: int = 50,
        inner_passes: int = 10,
        min_count: int = 1,
        seed: int = 1,
    ) -> None:
        self.learner = learner
        self.views = views
        self.combine = combine
        self.types = types
        self.latent = latent
        self.features = features
        self.template = template
        self.init = init
        self.init_range = init_range
        self.tagger = tagger
        self.pa_type = pa_type
        self.aggressiveness = aggressiveness
        self.normalise = normalise
        self.pairs = pairs
        self.estimator = estimator
        self.passes = passes
        self.patience = patience
        self.cap = cap
        self.bound = bound
        self.inner_rounds = inner_rounds
        self.inner_passes = inner_passes
        self.min_count = min_count
        self.seed = seed

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _parameters()}

    def set_params(self, **params: Any) -> Classifier:
        for name, value in params.items():
            if name not in _parameters():
                raise UsageError(f"Classifier has no parameter {name!r}; it has {', '.join(_parameters())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        default = {n: p.default for n, p in inspect.signature(type(self).__init__).parameters.items()}
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value != default[name]]
        return f"Classifier({', '.join(changed)})"

    def settings(self, chunker: ChainModel | None = None) -> Settings:
        """What is chosen, checked."""
        check_latent(self.latent)
        types: int | Sequence[str] = TYPES if self.types is None else self.types
        if chunker is not None:
            if self.types is not None:
                raise UsageError("types: a classifier that starts from a chunker has its types")
            types = types_of(chunker)
        same = {name: getattr(self, name) for name in Settings.__struct_fields__ if name not in ("views", "types")}
        if self.latent == "none":
            same["pairs"] = False  # the one pair would count the words
        return checked(Settings(views=view_names(self.views), types=type_names(types), **same))

    # Training

    def fit(
        self,
        positives: Iterable[Any],
        negatives: Iterable[Any],
        *,
        dev: tuple[Iterable[Any], Iterable[Any]] | None = None,
        classes: tuple[str, str] = (NEGATIVE, POSITIVE),
        names: bool = True,
        progress: Progress | None = None,
        say: Say | None = None,
    ) -> Classifier:
        """Learn from positive and negative sentences; `dev` is another such pair, to choose the pass by. `classes` are
        the names of the negative and the positive class; `names`: keep those of attributes, for `inspect`."""
        self.settings(self._chunker())  # what is wrong is told before anything is read
        if dev is not None and len(dev) != 2:
            raise UsageError("dev is a pair of positive and negative sentences: dev=(positives, negatives)")
        if len(classes) != 2 or classes[0] == classes[1] or not all(isinstance(c, str) and c for c in classes):
            raise UsageError(f"classes: {classes!r} are not two different names, negative and positive")
        corpus, y = self._labelled(positives, negatives)
        held_out = None if dev is None else self._labelled(*dev)
        return self.fit_corpus(corpus, y, held_out, classes=classes, names=names, progress=progress, say=say)

    def fit_corpus(
        self,
        corpus: Corpus,
        y: np.ndarray,
        dev: tuple[Corpus, np.ndarray] | None = None,
        *,
        classes: tuple[str, str] = (NEGATIVE, POSITIVE),
        names: bool = True,
        progress: Progress | None = None,
        say: Say | None = None,
    ) -> Classifier:
        """Learn from a corpus whose sentences have the classes y i8[S], 1 or -1."""
        chunker = self._chunker()
        encoder = self._encoder(len(corpus.columns))
        size = None if self.init_range == "auto" else _number(self.init_range)
        self.model_, self.outcome_ = fit_classifier(Task(
            corpus, y, dev, encoder, self.settings(chunker), (classes[0], classes[1]), chunker, names, size,
            progress, say or (lambda message: None),
        ))  # fmt: skip
        if isinstance(self.tagger, str | Path):
            self.model_.meta["tagger"] = str(self.tagger)
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
        elif self.features in NAMED_SETS:
            templates = named_set(self.features, 1, n_columns)
        else:
            raise UsageError(f"features: there is no set {self.features!r}; choose one of {', '.join(NAMED_SETS)}")
        return Encoder(templates, Resources())

    def _labelled(self, positives: Iterable[Any], negatives: Iterable[Any]) -> tuple[Corpus, np.ndarray]:
        """Both in one corpus, with their classes; sentences without a token are left out."""
        sizes = [0, 0]

        def counted(which: int, sentences: Iterable[Any]) -> Iterable[Any]:
            if isinstance(sentences, str):
                raise DataError("a list of sentences is expected, and this is a string")
            for sentence in sentences:
                sizes[which] += 1
                yield sentence

        items = self._items(chain(counted(0, positives), counted(1, negatives)))
        y = np.repeat(np.array([1, -1], np.int8), sizes)
        return items.corpus, y[items.places]

    def _items(self, sentences: Iterable[Any]) -> Items:
        items = corpus_from_items(sentences, None, mode="columns")
        with_pos(items.corpus, self._tagger())
        return items

    def _tagger(self) -> Tagger | None:
        return self.tagger if self.tagger is None or isinstance(self.tagger, Tagger) else Tagger.load(self.tagger)

    # Using

    def decision(self, sentences: Iterable[Any]) -> np.ndarray:
        """The score of each sentence f64[S]: not below 0 is positive. One without a token scores 0."""
        items = self._items(sentences)
        scores = np.zeros(items.size)
        scores[items.places] = self._fitted().decide(items.corpus)[0]
        return scores

    def predict(self, sentences: Iterable[Any]) -> np.ndarray:
        """The class of each sentence, as in `classes_`."""
        return self.classes_[(self.decision(sentences) >= 0).astype(np.int64)]

    def structures(self, sentences: Iterable[Any]) -> list[dict[str, list[str]]]:
        """The latent tags of each sentence in each view: as its views were combined."""
        model, items = self._fitted(), self._items(sentences)
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
        threads: int = 1,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Write the class and score of each sentence of a file, in blocks; returns the number of sentences. `format`
        and `output`: see data/formats/classified.py; `structures` writes the latent tags of each view too."""
        check_classified_output(output)

        def work(sentences: list[ClassifiedSentence]) -> Processed:
            return Processed(self.classified(sentences, output=output, structures=structures), (len(sentences),))

        blocks = stream_classified(source, format, labelled=False)
        return sum(process_file(blocks, work, target, threads=threads, progress=progress))

    def classified(
        self, sentences: Sequence[ClassifiedSentence], *, output: str = "lines", structures: bool = False
    ) -> bytes:
        """The text that `classify_file` writes for some sentences."""
        items = [sentence.tokens for sentence in sentences]
        scores = self.decision(items)
        labels = [str(name) for name in self.classes_[(scores >= 0).astype(np.int64)]]
        tags: Sequence[dict[str, list[str]] | None] = self.structures(items) if structures else [None] * len(items)
        return classified_bytes([sentence.words for sentence in sentences], labels, scores.tolist(), tags, output)

    def evaluate(self, positives: Iterable[Any], negatives: Iterable[Any]) -> BinaryScores:
        """Accuracy, precision, recall, F, area under the ROC."""
        corpus, y = self._labelled(positives, negatives)
        return binary_scores(y > 0, self._fitted().decide(corpus)[0])

    def accuracy(self, positives: Iterable[Any], negatives: Iterable[Any]) -> float:
        return self.evaluate(positives, negatives).accuracy

    # Keeping

    def save(self, path: FilePath) -> None:
        """Write the model file, whole or not at all."""
        self._fitted().save(str(path))

    @classmethod
    def load(cls, path: FilePath) -> Classifier:
        """Read a model file."""
        model = load_classifier(str(path))
        names = [name for name in Settings.__struct_fields__ if name in _parameters()]
        made = cls(template=model.encoder.templates, **{name: getattr(model.settings, name) for name in names})
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

    outcome_: TrainResult

    def _fitted(self) -> ClassifierModel:
        if not hasattr(self, "model_"):
            raise UsageError("this Classifier has not been trained: call fit, or Classifier.load")
        return self.model_


def with_pos(corpus: Corpus, tagger: Tagger | None) -> None:
    """Add a column of parts of speech to a corpus of bare words."""
    if tagger is not None and len(corpus.columns) == 1 and corpus.n_tokens:
        ids, _ = tagger.model_.tag(corpus)
        corpus.columns.append(column_of_types(ids, tagger.labels_))


def named_tags(views: Sequence[View], states: np.ndarray) -> dict[str, list[str]]:
    """The tags of one sentence's states i16[R, n] in each view."""
    return {view.name: [view.tags[h] for h in row] for view, row in zip(views, states.tolist(), strict=True)}


def _number(given: Any) -> float:
    try:
        return float(given)
    except (TypeError, ValueError):
        raise UsageError(f"init_range: {given!r} is not a number, nor auto") from None


def _parameters() -> list[str]:
    return [name for name in inspect.signature(Classifier.__init__).parameters if name != "self"]
