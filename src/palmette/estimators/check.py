"""`check`: look at labelled data before training."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath, shown
from palmette.data.formats.columns import ColumnParser, separator_hint
from palmette.data.formats.columns_light import RaggedRow
from palmette.data.formats.registry import CheckedParser, read_corpus
from palmette.data.formats.spec import ANNOTATORS, FormatSpec
from palmette.data.notes import Notes
from palmette.data.text import read_text
from palmette.errors import DataError, UsageError
from palmette.estimators.label_noise import Progress, doubtful_labels, label_doubts
from palmette.evaluation.cell_checks import broken_trees, lost_spans, odd_cells, ragged_rows
from palmette.evaluation.data_view import DataView
from palmette.evaluation.findings import KINDS, CheckResult, FileCheck, Finding, Overlap
from palmette.evaluation.label_checks import bad_tags, labels_once, spellings
from palmette.evaluation.repetition_checks import other_labels, overlap, repetitions, variations
from palmette.options.declare import OptionError
from palmette.options.spelling import argument, named

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
