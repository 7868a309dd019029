"""Where hidden states pay: latent against plain models with the same features, from rich features to poor ones.

`python -m studies latent_gain` has two stages. Stage one, one seed, development data: around two states per label with
tied updates one factor is changed at a time (states, kind of update, estimator, kind and size of the start, split of a
plain model, tag constraints), for each set of features; the plain model has its choice of estimators too. Stage two,
five seeds, test data: the three best latent settings of stage one, the published one and the best plain one. Passes are
chosen on development data in both. Tests: McNemar's on tokens and approximate randomisation on sentences.
"""

from __future__ import annotations

import tempfile
import time
from functools import cache
from pathlib import Path

from bench.measure import data_folder
from bench.quality import np_file
from palmette import Tagger
from palmette.data import FormatSpec
from palmette.data.corpus import Corpus
from palmette.data.formats.registry import read_corpus
from palmette.data.subset import split
from palmette.features.templates import parse
from studies import paired
from studies.common import DOCS, Cell, Record, estimator_from, run_study
from studies.latent_gain_page import chart, page
from studies.latent_gain_sets import (
    NAME,
    SEEDS,
    SETS,
    FeatureSet,
    Settings,
    best_latent,
    best_plain,
    latent_settings,
    plain_settings,
)
from studies.paired import kept


@cache
def corpora(task: str, data: Path) -> tuple[Corpus, Corpus, Corpus, Corpus]:
    """Training data of stage one, development data, training data of stage two, test data."""
    if task == "bio":
        train, dev, test = (read_corpus(data / "jnlpba" / f"{p}.txt", FormatSpec()) for p in ("train", "dev", "test"))
        return train, dev, train, test
    with tempfile.TemporaryDirectory() as folder:
        train, test = (
            read_corpus(np_file(data / "conll2000" / f"{part}.txt", Path(folder) / part), FormatSpec())
            for part in ("train", "test")
        )
    rest, dev = split(train, 0.1, 1)
    return rest, dev, train, test


def attributes(features: FeatureSet) -> Settings:
    """A named set, or templates."""
    if "\n" in features.template:
        return {"template": parse(features.template)}
    return {"features": features.template}


def tagger_of(features: FeatureSet, states: int, settings: Settings, passes: int, seed: int) -> Tagger:
    common: Settings = attributes(features) | {"min_count": features.cut, "passes": passes, "seed": seed}
    latent: Settings = {"latent": states} if states > 1 else {}
    if states > 2 and "*" in features.template:
        latent["edge_features"] = "seen"
    return estimator_from(Tagger, common | latent | settings)


def searched(name: str, data: Path, states: int, settings: Settings, seed: int = 1) -> Cell:
    """F on development data after each pass."""
    features = SETS[name]
    train, dev = corpora(features.task, data)[:2]
    begun = time.process_time()
    tagger = tagger_of(features, states, settings, features.passes, seed).fit_corpus(train, dev)
    curve = [round(100 * row["dev"], 3) for row in tagger.training_log_]
    best = max(curve)
    return {"dev": curve, "best": best, "passes": 1 + curve.index(best), "cpu": round(time.process_time() - begun, 2)}


def tested(name: str, data: Path, chosen: Cell, seed: int) -> Cell:
    """F on test with the number of passes that was best in stage one."""
    features = SETS[name]
    _, _, train, test = corpora(features.task, data)
    begun = time.process_time()
    tagger = tagger_of(features, chosen["states"], chosen["settings"], chosen["passes"], seed).fit_corpus(train, None)
    seconds = time.process_time() - begun
    return {"f1": kept(output(name, chosen, seed), tagger, test), "passes": chosen["passes"], "cpu": round(seconds, 2)}


def output(name: str, chosen: Cell, seed: int) -> Path:
    """Where the outcome by sentence and token is kept until models are compared; not part of the record."""
    said = "-".join(f"{k}={v}" for k, v in sorted(chosen["settings"].items()))
    return DOCS / "runs" / f"{name.replace(' ', '_')}-{chosen['states']}-{said}-{seed}.npz"


def compared(name: str, data: Path, chosen: Cell, plain: Cell) -> Cell:
    """Tests of a latent setting against the plain model over all seeds, paired by seed."""
    for seed in SEEDS:
        for cell in (chosen, plain):
            if not output(name, cell, seed).is_file():
                tested(name, data, cell, seed)
    return paired.compared((output(name, chosen, seed), output(name, plain, seed)) for seed in SEEDS)


def run_one(record: Record, data: Path, name: str) -> None:
    """Stage one of a set of features."""
    plain = [(1, s) for s in plain_settings()] + [(1, {"estimator": "avg", "constraints": "none"})]
    for states, settings in [*plain, *latent_settings(SETS[name].published)]:
        what = {"stage": "one", "features": name, "states": states, "settings": settings, "seed": 1}
        record.cell(what, lambda n=states, s=settings: searched(name, data, n, s))


def run_two(record: Record, data: Path, name: str) -> None:
    """Stage two of a set of features."""
    plain = best_plain(record, name)
    rows = [plain, *best_latent(record, name)]
    for seed in SEEDS:
        for cell in rows:
            what = {"stage": "two", "features": name, "states": cell["states"], "settings": cell["settings"]}
            record.cell(what | {"seed": seed}, lambda c=cell, s=seed: tested(name, data, c, s))
    for cell in rows[1:]:
        what = {"stage": "compared", "features": name, "states": cell["states"], "settings": cell["settings"]}
        record.cell(what, lambda c=cell: compared(name, data, c, plain))


def smallest(data: Path) -> tuple[Cell, Cell]:
    """The settings of a cell that is quickly run again, and what comes out now."""
    settings: Settings = {"estimator": "avg"}
    what = {"stage": "one", "features": "np tag", "states": 1, "settings": settings, "seed": 1}
    return what, searched("np tag", data, 1, settings)


def run(record: Record, data: Path) -> None:
    for name in SETS:
        run_one(record, data, name)
        run_two(record, data, name)


def main() -> None:
    run_study(NAME, SEEDS, lambda record: run(record, data_folder()), page, chart)


if __name__ == "__main__":
    main()
