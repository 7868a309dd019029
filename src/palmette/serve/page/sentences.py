"""Views of one sentence and a tagger: its trellis, why it gets its labels, and how sure that is.

All numbers are those of the library: `trellis_of`, `explain`, `confidence_of` and `nbest_lists`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.formats.labelling import Confidence
from palmette.data.labels.mask import LabelMask
from palmette.data.labels.schemes import unseen_scheme
from palmette.errors import DataError
from palmette.serve.page.models import known_of, page_model, rows_of, sentence_of, whole
from palmette.structures.chain.explain import Contribution, Explanation, explain, explain_between
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.nbest import nbest_lists
from palmette.structures.chain.posteriors import are_probabilities, confidence_of
from palmette.structures.chain.trellis import TrellisRecord, search_tables, trellis_of

PATHS = 5  # the best ones, to look at
MOST_NBEST = 100
MOST_EDGES = 100_000  # numbers of transitions that depend on the token; more are left out of a record
MOST_BEAM = 1000


def trellis(model: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    """The search of a sentence. `allowed` fixes labels; `beam` searches with a beam of that width (0: exactly)."""
    shown = page_model(model)
    chain, corpus = shown.chain(), sentence_of(shown, request)
    if "beam" in request:
        chain = _searched(chain, whole(request["beam"], "beam", MOST_BEAM))
    known = known_of(shown, corpus, request)
    record = trellis_of(chain, corpus, None, known)
    made = record.as_dict()
    del made["runner_up"], made["runner_up_score"]
    exact = chain.changed(beam=0)
    made |= _tables(exact, corpus, record)
    return made | {
        "kind": "chain",
        "tokens": [row[0] for row in rows_of(corpus)],
        "rows": rows_of(corpus),
        "back": _back(record),
        "forbidden": _forbidden(chain),
        "paths": _paths(exact, corpus, known),
        "allowed": request.get("allowed") or {},
        "beam_of_model": shown.chain().beam,
        "recombine": (chain if chain.beam else _searched(chain, 1)).recombine,
    }


def _tables(model: ChainModel, corpus: Corpus, record: TrellisRecord) -> dict[str, Any]:
    """The tables of pairs and triples of states that a search reads, as `edges` and `triples`; None if the model has
    none, or if they are too large."""
    H = len(record.states)
    if record.order < 2:
        edges = record.edges
        large = edges is not None and len(edges) > 1 and len(edges) * H**2 > MOST_EDGES
        return {"edges": None if large else edges, "triples": None}
    _, pairs, triples = search_tables(model, corpus)
    if pairs is None or triples is None or triples.size > MOST_EDGES or pairs.size > MOST_EDGES:
        return {"edges": None, "triples": None}
    return {"edges": _nested(pairs), "triples": _nested(triples)}


def _nested(table: np.ndarray) -> list[Any]:
    """A table as lists, with None for what is forbidden."""
    return np.where(np.isfinite(table), table, np.array(None)).tolist()


def _searched(model: ChainModel, width: int) -> ChainModel:
    made = model.changed()
    if width:
        made.search_with("beam", width)
    else:
        made.search_with("viterbi", None)
    return made


def _forbidden(model: ChainModel) -> list[list[int]]:
    """Pairs of states of which the second cannot follow the first."""
    if not model.shape.order:
        return []
    H = model.shape.n_states
    return np.argwhere(np.isneginf(model.searched.forbid[:H, :H])).tolist()


def _back(record: TrellisRecord) -> list[list[int]] | None:
    """The best predecessor of each state at each token from the second on, -1 if there is none; of order 1 only, where
    it does not depend on more."""
    if record.edges is None:
        return None
    tables = np.array(record.edges, np.float64)  # None becomes NaN
    tables[np.isnan(tables)] = -np.inf
    own = np.array(record.own, np.float64)
    own[np.isnan(own)] = -np.inf
    score, found = own[0], []
    for i in range(1, len(own)):
        ways = score[:, None] + tables[i if len(tables) > 1 else 0]
        before = ways.argmax(axis=0)
        best = ways[before, np.arange(ways.shape[1])]
        score = own[i] + best
        found.append(np.where(np.isneginf(score), -1, before).tolist())
    return found


def _paths(model: ChainModel, corpus: Corpus, known: LabelMask | None) -> list[dict[str, Any]]:
    """The best label sequences with their paths of states."""
    (found,) = nbest_lists(model, corpus, PATHS, None, known)
    numbers = {label: k for k, label in enumerate(model.labels)}
    nothing = np.zeros((0, len(numbers)), np.bool_)
    made = []
    for one in found:
        fixed = LabelMask(np.array([numbers[label] for label in one.output], np.int32), nothing)
        states = model.tag(corpus, None, fixed, states=True)[0].tolist()
        made.append({"states": states, "score": one.score, "probability": one.probability})
    return made


def explanation(model: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    """Why: the best label sequence against the runner-up; or with `token` against the best one that has another label
    there, `label` if that is given."""
    shown = page_model(model)
    chain, corpus = shown.chain(), sentence_of(shown, request)
    if request.get("token") is None:
        found = explain(chain, corpus)
    else:
        token = whole(request["token"], "token", corpus.n_tokens - 1)
        found = explain_between(chain, corpus, None, _elsewhere(chain, corpus, token, request.get("label")))
    rows = rows_of(corpus)
    return _told(found) | {"tokens": [row[0] for row in rows], "rows": rows, "token": request.get("token")}


def _elsewhere(model: ChainModel, corpus: Corpus, token: int, label: Any) -> LabelMask:
    """All label sequences that have this label at a token; None: any other label than the best sequence has."""
    Y = len(model.labels)
    if label is not None and label not in model.labels:
        raise DataError(f"label: the model has no label {label!r}")
    best = int(model.changed(beam=0).tag(corpus)[0][token])
    if label == model.labels[best]:
        raise DataError(f"label: {label} is the label of the best sequence; choose another one")
    if Y < 2:
        raise DataError("the model has one label only: there is nothing to weigh")
    rows, sets = np.full(corpus.n_tokens, Y, np.int32), np.zeros((0, Y), np.bool_)
    if label is None:
        rows[token], sets = Y + 1, np.ones((1, Y), np.bool_)
        sets[0, best] = False
    else:
        rows[token] = model.labels.index(label)
    return LabelMask(rows, sets)


def _told(found: Explanation) -> dict[str, Any]:
    return {
        "tokens": found.words,
        "first": _reading(found.first.output, found.first.score, found.first_states),
        "second": _reading(found.second.output, found.second.score, found.second_states),
        "difference": found.difference,
        "contributions": [c._asdict() for c in found.contributions],
        "flips": flips(found.contributions, found.difference),
    }


def _reading(labels: Sequence[str], score: float, states: list[str] | None) -> dict[str, Any]:
    return {"labels": list(labels), "score": score, "states": states}


def flips(contributions: Sequence[Contribution], difference: float) -> dict[str, list[int]]:
    """What would have changed it. `alone`: the contributions (by number) without any one of which the second sequence
    would score at least as much as the first; `together`: if there is none, the fewest without which it would."""
    spoke = [k for k, c in enumerate(contributions) if c.amount > 0]  # the largest first
    alone = [k for k in spoke if contributions[k].amount >= difference]
    together: list[int] = []
    if not alone:
        for k in spoke:
            together.append(k)
            if math.fsum(contributions[j].amount for j in together) >= difference:
                break
    return {"alone": alone, "together": together}


def marginals(model: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    """How sure: the confidence of every label at every token, of the spans and of the whole sequence. `lenient`: labels
    in `allowed` that contradict each other are answered by `possible: false`, not by an error."""
    shown = page_model(model)
    chain, corpus = shown.chain(), sentence_of(shown, request)
    chain.need_exact("confidences")
    known = known_of(shown, corpus, request)
    try:
        labels = chain.decode(corpus, "viterbi", known=known).labels
    except DataError:
        if known is None or not request.get("lenient"):
            raise
        return {"possible": False}
    found = confidence_of(chain, corpus, labels, known=known, marginals=True)
    assert found.marginals is not None
    return {
        "possible": True,
        "tokens": [row[0] for row in rows_of(corpus)],
        "rows": rows_of(corpus),
        "labels": chain.labels,
        "best": labels.tolist(),
        "marginals": found.marginals.tolist(),
        "confidence": found.tokens.tolist(),
        "sentence": float(found.sentences[0]),
        "spans": _spans(found),
        "scheme": unseen_scheme(chain.scheme),
        "probabilities": are_probabilities(chain),
    }


def _spans(found: Confidence) -> list[dict[str, Any]] | None:
    if found.spans is None:
        return None
    spans = found.spans
    places = zip(spans.type, spans.first.tolist(), spans.end.tolist(), spans.posterior.tolist(), strict=True)
    return [{"type": kind, "start": first, "end": end, "confidence": value} for kind, first, end, value in places]


def nbest(model: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    """The n best label sequences (`n`, by default 10), with scores and, if the model has them, probabilities."""
    shown = page_model(model)
    chain, corpus = shown.chain(), sentence_of(shown, request)
    known = known_of(shown, corpus, request)
    (found,) = nbest_lists(chain, corpus, whole(request.get("n", 10), "n", MOST_NBEST, 1), None, known)
    return {
        "tokens": [row[0] for row in rows_of(corpus)],
        "sequences": [{"labels": one.output, "score": one.score, "probability": one.probability} for one in found],
    }
