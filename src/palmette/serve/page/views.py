"""The views of the page by name: plain functions from a model and a request to a record of JSON values.

    from palmette.serve.page.views import VIEWS
    VIEWS["trellis"](tagger, {"text": "Time flies like an arrow."})

A model is an estimator (Tagger, Parser, Pipeline, ...), or a `PageModel` with the taggers that make the columns of a
typed sentence and the models beside it. A wrong request raises UsageError or DataError, which say what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from palmette.serve.page.classes import classified
from palmette.serve.page.errors import compared, errors
from palmette.serve.page.learnt import about, curves, transitions, weights
from palmette.serve.page.models import PageModel, page_model
from palmette.serve.page.result import result
from palmette.serve.page.sentences import explanation, marginals, nbest, trellis
from palmette.serve.page.trees import tree

__all__ = ["VIEWS", "PageModel", "View", "page_model"]

View = Callable[[Any, Mapping[str, Any]], dict[str, Any]]

VIEWS: dict[str, View] = {
    "about": about,
    "result": result,
    "trellis": trellis,
    "explanation": explanation,
    "marginals": marginals,
    "nbest": nbest,
    "tree": tree,
    "class": classified,
    "errors": errors,
    "compare": compared,
    "weights": weights,
    "transitions": transitions,
    "curves": curves,
}
