"""Sun et al. (2009) on what training costs."""

from __future__ import annotations

from studies.bio_latent_page import tests_of
from studies.verdicts.data import cells, ratio, record
from studies.verdicts.rule import Claim, Figures, at_least, at_most, holds, missing

HOUR = 3600


def _times(data: str, method: str, beside: str = "latent perceptron") -> Figures:
    what = {"stage": "test", "data": data, "seed": 1}  # the first seed of each, which were run one after the other
    seconds = [[c["seconds"] for c in cells("likelihood", method=m, **what)] for m in (method, beside)]
    return ratio(f"{method} on {data}", *seconds)


def _passes(method: str) -> Figures:
    latent = [c["passes"] for c in tests_of(record("bio_latent"), "latent", 15, 1)]
    theirs = [c["passes"] for c in cells("likelihood", stage="test", data="bio15", method=method)]
    return ratio(f"latent and {method}, cut-off 15", latent, theirs, 2)


def costs() -> list[Claim]:
    return [
        Claim(
            "Training the latent perceptron is 60 to 130 times cheaper than that of DPLVM with L-BFGS.",
            "130 times (cut-off 15); NP 120 h to 2 h",
            [
                at_least("Bio-NER, cut-off 15", _times("bio15", "DPLVM, L-BFGS"), 65, " times"),
                at_least("NP", _times("np", "DPLVM, L-BFGS"), 30, " times"),
            ],
            "Times hold from half of the published ratio on.",
            shortcut="L-BFGS had at most 100 and 30 iterations instead of 300.",
        ),
        Claim(
            "Training the latent perceptron is 10 to 40 times cheaper than that of DPLVM with SGD.",
            "30, 20 and 40 times (cut-off 15, 5, 2); NP 10 times",
            [
                at_least(name, _times(data, "DPLVM, SGD"), least, " times")
                for name, data, least in (("cut-off 15", "bio15", 15), ("cut-off 5", "bio5", 10),
                                          ("cut-off 2", "bio2", 20), ("NP", "np", 5))
            ],
            "Times hold from half of the published ratio on.",
            shortcut="SGD had 8 passes on Bio-NER and 3 on NP instead of 100.",
        ),
        Claim(
            "Training the latent perceptron is 13 to 20 times cheaper than that of the CRF.",
            "20 h to 1 h (cut-off 15), 40 h to 3 h (cut-off 5), NP 30 h to 2 h",
            [
                at_least("cut-off 15", _times("bio15", "CRF, L-BFGS"), 10, " times"),
                at_least("cut-off 5", _times("bio5", "CRF, L-BFGS"), 6.7, " times"),
                at_least("NP", _times("np", "CRF, L-BFGS"), 7.5, " times"),
            ],
        ),
    ]  # fmt: skip


def limits() -> list[Claim]:
    order = {m: [c["cpu"] for c in cells("bio_latent", stage="long test", method=m, cut=2, order=2)]
             for m in ("latent", "perceptron")}  # fmt: skip
    hours = Figures("DPLVM, L-BFGS, cut-off 15", [c["seconds"] / HOUR for c in cells(
        "likelihood", stage="test", data="bio15", method="DPLVM, L-BFGS")])  # fmt: skip
    crf = cells("likelihood", stage="test", data="bio2", method="CRF, L-BFGS")
    run_at = f"{crf[0]['seconds'] / 60:.0f} minutes" if crf else "not run"
    return [
        Claim(
            "Training a DPLVM of low order on a large corpus takes more than a week.",
            "over a week for 10,000 sentences",
            [at_least("hours", hours, 168)],
            "100 iterations over 16,000 sentences on one core.", obstacle=True,
        ),
        Claim(
            "With more features the rivals become intractable: DPLVM with L-BFGS at cut-off 5, the CRF at cut-off 2, "
            "DPLVM "
            "with SGD at order 2.", "over 240 h",
            [
                holds("CRF at cut-off 2", f"trained in {run_at}", not crf),
                missing("DPLVM, L-BFGS at cut-off 5", "likelihood, bio5"),
                missing("DPLVM, SGD at order 2", "likelihood, cut-off 2, order 2"),
            ],
            obstacle=True,
        ),
        Claim(
            "The latent perceptron needs fewer passes than DPLVM and CRF.",
            "cut-off 15: 45 against 300, 100 (SGD) and 300 (CRF)",
            [
                at_most("DPLVM, L-BFGS: latent passes to iterations", _passes("DPLVM, L-BFGS"), 0.5, " times"),
                at_most("CRF: latent passes to iterations", _passes("CRF, L-BFGS"), 0.5, " times"),
            ],
            "At most half; the best pass on development data at cut-off 15.",
        ),
        Claim(
            "At order 2 the latent perceptron is still practical.", "30 h, perceptron 6 h",
            [at_most("CPU of 24 passes, to the perceptron's", ratio("order 2", *order.values()), 10, " times")],
            "Two states per label here, four in the paper.",
        ),
    ]  # fmt: skip


def claims() -> list[tuple[str, list[Claim]]]:
    """Sections with their claims."""
    return [("Cost", [*costs(), *limits()])]
