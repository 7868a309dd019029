"""Why a parser took an action: its score against that of the best other action in the same state, template by template.

The score of an action in a state is a sum of weights, one for each template (a feature is a template with its values
there). What both actions have cancels; the rest adds up to the difference, exactly in float64 (see
structures/chain/explain.py). The search compares whole derivations: an action may be taken although another one scores
more in its state, if what follows makes up for it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from palmette.data.treebank import NOTHING, Treebank
from palmette.parsing.kernels.forms import (
    CELL,
    CHILD,
    CHILD_ACTION,
    CHILDREN,
    DISTANCE,
    LEFT,
    LEFT_SET,
    LEFT_VALENCY,
    N_LEFT,
    N_RIGHT,
    Q0,
    RELATION,
    RIGHT_SET,
    RIGHT_VALENCY,
    ROOT,
    S2,
    SHIFT,
    WORD,
    Grammar,
    States,
    make_memo,
)
from palmette.parsing.kernels.small import bucket_of, copy_small, find_small
from palmette.parsing.kernels.state import add_start, feature_keys, same_arc
from palmette.parsing.kernels.weights import find_key, list_length, list_start
from palmette.parsing.model import ParserModel
from palmette.parsing.templates import FIELDS, chosen_features, cluster_cells

_READ = {
    RELATION: "rel", LEFT_VALENCY: "vl", RIGHT_VALENCY: "vr", LEFT_SET: "sl", RIGHT_SET: "sr", DISTANCE: "distance",
}  # fmt: skip
_SIDES = ("l", "l2", "r", "r2")


class ActionPart(NamedTuple):
    """What a template adds to the difference: to the action taken less to the other."""

    attribute: str  # the template with the values that it has in the state
    amount: float


class ActionExplanation(NamedTuple):
    """An action, the best other one in its state, and what decides between them."""

    action: str
    other: str
    score: float  # of the action in its state
    difference: float  # to the score of the other
    parts: list[ActionPart]  # the largest first


class ActionExplainer:
    """Explains the actions of one sentence, whose search has filled `z`."""

    def __init__(self, model: ParserModel, g: Grammar, z: States, bank: Treebank) -> None:
        self.model, self.g, self.z, self.bank = model, g, z, bank
        self.memo = make_memo(g, 0)
        self.columns = [self._column(name) for name in model.templates.columns]

    def explain(self, state: int, action: int) -> ActionExplanation | None:
        """Why this action in this state; None if no other one was possible."""
        rows = self._rows(state)
        total = rows.sum(axis=0)
        others = [a for a in self._possible(state) if not same_arc(self.g, a, action)]
        if not others:
            return None
        other = max(others, key=lambda a: (total[a], -a))
        amounts = rows[:, action] - rows[:, other]
        names = [*(self._named(state, atoms) for atoms in self.model.templates.lists), "(start)"]
        parts = [ActionPart(name, float(v)) for name, v in zip(names, amounts, strict=True) if v]
        parts.sort(key=lambda one: -abs(one.amount))
        score, difference = math.fsum(rows[:, action]), math.fsum(part.amount for part in parts)
        return ActionExplanation(self.name(action), self.name(other), score, difference, parts)

    def name(self, action: int) -> str:
        """An action in words."""
        if action == SHIFT:
            return "shift"
        arc = "left arc" if int(self.g.move[action]) == LEFT else "right arc"
        return f"{arc} {self.model.relations[int(self.g.relation[action])]}"

    def _possible(self, state: int) -> list[int]:
        z, found = self.z, []
        if z.front[state] < self.bank.n_tokens:
            found.append(SHIFT)
        if 2 * int(z.front[state]) - int(z.step[state]) >= 2:
            found += [a for a in range(1, self.g.move.size) if self.g.move[a] != ROOT]
        return found

    def _rows(self, state: int) -> np.ndarray:
        """The weights of each template's feature for all actions f64[T + 1, A]; the last row is what weights of hidden
        variants started from."""
        g, w, small = self.g, self.model.weights, self.model.weights.small
        keys = np.zeros(g.seed.size, np.uint64)
        made = np.zeros((keys.size + 1, g.move.size))
        with np.errstate(over="ignore"):
            feature_keys(g, self.z.atoms[state], keys)
            for t, key in enumerate(keys):
                if self.model.is_compact:
                    begin = int(small.start[int(bucket_of(key, small.start.size - 1))])
                    place = find_small(small, begin, key)
                    if not place:
                        continue
                    self.memo.used[:] = 0
                    copy_small(self.memo, small, place)
                    entry, value, first = self.memo.entry, self.memo.value, 0
                else:
                    place = w.table[int(find_key(w.table, key)) + 1]
                    entry, value, first = w.entry, w.value, int(list_start(place))
                for e in range(first, first + int(list_length(place))):
                    made[t, entry[2 * e]] = value[2 * e + 1]
            if g.start_size > 0.0:
                add_start(g, keys[0], made[-1])
        return made

    def _column(self, name: str) -> list[str]:
        """The cells that the letter of a template reads."""
        if name in FIELDS:
            return self.bank.column(FIELDS[name]).cells()
        if name[0] == "c":
            assert self.model.templates.clusters is not None
            return cluster_cells(self.bank.forms.cells(), name, self.model.templates.clusters)
        upos, xpos, feats = (self.bank.column(field).cells() for field in ("upos", "xpos", "feats"))
        if name == "t":
            return [u if x == NOTHING else x for u, x in zip(upos, xpos, strict=True)]
        return [chosen_features(cell, name[2:].split("+")) for cell in feats]

    def _named(self, state: int, atoms: tuple[int, ...]) -> str:
        return " ".join(self._atom(state, *self.model.templates.atoms[k]) for k in atoms)

    def _atom(self, state: int, kind: int, node: int, column: int) -> str:
        """An atom with its value in a state, `s0.w=bread`."""
        z = self.z
        tops = [state, int(z.left[state])]
        tops.append(int(z.left[tops[1]]) if tops[1] >= 0 else -1)
        if Q0 <= node <= Q0 + 3:
            word = int(z.front[state]) + node - Q0
            there = word if word < self.bank.n_tokens else -1
            return f"q{node - Q0}.{self.model.templates.columns[column]}={self._cell(column, there)}"
        depth, child = (node, None) if node <= S2 else divmod(node - CHILDREN, 4)
        top = tops[depth]
        name = f"s{depth}" + ("" if child is None else f".{_SIDES[child]}")
        place = WORD if child is None else CHILD + child
        word = int(z.node[top, place]) if top >= 0 else -1
        if kind == CELL:
            return f"{name}.{self.model.templates.columns[column]}={self._cell(column, word)}"
        if kind == DISTANCE:
            return f"distance={self._distance(tops)}"
        if kind == RELATION and child is not None:
            action = int(z.node[top, CHILD_ACTION + child]) if word >= 0 else -1
            return f"{name}.rel={self.model.relations[int(self.g.relation[action])] if action >= 0 else NOTHING}"
        if kind in (LEFT_VALENCY, RIGHT_VALENCY):
            side = N_LEFT if kind == LEFT_VALENCY else N_RIGHT
            return f"{name}.{_READ[kind]}={int(z.node[top, side]) if word >= 0 else NOTHING}"
        return f"{name}.{_READ.get(kind, 'v')}"

    def _cell(self, column: int, word: int) -> str:
        return self.columns[column][word] if word >= 0 else NOTHING

    def _distance(self, tops: list[int]) -> str:
        words = [int(self.z.node[top, WORD]) if top >= 0 else -1 for top in tops[:2]]
        return str(words[0] - words[1]) if min(words) >= 0 else NOTHING
