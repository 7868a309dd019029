"""NP chunking with latent states (Sun, Matsuzaki, Okanohara and Tsujii 2009): plain and latent perceptron, order 2.

`python -m studies.np_latent` first searches on a held-out tenth of CoNLL-2000's training sentences: states a label,
estimator and k of mavg, random start or a start from a plain model whose labels are split, number of passes. Then it
trains on all of them with what was found, three seeds, and reads the test file once for each row of the table. At last
it goes on for 200 passes more with avg and with mavg, to see how steady they are.

The features are the contexts of `bench/templates/np2.txt` on states, state pairs and state triples: the 17 of Sun et
al. (2009) with three word/POS pairs and the form of the word (chosen earlier for the plain model, on held-out data).
With five states a label the combinations are those that the training labels have (`--edge-features seen`).
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Any

from bench.measure import TEMPLATES, data_folder
from bench.quality import np_file
from palmette import FormatSpec, Tagger
from palmette.data.corpus import Corpus
from palmette.data.formats.registry import read_corpus
from palmette.data.subset import split
from palmette.reports.chart_svg import Chart, Line, Panel
from studies.common import (
    Cell,
    Record,
    estimator_from,
    markdown,
    mean,
    numbered,
    probabilistic,
    run_starts,
    run_study,
    start_table,
)

NAME = "np_latent"
SEEDS = (1, 2, 3)
PASSES = 30  # of the search
MORE = 200  # passes of the steadiness
AVG, LAST = {"estimator": "avg"}, {"estimator": "last"}
MAVG: list[dict[str, Any]] = [{"estimator": "mavg", "mavg_every": k} for k in (2, 4, 8)]
SPLIT = 10
LONG, LONG_STATES = 80, 5  # passes as published, for as many states
LIKE, LIKE_PASSES = "latent, as in the study of likelihoods", 20
# What is searched: states, share of an update that all states of a label get (0: as published), plain passes before the
# labels are split, estimators
GRID: list[tuple[int, float, int, list[dict[str, Any]]]] = [
    (1, 0, 0, [AVG, *MAVG, LAST]),
    (2, 0, 0, [AVG, *MAVG]),
    (3, 0, 0, [AVG, *MAVG]),
    (5, 0, 0, [AVG, MAVG[0], MAVG[1], LAST]),
    (2, 0, SPLIT, [AVG, *MAVG]),
    (2, 1, 0, [AVG, *MAVG]),
    (3, 1, 0, [AVG, MAVG[1]]),
    (5, 1, 0, [AVG, MAVG[1]]),
    (2, 1, SPLIT, [AVG, *MAVG]),
]
# F, passes and time as published; None stands for learners that are not in this table
PUBLISHED = {
    ("latent", "mavg"): (94.37, 80, "2 h"),
    ("latent", "avg"): (94.13, 70, "2 h"),
    ("latent", "last"): (92.06, 25, "0.2 h"),
    ("perceptron", "mavg"): (94.25, 65, "<1 h"),
    ("perceptron", "avg"): (94.27, 68, "<1 h"),
    ("perceptron", "last"): (91.33, 12, "0.1 h"),
    ("DPLVM", "L-BFGS"): (94.29, 300, "120 h"),
    ("DPLVM", "SGD"): (94.03, 100, "20 h"),
    ("CRF", "L-BFGS"): (94.25, 280, "30 h"),
}


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


def tested(files: Chunks, chosen: Cell, seed: int) -> Cell:
    """F on test after training on everything."""
    settings = {k: chosen[k] for k in ("estimator", "mavg_every") if chosen.get(k) is not None}
    settings |= {"share": float(chosen["share"]), "split_after": chosen["split_after"]}
    tagger = tagger_of(chosen["states"], chosen["passes"], seed, **settings)
    tagger.fit_corpus(files.whole(), None)
    f1 = tagger.evaluate(files.gold()).f1
    assert f1 is not None
    return {"f1": 100 * f1, "passes": chosen["passes"], "seconds": sum(row["seconds"] for row in tagger.training_log_)}


def steady(files: Chunks, states: int, settings: dict[str, Any]) -> Cell:
    """F on the held-out tenth over many passes."""
    rest, held_out = files.held_out()
    tagger = tagger_of(states, PASSES + MORE, 1, **settings).fit_corpus(rest, held_out)
    return {"dev": [round(100 * row["dev"], 3) for row in tagger.training_log_]}


def choices(record: Record, estimator: str, **what: Any) -> Cell:
    """The best cell of the search with these settings."""
    return max(record.some(stage="search", estimator=estimator, **what), key=lambda c: (c["best"], -c["passes"]))


def rows_of(record: Record) -> dict[tuple[str, str], Cell]:
    """The rows of the test table and the settings that the search gave them."""
    rows = {("perceptron", e): choices(record, e, states=1) for e in ("mavg", "avg", "last")}
    rows |= {("latent", e): choices(record, e, states=5, share=0, split_after=0) for e in ("mavg", "avg", "last")}
    rows |= {("latent, shared", e): choices(record, e, states=5, share=1, split_after=0) for e in ("mavg", "avg")}
    latent = [c for c in record.some(stage="search") if c["states"] > 1]
    best = max(latent, key=lambda c: c["best"])
    return rows | {("latent, best of the search", best["estimator"]): best}


def run(record: Record, data: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = Chunks(data, Path(folder))
        run_starts(record, lambda settings, seed: searched(files, 2, 0, 0, MAVG[1] | settings, seed))
        for states, share, split_after, estimators in GRID:
            for settings in estimators:
                what = {"stage": "search", "states": states, "share": share, "split_after": split_after}
                what |= {"mavg_every": None} | settings
                record.cell(what, lambda n=states, a=share, s=split_after, e=settings: searched(files, n, a, s, e))
        for (method, estimator), chosen in rows_of(record).items():
            for seed in SEEDS:
                what = {"stage": "test", "method": method, "estimator": estimator, "seed": seed}
                what |= {k: chosen[k] for k in ("states", "share", "split_after", "mavg_every")}
                record.cell(what, lambda c=chosen, s=seed: tested(files, c, s))
        for seed in SEEDS:
            what = {"stage": "test", "method": LIKE, "estimator": "mavg", "seed": seed, "states": 2, "share": 1}
            record.cell(what, lambda s=seed: like(files, s))
        what = {"stage": "long", "states": LONG_STATES, "share": 0} | MAVG[0]
        record.cell(what, lambda: searched(files, LONG_STATES, 0, 0, MAVG[0], passes=LONG))
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


def _like(record: Record) -> str:
    """What that setting comes to."""
    cells = record.some(stage="test", method=LIKE)
    other = Record("likelihood", ()).some(stage="test", data="np", method="latent perceptron")
    single = f"{other[0]['score']:.2f}" if other else "more"
    if not cells:
        return (
            f"That study has a latent perceptron too, for its time: {single} with one seed, two states, tied updates, "
            f"a start of 0.1 and\n{LIKE_PASSES} passes that no data chose; other seeds of it were not run. "
        )
    return (
        f"That study has a latent perceptron too, for its time: two states, tied updates, a start of 0.1, k = 4 and "
        f"{LIKE_PASSES} passes\nthat no data chose. With seed 1 it has {single}, with seeds "
        f"{', '.join(str(c['seed']) for c in cells)} {mean(c['f1'] for c in cells)}. "
    )


def _long(record: Record) -> str:
    """What as many passes as published bring on the held-out tenth."""
    found = record.some(stage="long")
    if not found:
        return f"The published row has {LONG} passes; that was not run."
    short, best = max(found[0]["dev"][:PASSES]), found[0]["best"]
    return (
        f"The published row has {LONG} passes. With {LONG_STATES} states, the published update and mavg every 2\n"
        f"passes the best F on the held-out tenth is {best:.2f} (pass {found[0]['passes']} of {LONG}), "
        f"{short:.2f} in the first {PASSES}."
    )


def _test_rows(record: Record) -> list[list[str]]:
    rows = []
    keys = list(dict.fromkeys([*PUBLISHED, *rows_of(record)]))
    for method, estimator in keys:
        cells = record.some(stage="test", method=method, estimator=estimator)
        f, passes, hours = PUBLISHED.get((method, estimator), ("—", "—", "—"))
        if cells:
            c = cells[0]
            how = f"{c['states']}" + (", shared" if c["share"] and c["states"] > 1 else "")
            how += f", split after {c['split_after']}" if c["split_after"] else ""
            how += f", k={c['mavg_every']}" if c["mavg_every"] else ""
            mine = [
                mean(x["f1"] for x in cells),
                how,
                str(c["passes"]),
                f"{statistics.mean(x['seconds'] for x in cells):.0f} s",
            ]
        else:
            score, own_passes, time = probabilistic("np", f"{method}, {estimator}")
            mine = [score, {"DPLVM": "2", "CRF": "1"}.get(method, "—"), own_passes, time]
        rows.append([f"{method}, {estimator}", *mine, str(f), str(passes), hours])
    return rows


def _search_rows(record: Record) -> list[list[str]]:
    rows = []
    for cell in record.some(stage="search"):
        k = f" every {cell['mavg_every']}" if cell["mavg_every"] else ""
        start = (
            f"split after {cell['split_after']}"
            if cell["split_after"]
            else ("random" if cell["states"] > 1 else "zero")
        )
        figures = [
            f"{cell['best']:.2f}",
            str(cell["passes"]),
            f"{cell['dev'][-1]:.2f}",
            f"{cell['pass_seconds']:.2f} s",
        ]
        shared = "—" if cell["states"] == 1 else f"{cell['share']}"
        rows.append([f"{cell['states']}", shared, cell["estimator"] + k, start, *figures])
    return rows


def _steady_rows(record: Record) -> list[list[str]]:
    rows = []
    for cell in record.some(stage="steady"):
        tail = cell["dev"][PASSES:]
        name = "perceptron" if cell["states"] == 1 else f"latent, 2 states, share {cell['share']}"
        name += f", {cell['estimator']}"
        rows.append(
            [
                name,
                f"{cell['dev'][PASSES - 1]:.2f}",
                f"{min(tail):.2f}",
                f"{max(tail):.2f}",
                f"{max(tail) - min(tail):.2f}",
            ]
        )
    return rows


def page(record: Record) -> str:
    """The page, from the record alone."""
    plain = max(
        statistics.mean(c["f1"] for c in record.some(stage="test", method="perceptron", estimator=e))
        for e in ("avg", "mavg")
    )
    latent = [c for c in record.some(stage="test") if c["method"].startswith("latent") and c["estimator"] != "last"]
    latent = [c for c in latent if c["method"] != LIKE]
    by_row = {}
    for c in latent:
        by_row.setdefault((c["method"], c["estimator"]), []).append(c["f1"])
    best = max(statistics.mean(v) for v in by_row.values())
    verdict = (
        "the latent perceptron is above the plain one"
        if best > plain
        else "the latent perceptron is not above the plain one"
    )
    return f"""# NP chunking with latent states

{record.origin()}

CoNLL-2000, NP chunks, order 2 with observations on states, state pairs and triples: the contexts of
`bench/templates/np2.txt`, which are the 17 of Sun et al. (2009), three word/POS pairs and the form of the word. States,
estimator, k, share, start and passes were chosen on a held-out tenth of the training sentences (seed 1), then training
was on all of them. Other pages have other features, and so other figures: the 17 contexts alone, and fewer, are in
[where hidden states pay](latent_gain.md).

![F on the held-out tenth](np_latent.svg)

## Test

{markdown(["method", "F, ours", "states", "passes", "time", "published F", "passes", "time"], _test_rows(record))}

With these features {verdict}: of the latent rows the best has {best:.2f}, of the plain ones {plain:.2f}. DPLVM and CRF
are from [another study](likelihood.md), where SGD has AdaGrad rates. {_like(record)}Times were taken while other work
ran on the machine.

What limits it: the plain model of order 2 with observations on pairs and triples leaves few errors in training after
ten passes, so that there is little for states to explain; and the score of a label is that of its best state, so that
raising it takes one update and lowering it takes one for every state, which makes the published update
(share 0) slower to learn the same thing, the more so the more states there are. Sharing updates between the states of a
label (`--tied-update`, our default) takes much of that away, and so does a start from a plain model that is split;
neither adds anything beyond the plain model here.

{_long(record)}

Not run, for want of time: {LONG} passes for the rows of the table (here at most {PASSES}), more than
{len(SEEDS)} seeds of them, McNemar's test. The 17 contexts of Sun et al. (2009) alone are in
[where hidden states pay](latent_gain.md).

## The search

F on the held-out tenth: the best of {PASSES} passes, at which pass, the last one, and the time of a pass.

{markdown(["states", "share", "estimator", "start", "best F", "pass", "last F", "a pass"], _search_rows(record))}

## Kind and size of the random start

Two states a label, the published update, mavg every 4 passes: best F on the held-out tenth, five seeds. `bare` draws
start, end and transitions, `all` every weight, as published; the other rows of this page have `bare`.

{start_table(record, "best", {"best F": {}})}

## {MORE} passes more

F on the held-out tenth after pass {PASSES}, then the lowest and the highest of the {MORE} passes that follow. Sun et
al. (2009) tell of mavg within 0.1 and avg within 0.8 for their latent model.

{markdown(["method", f"pass {PASSES}", "lowest", "highest", "range"], _steady_rows(record))}
"""


def _named(cell: Cell) -> str:
    states = "plain" if cell["states"] == 1 else f"{cell['states']} states"
    return states + (", shared" if cell["share"] else "") + (", split" if cell.get("split_after") else "")


def chart(record: Record) -> Chart:
    """Curves of the search (averaged weights), and of the long trainings of both estimators."""
    curves = [(1, 0, 0), (2, 0, 0), (3, 0, 0), (5, 0, 0), (2, 1, 0), (3, 1, 0), (5, 1, 0), (2, 1, SPLIT)]
    colours = {1: "grey", 2: "teal", 3: "blue", 5: "orange"}
    search = []
    for states, share, split_after in curves:
        for cell in record.some(stage="search", states=states, share=share, split_after=split_after, estimator="avg"):
            dash = "dotted" if split_after else "" if share or states == 1 else "dashed"
            search.append(Line(_named(cell), numbered(cell["dev"]), cell["dev"], colours[states], dash))
    steady = []
    for cell in record.some(stage="steady"):
        colour = "grey" if cell["states"] == 1 else "teal" if cell["share"] else "orange"
        dash = "" if cell["estimator"] == "mavg" else "dotted"
        steady.append(Line(f"{_named(cell)}, {cell['estimator']}", numbered(cell["dev"]), cell["dev"], colour, dash))
    figure = "F on the held-out tenth"
    panels = [
        Panel(search, "pass", f"{figure}, average of all weights", y_range=(92.0, 95.0),
              title="by states per label (dashed: updates that are not shared)"),
        Panel(steady, "pass", figure, y_range=(93.0, 95.0), title="long trainings (dotted: avg)"),
    ]  # fmt: skip
    return Chart("Shared updates lift the hidden states to the plain model, not above it", panels, size=(720, 320))


def smallest(data: Path) -> tuple[Cell, Cell]:
    """The settings of a cell that is quickly run again, and what comes out now."""
    with tempfile.TemporaryDirectory() as folder:
        found = searched(Chunks(data, Path(folder)), 1, 0, 0, LAST)
    return {"stage": "search", "states": 1, "share": 0, "split_after": 0, "estimator": "last"}, found


def main() -> None:
    run_study(NAME, SEEDS, lambda record: run(record, data_folder()), page, chart)


if __name__ == "__main__":
    main()
