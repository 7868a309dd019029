"""`Tagger`: a sequence labeller in the manner of scikit-learn, over Python data or files.

    tagger = Tagger("ner", learner=Mira(nbest=5, cost="span"), search=Beam(8, update="early"))
    tagger.fit(sentences, tags).predict([["Time", "flies"]])

The command line is built on this class.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath
from palmette.data.labels.mask import known_gold, label_names
from palmette.data.labels.numbers import label_numbers
from palmette.data.labels.partial import mark_partial_labels
from palmette.data.labels.schemes import unseen_scheme
from palmette.errors import DataError, UsageError
from palmette.estimators.base import Estimator, PerSentence
from palmette.estimators.tagger_compact import Compacting
from palmette.estimators.tagger_confidence import Confidences
from palmette.estimators.tagger_files import TaggedFiles
from palmette.estimators.tagger_items import PythonData, about_data
from palmette.estimators.tagger_large import LargeData
from palmette.estimators.tagger_shards import ShardedFiles
from palmette.estimators.tagger_views import Views
from palmette.features.resources import Resources, read_clusters, read_lexicon
from palmette.options.chain import ChainSettings, TaggerOptions
from palmette.options.learners import HiddenMarkov
from palmette.structures.chain.model import CAP, ChainModel
from palmette.structures.chain.serialise import load_chain

if TYPE_CHECKING:  # tagging a file does not wait for training, scoring and the other ways to use a model
    from palmette.data.candidate import Labelling
    from palmette.evaluation.scores import LabelScores
    from palmette.structures.chain.session import Session
    from palmette.training.result import Progress

KEPT = (
    "features",
    "reading",
    "label_numbers",
    "vectors",
    "temperature",
)  # what is known about a model that learns more
FEW = 128  # sentences up to which a list is tagged one by one: by the session, which is faster on short lists


class Tagger(
    PythonData, LargeData, ShardedFiles, TaggedFiles, Confidences, Views, Compacting, TaggerOptions, Estimator
):
    """A chain model with its features: train it, tag with it, save it, inspect it.

    Parameters are declared options; `palmette train --help` and the reference pages explain all of them.
    """

    # Training

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Any],
        *,
        labels: Any = None,
        sample_weight: Sequence[float] | None = None,
        dev: tuple[Iterable[Any], Iterable[Any]] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        verbose: bool = False,
    ) -> Tagger:
        """Learn from sentences X and their labels y; `dev` is a pair (X, y) of development data that chooses the pass.
        Without it, sentences are held out to choose the number of passes if there are at least 5,000, unless
        `dev_share` is 0 or a learner is named; then a model is trained on all of them.

        labels: the names of labels that are whole numbers, in a list, or as a `ClassLabel` of Hugging Face has them.
        sample_weight: a number per sentence that scales its updates. threads: default all cores; the model is the same
        for any number. verbose: print a line per pass (of L-BFGS: per iteration) and why training ended. With
        `out_of_core` X and y are read once, in blocks, and may be generators of more than fits into memory."""
        from palmette.data.items import NO_WEIGHT, corpus_from_items

        numbers = label_numbers(labels)
        if self.out_of_core:
            options = {"threads": threads, "progress": progress, "verbose": verbose}
            return self._fit_items((X, y), dev, numbers, sample_weight, **options)
        items = corpus_from_items(X, y, mode=self._wanted(), numbers=numbers)
        corpus = items.corpus
        if sample_weight is not None:
            corpus.weight = items.weights(sample_weight)
            if corpus.weight.size and not corpus.weight.any():
                raise DataError(NO_WEIGHT)
        held_out = None
        if dev is not None:
            if len(dev) != 2:
                raise UsageError("dev is a pair of sentences and their labels: dev=(X, y)")
            held_out = corpus_from_items(
                *dev, mode=self._wanted(), widths=corpus.vectors, numbers=numbers, columns=len(corpus.columns) or None
            ).corpus
        return self.fit_corpus(corpus, held_out, threads=threads, progress=progress, verbose=verbose)

    def partial_fit(self, X: Iterable[Any], y: Iterable[Any], *, labels: Any = None) -> Tagger:
        """Continue training with more data, which may bring new labels and attributes. `labels` as for `fit`."""
        learner = self.settings().chosen_learner
        # L-BFGS and AdaGrad start again from the weights, and an HMM is counted at once: no checkpoint for these.
        counted = isinstance(learner, HiddenMarkov)
        exactly = not (counted or learner.full_batch or learner.values().get("optimiser") == "adagrad")
        old = getattr(self, "model_", None)
        return self.fit_corpus(self._corpus(X, y, labels), None, resume=old, checkpoint=exactly)

    def fit_corpus(
        self,
        corpus: Corpus,
        dev: Corpus | None,
        *,
        resume: ChainModel | None = None,
        checkpoint: bool = False,
        names: bool = True,
        threads: int | None = None,
        compact: float | None = None,
        progress: Progress | None = None,
        verbose: bool = False,
    ) -> Tagger:
        """Learn from a corpus. `checkpoint` keeps what an exact resumption needs, `names` the attributes' names;
        `threads` (default: all cores) make it faster and change nothing else; `compact`: the points that a compact
        model may lose; `progress` is called, and `verbose` prints a line, per pass."""
        settings = self.settings()
        if resume is not None and resume.packed is not None:
            raise UsageError("a compact model cannot be trained further: use the full model")
        if resume is not None and resume.exact is not None:
            raise UsageError("a model of another tool cannot be trained further: train a new one on its data")
        from palmette.data.subset import split
        from palmette.training.chain.dev import check_labelled
        from palmette.training.chain.dev_share import fit_after_holding_out, n_to_hold_out
        from palmette.training.chain.fit import fit_chain
        from palmette.training.chain.request import TrainRequest
        from palmette.training.chain.templates import choose_templates
        from palmette.training.checks import warn_of_same_labels, warn_of_strange_corpus
        from palmette.training.hmm import check_no_features, fit_hmm
        from palmette.training.lines import report_end, reporter

        check_labelled(corpus, "training")
        given = corpus
        by_rule = dev is None and self.dev_share is None and resume is None and not checkpoint
        if dev is None and self.dev_share:
            corpus, dev = split(corpus, self.dev_share, self.seed)
        counted = isinstance(settings.learner, HiddenMarkov)
        if counted:
            check_no_features({name: getattr(self, name) for name in ("features", "template", "lexicons", "clusters")})
        resources = self._resources()
        templates = None
        if resume is None and not counted:
            templates = choose_templates(self.features, self.template, self.order, corpus, resources)
        if resume is None:
            warn_of_strange_corpus(corpus, templates, bool(settings.partial))
            warn_of_same_labels(corpus.labels.types if corpus.labels is not None else [])
        request = TrainRequest(
            templates, settings, 1 if self.order is None else self.order, resources,
            tuple(self.forbidden), resume, checkpoint, names, self.ends, reporter(progress, verbose), threads,
        )  # fmt: skip
        n = n_to_hold_out(corpus, settings) if by_rule else 0
        if n:
            self.model_, self.outcome_ = fit_after_holding_out(corpus, n, request)
        else:
            self.model_, self.outcome_ = (fit_hmm if counted else fit_chain)(corpus, dev, request)
        report_end(self.outcome_, verbose)
        if resume is None:
            self.model_.meta["features"] = None if templates is None or self.template is not None else templates.name
        else:
            self.model_.meta |= {name: value for name, value in resume.meta.items() if name in KEPT}
        self.model_.meta |= about_data(given)
        if compact is not None:
            self.compaction_ = self.compact_corpus(dev, compact)
        return self

    def _wanted(self) -> str:
        """The kind of tokens that a new training expects: columns, or whatever the data shows."""
        named = self.features is not None or self.template is not None
        return "columns" if named or isinstance(self.settings().learner, HiddenMarkov) else "auto"

    def settings(self) -> ChainSettings:
        """The options of learning, checked, every variant as a value."""
        self.check()
        return ChainSettings(**{name: getattr(self, name) for name in ChainSettings.__options__})

    def _resources(self) -> Resources:
        return Resources(
            {name: read_lexicon(path, name, unicode=self.unicode) for name, path in (self.lexicons or {}).items()},
            {name: read_clusters(path, name, unicode=self.unicode) for name, path in (self.clusters or {}).items()},
        )

    # Using

    def predict(
        self, X: Iterable[Any], *, allowed: Iterable[Any] | None = None, decode: str = "viterbi"
    ) -> list[list[Any]]:
        """The labels of each sentence: strings, or whole numbers if such were learnt from. `allowed`: for each sentence
        a list with, for each token, None (anything), a label, or a set of labels. `decode`: viterbi, marginal or
        exact."""
        return PerSentence(self._predicted(X, allowed, decode, CAP)[0])

    def session(self) -> Session:
        """For one sentence after another: `session.tag(tokens)` keeps its arrays from call to call, in each thread that
        uses it. It stays with the model of this moment, whatever the tagger learns afterwards."""
        from palmette.structures.chain.session import Session

        return Session(self._fitted())

    def predict_scored(
        self, X: Iterable[Any], *, allowed: Iterable[Any] | None = None
    ) -> tuple[list[list[Any]], list[float]]:
        """The labels and the score of the best path of each sentence."""
        labels, scores, _ = self._predicted(X, allowed, "viterbi", CAP)
        return labels, scores

    def predict_exact(
        self, X: Iterable[Any], *, allowed: Iterable[Any] | None = None, cap: int = CAP
    ) -> tuple[list[list[Any]], list[bool]]:
        """The label sequence of each sentence with the largest share of all paths of a latent model, and whether that
        is proven: after `cap` paths the best one so far comes out."""
        labels, _, proven = self._predicted(X, allowed, "exact", cap)
        return labels, proven

    def _predicted(
        self, X: Iterable[Any], allowed: Iterable[Any] | None, decode: str, cap: int
    ) -> tuple[list[list[Any]], list[float], list[bool]]:
        model = self._fitted()
        if allowed is None and decode == "viterbi" and type(X) is list and 0 < len(X) <= FEW:
            quick = [found for found in map(model.session().quick, X) if found is not None]
            if len(quick) == len(X):
                return [labels for labels, _ in quick], [score for _, score in quick], [True] * len(quick)
        items = self._items(X)
        known = self._mask(allowed, items)
        found = model.decode(items.corpus, decode, known=known, cap=cap)
        classes = model.classes
        labels = [classes[i] for i in found.labels.tolist()]
        cuts = items.corpus.offset.tolist()
        tagged = items.with_empty([labels[a:b] for a, b in pairwise(cuts)], list)
        proven = np.ones(items.corpus.n_sentences, np.bool_) if found.proven is None else found.proven
        return tagged, items.with_empty(found.scores.tolist(), float), items.with_empty(proven.tolist(), lambda: True)

    def nbest(self, X: Iterable[Any], n: int = 5, *, allowed: Iterable[Any] | None = None) -> list[list[Labelling]]:
        """Of each sentence the n best label sequences as (labels, score, probability), best first; fewer where there
        are no more. The probability is None unless the model is calibrated or a distribution (crf, dplvm, hmm)."""
        from palmette.structures.chain.nbest import nbest_lists, of_no_token

        model = self._fitted()
        items = self._items(X)
        found = list(nbest_lists(model, items.corpus, n, known=self._mask(allowed, items), names=model.classes))
        return items.with_empty(found, lambda: [of_no_token(model)])

    def search_with(self, search: str | None = None, beam: int | None = None, recombine: bool | None = None) -> Tagger:
        """From now on search as told (viterbi, or beam with so many prefixes), not as in training."""
        self._fitted().search_with(search, beam, recombine)
        return self

    def constrain(self, scheme: str = "auto") -> Tagger:
        """From now on label sequences follow a tag scheme (iob2, iobes, ...; auto: the one that the labels show), also
        those of a model that was trained without it."""
        from palmette.structures.chain.constrain import constrained

        self.model_ = constrained(self._fitted(), scheme)
        return self

    def score(self, X: Iterable[Any], y: Iterable[Any], sample_weight: Sequence[float] | None = None) -> float:
        """Token accuracy; sample_weight: a number per sentence that weighs its tokens."""
        items = self._items(X, y)
        if sample_weight is None:
            return self.evaluate(items.corpus).accuracy
        weight = np.repeat(items.weights(sample_weight), np.diff(items.corpus.offset)).astype(np.float64)
        gold, guess, _ = self.gold_and_guess(items.corpus)
        certain = self.certain(items.corpus)
        weight *= 1.0 if certain is None else certain
        if not weight.sum() > 0:
            raise DataError("the sample weights of all scored tokens are 0")
        return float(np.average(gold == guess, weights=weight))

    def evaluate(
        self, X: Corpus | Iterable[Any], y: Iterable[Any] | None = None, *, bias: dict[str, float] | None = None
    ) -> LabelScores:
        """All scores on sentences X with labels y, or on a labelled corpus."""
        from palmette.evaluation.scores import score

        corpus = X if isinstance(X, Corpus) else self._items(X, y).corpus
        gold, guess, labels = self.gold_and_guess(corpus, bias)
        scheme = unseen_scheme(self._fitted().scheme)
        return score(gold, guess, corpus.offset, labels, self.unseen(corpus), scheme, known=self.certain(corpus))

    def gold_and_guess(
        self,
        corpus: Corpus,
        bias: dict[str, float] | None = None,
        partial: bool | None = None,
        decode: str = "viterbi",
        guess: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """Gold and guess as numbers i32[N], and the labels that they number (the model's first). Where gold is not
        fully known (see `certain`), its number means nothing. `guess`: the labels i32[N] if they were found before."""
        model = self._fitted()
        if corpus.labels is None or corpus.n_tokens == 0:
            raise DataError("no labelled sentence to score", file=corpus.source)
        mark_partial_labels(corpus, model.settings.partial if partial is None else partial, model.labels)
        guess = model.decode(corpus, decode, bias).labels if guess is None else guess
        labels = model.labels + [label for label in label_names(corpus) if label not in set(model.labels)]
        gold, sure = known_gold(corpus, labels)
        if sure is not None and not sure.any():
            raise DataError("no label is fully known: there is nothing to score", file=corpus.source)
        return gold, guess, labels

    def certain(self, corpus: Corpus) -> np.ndarray | None:
        """Which tokens' gold labels are fully known, bool[N]; None: all of them."""
        return known_gold(corpus, label_names(corpus))[1]

    def unseen(self, corpus: Corpus) -> np.ndarray | None:
        """Which tokens' words (column 0) were not in the training data, bool[N]; None when nobody knows."""
        model = self._fitted()
        if not corpus.columns or not model.vocabulary.size:
            return None
        words = corpus.columns[0].in_form(model.settings.unicode)
        return ~model.knows(words.hash)[words.ids]

    # Keeping

    def save(self, path: FilePath, *, prune: bool = False, strip: bool = False) -> None:
        """Write the model file, whole or not at all."""
        model = self._fitted()
        if prune or strip:
            from palmette.structures.chain.prune import pruned

            model = pruned(model, rows=prune, names=strip)
        model.save(str(path))

    @classmethod
    def load(cls, path: FilePath, *, copy: bool = False) -> Tagger:
        """Read a model file, which is mapped. `copy` reads it into memory instead: for files that may be overwritten in
        place while the model is in use."""
        model = load_chain(str(path), copy=copy)
        features, template, encoder = model.meta.get("features"), None, model.encoder
        if isinstance(model.settings.learner, HiddenMarkov):
            features = None  # its templates are its own
        elif encoder is not None and (not features or encoder.resources.lexicons or encoder.resources.clusters):
            features, template = None, encoder.templates  # a file's templates, or a set with further resources
        tagger = cls(features, template=template, **model.settings.values())
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
        names = model.labels if model.shape.states_per_label == 1 else model.shape.state_names(model.labels)
        return [name for name, missing in zip(names, model.shape.missing(), strict=True) if not missing]

    @property
    def classes_(self) -> list[Any]:
        """What `predict` says for each of `labels_`: the same, or whole numbers if such were learnt from."""
        return self._fitted().classes

    @property
    def training_log_(self) -> list[dict[str, Any]]:
        return self._fitted().meta["history"]
