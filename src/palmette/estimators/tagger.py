"""`Tagger`: a sequence labeller in the manner of scikit-learn, over Python data or files.

    tagger = Tagger("ner", learner=Mira(nbest=5, cost="span"), search=Beam(8, update="early"))
    tagger.fit(sentences, tags).predict([["Time", "flies"]])

A method makes one call: of a function over the model, in `structures/chain`, or of `training/chain/fit.py`. The
command line is built on this class.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from msgspec.structs import replace

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath
from palmette.data.formats.spec import FormatSpec
from palmette.data.item_words import words_of
from palmette.data.labels.numbers import label_numbers
from palmette.display import drawn_by
from palmette.errors import UsageError
from palmette.estimators.base import Estimator, FitOptions, PerSentence
from palmette.features.resources import Resources, read_lexicon
from palmette.lazy import loaded
from palmette.options.chain import ChainSettings, TaggerOptions
from palmette.options.learners import HiddenMarkov
from palmette.structures.chain.model import CAP, ChainModel
from palmette.structures.chain.python_data import (
    corpus_of,
    items_of,
    mask_of,
    predicted,
    sentence_of,
)

if TYPE_CHECKING:  # tagging a file does not wait for training, scoring and the other ways to use a model
    from palmette.data.analysed import Candidate, TaggedSentence
    from palmette.evaluation.scores import LabelScores
    from palmette.structures.chain.compact import CompactReport
    from palmette.structures.chain.explain import Explanation
    from palmette.structures.chain.files import TagRequest
    from palmette.structures.chain.session import Session
    from palmette.structures.chain.temperature import Calibration
    from palmette.structures.chain.trellis import TrellisRecord
    from palmette.training.chain.fit import Job
    from palmette.training.chain.request import TrainRequest
    from palmette.training.result import Progress


class Tagger(TaggerOptions, Estimator):
    """A chain model with its features: train it, tag with it, save it, inspect it.

    Parameters are declared options; `palmette train --help` and the reference pages explain all of them.
    """

    _repr_html_ = drawn_by("reports.notebook:model")

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
        Without it all sentences are learnt from, and a model of a sample of them calibrates confidences if there are at
        least 200, unless `dev_share` is 0 or a learner is named.

        labels: the names of labels that are whole numbers, in a list, or as a `ClassLabel` of Hugging Face has them.
        sample_weight: a number per sentence that scales its updates. threads: default all cores; the model is the same
        for any number. verbose: print a line per pass (of L-BFGS: per iteration) and why training ended. With
        `out_of_core` X and y are read once, in blocks, and may be generators of more than fits into memory."""
        from palmette.training.chain.fit import of_items

        request = self._request(threads=threads, progress=progress, verbose=verbose)
        return self._fit(of_items(
            (X, y), dev, request, mode=self._wanted(), numbers=label_numbers(labels),
            sample_weight=sample_weight,
        ))  # fmt: skip

    def partial_fit(self, X: Iterable[Any], y: Iterable[Any], *, labels: Any = None) -> Tagger:
        """Continue training with more data, which may bring new labels and attributes. `labels` as for `fit`."""
        from palmette.data.items import corpus_from_items

        learner, old = self._settings().chosen_learner, getattr(self, "model_", None)
        if old is None:
            corpus = corpus_from_items(X, y, mode=self._wanted(), numbers=label_numbers(labels)).corpus
        else:
            corpus = corpus_of(old, X, y, labels)
        # L-BFGS and AdaGrad start again from the weights, and an HMM is counted at once: no checkpoint for these.
        counted = isinstance(learner, HiddenMarkov)
        exactly = not (counted or learner.full_batch or learner.values().get("optimiser") == "adagrad")
        return self.fit_corpus(corpus, None, resume=old, checkpoint=exactly)

    def fit_corpus(
        self,
        corpus: Corpus,
        dev: Corpus | None,
        *,
        compact: float | None = None,
        again: ChainModel | None = None,
        **options: Unpack[FitOptions],
    ) -> Tagger:
        """Learn from a corpus. `resume` is a model to continue from; `checkpoint` keeps what an exact resumption needs,
        `names` the attributes' names; `threads` (default: all cores) make it faster and change nothing else; `compact`:
        the points that a compact model may lose; `progress` is called, and `verbose` prints a line, per pass. `again`:
        a model that the new one replaces, whose resources and names it keeps."""
        from palmette.training.chain.fit import MEMORY

        return self._fit((corpus, dev, self._request(compact=compact, again=again, **options), MEMORY))

    def fit_file(
        self, path: FilePath, dev: FilePath | None = None, *, spec: FormatSpec | None = None, **options: Any
    ) -> Tagger:
        """Learn from a labelled file; `options` as for `fit_corpus`. A file that would take more than half of the free
        memory is learnt from in blocks, on disk, unless `out_of_core` is set."""
        from palmette.training.chain.fit import of_files

        return self._fit(of_files([path], dev, spec, self._request(**options)))

    def fit_files(
        self,
        paths: FilePath | Sequence[FilePath],
        dev: FilePath | None = None,
        *,
        spec: FormatSpec | None = None,
        cluster: str | None = None,
        output: FilePath | None = None,
        **options: Any,
    ) -> Tagger:
        """Learn from labelled files of one format; `options` as for `fit_corpus`, and as for `fit_file` if there is one
        shard. With several `shards` each of them reads its own files; passes are mixed, gradients summed, which
        docs/scaling.md explains.

        cluster: the address of a Ray cluster whose workers learn, `auto` for the one that is found, `local` for one
        that is started here; None: threads of this process. The model does not depend on it. output: a model file that
        shards write after each pass, with what an exact resumption needs."""
        from palmette.training.chain.fit import of_shards

        files = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        request = self._request(**options)
        return self._fit(of_shards(files, dev, spec, request, address=cluster, output=output))

    def _settings(self) -> ChainSettings:
        """The options of learning, checked, every variant as a value."""
        self._check_values()
        return ChainSettings(**{name: getattr(self, name) for name in ChainSettings.__options__})

    def _request(
        self, *, again: ChainModel | None = None, progress: Progress | None = None, verbose: bool = False,
        **options: Any,
    ) -> TrainRequest:  # fmt: skip
        from palmette.training.chain.request import Features, TrainRequest
        from palmette.training.result import reporter

        settings = self._settings()  # wrong parameters are reported before any file is read
        if isinstance(settings.learner, HiddenMarkov):
            given = {name: getattr(self, name) for name in ("features", "template", "lexicons", "clusters", "raw")}
            loaded("lab.hmm.learner:check_no_features")(given)
        known = None if again is None else again.encoder
        resources = self._resources(options.get("threads")) if known is None else known.resources
        return TrainRequest(
            Features(self.features, self.template, self.order), settings, 1 if self.order is None else self.order,
            resources, tuple(self.forbidden), ends=self.ends, progress=reporter(progress, verbose),
            dev_share=self.dev_share, out_of_core=self.out_of_core, scratch=self.scratch, verbose=verbose, again=again,
            **options,
        )  # fmt: skip

    def _resources(self, threads: int | None) -> Resources:
        clusters = {}
        if self.clusters or self.raw:
            clusters = loaded("training.clusters:clusters_of")(self.clusters, self.raw, self.unicode, threads)
        lexicons = {name: read_lexicon(own, name, unicode=self.unicode) for name, own in (self.lexicons or {}).items()}
        return Resources(lexicons, clusters)

    def _wanted(self) -> str:
        """The kind of tokens that a new training expects: columns, or whatever the data shows."""
        named = self.features is not None or self.template is not None
        return "columns" if named or isinstance(self._settings().learner, HiddenMarkov) else "auto"

    def _fit(self, job: Job) -> Tagger:
        from palmette.estimators.helping import fitted_with_helpers, trained_helper

        self.model_, self.outcome_, compaction = fitted_with_helpers(job, self.helper, trained_helper(Tagger))
        if compaction is not None:
            self.compaction_ = compaction
        return self

    # Using

    def predict(
        self, X: Iterable[Any], *, allowed: Iterable[Any] | None = None, decode: str = "viterbi"
    ) -> list[list[Any]]:
        """The labels of each sentence: strings, or whole numbers if such were learnt from. `allowed`: for each sentence
        a list with, for each token, None (anything), a label, or a set of labels. `decode`: viterbi, marginal or
        exact."""
        return PerSentence(predicted(self._fitted(), X, allowed, decode).labels)

    def session(self) -> Session:
        """For one sentence after another: `session.tag(tokens)` keeps its arrays from call to call, in each thread that
        uses it. It stays with the model of this moment, whatever the tagger learns afterwards."""
        from palmette.structures.chain.session import Session

        return Session(self._fitted())

    def predict_scored(
        self, X: Iterable[Any], *, allowed: Iterable[Any] | None = None
    ) -> tuple[list[list[Any]], list[float]]:
        """The labels and the score of the best path of each sentence."""
        found = predicted(self._fitted(), X, allowed)
        return found.labels, found.scores

    def predict_exact(
        self, X: Iterable[Any], *, allowed: Iterable[Any] | None = None, cap: int = CAP
    ) -> tuple[list[list[Any]], list[bool]]:
        """The label sequence of each sentence with the largest share of all paths of a latent model, and whether that
        is proven: after `cap` paths the best one so far comes out."""
        found = predicted(self._fitted(), X, allowed, "exact", cap)
        return found.labels, found.proven

    def nbest(
        self, X: Iterable[Any], n: int = 5, *, allowed: Iterable[Any] | None = None
    ) -> list[list[Candidate[list[str]]]]:
        """Of each sentence the n best label sequences as (labels, score, probability), best first; fewer where there
        are no more. The probability is None unless the model is calibrated or a distribution (crf, dplvm, hmm)."""
        from palmette.structures.chain.nbest import nbest_lists, of_no_token

        model = self._fitted()
        items = items_of(model, X)
        found = list(nbest_lists(model, items.corpus, n, known=mask_of(model, allowed, items), names=model.classes))
        return items.with_empty(found, lambda: [of_no_token(model)])

    def search_with(self, search: str | None = None, beam: int | None = None, recombine: bool | None = None) -> Tagger:
        """From now on search as told (viterbi, or beam with so many prefixes), not as in training."""
        self._fitted().search_with(search, beam, recombine)
        return self

    def constrain(self, scheme: str = "auto") -> Tagger:
        """From now on label sequences follow a tag scheme (iob2, iobes, ...; auto: the one that the labels show), also
        those of a model that was trained without it."""
        from palmette.structures.chain.constraints import constrained

        self.model_ = constrained(self._fitted(), scheme)
        return self

    def score(self, X: Iterable[Any], y: Iterable[Any], sample_weight: Sequence[float] | None = None) -> float:
        """F1 of spans if the labels are spans, else token accuracy; `metric` decides otherwise. sample_weight: a number
        per sentence that weighs its tokens and spans."""
        from palmette.structures.chain.gold import main_score

        model = self._fitted()
        return main_score(model, items_of(model, X, y), self.metric, sample_weight)

    def evaluate(
        self, X: Corpus | Iterable[Any], y: Iterable[Any] | None = None, *, bias: dict[str, float] | None = None
    ) -> LabelScores:
        """All scores on sentences X with labels y, or on a labelled corpus."""
        from palmette.structures.chain.gold import evaluated

        model = self._fitted()
        return evaluated(model, X if isinstance(X, Corpus) else items_of(model, X, y).corpus, bias)

    def tag_file(
        self,
        source: FilePath,
        target: FilePath,
        *,
        spec: FormatSpec | None = None,
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
        and `marginals` write confidences as data/formats/labelling.py describes.
        """
        from palmette.structures.chain.files import tag_file

        request = self._reading(source, spec, add, options)
        done = tag_file(self._fitted(), source, target, request, threads=threads, progress=progress)
        self.proven_ = (done.proven, done.searched)
        return done.tokens

    def nbest_file(
        self,
        source: FilePath,
        target: FilePath,
        n: int = 5,
        *,
        spec: FormatSpec | None = None,
        add: Sequence[Tagger] = (),
        threads: int = 1,
        progress: Callable[[int], None] | None = None,
        **options: Any,
    ) -> int:
        """Write the n best label sequences of each sentence of a file; returns the number of tokens. `output` is crfpp
        (a block per candidate), columns (labels side by side) or jsonl; `known` and `bias` are those of `tag_file`."""
        from palmette.structures.chain.files import nbest_file

        request = self._reading(source, spec, add, options)
        return nbest_file(self._fitted(), source, target, n, request, threads=threads, progress=progress)

    def spec_for(self, source: FilePath, given: FormatSpec | None = None, *, labelled: bool = False) -> FormatSpec:
        """How to read input that looks like the training data, with its labels or without. What `given` sets holds."""
        from palmette.structures.chain.files import spec_for

        return spec_for(self._fitted(), source, given, labelled=labelled)

    def _reading(
        self, source: FilePath, spec: FormatSpec | None, add: Sequence[Tagger], options: dict[str, Any]
    ) -> TagRequest:
        from palmette.structures.chain.files import TagRequest, spec_for

        helpers = [tagger._fitted() for tagger in add]
        return TagRequest(spec=spec or spec_for(self._fitted(), source), helpers=helpers, **options)

    # Confidences: see structures/chain/posteriors.py

    def predict_marginals(self, X: Iterable[Any], *, allowed: Iterable[Any] | None = None) -> list[list[dict]]:
        """For each token the confidence of every label, as sklearn-crfsuite tells it. A warning is logged, once per
        process, if these are not probabilities."""
        from palmette.structures.chain.posteriors import marginals_by_label, warn_if_uncalibrated

        warn_if_uncalibrated(self._fitted(), "predict_marginals")
        return marginals_by_label(self._fitted(), X, allowed)

    def predict_proba(self, X: Iterable[Any], *, allowed: Iterable[Any] | None = None) -> list[np.ndarray]:
        """For each sentence the probabilities of labels f64[n, Y], in the order of `classes_`; calibrated models."""
        from palmette.structures.chain.posteriors import probabilities

        return probabilities(self._fitted(), X, allowed, "predict_proba")

    def predict_confidence(
        self, X: Iterable[Any], *, allowed: Iterable[Any] | None = None, decode: str = "viterbi"
    ) -> list[dict[str, Any]]:
        """Labels and how sure they are, for each sentence: `tags`, `confidence` (of all of them together),
        `token_confidence`, and for labels of spans `span_confidence`, a list of {type, start, end, confidence}.
        `calibrated`: whether these are probabilities; if not, a warning is logged, once per process."""
        from palmette.structures.chain.posteriors import labels_with_confidence, warn_if_uncalibrated

        warn_if_uncalibrated(self._fitted(), "predict_confidence")
        return labels_with_confidence(self._fitted(), X, allowed, decode)

    def log_probability(self, X: Iterable[Any], y: Iterable[Any]) -> list[float]:
        """log P(labels | sentence) of label sequences; a latent model sums over their states. Labels may be partly
        known (sets, None): then of all sequences that fit. -inf where a sequence is impossible. Of a model that is not
        calibrated these are shares of exp(score), and a warning is logged."""
        from palmette.structures.chain.posteriors import log_confidences, warn_if_uncalibrated

        model = self._fitted()
        warn_if_uncalibrated(model, "log_probability")
        return log_confidences(model, items_of(model, X, y))

    def calibrate(self, X: Iterable[Any], y: Iterable[Any]) -> Calibration:
        """Fit the temperature on labelled sentences that were not trained on; what was found. Labels stay as they
        are, only confidences change."""
        from palmette.structures.chain.calibrate import calibrated_on

        model = self._fitted()
        self.model_, found = calibrated_on(model, items_of(model, X, y).corpus)
        return found

    # One sentence, to look at

    def show(
        self,
        tokens: Any,
        *,
        words: Sequence[str] | None = None,
        nbest: int = 1,
        confidence: bool = False,
        gold: Sequence[str] | None = None,
    ) -> TaggedSentence:
        """One sentence with its labels, to look at: notebooks draw spans as coloured marks, `print` writes a token a
        line. words: what to write for tokens that are dicts or lists of attributes (default: the feature that names
        the word, such as `word` or `w[0]`). nbest: so many label sequences,
        below each other. confidence: how sure each label is. gold: the right labels, below the others."""
        from palmette.structures.chain.nbest import tagged_sentence

        model = self._fitted()
        corpus = sentence_of(model, tokens, "nothing to show")
        return tagged_sentence(model, corpus, words or words_of(tokens), nbest, confidence, gold)

    def trellis(self, tokens: Any, *, words: Sequence[str] | None = None) -> TrellisRecord:
        """The search of one sentence, as a plain record: scores, best path, runner-up, what a beam keeps. words: as for
        `show`."""
        from palmette.structures.chain.trellis import trellis_of

        found = trellis_of(self._fitted(), sentence_of(self._fitted(), tokens, "no trellis"))
        return replace(found, tokens=list(words or words_of(tokens) or found.tokens))

    def explain(
        self, tokens: Any, *, bias: dict[str, float] | None = None, words: Sequence[str] | None = None
    ) -> Explanation:
        """Why one sentence gets its labels: the best label sequence (`first`), the runner-up (`second`), and the
        attributes that decide between them (`contributions`, the largest first). words: as for `show`."""
        from palmette.structures.chain.explain import explain

        found = explain(self._fitted(), sentence_of(self._fitted(), tokens, "nothing to explain"), bias)
        return found._replace(words=list(words or words_of(tokens) or found.words))

    # Keeping

    def compact(
        self, X: Iterable[Any] | None = None, y: Iterable[Any] | None = None, *, most_loss: float = 0.05
    ) -> CompactReport:
        """Make the model small: weights of 8 bits, and without the attributes that X and y, which were not trained on,
        do not miss: at most `most_loss` points of F1 or accuracy are lost on them. Without X no attribute is dropped.
        A compact model tags as fast or faster; it cannot be trained further."""
        from palmette.structures.chain.compact import compact_on

        if X is None or y is None:
            if X is not y:
                raise UsageError("compact: give both X and y, or neither")
            self.model_, report = compact_on(self._fitted(), None, most_loss)
        else:
            self.model_, report = compact_on(self._fitted(), corpus_of(self._fitted(), X, y), most_loss)
        return report

    def save(self, path: FilePath, *, prune: bool = False, strip: bool = False) -> None:
        """Write the model file, whole or not at all."""
        model = self._fitted()
        if prune or strip:
            from palmette.structures.chain.compact import pruned

            model = pruned(model, rows=prune, names=strip)
        model.save(str(path))

    @classmethod
    def load(cls, path: FilePath, *, copy: bool = False) -> Tagger:
        """Read a model file, which is mapped. `copy` reads it into memory instead: for files that may be overwritten in
        place while the model is in use."""
        from palmette.structures.chain.serialise import load_chain

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
        return [name for name, missing in zip(model.state_names, model.shape.missing(), strict=True) if not missing]

    @property
    def classes_(self) -> list[Any]:
        """What `predict` says for each of `labels_`: the same, or whole numbers if such were learnt from."""
        return self._fitted().classes

    @property
    def training_log_(self) -> list[dict[str, Any]]:
        return self._fitted().meta["history"]

    @property
    def temperature_(self) -> float:
        """What scores are divided by: fitted on development data by training, or by `calibrate`."""
        return self._fitted().temperature

    @property
    def calibrated_(self) -> bool:
        """Whether confidences are probabilities."""
        from palmette.structures.chain.posteriors import are_probabilities

        return are_probabilities(self._fitted())
