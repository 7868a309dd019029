"""Online learning over latent structures, in one compiled loop over some sentences; and classification.

The structure of a sentence competes with the empty one, which has no features and the score 0. A positive sentence has
the structure as gold and the empty one as its candidate, a negative sentence vice versa, with cost 1; the
rule (kernels/learning/coefficients.py) turns both scores into a step along the features f of the structure. PA gives

    loss = max(0, 1 - y w.f);  w += tau y f,  tau = loss / |f|^2

A positive sentence gets one step per epoch. A negative one is decoded again until its score is below 0 (0 is an error)
or the cap is reached. With fixed structures (the batch learners) no sentence is decoded.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.types import F64, I16_2D, I64, Bool
from palmette.kernels.latent.forms import (
    CAPPED,
    CERTIFIED,
    DECODED,
    DUAL,
    EXAMPLES,
    PROVEN,
    RIVAL_LOSS,
    SQUARED_LOSS,
    UPDATES,
    VECTORS,
    WRONG_NEGATIVES,
    WRONG_POSITIVES,
    Decoding,
    Labelled,
    Sentences,
    Store,
    Tally,
    Training,
    Views,
    Weights,
    Workspace,
)
from palmette.kernels.latent.search import search
from palmette.kernels.latent.update import adaptive_step, add_features, rival_score, score_of, squared_length
from palmette.kernels.learning.coefficients import coefficients, updates_on_right_guesses


@part
def _is_wrong(y: int, score: float) -> bool:
    """Whether a sentence of class y is misclassified: scores of at least 0 are positive."""
    return score < 0.0 if y > 0 else score >= 0.0


@part
def _step(
    v: Views, w: Weights, data: Labelled, s: int, score: float, workspace: Workspace, how: Training, tally: Tally
) -> None:
    """One step for the structure in workspace.path, which has that score.

    The counts are of squared losses over squared lengths: with normalised features of squared losses; without, the same
    theorem holds for these scaled losses (w and the rival are compared on the same vectors of length 1)."""
    y, c = data.y[s], tally.list
    squared = squared_length(v, data.x, s, workspace)
    if squared == 0.0 or not (_is_wrong(y, score) or updates_on_right_guesses(how.rule)):
        return
    length, own = 1.0, squared
    if how.decoding.normalise:
        length, own = np.sqrt(squared), 1.0
    structure, empty = (0, 1) if y > 0 else (1, 0)
    c.score[structure], c.score[empty] = score / length, 0.0
    c.cost[1], c.gram[0, 0] = 1.0, own
    spread, clock = how.rule.spread, tally.clock[VECTORS]
    if spread > 0.0:
        c.gram[0, 0] = adaptive_step(v, w, data.x, s, workspace, tally.done, 0.0, 0.0, clock) / (length * length)
    if not coefficients(how.rule, c, 1, True, tally.clock[EXAMPLES], 1.0):
        return
    loss = max(0.0, 1.0 - (c.score[0] - c.score[1]))
    if tally.rival.w.shape[0] > 0:
        rival = max(0.0, 1.0 - y * rival_score(v, tally.rival, w, data.x, s, workspace) / length)
        tally.counts[RIVAL_LOSS] += rival * rival / own
    change = c.coefficient[structure] / length
    if spread > 0.0:
        adaptive_step(v, w, data.x, s, workspace, tally.done, change, spread / (length * length), clock)
    else:
        add_features(v, w, data.x, s, workspace, change, clock)
    tally.counts[UPDATES] += 1
    tally.counts[SQUARED_LOSS] += loss * loss / own


@part
def _copy_structure(v: Views, store: Store, entry: int, n: int, workspace: Workspace) -> None:
    """Copy a structure of the store to workspace.path."""
    at = store.start[entry]
    for r in range(v.size.size):
        for i in range(n):
            workspace.path[r, i] = store.states[at + r * n + i]


@kernel
def train_latent(
    v: Views, w: Weights, data: Labelled, store: Store, examples: I64, how: Training, workspace: Workspace,
    tally: Tally,
) -> None:  # fmt: skip
    """Learn from the sentences `examples` i64[] in their order; if the store has structures, from its entries
    `examples` instead, without decoding."""
    fixed, dual = store.size[0] > 0, how.decoding.combine == DUAL
    counts, x = tally.counts, data.x
    changed = True
    for k in range(examples.size):
        s = examples[k]
        if fixed:
            s = store.owner[examples[k]]
            _copy_structure(v, store, examples[k], x.offset[s + 1] - x.offset[s], workspace)
        y, rounds = data.y[s], 0
        while True:
            before = counts[UPDATES]
            score = score_of(v, w, x, s, workspace) if fixed else search(v, w, x, s, workspace, how.decoding, changed)
            if dual and not fixed:
                counts[PROVEN] += workspace.dual.proof[CERTIFIED]
            if rounds == 0 and _is_wrong(y, score):
                counts[WRONG_POSITIVES if y > 0 else WRONG_NEGATIVES] += 1
            _step(v, w, data, s, score, workspace, how, tally)
            changed = counts[UPDATES] > before
            rounds += 1
            if y > 0 or score < 0.0 or not changed:
                break
            if rounds == how.cap:
                counts[CAPPED] += 0 if fixed else 1
                break
        if not fixed:
            counts[DECODED] += rounds
            if y < 0:
                tally.again[rounds - 1] += 1
        tally.clock[VECTORS] += 1.0
        tally.clock[EXAMPLES] += 1.0


@kernel
def decide(
    v: Views, w: Weights, x: Sentences, examples: I64, how: Decoding, workspace: Workspace, scores: F64,
    states: I16_2D, certified: Bool,
) -> None:  # fmt: skip
    """The scores f64[S] of the sentences `examples`, and unless these are empty their structures into states i16[R, N]
    and whether joint searches were certified into certified bool[S]."""
    for k in range(examples.size):
        s = examples[k]
        score = search(v, w, x, s, workspace, how, k == 0)
        if certified.size > 0:
            certified[s] = workspace.dual.proof[CERTIFIED] > 0
        if how.normalise:
            score /= max(1.0, np.sqrt(squared_length(v, x, s, workspace)))
        scores[s] = score
        lo = x.offset[s]
        if states.size > 0:
            for r in range(v.size.size):
                for i in range(x.offset[s + 1] - lo):
                    states[r, lo + i] = workspace.path[r, i]
