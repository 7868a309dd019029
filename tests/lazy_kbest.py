"""Test oracle: the K best paths of a trellis by lazy lists (Huang & Chiang 2005, Algorithm 3).

A second, independent algorithm beside `kernels/chain/kbest.py`, which the product uses. The tests compare both with
each other and with the enumeration of all paths, ties included.

A vertex is a token j with the states after it that its choice depends on (none, one or two, by the order). Its
derivations are pairs (h, rank): state h at token j, then the rank-th best derivation of the vertex that this leads to.
A derivation's loss is how much worse h is than the best choice, plus the loss of that rank:

    loss(v, (h, rank)) = best choice at v - choice h  +  loss(vertex before v under h, rank)

Each vertex that is visited has one sorted list of K: derivations that are settled in front, candidates behind. At
first the candidates are the K best states with rank 0. The next derivation is settled only when somebody asks: then
the last one settled, (h, rank), gives its successor (h, rank + 1) to the candidates, which may have to be asked for
in turn at the vertex before. Such a question runs down a chain of vertices, so a stack of tokens is all it needs.

Ties: of paths with equal scores the one with the smaller state at the last token at which they differ comes first,
which here is: the smaller state, then the smaller rank. All sums are float64, over a table of best prefixes of its own:
nothing is shared with `astar` but the trellis.

Memory is O(K^2 n) numbers; `astar` needs O(K n).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Trellis, make_trellis
from palmette.kernels.chain.score import restrict, score
from palmette.kernels.core.compile import inline, kernel, part

NEW = -1


class Lists(NamedTuple):
    """The lists of the vertices visited; V of them at most."""

    number: np.ndarray  # i32[n * contexts]  the list of a vertex, NEW if it was not visited
    visited: np.ndarray  # i64[V]            the vertex of a list
    loss: np.ndarray  # f64[V, K]
    worse: np.ndarray  # f64[V, K]           of that, what the choice of the state is guilty of
    state: np.ndarray  # i32[V, K]
    rank: np.ndarray  # i32[V, K]
    settled: np.ndarray  # i32[V]
    size: np.ndarray  # i32[V]
    chain: np.ndarray  # i64[n]   vertices that wait for an answer, by token
    choice: np.ndarray  # f64[W]
    best: np.ndarray  # f64[n, 1 or H, H]  the best score of a path up to a token, by its last one or two states


def make_lists(T: Trellis, m: Chain, K: int) -> Lists:
    n, W = T.U.shape
    H = m.label_of.size
    contexts = H**m.order
    V = min(n * contexts, n * K)
    return Lists(
        np.full(n * contexts, NEW, np.int32),
        np.empty(V, np.int64),
        np.empty((V, K)),
        np.empty((V, K)),
        np.empty((V, K), np.int32),
        np.empty((V, K), np.int32),
        np.empty(V, np.int32),
        np.empty(V, np.int32),
        np.empty(n, np.int64),
        np.empty(W),
        np.empty((n, H if m.order == 2 else 1, H)),
    )


@inline
def _vertex_before(order: int, H: int, vertex: int, h: int) -> int:
    """The vertex that state h leads to. A vertex is (token * H + the state after it) * H + the one after that, without
    what its order lacks."""
    if order == 0:
        return vertex - 1
    if order == 1:
        return (vertex // H - 1) * H + h
    return ((vertex // H // H - 1) * H + h) * H + (vertex // H) % H


@inline
def _insert(
    loss: np.ndarray, worse: np.ndarray, state: np.ndarray, rank: np.ndarray, low: int, size: int,
    value: float, own: float, h: int, k: int,
) -> int:  # fmt: skip
    """Put a derivation in its place, not before `low`; the new size. The last one of a full list falls off."""
    K = loss.size
    at = size
    while at > low and (
        value < loss[at - 1]
        or (value == loss[at - 1] and (h < state[at - 1] or (h == state[at - 1] and k < rank[at - 1])))
    ):
        if at < K:
            loss[at], worse[at], state[at], rank[at] = loss[at - 1], worse[at - 1], state[at - 1], rank[at - 1]
        at -= 1
    if at < K:
        loss[at], worse[at], state[at], rank[at] = value, own, h, k
    return min(K, size + 1)


@part
def _beginnings(T: Trellis, order: int, H: int, n: int, best: np.ndarray) -> None:
    """The best score of a path up to each token. At the first token of order 2 there is no state before."""
    contexts = best.shape[1]
    for i in range(n):
        e, s = T.E[i if T.E.shape[0] > 1 else 0], T.S[i if T.S.shape[0] > 1 else 0]
        for g in range(contexts):
            for h in range(H):
                top = 0.0
                if i > 0 and order == 1:
                    top = -np.inf
                    for f in range(H):
                        top = max(top, best[i - 1, 0, f] + e[f, h])
                elif i == 1 and order == 2:
                    top = best[0, 0, g] + e[g, h]
                elif i > 1 and order == 2:
                    top = -np.inf
                    for f in range(H):
                        top = max(top, best[i - 1, f, g] + s[f, g, h])
                    top += e[g, h]
                elif i > 0:
                    top = best[i - 1, 0].max()
                best[i, g, h] = top + T.U[i, h]


@part
def _choices(T: Trellis, order: int, H: int, n: int, r: Lists, vertex: int) -> None:
    """How good each state at the token of a vertex is, followed by what the vertex stands for."""
    best, out = r.best, r.choice
    j = vertex // H**order
    next_one = (vertex // H) % H if order == 2 else vertex % H
    for h in range(H):
        if order == 0:
            out[h] = best[j, 0, h]
        elif order == 1:
            out[h] = best[j, 0, h]
            if j < n - 1:
                out[h] += T.E[j + 1 if T.E.shape[0] > 1 else 0, h, next_one]
        elif j == n - 1:
            out[h] = best[j, 0, h]
            for g in range(1, H if j > 0 else 1):
                out[h] = max(out[h], best[j, g, h])
        else:
            out[h] = best[j + 1, h, next_one]
            if j < n - 2:
                out[h] += T.S[j + 2 if T.S.shape[0] > 1 else 0, h, next_one, vertex % H]


@part
def _visit(T: Trellis, order: int, H: int, n: int, r: Lists, count: int, vertex: int) -> None:
    """Begin list number `count`: the best states, each followed by the best there is; the first one is settled."""
    loss, worse, state, rank, choice = r.loss[count], r.worse[count], r.state[count], r.rank[count], r.choice
    _choices(T, order, H, n, r, vertex)
    top = choice[0]
    for h in range(1, H):
        top = max(top, choice[h])
    size, K = 0, loss.size
    for h in range(H):
        value = top - choice[h]
        if value < np.inf and (size < K or value < loss[K - 1]):
            size = _insert(loss, worse, state, rank, 0, size, value, value, h, 0)
    r.number[vertex] = count
    r.visited[count] = vertex
    r.size[count] = size
    r.settled[count] = 1


@part
def _ask(T: Trellis, order: int, H: int, n: int, r: Lists, count: int, vertex: int) -> int:
    """Settle one more derivation of a vertex, if there is one; how many lists there are now."""
    number, loss, worse, state, rank = r.number, r.loss, r.worse, r.state, r.rank
    settled, size, chain = r.settled, r.size, r.chain
    contexts = H**order
    depth = 0
    while True:  # down: whose successor has to be asked for?
        if number[vertex] == NEW:
            _visit(T, order, H, n, r, count, vertex)
            count += 1
        v = number[vertex]
        chain[depth] = vertex
        depth += 1
        if vertex < contexts:  # at the first token nothing has a successor
            break
        last = settled[v] - 1
        before = _vertex_before(order, H, vertex, state[v, last])
        b = number[before]
        if b != NEW and settled[b] > rank[v, last] + 1:
            break
        vertex = before
    while depth > 0:  # up: take the successor, settle the next
        depth -= 1
        vertex = chain[depth]
        v = number[vertex]
        last = settled[v] - 1
        if vertex >= contexts:
            h, k = state[v, last], rank[v, last] + 1
            b = number[_vertex_before(order, H, vertex, h)]
            if settled[b] > k:
                own = worse[v, last]
                size[v] = _insert(loss[v], worse[v], state[v], rank[v], last + 1, size[v], own + loss[b, k], own, h, k)
        if settled[v] < size[v]:
            settled[v] += 1
    return count


@part
def kbest_lazy(T: Trellis, m: Chain, n: int, r: Lists, paths: np.ndarray, scores: np.ndarray) -> int:
    """Search a scored trellis: its best paths into paths i32[K, at least n], best first, their scores into scores
    f64[K]; how many were found (fewer than K: there are no more; 0: none is allowed)."""
    order, H = m.order, m.label_of.size
    K = paths.shape[0]
    _beginnings(T, order, H, n, r.best)
    scores[0] = r.best[n - 1, : r.best.shape[1] if n > 1 else 1].max()
    if scores[0] == -np.inf:
        return 0
    root = (n - 1) * H**order
    _visit(T, order, H, n, r, 0, root)
    count, found = 1, 1
    count = _follow(T, order, H, n, r, count, root, 0, paths[0])
    while found < K:
        count = _ask(T, order, H, n, r, count, root)
        if r.settled[0] == found:
            break
        count = _follow(T, order, H, n, r, count, root, found, paths[found])
        scores[found] = scores[0] - r.loss[0, found]
        found += 1
    for v in range(count):
        r.number[r.visited[v]] = NEW
    return found


@part
def _follow(T: Trellis, order: int, H: int, n: int, r: Lists, count: int, vertex: int, k: int, path: np.ndarray) -> int:
    """Write down the k-th derivation of the last token's vertex; how many lists there are now."""
    for j in range(n - 1, -1, -1):
        if r.number[vertex] == NEW:
            _visit(T, order, H, n, r, count, vertex)
            count += 1
        v = r.number[vertex]
        path[j] = r.state[v, k]
        k = r.rank[v, k]
        if j > 0:
            vertex = _vertex_before(order, H, vertex, path[j])
    return count


@kernel
def _by_lists(
    m: Chain, x: Data, T: Trellis, workspace: Lists, paths: np.ndarray, scores: np.ndarray, found: np.ndarray,
    restricted: bool,
) -> None:  # fmt: skip
    """Paths i32[K, N], scores f64[S, K] and their number found i64[S] of every sentence."""
    own = np.empty((paths.shape[0], T.U.shape[0]), np.int32)
    for s in range(x.offset.size - 1):
        lo, n = x.offset[s], score(T, m, x, s, s == 0)
        if restricted:
            restrict(T, m, x, lo, n)
        found[s] = kbest_lazy(T, m, n, workspace, own, scores[s])
        paths[:, lo : lo + n] = own[:, :n]


def by_lists(m: Chain, x: Data, paths: np.ndarray, scores: np.ndarray, found: np.ndarray, restricted: bool) -> None:
    T = make_trellis(m, x)
    _by_lists(m, x, T, make_lists(T, m, paths.shape[0]), paths, scores, found, restricted)
