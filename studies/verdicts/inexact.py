"""Huang (2013), lectures on structured learning, with the experiments of Collins (2002) and Huang, Fayong and Guo
(2012) that they report: averaging and cut-offs, convergence, and updates for inexact search."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from studies.common import Cell
from studies.parsing_page import BY_SIZE
from studies.verdicts.data import by_test, cells, curve_best, figures, ratio, typical_spread
from studies.verdicts.inexact_theory import theory
from studies.verdicts.latent import likelihood
from studies.verdicts.latent_tasks import np
from studies.verdicts.pairs import pair_above
from studies.verdicts.rule import (
    MISSING,
    Claim,
    Figures,
    Part,
    above,
    at_least,
    at_most,
    between,
    holds,
    missing,
    same,
)

COLLINS, INEXACT, PARSING = ("collins",), ("inexact",), ("parsing",)
TASKS = {"tagging": "error", "chunking": "f1"}
# Collins (2002): task -> (weights, cut-off) -> figure
PUBLISHED = {
    "tagging": {("avg", 0): 2.93, ("last", 0): 3.68, ("avg", 5): 3.03, ("last", 5): 4.04, ("maxent", 0): 3.4,
                ("maxent", 5): 3.28},
    "chunking": {("avg", 0): 93.53, ("last", 0): 93.04, ("avg", 5): 93.33, ("last", 5): 91.88, ("maxent", 0): 92.34,
                 ("maxent", 5): 92.65},
}  # fmt: skip
Row = tuple[str, int]


# --- averaging and cut-offs ---------------------------------------------------------------------------------


def collins(task: str, row: Row) -> Figures:
    found = cells("collins", task=task, estimator=row[0], cut=row[1])
    rows = [
        [c[TASKS[task]] for c in cells("collins", task=task, estimator=e, cut=k)]
        for e in ("avg", "last")
        for k in (0, 5)
    ]
    return figures(f"{row[0]}, cut-off {row[1]} ({task})", found, TASKS[task], typical_spread(rows),
                   fixed=row[0] == "maxent")  # fmt: skip


def better(task: str, first: Row, second: Row, part: str = "") -> Part:
    gap = PUBLISHED[task][first] - PUBLISHED[task][second]
    return above(part or task, collins(task, first), collins(task, second), gap, lower=task == "tagging")


def _both(first: Row, second: Row) -> list[Part]:
    return [better(task, first, second) for task in TASKS]


def _passes(task: str, cut: int) -> Part:
    pair = [[c["passes"] for c in cells("collins", task=task, estimator=e, cut=cut)] for e in ("avg", "last")]
    part = f"{task}, cut-off {cut}"
    if not all(pair):
        return missing(part, "collins")
    middle = [statistics.median(own) for own in pair]
    return holds(part, f"{middle[0]:.0f} against {middle[1]:.0f} passes", middle[0] < middle[1])


def _worse(task: str) -> Part:
    """Whether the cut-off costs the last weights more than the averaged ones."""
    found = {(e, k): collins(task, (e, k)) for e in ("avg", "last") for k in (0, 5)}
    if not all(own.values for own in found.values()):
        return missing(task, "collins")
    loss = {e: abs(found[e, 5].mean - found[e, 0].mean) for e in ("avg", "last")}
    return holds(task, f"{loss['last']:.2f} against {loss['avg']:.2f}", loss["last"] > loss["avg"])


def _swing(task: str, estimator: str) -> list[float]:
    """The range of the figure on development data over the last five passes, of each run."""
    key = {"tagging": "dev_error", "chunking": "dev_f1"}[task]
    return [max(c[key][-5:]) - min(c[key][-5:]) for c in cells("collins", task=task, estimator=estimator, cut=0)]


def _steadier(task: str) -> Part:
    last, avg = (Figures(f"{e} ({task})", _swing(task, e)) for e in ("last", "avg"))
    return above(f"{task}, last and averaged", last, avg)


def averaging() -> list[Claim]:
    return [
        Claim(
            "Averaged weights are better than the last ones (error of tagging, F of NP chunking).",
            "2.93 / 3.68, cut-off 5: 3.03 / 4.04; 93.53 / 93.04, cut-off 5: 93.33 / 91.88",
            [better(task, ("avg", k), ("last", k), f"{task}, cut-off {k}") for task in TASKS for k in (0, 5)],
            "On UD English-EWT (XPOS) and CoNLL-2000.",
        ),
        Claim(
            "Averaged weights are steadier.", "more stable", [_steadier(task) for task in TASKS],
            "Range on development data over the last five passes, in points.",
        ),
        Claim(
            "Averaging needs fewer passes.", "10 / 20, 6 / 17; 13 / 35, 9 / 39",
            [_passes(task, k) for task in TASKS for k in (0, 5)],
            "Medians over seeds of the best pass on development data.",
        ),
        Claim(
            "A cut-off makes the averaged perceptron worse.", "2.93 to 3.03; 93.53 to 93.33",
            _both(("avg", 0), ("avg", 5)),
        ),
        Claim(
            "A cut-off makes the last weights worse, more than the averaged ones.", "3.68 to 4.04; 93.04 to 91.88",
            [*_both(("last", 0), ("last", 5)), *(_worse(task) for task in TASKS)],
            "Last parts: loss with the last and with averaged weights.",
        ),
        Claim(
            "A cut-off makes maximum entropy better.", "3.4 to 3.28; 92.34 to 92.65",
            _both(("maxent", 5), ("maxent", 0)),
        ),
    ]  # fmt: skip


def rivals() -> list[Claim]:
    iterations = [c["passes"] for c in cells("collins", estimator="maxent", task="chunking")]
    passes = [c["passes"] for c in cells("collins", estimator="avg", task="chunking")]
    return [
        Claim(
            "The averaged perceptron is above maximum entropy.", "2.93 / 3.28; 93.53 / 92.65",
            [better(task, ("avg", 0), ("maxent", k), f"{task}, maxent with cut-off {k}")
             for task in TASKS for k in (0, 5)],
        ),
        Claim(
            "Maximum entropy needs many more iterations.", "100 to 900 against 6 to 13",
            [at_least("NP chunking, to the passes", ratio("collins", iterations, passes), 3, " times")],
            "Iterations of L-BFGS, chosen on held-out data; holds from three times on.",
        ),
        Claim(
            "In NP chunking a CRF is above a (voted) perceptron (Sha and Pereira 2003).", "94.38 against 94.09",
            [above("CRF; averaged perceptron", likelihood("np", "CRF, L-BFGS"), np("perceptron", "avg"), 0.29)],
            "One run of the CRF, which has no seed; the perceptron is averaged, not voted.",
        ),
        Claim(
            "The averaged perceptron approximates the voted one.", "Freund and Schapire (1999)",
            [missing("", "a voted perceptron")],
            "Voting is not implemented.",
        ),
        Claim(
            "Averaging with two vectors gives the average of all weights.", "Daumé (2006)",
            [by_test("", "test_weights_are_those_of_the_definition")],
            "Beside a slow average of all vectors.",
        ),
    ]  # fmt: skip


# --- tagging with a beam ------------------------------------------------------------------------------------


def tagging_cells(update: str, beam: int) -> list[Cell]:
    return cells("inexact", task="tagging", update=update, beam=beam, weights="avg", recombine=beam > 1)


def tagging(update: str, beam: int) -> Figures:
    return figures(f"{update}, beam {beam}", tagging_cells(update, beam), curve_best("dev"), _tagging_typical())


def _tagging_typical() -> float | None:
    updates = ("standard", "early", "max-violation")
    return typical_spread([max(c["dev"]) for c in tagging_cells(u, b)] for u in updates for b in (1, 2, 4))


def bad(found: Sequence[Cell]) -> list[float]:
    """Bad updates in per cent of all, of each run."""
    return [
        100 * sum(b * n for b, n in zip(c["bad"], c["updates"], strict=True)) / max(1, sum(c["updates"])) for c in found
    ]


def _near(update: str, beam: int) -> list[int]:
    """The first pass within 0.1 of the best."""
    return [next(k for k, v in enumerate(c["dev"], 1) if v >= max(c["dev"]) - 0.1) for c in tagging_cells(update, beam)]


def tagger() -> list[Claim]:
    pairs = (("standard", "early"), ("standard", "max-violation"), ("early", "max-violation"))
    widest = max((b for b in (4, 8, 16) if tagging("max-violation", b).values),
                 key=lambda b: tagging("max-violation", b).mean, default=4)  # fmt: skip
    return [
        Claim(
            "With greedy search the standard update is terrible.", "figure",
            [above(u, tagging(u, 1), tagging("standard", 1), 1.0) for u in ("early", "max-violation")],
        ),
        Claim(
            "With greedy search half of the standard updates are bad.", "half",
            [between("", Figures("standard, beam 1", bad(tagging_cells("standard", 1)), digits=1), 40, 60, " %")],
            "Bad: no violation at the time of the update.",
        ),
        Claim(
            "Beyond a beam of 2 the updates do not really differ.", "figure",
            [same(f"b = {b}: {x}, {y}", tagging(x, b), tagging(y, b), 0.2) for b in (4, 8, 16) for x, y in pairs],
            f"Margin 0.2; {_seeds_by_beam()}.",
        ),
        Claim(
            "Except with greedy search the standard update does well in tagging.", "figure",
            [same(f"b = {b}", tagging("standard", b), tagging("early", b), 0.2) for b in (2, 4)],
            "Beside early update.",
        ),
        Claim(
            "Max-violation is at its best with a beam of 2.", "b = 2",
            [same(f"b = 2 and b = {widest}", tagging("max-violation", 2), tagging("max-violation", widest), 0.2)],
            "At its best: no wider beam is better by more than 0.2.",
        ),
        Claim(
            "Max-violation at a beam of 2 needs much less training than early update.", "figure",
            [at_most("passes to within 0.1 of the best, to early's at b = 4",
                     ratio("max-violation, beam 2", _near("max-violation", 2), _near("early", 4), 2), 0.67, " times")],
            "Much less: at most two thirds of the passes.",
        ),
        Claim(
            "Early update has the highest accuracy of all.", "figure",
            [above("early and max-violation, best of b = 1, 2, 4", _best("early"), _best("max-violation"))],
        ),
        Claim(
            "That accuracy is comparable to the best published one.", "Shen et al. (2007), 97.33 on the WSJ",
            [missing("", "tagging of the WSJ")],
            "The WSJ is not among our corpora.",
        ),
        Claim(
            "Search errors become rare from a beam of 2 on.", "figure",
            [at_most(f"bad updates, b = {b}", Figures("", bad(tagging_cells("standard", b)), digits=1), 5, " %")
             for b in (4, 8)],
            f"At a beam of 2 it is {statistics.mean(bad(tagging_cells('standard', 2)) or [0]):.0f} %.",
        ),
    ]  # fmt: skip


def _seeds_by_beam() -> str:
    """How many seeds the widths of this claim have."""
    many = {b: min(len(tagging_cells(u, b)) for u in ("standard", "early", "max-violation")) for b in (4, 8, 16)}
    return "seeds: " + ", ".join(f"{n} at b = {b}" for b, n in many.items())


def _best(update: str) -> Figures:
    """The beam with the best mean of those that have all seeds."""
    return max((tagging(update, b) for b in (1, 2, 4)), key=lambda f: f.mean if f.values else 0.0)


# --- parsing ------------------------------------------------------------------------------------------------


def parsed(update: str, stage: str = "unlabelled") -> list[Cell]:
    return cells("parsing", stage=stage, update=update)


def uas(update: str, stage: str = "unlabelled") -> Figures:
    return figures(f"{update} ({stage})", parsed(update, stage), curve_best("uas"))


def _reaches(level: float, curves: list[list[float]]) -> int | None:
    """The first pass in which the mean curve is there."""
    means = [statistics.mean(values) for values in zip(*curves, strict=False)]
    return next((k for k, value in enumerate(means, 1) if value >= level), None)


def _half(part: str, **what: Any) -> Part:
    early, other = ([c["uas"] for c in cells("parsing", update=u, **what)] for u in ("early", "max-violation"))
    if not early or not other:
        return missing(part, f"parsing, {what}")
    top = max(statistics.mean(values) for values in zip(*early, strict=False))
    own, theirs = _reaches(top, other), _reaches(top, early)
    told = f"early's best ({top:.2f}) in pass {theirs}, max-violation in pass {own or 'none'}"
    return holds(part, told, own is not None and theirs is not None and own <= theirs / 2)


def _halves() -> list[Part]:
    """The same on parts of the data, where they were run."""
    found = [_half(f"{trees:,} trees", stage="curve", trees=trees) for trees in (3000, 6000)]
    found += [
        _half(name, stage="length", long=long) for name, long in (("long sentences", True), ("short sentences", False))
    ]
    return [part for part in found if part.outcome.verdict != MISSING]


def _gaps() -> str:
    """By how much early ends above max-violation, by the number of training sentences."""
    told = []
    for name, what in BY_SIZE.items():
        pair = [[max(c["uas"]) for c in cells("parsing", update=u, **what)] for u in ("early", "max-violation")]
        if all(pair):
            told.append(f"{statistics.mean(pair[0]) - statistics.mean(pair[1]):+.2f} with {name} sentences")
    return ", ".join(told)


def _seconds_to_best(update: str) -> list[float]:
    """Of the first three seeds, which were run side by side."""
    found = [c for c in parsed(update) if c["seed"] <= 3]
    return [sum(c["seconds"][: c["uas"].index(max(c["uas"])) + 1]) for c in found]


def parser() -> list[Claim]:
    passes = {u: [c["uas"].index(max(c["uas"])) + 1 for c in parsed(u)] for u in ("early", "max-violation")}
    standard, tagged = bad_parsed("standard"), bad(tagging_cells("standard", 8))
    return [
        Claim(
            "Max-violation reaches early's accuracy in far fewer passes.", "10 passes (92.25) against 38 (92.24)",
            [_half("as published", stage="unlabelled"), *_halves()],
            "Far fewer: at most half.",
        ),
        Claim(
            "Max-violation ends above early update.", "92.32 against 92.24 (UAS)",
            [above("as published", uas("max-violation"), uas("early"), 0.08)],
        ),
        Claim(
            "Early update is slow to converge.", "38 passes",
            [at_least("passes", Figures("early", passes["early"], digits=0), 19)],
            "Holds from half of the published number on.",
        ),
        Claim(
            "Max-violation trains in a third of early's time.", "4.6 or 5.5 h against 15.4 h",
            [at_most("seconds to the best pass", ratio("max-violation", _seconds_to_best("max-violation"),
                                                       _seconds_to_best("early"), 2), 0.67, " times")],
            "To the best pass of each; holds up to twice the published ratio.",
        ),
        Claim(
            "The standard update does horribly in parsing, even with a beam of 8.", "figure",
            [above(u, uas(u), uas("standard"), 2.0) for u in ("early", "max-violation")],
        ),
        Claim(
            "In parsing half of the standard updates are bad, even with a beam of 8.", "about 50 %",
            [between("as published", Figures("standard", standard, digits=1), 40, 60, " %")],
            f"With rich templates and relations {statistics.mean(bad_parsed('standard', 'main') or [0]):.0f} %.",
        ),
        Claim(
            "Search errors are much more severe in parsing than in tagging.", "figure",
            [above("bad updates at b = 8, %", Figures("parsing", standard, digits=1),
                   Figures("tagging", tagged, digits=1), 40)],
            "Share of standard updates that are bad.",
        ),
        Claim(
            "Training and tagging should have the same search.", "a recommendation",
            [pair_above("the search of training", "upos", "UPOS, tagged greedily")],
            "Trained greedily with max-violation updates, and trained with exact search.",
        ),
    ]  # fmt: skip


def bad_parsed(update: str, stage: str = "unlabelled") -> list[float]:
    return [statistics.mean(c["bad"]) for c in parsed(update, stage)]


def claims() -> list[tuple[str, list[Claim]]]:
    """Sections with their claims."""
    return [("Averaging, cut-offs, maximum entropy", [*averaging(), *rivals()]), ("Convergence", theory()),
            ("Tagging with a beam", tagger()), ("Parsing with a beam", parser())]  # fmt: skip
