"""Training with the best paths of exact search, in one compiled loop for all rules of kernels/learning/rule.py:

score a trellis; list its best paths; turn scores, costs and inner products into coefficients; add the weighted paths.

The perceptron's own loop, which needs only two paths, is `train_perceptron` in train.py.
"""

from __future__ import annotations

from typing import NamedTuple

from palmette.kernels.chain.adaptive import apply_differences, clear, no_contexts, scaled_products
from palmette.kernels.chain.blend import Sums, add_weighted_paths, make_sums
from palmette.kernels.chain.candidates import PathList, list_candidates, make_path_list
from palmette.kernels.chain.costs import Chunks
from palmette.kernels.chain.differences import Differences, differences_of, gram, make_differences
from palmette.kernels.chain.forms import Chain, Data, Trellis, make_trellis
from palmette.kernels.chain.label_context import LabelContextWeights
from palmette.kernels.chain.lists import has_room
from palmette.kernels.chain.score import score
from palmette.kernels.core.compile import kernel
from palmette.kernels.core.types import I64, struct
from palmette.kernels.learning.coefficients import (
    asks_for_products,
    coefficients,
    margins_broken,
    updates_on_right_guesses,
)
from palmette.kernels.learning.rule import Rule


@struct
class PathWorkspace(NamedTuple):
    """Arrays for the best paths of a sentence and their update."""

    trellis: Trellis
    paths: PathList
    sums: Sums
    table: Differences
    contexts: LabelContextWeights  # none: these are for beams


def make_path_workspace(m: Chain, x: Data, rule: Rule) -> PathWorkspace:
    """For any sentence of the corpus."""
    T, K = make_trellis(m, x), rule.candidates
    sums, table = make_sums(K + 1, rule), make_differences(K)
    return PathWorkspace(T, make_path_list(T, K), sums, table, no_contexts(m.bias.size))


@kernel
def train_paths(
    m: Chain, x: Data, workspace: PathWorkspace, permutation: I64, first: int, last: int, clock: float,
    rule: Rule, chunks: Chunks,
) -> tuple[float, int, int, int]:  # fmt: skip
    """One slice of an epoch: (clock, updates, wrong tokens, sentences without an allowed path). It ends early, which
    the clock shows, where lists of weights that grow run out of room."""
    T, c, sums, table, contexts = workspace
    numbers, adaptive = c.numbers, rule.spread > 0.0
    updates, wrong, infeasible = 0, 0, 0
    changed = True
    for k in range(first, last):
        s = permutation[k]
        if not has_room(m.weights[0], x.features[0], x.offset[s], x.offset[s + 1] - x.offset[s], rule.candidates + 1):
            break
        n = score(T, m, x, s, changed)
        changed = False
        found, missed, gold_listed = list_candidates(T, m, x, x.offset[s], n, rule, chunks, c)
        wrong += missed
        if found < 0:
            infeasible += 1
        elif missed > 0 or updates_on_right_guesses(rule):
            moves, paths = True, c.paths[: found + 1]
            if asks_for_products(rule):  # expensive: only if a margin is violated
                moves = margins_broken(numbers, found)
                if moves and adaptive:
                    table = differences_of(m, x, s, paths, table)
                    scaled_products(m, contexts, found, table, numbers.gram)
                elif moves:
                    table = gram(m, x, s, paths, table, numbers.gram)
            if moves and coefficients(rule, numbers, found, gold_listed, clock, float(x.weight[s])):
                factors = numbers.coefficient[: found + 1]
                if adaptive:
                    apply_differences(m, contexts, table, factors, rule.spread, clock)
                else:
                    add_weighted_paths(m, x, s, paths, factors, clock, sums)
                updates += 1
                changed = True
            elif adaptive:
                clear(table)
        clock += 1.0
    return clock, updates, wrong, infeasible
