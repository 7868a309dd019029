"""Grammaticality: classifiers over latent chunkings, with one view and with five, beside batch learners and n-grams.

`python -m studies.grammaticality` makes the data (studies/grammaticality_data.py), trains every row on both kinds of
negatives, chooses the pass on development data, reads the tests, and leaves figures, page and picture in docs/studies.
Cells are made cheapest first and kept one by one: a run that was stopped can be published (`--page`), and goes on where
it was.
"""

from __future__ import annotations

import base64
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import data_folder
from palmette import Classifier, LanguageModel
from palmette.classification.scores import area
from palmette.data.corpus import Corpus
from palmette.data.labels.schemes import spans
from palmette.lab.kernels.bag import bag_pass, bag_scores
from palmette.lab.sentences import sentences_of
from palmette.lab.shallow_cues import shallow_cues, together
from studies import grammaticality_dose
from studies.common import Cell, Record, estimator_from, run_study
from studies.grammaticality_data import Data, Material, make
from studies.grammaticality_dose import part as dose_part
from studies.grammaticality_page import chart
from studies.grammaticality_page import page as page_before_doses

NAME = "grammaticality"
SEEDS = (1,)  # of training; the spread is over the five sets of test negatives
LATE = 40  # outer passes of the batch variant in the published figure
OTHER_SEEDS, REPEATED = (2, 3), ("online", "add", "vote", "cotrain")  # and the rows that are trained again with them
SLOPES = (0.1, 0.3, 1.0, 3.0)  # C of the classifier without latent structure
TYPED = 12  # passes of five views with four chunk types
ONE, FIVE, VARIANT, STRICT = 20, 20, 10, 10  # passes of one view, of five, and outer ones of the batch learners
BAG_PASSES, BAG_RATE = 10, 0.1
SMALL = 2000  # sentences of the cell that tests run again
COMMON: dict[str, Any] = {"seed": SEEDS[0], "features": "ngrams", "estimator": "pass", "cap": 20, "normalise": True}
COMMON |= {"types": 1}
BATCH: dict[str, Any] = {"inner_rounds": 20}  # of lclr and its variant
NGRAMS: dict[str, Any] = {"latent": "none", "pa_type": "PA-I", "cap": 1, "estimator": "avg", "passes": 20}
METHODS: dict[str, dict[str, Any]] = {
    "online": {"passes": ONE},
    "lclr-variant": {"learner": "lclr-variant", "passes": VARIANT},
    "cotrain": {"views": "all", "combine": "cotrain", "passes": FIVE},
    "cotrain, PA-I": {
        "views": "all",
        "combine": "cotrain",
        "passes": FIVE,
        "pa_type": "PA-I",
        "aggressiveness": 0.3,
    },
    "add": {"views": "all", "combine": "add", "passes": FIVE},
    "vote": {"views": "all", "combine": "vote", "passes": FIVE},
    "add, 4 types": {"views": "all", "combine": "add", "types": 4, "passes": TYPED},
    "lclr": {"learner": "lclr", "passes": STRICT},
}
# From zero, or from the chunker, scaled to the range of weights that a start from zero reaches. An earlier run, whose
# cells have the start "chunker", scaled it to 0.1 (one view) and 0.01 (five): next to nothing with normalised features.
STARTS = ("zero", "auto")
# The published setting, by "mv": no normalisation, last weights of 40 passes, no development data, 23 tags
PUBLISHED: dict[str, Any] = {"normalise": False, "estimator": "last", "passes": 40, "types": 11}


class Maker:
    """Makes what is asked for once: corpora take a minute, and a study that is complete needs none."""

    def __init__(self, folder: Path, data: Path) -> None:
        self.folder, self.data = folder, data

    @cache  # noqa: B019 (one object lives as long as the program)
    def material(self) -> Material:
        return Material(self.folder, self.data)

    @cache  # noqa: B019
    def kind(self, kind: str) -> Data:
        return make(self.material(), kind)


# --- scores -------------------------------------------------------------------------------------------------


def tested(name: str, scores: list[np.ndarray]) -> Cell:
    """Figures of one test from the scores of the positives and of each set of negatives; for reviews.txt a bit
    for each sentence, for tests of significance, in a list so that progress leaves it out."""
    positive, sets = scores[0] >= 0, [own >= 0 for own in scores[1:]]
    right = np.concatenate((positive, *(~own for own in sets)))
    truth = np.repeat([True, False], (positive.size, scores[1].size))
    bits = {f"{name}_right": [base64.b64encode(np.packbits(right).tobytes()).decode()]}
    return {
        name: round(100 * float(right_share(positive, sets)), 4),
        f"{name}_sets": [round(100 * float(right_share(positive, [own])), 4) for own in sets],
        f"{name}_recall": round(100 * float(positive.mean()), 4),
        f"{name}_auc": [round(100 * (area(truth, np.concatenate((scores[0], own))) or 0.0), 4) for own in scores[1:]],
    } | (bits if name == "reviews" else {})


def right_share(positive: np.ndarray, sets: list[np.ndarray]) -> float:
    """The mean over sets of negatives, each with all the positives."""
    return float((positive.mean() + np.mean([(~own).mean() for own in sets])) / 2)


def guards(data: Data) -> Cell:
    found = shallow_cues(*data.plain)
    return {
        "words": 100 * found.words_accuracy, "lengths": 100 * found.length_accuracy,
        "tokens": data.train.corpus.n_tokens, "shared_tokens": 100 * found.positives.shared_tokens,
    }  # fmt: skip


def unigrams(data: Data) -> Cell:
    """Logistic regression over bags of words, the pass chosen on dev."""
    ids, offset, n_types = together(*data.plain)
    numbers = {word: t for t, word in enumerate(dict.fromkeys([w for s in data.plain for w in s.words.types]))}
    label = (data.train.y > 0).astype(float)
    w, squares = np.zeros(n_types + 2), np.zeros(n_types + 2)  # the last word is the unknown one, and weighs nothing
    curve, best, rng = [], w, np.random.default_rng(SEEDS[0])

    def scores(corpus: Corpus, weights: np.ndarray) -> np.ndarray:
        column = corpus.columns[0]
        known = np.array([numbers.get(word, n_types) for word in column.types], np.int32)
        return bag_scores(known[column.ids], corpus.offset, weights)

    for _ in range(BAG_PASSES):
        bag_pass(ids, offset, label, rng.permutation(label.size), w, squares, BAG_RATE)
        curve.append(100 * float(np.mean((scores(data.dev.corpus, w) >= 0) == (data.dev.y > 0))))
        if curve[-1] == max(curve):
            best = w.copy()
    found = {"dev": curve, "passes": 1 + int(np.argmax(curve))}
    for name, own in data.tests.items():
        found |= tested(name, [scores(corpus, best) for corpus in own])
    return found


def trained(data: Data, settings: dict[str, Any], by_dev: bool = True) -> tuple[Cell, Classifier]:
    """A classifier and its figures; its pass was chosen on dev, or is the last one."""
    batch = BATCH if str(settings.get("learner")).startswith("lclr") else {}
    classifier = estimator_from(Classifier, COMMON | batch | settings)
    begun = time.perf_counter()
    dev = (data.dev.corpus, data.dev.y) if by_dev else None
    classifier.fit_corpus(data.train.corpus, data.train.y, dev, names=False, progress=Watch(settings["passes"]))
    took, history = time.perf_counter() - begun, classifier.training_log_
    best = classifier.outcome_.best_epoch
    tests: Cell = {}
    for name, own in data.tests.items():
        tests |= tested(name, [classifier.model_.decide(corpus)[0] for corpus in own])
    again = [0] * max(len(row["again"]) for row in history)
    for row in history:
        for k, n in enumerate(row["again"]):
            again[k] += n
    return {
        "dev": [100 * row["dev"] for row in history if row["dev"] is not None], "passes": best, "seconds": took,
        "pass_seconds": [round(row.seconds, 3) for row in classifier.outcome_.training_log],
        "updates": [row["updates"] for row in history], "decoded": [row["decoded"] for row in history],
        "again": again, "new_structures": [row["new_structures"] for row in history],
        "range": classifier.model_.meta["start"], **tests,
    }, classifier  # fmt: skip


class Watch:
    """A line on stderr a minute, from the trainer."""

    def __init__(self, passes: int) -> None:
        self.passes, self.next = passes, time.perf_counter() + 60

    def __call__(self, number: int, done: int, total: int, finished: Any) -> None:
        if time.perf_counter() > self.next:
            self.next = time.perf_counter() + 60
            print(f"  pass {number} of {self.passes}", file=sys.stderr, flush=True)


# --- rows ---------------------------------------------------------------------------------------------------


def ngrams(data: Data) -> Cell:
    """PA on the same n-grams without latent structure: C and passes chosen on dev."""
    runs = {C: trained(data, NGRAMS | {"aggressiveness": C})[0] for C in SLOPES}
    C = max(runs, key=lambda C: max(runs[C]["dev"]))
    return runs[C] | {"C": C, "tuned": {str(C): max(run["dev"]) for C, run in runs.items()}}


def latent(maker: Maker, kind: str, method: str, start: str) -> Cell:
    return trained(maker.kind(kind), _settings(maker, method, start))[0]


def _settings(maker: Maker, method: str, start: str) -> dict[str, Any]:
    settings = METHODS[method]
    if start == "auto":
        settings = settings | {"init": maker.material().chunker, "init_range": "auto", "types": None}
    return settings


def published(maker: Maker, method: str, start: str) -> Cell:
    """A row in the published setting."""
    settings = METHODS[method] | PUBLISHED
    if start == "auto":
        settings |= {"init": maker.material().all_chunks, "init_range": "auto", "types": None}
    return trained(maker.kind("mv"), settings, by_dev=False)[0]


def example(maker: Maker) -> Cell:
    """A short test sentence on whose chunks the five views disagree most, each with its own structure."""
    data = maker.kind("part")
    _, classifier = trained(data, _settings(maker, "add", "auto") | {"passes": 5})
    corpus = data.tests["reviews"][0]
    model = classifier.model_
    scores, states = model.decide(corpus, structures=True)
    chosen: Cell = {}
    for s in range(corpus.n_sentences):
        lo, hi = int(corpus.offset[s]), int(corpus.offset[s + 1])
        if 8 <= hi - lo <= 13 and scores[s] >= 0:
            tags = {view.name: [view.tags[h] for h in states[r, lo:hi]] for r, view in enumerate(model.views)}
            chunks = {view.name: [[a, b] for _, a, b in spans(tags[view.name], view.scheme)] for view in model.views}
            different = len({str(own) for own in chunks.values()})
            if different > chosen.get("different", 0):
                words = [cells[0] for cells in corpus.sentence(s)]
                chosen = {"different": different, "words": words, "tags": tags, "chunks": chunks}
    return chosen


def small(data: Path) -> Cell:
    """All steps on next to nothing: words alone, one view."""
    lines = (data / "sentences" / "reviews.txt").read_text(encoding="utf-8").splitlines()[:SMALL]
    positives = [line.split() for line in lines]
    model = LanguageModel().fit(positives)
    negatives = model.sample(len(positives), new=True, lengths=[len(row) for row in positives])
    found = shallow_cues(sentences_of(positives), sentences_of(negatives))
    half = SMALL // 2
    train, held_out = (
        ([*positives[part], *negatives[part]], [1] * len(positives[part]) + [0] * len(negatives[part]))
        for part in (slice(half), slice(half, None))
    )
    classifier = estimator_from(Classifier, COMMON | {"passes": 3}).fit(*train, dev=held_out, names=False)
    dev = [100 * row["dev"] for row in classifier.training_log_]
    return {"words": 100 * found.words_accuracy, "lengths": 100 * found.length_accuracy, "dev": dev}


def smallest(data: Path) -> tuple[Cell, Cell]:
    """The settings of a cell that is quickly run again, and what comes out now."""
    return {"stage": "small"}, small(data)


# --- all of it ----------------------------------------------------------------------------------------------


def run(record: Record, maker: Maker) -> None:
    """Cheapest first: what each kind of negatives gives away, n-grams, one view; then the others."""
    record.cell({"stage": "small"}, lambda: small(maker.data))
    for kind in ("part", "all", "free"):
        record.cell({"stage": "guards", "kind": kind}, lambda kind=kind: guards(maker.kind(kind)))
        what = {"stage": "test", "kind": kind, "start": "zero"}
        record.cell(what | {"method": "unigrams"}, lambda kind=kind: unigrams(maker.kind(kind)))
        record.cell(what | {"method": "n-grams"}, lambda kind=kind: ngrams(maker.kind(kind)))
        for start in STARTS if kind != "free" else ("zero",):
            _row(record, maker, kind, "online", start)
    for start in STARTS:
        for method in ("add", "vote", "cotrain", "lclr-variant", "lclr"):
            _row(record, maker, "part", method, start)
    _row(record, maker, "part", "cotrain, PA-I", "zero")
    record.cell({"stage": "example", "start": "auto"}, lambda: example(maker))
    for seed in OTHER_SEEDS:
        C = record.some(stage="test", kind="part", method="n-grams")[0]["C"]
        settings = {"n-grams": NGRAMS | {"aggressiveness": C}} | {name: METHODS[name] for name in REPEATED}
        for method, own in settings.items():
            what = {"stage": "seeds", "kind": "part", "method": method, "seed": seed}
            record.cell(what, lambda own=own, seed=seed: trained(maker.kind("part"), own | {"seed": seed})[0])
    for method in ("add", "vote", "cotrain", "lclr-variant", "lclr"):
        _row(record, maker, "all", method, "zero")
    record.cell({"stage": "guards", "kind": "other"}, lambda: guards(maker.kind("other")))
    what = {"stage": "test", "kind": "other", "start": "zero"}
    record.cell(what | {"method": "unigrams"}, lambda: unigrams(maker.kind("other")))
    _row(record, maker, "other", "online", "zero")
    _row(record, maker, "free", "add", "zero")
    for method in ("online", "lclr-variant", "lclr"):
        what = {"stage": "last", "kind": "part", "method": method}
        own = METHODS[method] | {"estimator": "last"}
        record.cell(what, lambda own=own: trained(maker.kind("part"), own)[0])
    what = {"stage": "late", "kind": "part", "method": "lclr-variant"}
    record.cell(what, lambda: trained(maker.kind("part"), METHODS["lclr-variant"] | {"passes": LATE})[0])
    _row(record, maker, "part", "add, 4 types", "zero")
    for method in ("add", "vote", "cotrain", "lclr-variant", "lclr"):
        _row(record, maker, "all", method, "auto")
    for start in STARTS:
        for method in ("online", "add", "vote", "cotrain", "lclr-variant", "lclr"):
            published_row(record, maker, method, start)
    grammaticality_dose.run(record, maker.data)


def page(record: Record) -> str:
    """The page, from the record alone."""
    return page_before_doses(record) + "\n" + dose_part(record)


def published_row(record: Record, maker: Maker, method: str, start: str) -> None:
    what = {"stage": "test", "kind": "mv", "method": method, "start": start}
    record.cell(what, lambda: published(maker, method, start))


def _row(record: Record, maker: Maker, kind: str, method: str, start: str) -> None:
    what = {"stage": "test", "kind": kind, "method": method, "start": start}
    record.cell(what, lambda: latent(maker, kind, method, start))


def main() -> None:
    def run_all(record: Record) -> None:
        with tempfile.TemporaryDirectory() as folder:
            run(record, Maker(Path(folder), data_folder()))

    run_study(NAME, SEEDS, run_all, page, chart)


if __name__ == "__main__":
    main()
