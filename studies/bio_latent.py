"""Bio-entity recognition with latent states (Sun, Matsuzaki, Okanohara and Tsujii 2009), JNLPBA 2004.

`python -m studies.bio_latent` searches on the development file (cut-off 15, order 1): states a label, estimator and k
of mavg, size of the random start, random start or split plain model, observations on state pairs or on states alone.
Then it trains the plain and the latent perceptron with the 28 published contexts at cut-off 15, 5 and 2 (order 1)
and at cut-off 2 (order 2), with as many passes as published and five seeds (studies/bio_long.py), the pass chosen on
the development file; test is read once for each row. A second search, at cut-off 2 with three seeds a setting, chooses
the settings of one more row there.

With several states a label, observations on pairs and triples have weights for the label combinations seen in training
(`--edge-features seen`), each a block of all states of these labels.
"""

from __future__ import annotations

import resource
import statistics
import time
from pathlib import Path
from typing import Any

from bench.measure import data_folder
from palmette import Tagger
from palmette.data import FormatSpec
from palmette.data.formats.registry import read_corpus
from palmette.features.templates import TemplateSet, parse
from studies import bio_long
from studies.bio_latent_page import chart, page
from studies.bio_latent_sets import (
    AROUND,
    AT_TWO,
    CELLS,
    CURVE,
    EARLIER,
    MARGINS,
    MIRA,
    MORE,
    NAME,
    OURS,
    PASSES,
    START,
    THEIRS,
    TUNED,
    chosen_at_two,
    long_rows,
    methods,
)
from studies.bio_long import SEEDS
from studies.common import HERE, Cell, Record, estimator_from, run_starts, run_study
from studies.paired import compared


def templates(order: int, pairs: bool = True) -> TemplateSet:
    """The 28 contexts; without `pairs` on states alone, with plain transitions."""
    text = (HERE / "templates" / ("bio2.txt" if order == 2 else "bio.txt")).read_text(encoding="utf-8")
    return parse(text if pairs else text.replace("*", "U"))


def trained(
    data: Path, states: int, cut: int, order: int, seed: int, passes: int = PASSES, pairs: bool = True, **settings: Any
) -> Tagger:
    """A tagger with the pass that is best on the development file."""
    edges = "all" if states <= 2 and order == 1 else "seen"
    common = {
        "template": templates(order, pairs), "min_count": cut, "latent": states, "edge_features": edges,
        "passes": passes, "seed": seed,
    }  # fmt: skip
    tagger = estimator_from(Tagger, common | settings)
    return tagger.fit_file(data / "jnlpba" / "train.txt", data / "jnlpba" / "dev.txt")


def searched(data: Path, states: int, settings: dict[str, Any], cut: int = 15, seed: int = 1) -> Cell:
    tagger = trained(data, states, cut, 1, seed, **settings)
    curve = [round(100 * row["dev"], 3) for row in tagger.training_log_]
    return {"dev": curve, "best": max(curve), "passes": tagger.outcome_.best_epoch, "pass_seconds": _typical(tagger)}


def _typical(tagger: Tagger) -> float:
    return float(statistics.median(row["seconds"] for row in tagger.training_log_))


def tested(data: Path, states: int, cut: int, order: int, seed: int, settings: dict[str, Any], passes: int) -> Cell:
    tagger = trained(data, states, cut, order, seed, passes, **settings)
    f1 = tagger.evaluate(read_corpus(data / "jnlpba" / "test.txt", FormatSpec())).f1
    assert f1 is not None
    return {
        "f1": 100 * f1,
        "dev": max(100 * row["dev"] for row in tagger.training_log_),
        "passes": tagger.outcome_.best_epoch,
        "pass_seconds": _typical(tagger),
        "seconds": sum(row["seconds"] for row in tagger.training_log_),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def run_long(record: Record, data: Path, rows: list[bio_long.Row]) -> None:
    """Test figures of these rows for all seeds, and their tests against the plain perceptron."""
    for seed in SEEDS:
        for row in rows:
            record.cell(row.what(seed), lambda r=row, s=seed: _long_tested(r, data, s))
    plain = {(row.cut, row.order): row for row in rows if row.method == bio_long.PLAIN}
    for row in rows:
        if row.method != bio_long.PLAIN:
            what = {"stage": "compared", "method": row.method, "cut": row.cut, "order": row.order}
            what |= {"seeds": list(SEEDS)}
            record.cell(what, lambda r=row: compared(_outputs(r, plain[r.cut, r.order])))


def _outputs(row: bio_long.Row, plain: bio_long.Row) -> list[tuple[Path, Path]]:
    return [(row.output(seed), plain.output(seed)) for seed in SEEDS]


def _long_tested(row: bio_long.Row, data: Path, seed: int) -> Cell:
    begun = time.process_time()
    tagger = trained(data, row.states, row.cut, row.order, seed, bio_long.PASSES[row.order], **row.settings)
    return bio_long.tested(row, tagger, data, seed, begun)


def run_search(record: Record, data: Path) -> None:
    """The search at cut-off 15, the kinds of start, and the search at cut-off 2."""
    for settings in ({}, {"pairs": False}):
        record.cell({"stage": "search", "states": 1, "settings": settings}, lambda s=settings: searched(data, 1, s))
    for settings in AROUND:
        record.cell({"stage": "search", "states": 2, "settings": settings}, lambda s=settings: searched(data, 2, s))
    for settings in (THEIRS, OURS):
        for states in CURVE[settings["share"]]:
            what = {"stage": "search", "states": states, "settings": settings}
            record.cell(what, lambda n=states, s=settings: searched(data, n, s))
    run_starts(record, lambda settings, seed: searched(data, 2, THEIRS | settings, seed=seed), START)
    for states, settings in AT_TWO:
        for seed in EARLIER:
            what = {"stage": "search2", "states": states, "settings": settings, "seed": seed}
            record.cell(what, lambda n=states, e=settings, s=seed: searched(data, n, e, 2, s))


def run(record: Record, data: Path) -> None:
    run_search(record, data)
    run_long(record, data, long_rows(record))
    states, settings = chosen_at_two(record)
    for seed in EARLIER:
        what = {"stage": "test", "method": TUNED, "cut": 2, "order": 1, "seed": seed, "states": states}
        record.cell(what, lambda n=states, e=settings, s=seed: tested(data, n, 2, 1, s, e, PASSES))
    for cut, order in MORE:
        for seed in EARLIER:
            what = {"stage": "test", "method": MIRA, "cut": cut, "order": order, "seed": seed, "states": 1}
            record.cell(what, lambda c=cut, s=seed: tested(data, 1, c, 1, s, MARGINS, PASSES))
    for cut, order in CELLS:
        passes = PASSES if order == 1 else PASSES // 2
        for seed in EARLIER:
            for method, states, settings in methods(record):
                what = {"stage": "test", "method": method, "cut": cut, "order": order, "seed": seed, "states": states}
                record.cell(
                    what,
                    lambda n=states, c=cut, o=order, s=seed, e=settings, p=passes: tested(data, n, c, o, s, e, p),
                )


def smallest(data: Path) -> tuple[Cell, Cell]:
    """The settings of a cell that is quickly run again, and the first passes of what comes out now."""
    found = searched(data, 1, {"pairs": False, "passes": 4})
    return {"stage": "search", "states": 1, "settings": {"pairs": False}}, {"dev": found["dev"]}


def main() -> None:
    run_study(NAME, SEEDS, lambda record: run(record, data_folder()), page, chart)


if __name__ == "__main__":
    main()
