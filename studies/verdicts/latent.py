"""Sun, Matsuzaki, Okanohara and Tsujii (2009), "Latent variable perceptron algorithm for structured classification":
theory, synthetic sequences and the learners beside it. Bio-NER and NP chunking are in latent_tasks.py."""

from __future__ import annotations

from studies.verdicts.data import by_test, cells, figures, typical_spread
from studies.verdicts.rule import Claim, Figures, Part, above, at_least, at_most, holds, level, missing, same

STRENGTHS = (0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.9, 0.95)
LATENT, DPLVM, SHARED = "latent, mavg", "DPLVM", "latent, shared, mavg"


def accuracy(method: str, p: float, states: int | None = None) -> Figures:
    found = cells("synthetic", method=method, p=p, length=20, states=states)
    more = f" with {states} states per label" if states else ""
    return figures(f"{method} at P = {p:g}{more}", found, "accuracy")


def _gaps(method: str, p: float) -> Figures:
    """How far a latent model is above the CRF, seed by seed."""
    pairs = [{c["seed"]: c["accuracy"] for c in cells("synthetic", method=m, p=p, length=20, states=None)}
             for m in (method, "CRF")]  # fmt: skip
    both = sorted(pairs[0].keys() & pairs[1].keys())
    return Figures(f"{method} at P = {p:g}", [pairs[0][seed] - pairs[1][seed] for seed in both])


def _separated(method: str, length: int) -> Figures:
    found = cells("synthetic", method=method, p=0.9, length=length, states=None)
    return figures(f"{method}, length {length}", found, "separated")


def theory() -> list[Claim]:
    return [
        Claim(
            "Separable data are latently separable, with a margin of at least δ/T.",
            "theorem 1",
            [by_test("", "test_the_stretched_separator_separates_latently")],
            "Margins from all paths of small problems, with up to three states per label and orders 0 to 2.",
        ),
        Claim(
            "On separable data the latent perceptron makes at most 2T²M²/δ² mistakes and ends without training errors.",
            "theorem 2",
            [by_test("", "test_mistakes_of_the_latent_perceptron")],
            "Holds for a start at zero, features that are not negative and no restarts, as the proof assumes.",
        ),
        Claim(
            "On any data the mistakes are bounded by (√2 M + D)²/δ².",
            "theorem 3",
            [by_test("", "test_the_same_for_latent_states")],
            "For the first pass, with D from the worst right path of each sentence (their definition 3).",
        ),
        Claim(
            'Two states of one label can tell "her" in "is her brother" from "her" in "gave her flowers".',
            "example in the text",
            [
                by_test("latent CRF", "test_states_tell_a_possessive_from_a_pronoun"),
                by_test(
                    "latent perceptron",
                    "test_the_latent_perceptron_misses_two_kinds_of_her",
                    holds=False,
                ),
            ],
        ),
        Claim(
            "The algorithm carries over to structures other than chains.",
            "conclusion, without figures",
            [
                by_test("trees", "test_training_uses_all_variants"),
                by_test("beams", "test_a_wide_beam_with_standard_updates_is_the_latent_perceptron"),
            ],
        ),
    ]


def synthetic() -> list[Claim]:
    return [
        Claim(
            "With strong hidden dependencies (P = 0.9) latent perceptron and DPLVM are far above CRF and perceptron.",
            "84.9 and 84.9; 63.4 and 57.3",
            [
                above("latent perceptron, CRF", accuracy(LATENT, 0.9), accuracy("CRF", 0.9), 21.5),
                above("latent perceptron, perceptron", accuracy(LATENT, 0.9), accuracy("perceptron", 0.9), 27.6),
                above("DPLVM, CRF", accuracy(DPLVM, 0.9), accuracy("CRF", 0.9), 21.5),
                above("DPLVM, perceptron", accuracy(DPLVM, 0.9), accuracy("perceptron", 0.9), 27.6),
            ],
        ),
        Claim(
            "The gap to the CRF grows quickly with P.",
            "figure 3",
            [above(m, _gaps(m, 0.9)._replace(name=f"{m} at 0.9"), _gaps(m, 0.65), 5.0) for m in (LATENT, DPLVM)],
            "Gap to the CRF at P = 0.9 against the gap at P = 0.65.",
        ),
        Claim(
            "The latent perceptron is above the CRF at weaker dependencies too.",
            "figure 3",
            [above(f"P = {p:g}", accuracy(LATENT, p), accuracy("CRF", p), 1.0) for p in (0.55, 0.65, 0.75, 0.85)],
        ),
        Claim(
            "The four accuracies at P = 0.9.",
            "57.3, 84.9, 63.4, 84.9",
            [
                level("perceptron", accuracy("perceptron", 0.9), 57.3),
                level("latent perceptron", accuracy(LATENT, 0.9), 84.9),
                level("CRF", accuracy("CRF", 0.9), 63.4),
                level("DPLVM", accuracy(DPLVM, 0.9), 84.9),
            ],
        ),
    ]


def synthetic_states() -> list[Claim]:
    return [
        Claim(
            "Latent perceptron and DPLVM have almost identical curves over P.",
            "figure 3",
            [same(f"P = {p:g}", accuracy(LATENT, p), accuracy(DPLVM, p), 1.0) for p in STRENGTHS],
        ),
        Claim(
            "Four states per label instead of two give about the same accuracy, for both latent models.",
            "no figure",
            [
                same("latent perceptron", accuracy(LATENT, 0.9, 4), accuracy(LATENT, 0.9), 1.0),
                same("DPLVM", accuracy(DPLVM, 0.9, 4), accuracy(DPLVM, 0.9), 1.0),
            ],
        ),
        Claim(
            "Of 3,000 training sequences (P = 0.9) the perceptron separates under 10 %, the latent perceptron over 40 "
            "%.",
            "under 10 %; over 40 %",
            [
                at_most("perceptron, length 20", _separated("perceptron", 20), 10, " %"),
                at_least("latent perceptron, length 8", _separated(LATENT, 8), 40, " %"),
            ],
        ),
    ]


# --- the probabilistic learners -----------------------------------------------------------------------------


def np_typical() -> float | None:
    rows: dict[tuple[str, str], list[float]] = {}
    for c in cells("np_latent", stage="test"):
        rows.setdefault((c["method"], c["estimator"]), []).append(c["f1"])
    return typical_spread(rows.values())


def bio_typical() -> float | None:
    rows: dict[tuple[str, int, int], list[float]] = {}
    for c in cells("bio_latent", stage="long test") or cells("bio_latent", stage="test"):
        rows.setdefault((c["method"], c["cut"], c["order"]), []).append(c["f1"])
    return typical_spread(rows.values())


def likelihood(data: str, method: str) -> Figures:
    typical = np_typical() if data == "np" else bio_typical()
    found = cells("likelihood", stage="test", data=data, method=method)
    return figures(f"{method} ({data})", found, "score", typical, fixed=method == "CRF, L-BFGS")


def _best_variance(data: str, method: str) -> Part:
    swept = {c["variance"]: c["best"] for c in cells("likelihood", stage="sweep", data=data, method=method)}
    part = f"{method}, {data}"
    if 1.0 not in swept:
        return missing(part, f"sweep of {method} on {data} with variance 1")
    best = max(swept, key=lambda v: swept[v])
    told = f"{swept[1.0]:.2f} with 1, best {swept[best]:.2f} with {best:g}"
    return holds(part, told, swept[1.0] >= swept[best] - 0.1)


def learners() -> list[Claim]:
    return [
        Claim(
            "DPLVMs are above CRFs.",
            "NP 94.29 against 94.25; Bio-NER, cut-off 15: 67.41 against 64.17; Morency et al. (2007)",
            [
                above("NP", likelihood("np", "DPLVM, L-BFGS"), likelihood("np", "CRF, L-BFGS"), 0.04),
                above("cut-off 15", likelihood("bio15", "DPLVM, L-BFGS"), likelihood("bio15", "CRF, L-BFGS"), 3.24),
            ],
            shortcut="DPLVM has two states per label and was stopped after 30 iterations on NP, 100 on Bio-NER.",
        ),
        Claim(
            "DPLVM trained by L-BFGS is above DPLVM trained by SGD.",
            "NP 94.29 against 94.03; Bio-NER, cut-off 15: 67.41 against 65.96",
            [
                above("NP", likelihood("np", "DPLVM, L-BFGS"), likelihood("np", "DPLVM, SGD"), 0.26),
                above("cut-off 15", likelihood("bio15", "DPLVM, L-BFGS"), likelihood("bio15", "DPLVM, SGD"), 1.45),
            ],
            shortcut="L-BFGS was stopped after 30 and 100 iterations; SGD has AdaGrad rates.",
        ),
        Claim(
            "A prior of variance 1 is best for DPLVMs and CRFs.",
            "σ² = 1 of 10⁻³ … 10³",
            [
                _best_variance(data, method)
                for data, method in (("np", "CRF, SGD"), ("np", "CRF, L-BFGS"), ("np", "DPLVM, SGD"),
                                     ("bio15", "CRF, SGD"), ("bio15", "CRF, L-BFGS"))
            ],
            "Holds if variance 1 is within 0.1 of the best on development data.",
        ),
        Claim(
            "DPLVMs are above SVMs and HMMs in recognising gestures (cited: Morency et al. 2007).",
            "no figure",
            [missing("", "SVMs and HMMs on video data")],
            "The data are not among our corpora.",
        ),
        Claim(
            "Latent variables make grammars more compact and accurate (cited: Petrov and Klein 2008).",
            "no figure",
            [missing("", "latent grammars")],
            "Palmette has no constituent grammars.",
        ),
    ]  # fmt: skip


def claims() -> list[tuple[str, list[Claim]]]:
    """Sections with their claims."""
    return [
        ("Theory", theory()),
        ("Synthetic sequences", [*synthetic(), *synthetic_states()]),
        ("Probabilistic latent models", learners()),
    ]
