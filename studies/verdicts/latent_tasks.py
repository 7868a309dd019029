"""Sun et al. (2009) on bio-entities (their table 2), and the figures of both of their real tasks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from studies.bio_latent_page import comparisons, tests_of
from studies.common import Cell
from studies.latent_gain_page import rows_of
from studies.latent_gain_sets import best_plain
from studies.verdicts.data import cells, figures, record
from studies.verdicts.latent import bio_typical, likelihood, np_typical
from studies.verdicts.rule import Claim, Figures, Part, above, at_least, holds, level, missing, same

BIO, NP, BOTH = ("bio_latent",), ("np_latent",), ("bio_latent", "likelihood")
CELLS = {(15, 1): (65.83, 67.33), (5, 1): (65.61, 68.49), (2, 1): (68.93, 70.13), (2, 2): (70.07, 70.51)}
# Published F on NP chunks
NP_F = {"latent, mavg": 94.37, "latent, avg": 94.13, "perceptron, mavg": 94.25, "perceptron, avg": 94.27}


def bio(method: str, cut: int, order: int = 1) -> Figures:
    found = tests_of(record("bio_latent"), method, cut, order)
    return figures(f"{method}, cut-off {cut}, order {order}", found, "f1", bio_typical())


def np(method: str, estimator: str) -> Figures:
    found = cells("np_latent", stage="test", method=method, estimator=estimator)
    return figures(f"{method}, {estimator}", found, "f1", np_typical())


def bio_above_plain(part: str, method: str, cut: int, order: int, gap: float) -> Part:
    """A latent row above the plain one, with its test over sentences if there is one."""
    found = comparisons(record("bio_latent")).get((method, cut, order))
    p = found["randomisation"] if found else None
    return above(part, bio(method, cut, order), bio("perceptron", cut, order), gap, p)


def np_above_plain(part: str, method: str, estimator: str, gap: float) -> Part:
    """The same on NP chunks; the plain row has the same estimator."""
    found = cells("np_latent", stage="compared", method=method, estimator=estimator)
    p = found[0]["randomisation"] if found else None
    return above(part, np(method, estimator), np("perceptron", estimator), gap, p)


def _at(cut: int, order: int) -> str:
    return f"cut-off {cut}, order {order}"


def _plain(features: str) -> list[Cell]:
    """Test runs of the plain model that is best on development data."""
    best = best_plain(record("latent_gain"), features)
    return cells("latent_gain", stage="two", features=features, states=1, settings=best["settings"])


def gained(features: str) -> Part | None:
    """The published setting of the latent perceptron with these features, beside the plain model: from the study of
    where states pay, with its test over sentences."""
    found = [c for c in cells("latent_gain", stage="compared", features=features) if c["settings"].get("share") == 0.0]
    if not found:
        return None
    what = {"features": features, "stage": "two"}
    latent = cells("latent_gain", states=found[0]["states"], settings=found[0]["settings"], **what)
    sides = [figures(name, own, "f1") for name, own in (("latent", latent), ("plain", _plain(features)))]
    return above(f"{features}, published start", sides[0], sides[1], p=found[0]["randomisation"])


@cache
def gain(features: str) -> tuple[float, float] | None:
    """How far the latent model that is best on development data is above the plain one on test, and p, corrected for
    all comparisons of that study."""
    rows = [row for row in rows_of(record("latent_gain")) if row.name == features and row.rank == 1]
    return (rows[0].gain, rows[0].corrected) if rows else None


def present(parts: Iterable[Part | None]) -> list[Part]:
    return [part for part in parts if part is not None]


def _error_reduction() -> Figures:
    pair = bio("latent", 5), likelihood("bio5", "DPLVM, SGD")
    if not all(side.values for side in pair):
        return Figures("latent and DPLVM, SGD at cut-off 5")
    return Figures("", [100 * (pair[0].mean - pair[1].mean) / (100 - pair[1].mean)], digits=1)


def best_states(study: str, found: list[Cell], wanted: int) -> Part:
    best: dict[int, float] = {}
    for cell in found:
        best[cell["states"]] = max(cell["best"], best.get(cell["states"], 0.0))
    if wanted not in best:
        return missing("", f"search with {wanted} states per label ({study})")
    told = ", ".join(f"{n} states {best[n]:.2f}" for n in sorted(best))
    return holds("published update, development data", told, max(best, key=lambda n: best[n]) == wanted)


def _rows(method: str) -> dict[tuple[int, int], Figures]:
    return {cell: bio(method, *cell) for cell in CELLS}


def entities() -> list[Claim]:
    latent = _rows("latent")
    return [
        Claim(
            "With the same features the latent perceptron is above the perceptron on Bio-NER.",
            "; ".join(f"{_at(*cell)}: {b} against {a}" for cell, (a, b) in CELLS.items()),
            present([
                *(bio_above_plain(_at(*c), "latent", *c, CELLS[c][1] - CELLS[c][0]) for c in CELLS),
                gained("bio 28 pairs"),
            ]),
        ),
        Claim(
            "At cut-off 5 the latent perceptron is significantly above the CRF and the perceptron.",
            "68.49 against 66.12 and 65.61",
            [
                above("CRF", latent[5, 1], likelihood("bio5", "CRF, L-BFGS"), 2.37),
                bio_above_plain("perceptron", "latent", 5, 1, 2.88),
            ],
        ),
        Claim(
            "At cut-off 15 the latent perceptron is above CRF, perceptron and DPLVM with SGD.",
            "67.33 against 64.17, 65.83 and 65.96",
            [
                above("CRF", latent[15, 1], likelihood("bio15", "CRF, L-BFGS"), 3.16),
                bio_above_plain("perceptron", "latent", 15, 1, 1.5),
                above("DPLVM, SGD", latent[15, 1], likelihood("bio15", "DPLVM, SGD"), 1.37),
            ],
        ),
        Claim(
            "At cut-off 15 the latent perceptron is almost as good as DPLVM with L-BFGS.", "67.33 and 67.41",
            [same("", latent[15, 1], likelihood("bio15", "DPLVM, L-BFGS"), 0.5)],
            f"Almost: within 0.5. With tied updates {bio('latent, shared', 15).told()}.",
        ),
        Claim(
            "With the same features the latent perceptron is above DPLVM with SGD at every cut-off.",
            "67.33 / 65.96; 68.49 / 66.01; 70.13 / 68.74",
            [
                above(f"cut-off {cut}", latent[cut, 1], likelihood(f"bio{cut}", "DPLVM, SGD"), gap)
                for cut, gap in ((15, 1.37), (5, 2.48), (2, 1.39))
            ],
            shortcut="DPLVM has two states per label, AdaGrad rates and eight passes.",
        ),
        Claim(
            "At cut-off 5 the latent perceptron has over 7 % fewer errors than DPLVM with SGD.", "over 7.0 %",
            [at_least("", _error_reduction(), 7.0, " %")],
            "Counted as in the paper, as a share of 100 - F.",
        ),
    ]  # fmt: skip


def settings() -> list[Claim]:
    plain, latent = _rows("perceptron"), _rows("latent")
    return [
        Claim(
            "More features (a lower cut-off) make the latent perceptron better.", "67.33, 68.49, 70.13",
            [above("5 against 15", latent[5, 1], latent[15, 1], 1.16),
             above("2 against 5", latent[2, 1], latent[5, 1], 1.64)],
        ),
        Claim(
            "Order 2 is above order 1 on Bio-NER.", "latent 70.51 against 70.13; perceptron 70.07 against 68.93",
            [above("latent", latent[2, 2], latent[2, 1], 0.38), above("perceptron", plain[2, 2], plain[2, 1], 1.14)],
        ),
        Claim(
            "Latent states at order 1 do what order 2 does without them.", "70.13 and 70.07",
            [same("latent order 1, perceptron order 2", latent[2, 1], plain[2, 2], 0.3)],
        ),
        Claim(
            "Four states per label are the number to use (2 to 8 tried).", "4",
            [best_states("bio_latent", [c for c in cells("bio_latent", stage="search")
                                         if c["states"] > 1 and c["settings"].get("share") == 0], 4)],
        ),
        Claim(
            "F of the latent perceptron in the four settings; the best is comparable to the state of the art.",
            "67.33, 68.49, 70.13, 70.51; others 71.4, 70.0, 69.8",
            [level(_at(*c), latent[c], CELLS[c][1]) for c in CELLS],
            "Training data differ a little (1,745 abstracts instead of 1,800, predicted parts of speech).",
        ),
        Claim(
            "F of the perceptron in the four settings.", "65.83, 65.61, 68.93, 70.07",
            [level(_at(*c), plain[c], CELLS[c][0]) for c in CELLS],
        ),
        Claim(
            "F of CRF and DPLVM.", "CRF 64.17, 66.12; DPLVM, L-BFGS 67.41; DPLVM, SGD 65.96, 66.01, 68.74",
            [
                level("CRF, cut-off 15", likelihood("bio15", "CRF, L-BFGS"), 64.17),
                level("CRF, cut-off 5", likelihood("bio5", "CRF, L-BFGS"), 66.12),
                level("DPLVM, L-BFGS, cut-off 15", likelihood("bio15", "DPLVM, L-BFGS"), 67.41),
                *(level(f"DPLVM, SGD, cut-off {cut}", likelihood(f"bio{cut}", "DPLVM, SGD"), f)
                  for cut, f in ((15, 65.96), (5, 66.01), (2, 68.74))),
            ],
        ),
        Claim(
            "External resources would improve the latent perceptron further.", "an expectation",
            [missing("", "lexicons or web queries as features")],
            "Features are those of the paper.",
        ),
    ]  # fmt: skip


def claims() -> list[tuple[str, list[Claim]]]:
    """Sections with their claims."""
    return [("Bio-entities (Bio-NER)", [*entities(), *settings()])]
