"""Views of a model without data: what it is, its strongest weights, its transitions, how it was learnt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from palmette.classification.classifier import Classifier
from palmette.data.labels.schemes import reading, unseen_scheme
from palmette.errors import DataError, UsageError
from palmette.reports.inspection import top_attributes, transition_table
from palmette.serve.page.classes import tag_weights
from palmette.serve.page.examples import example_of
from palmette.serve.page.models import PageModel, page_model, upos_of, whole
from palmette.structures.chain.explain import attribute_name, attribute_words
from palmette.structures.chain.lists import is_list
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.posteriors import are_probabilities
from palmette.structures.chain.weights import n_weights
from palmette.structures.training_log import unit_of

MOST_TOP = 200
MOST_MATCHES = 20_000  # attributes that a search looks at
MOST_LABELS = 120  # of a table of transitions


def about(model: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    """What a model is, in a few figures, and which views it has."""
    shown = page_model(model)
    made: dict[str, Any] = {
        "name": shown.name, "kind": shown.kind, "others": sorted(shown.others), "example": example_of(shown),
    }  # fmt: skip
    if shown.kind == "tagger":
        made |= _about_tagger(shown)
    elif shown.kind == "parser":
        made |= _about_parser(shown.estimator.model_)
    elif shown.kind == "pipeline":
        made |= _about_pipeline(shown.estimator)
    elif shown.kind == "classifier":
        model = shown.estimator.model_
        made |= {
            "learner": model.settings.chosen_learner.kind, "classes": list(model.classes),
            "attributes": model.feature_index.size, "views": ["result", "class", "weights", "curves"],
        }  # fmt: skip
    else:
        made |= {"views": ["curves"] if _log(shown.estimator) else []}
    return made


def _about_tagger(shown: PageModel) -> dict[str, Any]:
    model = shown.tagger().model_
    views = ["result", "weights", "curves", "errors", "nbest"] + (["transitions"] if model.shape.order else [])
    if not model.reads_earlier_labels:
        views += ["trellis", "explanation", "marginals"]
    if shown.others:
        views.append("compare")
    settings = model.settings.to_dict()
    return {
        "learner": settings["learner"]["kind"],
        "labels": model.labels,
        "scheme": model.scheme,
        "types": _types(model),
        "order": model.shape.order,
        "states": model.shape.n_states,
        "beam": model.beam,
        "attributes": sum(index.size for index in model.feature_indexes.values()),
        "weights": n_weights(model.searched),
        "columns": None if model.encoder is None else model.encoder.n_columns,
        "text": model.encoder is not None and model.encoder.n_columns <= 1 + len(shown.helpers),
        "probabilities": are_probabilities(model) if not model.reads_earlier_labels else False,
        "views": views,
    }


def _about_parser(model: Any) -> dict[str, Any]:
    features, weights = model.counts()
    return {
        "learner": model.settings.chosen_learner.kind, "relations": model.relations, "attributes": features,
        "weights": weights, "views": ["result", "tree", "errors", "curves"],
    }  # fmt: skip


def _types(model: ChainModel) -> list[str]:
    """The types of spans, in the order of the labels; none if the labels are not those of spans."""
    notation = reading(model.labels, unseen_scheme(model.scheme))
    if notation is None or model.scheme is None:
        return []
    kinds = [kind for letter, kind in map(notation.split, model.labels) if letter not in ("", "O")]
    return list(dict.fromkeys(kind for kind in kinds if kind != notation.outside))


def _about_pipeline(pipeline: Any) -> dict[str, Any]:
    """A pipeline has the views of its tagger of UPOS and of its parser."""
    names, chain = list(pipeline.model_.names), upos_of(pipeline)
    views = ["result"] + (["tree", "errors"] if "parse" in names else [])
    made: dict[str, Any] = {"components": names, "text": "tok" in names, "views": views}
    if chain is not None:
        views += ["trellis", "explanation", "marginals", "nbest", "transitions"]
        made |= {"labels": chain.labels, "columns": 1, "beam": chain.beam}
    return made


def weights(model: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    """The strongest weights of each label; with `search` the attributes whose string has that text, the strongest
    first, with the labels that they speak for and against."""
    shown = page_model(model)
    top, text = whole(request.get("top", 10), "top", MOST_TOP, 1), request.get("search")
    if text is not None and not isinstance(text, str):
        raise DataError("search: a text is expected")
    if isinstance(shown.estimator, Classifier):
        return tag_weights(shown.estimator, top, text)
    chain = shown.tagger().model_
    if text:
        return {"search": text} | _matching(chain, text, top)
    given = request.get("labels")
    labels = chain.labels if given is None else [label for label in given if label in chain.labels]
    return {"labels": labels, "top": {label: top_attributes(chain, label, top) for label in labels}}


def _matching(model: ChainModel, text: str, top: int) -> dict[str, Any]:
    if 1 not in model.names or not model.chain.weights[0].slot.size:
        raise UsageError("the model was saved without the strings of its attributes, so that none can be looked up")
    names = model.names[1]
    data, offset = names.data, names.offset
    found = sorted(
        {
            int(np.searchsorted(offset, match.start(), side="right")) - 1
            for match in _matches(data.tobytes(), offset, text)
        }
    )
    rows = _rows(model, found[:MOST_MATCHES])
    order = np.argsort(-np.abs(rows).max(axis=1, initial=0.0), kind="stable")[:top]
    in_words = attribute_words(model)
    made = []
    for k in order.tolist():
        name = attribute_name(model, 1, found[k])
        moved = np.flatnonzero(rows[k])
        moved = moved[np.argsort(-np.abs(rows[k][moved]), kind="stable")]
        each = [{"label": model.labels[y], "weight": float(rows[k, y])} for y in moved.tolist()]
        made.append({"attribute": name, "name": in_words(name), "weights": each})
    return {"matches": len(found), "attributes": made}


def _matches(data: bytes, offset: np.ndarray, text: str) -> list[re.Match[bytes]]:
    """Where the text is in the strings, but not across two of them."""
    size = len(text.encode())
    found = []
    for match in re.finditer(re.escape(text.encode()), data, re.IGNORECASE):
        end = int(np.searchsorted(offset, match.start(), side="right"))
        if match.start() + size <= offset[end]:
            found.append(match)
        if len(found) >= MOST_MATCHES:
            break
    return found


def _rows(model: ChainModel, attributes: list[int]) -> np.ndarray:
    """The weights of some attributes on labels f64[k, Y]; of a latent label the mean over its states."""
    rows, H, k = model.chain.weights[0], model.shape.n_states, model.shape.states_per_label
    made = np.zeros((len(attributes), H // k, k))
    for at, attribute in enumerate(attributes):
        if is_list(rows):
            first = int(rows.first[attribute])
            last = first + int(rows.slot[attribute])
            made[at, rows.combo[first:last]] = rows.w[first:last, :k]
        else:
            made[at] = rows.w[rows.slot[attribute], :H].reshape(-1, k)
    there = (~model.shape.missing()).reshape(-1, k)
    return np.asarray((made * there).sum(axis=2) / np.maximum(1, there.sum(axis=1)))


def transitions(model: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    """The weight of each transition, None if it is forbidden, and those of beginning and ending with a state."""
    chain = page_model(model).chain()
    if not chain.shape.order:
        raise UsageError("the model has no transitions: its order is 0")
    names, table = transition_table(chain)
    if len(names) > MOST_LABELS:
        raise UsageError(f"{len(names)} states make too large a table: at most {MOST_LABELS} are shown")
    ends = chain.chain.transitions[0].w[:, : len(names)].tolist()
    return {"states": names, "weights": table, "start": ends[0], "end": ends[1]}


def curves(model: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    """The training log: a row per pass, or per iteration of L-BFGS."""
    estimator = page_model(model).estimator
    rows, meta = _log(estimator), getattr(estimator.model_, "meta", None)
    known = meta if isinstance(meta, dict) else {}
    return training_log(rows, known.get("best_pass"), known.get("ended"))


def training_log(rows: list[dict[str, Any]], best: Any = None, ended: Any = None) -> dict[str, Any]:
    """The rows of a training log as the page draws them."""
    unit = unit_of(rows[-1].get("figures", {})) if rows else "pass"
    kept = ("number", "updates", "wrong", "train_accuracy", "dev", "figures", "seconds")
    made = [{name: row[name] for name in kept if name in row} for row in rows]
    return {"unit": unit, "rows": made, "best": best, "ended": ended}


def _log(estimator: Any) -> list[dict[str, Any]]:
    meta = getattr(estimator.model_, "meta", None)
    return list(meta.get("history") or []) if isinstance(meta, dict) else []
