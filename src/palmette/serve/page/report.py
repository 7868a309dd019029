"""The records of a page that is a file: what the views say about some models, the labelled data and some of its
sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from palmette.data.corpus import Corpus
from palmette.data.treebank import Treebank
from palmette.errors import DataError, UsageError
from palmette.serve.page.lines import attribute_items, attribute_names, attribute_rows
from palmette.serve.page.models import PageModel, page_model
from palmette.serve.page.views import VIEWS

TOP = 30  # strongest weights per label, among which the file can be searched
DIGITS = 7  # of scores in a trellis: those of float32
OF_MODEL = ("curves", "weights", "transitions")
OF_SENTENCE = ("result", "tree", "class", "trellis", "explanation", "marginals", "nbest")

Tell = Callable[[str], None]


def page_records(
    models: Mapping[str, PageModel], data: Mapping[str, Any], *, sentences: int = 20, texts: Sequence[str] = (),
    source: str = "", tell: Tell = lambda text: None, typed: Mapping[str, dict[str, str]] = MappingProxyType({}),
) -> dict[str, Any]:  # fmt: skip
    """The records for models by name. data: the labelled data as each model reads it, if there is any; sentences: of
    how many the searches are shown, those with errors first; texts: typed sentences, which come before them; typed: the
    models that the page itself can use, each with the runtime."""
    found = {name: _of_model(name, model, data.get(name), sentences, texts, tell) for name, model in models.items()}
    for name, record in typed.items():
        found[name]["typed"] = record
        found[name]["about"]["views"] = [*found[name]["about"]["views"], "typed"]
    listed = [{"name": name, "kind": models[name].kind} for name in found]
    return {"models": listed, "views": found, "data": source}


def _of_model(
    name: str, model: PageModel, data: Corpus | Treebank | None, sentences: int, texts: Sequence[str], tell: Tell
) -> dict[str, Any]:
    about = VIEWS["about"](model, {})
    made: dict[str, Any] = {}
    for view in OF_MODEL:
        if view in about["views"]:
            tell(f"{name}: {view}")
            _put(made, view, view, model, {"top": TOP} if view == "weights" else {})
    if data is not None and "errors" in about["views"]:
        tell(f"{name}: errors")
        made["errors"] = VIEWS["errors"](model, {"data": data})
        for other in about["others"] if "compare" in about["views"] else ():
            tell(f"{name}: compared with {other}")
            _put(made, f"compare@{other}", "compare", model, {"data": data, "other": other})
    wanted = [{"text": text} for text in texts]
    wanted += _requests(data, made.get("errors"), sentences) if data is not None else []
    made["sentences"] = []
    for k, request in enumerate(wanted):
        tell(f"{name}: sentence {k + 1} of {len(wanted)}")
        made["sentences"].append(_of_sentence(model, about["views"], request))
    about["others"] = [other for other in about["others"] if f"compare@{other}" in made]
    kept = {view.partition("@")[0] for view in made} | {view for one in made["sentences"] for view in one}
    about["views"] = [view for view in about["views"] if view in kept]
    return made | {"about": about}


def _put(made: dict[str, Any], key: str, view: str, model: PageModel, request: dict[str, Any]) -> None:
    """A view, unless the model does not have it."""
    try:
        made[key] = VIEWS[view](model, request)
    except (DataError, UsageError):
        return


def _requests(data: Corpus | Treebank, errors: dict[str, Any] | None, most: int) -> list[dict[str, Any]]:
    """Requests for some sentences: those with errors first, all in the order of the file."""
    bank = data if isinstance(data, Treebank) else None
    corpus = data.corpus if isinstance(data, Treebank) else data
    wrong = [one["number"] for one in errors["sentences"]] if errors else []
    chosen = sorted([*wrong, *(s for s in range(corpus.n_sentences) if s not in set(wrong))][: max(0, most)])
    if bank is None and corpus.columns:
        return [{"rows": corpus.sentence(s)} for s in chosen]
    if bank is None:
        rows, cuts = attribute_rows(corpus), corpus.offset.tolist()
        return [] if rows is None else [{"items": rows[cuts[s] : cuts[s + 1]]} for s in chosen]
    return [{"words": [_word(row) for row in corpus.sentence(s)]} for s in chosen]


def _word(row: Sequence[str]) -> dict[str, str]:
    return dict(zip(("form", "lemma", "upos", "xpos", "feats"), row, strict=True))


def _of_sentence(model: PageModel, views: Sequence[str], request: dict[str, Any]) -> dict[str, Any]:
    words = [row[0] for row in request.get("rows", ())] or [word["form"] for word in request.get("words", ())]
    if "items" in request:
        words = attribute_names(attribute_items(request["items"]))
    made: dict[str, Any] = {"text": request.get("text") or " ".join(words)}
    for view in OF_SENTENCE:
        if view in views:
            _put(made, view, view, model, request)
    if "trellis" in made:
        made["trellis"] = _shorter(made["trellis"])
    for token in range(len(made["trellis"]["tokens"])) if "explanation" in made else ():
        _put(made, f"explanation@{token}", "explanation", model, request | {"token": token})
    return made


def _shorter(record: dict[str, Any]) -> dict[str, Any]:
    """A trellis with fewer digits."""
    return record | {name: _rounded(record[name]) for name in ("own", "edges", "triples", "behind")}


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def beside(models: Mapping[str, Any]) -> dict[str, PageModel]:
    """Models by name, each with the others of its kind to be compared with."""
    shown = {name: page_model(model)._replace(name=name) for name, model in models.items()}
    made = {}
    for name, model in shown.items():
        others = {key: other for key, other in shown.items() if key != name and other.kind == model.kind}
        made[name] = model._replace(others=others)
    return made
