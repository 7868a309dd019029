"""`Tagger`: a sequence labeller in the scikit-learn manner, over Python data or files.

    tagger = Tagger(features="pos").fit(sentences, tags)
    tagger.predict([["Time", "flies"]])

`__init__` only stores; `fit` learns; learnt things end in `_`. The command line is built on the same class.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath
from palmette.data.formats.registry import FormatSpec, read_corpus
from palmette.data.items import Items, corpus_from_items
from palmette.data.labels.automaton import CUSTOM, Step
from palmette.data.labels.mask import certain_labels, label_names, mask_from_items, understand_labels
from palmette.data.subset import split
from palmette.errors import DataError, UsageError
from palmette.estimators.tagger_confidence import Confidences
from palmette.evaluation.scores import Scores, score
from palmette.features.resources import Resources, read_clusters, read_lexicon
from palmette.features.templates import TemplateSet
from palmette.options.settings import Settings, is_batch, parse_latent
from palmette.structures.chain.files import TagRequest, nbest_file, tag_file
from palmette.structures.chain.model import CAP, ChainModel
from palmette.structures.chain.nbest import Candidate, nbest_lists, of_no_token
from palmette.structures.chain.prune import pruned
from palmette.structures.chain.serialise import load_chain
from palmette.training.chain.request import TrainRequest
from palmette.training.chain.templates import choose_templates
from palmette.training.result import Progress

Say = Callable[[str], None]
_SETTINGS = tuple(Settings.__struct_fields__)


class Tagger(Confidences):
    """A chain model with its features: train it, tag with it, save it, look into it.

    features: a named template set (pos, chunk, ner, char, ngrams); None chooses by the labels.
    template: a CRF++ or Wapiti template file (or a TemplateSet) instead of a named set.
    order: 0, 1 or 2 for a named set or ready-made attributes; a template file says it itself.
    lexicons, clusters: name -> file, for the atoms lexicon:NAME and cluster:NAME.
    latent: hidden states of every label (5), or of some ({"B-NP": 2} or "B-NP=2,O=3").
    label_history: what states remember of the labels before: "bigram", "trigram", "run:O:3", or a function
        (memory before, label) -> memory, which gets None before the first token.
    partial: y may hold sets of labels and None (anything); in files, `A|B` and `?` are meant so.
    dev_share: hold out this share of the training sentences as development data.
    The others are explained in `palmette train --help`.
    """

    def __init__(
        self,
        features: str | None = None,
        *,
        template: FilePath | TemplateSet | None = None,
        order: int | None = None,
        learner: str = "perceptron",
        latent: int | str | Mapping[str, int] = 1,
        label_history: str | Step | None = None,
        estimator: str = "auto",
        mavg_every: int | str | None = None,
        init_size: float = 0.01,
        share: float = 1.0,
        split_after: int = 0,
        partial: bool | None = None,
        passes: int | None = None,
        seed: int = 1,
        patience: int | None = None,
        dev_share: float | None = None,
        metric: str = "auto",
        min_count: int = 1,
        max_attributes: int | None = None,
        edge_features: str = "all",
        state_features: str = "all",
        constraints: str = "auto",
        forbidden: Sequence[tuple[str, str]] = (),
        lexicons: Mapping[str, FilePath] | None = None,
        clusters: Mapping[str, FilePath] | None = None,
        ends: bool = True,
        tune_bias: bool = False,
        l2: float | None = None,
        l1: float = 0.0,
        l1_then_l2: bool = False,
        tolerance: float = 1e-5,
        optimiser: str = "lbfgs",
        rate: float | None = None,
        restarts: int = 1,
        candidates: int | None = None,
        rate_schedule: str = "falling",
        probability_function: str = "softmax",
        degree: float = 2.0,
        add_gold: bool = True,
        when: str = "always",
        search: str = "viterbi",
        beam: int | None = None,
        update: str | None = None,
        aggressiveness: float = 0.1,
        pa_type: str = "PA-I",
        cost: str = "hamming",
        smoothing: float = 0.001,
        rare: int = 1,
        dictionary: int | None = None,
    ) -> None:
        self.features = features
        self.template = template
        self.order = order
        self.learner = learner
        self.latent = latent
        self.label_history = label_history
        self.estimator = estimator
        self.mavg_every = mavg_every
        self.init_size = init_size
        self.share = share
        self.split_after = split_after
        self.partial = partial
        self.passes = passes
        self.seed = seed
        self.patience = patience
        self.dev_share = dev_share
        self.metric = metric
        self.min_count = min_count
        self.max_attributes = max_attributes
        self.edge_features = edge_features
        self.state_features = state_features
        self.constraints = constraints
        self.forbidden = forbidden
        self.lexicons = lexicons
        self.clusters = clusters
        self.ends = ends
        self.tune_bias = tune_bias
        self.l2 = l2
        self.l1 = l1
        self.l1_then_l2 = l1_then_l2
        self.tolerance = tolerance
        self.optimiser = optimiser
        self.rate = rate
        self.restarts = restarts
        self.candidates = candidates
        self.rate_schedule = rate_schedule
        self.probability_function = probability_function
        self.degree = degree
        self.add_gold = add_gold
        self.when = when
        self.search = search
        self.beam = beam
        self.update = update
        self.aggressiveness = aggressiveness
        self.pa_type = pa_type
        self.cost = cost
        self.smoothing = smoothing
        self.rare = rare
        self.dictionary = dictionary

    # Parameters, as scikit-learn wants them

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _parameters()}

    def set_params(self, **params: Any) -> Tagger:
        for name, value in params.items():
            if name not in _parameters():
                raise UsageError(f"Tagger has no parameter {name!r}; it has {', '.join(_parameters())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        default = {n: p.default for n, p in inspect.signature(type(self).__init__).parameters.items()}
        given = self.get_params() | ({"template": self.template.name} if isinstance(self.template, TemplateSet) else {})
        changed = [f"{k}={v!r}" for k, v in given.items() if v != default[k]]
        return f"Tagger({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None, target_tags=TargetTags(required=True), classifier_tags=ClassifierTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True, dict=True),
        )  # fmt: skip

    # Training

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Any],
        *,
        sample_weight: Sequence[float] | None = None,
        dev: tuple[Iterable[Any], Iterable[Any]] | None = None,
        progress: Progress | None = None,
        say: Say | None = None,
    ) -> Tagger:
        """Learn from sentences X and their labels y; `dev` are sentences and labels to choose the pass by."""
        items = corpus_from_items(X, y, mode=self._wanted())
        corpus = items.corpus
        if sample_weight is not None:
            corpus.weight = _weights(sample_weight, items)
        held_out = None
        if dev is not None:
            if len(dev) != 2:
                raise UsageError("dev is a pair of sentences and their labels: dev=(X, y)")
            held_out = corpus_from_items(*dev, mode=self._wanted()).corpus
        return self.fit_corpus(corpus, held_out, progress=progress, say=say)

    def partial_fit(self, X: Iterable[Any], y: Iterable[Any], *, say: Say | None = None) -> Tagger:
        """Go on training with more data, which may bring new labels and attributes."""
        settings = self.settings()
        again = is_batch(settings) or settings.optimiser == "adagrad" or settings.learner == "hmm"
        exactly = not again  # those start again from their weights, or count at once
        old = getattr(self, "model_", None)
        return self.fit_corpus(self._corpus(X, y), None, resume=old, checkpoint=exactly, say=say)

    def fit_file(
        self, path: FilePath, dev: FilePath | None = None, *, reading: FormatSpec | None = None, **options: Any
    ) -> Tagger:
        """Learn from a labelled file; `options` as for `fit_corpus`."""
        reading = reading or FormatSpec()
        self.settings()  # what is wrong with them is told before anything is read
        corpus = read_corpus(path, reading)
        held_out = read_corpus(dev, reading) if dev is not None else None
        self.fit_corpus(corpus, held_out, **options)
        self.model_.meta["reading"] = msgspec.to_builtins(_explicit(reading.resolved(path), corpus))
        return self

    def fit_corpus(
        self,
        corpus: Corpus,
        dev: Corpus | None,
        *,
        resume: ChainModel | None = None,
        checkpoint: bool = False,
        names: bool = True,
        threads: int = 1,
        progress: Progress | None = None,
        say: Say | None = None,
    ) -> Tagger:
        """Learn from a corpus. `checkpoint` keeps what an exact resumption needs; `names` the attributes' names;
        `threads` make a batch learner faster and nothing else."""
        say = say or (lambda message: None)
        settings = self.settings()
        from palmette.training.chain.fit import (  # tagging does not wait for what training needs
            check_labelled,
            fit_chain,
        )
        from palmette.training.hmm import check_no_features, fit_hmm

        check_labelled(corpus, "training")
        if dev is None and self.dev_share is not None:
            corpus, dev = split(corpus, self.dev_share, self.seed)
        counted = settings.learner == "hmm"
        if counted:
            check_no_features({name: getattr(self, name) for name in ("features", "template", "lexicons", "clusters")})
        resources = self._resources()
        templates = None
        if resume is None and not counted:
            templates = choose_templates(self.features, self.template, self.order, corpus, resources, say)
        wish = TrainRequest(
            templates, settings, 1 if self.order is None else self.order, resources, tuple(self.forbidden), resume,
            checkpoint, names, self.ends, progress, say, threads,
            self.label_history if callable(self.label_history) else None,
        )  # fmt: skip
        self.model_, self.outcome_ = (fit_hmm if counted else fit_chain)(corpus, dev, wish)
        if resume is None:
            self.model_.meta["features"] = self.features
        else:
            self.model_.meta |= {name: value for name, value in resume.meta.items() if name in ("features", "reading")}
        return self

    def _corpus(self, X: Iterable[Any], y: Iterable[Any] | None = None) -> Corpus:
        return corpus_from_items(X, y, mode=self._mode()).corpus

    def _mode(self) -> str:
        """Whether a list as a token means columns or attributes."""
        if hasattr(self, "model_"):
            return "attributes" if self.model_.encoder is None else "columns"
        return self._wanted()

    def _wanted(self) -> str:
        """The same for a training that begins anew."""
        named = self.features is not None or self.template is not None
        return "columns" if named or self.learner == "hmm" else "auto"

    def settings(self) -> Settings:
        """What was chosen about learning, checked."""
        values = {name: getattr(self, name) for name in _SETTINGS}
        # Grids are often NumPy's numbers.
        values = {name: v.item() if isinstance(v, np.generic) else v for name, v in values.items()}
        if callable(values["label_history"]):
            values["label_history"] = CUSTOM
        latent = values["latent"]
        if isinstance(latent, str):
            values["latent"] = parse_latent(latent)
        elif isinstance(latent, Mapping):
            counts = {str(k): v.item() if isinstance(v, np.generic) else v for k, v in latent.items()}
            values["latent"] = counts
        return Settings(**values)

    def _resources(self) -> Resources:
        return Resources(
            {name: read_lexicon(path, name) for name, path in (self.lexicons or {}).items()},
            {name: read_clusters(path, name) for name, path in (self.clusters or {}).items()},
        )

    # Using

    def predict(
        self, X: Iterable[Any], *, allowed: Iterable[Any] | None = None, decode: str = "viterbi"
    ) -> list[list[str]]:
        """The labels of each sentence. `allowed`: for each sentence a list with, for each token, None
        (anything), a label, or a set of labels. `decode`: viterbi, marginal or exact."""
        return self._predicted(X, allowed, decode, CAP)[0]

    def predict_scored(
        self, X: Iterable[Any], *, allowed: Iterable[Any] | None = None
    ) -> tuple[list[list[str]], list[float]]:
        """The labels and the score of the best path of each sentence."""
        labels, scores, _ = self._predicted(X, allowed, "viterbi", CAP)
        return labels, scores

    def predict_exact(
        self, X: Iterable[Any], *, allowed: Iterable[Any] | None = None, cap: int = CAP
    ) -> tuple[list[list[str]], list[bool]]:
        """The label sequence of each sentence with the largest share of all paths of a latent model, and whether that
        is proven: after `cap` paths the best one so far comes out."""
        labels, _, proven = self._predicted(X, allowed, "exact", cap)
        return labels, proven

    def _predicted(
        self, X: Iterable[Any], allowed: Iterable[Any] | None, decode: str, cap: int
    ) -> tuple[list[list[str]], list[float], list[bool]]:
        model = self._fitted()
        items = corpus_from_items(X, None, mode=self._mode())
        known = None if allowed is None else mask_from_items(allowed, items.corpus, model.labels)
        found = model.decode(items.corpus, decode, known=known, cap=cap)
        labels = [model.labels[i] for i in found.labels.tolist()]
        cuts = items.corpus.offset.tolist()
        tagged = items.with_empty([labels[a:b] for a, b in pairwise(cuts)], list)
        proven = np.ones(items.corpus.n_sentences, np.bool_) if found.proven is None else found.proven
        return tagged, items.with_empty(found.scores.tolist(), float), items.with_empty(proven.tolist(), lambda: True)

    def nbest(self, X: Iterable[Any], n: int = 5, *, allowed: Iterable[Any] | None = None) -> list[list[Candidate]]:
        """Of each sentence the n best label sequences as (labels, score, probability), best first; fewer where there
        are no more. The probability is None unless the model has been learnt as a distribution (crf, dplvm)."""
        model = self._fitted()
        items = corpus_from_items(X, None, mode=self._mode())
        known = None if allowed is None else mask_from_items(allowed, items.corpus, model.labels)
        found = list(nbest_lists(model, items.corpus, n, known=known))
        return items.with_empty(found, lambda: [of_no_token(model)])

    def search_with(self, search: str | None = None, beam: int | None = None) -> Tagger:
        """From now on search as told (viterbi, or beam with so many prefixes), not as in training."""
        self._fitted().search_with(search, beam)
        return self

    def score(self, X: Iterable[Any], y: Iterable[Any], sample_weight: Any = None) -> float:
        """Token accuracy."""
        return self.evaluate(self._corpus(X, y)).accuracy

    def evaluate(self, corpus: Corpus, bias: dict[str, float] | None = None) -> Scores:
        """All scores on a labelled corpus."""
        gold, guess, labels = self.gold_and_guess(corpus, bias)
        return score(gold, guess, corpus.offset, labels, self.unseen(corpus), known=self.certain(corpus))

    def gold_and_guess(
        self,
        corpus: Corpus,
        bias: dict[str, float] | None = None,
        partial: bool | None = None,
        decode: str = "viterbi",
    ) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """Gold and guess as numbers i32[N], and the labels that they number (the model's first). Where gold is not
        fully known (see `certain`), its number means nothing."""
        model = self._fitted()
        if corpus.labels is None or corpus.n_tokens == 0:
            raise DataError("no labelled sentence to score", file=corpus.source)
        understand_labels(corpus, model.meta.get("settings", {}).get("partial") if partial is None else partial)
        guess = model.decode(corpus, decode, bias).labels
        labels = model.labels + [label for label in label_names(corpus) if label not in set(model.labels)]
        gold, sure = certain_labels(corpus, labels)
        if sure is not None and not sure.any():
            raise DataError("no label is fully known: there is nothing to score", file=corpus.source)
        return gold, guess, labels

    def certain(self, corpus: Corpus) -> np.ndarray | None:
        """Which tokens' gold labels are fully known, bool[N]; None: all of them."""
        return certain_labels(corpus, label_names(corpus))[1]

    def unseen(self, corpus: Corpus) -> np.ndarray | None:
        """Which tokens' words (column 0) were not in the training data, bool[N]; None when nobody knows."""
        model = self._fitted()
        if not corpus.columns or not model.vocabulary.size:
            return None
        return ~np.isin(corpus.columns[0].hash, model.vocabulary)[corpus.columns[0].ids]

    def tag_file(
        self,
        source: FilePath,
        target: FilePath,
        *,
        reading: FormatSpec | None = None,
        add: Sequence[Tagger] = (),
        threads: int = 1,
        progress: Callable[[int], None] | None = None,
        **options: Any,
    ) -> int:
        """Tag a file of any size in bounded memory; returns the number of tokens.

        `add` are taggers that make the columns the input lacks. `options` are the other fields of `TagRequest`:
        `output` is the format to write, `scores` writes the score of each sentence, `known` names a column with what is
        known about the labels (a label, `A|B`, or `?`), `states` writes the latent state, `NP#2`, instead of the label;
        `decode` is viterbi, marginal or exact, whose proofs (at most `cap` paths each) `proven_` counts; `confidence`
        and `marginals` write confidences as data/formats/confidence.py describes.
        """
        request = self._request(source, reading, add, options)
        done = tag_file(self._fitted(), source, target, request, threads=threads, progress=progress)
        self.proven_ = (done.proven, done.searched)
        return done.tokens

    def nbest_file(
        self,
        source: FilePath,
        target: FilePath,
        n: int = 5,
        *,
        reading: FormatSpec | None = None,
        add: Sequence[Tagger] = (),
        threads: int = 1,
        progress: Callable[[int], None] | None = None,
        **options: Any,
    ) -> int:
        """Write the n best label sequences of each sentence of a file; returns the number of tokens. `output` is crfpp
        (a block per candidate), columns (labels side by side) or jsonl; `known` and `bias` are those of `tag_file`."""
        request = self._request(source, reading, add, options)
        return nbest_file(self._fitted(), source, target, n, request, threads=threads, progress=progress)

    def _request(
        self, source: FilePath, reading: FormatSpec | None, add: Sequence[Tagger], options: dict[str, Any]
    ) -> TagRequest:
        helpers = [tagger._fitted() for tagger in add]
        return TagRequest(spec=reading or self.reading_for(source), helpers=helpers, **options)

    def reading_for(self, source: FilePath, *, labelled: bool = False) -> FormatSpec:
        """How to read input that looks like the training data, with its labels or without."""
        trained = self._fitted().meta.get("reading") or FormatSpec()
        reading = FormatSpec().like(trained, source)
        return reading.labelled() if labelled else reading

    # Keeping

    def save(self, path: FilePath, *, prune: bool = False, strip: bool = False) -> None:
        """Write the model file, whole or not at all."""
        model = self._fitted()
        (pruned(model, rows=prune, names=strip) if prune or strip else model).save(str(path))

    @classmethod
    def load(cls, path: FilePath) -> Tagger:
        """Read a model file."""
        model = load_chain(str(path))
        settings = model.meta["settings"]
        if settings.get("update") in ("always", "errors"):  # what `when` was called before
            settings["when"] = settings.pop("update")
        features, template, encoder = model.meta.get("features"), None, model.encoder
        if settings.get("learner") == "hmm":
            features = None  # its templates are its own
        elif encoder is not None and (not features or encoder.resources.lexicons or encoder.resources.clusters):
            features, template = None, encoder.templates  # a file's templates, or a set with words from elsewhere
        tagger = cls(features, template=template, **{name: settings[name] for name in _SETTINGS if name in settings})
        tagger.forbidden, tagger.ends = tuple(model.meta["forbidden"]), model.shape.ends
        if template is None and model.shape.order != 1:
            tagger.order = model.shape.order
        tagger.model_ = model
        return tagger

    @property
    def labels_(self) -> list[str]:
        return self._fitted().labels

    @property
    def states_(self) -> list[str]:
        """What the states are called: as their labels in a plain model."""
        model = self._fitted()
        names = model.labels if model.shape.per == 1 else model.shape.state_names(model.labels)
        return [name for name, missing in zip(names, model.shape.missing(), strict=True) if not missing]

    @property
    def classes_(self) -> list[str]:
        return self._fitted().labels

    @property
    def training_log_(self) -> list[dict[str, Any]]:
        return self._fitted().meta["history"]

    def _fitted(self) -> ChainModel:
        if not hasattr(self, "model_"):
            raise UsageError("this Tagger has not been trained: call fit, or Tagger.load")
        return self.model_


def _parameters() -> list[str]:
    return [name for name in inspect.signature(Tagger.__init__).parameters if name != "self"]


def _explicit(reading: FormatSpec, corpus: Corpus) -> FormatSpec:
    """Name the feature columns when the label is not the last one: without labels they would shift."""
    if reading.format != "columns" or reading.columns is not None or reading.label is None:
        return reading
    n = len(corpus.columns) + 1
    label = int(reading.label) % n
    if label == n - 1:
        return reading
    return msgspec.structs.replace(reading, columns=tuple(str(c) for c in range(n) if c != label))


def _weights(given: Sequence[float], items: Items) -> np.ndarray:
    weight = np.asarray(given, np.float32)
    if weight.shape != (items.size,):
        raise DataError(f"{weight.size} sample weights for {items.size} sentences")
    if not np.all(np.isfinite(weight)) or np.any(weight < 0):
        raise DataError("sample weights must be finite and not negative")
    return weight[items.places]
