"""A trained parser: templates, actions and weights, and how they parse. See serialise.py for its file."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from palmette.data.corpus import bytes_of, column_of_types
from palmette.data.stream import map_in_order
from palmette.data.treebank import Treebank
from palmette.kernels.core.hashing import hash_pieces
from palmette.kernels.learning.violation import STANDARD
from palmette.parsing.hypergraph import Derivation, Hypergraph
from palmette.parsing.kernels.forms import (
    LEFT,
    ROOT,
    SHIFT,
    Grammar,
    SearchOptions,
    Small,
    Weights,
    Words,
    Workspace,
    long_list,
    make_workspace,
    not_small,
    row_width,
)
from palmette.parsing.kernels.lists import forest, list_parses
from palmette.parsing.kernels.small import small_sizes, spread_small
from palmette.parsing.kernels.train import parse
from palmette.parsing.kernels.weights import CLASSES, spread_lists
from palmette.parsing.options import TreeSettings
from palmette.parsing.templates import Templates, read_cells

# The grammar, the relations and one workspace per thread are kept between calls, so that short texts are fast.
# The former content of a workspace never changes a tree.

SHORT = 64  # words of a text whose workspace is kept
WIDEST = 64  # beam of such a workspace


class KeptGrammar:
    """What follows from some parts of a parser, as long as it has them. relations: their names, `root` is one."""

    def __init__(self, parts: Sequence[Any], grammar: Grammar, relations: Sequence[str], root: str) -> None:
        self.parts, self.grammar = parts, grammar
        self.relations = column_of_types(np.zeros(0, np.int32), relations)
        self.root = np.int32(relations.index(root))
        self._local = threading.local()

    def fits(self, parts: Sequence[Any]) -> bool:
        """Whether the parser still has the same parts."""
        return all(own is other for own, other in zip(self.parts, parts, strict=True))

    def workspace(self, how: SearchOptions, longest: int, words: int) -> Workspace:
        """A workspace for so many words in sentences of at most `longest`: this thread's own if they are few."""
        if words > SHORT or how.width > WIDEST:
            return make_workspace(self.grammar, longest, how, words=words)
        kept: tuple[SearchOptions, Workspace] | None = getattr(self._local, "kept", None)
        if kept is None or kept[0] != how:
            kept = self._local.kept = how, make_workspace(self.grammar, SHORT, how, words=SHORT)
        return kept[1]


Action = tuple[int, str]  # a move and a relation; the shift has none, and a ROOT that of the root
SHIFTING: Action = (SHIFT, "")


@dataclass
class ParserModel:
    """Templates, actions and weights."""

    templates: Templates
    actions: list[Action]  # the shift first
    root: str  # the relation of the root, if no action has the move ROOT
    weights: Weights
    settings: TreeSettings = field(default_factory=TreeSettings)
    meta: dict[str, Any] = field(default_factory=dict)  # training log, tags: plain JSON
    checkpoint: dict[str, np.ndarray] = field(default_factory=dict)  # of training; see parsing/training.py
    _kept: KeptGrammar | None = field(default=None, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """A pickle has no workspaces: they are made again."""
        return self.__dict__ | {"_kept": None}

    @property
    def lifts(self) -> bool:
        """Whether relations may mark lifted arcs, which are then put back; see projective.py."""
        return self.settings.non_projective != "skip"

    @property
    def relations(self) -> list[str]:
        """Relations by number: those of the actions in order of first use, then that of the root."""
        return relations_of(self.actions, self.root)

    @property
    def roots(self) -> list[str]:
        """The relations that a root may have."""
        return [relation for move, relation in self.actions if move == ROOT] or [self.root]

    @property
    def is_compact(self) -> bool:
        """Whether the weights have the compact form; see compact.py."""
        return self.weights.small.start.size > 0

    def counts(self) -> tuple[int, int]:
        """The numbers of features and of weights other than zero."""
        if self.is_compact:
            features, weights = small_sizes(self.weights.small, self.n_actions)
            return int(features), int(weights)
        return int(np.count_nonzero(self.weights.table[::2])), int(np.count_nonzero(self.weights.value[1::2]))

    @property
    def n_actions(self) -> int:
        """The number of actions, the hidden variants of arcs counted."""
        return n_actions(self.actions, self.settings)

    @property
    def kept(self) -> KeptGrammar:
        """What is made once for all texts."""
        made, parts = self._kept, (self.templates, self.actions, self.root, self.settings)
        if made is None or not made.fits(parts):
            names = self.relations
            grammar = make_grammar(self.templates, self.actions, names, self.settings)
            made = self._kept = KeptGrammar(parts, grammar, names, self.root)
        return made

    def grammar(self) -> Grammar:
        return self.kept.grammar

    def encode(self, treebank: Treebank) -> Words:
        """Sentences without their trees, as the kernels read them."""
        return encode(treebank, self.templates, self.relations, self.settings.unicode, gold=False)

    def parse(self, treebank: Treebank, beam: int, merge: bool, threads: int = 1) -> Parsed:
        """The best trees. Threads take blocks of sentences, so the result does not depend on their number."""
        words = self.encode(treebank)
        heads, relations = np.full(treebank.n_tokens, -1, np.int32), np.full(treebank.n_tokens, -1, np.int32)
        scores, kept = np.zeros(treebank.n_sentences), self.kept
        grammar = kept.grammar
        how = SearchOptions(beam, merge, STANDARD)
        parts = [(int(a), int(b)) for a, b in _shares(words.offset, 4 * threads if threads > 1 else 1)]

        def work(part: tuple[int, int]) -> int:
            size = int(words.offset[part[1]] - words.offset[part[0]])
            workspace = kept.workspace(how, longest(words, *part), size)
            return int(parse(workspace, grammar, self.weights, words, np.arange(*part), how, heads, relations, scores))

        return Parsed(heads, relations, scores, sum(map_in_order(work, parts, threads)))

    def with_trees(self, treebank: Treebank, heads: np.ndarray, relations: np.ndarray) -> Treebank:
        """The treebank with trees that `parse` returned."""
        kept = self.kept
        numbers = np.where(relations < 0, kept.root, relations)
        return treebank.with_trees(heads + np.int32(1), kept.relations.with_ids(numbers))

    def save(self, path: str) -> None:
        """Write a model file; see serialise.py."""
        from palmette.parsing.serialise import save_parser

        save_parser(self, path)


@dataclass
class Parsed:
    heads: np.ndarray  # i32[N]  within the sentence, from 0; -1: the root
    relations: np.ndarray  # i32[N]  into the model's relations; -1: that of the root
    scores: np.ndarray  # f64[S]
    merges: int


def relations_of(actions: Sequence[Action], root: str) -> list[str]:
    return list(dict.fromkeys([relation for _, relation in actions[1:]] + [root]))


def n_actions(actions: Sequence[Action], settings: TreeSettings) -> int:
    """The number of actions that have weights: the shift, and all variants of the arcs."""
    return 1 + (len(actions) - 1) * settings.variants


def make_grammar(
    templates: Templates, actions: Sequence[Action], relations: Sequence[str], settings: TreeSettings | None = None
) -> Grammar:
    """Templates and actions as the kernels read them."""
    settings = settings or TreeSettings()
    k = settings.variants
    arcs = [arc for arc in actions[1:] for _ in range(k)]
    kind, node, column = (np.array([atom[k] for atom in templates.atoms], np.int32) for k in range(3))
    ptr = np.concatenate(([0], np.cumsum([len(atoms) for atoms in templates.lists]))).astype(np.int32)
    number = {name: k for k, name in enumerate(relations)}
    action = np.full((4, len(relations)), -1, np.int32)
    for a, (move, relation) in enumerate(actions[1:]):
        action[move, number[relation]] = 1 + a * k
    marks, _ = hash_pieces(*bytes_of(relations))
    return Grammar(
        kind, node, column, np.array(templates.stack, np.int32), ptr,
        np.array([atom for atoms in templates.lists for atom in atoms], np.int32),
        np.array(templates.seeds, np.uint64), np.array([SHIFT, *(move for move, _ in arcs)], np.int32),
        np.array([0, *(number[relation] for _, relation in arcs)], np.int32), action, marks,
        templates.reads_relations, k, settings.seed, settings.init_size if k > 1 else 0.0,
        any(move == ROOT for move, _ in actions),
    )  # fmt: skip


def encode(treebank: Treebank, templates: Templates, relations: Sequence[str], unicode: str, *, gold: bool) -> Words:
    """Sentences as the kernels read them, with their trees or without. `unicode`: the form of the cells."""
    n = treebank.n_tokens
    head, relation = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    if gold:
        number = {name: k for k, name in enumerate(relations)}
        numbers = np.array([number.get(name, -1) for name in treebank.relations.types], np.int32)
        head, relation = treebank.heads - np.int32(1), numbers[treebank.relations.ids]
    return Words(treebank.offset, read_cells(treebank, templates, unicode), head, relation)


def longest(words: Words, first: int = 0, last: int | None = None) -> int:
    """The number of words of the longest of the sentences first..last."""
    offset = words.offset[first : None if last is None else last + 1]
    return int(np.diff(offset).max(initial=1))


def _shares(offset: np.ndarray, parts: int) -> list[tuple[int, int]]:
    """Ranges of sentences with about the same number of words."""
    wanted = np.linspace(0, offset[-1], parts + 1)
    marks = np.unique(np.concatenate(([0], np.searchsorted(offset, wanted[1:-1]), [offset.size - 1])))
    return list(pairwise(marks))


def frozen_weights(table: np.ndarray, entry: np.ndarray, actions: int) -> Weights:
    """Weights for parsing, without space for training; long lists become rows."""
    width = row_width(actions)
    rows, long = spread_lists(table, entry, width, long_list(width))
    return _for_parsing(table, entry, rows, long, long_list(width), not_small())


def small_weights(small: Small, actions: int) -> Weights:
    """Weights for parsing in compact form; long lists become rows."""
    width = row_width(actions)
    rows, long = spread_small(small, width, long_list(width))
    return _for_parsing(np.zeros(0, np.uint64), np.zeros(0, np.int32), rows, long, long_list(width), small)


def _for_parsing(
    table: np.ndarray, entry: np.ndarray, rows: np.ndarray, long: np.ndarray, least: int, small: Small
) -> Weights:
    free, used, none = np.full(CLASSES, -1, np.int64), np.zeros(2, np.int64), np.zeros(0, np.float32)
    return Weights(table, entry, entry.view(np.float32), np.zeros(0), none, free, used, rows, long, least, small)


# The n best trees of a sentence, each once: from the last beam, or with merging by lazy k-best over the forest.

TRIES = 50  # derivations per tree that are looked at, at most: many make the same tree


class ScoredTree(NamedTuple):
    score: float
    heads: np.ndarray  # i32[n]  from 0, -1: the root
    relations: np.ndarray  # i32[n]  numbers of the model's relations, -1: the root, if its relation is not chosen


def best_trees(
    model: ParserModel, grammar: Grammar, words: Words, s: int, n: int, beam: int, merge: bool
) -> list[ScoredTree]:
    """At most n different trees of sentence s, best first."""
    found: list[ScoredTree] = []
    seen: set[bytes] = set()
    for tries, tree in enumerate(_all_trees(model, grammar, words, s, beam, merge)):
        spelt = tree.heads.tobytes() + tree.relations.tobytes()
        if spelt not in seen:
            seen.add(spelt)
            found.append(tree)
        if len(found) == n or tries > TRIES * n:
            break
    return found


def _all_trees(model: ParserModel, g: Grammar, words: Words, s: int, beam: int, merge: bool) -> Iterator[ScoredTree]:
    """Trees, best first; the same tree may occur again."""
    size = int(words.offset[s + 1] - words.offset[s])
    how = SearchOptions(beam, merge, STANDARD)
    workspace = make_workspace(g, size, how)
    if not merge:
        heads, relations = np.full((beam, size), -1, np.int32), np.full((beam, size), -1, np.int32)
        scores = np.zeros(beam)
        for k in range(list_parses(workspace, g, model.weights, words, s, how, heads, relations, scores)):
            yield ScoredTree(float(scores[k]), heads[k], relations[k])
        return
    edges, scores, word, last, roots, first_shift = forest(workspace, g, model.weights, words, s, how)
    graph = Hypergraph()
    for (x, action, under, over), score in zip(edges.tolist(), scores.tolist(), strict=True):
        graph.add(x, [] if under < 0 else [under, over], score, (action, under, over))
    for x, root in zip(last.tolist(), roots.tolist(), strict=True):
        graph.add("end", [x], float(first_shift), (root, -1, x))
    for found in graph.derivations("end"):
        yield _tree(found, g, word, size)


def _tree(found: Derivation, g: Grammar, word: np.ndarray, n: int) -> ScoredTree:
    heads, relations = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    for edge in found.edges():
        action, under, over = edge.label
        if under >= 0:
            s1, s0 = word[under], word[over]
            child, head = (s1, s0) if g.move[action] == LEFT else (s0, s1)
            heads[child], relations[child] = head, g.relation[action]
        elif over >= 0:
            relations[word[over]] = action  # of the last edge: the relation of the root
    return ScoredTree(found.score, heads, relations)
