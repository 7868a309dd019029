"""A trained parser: what parsing needs and what is saved.

In the file: the table of features and their lists of weights as arrays, and as JSON the templates, actions, settings
and history.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from palmette.data import model_file
from palmette.data.corpus import bytes_of, column_of_types
from palmette.data.treebank import Treebank
from palmette.errors import ModelError
from palmette.kernels.core.hashing import hash_pieces
from palmette.kernels.tree.forms import LEFT, RIGHT, SHIFT, Grammar, Weights, Words
from palmette.kernels.tree.train import parse
from palmette.kernels.tree.weights import CLASSES, MOST_ACTIONS, lists_of
from palmette.structures.tree.templates import Templates, compile_templates, read_cells

Action = tuple[int, str]  # a move and a relation; the shift has none
SHIFTING: Action = (SHIFT, "")


@dataclass
class ParserModel:
    """Templates, actions and weights."""

    templates: Templates
    actions: list[Action]  # the shift first
    root: str  # the relation of the root
    weights: Weights
    meta: dict[str, Any] = field(default_factory=dict)  # settings, history: plain JSON

    @property
    def lifts(self) -> bool:
        """Whether relations may be marked ones of lifted arcs, to be put back; see projective.py."""
        return self.meta.get("settings", {}).get("non_projective") != "skip"

    @property
    def relations(self) -> list[str]:
        """Relations by number: those of the actions in order of first use, then that of the root."""
        return relations_of(self.actions, self.root)

    def grammar(self) -> Grammar:
        return make_grammar(self.templates, self.actions, self.relations)

    def parse(self, treebank: Treebank, beam: int, merge: bool, threads: int = 1) -> Parsed:
        """The best trees. Sentences are shared out to threads in blocks, so the result does not depend on them."""
        words = encode(treebank, self.templates, self.relations, gold=False)
        heads, relations = np.full(treebank.n_tokens, -1, np.int32), np.full(treebank.n_tokens, -1, np.int32)
        scores, grammar = np.zeros(treebank.n_sentences), self.grammar()
        parts = [(int(a), int(b)) for a, b in _shares(words.offset, 4 * threads if threads > 1 else 1)]

        def work(part: tuple[int, int]) -> int:
            return int(parse(grammar, self.weights, words, *part, beam, merge, heads, relations, scores))

        with ThreadPoolExecutor(threads) as pool:
            merges = sum(pool.map(work, parts))
        return Parsed(heads, relations, scores, merges)

    def with_trees(self, treebank: Treebank, heads: np.ndarray, relations: np.ndarray) -> Treebank:
        """The treebank with trees as `parse` gives them."""
        names = self.relations
        numbers = np.where(relations < 0, names.index(self.root), relations).astype(np.int32)
        return treebank.with_trees((heads + 1).astype(np.int32), column_of_types(numbers, names))

    def save(self, path: str) -> None:
        model_file.save(path, *_packed(self))


@dataclass
class Parsed:
    heads: np.ndarray  # i32[N]  within the sentence, from 0; -1: the root
    relations: np.ndarray  # i32[N]  into the model's relations; -1: the root
    scores: np.ndarray  # f64[S]
    merges: int


def relations_of(actions: Sequence[Action], root: str) -> list[str]:
    return list(dict.fromkeys([relation for _, relation in actions[1:]] + [root]))


def make_grammar(templates: Templates, actions: Sequence[Action], relations: Sequence[str]) -> Grammar:
    """Templates and actions as the kernels want them."""
    kind, node, column = (np.array([atom[k] for atom in templates.atoms], np.int32) for k in range(3))
    ptr = np.concatenate(([0], np.cumsum([len(atoms) for atoms in templates.lists]))).astype(np.int32)
    number = {name: k for k, name in enumerate(relations)}
    action = np.full((3, len(relations)), -1, np.int32)
    for k, (move, relation) in enumerate(actions):
        if move != SHIFT:
            action[move, number[relation]] = k
    marks, _ = hash_pieces(*bytes_of(relations))
    return Grammar(
        kind, node, column, np.array(templates.stack, np.int32), ptr,
        np.array([atom for atoms in templates.lists for atom in atoms], np.int32),
        np.array(templates.seeds, np.uint64), np.array([move for move, _ in actions], np.int32),
        np.array([number.get(relation, 0) for _, relation in actions], np.int32), action, marks,
        templates.reads_relations,
    )  # fmt: skip


def encode(treebank: Treebank, templates: Templates, relations: Sequence[str], *, gold: bool) -> Words:
    """Sentences for the kernels, with their trees or without."""
    n = treebank.n_tokens
    head, relation = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    if gold:
        number = {name: k for k, name in enumerate(relations)}
        numbers = np.array([number.get(name, -1) for name in treebank.relations.types], np.int32)
        head, relation = treebank.heads - np.int32(1), numbers[treebank.relations.ids]
    return Words(treebank.offset, read_cells(treebank, templates.columns), head, relation)


def _shares(offset: np.ndarray, parts: int) -> list[tuple[int, int]]:
    """Ranges of sentences with about the same number of words."""
    wanted = np.linspace(0, offset[-1], parts + 1)
    marks = np.unique(np.concatenate(([0], np.searchsorted(offset, wanted[1:-1]), [offset.size - 1])))
    return list(pairwise(marks))


def frozen_weights(table: np.ndarray, entry: np.ndarray) -> Weights:
    """Weights that do not change any more."""
    return Weights(
        table, entry, entry.view(np.float32), np.zeros(0), np.full(CLASSES, -1, np.int64), np.zeros(2, np.int64)
    )


def _packed(model: ParserModel) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    meta = {
        "task": "parse",
        "templates": {"name": model.templates.name, "text": model.templates.text},
        "actions": [list(action) for action in model.actions],
        "root": model.root,
        **model.meta,
    }
    # How long it took differs from run to run, and equal trainings make equal files.
    meta["history"] = [
        {name: value for name, value in row.items() if name != "seconds"} for row in meta.get("history", [])
    ]
    return {"table": model.weights.table, "entry": model.weights.entry}, meta


def load_parser(path: str) -> ParserModel:
    """Read a model file. Every number that a kernel follows is checked."""
    arrays, meta = model_file.load(path)
    try:
        return _unpacked(arrays, meta, path)
    except (KeyError, TypeError, AttributeError, ValueError, UnicodeError) as error:
        raise ModelError(f"damaged model: its description lacks or misstates {error}", file=path) from None


def _unpacked(arrays: dict[str, np.ndarray], meta: dict[str, Any], path: str) -> ParserModel:
    if meta.get("task") != "parse":
        raise ModelError(f"a model for the task {meta.get('task')!r}, not a parser", file=path)
    described = meta.pop("templates")
    templates = compile_templates(described["text"], described["name"])
    actions: list[Action] = [(int(move), str(relation)) for move, relation in meta.pop("actions")]
    moves = {move for move, _ in actions[1:]}
    if not actions or actions[0] != SHIFTING or not moves <= {LEFT, RIGHT} or len(set(actions)) < len(actions):
        raise ModelError("damaged model: its actions are not one shift and arcs", file=path)
    if len(actions) > MOST_ACTIONS:
        raise ModelError(f"damaged model: {len(actions)} actions; at most {MOST_ACTIONS}", file=path)
    table = model_file.require(arrays, "table", np.uint64, (None,), file=path)
    entry = model_file.require(arrays, "entry", np.int32, (None,), file=path)
    _check_lists(table, entry, len(actions), path)
    root = meta.pop("root")
    if not isinstance(root, str):
        raise ModelError("damaged model: the relation of the root is no name", file=path)
    return ParserModel(templates, actions, root, frozen_weights(table, entry), meta)


def _check_lists(table: np.ndarray, entry: np.ndarray, n_actions: int, path: str) -> None:
    places = table.size // 2
    if table.size % 2 or places & (places - 1) or places < 2 or not (table[::2] == 0).any():
        raise ModelError("damaged model: its table of features has no power of two of places, or none free", file=path)
    if table[1::2][table[::2] == 0].any():  # a search that finds no feature reads the place all the same
        raise ModelError("damaged model: a list of weights without a feature", file=path)
    start, length = lists_of(table)
    if entry.size % 2 or entry.size < 2 or (start + length > entry.size // 2).any():
        raise ModelError("damaged model: a list of weights goes beyond the end", file=path)
    if (entry[::2] < 0).any() or (entry[::2] >= n_actions).any():
        raise ModelError("damaged model: a weight is of an action that does not exist", file=path)
    if not np.isfinite(entry.view(np.float32)[1::2]).all():
        raise ModelError("damaged model: a weight is not a number", file=path)
