"""Sun et al. (2009) on NP chunking (their table 4)."""

from __future__ import annotations

from studies.common import Cell, cost_of
from studies.verdicts.data import cells, ratio
from studies.verdicts.latent import likelihood
from studies.verdicts.latent_tasks import (
    NP_F,
    best_states,
    bio,
    gained,
    np,
    np_above_plain,
    present,
)
from studies.verdicts.rule import (
    Claim,
    Figures,
    Part,
    above,
    at_least,
    at_most,
    holds,
    level,
    missing,
    same,
)


def _steady(estimator: str, states: int, share: int) -> Figures:
    """Half the range of F over the 200 passes after the first 30."""
    found = cells("np_latent", stage="steady", estimator=estimator, states=states, share=share)
    values = [(max(c["dev"][30:]) - min(c["dev"][30:])) / 2 for c in found]
    return Figures(f"200 more passes, {estimator}", values)


def _over_k(study: str, found: list[Cell]) -> Figures:
    """The range of the best figure on development data over k of mavg."""
    best = [c["best"] for c in found]
    return Figures(f"k = 2, 4, 8 ({study})", [max(best) - min(best)] if len(best) > 2 else [])


def chunks() -> list[Claim]:
    latent, plain = np("latent", "mavg"), np("perceptron", "mavg")
    return [
        Claim(
            "The latent perceptron with mavg is the best of nine learners on NP chunks.",
            "94.37; others 91.33 to 94.29",
            present([
                np_above_plain("perceptron, mavg", "latent", "mavg", 0.12),
                above("perceptron, avg", latent, np("perceptron", "avg"), 0.1),
                above("CRF", latent, likelihood("np", "CRF, L-BFGS"), 0.12),
                above("DPLVM, L-BFGS", latent, likelihood("np", "DPLVM, L-BFGS"), 0.08),
                above("latent, avg", latent, np("latent", "avg"), 0.24), gained("np 17 order 2"),
            ]),
        ),
        Claim(
            "On NP chunks the latent perceptron is hardly different from the other models.", "94.37 and 94.25",
            [same("latent, mavg; perceptron, mavg", latent, plain, 0.3)],
        ),
    ]  # fmt: skip


def averages() -> list[Claim]:
    latent, plain = np("latent", "mavg"), np("perceptron", "mavg")
    return [
        Claim(
            "For the latent perceptron mavg is significantly above avg; avg alone is not adequate.",
            "94.37 against 94.13",
            [above("", latent, np("latent", "avg"), 0.24)],
        ),
        Claim(
            "For the plain perceptron mavg and avg do not differ.", "94.25 and 94.27",
            [same("", plain, np("perceptron", "avg"), 0.2)],
            "Within 0.2.",
        ),
        Claim(
            "Averaged weights are far above the last ones.",
            "latent 94.13 against 92.06; perceptron 94.27 against 91.33",
            [
                above("latent", np("latent", "avg"), np("latent", "last"), 2.07),
                above("perceptron", np("perceptron", "avg"), np("perceptron", "last"), 2.94),
            ],
        ),
        Claim(
            "On NP chunks the latent perceptron is above DPLVM with SGD.", "94.37 against 94.03",
            [above("", latent, likelihood("np", "DPLVM, SGD"), 0.34)],
            shortcut="DPLVM has two states per label, AdaGrad rates and three passes.",
        ),
        Claim(
            "With mavg the F of the latent perceptron stays within ± 0.1 over 200 more passes, steadier than with "
            "avg.", "± 0.1 against ± 0.8",
            [
                at_most("mavg", _steady("mavg", 2, 0), 0.1),
                _steadier(),
            ],
            "Half of the range on the held-out tenth, two states.",
        ),
        Claim(
            "With avg the F of the latent perceptron swings by up to ± 0.8.", "± 0.8",
            [at_least("avg", _steady("avg", 2, 0), 0.8)], obstacle=True,
        ),
    ]  # fmt: skip


def choices() -> list[Claim]:
    search = [c for c in cells("np_latent", stage="search", share=0, split_after=0) if c["states"] > 1]
    k_np = [c for c in search if c["states"] == 2 and c["estimator"] == "mavg"]
    restarts = {"estimator", "mavg_every", "share"}
    k_bio = [
        c
        for c in cells("bio_latent", stage="search", states=2)
        if c["settings"].keys() == restarts and c["settings"]["share"] == 0
    ]
    return [
        Claim(
            "The right k of mavg (2 to 8) matters.", "no figure",
            [
                at_least("NP, 2 states: range over k", _over_k("np_latent", k_np), 0.2),
                at_least("Bio-NER, 2 states: range over k", _over_k("bio_latent", k_bio), 0.2),
            ],
            "Matters: at least 0.2 between the best and the worst k on development data.",
        ),
        Claim(
            "Five states per label are the number to use.", "5",
            [best_states("np_latent", search, 5)],
        ),
        Claim(
            "F on NP chunks, among the best reports.",
            "latent 94.37, 94.13; perceptron 94.25, 94.27; CRF 94.25; DPLVM 94.29, "
            "94.03; others 94.38, 94.22",
            [
                *(level(name, np(*name.split(", ")), f) for name, f in NP_F.items()),
                *(level(m, likelihood("np", m), f)
                  for m, f in (("CRF, L-BFGS", 94.25), ("DPLVM, L-BFGS", 94.29), ("DPLVM, SGD", 94.03))),
            ],
        ),
        Claim(
            "Perceptrons are competitive with CRFs at a much lower cost (cited: Freund and Schapire 1999; Collins "
            "2002).",
            "NP 94.27 and 94.25; cut-off 15: 65.83 and 64.17; cut-off 5: 65.61 and 66.12",
            [
                same("NP", np("perceptron", "avg"), likelihood("np", "CRF, L-BFGS"), 0.6),
                *(same(f"cut-off {c}", bio("perceptron", c), likelihood(f"bio{c}", "CRF, L-BFGS"), 1.0)
                  for c in (15, 5)),
                at_least("NP, time of the CRF", _crf_time(), 5, " times"),
            ],
            "Competitive: within 0.6 on NP chunks and 1 on entities; cost: at least five times.",
        ),
    ]  # fmt: skip


def _crf_time() -> Figures:
    crf = [c["seconds"] for c in cells("likelihood", stage="test", data="np", method="CRF, L-BFGS")]
    plain = map(cost_of, cells("np_latent", stage="test", method="perceptron", estimator="avg"))
    return ratio("CRF and perceptron on NP", crf, filter(None, plain))


def _steadier() -> Part:
    pair = _steady("avg", 2, 0), _steady("mavg", 2, 0)
    if not all(side.values for side in pair):
        return missing("avg against mavg", "np_latent, stage steady")
    told = f"± {pair[0].mean:.2f} with avg, ± {pair[1].mean:.2f} with mavg"
    return holds("avg against mavg", told, pair[0].mean > pair[1].mean)


def claims() -> list[tuple[str, list[Claim]]]:
    """Sections with their claims."""
    return [("NP chunking", [*chunks(), *averages(), *choices()])]
