"""How many mistakes the learners over the n best paths make on data that is known to be separable, and what the theory
allows. `python tests/nbest_bounds.py` prints the table of docs/learners.md.

With U a unit vector that prefers gold by d at least, R the longest difference f(gold) - f(other), N candidates:

- probPerc that updates on errors only, from zero, with a constant rate g and gold in its list:
  updates <= (2 / d^2) (R^2 + (2 / g) ln(N - 1)). An update moves by g q, q >= 1/2 being the share of what is not gold;
  w . change is at most g q ln(N - 1), since log P(gold) - log P(k) is the difference of the scores. Its authors print
  R^2 / d^2, whose proof takes w . change for negative: `small_problem` has more updates than that.
- Margins of costs: u = U times the largest (cost / margin) of all wrong paths prefers gold by every cost. Every step
  then brings the weights nearer to u, by the sum of 2 alpha b - alpha A alpha at least. So sum of loss^2 <= R^2 |u|^2
  (PA), <= (R^2 + 1 / 2C) |u|^2 (PA-II), and a wrong guess, whose loss is 1 or more, comes at most
  max(R^2, 1 / C) |u|^2 times (PA-I, MIRA).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from chain_arrays import chain_of, data_of, features_of
from learners import PathRunner
from naive_chain import Model, Token, differences, dot, path_score
from naive_margin import widest
from test_theorems import TrainingData, plain, separable

from palmette import Mira, PassiveAggressive, ProbPerc
from palmette.training import shuffled


class Run(NamedTuple):
    """What a training from zero has done."""

    updates: int
    mistakes: int  # sentences whose guess was wrong when they came
    squares: float  # sum of the squared losses before each step, cost-augmented; 0 unless asked for
    clean: bool  # the last pass changed nothing


def run(
    problem: TrainingData, rule: PathRunner, seed: int, passes: int, losses: bool = False, shuffle: bool = True
) -> Run:
    """At most so many passes; each sentence alone, so that what is before its step can be looked at."""
    case = plain(problem, {})
    case = case._replace(model=replace(case.model, weights={}, ends=problem.unit.ends))
    chain, data, n, clock = chain_of(case), data_of(case), len(case.sentences), 1.0
    updates = mistakes = made = 0
    squares = 0.0
    for number in range(1, passes + 1):
        order, made = shuffled(seed, number, n) if shuffle else np.arange(n), 0
        for k, s in enumerate(order.tolist()):
            squares += loss(problem, features_of(chain), s) ** 2 if losses else 0.0
            step = rule.learn(chain, data, order, k, k + 1, clock)
            clock, made, mistakes = step.clock, made + step.updates, mistakes + (step.wrong > 0)
        updates += made
        if made == 0:
            break
    return Run(updates, mistakes, squares, made == 0)


def loss(problem: TrainingData, weights: dict, s: int) -> float:
    """How far the worst violator lies above gold, with the number of its wrong tokens added to its score."""
    model, sentence, gold = replace(problem.unit, weights=weights), problem.sentences[s], problem.golds[s]
    own = path_score(model, sentence, gold)
    return max(
        path_score(model, sentence, path) + wrong(path, gold) - own
        for path in itertools.product(range(model.n_states), repeat=len(gold))
    )


def wrong(path: tuple[int, ...], gold: tuple[int, ...]) -> int:
    return sum(mine != other for mine, other in zip(path, gold, strict=True))


# --- sizes and bounds ---------------------------------------------------------------------------------------


def radius(problem: TrainingData) -> float:
    return widest(problem.unit, problem.sentences, problem.golds)


def probperc_bound(problem: TrainingData, rate: float, n: int) -> float:
    d, listed = min(problem.distances), min(n + 1, problem.unit.n_states ** max(map(len, problem.sentences)))
    return 2 / d**2 * (radius(problem) ** 2 + 2 / rate * math.log(max(1, listed - 1)))


def printed_bound(problem: TrainingData) -> float:
    return radius(problem) ** 2 / min(problem.distances) ** 2


def comparator(problem: TrainingData) -> float:
    """|u|^2 of the shortest multiple of the separator that prefers gold to every path by its cost."""
    longest = 0.0
    for sentence, gold in zip(problem.sentences, problem.golds, strict=True):
        others = (p for p in itertools.product(range(problem.unit.n_states), repeat=len(gold)) if p != gold)
        away = differences(problem.unit, sentence, gold)
        ratios = (wrong(p, gold) / dot(problem.unit.weights, bag) for p, bag in zip(others, away, strict=True))
        longest = max(longest, *ratios)
    return longest**2


def margin_bound(problem: TrainingData, C: float) -> float:
    """Wrong guesses of PA-I and MIRA."""
    return max(radius(problem) ** 2, 1 / C) * comparator(problem)


def small_problem() -> TrainingData:
    """One-token sentences whose three attributes have values, and the widest separator."""
    values = [(0, 2, -1), (-1, -2, 1), (-1, -1, 1)]
    weights = [(10, -2, 1), (-20, -14, -38), (10, 16, 37)]
    unit = {("one", a, y): w / math.sqrt(3870) for y, row in enumerate(weights) for a, w in enumerate(row)}
    tokens = [Token(tuple((a, float(v)) for a, v in enumerate(row) if v)) for row in values]
    return TrainingData(Model(0, 3, unit, ends=False), (3, 0, 0), [[token] for token in tokens], [(1,), (1,), (2,)])


def on_errors(n: int, rate: float) -> PathRunner:
    chosen = ProbPerc(nbest=n, rate=rate, rate_schedule="constant", when="errors")
    return PathRunner(chosen.rule(1))


def pa(kind: str, C: float = 0.1) -> PathRunner:
    chosen = PassiveAggressive(pa_type=kind, aggressiveness=C if kind != "PA" else 0.1)
    return PathRunner(chosen.rule(1))


def mira(n: int, C: float) -> PathRunner:
    return PathRunner(Mira(nbest=n, aggressiveness=C).rule(1))


# --- the table ----------------------------------------------------------------------------------------------


def table() -> list[str]:
    """Of each order, the means over twelve problems: two and three labels, six seeds."""
    lines = [
        "| learner | order 0 | bound | order 1 | bound | order 2 | bound |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    rows = {
        "perceptron": (lambda: on_errors_perceptron(), printed_bound),
        "probperc, n=5, rate 1": (lambda: on_errors(5, 1.0), lambda p: probperc_bound(p, 1.0, 5)),
        "probperc, n=5, rate 0.1": (lambda: on_errors(5, 0.1), lambda p: probperc_bound(p, 0.1, 5)),
        "pa, PA-I, C=0.1": (lambda: pa("PA-I", 0.1), lambda p: margin_bound(p, 0.1)),
        "mira, n=1, C=0.1": (lambda: mira(1, 0.1), lambda p: margin_bound(p, 0.1)),
        "mira, n=5, C=0.1": (lambda: mira(5, 0.1), lambda p: margin_bound(p, 0.1)),
    }
    problems = {order: [separable(order, seed, y) for seed in range(1, 7) for y in (2, 3)] for order in (0, 1, 2)}
    for name, (rule, bound) in rows.items():
        cells = []
        for order in (0, 1, 2):
            made = [run(problem, rule(), 1, 1000).mistakes for problem in problems[order]]
            cells += [f"{np.mean(made):.1f}", f"{np.mean([bound(p) for p in problems[order]]):,.0f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def on_errors_perceptron() -> PathRunner:
    """The perceptron, as the special case of probPerc that it is."""
    flat = {"nbest": 1, "add_gold": False, "rate": 1.0, "rate_schedule": "constant"}
    return PathRunner(ProbPerc(when="errors", **flat).rule(1))


if __name__ == "__main__":
    print("\n".join(table()))
