"""Huang (2013): statements about convergence and cost, which tests of the suite check."""

from __future__ import annotations

from studies.verdicts.data import bench, by_test, ratio
from studies.verdicts.pairs import pair_above
from studies.verdicts.rule import Claim, Part, at_most

MANY = 5  # states per label


def _cost(order: int) -> Part:
    """What five times as many states cost, beside the bound."""
    times = bench("latent").get(f"order {order}", {})
    values = [[times[key]] if key in times else [] for key in (str(MANY), "1")]
    bound = MANY ** (order + 1)
    return at_most(f"order {order}, at most {bound}", ratio(f"bench latent, order {order}", *values), bound, " times")


def theory() -> list[Claim]:
    return [
        Claim(
            "With exact search the perceptron makes at most R²/δ² updates on separable data.", "theorem",
            [
                by_test("chains", "test_updates_stay_within_the_bound_on_separable_data"),
                by_test("mistakes", "test_mistakes_of_the_plain_perceptron"),
            ],
            "Binary, multiclass and structured perceptron are one algorithm.",
        ),
        Claim(
            "With greedy search the standard update may never converge on separable data; early and max-violation do.",
            '"time flies"',
            [
                by_test("time flies", "test_time_flies"),
                by_test("three words", "test_the_standard_update_never_ends_where_the_others_do"),
            ],
        ),
        Claim(
            "Any update that corrects a violation converges within the same bound, without exact search.",
            "Huang et al. (2012)",
            [
                by_test("chains", "test_updates_stay_below_the_bound"),
                by_test("trees", "test_updates_end_within_the_bound"),
            ],
            "On small separable problems.",
        ),
        Claim(
            "Early and max-violation updates always correct a violation.", "by definition",
            [by_test("", "test_all_updates_but_the_standard_one_are_violations")],
        ),
        Claim(
            "Viterbi over label g-grams takes O(n T^g) time.", "O(nT³) for trigrams",
            [_cost(order) for order in (1, 2)],
            "A pass of training with five states per label, to one state: at most 5² and 5³ times.",
        ),
        Claim(
            "A template set should hold the subsets of its templates, which takes the place of smoothing.",
            "a recommendation",
            [pair_above("subsets of templates", "np", "NP chunks")],
            "Pairs and triples of words and parts of speech with and without their parts.",
        ),
    ]  # fmt: skip
