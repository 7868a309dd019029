"""Learning to parse with a beam: updates, beams, merging of states, and gold tags against predicted ones.

`python -m studies.parsing` trains on UD English-EWT and writes docs/studies/parsing.json, then the page and the plots.

- main: rich templates, beam 8, the whole training file, gold tags; four kinds of update. The pass
  is chosen on dev, and so is the update whose test figures count.
- unlabelled: the same with what the published comparison of early and max-violation had: heads alone, basic templates,
  merging of states; few unlabelled: on the first 1,500 training and 800 dev sentences.
- seeds: the same updates on the first 1,500 training and 800 dev sentences.
- beams: beams of 1 to 16 for every update, on the same sentences.
- merging: basic templates, with merging of states and without, on the same sentences.
- learners: PA, MIRA and probPerc on the items of the beam.
- length, fixed order, curve: studies/parsing_curve.py.
- predicted: tags by our own tagger, jackknifed in ten folds for training; lemmas and features left out.
"""

from __future__ import annotations

import itertools
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import data_folder
from palmette import Parser, Tagger
from palmette.data import FormatSpec, Treebank, read_treebank
from palmette.data.corpus import column_of_types
from palmette.data.formats.registry import read_corpus
from palmette.parsing.retag import jackknife, retagged
from studies import parsing_curve
from studies.common import Cell, Record, estimator_from, run_study
from studies.parsing_curve import part as curve_part
from studies.parsing_page import (
    BEAMS,
    MAIN,
    SEEDED,
    SMALL,
    SMALL_DEV,
    SMALL_PASSES,
    UNLABELLED,
    UPDATES,
    chart,
)
from studies.parsing_page import page as page_before_curves

NAME = "parsing"
SEEDS = (1, 2, 3)
PREDICTED = 8  # passes with predicted tags
LEARNERS = {"perceptron": {}, "pa": {}, "mira": {}, "probperc": {"rate": 0.1, "rate_schedule": "falling"}}


@cache
def treebank(part: str) -> Treebank:
    return read_treebank(data_folder() / "ud-ewt" / f"en_ewt-ud-{part}.conllu")


@cache
def small() -> Treebank:
    return treebank("train").take(np.arange(SMALL))


@cache
def small_dev() -> Treebank:
    return treebank("dev").take(np.arange(SMALL_DEV))


def trained(train: Treebank, dev: Treebank, passes: int, **settings: Any) -> tuple[Parser, Cell]:
    """A parser and what its passes were like."""
    parser = estimator_from(Parser, {"features": "rich", "passes": passes} | settings).fit(train, dev=dev)
    rows = parser.outcome_.training_log
    return parser, {
        "las": [round(100 * float(row.dev or 0), 3) for row in rows],
        "uas": [round(100 * row.figures["dev_uas"], 3) for row in rows],
        "bad": [round(100 * row.figures["bad"], 2) for row in rows],
        "cut": [round(row.figures["cut"], 3) for row in rows],
        "updates": [row.updates for row in rows],
        "seconds": [round(row.seconds, 2) for row in rows],
    }


def main_cell(update: str, seed: int) -> Cell:
    parser, found = trained(treebank("train"), treebank("dev"), MAIN[update], update=update, seed=seed)
    scores = parser.evaluate(treebank("test"))
    found |= {"test_uas": 100 * scores.uas, "test_las": 100 * scores.las, "test_clas": 100 * scores.clas}
    return found | {
        "test_uas_words": 100 * scores.no_punctuation.uas,
        "test_las_words": 100 * scores.no_punctuation.las,
    }


def unlabelled_cell(update: str, seed: int) -> Cell:
    return _unlabelled(treebank("train"), treebank("dev"), update, seed)


def few_unlabelled_cell(update: str, seed: int) -> Cell:
    return _unlabelled(small(), small_dev(), update, seed)


def _unlabelled(train: Treebank, dev: Treebank, update: str, seed: int) -> Cell:
    train, dev = _without_relations(train), _without_relations(dev)
    settings: dict[str, Any] = {"features": "basic", "merge": True, "update": update, "seed": seed}
    return trained(train, dev, UNLABELLED[update], **settings)[1]


def _without_relations(bank: Treebank) -> Treebank:
    return bank.with_trees(bank.heads, column_of_types(np.zeros(bank.n_tokens, np.int32), ["dep"]))


@cache
def heads(part: str) -> Treebank:
    """A part of the treebank whose relations are all the same."""
    return _without_relations(treebank(part))


def seeded_cell(update: str, seed: int) -> Cell:
    return trained(small(), small_dev(), SEEDED[update], update=update, seed=seed)[1]


def beam_cell(update: str, beam: int) -> Cell:
    return trained(small(), small_dev(), SMALL_PASSES, update=update, beam=beam)[1]


def learner_cell(learner: str, update: str, seed: int) -> Cell:
    settings = {"learner": learner, "update": update, "seed": seed} | LEARNERS[learner]
    return trained(small(), small_dev(), SMALL_PASSES, **settings)[1]


def merging_cell(merge: bool) -> Cell:
    """Trained with merging or without; parsed with both by the same weights, so that model scores can be compared."""
    parser, found = trained(small(), small_dev(), SMALL_PASSES, features="basic", update="max-violation", merge=merge)
    dev, model = small_dev(), parser.model_
    scores = {}
    for other in (False, True):
        model.parse(dev.take(np.arange(5)), 8, other)
        begun = time.perf_counter()
        parsed = model.parse(dev, 8, other)
        name = "merging" if other else "plain"
        found[f"{name}_seconds"] = time.perf_counter() - begun
        found[f"{name}_merges"] = parsed.merges / dev.n_sentences
        scores[other] = parsed.scores
    found["higher"] = 100 * float((scores[True] > scores[False] + 1e-6).mean())
    found["lower"] = 100 * float((scores[True] < scores[False] - 1e-6).mean())
    return found


def predicted_cell(seed: int) -> Cell:
    """Tags by a tagger, in training too."""
    path = data_folder() / "ud-ewt" / "en_ewt-ud-train.conllu"
    made: dict[str, Treebank] = {part: _without_morphology(treebank(part)) for part in ("train", "dev", "test")}
    accuracy = {}
    for field in ("upos", "xpos"):
        corpus = read_corpus(path, FormatSpec(label=field))
        tagger = Tagger("pos", learner="perceptron", batch_size=1, passes=5).fit_corpus(corpus, None, names=False)
        tagger.model_.meta["reading"] = {"format": "conllu", "label": field, "columns": ("form",)}
        made["train"] = jackknife(made["train"], [field], seed=seed)
        for part in ("dev", "test"):
            gold = treebank(part).column(field).cells()
            made[part] = retagged(made[part], tagger, field)
            accuracy[f"{part}_{field}"] = 100 * float(
                np.mean([a == b for a, b in zip(gold, made[part].column(field).cells(), strict=True)])
            )
    parser, found = trained(made["train"], made["dev"], PREDICTED, seed=seed)
    scores = parser.evaluate(made["test"])
    return found | accuracy | {"test_uas": 100 * scores.uas, "test_las": 100 * scores.las}


def _without_morphology(bank: Treebank) -> Treebank:
    nothing = column_of_types(np.zeros(bank.n_tokens, np.int32), ["_"])
    return bank.with_column("lemma", nothing).with_column("feats", nothing)


def run(record: Record) -> None:
    for merge in (False, True):
        record.cell({"stage": "merging", "merge": merge}, lambda m=merge: merging_cell(m))
    for beam in BEAMS:
        for update in UPDATES:
            record.cell({"stage": "beams", "update": update, "beam": beam}, lambda u=update, b=beam: beam_cell(u, b))
    for learner, seed in itertools.product(LEARNERS, SEEDS):
        what = {"stage": "learners", "learner": learner, "update": "max-violation"}
        own = what | {"seed": seed} if seed > 1 else what  # the first ones were kept without it
        record.cell(own, lambda n=learner, s=seed: learner_cell(n, "max-violation", s))
    for stage, passes, make in STAGES:
        for seed in SEEDS:
            for update in passes:
                what = {"stage": stage, "update": update, "seed": seed}
                record.cell(what, lambda u=update, s=seed, m=make: m(u, s))
    record.cell({"stage": "predicted", "seed": 1}, lambda: predicted_cell(1))
    parsing_curve.run(record, heads, trained)


STAGES = (
    ("main", MAIN, main_cell),
    ("unlabelled", UNLABELLED, unlabelled_cell),
    ("few unlabelled", UNLABELLED, few_unlabelled_cell),
    ("seeds", SEEDED, seeded_cell),
)


def page(record: Record) -> str:
    """The page, from the record alone."""
    return page_before_curves(record) + "\n" + curve_part(record) + "\n"


def main() -> None:
    run_study(NAME, SEEDS, run, page, chart)


def smallest(data: Path) -> tuple[Cell, Cell]:
    """The settings of a cell that is quickly run again, and what comes out now."""
    return {"stage": "beams", "update": "early", "beam": 1}, beam_cell("early", 1)


if __name__ == "__main__":
    main()
