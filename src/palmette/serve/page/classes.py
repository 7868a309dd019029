"""The view of a classifier: the class of a sentence, its score, and the latent tags that the score is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from palmette.classification.classifier import Classifier, named_tags, with_pos
from palmette.classification.inspection import strongest_tags
from palmette.data.formats.raw import parse_text
from palmette.data.items import corpus_from_items
from palmette.errors import UsageError
from palmette.serve.page.models import PageModel, page_model, strings, text_in

MOST_LISTED = 200  # weights per tag among which is searched


def classified(model: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    """The class of a sentence: `text`, or `tokens`."""
    shown = page_model(model)
    classifier = classifier_of(shown)
    words = _words(request)
    corpus = corpus_from_items([words], None, mode="columns").corpus
    with_pos(corpus, shown.helpers[0] if shown.helpers else classifier._tagger())
    scores, states = classifier.model_.decide(corpus, structures=True)
    score = float(scores[0])
    return {
        "kind": "classifier",
        "tokens": words,
        "classes": [str(one) for one in classifier.classes_],
        "class": int(score >= 0),
        "score": score,
        "structures": named_tags(classifier.model_.views, states),
    }


def classifier_of(shown: PageModel) -> Classifier:
    if not isinstance(shown.estimator, Classifier):
        raise UsageError(f"{shown.name} is a {shown.kind}: this view shows classifiers")
    return shown.estimator


def _words(request: Mapping[str, Any]) -> list[str]:
    if "tokens" in request:
        return strings(request["tokens"], "tokens")
    return parse_text(" ".join(text_in(request).split()).encode(errors="replace"), "the sentence").columns[0].cells()


def tag_weights(classifier: Classifier, top: int, search: str | None = None) -> dict[str, Any]:
    """The strongest weights of each tag of each view; with `search` the attributes among them that have the text."""
    found = strongest_tags(classifier.model_, MOST_LISTED if search else top)
    several = len(found) > 1
    lists = {
        f"{view}: {tag}" if several else tag: rows for view, tags in found.items() for tag, rows in tags.items()
    }  # fmt: skip
    if not search:
        rows = {name: [_row(*row) for row in own] for name, own in lists.items()}
        return {"labels": list(rows), "top": rows}
    matching: dict[str, list[dict[str, Any]]] = {}
    for name, own in lists.items():
        for attribute, weight in own:
            if search.lower() in attribute.lower():
                matching.setdefault(attribute, []).append({"label": name, "weight": weight})
    made = [{"attribute": name, "name": name, "weights": rows} for name, rows in list(matching.items())[:top]]
    return {"search": search, "matches": len(matching), "attributes": made}


def _row(attribute: str, weight: float) -> dict[str, Any]:
    return {"attribute": attribute, "name": attribute, "weight": weight}
