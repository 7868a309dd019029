"""The process that trains again: `python -m palmette.serve.retrain_job`, a `Job` as JSON on standard input, a line of
JSON per pass on standard output."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

import msgspec
import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.formats.registry import read_corpus
from palmette.data.labels.partial import mark_partial_labels
from palmette.data.merge import merged
from palmette.data.subset import take
from palmette.errors import PalmetteError
from palmette.estimators.tagger import Tagger
from palmette.serve.correction_data import corpus_of
from palmette.serve.retrain import Job
from palmette.structures.training_log import Epoch, unit_of

NICE = 5  # the server comes first
MOST_LOSS = 0.05  # points that a compact model may lose


def report(**record: Any) -> None:
    """Tell the server something."""
    sys.stdout.buffer.write(msgspec.json.encode(record) + b"\n")
    sys.stdout.buffer.flush()


def progress(number: int, done: int, total: int, finished: Epoch | None) -> None:
    if finished is not None:
        row = msgspec.to_builtins(finished)
        report(**{unit_of(finished.figures): number, "pass": number, **row})


def training_corpus(old: Tagger, job: Job) -> Corpus:
    """The training data with the corrections, which count `weight` times."""
    spec = old.spec_for(job.train, labelled=True)
    corpus = read_corpus(job.train, spec)
    mark_partial_labels(corpus, old.settings().partial, old.labels_)
    if not job.corrections:
        return corpus
    given = corpus_of(job.corrections, old._mode(), "the corrections", old.labels_)
    again = np.tile(np.arange(given.n_sentences), job.weight)
    return merged(corpus, take(given, again))


def trained(old: Tagger, job: Job, corpus: Corpus, dev: Corpus | None) -> Tagger:
    """A new tagger with the settings of the old one."""
    made = Tagger(**old.get_params(deep=False))
    model = old.model_
    if model.encoder is not None:
        resources = model.encoder.resources
        made._resources = lambda: resources  # type: ignore[method-assign]
    compact = MOST_LOSS if model.packed is not None else None
    made.fit_corpus(corpus, dev, progress=progress, compact=compact)
    for name in ("reading", "features"):
        if name in model.meta:
            made.model_.meta[name] = model.meta[name]
    if dev is not None and "calibration" in model.meta:
        made.calibrate_corpus(dev)
    return made


def score(tagger: Tagger, dev: Corpus) -> tuple[str, float]:
    """The measure of development data, and its value: F1 of spans, or the accuracy of labels."""
    found = tagger.evaluate(dev)
    return ("accuracy", found.accuracy) if found.f1 is None else ("F1", found.f1)


def run(job: Job) -> None:
    old = Tagger.load(job.model, copy=True)
    dev = None if job.dev is None else read_corpus(job.dev, old.spec_for(job.dev, labelled=True))
    if dev is not None:
        measure, before = score(old, dev)
        report(measure=measure, before=before)
    made = trained(old, job, training_corpus(old, job), dev)
    if dev is not None:
        report(after=score(made, dev)[1])
    made.save(job.output)


def main() -> int:
    logging.disable(logging.WARNING)
    if hasattr(os, "nice"):
        os.nice(NICE)
    try:
        run(msgspec.json.decode(sys.stdin.buffer.read(), type=Job))
    except PalmetteError as error:
        report(error=str(error))
        return 1
    except MemoryError:
        report(error="out of memory")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
