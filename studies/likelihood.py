"""CRF and latent CRF (DPLVM) on the data of the latent studies: the probabilistic columns of their tables, with times.

`python -m studies.likelihood` sweeps the variance of the Gaussian prior over 10^-3 .. 10^3 on development data for each
learner (on synthetic sequences: fresh ones; NP chunking: a held-out tenth; Bio-NER: its development file), then trains
with the best variance and number of passes and reads test once for each row. Both optimisers: L-BFGS, and sentence by
sentence with AdaGrad rates ("SGD" in the published tables). A variance of s^2 is `--l2 1/(2 s^2)`. What is too large to
be swept by L-BFGS takes the variance that AdaGrad chose. Beside them the latent perceptron is trained again, so that
the ratio of times is that of one machine in one run.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import data_folder
from palmette import Dplvm, Tagger
from palmette.data import FormatSpec
from palmette.data.corpus import Corpus
from palmette.data.formats.registry import read_corpus
from palmette.features.templates import parse
from palmette.structures.chain.gold import gold_and_guess
from studies import bio_latent, np_latent, synthetic
from studies.common import Cell, Record, estimator_from, markdown, mean, probabilistic, run_study

NAME = "likelihood"
SEEDS = (1, 2, 3)
VARIANCES = tuple(10.0**k for k in range(-3, 4))
LATENT = "latent perceptron"


class TrainingData(NamedTuple):
    """A data set with its features: what is searched on what, and tested on what."""

    title: str
    rest: Corpus
    dev: Corpus
    train: Corpus
    test: Corpus
    common: dict[str, Any]  # for all learners
    latent: dict[str, Any]  # more, where there are states
    perceptron: dict[str, Any]  # the latent perceptron to be compared with, and its passes


class Row(NamedTuple):
    """A learner on a data set."""

    settings: dict[str, Any]
    passes: int  # at most
    sweep: bool = True  # over all variances; False: the one that `like` chose
    like: str = ""
    seeds: tuple[int, ...] = SEEDS
    variances: tuple[float, ...] = VARIANCES


CRF, DPLVM = {"learner": "crf"}, {"learner": "dplvm"}
ADAGRAD = {"optimiser": "adagrad", "rate": 0.2}


def _rows(iterations: int, passes: int, sweep: bool, seeds: tuple[int, ...] = SEEDS) -> dict[str, Row]:
    """The four learners. L-BFGS of a CRF has no seed."""
    return {
        "CRF, SGD": Row(CRF | ADAGRAD, passes, seeds=seeds),
        "CRF, L-BFGS": Row(CRF, iterations, sweep, "CRF, SGD", (1,)),
        "DPLVM, SGD": Row(DPLVM | ADAGRAD, passes, seeds=seeds),
        "DPLVM, L-BFGS": Row(DPLVM, iterations, sweep, "DPLVM, SGD", (1,)),
    }


ROWS: dict[str, dict[str, Row]] = {
    "synthetic": _rows(200, 10, sweep=True),
    "np": _rows(30, 3, sweep=False, seeds=(1,)),
    "bio15": _rows(150, 8, sweep=False, seeds=(1,)),
    "bio5": _rows(150, 8, sweep=False, seeds=(1,)),
    "bio2": _rows(150, 8, sweep=False, seeds=(1,)),
}
ROWS["np"]["DPLVM, SGD"] = ROWS["np"]["DPLVM, SGD"]._replace(seeds=SEEDS)
ROWS["np"]["CRF, L-BFGS"] = Row(CRF, 80, seeds=(1,), variances=(1.0, 10.0, 100.0))
# The latent learners of Bio-NER take the variance that the CRF chose by the same optimiser
for _name in ("bio15", "bio5", "bio2"):
    ROWS[_name]["CRF, L-BFGS"] = Row(CRF, 150, seeds=(1,), variances=(0.01, 0.1, 1.0))
    ROWS[_name]["DPLVM, SGD"] = ROWS[_name]["DPLVM, SGD"]._replace(sweep=False, like="CRF, SGD")
    ROWS[_name]["DPLVM, L-BFGS"] = Row(DPLVM, 100, sweep=False, like="CRF, L-BFGS", seeds=(1,))
LIKE = {"bio5": "bio15", "bio2": "bio15"}  # the variance of another data set
LEFT_OUT = {("bio5", "DPLVM, L-BFGS"), ("bio2", "DPLVM, L-BFGS")}  # half an hour each, for a third and a fourth time


@cache
def problem(name: str, data: Path) -> TrainingData:
    if name == "synthetic":
        train, dev, test = (synthetic.drawn(0.9, synthetic.LENGTH, 1, stream)[0] for stream in (0, 2, 1))
        latent = {"latent": 2, "init_size": 0.1}
        perceptron = {"latent": 2, "estimator": "mavg", "mavg_every": 2, "share": 0.0, "passes": synthetic.PASSES}
        common = {"template": parse(synthetic.TEMPLATES)}
        return TrainingData("Synthetic sequences, P = 0.9", train, dev, train, test, common, latent, perceptron)
    if name == "np":
        files = np_latent.Chunks(data, Path(tempfile.mkdtemp()))
        rest, dev = files.held_out()
        common = {"template": np_latent.TEMPLATES / "np2.txt", "constraints": "none", "ends": False}
        latent = {"latent": 2, "edge_features": "seen", "init_size": 0.1}
        perceptron = latent | {"estimator": "mavg", "mavg_every": 4, "passes": 20}
        return TrainingData("NP chunking, order 2", rest, dev, files.whole(), files.gold(), common, latent, perceptron)
    cut = int(name.removeprefix("bio"))
    train, dev, test = (read_corpus(data / "jnlpba" / f"{p}.txt", FormatSpec()) for p in ("train", "dev", "test"))
    common = {"template": bio_latent.templates(1), "min_count": cut}
    latent = {"latent": 2, "edge_features": "seen", "init_size": 0.1}
    perceptron = {"latent": 2, "estimator": "mavg", "mavg_every": 4, "passes": 20}
    return TrainingData(f"Bio-NER, order 1, cut-off {cut}", train, dev, train, test, common, latent, perceptron)


def made(own: TrainingData, row: Row, variance: float, passes: int, seed: int) -> Tagger:
    states = own.latent if row.settings["learner"] == "dplvm" else {}
    settings = own.common | states | row.settings | {"l2": 1 / (2 * variance)}
    if "optimiser" not in row.settings:
        settings["tolerance"] = 1e-4
    limit = "passes" if "optimiser" in row.settings else "iterations"
    return estimator_from(Tagger, settings | {limit: passes, "seed": seed})


def swept(name: str, data: Path, row: Row, variance: float) -> Cell:
    own = problem(name, data)
    tagger = made(own, row, variance, row.passes, 1).fit_corpus(own.rest, own.dev)
    curve = [round(100 * line["dev"], 3) for line in tagger.training_log_]
    return {"dev": curve, "best": max(curve), "passes": tagger.outcome_.best_epoch}


def tested(name: str, data: Path, row: Row, variance: float, passes: int, seed: int) -> Cell:
    own = problem(name, data)
    tagger = made(own, row, variance, passes, seed).fit_corpus(own.train, None)
    return _figures(tagger, own) | {"variance": variance}


def compared(name: str, data: Path) -> Cell:
    """The latent perceptron, for its time."""
    own = problem(name, data)
    tagger = estimator_from(Tagger, own.common | own.perceptron | {"seed": 1}).fit_corpus(own.train, None)
    return _figures(tagger, own)


def _figures(tagger: Tagger, own: TrainingData) -> Cell:
    scores = tagger.evaluate(own.test)
    found = {"score": 100 * (scores.accuracy if scores.f1 is None else scores.f1), "passes": len(tagger.training_log_)}
    if isinstance(tagger._settings().learner, Dplvm):
        gold, guess, _ = gold_and_guess(tagger.model_, own.test, decode="marginal")
        found["marginal_accuracy"] = 100 * float((gold == guess).mean())
    return found | {"seconds": sum(line["seconds"] for line in tagger.training_log_)}


def chosen(record: Record, name: str, method: str) -> tuple[float, int]:
    """The variance and the number of passes that were best on development data."""
    row = ROWS[name][method]
    swept_at, swept_by = LIKE.get(name, name), method if row.sweep else row.like
    best = max(record.some(stage="sweep", data=swept_at, method=swept_by), key=lambda c: (c["best"], -c["passes"]))
    return best["variance"], best["passes"] if row.sweep else row.passes


def run(record: Record, data: Path, names: Iterable[str] = tuple(ROWS)) -> None:
    for name in names:
        for method, row in ROWS[name].items():
            if row.sweep and name not in LIKE:
                for variance in row.variances:
                    what = {"stage": "sweep", "data": name, "method": method, "variance": variance}
                    record.cell(what, lambda n=name, r=row, v=variance: swept(n, data, r, v))
        record.cell({"stage": "test", "data": name, "method": LATENT, "seed": 1}, lambda n=name: compared(n, data))
        for method, row in ROWS[name].items():
            for seed in row.seeds if (name, method) not in LEFT_OUT else ():
                what = {"stage": "test", "data": name, "method": method, "seed": seed}
                settings = chosen(record, name, method)
                record.cell(what, lambda n=name, r=row, c=settings, s=seed: tested(n, data, r, *c, s))


# --- the pages ----------------------------------------------------------------------------------------------


def _table(record: Record, name: str) -> str:
    base = record.some(stage="test", data=name, method=LATENT)
    rows = []
    for method in (LATENT, *ROWS[name]):
        cells = record.some(stage="test", data=name, method=method)
        if cells and base:
            ratio = cells[0]["seconds"] / base[0]["seconds"]  # first seeds, which were run one after the other
            variance = f"{cells[0]['variance']:g}" if "variance" in cells[0] else "—"
            marginal = mean(c["marginal_accuracy"] for c in cells if "marginal_accuracy" in c)
            rows.append([method, *probabilistic(name, method), f"{ratio:.1f}", variance, marginal])
    head = ["", "test", "passes", "time", "time to latent perceptron", "variance", "accuracy by marginals"]
    return markdown(head, rows)


def _sweeps(record: Record) -> str:
    head = ["", *(f"{v:g}" for v in VARIANCES)]
    rows = []
    for name, methods in ROWS.items():
        for method in methods:
            cells = {c["variance"]: c["best"] for c in record.some(stage="sweep", data=name, method=method)}
            if cells:
                rows.append([f"{name}: {method}", *(f"{cells[v]:.2f}" if v in cells else "—" for v in VARIANCES)])
    return markdown(head, rows)


PERCEPTRONS = (
    f"synthetic: the published update, mavg every 2 passes, {synthetic.PASSES} passes; NP and Bio-NER: tied updates,\n"
    "mavg every 4 passes, 20 passes, start of 0.1 on NP and 0.01 on Bio-NER"
)


def _np_means() -> str:
    """The rows of the study of NP chunking that are nearest to the one here."""
    cells = Record("np_latent", ()).some(stage="test")
    rows = {"latent, shared": [], "perceptron": []}
    for cell in cells:
        if cell["method"] in rows and cell["estimator"] == "mavg":
            rows[cell["method"]].append(cell["f1"])
    same = [c["f1"] for c in cells if c["method"] == np_latent.LIKE]
    told = f"the setting of the row here comes to {mean(same)} over its seeds, " if same else ""
    latent, plain = (mean(rows[name]) for name in ("latent, shared", "perceptron"))
    return f"{told}five states with tied updates come to {latent}, the plain perceptron to {plain}"


def page(record: Record) -> str:
    """The page, from the record alone."""
    titles = {
        "synthetic": "Synthetic sequences, P = 0.9 (accuracy)", "np": "NP chunking, order 2, 2 states a label (F)",
        "bio15": "Bio-NER, order 1, cut-off 15, 2 states a label (F)", "bio5": "Bio-NER, cut-off 5 (F)",
        "bio2": "Bio-NER, cut-off 2 (F)",
    }  # fmt: skip
    tables = "\n\n".join(f"## {titles[name]}\n\n{_table(record, name)}" for name in ROWS)
    return f"""# CRF and latent CRF beside the latent perceptron

{record.origin()}

Rows without ± are single runs. Latent models have two states per label: with five, one pass of DPLVM over the NP data
takes a minute. The features are those of [NP chunking](np_latent.md) (`bench/templates/np2.txt`, on states, pairs and
triples) and of [Bio-NER](bio_latent.md) (28 contexts on states and pairs). "SGD" is sentence by sentence with AdaGrad
rates.

The rows "latent perceptron" are here for their times: one seed and a number of passes that no data chose
({PERCEPTRONS}). The studies of NP and Bio-NER chose settings and passes on development data, and have more seeds; on
NP {_np_means()}.

The variance of the prior was chosen on development data from the powers of ten below. Where L-BFGS has no row there it
took that of the other optimiser, DPLVM on Bio-NER that of the CRF, and Bio-NER at cut-off 5 and 2 that of cut-off 15.
L-BFGS has at most {ROWS["np"]["DPLVM, L-BFGS"].passes} iterations for DPLVM on NP,
{ROWS["bio15"]["DPLVM, L-BFGS"].passes} on Bio-NER at cut-off 15 (left out at 5 and 2), and
{ROWS["bio15"]["CRF, L-BFGS"].passes} for the CRF there; "SGD" has at most {ROWS["bio15"]["CRF, SGD"].passes} passes on
Bio-NER.

On synthetic sequences DPLVM stops here at the iteration that is best on development data by the best path, and is
scored by the best path on one draw of data. In [the study of these](synthetic.md) it has up to {synthetic.ITERATIONS}
iterations and five draws and is scored by marginals: it is both better and slower there.

Published ratios of time, DPLVM by L-BFGS to the latent perceptron: 60 on NP chunking, 160 on Bio-NER at cut-off 15.
Times are those of one core that had other work to do too.

{tables}

## The sweep: best figure on development data by variance

{_sweeps(record)}
"""


def smallest(data: Path) -> tuple[Cell, Cell]:
    """The settings of a cell that is quickly run again, and what comes out now."""
    what = {"stage": "sweep", "data": "synthetic", "method": "CRF, SGD", "variance": 1.0}
    return what, swept("synthetic", data, ROWS["synthetic"]["CRF, SGD"], 1.0)


def main() -> None:
    """`python -m studies.likelihood [DATA ...]`: all data sets, or some of them."""
    run_study(NAME, SEEDS, lambda record: run(record, data_folder(), sys.argv[1:] or tuple(ROWS)), page)


if __name__ == "__main__":
    main()
