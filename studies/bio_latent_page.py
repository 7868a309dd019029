"""The page and the picture of the study of bio-entities, from its record alone."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from palmette.evaluation.significance import holm
from studies.bio_latent_sets import (
    AT_TWO,
    CELLS,
    CURVE,
    EARLIER,
    LATENT,
    MORE,
    OURS,
    PASSES,
    PUBLISHED,
    START,
    THEIRS,
    UNPUBLISHED,
    long_rows,
    methods,
)
from studies.bio_long import FOUR, FOUR_AT, PLAIN, SEEDS
from studies.bio_long import PASSES as LONG
from studies.charts import Chart, Line, Panel
from studies.common import Cell, Record, markdown, mean, numbered, probabilistic, start_table

LEVEL = 0.05
COLOURS = {PLAIN: "grey", "latent": "orange", "latent, shared": "teal", FOUR: "pink"}


def rows_at(cut: int, order: int) -> list[str]:
    """The methods of ours at a cut-off and an order."""
    four = [FOUR] if (cut, order) in FOUR_AT else []
    return [PLAIN, *LATENT, *four, *MORE.get((cut, order), ())]


def tests_of(record: Record, method: str, cut: int, order: int) -> list[Cell]:
    """Test runs with as many passes as published, or, of rows without enough of them, the first ones."""
    what = {"method": method, "cut": cut, "order": order}
    long, first = (record.some(stage=stage, **what) for stage in ("long test", "test"))
    return long if len(long) >= len(first) else first


def comparisons(record: Record) -> dict[tuple[str, int, int], Cell]:
    """The tests of each row against the plain perceptron, with as many seeds as there are."""
    found = sorted(record.some(stage="compared"), key=lambda c: len(c["seeds"]))
    return {(c["method"], c["cut"], c["order"]): c for c in found}


def corrected(record: Record) -> dict[tuple[str, int, int], float]:
    """p of each row against the plain perceptron (randomisation over sentences), after Holm for all rows."""
    tests = comparisons(record)
    return dict(zip(tests, holm([c["randomisation"] for c in tests.values()]), strict=True))


def _said(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', '-')} {value}" for name, value in settings.items()) or "avg"


def _rows_said(record: Record) -> str:
    return "; ".join(f"{name}: {states} states, {_said(settings)}" for name, states, settings in methods(record)[1:])


def _at(cut: int, order: int) -> str:
    return f"cut-off {cut}, order {order}"


def _test_rows(record: Record) -> list[list[str]]:
    rows = []
    nothing = ("—", "—", "—")
    for (cut, order), published in PUBLISHED.items():
        for method in dict.fromkeys([*rows_at(cut, order), *published, *UNPUBLISHED.get((cut, order), ())]):
            f, passes, hours = published.get(method, nothing)
            cells = tests_of(record, method, cut, order)
            score, *more = probabilistic(f"bio{cut}", method) if order == 1 else ("—", "—", "—")
            mine = [score, "—" if score == "—" else "1", *more]
            if cells:
                seconds = statistics.mean(c["cpu"] if "cpu" in c else c["seconds"] for c in cells)
                of = LONG[order] if cells[0]["stage"] == "long test" else _first(order)
                mine = [mean(c["f1"] for c in cells), str(len(cells)),
                        f"{statistics.median(c['passes'] for c in cells):.0f} of {of}", f"{seconds:.0f} s"]  # fmt: skip
            rows.append([f"{_at(cut, order)}: {method}", *mine, f"{f}", str(passes), hours])
    return rows


def _compared_rows(record: Record) -> list[list[str]]:
    """Latent rows beside the plain one."""
    rows, ps, tests = [], corrected(record), comparisons(record)
    for (cut, order), method in ((cell, method) for cell in CELLS for method in rows_at(*cell)):
        if (method, cut, order) in tests:
            test = tests[method, cut, order]
            own, plain = (statistics.mean(c["f1"] for c in tests_of(record, m, cut, order)) for m in (method, PLAIN))
            small = sum(p < LEVEL for p in test["mcnemar"])
            rows.append([
                f"{_at(cut, order)}: {method}", f"{own - plain:+.2f}", f"{test['randomisation']:.4f}",
                f"{ps[method, cut, order]:.4f}", f"{test['only_latent']:,} / {test['only_plain']:,}",
                f"{small} of {len(test['mcnemar'])}",
            ])  # fmt: skip
    return rows


def _curve_rows(record: Record) -> list[list[str]]:
    """Best F on the development file in the first passes and in all."""
    rows = []
    for row in dict.fromkeys((r.cut, r.order, r.method) for r in long_rows(record)):
        cut, order, method = row
        cells = record.some(stage="long test", method=method, cut=cut, order=order)
        if cells:
            first = _first(order)
            short, all_ = ([max(c["dev"][:n]) for c in cells] for n in (first, LONG[order]))
            gain = statistics.mean(all_) - statistics.mean(short)
            late = sum(c["passes"] > first for c in cells)
            rows.append([f"{_at(cut, order)}: {method}", str(first), mean(short), str(LONG[order]), mean(all_),
                         f"{gain:+.2f}", f"{late} of {len(cells)}"])  # fmt: skip
    return rows


def _first(order: int) -> int:
    """Passes of the first runs."""
    return PASSES if order == 1 else PASSES // 2


def _late(record: Record) -> str:
    """In one sentence for each order what later passes bring on the development file."""
    told = []
    for order in (1, 2):
        gains = [float(row[5]) for row in _curve_rows(record) if f"order {order}:" in row[0]]
        if gains:
            told.append(f"at order {order} passes {_first(order) + 1} to {LONG[order]} add {min(gains):.2f} to "
                        f"{max(gains):.2f} to the best F")  # fmt: skip
    return "; ".join(told)


def _earlier_rows(record: Record) -> list[list[str]]:
    """The first runs of the rows that were trained again."""
    found = []
    for cut, order in CELLS:
        cells = [record.some(stage="test", method=m, cut=cut, order=order) for m in (PLAIN, *LATENT)]
        found.append([_at(cut, order), str(_first(order)), *(mean(c["f1"] for c in own) for own in cells)])
    return found


def _missing(record: Record) -> str:
    """What was to be run and was not."""
    left: dict[int, list[str]] = {}
    for cut, order, method in dict.fromkeys((r.cut, r.order, r.method) for r in long_rows(record)):
        many = len(record.some(stage="long test", method=method, cut=cut, order=order))
        if many < len(SEEDS):
            left.setdefault(many, []).append(f"{_at(cut, order)}: {method}")
    told = "; ".join(f"{n or 'none'} for {' / '.join(names)}" for n, names in sorted(left.items()))
    told = f"Of {len(SEEDS)} seeds with as many passes as published there was time for {told}. " if told else ""
    four = "The published number of states, 4 per label, was planned at " + _at(*FOUR_AT[0])
    return (
        f"{told}{four} alone, for its cost;\nMIRA and the row "
        f"chosen at cut-off 2 have {PASSES} passes and seeds {', '.join(map(str, EARLIER))}."
    )


def _at_two_rows(record: Record) -> list[list[str]]:
    rows = []
    for states, settings in AT_TWO:
        cells = record.some(stage="search2", states=states, settings=settings)
        rows.append([str(states), _said(settings), mean(c["best"] for c in cells)])
    return rows


def _search_rows(record: Record) -> list[list[str]]:
    return [
        [str(c["states"]), _said(c["settings"]), f"{c['best']:.2f}", str(c["passes"]), f"{c['pass_seconds']:.2f} s"]
        for c in record.some(stage="search")
    ]


def _verdicts(record: Record) -> str:
    lines = []
    for cut, order in CELLS:
        scores = {m: [c["f1"] for c in tests_of(record, m, cut, order)] for m in rows_at(cut, order)}
        plain = scores.pop(PLAIN)
        gaps = {name: statistics.mean(own) - statistics.mean(plain) for name, own in scores.items() if own and plain}
        told = "; ".join(f"{name}: {'above' if gap > 0 else 'below'} by {abs(gap):.2f}" for name, gap in gaps.items())
        lines.append(f"- {_at(cut, order)}: {told}")
    return "\n".join(lines)


PAGE = """# Bio-entity recognition with latent states

{origin}

JNLPBA 2004, the 28 contexts of Sun et al. (2009; words, parts of speech, orthography) on states, state pairs and, at
order 2, state triples. (The figures of [another study](probperc.md) on this corpus are higher, with plain and latent
perceptron, because its features are: the named set `ner`, on states alone. The same contexts on states alone, fewer
ones, and that set are compared in [where hidden states pay](latent_gain.md).)
The pass is the best one on the development file, of {long1} at order 1 and {long2} at order 2, as many as published.
The rows have the states and settings that were best there at cut-off 15 in {passes} passes: {rows};
"{four}" is the published number, mavg every 4 passes, share 0.

![States a label](bio_latent.svg)

## Test

{tests}

The published finding is that at each cut-off the latent perceptron is above the plain one with the same features. Here:

{verdicts}

The latent rows beside the plain one on the test sentences, all seeds that both have, paired by seed. p: approximate
randomisation over sentences, then corrected by Holm for all rows; McNemar's test is on tokens, seed by seed.

{compared}

{text}

{missing}

## More passes

Best F on the development file, in the passes that the rows had at first and in as many as published, and how many seeds
have their best pass after the first ones: {late}.

{curves}

What was seen before the number of passes was changed: test F of the same rows with fewer passes and seeds
{earlier_seeds}. The settings of the rows did not change.

{earlier}

## The search at cut-off 2, order 1, development file, three seeds

{at_two}

## Kind and size of the random start

Two states a label, the published update, mavg every 4 passes, cut-off 15, order 1: best F on the development file in
{passes} passes, one seed. `bare` draws start, end and transitions, `all` every weight, as published; the other rows of
this page have `bare` and a size of 0.01.

{starts}

## The search at cut-off 15, order 1, development file

{search}
"""

TEXT = """\
The plain perceptron is above the published one at order 1, and leaves less to explain by states; at order 2, with
weights for the combinations seen only, it is below. The score of a label is that of its best state: to raise it takes
one update, to lower it one for every state; so the published update (share 0) learns the same thing more slowly, the
more so the more states there are. Sharing updates between the states of a label
(`--tied-update`, our default) takes most of that away at order 1 and more than half of it at order 2, and adds nothing
beyond the plain model with these features. On the development file at order 1 the plain model, whose weights are the
average of all, loses about a point or more between its best pass and pass 60; the latent ones, which restart from the
average, keep their level and are ahead there in the end. At the best pass of each the published update is below the
plain model; shared updates come level with it at cut-off 5 and 2, on that file; on test they stay a little below.
What does help the plain model is another learner: MIRA over the five best paths with the cost of their spans, at every
cut-off. The CRF, one run each, differs from the plain perceptron by {crf}.
Times are CPU seconds of all passes (of MIRA, the row chosen at cut-off 2, DPLVM and CRF: seconds while other work ran
on the machine). DPLVM and CRF are from [another study](likelihood.md), with two states per label; SGD has AdaGrad
rates. That study has a latent perceptron too, for its time: one seed of two states with tied updates, mavg every 4
passes and 20 passes that no data chose, which
differs from the row "latent, shared" by {other}."""


def _gaps(record: Record, theirs: str, ours: str) -> str:
    """How far a row of the study of likelihoods is above one of this study, by cut-off."""
    told = []
    for cut, order in CELLS:
        found = Record("likelihood", ()).some(stage="test", data=f"bio{cut}", method=theirs)
        own = [c["f1"] for c in tests_of(record, ours, cut, order)]
        if found and own and order == 1:
            told.append(f"{found[0]['score'] - statistics.mean(own):+.2f} at cut-off {cut}")
    return ", ".join(told)


def page(record: Record) -> str:
    """The page, from the record alone."""
    head = ["", "F, ours", "seeds", "best pass", "time", "published F", "passes", "time"]
    tested = ["", "gain", "p", "p, Holm", "tokens right in latent / plain alone", "McNemar, seeds with p < .05"]
    curves = ["", "passes", "best F", "passes", "best F", "gain", "best pass is later"]
    return PAGE.format(
        origin=record.origin(), long1=LONG[1], long2=LONG[2], passes=PASSES, rows=_rows_said(record), four=FOUR,
        tests=markdown(head, _test_rows(record)), verdicts=_verdicts(record),
        compared=markdown(tested, _compared_rows(record)),
        text=TEXT.format(crf=_gaps(record, "CRF, L-BFGS", PLAIN), other=_gaps(record, "latent perceptron", LATENT[1])),
        missing=_missing(record), late=_late(record),
        curves=markdown(curves, _curve_rows(record)), earlier_seeds=", ".join(map(str, EARLIER)),
        earlier=markdown(["", "passes", PLAIN, *LATENT], _earlier_rows(record)),
        at_two=markdown(["states", "settings", "best F"], _at_two_rows(record)),
        starts=start_table(record, "best", START, {"best F": {}}),
        search=markdown(["states", "settings", "best F", "pass", "a pass"], _search_rows(record)),
    )  # fmt: skip


def _mean_curve(curves: Sequence[Sequence[float]]) -> list[float]:
    return [statistics.mean(values) for values in zip(*curves, strict=True)]


def chart(record: Record) -> Chart:
    """The best F by states per label, and the mean curves of the long trainings."""
    plain = record.some(stage="search", states=1, settings={})[0]
    by_states = []
    for settings, name, colour in ((OURS, "shared updates", "teal"), (THEIRS, "published update", "orange")):
        numbers = CURVE[settings["share"]]
        cells = [plain, *(record.some(stage="search", states=n, settings=settings)[0] for n in numbers)]
        by_states.append(
            Line(name, [float(c["states"]) for c in cells], [c["best"] for c in cells], colour, points=True)
        )
    by_pass = {order: [] for order in LONG}
    for order, cut in ((1, 15), (2, 2)):
        for method in rows_at(cut, order):
            curves = [c["dev"] for c in record.some(stage="long test", method=method, cut=cut, order=order)]
            if curves:
                y = _mean_curve(curves)
                by_pass[order].append(Line(method, numbered(y), y, COLOURS[method]))
    panels = [Panel(by_states, "states per label (1: the plain model)", "best F on dev, cut-off 15, order 1")]
    for order, cut in ((1, 15), (2, 2)):
        if by_pass[order]:
            panels.append(Panel(by_pass[order], "pass", f"F on dev, {_at(cut, order)}", y_range=(68.0, 73.5)))
    return Chart("More states do not help, and hurt without shared updates", panels, size=(700, 280))
