"""Slow twin of the parser, from the definitions: a state is a stack, a count of shifted words and a set of arcs; a
feature is a template with the values that its atoms read; weights are dictionaries; a beam is a sorted list; and
training adds bags of features. Nothing of src is used.

Words are dictionaries (form, lemma, upos, xpos, feats), trees lists of (head counted from 1, relation). An action is
(move, relation); action 0 is the shift. A hidden variant of an arc is written into its relation, as in `obj#1`. Ties:
candidates are listed item by item, the shift first, and a stable sort keeps that order. Perceptron weights are whole
numbers, so that all comparisons are exact.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Word = Mapping[str, str]
Arc = tuple[int, int, str]  # head, dependant, relation; words counted from 0
Action = tuple[str, str]
Path = tuple[int, ...]  # numbers of actions
Feature = tuple[int, tuple[Any, ...]]  # template, values
Bag = Counter[tuple[Feature, int]]  # features with their actions
Weights = Mapping[Feature, Mapping[int, float]]

MISSING = None
FIELDS = {"w": "form", "m": "lemma", "u": "upos", "x": "xpos", "f": "feats"}
FARTHEST = 10


# --- states and actions ---------------------------------------------------------------------------------------


class State(NamedTuple):
    """What has been built: words on the stack, how many have been shifted, and arcs."""

    stack: tuple[int, ...] = ()
    shifted: int = 0
    arcs: frozenset[Arc] = frozenset()

    def dependants(self, word: int) -> list[tuple[int, str]]:
        return sorted((child, relation) for head, child, relation in self.arcs if head == word)


def plain(relation: str) -> str:
    """The relation without its hidden variant."""
    return relation.partition("#")[0]


def variants_of(actions: Sequence[Action], k: int) -> list[Action]:
    """The shift, and k variants of each arc."""
    return [actions[0], *((move, f"{relation}#{v}") for move, relation in actions[1:] for v in range(k))]


def without_variants(path: Path, k: int) -> Path:
    return tuple(action and 1 + (action - 1) // k for action in path)


def actions_of(trees: Sequence[Sequence[tuple[int, str]]]) -> list[Action]:
    """The shift, then arcs to the left by relation, then arcs to the right."""
    arcs = {
        ("left" if head > k else "right", relation)
        for tree in trees
        for k, (head, relation) in enumerate(tree, 1)
        if head
    }
    return [("shift", ""), *sorted(arcs)]


def allowed(state: State, n: int, actions: Sequence[Action]) -> list[int]:
    found = [0] if state.shifted < n else []
    return found + list(range(1, len(actions))) if len(state.stack) >= 2 else found


def after(state: State, action: Action) -> State:
    move, relation = action
    if move == "shift":
        return State((*state.stack, state.shifted), state.shifted + 1, state.arcs)
    *rest, s1, s0 = state.stack
    head, child = (s0, s1) if move == "left" else (s1, s0)
    return State((*rest, head), state.shifted, state.arcs | {(head, child, relation)})


def states_along(path: Path, actions: Sequence[Action]) -> Iterator[State]:
    """The state before each action, and the one at the end."""
    state = State()
    yield state
    for action in path:
        state = after(state, actions[action])
        yield state


def tree_of(state: State, n: int) -> list[tuple[int, str]]:
    """Head (from 1, 0: the root) and relation of each word; the root's is empty."""
    found = {child: (head + 1, plain(relation)) for head, child, relation in state.arcs}
    return [found.get(k, (0, "")) for k in range(n)]


def oracle(tree: Sequence[tuple[int, str]], actions: Sequence[Action]) -> Path | None:
    """Reduce as soon as possible; None if that does not build the tree."""
    number = {action: k for k, action in enumerate(actions)}
    heads = [head - 1 for head, _ in tree]
    state, path = State(), []
    while state.shifted < len(tree) or len(state.stack) > 1:
        best = ("shift", "")
        if len(state.stack) >= 2:
            s1, s0 = state.stack[-2:]
            done = {word: len(state.dependants(word)) == heads.count(word) for word in (s1, s0)}
            if heads[s1] == s0 and done[s1]:
                best = ("left", tree[s1][1])
            elif heads[s0] == s1 and done[s0]:
                best = ("right", tree[s0][1])
        if best not in number or (best[0] == "shift" and state.shifted == len(tree)):
            return None
        path.append(number[best])
        state = after(state, best)
    return tuple(path)


# --- features -------------------------------------------------------------------------------------------------


def atoms_of(line: str) -> tuple[tuple[str, str], ...]:
    """(node, what is read of it) for each atom of a template."""
    found: list[tuple[str, str]] = []
    for word in line.split():
        node, _, read = word.rpartition(".")
        if word == "distance":
            found.append(("", "distance"))
        elif read in ("rel", "v", "vl", "vr", "sl", "sr") or read.startswith("f:"):
            found.append((node, read))
        else:
            found += [(node, letter) for letter in read]
    return tuple(found)


def templates_of(text: str) -> list[tuple[tuple[str, str], ...]]:
    return [atoms_of(line) for line in text.splitlines() if line.strip()]


def node_at(state: State, n: int, node: str) -> tuple[int, str] | None:
    """The word that a node stands for and its relation, if there is such a word."""
    place, _, child = node.partition(".")
    k = int(place[1])
    if place[0] == "q":
        return (state.shifted + k, "") if state.shifted + k < n else None
    if len(state.stack) <= k:
        return None
    word = state.stack[-1 - k]
    if not child:
        return word, ""
    left = [found for found in state.dependants(word) if found[0] < word]
    right = [found for found in reversed(state.dependants(word)) if found[0] > word]
    side, rank = (left if child[0] == "l" else right), (1 if child.endswith("2") else 0)
    return side[rank] if len(side) > rank else None


def value(sentence: Sequence[Word], state: State, node: str, read: str) -> Any:
    if read == "distance":
        return min(state.stack[-1] - state.stack[-2], FARTHEST) if len(state.stack) >= 2 else MISSING
    found = node_at(state, len(sentence), node)
    if found is None:
        return MISSING
    word, relation = found
    if read in ("rel", "v"):
        return plain(relation) if read == "rel" else relation.partition("#")[2]
    if read in ("vl", "vr", "sl", "sr"):
        own = [plain(r) for child, r in state.dependants(word) if (child < word) == (read[1] == "l")]
        return len(own) if read[0] == "v" else tuple(sorted(own))
    cells = {"lemma": "_", "upos": "_", "xpos": "_", "feats": "_", **sentence[word]}
    if read == "t":
        return cells["xpos"] if cells["xpos"] != "_" else cells["upos"]
    if read.startswith("f:"):
        own = dict(part.split("=", 1) for part in cells["feats"].split("|") if "=" in part)
        return tuple(own.get(name) for name in read[2:].split("+"))
    return cells[FIELDS[read]]


class Sentence:
    """Words, and the features of each state that was asked for."""

    def __init__(self, words: Sequence[Word], templates: Sequence[Sequence[tuple[str, str]]]) -> None:
        self.words, self.templates = words, templates
        self.n = len(words)
        self.atoms = {atom for template in templates for atom in template}
        self._known: dict[State, list[Feature]] = {}

    def features(self, state: State) -> list[Feature]:
        if state not in self._known:
            values = {atom: value(self.words, state, *atom) for atom in self.atoms}
            self._known[state] = [(k, tuple(values[a] for a in atoms)) for k, atoms in enumerate(self.templates)]
        return self._known[state]

    def bag(self, path: Path, actions: Sequence[Action]) -> Bag:
        """How often each feature happens with each action along a path."""
        found: Bag = Counter()
        for state, action in zip(states_along(path, actions), path, strict=False):
            found.update((feature, action) for feature in self.features(state))
        return found


def difference(one: Bag, other: Bag) -> dict[tuple[Feature, int], int]:
    """one - other, without zeros."""
    return {key: one[key] - other[key] for key in one.keys() | other.keys() if one[key] != other[key]}


# --- search ---------------------------------------------------------------------------------------------------


class Item(NamedTuple):
    score: float
    state: State
    path: Path
    terms: tuple[tuple[float, ...], ...] = ()  # of each step the weights other than zero, by template

    def is_exact(self) -> bool:
        """Whether the sum is that in any order and in float32 too."""
        return all(4096 * term == int(4096 * term) for terms in self.terms for term in terms)


START = Item(0.0, State(), ())


class Risky(Exception):
    """Two numbers are so near each other that rounding may put them in another order."""


NEAR = 1e-4


def check_apart(one: Item, other: Item) -> None:
    if abs(one.score - other.score) < NEAR and not ((one.is_exact() and other.is_exact()) or one.terms == other.terms):
        raise Risky


def with_cost(item: Item) -> Item:
    return item._replace(score=item.score + 1, terms=(*item.terms[:-1], (*item.terms[-1], 1.0)))


class Model(NamedTuple):
    actions: Sequence[Action]
    weights: Weights

    def extended(self, sentence: Sentence, item: Item) -> list[Item]:
        """All that can follow an item, the shift first."""
        sums: dict[int, list[float]] = defaultdict(list)
        for feature in sentence.features(item.state):
            for action, weight in self.weights.get(feature, {}).items():
                if weight:
                    sums[action].append(weight)
        return [
            Item(
                item.score + sum(sums[action]), after(item.state, self.actions[action]), (*item.path, action),
                (*item.terms, tuple(sums[action])),
            )
            for action in allowed(item.state, sentence.n, self.actions)
        ]  # fmt: skip

    def scored(self, sentence: Sentence, path: Path) -> list[Item]:
        """The prefixes of a path, of 0, 1, ... steps."""
        found = [START]
        for k in range(1, len(path) + 1):
            found += [item for item in self.extended(sentence, found[-1]) if item.path == path[:k]]
        return found

    def step(self, sentence: Sentence, items: Sequence[Item], beam: int, gold: Path | None = None) -> list[Item]:
        """The best of what follows; with gold, every other action scores 1 more."""
        found = [new for item in items for new in self.extended(sentence, item)]
        if gold is not None:
            wanted = [(move, plain(relation)) for move, relation in (self.actions[a] for a in gold)]
            made = [(item, *self.actions[item.path[-1]]) for item in found]
            found = [with_cost(i) if (m, plain(r)) != wanted[len(i.path) - 1] else i for i, m, r in made]
        found.sort(key=lambda item: -item.score)
        for k, (one, other) in enumerate(itertools.pairwise(found)):
            if k >= beam - 1 and one.score - other.score >= NEAR:
                break
            check_apart(one, other)
        return found[:beam]

    def search(self, sentence: Sentence, beam: int, gold: Path | None = None) -> list[list[Item]]:
        """The beam after 0, 1, ..., 2n - 1 steps; with gold, costs are added to scores."""
        beams = [[START]]
        for _ in range(2 * sentence.n - 1):
            beams.append(self.step(sentence, beams[-1], beam, gold))
        return beams

    def everything(self, sentence: Sentence) -> list[Item]:
        """All complete derivations, best first."""
        return self.search(sentence, 10**9)[-1]


def distinct_trees(items: Sequence[Item], n: int) -> list[tuple[float, list[tuple[int, str]]]]:
    """Each tree once, with the score of the first item that has it."""
    found: dict[frozenset[Arc], Item] = {}
    for item in items:
        found.setdefault(item.state.arcs, item)
    return [(item.score, tree_of(item.state, n)) for item in found.values()]
