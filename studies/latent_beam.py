"""Beams over hidden states, beside exact search: tagging of UD English-EWT, UPOS and XPOS, a small budget.

`python -m studies.latent_beam` trains perceptrons of order 1 on the first 3,000 sentences with exact search and with
beams, with and without recombination, with one state per label and with two, and scores the last pass on development
data. No test data is read. Cells and page are in docs/studies/latent_beam.*.
"""

from __future__ import annotations

import itertools
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import data_folder
from palmette import Tagger
from palmette.data import FormatSpec
from palmette.data.corpus import Corpus
from palmette.data.formats.registry import read_corpus
from palmette.data.subset import take
from studies.common import Cell, Record, estimator_from, markdown, mean, run_study

NAME = "latent_beam"
SEEDS = (1, 2, 3)
SENTENCES, PASSES = 3000, 6
TAGS = ("upos", "xpos")
STATES = (1, 2)
WIDTHS = (2, 8)
SEARCHES = [(0, False), *((width, way) for width in WIDTHS for way in (False, True))]  # width (0: exact), recombination


@cache
def corpora(data: Path, tags: str) -> tuple[Corpus, Corpus]:
    spec = FormatSpec(label=tags)
    train, dev = (read_corpus(data / "ud-ewt" / f"en_ewt-ud-{part}.conllu", spec) for part in ("train", "dev"))
    return take(train, np.arange(SENTENCES)), dev


def learn(data: Path, what: Cell) -> Cell:
    """A training: accuracy on development data after each pass, the share of bad updates, CPU seconds."""
    train, dev = corpora(data, what["tags"])
    settings: dict[str, Any] = {"features": "pos", "order": 1, "estimator": "avg", "passes": PASSES}
    settings |= {"seed": what["seed"]} | ({"latent": what["states"]} if what["states"] > 1 else {})
    if what["beam"]:
        settings |= {"search": "beam", "beam": what["beam"], "recombine": what["recombine"]}
    tagger = estimator_from(Tagger, settings)
    begun = time.process_time()
    tagger.fit_corpus(train, dev, names=False)
    rows = tagger.training_log_
    bad = float(np.mean([row["figures"].get("bad", 0.0) for row in rows]))
    return {"dev": [100 * row["dev"] for row in rows], "bad": bad, "seconds": time.process_time() - begun}


def run(record: Record, data: Path) -> None:
    for tags, states, (beam, recombine), seed in itertools.product(TAGS, STATES, SEARCHES, SEEDS):
        what = {"tags": tags, "states": states, "beam": beam, "recombine": recombine, "seed": seed}
        record.cell(what, lambda what=what: learn(data, what))


def smallest(data: Path) -> tuple[Cell, Cell]:
    """The settings of a cell that is quickly run again, and what comes out now."""
    what = {"tags": "upos", "states": 1, "beam": 2, "recombine": True, "seed": 1}
    return what, learn(data, what)


def table(record: Record, tags: str) -> str:
    rows = []
    for beam, recombine in SEARCHES:
        name = "exact search" if not beam else f"beam of {beam}, {'recombined' if recombine else 'apart'}"
        row = [name]
        for states in STATES:
            cells = record.some(tags=tags, states=states, beam=beam, recombine=recombine)
            row += [mean([cell["dev"][-1] for cell in cells])]
            row += [f"{np.mean([cell['seconds'] for cell in cells]):.1f}" if cells else "—"]
        rows.append(row)
    return markdown(("search", "one state per label", "CPU s", "two states per label", "CPU s"), rows)


def page(record: Record) -> str:
    """The page, from the record alone."""
    return f"""# Beams over hidden states

{record.origin()}
Tags of UD English-EWT: the first {SENTENCES:,} training sentences, `--features pos --order 1`, {PASSES} passes,
averaged weights, max-violation updates, accuracy on development data after the last pass. Nothing was tuned. Prefixes
are recombined, or kept apart. CPU seconds are of a training with scores on development data after each pass, on a
machine that was shared with other work.

## UPOS

{table(record, "upos")}

## XPOS

{table(record, "xpos")}
"""


def main() -> None:
    run_study(NAME, SEEDS, lambda record: run(record, data_folder()), page)


if __name__ == "__main__":
    main()
