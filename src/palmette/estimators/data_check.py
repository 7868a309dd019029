"""`check`: look at labelled data before training."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath, shown
from palmette.data.formats.columns import ColumnParser, separator_hint
from palmette.data.formats.columns_light import RaggedRow
from palmette.data.formats.registry import CheckedParser, read_corpus
from palmette.data.formats.spec import ANNOTATORS, FormatSpec
from palmette.data.notes import Notes
from palmette.data.subset import dealt, take
from palmette.data.text import read_text
from palmette.data.treebank import tokens_of
from palmette.errors import DataError, UsageError
from palmette.estimators.tagger import Tagger
from palmette.evaluation.checks import (
    bad_tags,
    broken_trees,
    labels_once,
    lost_spans,
    odd_cells,
    ragged_rows,
    spellings,
)
from palmette.evaluation.findings import KINDS, CheckResult, DataView, FileCheck, Finding, Overlap
from palmette.evaluation.repetition_checks import other_labels, overlap, repetitions, variations
from palmette.options.declare import OptionError
from palmette.options.learners import Crf
from palmette.options.spelling import argument, named
from palmette.structures.chain.posteriors import confidence_of

TOP = 10
FOLDS = 5


class _Read(NamedTuple):
    """A file as it was read."""

    view: DataView
    format: str
    ragged: Sequence[RaggedRow]
    trees: Corpus | None  # the columns head and deprel of CoNLL-U
    notes: Notes | None = None  # what became of the spans of annotators


def check(
    *files: FilePath, against: FilePath | Iterable[FilePath] = (), spec: FormatSpec | None = None,
    skip: Iterable[str] = (), top: int | None = TOP, noise: bool | int = False, threads: int = 1, seed: int = 1,
    progress: Progress | None = None,
) -> CheckResult:  # fmt: skip
    """Look at labelled files before training: what is inconsistent, repeated or doubtful in them.

    against: test or development data, whose sentences should not be in the files, and whose labels should. spec: how
    to read all of them. skip: kinds of findings to leave out (`palmette.evaluation.findings.KINDS`). top: findings of
    each kind to keep; None: all; counts are complete. noise: look for doubtful labels too, by cross-validation with so
    many folds (True: five); any number of threads gives the same; progress is called with the folds done and all folds.

    >>> result = check("train.txt", against="test.txt")  # doctest: +SKIP
    >>> result.clean, result.files[0].counts  # doctest: +SKIP
    """
    if not files:
        raise UsageError("check: name at least one file")
    left_out = set(skip)
    if unknown := sorted(left_out - KINDS.keys()):
        raise OptionError("skip", f"there is no kind {unknown[0]!r}; the kinds are {', '.join(KINDS)}")
    if isinstance(against, str | bytes | os.PathLike):
        against = [against]
    spec = spec or FormatSpec()
    others = [_read(path, spec).view for path in against]
    made = []
    for path in files:
        given = _read(path, spec)
        found, scheme = _found(given)
        overlaps: list[Overlap] = []
        for other in others:
            counts, shared = overlap(given.view, other)
            overlaps.append(counts)
            found["overlap"] = found.get("overlap", []) + shared
            found["labels"] = found.get("labels", []) + other_labels(given.view, other)
        if noise:
            folds = FOLDS if noise is True else noise
            found["noise"] = _noise(given.view, folds, threads, seed, progress)
        kept = {kind: found[kind] for kind in KINDS if kind in found and kind not in left_out}
        made.append(_file_check(given, kept, scheme, overlaps if "overlap" not in left_out else [], top))
    return CheckResult(made)


def _file_check(
    given: _Read, found: dict[str, list[Finding]], scheme: str | None, overlaps: list[Overlap], top: int | None
) -> FileCheck:
    corpus = given.view.corpus
    labels = 0 if corpus.labels is None else len(corpus.labels.types)
    return FileCheck(
        corpus.source, given.format, corpus.n_sentences, corpus.n_tokens, labels, scheme,
        {kind: len(own) for kind, own in found.items()},
        [finding for own in found.values() for finding in own[:top]], overlaps,
    )  # fmt: skip


def _read(path: FilePath, spec: FormatSpec) -> _Read:
    """A file; lines with another number of cells are padded or cut, and remembered."""
    spec = spec.resolved(path)
    if spec.format in ANNOTATORS:
        corpus = _not_empty(read_corpus(path, spec, notes := Notes()), path)
        return _Read(DataView(corpus), spec.format, [], None, notes)
    if spec.format == "columns":
        spec = spec.replace(ragged="pad")
    parse = CheckedParser(spec, shown(path))
    rows = parse.parser.ragged if isinstance(parse.parser, ColumnParser) else None
    if rows is not None:
        rows.strict = False
    data = read_text(path, spec)
    corpus = _not_empty(parse(data, 1), path)
    trees = None
    if spec.format == "conllu":
        trees = CheckedParser(spec.replace(columns=("head", "deprel"), has_label=False), shown(path))(data, 1)
    return _Read(DataView(corpus), spec.format, [] if rows is None else rows.rows, trees)


def _not_empty(corpus: Corpus, path: FilePath) -> Corpus:
    if not corpus.n_tokens:
        raise DataError("no sentence in it", file=shown(path), hint=f"see {named(FormatSpec, 'format')}")
    hint = None if corpus.columns or corpus.attributes is not None else separator_hint(corpus)
    if hint is not None:
        raise DataError("there is no column other than the label", file=corpus.source, hint=hint)
    return corpus


def _found(given: _Read) -> tuple[dict[str, list[Finding]], str | None]:
    """What needs no training: findings by kind, and the tag scheme."""
    view, scheme = given.view, None
    found = {"cells": odd_cells(view)}
    if given.format == "columns":
        found["columns"] = ragged_rows(given.ragged, view.corpus.source)
    if given.notes is not None:
        found["spans"] = lost_spans(given.notes, view.corpus.source)
    if given.trees is not None:
        found["trees"] = broken_trees(given.trees)
    found["duplicates"], conflicts = repetitions(view)
    if view.corpus.labels is not None:
        scheme, found["tags"] = bad_tags(view)
        found["once"], found["spelling"], found["conflicts"] = labels_once(view), spellings(view), conflicts
        found["variation"] = variations(view)
    return found, scheme


def _noise(view: DataView, folds: int, threads: int, seed: int, progress: Progress | None) -> list[Finding]:
    if view.corpus.labels is None:
        raise DataError("there are no labels to doubt", file=view.corpus.source, hint=f"leave {argument('noise')} out")
    return doubtful_labels(view, label_doubts(view.corpus, folds, threads=threads, seed=seed, progress=progress))


# Doubtful labels: what a model that has not seen a sentence thinks of its labels.
#
# The sentences are dealt into folds. A conditional random field (five passes of AdaGrad, which is quick and whose
# probabilities are good) learns from all folds but one and gives, for each token of that one, the probability of its
# label. Labels that are less probable than another are listed, the least probable first; neighbouring tokens are one
# item, since a wrong span is several wrong labels.

DOUBTFUL = 0.1
"""Labels with a smaller probability are listed."""
PASSES = 5

Progress = Callable[[int, int], None]
"""Called after each fold with the number of folds done and of all."""


class LabelDoubts(NamedTuple):
    """Per token the probability of its label, and the most probable label."""

    probability: np.ndarray  # f64[N]  1 where the label is not fully known
    guess: np.ndarray  # i32[N]  number of a label of the corpus


def label_doubts(
    corpus: Corpus, folds: int = 5, *, threads: int = 1, seed: int = 1, progress: Progress | None = None
) -> LabelDoubts:
    """Cross-validated probabilities of the labels of a corpus; any number of threads gives the same."""
    assert corpus.labels is not None
    fold = dealt(corpus.n_sentences, folds, seed)
    numbers = {label: k for k, label in enumerate(corpus.labels.types)}
    made = LabelDoubts(np.ones(corpus.n_tokens), corpus.labels.ids.copy())

    def work(k: int) -> tuple[np.ndarray, LabelDoubts]:
        held_out = np.flatnonzero(fold == k)
        tagger = Tagger(learner=Crf(optimiser="adagrad"), passes=PASSES, seed=seed)
        tagger.fit_corpus(take(corpus, np.flatnonzero(fold != k)), None, names=False, threads=1)
        if tagger.outcome_.interrupted:
            raise KeyboardInterrupt
        return tokens_of(corpus.offset, held_out), _judged(tagger, take(corpus, held_out), numbers)

    with ThreadPoolExecutor(threads) as pool:
        done = map(work, range(folds)) if threads == 1 else pool.map(work, range(folds))
        for k, (tokens, part) in enumerate(done):
            made.probability[tokens], made.guess[tokens] = part
            if progress is not None:
                progress(k + 1, folds)
    unknown = DataView(corpus).unknown[corpus.labels.ids]
    made.probability[unknown] = 1.0
    return made


def _judged(tagger: Tagger, corpus: Corpus, numbers: dict[str, int]) -> LabelDoubts:
    """What a model thinks of sentences that it has not seen. A label that it does not know has probability 0."""
    assert corpus.labels is not None
    model = tagger.model_
    known = {label: k for k, label in enumerate(model.labels)}
    gold = np.array([known.get(label, -1) for label in corpus.labels.types], np.int32)[corpus.labels.ids]
    found = confidence_of(model, corpus, np.maximum(gold, 0), marginals=True, whole=False)
    assert found.marginals is not None
    names = np.array([numbers[label] for label in model.labels], np.int32)
    return LabelDoubts(np.where(gold < 0, 0.0, found.tokens), names[found.marginals.argmax(axis=1)])


def doubtful_labels(view: DataView, doubts: LabelDoubts, below: float = DOUBTFUL) -> list[Finding]:
    """The labels with a probability below this, the least probable first; neighbours are one finding."""
    corpus = view.corpus
    assert corpus.labels is not None
    doubtful = (doubts.probability < below) & (doubts.guess != corpus.labels.ids)
    begins = doubtful.copy()
    begins[1:] &= ~doubtful[:-1]
    begins[corpus.offset[:-1]] = doubtful[corpus.offset[:-1]]
    starts = np.flatnonzero(begins)
    run = np.cumsum(begins) - 1
    sizes = np.bincount(run[doubtful], minlength=starts.size)
    rows = [_doubt(view, doubts, int(a), int(n)) for a, n in zip(starts, sizes, strict=True)]
    return sorted(rows, key=lambda finding: finding.details["probability"])


def _doubt(view: DataView, doubts: LabelDoubts, start: int, size: int) -> Finding:
    corpus = view.corpus
    assert corpus.labels is not None
    tokens = range(start, start + size)
    words, gold = [view.word(t) for t in tokens], [view.label(t) for t in tokens]
    guess = [corpus.labels.types[int(doubts.guess[t])] for t in tokens]
    probability = float(doubts.probability[start : start + size].min())
    message = f"{' '.join(words)}: {' '.join(gold)}, rather {' '.join(guess)} (probability {probability:.2g})"
    details = {"words": words, "gold": gold, "guess": guess, "probability": probability}
    return Finding("noise", corpus.source, view.line(start), message, details)
