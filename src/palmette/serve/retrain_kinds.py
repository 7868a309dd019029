"""Training again by kind of model: what a model was trained with, the training data with the corrections, its score.

Each kind has `before` (the score of the old model on the development data, None without any) and `train`, which
returns the new estimator and its score.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from palmette.classification.classifier import Classifier
from palmette.classification.files import read_classified
from palmette.data.corpus import Corpus
from palmette.data.formats.conllu import read_treebank
from palmette.data.formats.registry import read_corpus
from palmette.data.labels.mask import mark_partial_labels
from palmette.data.subset import take
from palmette.data.treebank import Treebank
from palmette.errors import UsageError
from palmette.estimators.tagger import Tagger
from palmette.evaluation.record import Main
from palmette.evaluation.rivals import Rivals, SystemLabels, SystemOutputs, class_rivals, label_rivals, tree_rivals
from palmette.parsing.parser import Parser
from palmette.parsing.retag import prepare_training
from palmette.serve.correct_classifiers import tokens_of
from palmette.serve.correct_parsers import treebank_of
from palmette.serve.correction_data import corpus_of
from palmette.serve.merge import merged, merged_treebanks
from palmette.serve.retrain import Job
from palmette.serve.served import field_of_helper
from palmette.structures.chain.files import spec_for
from palmette.structures.chain.gold import certain, gold_and_guess
from palmette.structures.chain.python_data import mode_of
from palmette.training.result import Progress

MOST_LOSS = 0.05  # points that a compact model may lose
_FOLDS = re.compile(r"jackknifed, (\d+) fold")


class Again(Protocol):
    """A model that is trained again."""

    def __init__(self, job: Job) -> None: ...

    def before(self) -> Main | None:
        """The old model on the development data."""

    continued: bool  # from the weights of the old model

    def train(self, progress: Progress) -> tuple[Any, Main | None]:
        """A new model with the settings of the old one, which begins with its weights if it can; and its score."""

    def rivals(self, new: Any) -> Rivals:
        """What the old and the new model find in the development data."""


def _repeated(n: int, weight: int) -> np.ndarray:
    """The numbers of n sentences, `weight` times."""
    return np.tile(np.arange(n), weight)


class TaggerAgain:
    """F1 of spans, or the accuracy of labels."""

    def __init__(self, job: Job) -> None:
        self.job, self.old = job, Tagger.load(job.model, copy=True)
        self.continued = not self.old.model_.compact  # a compact model has not all that more training needs
        self.dev = None if job.dev is None else read_corpus(job.dev, spec_for(self.old.model_, job.dev, labelled=True))

    def before(self) -> Main | None:
        return self._score(self.old)

    def _score(self, tagger: Tagger) -> Main | None:
        return None if self.dev is None else tagger.evaluate(self.dev).main()

    def _corpus(self) -> Corpus:
        old, job = self.old, self.job
        corpus = read_corpus(job.train, spec_for(old.model_, job.train, labelled=True))
        mark_partial_labels(corpus, old._settings().partial, old.labels_)
        if not job.corrections:
            return corpus
        given = corpus_of(job.corrections, mode_of(old.model_), "the corrections", old.labels_)
        return merged(corpus, take(given, _repeated(given.n_sentences, job.weight)))

    def train(self, progress: Progress) -> tuple[Tagger, Main | None]:
        made, model = Tagger(**self.old.get_params(deep=False)), self.old.model_
        compact = MOST_LOSS if model.compact else None
        corpus = self._corpus()
        common: dict[str, Any] = {"progress": progress, "compact": compact, "again": model}
        try:
            made.fit_corpus(corpus, self.dev, resume=model if self.continued else None, **common)
        except UsageError:  # its learner cannot go on
            if not self.continued:
                raise
            self.continued = False
            made.fit_corpus(corpus, self.dev, **common)
        return made, self._score(made)

    def rivals(self, new: Tagger) -> Rivals:
        assert self.dev is not None
        found = [gold_and_guess(tagger.model_, self.dev) for tagger in (self.old, new)]
        guesses = [SystemLabels(guess, labels) for _, guess, labels in found]
        gold, _, labels = found[0]
        outputs = SystemOutputs.of(["before", "after"], self.dev, SystemLabels(gold, labels), guesses)
        return label_rivals(outputs._replace(known=certain(self.dev)))


class ParserAgain:
    """LAS. Tags of the treebanks are made as they were for the old parser: by the taggers that the server has, or by
    jackknifing."""

    def __init__(self, job: Job) -> None:
        self.job, self.old = job, Parser.load(job.model, copy=True)
        self.continued = not self.old.model_.is_compact
        meta = self.old.model_.meta
        tags = dict(meta.get("tags") or {})
        folds = [int(found[1]) for how in tags.values() if (found := _FOLDS.match(how))]
        self.corpus, self.dev, self.about = prepare_training(
            read_treebank(job.train),
            None if job.dev is None else read_treebank(job.dev),
            taggers=_taggers(job.helpers, list(tags)),
            folds=folds[0] if folds else None,
            ignored=meta.get("ignored") or (),
        )
        if tags:
            self.about["tags"] = tags

    def before(self) -> Main | None:
        return self._score(self.old)

    def _score(self, parser: Parser) -> Main | None:
        return None if self.dev is None else parser.evaluate(self.dev).main()

    def _treebank(self) -> Treebank:
        if not self.job.corrections:
            return self.corpus
        given = treebank_of(self.job.corrections).without(self.about["ignored"])
        return merged_treebanks(self.corpus, given.take(_repeated(given.n_sentences, self.job.weight)))

    def train(self, progress: Progress) -> tuple[Parser, Main | None]:
        old = self.old.model_
        made = Parser(**self.old.get_params(deep=False))
        made._templates = lambda *given: old.templates  # type: ignore[method-assign]
        resume = old if self.continued else None
        made.fit(self._treebank(), dev=self.dev, resume=resume, progress=progress, about=self.about)
        if old.is_compact:
            made.compact(self.dev, most_loss=MOST_LOSS)
        return made, self._score(made)

    def rivals(self, new: Parser) -> Rivals:
        assert self.dev is not None
        return tree_rivals(self.dev, {"before": self.old.parse(self.dev), "after": new.parse(self.dev)})


def _taggers(helpers: dict[str, str], fields: Sequence[str]) -> list[tuple[str, Tagger]]:
    """The taggers of a server that make some fields."""
    loaded = [(name, Tagger.load(path)) for name, path in helpers.items()] if fields else []
    named = [(field_of_helper(name, tagger), tagger) for name, tagger in loaded]
    return [(field, tagger) for field, tagger in named if field is not None and field in fields]


class ClassifierAgain:
    """Accuracy."""

    def __init__(self, job: Job) -> None:
        self.job, self.old = job, Classifier.load(job.model, copy=True)
        self.old.tagger = self._tagger()
        self.continued = True
        self.dev = None if job.dev is None else self._read(job.dev)

    def _tagger(self) -> str | None:
        """What makes parts of speech: a tagger of the server, or that of the first training."""
        trained = self.old.model_.meta.get("tagger")
        return next(iter(self.job.helpers.values()), trained if isinstance(trained, str) else None)

    def _read(self, path: str) -> tuple[list[Any], list[str]]:
        found = read_classified(path, labelled=True)
        return [one.tokens for one in found], [str(one.label) for one in found]

    def before(self) -> Main | None:
        return self._score(self.old)

    def _score(self, classifier: Classifier) -> Main | None:
        return None if self.dev is None else classifier.evaluate(*self.dev).main()

    def train(self, progress: Progress) -> tuple[Classifier, Main | None]:
        X, y = self._read(self.job.train)
        for one in self.job.corrections:
            X += [tokens_of(one)] * self.job.weight
            y += [str(one.class_)] * self.job.weight
        made = Classifier(**self.old.get_params(deep=False))
        made.fit(X, y, dev=self.dev, resume=self.old.model_, progress=progress)
        return made, self._score(made)

    def rivals(self, new: Classifier) -> Rivals:
        assert self.dev is not None
        X, y = self.dev
        guesses = {"before": self.old.predict(X), "after": new.predict(X)}
        return class_rivals(y, {name: [str(one) for one in found] for name, found in guesses.items()})
