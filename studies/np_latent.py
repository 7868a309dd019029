"""NP chunking with latent states (Sun, Matsuzaki, Okanohara and Tsujii 2009): plain and latent perceptron, order 2.

`python -m studies.np_latent` first searches on a held-out tenth of CoNLL-2000's training sentences: states a label,
estimator and k of mavg, random start or a start from a plain model whose labels are split, number of passes. Then it
trains on all of them with what was found, five seeds, reads the test file once for each row of the table, and tests
the latent rows against the plain ones. At last it goes on for 200 passes more with avg and with mavg, to see how steady
they are.

The features are the contexts of `bench/templates/np2.txt` on states, state pairs and state triples: the 17 of Sun et
al. (2009) with three word/POS pairs and the form of the word (chosen earlier for the plain model, on held-out data).
With five states a label the combinations are those that the training labels have (`--edge-features seen`).
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.measure import TEMPLATES, data_folder
from bench.quality import np_file
from palmette import Tagger
from palmette.data import FormatSpec
from palmette.data.corpus import Corpus
from palmette.data.formats.registry import read_corpus
from palmette.data.subset import split
from studies import paired
from studies.common import DOCS, Cell, Record, estimator_from, run_starts, run_study
from studies.np_latent_page import chart, page
from studies.np_latent_sets import (
    AVG,
    GRID,
    LAST,
    LIKE,
    LIKE_PASSES,
    LONG,
    LONG_STATES,
    MAVG,
    MORE,
    NAME,
    PASSES,
    PLAIN,
    SEEDS,
    START,
    compared_rows,
    rows_of,
)


class Chunks:
    """The NP files, made once in a temporary folder."""

    def __init__(self, data: Path, folder: Path) -> None:
        self.train = np_file(data / "conll2000" / "train.txt", folder / "train.txt")
        self.test = np_file(data / "conll2000" / "test.txt", folder / "test.txt")

    def whole(self) -> Corpus:
        return read_corpus(self.train, FormatSpec())

    def held_out(self) -> tuple[Corpus, Corpus]:
        return split(self.whole(), 0.1, 1)

    def gold(self) -> Corpus:
        return read_corpus(self.test, FormatSpec())


def tagger_of(states: int, passes: int, seed: int, **settings: Any) -> Tagger:
    """The same features for all; a plain model needs no list of seen combinations."""
    edges = "seen" if states == 5 else "all"
    common = {
        "template": TEMPLATES / "np2.txt", "constraints": "none", "ends": False, "latent": states,
        "edge_features": edges, "passes": passes, "seed": seed,
    }  # fmt: skip
    return estimator_from(Tagger, common | settings)


def searched(
    files: Chunks,
    states: int,
    share: float,
    split_after: int,
    settings: dict[str, Any],
    seed: int = 1,
    passes: int = PASSES,
) -> Cell:
    """F on the held-out tenth after each pass."""
    rest, held_out = files.held_out()
    tagger = tagger_of(states, passes, seed, share=float(share), split_after=split_after, **settings)
    found = tagger.fit_corpus(rest, held_out)
    curve = [round(100 * row["dev"], 3) for row in found.training_log_]
    return {"dev": curve, "best": max(curve), "passes": 1 + curve.index(max(curve)), "pass_seconds": _typical(found)}


def _typical(tagger: Tagger) -> float:
    return float(statistics.median(row["seconds"] for row in tagger.training_log_))


def tested(files: Chunks, key: tuple[str, str], chosen: Cell, seed: int) -> Cell:
    """F on test after training on everything."""
    settings = {k: chosen[k] for k in ("estimator", "mavg_every") if chosen.get(k) is not None}
    settings |= {"share": float(chosen["share"]), "split_after": chosen["split_after"]}
    tagger, whole = tagger_of(chosen["states"], chosen["passes"], seed, **settings), files.whole()
    begun = time.process_time()
    tagger.fit_corpus(whole, None)
    seconds = time.process_time() - begun
    f1 = paired.kept(output(key, seed), tagger, files.gold())
    return {"f1": f1, "passes": chosen["passes"], "cpu": round(seconds, 2)}


def output(key: tuple[str, str], seed: int) -> Path:
    """Where the outcome of a row by sentence and token is kept until rows are compared; not part of the record."""
    return DOCS / "runs" / f"np-{'_'.join(key).replace(', ', '_').replace(' ', '_')}-{seed}.npz"


def compared(record: Record, files: Chunks, key: tuple[str, str]) -> Cell:
    """Tests of a latent row against the plain one with the same estimator over all seeds, paired by seed."""
    chosen = rows_of(record)
    plain = (PLAIN, key[1])
    for seed in SEEDS:
        for side in (key, plain):
            if not output(side, seed).is_file():
                tested(files, side, chosen[side], seed)
    return paired.compared((output(key, seed), output(plain, seed)) for seed in SEEDS)


def steady(files: Chunks, states: int, settings: dict[str, Any]) -> Cell:
    """F on the held-out tenth over many passes."""
    rest, held_out = files.held_out()
    tagger = tagger_of(states, PASSES + MORE, 1, **settings).fit_corpus(rest, held_out)
    return {"dev": [round(100 * row["dev"], 3) for row in tagger.training_log_]}


def run_search(record: Record, files: Chunks) -> None:
    """The grid, the kinds of start, and one setting with as many passes as published."""
    for states, share, split_after, estimators in GRID:
        for settings in estimators:
            what = {"stage": "search", "states": states, "share": share, "split_after": split_after}
            what |= {"mavg_every": None} | settings
            record.cell(what, lambda n=states, a=share, s=split_after, e=settings: searched(files, n, a, s, e))
    run_starts(record, lambda settings, seed: searched(files, 2, 0, 0, MAVG[1] | settings, seed), START)
    what = {"stage": "long", "states": LONG_STATES, "share": 0} | MAVG[0]
    record.cell(what, lambda: searched(files, LONG_STATES, 0, 0, MAVG[0], passes=LONG))


def run_row(record: Record, files: Chunks, key: tuple[str, str]) -> None:
    """Test figures of a row."""
    chosen = rows_of(record)[key]
    for seed in SEEDS:
        what = {"stage": "test", "method": key[0], "estimator": key[1], "seed": seed}
        what |= {k: chosen[k] for k in ("states", "share", "split_after", "mavg_every")}
        record.cell(what, lambda s=seed: tested(files, key, chosen, s))


def run_compared(record: Record, files: Chunks, key: tuple[str, str]) -> None:
    what = {"stage": "compared", "method": key[0], "estimator": key[1]}
    record.cell(what, lambda: compared(record, files, key))


def run(record: Record, data: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = Chunks(data, Path(folder))
        run_search(record, files)
        for key in rows_of(record):
            run_row(record, files, key)
        for key in compared_rows(record):
            run_compared(record, files, key)
        for seed in SEEDS:
            what = {"stage": "test", "method": LIKE, "estimator": "mavg", "seed": seed, "states": 2, "share": 1}
            record.cell(what, lambda s=seed: like(files, s))
        for states, share in ((1, 0), (2, 0), (2, 1)):
            for settings in (AVG, MAVG[1]):
                what = {"stage": "steady", "states": states, "share": share, "estimator": settings["estimator"]}
                chosen = {"share": float(share)} | settings
                record.cell(what, lambda n=states, e=chosen: steady(files, n, e))


def like(files: Chunks, seed: int) -> Cell:
    """The setting of the latent perceptron that the study of likelihoods takes times from, with more seeds."""
    settings = MAVG[1] | {"share": 1.0, "init_size": 0.1, "edge_features": "seen"}
    tagger = tagger_of(2, LIKE_PASSES, seed, **settings).fit_corpus(files.whole(), None)
    f1 = tagger.evaluate(files.gold()).f1
    assert f1 is not None
    return {"f1": 100 * f1, "passes": LIKE_PASSES, "seconds": sum(row["seconds"] for row in tagger.training_log_)}


def smallest(data: Path) -> tuple[Cell, Cell]:
    """The settings of a cell that is quickly run again, and the first passes of what comes out now."""
    with tempfile.TemporaryDirectory() as folder:
        found = searched(Chunks(data, Path(folder)), 1, 0, 0, LAST, passes=5)
    return {"stage": "search", "states": 1, "share": 0, "split_after": 0, "estimator": "last"}, {"dev": found["dev"]}


def main() -> None:
    run_study(NAME, SEEDS, lambda record: run(record, data_folder()), page, chart)


if __name__ == "__main__":
    main()
