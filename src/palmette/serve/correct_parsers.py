"""Corrections of parsers: whole trees, since parsers learn from whole trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.formats.conllu import stream_treebank, treebank_bytes
from palmette.data.treebank import FIELDS, NOTHING, Treebank, treebank_from_sentences
from palmette.errors import DataError
from palmette.serve.correctable import margin
from palmette.serve.inputs import Inputs, cut_texts
from palmette.serve.limits import Limits
from palmette.serve.model_files import pool_of_trees
from palmette.serve.other_answers import treebank_of_inputs
from palmette.serve.served import Served
from palmette.serve.types import Correction, PickedSentence, PickRequest, Request

SECOND = 2  # trees that a margin compares


class ParserSentences:
    """Sentences with tags, as a parser reads them."""

    def __init__(self, served: Served, bank: Treebank) -> None:
        self.served, self.bank = served, bank

    @property
    def corpus(self) -> Corpus:
        return self.bank.corpus

    def uncertainties(self, by: str) -> np.ndarray:
        """By the distance of the best tree and the next best one in the beam."""
        lists = self.served.estimator.nbest(self.bank, SECOND)
        behind = [best[0].score - best[1].score if len(best) > 1 else np.inf for best in lists]
        return margin(np.array(behind))

    def shown(self, s: int, about: dict[str, Any]) -> PickedSentence:
        alone = self.bank.take(np.array([s]))
        found = self.served.estimator.parse(alone)
        rows = alone.corpus.sentence(0)
        words = [{field: cell for field, cell in zip(FIELDS, row, strict=True) if cell != NOTHING} for row in rows]
        return PickedSentence(
            tokens=[row[0] for row in rows], words=[{"form": NOTHING} | word for word in words],
            heads=found.heads.tolist(), relations=found.relations.cells(), **about,
        )  # fmt: skip


def treebank_of(corrections: Sequence[Correction], source: str = "the corrections") -> Treebank:
    """Corrected sentences with their trees; DataError if one is no tree."""
    rows = [
        [
            _cells(token) | {"head": head, "deprel": relation}
            for token, head, relation in zip(one.tokens, one.heads, one.relations, strict=True)
        ]
        for one in corrections
    ]
    return treebank_from_sentences(rows, source=source)


def _cells(token: Any) -> dict[str, Any]:
    """The cells of a word by the names of CoNLL-U."""
    if isinstance(token, Mapping):
        return dict(token)
    cells = [token] if isinstance(token, str) else list(token)
    return dict(zip(("form", "upos", "xpos"), cells, strict=False))


class CorrectParsers:
    """See Correctable."""

    measures: tuple[str, ...] = ("margin",)

    def check(self, served: Served, one: Correction, where: str) -> None:
        n = len(one.tokens)
        if len(one.heads) != n or len(one.relations) != n:
            raise DataError(
                f"{where} has {n} tokens, {len(one.heads)} heads and {len(one.relations)} relations: a parser learns "
                "from whole trees"
            )
        strange = next((name for name in one.relations if name not in set(served.labels)), None)
        if strange is not None:
            raise DataError(f"{where}: the model has no relation {strange[:100]!r}")
        treebank_of([one], where)

    def file(self, served: Served, corrections: Sequence[Correction]) -> tuple[str, bytes]:
        return f"{served.name}.corrections.conllu", treebank_bytes(treebank_of(corrections)) if corrections else b""

    def pool(self, served: Served, path: str) -> Iterator[ParserSentences]:
        ready = served.preparation
        for bank in pool_of_trees(path):
            if bank.n_sentences:
                tagged = any(set(bank.column(field).types) != {NOTHING} for field in ("upos", "xpos"))
                yield ParserSentences(served, (type(ready)((), ready.ignored) if tagged else ready)(bank))

    def given(self, served: Served, request: PickRequest, limits: Limits) -> ParserSentences:
        if request.texts is not None:
            inputs = cut_texts(request.texts, Request(), limits)
        else:
            sentences = [sentence for sentence in request.sentences or [] if sentence]
            inputs = Inputs(sentences, None, None, limits.check_sizes([len(sentence) for sentence in sentences]))
        return ParserSentences(served, treebank_of_inputs(served, inputs))

    def annotated(self, served: Served, path: str) -> Iterator[Corpus]:
        for bank in stream_treebank(path, labelled=False):
            yield bank.corpus

    def corrected(self, served: Served, corrections: Sequence[Correction]) -> Corpus:
        return treebank_of(corrections).corpus
