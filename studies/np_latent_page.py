"""The page and the picture of the study of NP chunking, from its record alone."""

from __future__ import annotations

import statistics

from palmette.evaluation.significance import holm
from studies.charts import Chart, Line, Panel
from studies.common import Cell, Record, cost_of, markdown, mean, numbered, probabilistic, start_table
from studies.np_latent_sets import (
    LIKE,
    LIKE_PASSES,
    LONG,
    LONG_STATES,
    MORE,
    PASSES,
    PLAIN,
    PUBLISHED,
    SEEDS,
    SPLIT,
    START,
    choices,
    compared_rows,
    rows_of,
)

LEVEL = 0.05


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
    plain = choices(record, "mavg", states=1)["best"]
    return (
        f"The published row has {LONG} passes, those of the table at most {PASSES}: with {LONG_STATES} states, the "
        f"published update and mavg every 2\npasses the best F on the held-out tenth is {short:.2f} in the first "
        f"{PASSES} passes and {best:.2f} in {LONG} (pass {found[0]['passes']}), one seed. That is\n{best - short:.2f} "
        f"more, where {plain - short:.2f} are missing to the plain model ({plain:.2f}), so that the rows kept their "
        f"passes."
    )


def corrected(record: Record) -> dict[tuple[str, str], float]:
    """p of each latent row against the plain one (randomisation over sentences), after Holm for all rows."""
    cells = record.some(stage="compared")
    ps = holm([c["randomisation"] for c in cells])
    return {(c["method"], c["estimator"]): p for c, p in zip(cells, ps, strict=True)}


def _compared(record: Record) -> str:
    """Latent rows beside the plain ones, and which of them were not compared."""
    rows, ps, left = [], corrected(record), []
    for method, estimator in compared_rows(record):
        found = record.some(stage="compared", method=method, estimator=estimator)
        if not found:
            left.append(f"{method}, {estimator}")
            continue
        own, plain = (
            statistics.mean(c["f1"] for c in record.some(stage="test", method=m, estimator=estimator))
            for m in (method, PLAIN)
        )
        test = found[0]
        rows.append([
            f"{method}, {estimator}", f"{own - plain:+.2f}", f"{test['randomisation']:.4f}",
            f"{ps[method, estimator]:.4f}", f"{test['only_latent']:,} / {test['only_plain']:,}",
            f"{sum(p < LEVEL for p in test['mcnemar'])} of {len(test['mcnemar'])}",
        ])  # fmt: skip
    head = ["", "gain", "p", "p, Holm", "tokens right in latent / plain alone", "McNemar, seeds with p < .05"]
    told = f"\n\nNot compared, for want of time: {'; '.join(left)}." if left else ""
    return (markdown(head, rows) if rows else "No row was compared.") + told


def _missing(record: Record) -> str:
    """Rows that have fewer seeds than planned."""
    left = []
    for method, estimator in [*rows_of(record), (LIKE, "mavg")]:
        many = len(record.some(stage="test", method=method, estimator=estimator))
        if many < len(SEEDS):
            left.append(f"{method}, {estimator} (has {many})" if method != LIKE else f"{method} (has {many})")
    return f"Of {len(SEEDS)} seeds there was time for fewer of these rows: {'; '.join(left)}.\n\n" if left else ""


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
                f"{statistics.mean(filter(None, map(cost_of, cells))):.0f} s",
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

The latent rows beside the plain row with the same estimator on the test sentences, seeds {", ".join(map(str, SEEDS))},
paired by seed. p: approximate randomisation over sentences, then corrected by Holm for all rows; McNemar's test is on
tokens, seed by seed.

{_compared(record)}

{_long(record)}

{_missing(record)}The 17 contexts of Sun et al. (2009) alone are in [where hidden states pay](latent_gain.md).

## The search

F on the held-out tenth: the best of {PASSES} passes, at which pass, the last one, and the time of a pass.

{markdown(["states", "share", "estimator", "start", "best F", "pass", "last F", "a pass"], _search_rows(record))}

## Kind and size of the random start

Two states a label, the published update, mavg every 4 passes: best F on the held-out tenth, {PASSES} passes, one seed.
`bare` draws start, end and transitions, `all` every weight, as published; the other rows of this page have `bare` and a
size of 0.01.

{start_table(record, "best", START, {"best F": {}})}

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
