"""K-best derivations of a directed acyclic hypergraph: parse forests, segmentations, or whatever else a dynamic
program walks through, with lists that grow only where they are asked (Huang & Chiang 2005, Algorithm 3).

A vertex is anything hashable. A hyperedge says that its head can be made of its tails, and what that scores; one
without tails is an axiom, such as a word. A derivation of a vertex is a hyperedge into it with a derivation of each of
its tails, and scores the sum of its hyperedges.

    forest = Hypergraph()
    forest.add("NP", score=1.0, label="time")
    forest.add("VP", score=0.5, label="flies")
    forest.add("S", ["NP", "VP"], score=2.0)
    forest.kbest("S", 5)

Ties: of two derivations of a vertex with equal scores the one whose hyperedge was added first comes first; with the
same hyperedge, the one that uses an earlier derivation of the first tail that differs.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from palmette.errors import UsageError

Vertex = Hashable
Ranks = tuple[int, ...]


class Edge(NamedTuple):
    """head <- tails, with a score; `label` is whatever the user wants to find again."""

    head: Vertex
    tails: tuple[Vertex, ...]
    score: float
    label: Any


class Derivation(NamedTuple):
    """A hyperedge, and how each of its tails is derived."""

    score: float
    edge: Edge
    parts: tuple[Derivation, ...]

    def edges(self) -> Iterator[Edge]:
        """All its hyperedges, from the top down and from left to right; one that is used twice comes twice."""
        waiting = [self]
        while waiting:
            one = waiting.pop()
            yield one.edge
            waiting.extend(reversed(one.parts))


class Hypergraph:
    """Vertices and hyperedges. Build it with `add`, then ask for derivations; both may be mixed."""

    def __init__(self) -> None:
        self._into: dict[Vertex, list[Edge]] = {}

    def add(self, head: Vertex, tails: Sequence[Vertex] = (), score: float = 0.0, label: Any = None) -> Edge:
        """One more hyperedge into `head`. With a score of minus infinity it is never used."""
        if math.isnan(score) or score == math.inf:
            raise UsageError(f"the score of a hyperedge into {head!r} is {score}: it must be below infinity")
        if isinstance(tails, str):
            raise UsageError(f"the tails of a hyperedge into {head!r} are the text {tails!r}: give a list of vertices")
        edge = Edge(head, tuple(tails), float(score), label)
        self._into.setdefault(head, []).append(edge)
        return edge

    def edges(self) -> Iterator[Edge]:
        for edges in self._into.values():
            yield from edges

    def derivations(self, root: Vertex) -> Iterator[Derivation]:
        """All derivations of a vertex, best first, each made only when it is asked for."""
        lists = _Lists(self._into, root)
        rank = 0
        while (found := lists.get(root, rank)) is not None:
            yield found
            rank += 1

    def kbest(self, root: Vertex, k: int) -> list[Derivation]:
        """The k best derivations of a vertex, best first; fewer if there are no more."""
        if k < 1:
            raise UsageError(f"k-best: {k} is not a number from 1 on")
        return [found for found, _ in zip(self.derivations(root), range(k), strict=False)]


class _Lists:
    """For each vertex its derivations in order, and the candidates for the next one.

    The last derivation of a vertex gives its successors (the same hyperedge, one of its tails derived in the next best
    way) to the candidates only when one more is asked for; that may ask for one more at the tails first. `get` keeps
    these questions on a stack of its own, so that a forest may be deeper than Python's."""

    def __init__(self, into: dict[Vertex, list[Edge]], root: Vertex) -> None:
        self.into = into
        self.done: dict[Vertex, list[Derivation]] = {}
        self.ranks: dict[Vertex, list[tuple[int, Ranks]]] = {}  # of `done`: hyperedge and ranks of its tails
        self.heap: dict[Vertex, list[tuple[float, int, Ranks]]] = {}
        self.seen: dict[Vertex, set[tuple[int, Ranks]]] = {}
        self.waiting: dict[Vertex, bool] = {}  # whether the last derivation has successors to give
        for vertex in _in_order(into, root):
            self._start(vertex)

    def get(self, vertex: Vertex, rank: int) -> Derivation | None:
        """The derivation of that rank (0 is the best one); None: there are not so many."""
        stack = [(vertex, rank)]
        while stack:
            asked, wanted = stack[-1]
            if self._settled(asked, wanted):
                stack.pop()
            elif missing := [need for need in self._needs(asked) if not self._settled(*need)]:
                stack += missing
            else:
                self._next(asked)
        return self.done[vertex][rank] if rank < len(self.done[vertex]) else None

    def _settled(self, vertex: Vertex, rank: int) -> bool:
        """Whether the derivation of that rank is known, or known not to exist."""
        return rank < len(self.done[vertex]) or not (self.waiting[vertex] or self.heap[vertex])

    def _start(self, vertex: Vertex) -> None:
        """Every hyperedge with the best derivations of its tails, which are known already, and the best of these."""
        self.done[vertex], self.ranks[vertex], self.heap[vertex], self.seen[vertex] = [], [], [], set()
        self.waiting[vertex] = False
        for number, edge in enumerate(self.into.get(vertex, ())):
            self._offer(vertex, number, (0,) * len(edge.tails))
        self._next(vertex)

    def _needs(self, vertex: Vertex) -> list[tuple[Vertex, int]]:
        """What the successors of the last derivation of a vertex are made of."""
        if not self.waiting[vertex]:
            return []
        number, ranks = self.ranks[vertex][-1]
        return [(tail, rank + 1) for tail, rank in zip(self.into[vertex][number].tails, ranks, strict=True)]

    def _next(self, vertex: Vertex) -> None:
        """Settle one more derivation, if there is one."""
        if self.waiting[vertex]:
            number, ranks = self.ranks[vertex][-1]
            for k, rank in enumerate(ranks):
                self._offer(vertex, number, (*ranks[:k], rank + 1, *ranks[k + 1 :]))
            self.waiting[vertex] = False
        if self.heap[vertex]:
            loss, number, ranks = heapq.heappop(self.heap[vertex])
            edge = self.into[vertex][number]
            parts = tuple(self.done[tail][rank] for tail, rank in zip(edge.tails, ranks, strict=True))
            self.done[vertex].append(Derivation(-loss, edge, parts))
            self.ranks[vertex].append((number, ranks))
            self.waiting[vertex] = True

    def _offer(self, vertex: Vertex, number: int, ranks: Ranks) -> None:
        """A candidate, unless it was there before or one of its parts does not exist."""
        edge = self.into[vertex][number]
        if edge.score == -math.inf or (number, ranks) in self.seen[vertex]:
            return
        score = edge.score
        for tail, rank in zip(edge.tails, ranks, strict=True):
            if rank >= len(self.done[tail]):
                return
            score += self.done[tail][rank].score
        self.seen[vertex].add((number, ranks))
        heapq.heappush(self.heap[vertex], (-score, number, ranks))


def _in_order(into: dict[Vertex, list[Edge]], root: Vertex) -> list[Vertex]:
    """The vertices that the root is made of, each behind all that it is made of itself."""
    order: list[Vertex] = []
    state: dict[Vertex, bool] = {}  # False: under way; True: in `order`
    stack = [(root, iter(_parts(into, root)))]
    state[root] = False
    while stack:
        vertex, rest = stack[-1]
        below = next(rest, _END)
        if below is _END:
            state[vertex] = True
            order.append(vertex)
            stack.pop()
        elif below not in state:
            state[below] = False
            stack.append((below, iter(_parts(into, below))))
        elif not state[below]:
            raise UsageError(f"the hypergraph has a cycle through {below!r}: a vertex cannot be made of itself")
    return order


_END = object()


def _parts(into: dict[Vertex, list[Edge]], vertex: Vertex) -> list[Vertex]:
    return [tail for edge in into.get(vertex, ()) for tail in edge.tails]
