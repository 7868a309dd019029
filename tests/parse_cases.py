"""Tiny treebanks for the parser's tests: few words, tags and relations, so that ties abound; and the compiled parser
taught sentence by sentence in an order that a test chooses, beside its slow twin."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from naive_parse import Sentence, templates_of, variants_of
from naive_parse import actions_of as naive_actions
from naive_parse_training import Rule, Training, frequent
from naive_trees import lifted, trees

from palmette import Beam
from palmette.data import Treebank, treebank_from_sentences
from palmette.options import LEARNERS
from palmette.parsing import ParserLearning, ParserModel, TreeSettings, compile_templates, make_grammar
from palmette.parsing.kernels.train import BAD, INFEASIBLE, UPDATES
from palmette.parsing.model import encode, relations_of
from palmette.parsing.templates import SETS
from palmette.parsing.training import actions_of, root_of

TINY = """
s0.wt s1.t
s0.f:Case q0.m
s0.sl s1.sr s1.f
s1.l2.rel s0.r.rel s2.u
distance s1.vr s0.vl
s2.x q3.w q2.u
s2.r2.t s2.vl s2.sr
s1.f:Number+Case s0.f:Case+Person
q0.t
"""
HIDDEN = """
s0.wt s1.t
s0.l.v s0.l.rel
s1.r.v q0.t
s1.l2.v s0.r.v s2.r.v
s0.sl s1.vr distance
q0.t
"""
TEXTS = {**SETS, "tiny": TINY, "hidden": HIDDEN}
BEAMS = (1, 2, 3, 8)
RELATIONS = ("a", "b", "c")

words = st.fixed_dictionaries(
    {"form": st.sampled_from("uvw"), "upos": st.sampled_from(["N", "V"])},
    optional={
        "lemma": st.sampled_from("uv"),
        "xpos": st.sampled_from(["NN", "_"]),
        "feats": st.sampled_from(["Case=Nom", "Case=Acc|Number=Sing", "Number=Sing"]),
    },
)


class Bank(NamedTuple):
    """Sentences with trees, in Python."""

    words: list[list[dict[str, str]]]
    trees: list[list[tuple[int, str]]]

    def treebank(self) -> Treebank:
        return treebank_from_sentences(
            [[{**word, "head": head, "deprel": relation} for word, (head, relation) in zip(*both, strict=True)]
             for both in zip(self.words, self.trees, strict=True)]
        )  # fmt: skip


@st.composite
def banks(
    draw: st.DrawFn, longest: int = 6, most: int = 5, least: int = 2, relations: int = 3, varied: bool = False
) -> Bank:
    """Projective trees over few words; varied: no two words have the same form, so that few items tie."""
    n = draw(st.integers(least, most))
    shapes = [lifted(draw(trees(longest))) for _ in range(n)]
    relation = st.sampled_from(RELATIONS[:relations])
    drawn = [[(head, draw(relation) if head else "root") for head in shape] for shape in shapes]
    forms = (f"w{k}" for k in range(longest * most))
    chosen = [[draw(words) | ({"form": next(forms)} if varied else {}) for _ in shape] for shape in shapes]
    return Bank(chosen, drawn)


class Taught:
    """The compiled parser and its twin, before the same sentences."""

    def __init__(self, bank: Bank, templates: str, rule: Rule, **options: Any) -> None:
        self.bank, self.treebank = bank, bank.treebank()
        self.templates = compile_templates(TEXTS[templates], templates)
        learner = LEARNERS[rule.learner]
        given = {
            "aggressiveness": rule.aggressiveness, "pa_type": rule.pa_type, "rate": rule.rate, "nbest": rule.candidates,
            "rate_schedule": "falling" if rule.falling else "constant", "probability_function": rule.function,
            "degree": rule.degree, "add_gold": rule.add_gold, "when": "errors" if rule.on_errors else "always",
            "candidates": "forest" if rule.forest else "beam", "step_cap": rule.cap,
        }  # fmt: skip
        self.settings = TreeSettings(
            learner=learner(**{name: value for name, value in given.items() if name in learner.__options__}),
            search=Beam(rule.beam, update=rule.update), variants=rule.variants, **options,
        )  # fmt: skip
        self.root = root_of(self.treebank)
        self.actions = actions_of(self.treebank, self.root)
        self.relations = relations_of(self.actions, self.root)
        encoded = encode(self.treebank, self.templates, self.relations, "nfc", gold=True)
        grammar = make_grammar(self.templates, self.actions, self.relations, self.settings)
        chosen = self.settings.chosen_learner.rule(len(bank.trees), rule.beam)
        numbers = self.settings.beam.rule(chosen)._replace(spread=rule.spread)
        self.learning = ParserLearning(grammar, encoded, self.settings, None, numbers)
        self.sentences = [Sentence(own, templates_of(TEXTS[templates])) for own in bank.words]
        known = naive_actions(bank.trees)
        self.twin = Training(known if rule.variants == 1 else variants_of(known, rule.variants), rule)
        if self.settings.min_count:
            least = self.settings.min_count
            self.twin.known = frequent(self.sentences, bank.trees, self.twin.actions, least)

    def twin_learns(self, order: Sequence[int]) -> None:
        for s in order:
            self.twin.learn(self.sentences[s], self.bank.trees[s])

    def learns(self, order: Sequence[int]) -> None:
        self.learning.learn(np.array(order, np.int64))

    @property
    def updates(self) -> int:
        return int(self.learning.counts[UPDATES])

    @property
    def bad(self) -> int:
        return int(self.learning.counts[BAD])

    @property
    def infeasible(self) -> int:
        return int(self.learning.counts[INFEASIBLE])

    def model(self) -> ParserModel:
        return ParserModel(self.templates, self.actions, self.root, self.learning.snapshot(), self.settings)

    def trees(self, heads: np.ndarray, relations: np.ndarray) -> list[tuple[int, str]]:
        """As the twin writes them."""
        pairs = zip(heads.tolist(), relations.tolist(), strict=True)
        return [(head + 1, self.relations[relation] if relation >= 0 else "") for head, relation in pairs]

    def parses(self, beam: int, merge: bool = False) -> list[tuple[float, list[tuple[int, str]]]]:
        """Score and tree of each sentence."""
        found, offset = self.model().parse(self.treebank, beam, merge), self.treebank.offset
        cells = [slice(a, b) for a, b in pairwise(offset.tolist())]
        return [
            (score, self.trees(found.heads[k], found.relations[k]))
            for score, k in zip(found.scores.tolist(), cells, strict=True)
        ]
