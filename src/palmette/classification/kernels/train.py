"""Online learning over latent structures, in one compiled loop over some sentences; and classification.

The structure of a sentence competes with the empty one, which has no features and the score 0. A positive sentence has
the structure as gold and the empty one as its candidate, a negative sentence vice versa, with cost 1; the
rule (kernels/learning/coefficients.py) turns both scores into a step along the features f of the structure. PA gives

    loss = max(0, 1 - y w.f);  w += tau y f,  tau = loss / |f|^2

A positive sentence gets one step per epoch. A negative one is decoded again until its score is below 0 (0 is an error)
or the cap is reached. With fixed structures (the batch learners) no sentence is decoded; a
store has each structure once.

A batch of sentences goes in rounds: structures and steps of all its sentences are found with the same weights, on
several threads (core/team.py); then the steps are made in the order of the sentences. Sentences that are to be decoded
again are the next round.
"""

from __future__ import annotations

import numpy as np

from palmette.classification.kernels.forms import (
    CAPPED,
    DECODED,
    EXAMPLES,
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
from palmette.classification.kernels.search import search
from palmette.classification.kernels.update import (
    Step,
    adaptive_features,
    adaptive_pairs,
    add_features,
    add_pairs,
    rival_score,
    score_of,
    squared_length,
)
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.team import (
    APPLY,
    FIND,
    MANY,
    Share,
    Team,
    arrive,
    begin_phases,
    claim,
    is_broken,
    longest_first,
    release,
    serial_share,
    share_among,
    share_of,
)
from palmette.kernels.core.types import F64, I16_2D, I64
from palmette.kernels.learning.coefficients import coefficients, updates_on_right_guesses


@part
def _is_wrong(y: int, score: float) -> bool:
    """Whether a sentence of class y is misclassified: scores of at least 0 are positive."""
    return score < 0.0 if y > 0 else score >= 0.0


@part
def _find_step(
    v: Views, w: Weights, data: Labelled, s: int, j: int, workspace: Workspace, how: Training, tally: Tally
) -> bool:  # fmt: skip
    """The step of sentence j of the batch, which is s, for the structure in workspace.path; False: there is none.

    Losses are squared losses over squared lengths: with normalised features squared losses; without, the same theorem
    holds for these scaled losses (w and the rival are compared on the same vectors of length 1)."""
    y, c, batch = data.y[s], tally.list, tally.batch
    score, squared = batch.score[j], squared_length(v, data.x, s, workspace)
    if squared == 0.0 or not (_is_wrong(y, score) or updates_on_right_guesses(how.rule)):
        return False
    length, own = 1.0, squared
    if how.decoding.normalise:
        length, own = np.sqrt(squared), 1.0
    structure, empty = (0, 1) if y > 0 else (1, 0)
    c.score[structure], c.score[empty] = score / length, 0.0
    c.cost[1], c.gram[0, 0] = 1.0, own
    if how.rule.spread > 0.0:
        nothing, n = Step(0.0, 0.0, 0.0), data.x.offset[s + 1] - data.x.offset[s]
        scaled = adaptive_features(
            v, w, data.x, s, workspace.path, tally.done, nothing, share_among(np.int64(0), np.int64(1), MANY)
        )
        if v.pairs:
            scaled += adaptive_pairs(v, w, n, workspace.path, workspace.times, nothing)
        c.gram[0, 0] = scaled / (length * length)
    if not coefficients(how.rule, c, 1, True, tally.clock[EXAMPLES] + j, 1.0):
        return False
    loss = max(0.0, 1.0 - (c.score[0] - c.score[1]))
    batch.loss[j, 0], batch.loss[j, 1] = loss * loss / own, 0.0
    if tally.rival.w.shape[0] > 0:
        rival = max(0.0, 1.0 - y * rival_score(v, tally.rival, w, data.x, s, workspace) / length)
        batch.loss[j, 1] = rival * rival / own
    batch.length[j], batch.change[j] = length, c.coefficient[structure] / length
    return True


@part
def _find(
    v: Views, w: Weights, data: Labelled, s: int, j: int, workspace: Workspace, how: Training, tally: Tally
) -> None:  # fmt: skip
    """Leave the step of sentence j of the batch, which is s, with its structure in the batch."""
    batch, path = tally.batch, workspace.path
    batch.updates[j] = _find_step(v, w, data, s, j, workspace, how, tally)
    if batch.updates[j]:
        own = batch.path[j]
        for r in range(v.size.size):
            for i in range(data.x.offset[s + 1] - data.x.offset[s]):
                own[r, i] = path[r, i]


@inline
def _sentence(store: Store, example: int) -> int:
    """The sentence of an example, which is a structure if there are any."""
    return int(store.owner[example]) if store.size[0] > 0 else int(example)


@part
def _change(
    v: Views, w: Weights, x: Sentences, s: int, j: int, spread: float, tally: Tally, share: Share
) -> None:  # fmt: skip
    """Make the step of sentence j of the batch, which is s, in those rows of weights that are the thread's own."""
    batch = tally.batch
    step = Step(batch.change[j], spread / (batch.length[j] * batch.length[j]), tally.clock[VECTORS] + j)
    if spread > 0.0:
        adaptive_features(v, w, x, s, batch.path[j], tally.done, step, share)
    else:
        add_features(v, w, x, s, batch.path[j], step, share)


@part
def _change_pairs(v: Views, w: Weights, n: int, j: int, spread: float, workspace: Workspace, tally: Tally) -> None:
    """Make the rest of the step of sentence j of the batch, which has n tokens."""
    batch = tally.batch
    step = Step(batch.change[j], spread / (batch.length[j] * batch.length[j]), tally.clock[VECTORS] + j)
    if spread > 0.0:
        adaptive_pairs(v, w, n, batch.path[j], workspace.times, step)
    else:
        add_pairs(v, w, n, batch.path[j], step)


@part
def _count(y: int, j: int, tally: Tally, cap: int, fixed: bool) -> None:
    """Count what was found for sentence j of the batch, of class y, and decide whether it is decoded again."""
    batch, counts = tally.batch, tally.counts
    wrong = _is_wrong(y, batch.score[j])
    if batch.rounds[j] == 0 and wrong:
        counts[WRONG_POSITIVES if y > 0 else WRONG_NEGATIVES] += 1
    if batch.updates[j]:
        counts[UPDATES] += 1
        counts[SQUARED_LOSS] += batch.loss[j, 0]
        counts[RIVAL_LOSS] += batch.loss[j, 1]
    batch.rounds[j] += 1
    again = y < 0 and wrong and batch.updates[j]
    batch.waits[j] = again and batch.rounds[j] < cap
    if fixed:
        return
    counts[DECODED] += 1
    if not batch.waits[j]:
        counts[CAPPED] += again
        if y < 0:
            tally.again[batch.rounds[j] - 1] += 1


@part
def _copy_structure(v: Views, store: Store, entry: int, n: int, workspace: Workspace) -> None:
    """Copy a structure of the store to workspace.path."""
    at = store.start[entry]
    for r in range(v.size.size):
        for i in range(n):
            workspace.path[r, i] = store.states[at + r * n + i]


@part
def _find_all(
    v: Views, w: Weights, data: Labelled, store: Store, some: np.ndarray, how: Training, workspace: Workspace,
    tally: Tally, team: Team,
) -> None:  # fmt: skip
    """Find the steps of sentences of the batch `some` that wait: those that no other thread has claimed."""
    fixed, x, batch = store.size[0] > 0, data.x, tally.batch
    taken = claim(team)
    while taken < some.size:
        j = tally.order[taken]
        if batch.waits[j]:
            s = _sentence(store, some[j])
            if fixed:
                _copy_structure(v, store, some[j], x.offset[s + 1] - x.offset[s], workspace)
                batch.score[j] = score_of(v, w, x, s, workspace)
            else:
                batch.score[j] = search(v, w, x, s, workspace, how.decoding, tally.stale[0])
                tally.stale[0] = False
            _find(v, w, data, s, j, workspace, how, tally)
        taken = claim(team)


@part
def _finish_round(
    v: Views, w: Weights, data: Labelled, store: Store, some: np.ndarray, how: Training, workspace: Workspace,
    tally: Tally, share: Share,
) -> None:  # fmt: skip
    """What one thread does after a round of the batch `some`, in the order of its sentences: count, give out rows, make
    steps of pairs."""
    batch, x, spread = tally.batch, data.x, how.rule.spread
    batch.left[0] = 0
    for j in range(some.size):
        if not batch.waits[j]:
            batch.updates[j] = False
            continue
        s = _sentence(store, some[j])
        if batch.updates[j]:
            _change(v, w, x, s, j, spread, tally, share)
            if v.pairs:
                _change_pairs(v, w, x.offset[s + 1] - x.offset[s], j, spread, workspace, tally)
        _count(data.y[s], j, tally, how.cap, store.size[0] > 0)
        batch.left[0] += batch.waits[j]


@part
def _change_own(
    v: Views, w: Weights, x: Sentences, store: Store, some: np.ndarray, how: Training, tally: Tally, team: Team
) -> None:  # fmt: skip
    """Make the steps of a round in the thread's own rows, unless it was alone and has made them."""
    batch = tally.batch
    for j in range(some.size):
        if batch.updates[j]:
            tally.stale[0] = True
            if team.size > 1:
                _change(v, w, x, _sentence(store, some[j]), j, how.rule.spread, tally, share_of(team, w.one.w.shape[1]))


@part
def _end_batch(tally: Tally, n: int) -> None:
    """Make the batch ready for others after its n sentences."""
    for j in range(n):
        tally.batch.waits[j], tally.batch.rounds[j] = True, 0
    tally.clock[VECTORS] += n
    tally.clock[EXAMPLES] += n


@kernel
def train_latent(
    v: Views, w: Weights, data: Labelled, store: Store, examples: I64, how: Training, workspace: Workspace,
    tally: Tally, team: Team,
) -> None:  # fmt: skip
    """Learn from the sentences `examples` i64[] in their order, batch by batch; if the store has structures, from its
    entries `examples` instead, without decoding."""
    batch, order, first = tally.batch, tally.order, 0
    tally.stale[0] = True
    for j in range(order.size):
        order[j] = j
    begin_phases(team)
    while first < examples.size and not is_broken(team):
        some = examples[first : first + order.size]
        if store.size[0] == 0:
            longest_first(order[: some.size], data.x.offset, examples, first)
        left = 1
        while left > 0 and not is_broken(team):
            _find_all(v, w, data, store, some, how, workspace, tally, team)
            if arrive(team, FIND):
                share = serial_share(team, team.size == 1)
                _finish_round(v, w, data, store, some, how, workspace, tally, share)
                release(team)
            _change_own(v, w, data.x, store, some, how, tally, team)
            if arrive(team, APPLY):
                if batch.left[0] == 0:
                    _end_batch(tally, some.size)
                release(team)
            left = batch.left[0]
        first += some.size


@kernel
def decide(
    v: Views, w: Weights, x: Sentences, examples: I64, how: Decoding, workspace: Workspace, scores: F64, states: I16_2D
) -> None:  # fmt: skip
    """Write the scores f64[S] of the sentences `examples`, and unless `states` i16[R, N] is empty their structures."""
    for k in range(examples.size):
        s = examples[k]
        score = search(v, w, x, s, workspace, how, k == 0)
        if how.normalise:
            score /= max(1.0, np.sqrt(squared_length(v, x, s, workspace)))
        scores[s] = score
        lo = x.offset[s]
        if states.size > 0:
            for r in range(v.size.size):
                for i in range(x.offset[s + 1] - lo):
                    states[r, lo + i] = workspace.path[r, i]


# --- the store of fixed structures ---------------------------------------------------------------------------


@part
def _is_entry(store: Store, entry: int, states: np.ndarray, lo: int, n: int) -> bool:
    at = store.start[entry]
    for r in range(states.shape[0]):
        for i in range(n):
            if store.states[at + r * n + i] != states[r, lo + i]:
                return False
    return True


@kernel
def add_new(store: Store, states: I16_2D, offset: I64, sentences: I64) -> int:
    """Add the structures states i16[R, N] of some sentences, except those that are already stored. Returns the
    number of new ones. The store must be large enough for all."""
    found = 0
    for k in range(sentences.size):
        s = sentences[k]
        lo = offset[s]
        n = offset[s + 1] - lo
        entry = store.head[s]
        while entry >= 0 and not _is_entry(store, entry, states, lo, n):
            entry = store.link[entry]
        if entry >= 0:
            continue
        new, at = store.size[0], store.size[1]
        store.link[new], store.owner[new], store.start[new] = store.head[s], s, at
        store.head[s] = new
        for r in range(states.shape[0]):
            for i in range(n):
                store.states[at + r * n + i] = states[r, lo + i]
        store.size[0], store.size[1] = new + 1, at + states.shape[0] * n
        found += 1
    return found
