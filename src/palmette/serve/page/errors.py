"""Views of labelled data: what a model gets wrong, and two models side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.labels.schemes import unseen_scheme
from palmette.data.treebank import Treebank
from palmette.errors import DataError, UsageError
from palmette.evaluation.attachment import score_trees
from palmette.evaluation.rivals import CompareOptions, SystemLabels, SystemOutputs, compare, label_rivals
from palmette.evaluation.scores import errors as frequent_errors
from palmette.evaluation.scores import score
from palmette.parsing.parser import Parser
from palmette.pipeline.pipeline import Pipeline
from palmette.serve.page.models import PageModel, data_of, page_model, treebank_of, whole, words_by_sentence
from palmette.structures.chain.files import with_missing_columns
from palmette.structures.chain.gold import certain, gold_and_guess
from palmette.structures.chain.gold import unseen as unseen_words

FREQUENT = 40
ROUNDS = 2000  # of the significance tests, unless a request has another number
MOST_ROUNDS = 100_000
ANNOTATED = ("lemma", "upos", "xpos", "feats")  # what a pipeline finds again
UNKNOWN = -1  # in place of a gold label that is not fully known


def errors(model: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    """Labelled data scored: all figures, the confusions, and every sentence that has an error."""
    shown = page_model(model)
    if isinstance(shown.estimator, Parser):
        return _tree_errors(treebank_of(request), shown.estimator.parse)
    if isinstance(shown.estimator, Pipeline):
        return _tree_errors(treebank_of(request), partial(_analysed, shown.estimator))
    tagger, corpus = shown.tagger(), _complete(shown, data_of(shown, request))
    gold, guess, labels = gold_and_guess(tagger.model_, corpus)
    known, unseen = certain(corpus), unseen_words(tagger.model_, corpus)
    scores = score(gold, guess, corpus.offset, labels, unseen, unseen_scheme(tagger.model_.scheme), known=known)
    words = words_by_sentence(corpus)
    flat = [word for sentence in words for word in sentence]
    wrong = gold != guess if known is None else (gold != guess) & known
    right = gold if known is None else np.where(known, gold, UNKNOWN)
    mistakes = frequent_errors(gold, guess, corpus.offset, labels, flat, known=known, most=FREQUENT)
    return {
        "kind": "tagger",
        "labels": labels,
        "scores": scores.to_dict(),
        "confusion": _confusion(right, guess, len(labels)),
        "mistakes": [msgspec.to_builtins(one) for one in mistakes],
        "sentences": _wrong_sentences(corpus.offset, wrong, right, guess, words, unseen),
        "unseen_known": unseen is not None,
    }


def _complete(shown: PageModel, corpus: Corpus) -> Corpus:
    """The data with the columns that helpers make, if it lacks some."""
    own = msgspec.structs.replace(corpus)  # the data may be asked for again, by others
    return with_missing_columns(own, [helper.model_ for helper in shown.helpers], shown.tagger().model_)


def _confusion(gold: np.ndarray, guess: np.ndarray, Y: int) -> list[list[int]]:
    """[gold, guess, count] of the pairs that occur."""
    there = gold >= 0
    codes, counts = np.unique(gold[there].astype(np.int64) * Y + guess[there], return_counts=True)
    return [[code // Y, code % Y, count] for code, count in zip(codes.tolist(), counts.tolist(), strict=True)]


def _wrong_sentences(
    offset: np.ndarray, wrong: np.ndarray, gold: np.ndarray, guess: np.ndarray, words: Sequence[Sequence[str]],
    unseen: np.ndarray | None,
) -> list[dict[str, Any]]:  # fmt: skip
    made = []
    for s, (lo, hi) in enumerate(pairwise(offset.tolist())):
        if wrong[lo:hi].any():
            new = [] if unseen is None else np.flatnonzero(unseen[lo:hi]).tolist()
            made.append(
                {"number": s, "tokens": words[s], "gold": gold[lo:hi].tolist(), "guess": guess[lo:hi].tolist(),
                 "unseen": new}
            )  # fmt: skip
    return made


def _analysed(pipeline: Pipeline, gold: Treebank) -> Treebank:
    """The words of a treebank with all that a pipeline finds of them."""
    if "parse" not in pipeline.model_.names:
        raise UsageError("the pipeline has no component 'parse', so it finds no trees to be scored")
    return pipeline.model_.annotate(gold.without(ANNOTATED))


def _tree_errors(gold: Treebank, parse: Callable[[Treebank], Treebank]) -> dict[str, Any]:
    """Scores, confusions and wrong sentences of trees. A token is wrong if its head or its relation is; confusions are
    those of relations."""
    if not gold.n_tokens or (gold.heads < 0).any():
        raise DataError("scores compare trees, and some sentence has none")
    found = parse(gold)
    names = list(dict.fromkeys([*gold.relations.cells(), *found.relations.cells()]))
    number = {name: k for k, name in enumerate(names)}
    right, guess = (np.array([number[cell] for cell in bank.relations.cells()]) for bank in (gold, found))
    wrong = (gold.heads != found.heads) | (right != guess)
    words = words_by_sentence(gold.corpus)
    rows = _wrong_sentences(gold.offset, wrong, right, guess, words, None)
    cuts = gold.offset.tolist()
    for row in rows:
        lo, hi = cuts[row["number"]], cuts[row["number"] + 1]
        row |= {"gold_heads": gold.heads[lo:hi].tolist(), "guess_heads": found.heads[lo:hi].tolist()}
        row["tags"] = gold.column("upos").cells()[lo:hi]
    flat = [word for sentence in words for word in sentence]
    mistakes = frequent_errors(right, guess, gold.offset, names, flat, most=FREQUENT)
    return {
        "kind": "parser", "labels": names, "scores": msgspec.to_builtins(score_trees(gold, found)),
        "confusion": _confusion(right, guess, len(names)),
        "mistakes": [msgspec.to_builtins(one) for one in mistakes], "sentences": rows, "unseen_known": False,
    }  # fmt: skip


def compared(model: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    """Two taggers on the same labelled data (`other` names the second), with intervals and significance tests."""
    shown = page_model(model)
    name = str(request.get("other"))
    if name not in shown.others:
        raise UsageError(f"other: there is no model {name!r} next to this one")
    other = page_model(shown.others[name])
    pair = {shown.name: shown, name: other._replace(name=name)}
    if len(pair) < 2:
        raise UsageError("other: choose another model than the one that is shown")
    base = data_of(shown, request)
    outputs = _outputs(pair, base, request)
    rounds = whole(request.get("rounds", ROUNDS), "rounds", MOST_ROUNDS, 1)
    found = compare(label_rivals(outputs), CompareOptions(rounds=rounds, differences=outputs.offset.size))
    return {"names": list(pair), "labels": outputs.labels} | found.to_dict()


def _outputs(pair: Mapping[str, PageModel], base: Corpus, request: Mapping[str, Any]) -> SystemOutputs:
    """What both predict; each model reads the data as it read its training data."""
    right, known, unseen = None, None, None
    guesses: list[SystemLabels] = []
    assert base.labels is not None
    for shown in pair.values():
        tagger = shown.tagger()
        corpus = _complete(shown, base if not guesses else data_of(shown, request))
        assert corpus.labels is not None
        if corpus.labels.cells() != base.labels.cells():
            raise UsageError(f"{shown.name} was trained on labels of another column: the two cannot be compared")
        gold, guess, labels = gold_and_guess(tagger.model_, corpus)
        if right is None:
            right, known, unseen = SystemLabels(gold, labels), certain(corpus), unseen_words(tagger.model_, corpus)
        guesses.append(SystemLabels(guess, labels))
    assert right is not None
    made = SystemOutputs.of(list(pair), base, right, guesses)
    return made._replace(known=known, unseen=unseen, unseen_for=next(iter(pair)))
