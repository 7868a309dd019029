"""Wu Ke (2013), "Discriminative sequence labeling", notes."""

from __future__ import annotations

from studies.verdicts.data import bench, by_test, cells
from studies.verdicts.inexact import better
from studies.verdicts.pairs import TASKS as NAMES
from studies.verdicts.pairs import cell_of, pair_above, sides
from studies.verdicts.probperc import TASKS, recorded_p, scores
from studies.verdicts.rule import (
    TASTE,
    Claim,
    Figures,
    Outcome,
    Part,
    above,
    at_least,
    holds,
    level,
    missing,
    p_words,
    same,
)

PAGES = ("notes",)


def _same(pair: str, task: str, margin: float) -> Part:
    first, second, p = sides(pair, task)
    return same("", first, second, margin, p)


def _differ() -> Part:
    cell = cell_of("CRF and perceptron", "np")
    if cell is None:
        return missing("", "labels of CRF and perceptron on NP chunks")
    return holds("NP", f"{cell['differ']:.1f} % of the labels on test differ", cell["differ"] > 0)


def _no_gain(pair: str, task: str, part: str = "") -> Part:
    """The first is not significantly above the second by RELEVANT points or more."""
    first, second, p = sides(pair, task)
    if p is None:
        return missing(part or NAMES[task], f"{pair} ({task})")
    told = f"{first.told()} against {second.told()}; {p_words(p)}"
    return holds(part or NAMES[task], told, first.mean < second.mean or p >= 0.05)


def _smaller(pair: str, task: str) -> Part:
    cell = cell_of(pair, task)
    if cell is None:
        return missing(f"{NAMES[task]}, size", f"{pair} ({task})")
    sizes = [size / 1e6 for size in cell["bytes"]]
    return holds(f"{NAMES[task]}, size", f"{sizes[1]:.2f} MB against {sizes[0]:.2f} MB", sizes[1] < sizes[0] / 2)


def models() -> list[Claim]:
    vowels = cell_of("vowels", "vowels")
    return [
        Claim(
            "A linear classifier over two formants tells [i], [u] and [a] apart.", "figure 1",
            [at_least("held-out vowels", Figures("vowels", vowels["scores"][0] if vowels else [], digits=1), 95, " %")],
            "Made-up formants around textbook values.",
        ),
        Claim(
            "An HMM is a linear model: the same scores, the same best path.", "worked example",
            [
                by_test("features", "test_features_of_the_example"),
                by_test("weights", "test_weights_of_the_example"),
                by_test("all paths", "test_each_path_of_the_chain_has_the_joint_probability"),
            ],
        ),
        Claim(
            "Viterbi finds the best path whenever features are sums over edges.", "section 3",
            [by_test("", "test_the_best_of_all_paths")],
            "Beside the enumeration of all paths.",
        ),
        Claim(
            "A classifier that sees no neighbouring labels does worse than a sequence model.", "usually not that well",
            [pair_above("transitions between labels", task) for task in ("upos", "chunks", "np")],
            "Order 1 against order 0 with the same observations, tag schemes not enforced.",
        ),
        Claim(
            "A model with features is better than a plain HMM.", "often better",
            [pair_above("features", "upos")],
            "The HMM has classes for rare words.",
        ),
        Claim(
            "Knowledge is easily put into features, and hardly into an HMM.", "section 1.2",
            [Part(Outcome("", TASTE, "a judgement"))],
            "A reason for features, not a figure.",
        ),
        Claim(
            "The CRF's gradient is observed minus expected features, zero at the optimum; L1 needs other steps than "
            "L2.",
            "section 6.2",
            [
                by_test("forward and backward", "test_all_marginals_against_all_paths"),
                by_test("gradient", "test_value_and_gradient_are_those_of_all_paths"),
                by_test("optimum", "test_optimum_is_that_of_the_reference"),
            ],
            "Beside all paths and beside another optimiser.",
        ),
    ]  # fmt: skip


def features() -> list[Claim]:
    return [
        Claim(
            "Putting the previous label into all word features overfits rather than helps.", "without figures",
            [_no_gain("the previous label in word features", "upos")],
            "Words on label pairs beside words on labels.",
        ),
        Claim(
            "Neighbouring words help to resolve ambiguity in tagging.", "often used",
            [pair_above("neighbouring words", "upos")],
            "Words up to two away and pairs of them, beside the word alone.",
        ),
        Claim(
            "Wider windows and longer n-grams need not help.", "may prevent any improvement",
            [_no_gain("a wider window", "upos")],
            "Words up to four away and trigrams added.",
        ),
        Claim(
            "Affixes and classes of numbers help with unknown words.", "much more effective",
            [pair_above("spelling, unknown words", "upos")],
            "Accuracy on words that training did not have.",
        ),
        Claim(
            "Spelling features such as capitals are very useful for entities.", "very useful",
            [pair_above("spelling, entities", "jnlpba")],
            "Affixes, digits, capitals and hyphens added to words.",
        ),
        Claim(
            "Parts of speech help chunking.", "often used",
            [pair_above("parts of speech", "np")],
            "Beside words alone.",
        ),
        Claim(
            "Chunking needs label trigrams: with three labels, label pairs say too little.", "not enough without",
            [pair_above("label trigrams", "np", "NP, observations on labels"), _orders()],
        ),
        Claim(
            "Label pairs as states turn trigrams into transitions.", "section 5.2",
            [by_test("", "test_label_bigrams_of_order_1_are_order_2")],
            "States of label pairs at order 1 are the model of order 2.",
        ),
        Claim(
            "For acronyms the number of letters left out, as part of the state, matters a lot.", "very important",
            [pair_above("run length in the states", "acronyms", "whole acronyms")],
        ),
        Claim(
            "Without unknown words, words and their neighbours are enough for tagging.", "usually",
            [_same("spelling, known words", "upos", 0.5)],
        ),
        Claim(
            "Features that do not look at the current label do not change its prediction.", "section 5",
            [Part(Outcome("", TASTE, "true by algebra"))],
            "Their score is the same for all labels.",
        ),
        Claim(
            "With proper features such models are often state of the art.", "often",
            [
                level("all chunks, CRF++ 93.74", scores("chunks", "5-best MIRA"), 93.74),
                level("NP, Sha and Pereira (2003) 94.38", Figures("np", _np_best()), 94.38),
            ],
            "Beside figures of linear models.",
        ),
    ]  # fmt: skip


def _np_best() -> list[float]:
    found = cells("np_latent", stage="test", method="perceptron", estimator="mavg")
    return [c["f1"] for c in found]


def _orders() -> Part:
    """Observations on pairs against observations on pairs and triples, from the benchmark of NP chunking."""
    result = bench("np")
    if not result:
        return missing("NP, observations on pairs and triples", "bench np")
    sides = [Figures(name, [100 * f for f in result[name]["f1"]]) for name in ("order 2", "order 1")]
    return above("NP, observations on pairs and triples", sides[0], sides[1])


def learning() -> list[Claim]:
    return [
        Claim(
            "Last weights generalise badly; averaging often improves them.", "often",
            [better(task, ("avg", 0), ("last", 0)) for task in ("tagging", "chunking")],
            "Error of tagging, F of NP chunking.",
        ),
        Claim(
            "A CRF without regularisation overfits.", "in practice",
            [pair_above("regularisation", "np", "NP, L2 against none")],
            "L2 chosen on held-out data, 100 iterations.",
        ),
        Claim(
            "L1 makes compact models, at the cost of accuracy; L2 is more accurate and large.", "in general",
            [pair_above("L2 and L1", "np", "NP, L2 against L1"), _smaller("L2 and L1", "np")],
            "Both penalties chosen on held-out data; compact: less than half the size.",
        ),
        Claim(
            "L1 to select features and then L2 is a good way.", "sometimes done",
            [pair_above("L1, then L2", "np", "NP, against L1 alone")],
            "Same L1 penalty in both.",
        ),
        Claim(
            "A regularised CRF and an averaged perceptron have similar accuracy.", "similar",
            [same(f"{name}, {crf}", scores(task, crf), scores(task, "perceptron"), 0.5, recorded_p(task, crf))
             for crf in ("CRF, L-BFGS", "CRF, AdaGrad") for task, name in TASKS.items()],
            "Similar: within 0.5.",
            shortcut="On JNLPBA L-BFGS was stopped after 60 iterations.",
        ),
        Claim(
            "CRF and perceptron optimise the same loss under different approximations.", "section 6.3",
            [Part(Outcome("", TASTE, "a way to look at them"))],
            "Nothing follows that could be measured.",
        ),
        Claim(
            "They do not learn the same weights.", "text",
            [_differ()],
            "Models with the same weights would give the same labels.",
        ),
    ]  # fmt: skip


def claims() -> list[tuple[str, list[Claim]]]:
    """Sections with their claims."""
    return [("Models", models()), ("Features", features()), ("Learning", learning())]
