"""GROBID's dates with its template: which settings, by cross-validation, and then what was held out, once.

Sequences 0, 10, 20, ... are held out. The others are cut into nine parts, each of which is tagged by models of the
other eight. On what is held out two settings are scored: Wapiti's own penalties, and those with the best F1 of fields
in cross-validation. `F1` counts all fields, also `<other>`: with the 168 other fields that are held out no numbers of
fields give the figure that is quoted for Wapiti. GROBID's own evaluation leaves `<other>` out.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import keep, median, process
from palmette import Crf, Tagger
from palmette.data import FormatSpec
from palmette.data.corpus import Corpus
from palmette.data.formats.registry import read_corpus
from palmette.data.labels.mask import known_gold
from palmette.data.subset import take
from palmette.evaluation.scores import score

QUOTED = 98.26  # Wapiti's F1 on this split
FOLDS = 9
# Wapiti's defaults are rho1 0.5 and rho2 0.0001, half of which is our l2.
SETTINGS: dict[str, dict[str, Any]] = {
    "perceptron": {"learner": "perceptron", "passes": 10},
    "crf, l2 1": {"learner": Crf(l2=1.0)},
    "crf, l1 0.5, l2 0.00005": {"learner": Crf(l1=0.5, l2=0.00005)},
    "crf, l1 0.5, l2 0.00005, stop window 5": {"learner": Crf(l1=0.5, l2=0.00005), "stop_window": 5},
    "crf, l1 0.2, l2 0.00005": {"learner": Crf(l1=0.2, l2=0.00005)},
    "crf, l1 0.1, l2 0.00005": {"learner": Crf(l1=0.1, l2=0.00005)},
}


WAPITI = "crf, l1 0.5, l2 0.00005"


def bench_grobid(data: Path, times: int) -> None:
    text, template = (data / "downstream" / f"grobid-date.{kind}" for kind in ("txt", "template"))
    if not (text.exists() and template.exists()):
        print(f"skipped: no file {text} or {template}")
        return
    corpus = read_corpus(text, FormatSpec())
    numbers = np.arange(corpus.n_sentences)
    train, held_out = take(corpus, numbers[numbers % 10 != 0]), take(corpus, numbers[::10])
    tried = {name: _cross_validated(train, template, params) for name, params in SETTINGS.items()}
    for name, found in tried.items():
        print(f"  {name:<40} F1 {found['F1']:.2f}, without <other> {found['fields']:.2f}, {found['cpu']:.2f} s of CPU")
    best = max(tried, key=lambda name: tried[name]["F1"])
    print(f"held out: {held_out.n_sentences} of {corpus.n_sentences}; Wapiti's F1 is {QUOTED}")
    found = {}
    for why, name in (("Wapiti's penalties", WAPITI), ("chosen by cross-validation", best)):
        tagger = Tagger(template=template, **SETTINGS[name]).fit_corpus(train, None)
        figures = _figures([_guessed(tagger, held_out)], tagger.labels_)
        found[why] = figures | {"settings": name, "process": _processes(train, template, SETTINGS[name], times)}
        print(
            f"  {why}, {name}: F1 {figures['F1']:.2f}, without <other> {figures['fields']:.2f}; "
            f"`palmette train` takes {found[why]['process']:.2f} s of CPU"
        )
    keep("grobid", {"cross-validated": tried, "chosen": best, "held out": found, "Wapiti": QUOTED})


def _cross_validated(train: Corpus, template: Path, params: dict[str, Any]) -> dict[str, float]:
    """F1 over all parts together, and seconds of CPU of a training."""
    part, outputs, labels = np.arange(train.n_sentences) % FOLDS, [], sorted(set(_labels(train)))
    begun = time.process_time()
    for k in range(FOLDS):
        tagger = Tagger(template=template, **params).fit_corpus(take(train, np.flatnonzero(part != k)), None)
        outputs.append(_guessed(tagger, take(train, np.flatnonzero(part == k)), labels))
    cpu = (time.process_time() - begun) / FOLDS
    return _figures(outputs, labels) | {"cpu": round(cpu, 3)}


Outputs = tuple[np.ndarray, np.ndarray, np.ndarray]  # gold and guess i32[N], offsets


def _labels(corpus: Corpus) -> Sequence[str]:
    assert corpus.labels is not None
    return corpus.labels.types


def _guessed(tagger: Tagger, corpus: Corpus, labels: Sequence[str] | None = None) -> Outputs:
    """Gold and guess as numbers of these labels, those of the tagger if there are none."""
    names = list(labels or tagger.labels_)
    gold, _ = known_gold(corpus, names)
    guess = np.array([names.index(label) for label in tagger.labels_], np.int32)[tagger.model_.tag(corpus)[0]]
    return gold, guess, corpus.offset


def _figures(outputs: list[Outputs], labels: Sequence[str]) -> dict[str, float]:
    """F1 of all fields, and without <other>."""
    gold, guess = (np.concatenate([one[side] for one in outputs]) for side in (0, 1))
    offset = np.cumsum([0, *(length for one in outputs for length in np.diff(one[2]))])
    # With the letters of IOB2, <other> is a field as the others are.
    letters = [f"B-{label[2:]}" if label.startswith("I-") else f"I-{label}" for label in labels]
    every, usual = (score(gold, guess, offset, names).f1 for names in (letters, labels))
    assert every is not None
    assert usual is not None
    return {"F1": round(100 * every, 2), "fields": round(100 * usual, 2)}


def _processes(train: Corpus, template: Path, params: dict[str, Any], times: int) -> float:
    """Seconds of CPU of a whole `palmette train` with these settings."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.txt")
        columns = [column.cells() for column in (*train.columns, train.labels) if column is not None]
        rows = [" ".join(cells) + "\n" for cells in zip(*columns, strict=True)]
        cuts = train.offset.tolist()
        path.write_text("\n".join("".join(rows[a:b]) for a, b in pairwise(cuts)), encoding="utf-8")
        command = [sys.executable, "-m", "palmette", "train", str(path), "-o", str(Path(folder, "m.palm")), "-q"]
        learner = params.get("learner")
        flags = {} if learner is None else {"learner": learner.kind, "l1": learner.l1, "l2": learner.l2}
        flags |= {name.replace("_", "-"): value for name, value in params.items() if name != "learner"}
        command += ["--template", str(template), *(f"--{name}={value}" for name, value in flags.items())]
        return round(median([process(command)[1] for _ in range(times)]), 2)
