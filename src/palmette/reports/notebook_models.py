"""Estimators in notebooks: what they are, labels, sizes, learner and score; weights, log and settings folded away.

Each is drawn from a plain record, the one that `palmette inspect --json` prints where there is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from palmette.errors import counted
from palmette.reports.html import Html, element, facts, folded, html, page, quiet, rows_table
from palmette.reports.tables import described, not_zero, percent
from palmette.structures.training_log import unit_of

if TYPE_CHECKING:
    from palmette.estimators.base import Estimator
    from palmette.estimators.classifier import Classifier
    from palmette.estimators.linear_classifier import LinearClassifier
    from palmette.estimators.parser import Parser
    from palmette.estimators.tagger import Tagger
    from palmette.structures.chain.model import ChainModel

TOP = 8  # attributes of a label
LABELS = 12  # whose attributes are shown
NAMED = 24  # labels that are named
PASSES = 30  # of the training log, the last ones
Weights = Sequence[tuple[str, float]]  # attributes with their weights


# Records


def tagger_record(tagger: Tagger) -> dict[str, Any]:
    """What a tagger is, as plain data."""
    return chain_record(tagger, "a sequence tagger", getattr(tagger, "model_", None))


def linear_classifier_record(classifier: LinearClassifier) -> dict[str, Any]:
    """What a linear classifier is, as plain data."""
    tagger = getattr(classifier, "tagger_", None)
    return chain_record(classifier, "a linear classifier", None if tagger is None else tagger.model_)


def chain_record(estimator: Estimator, what: str, model: ChainModel | None) -> dict[str, Any]:
    from palmette.reports.inspection import inspection

    about = None if model is None else inspection(model, TOP, model.labels[:LABELS])
    return record_of(estimator, what, about)


def parser_record(parser: Parser) -> dict[str, Any]:
    """What a parser is, as plain data."""
    from palmette.reports.parser_inspection import parser_inspection

    about = parser_inspection(parser) if hasattr(parser, "model_") else None
    return record_of(parser, "a dependency parser, arc-standard", about)


def classifier_record(classifier: Classifier) -> dict[str, Any]:
    """What a classifier over latent structures is, as plain data."""
    from palmette.reports.classification import classifier_inspection

    about = classifier_inspection(classifier.model_, TOP) if hasattr(classifier, "model_") else None
    return record_of(classifier, "a classifier of sentences over latent structures", about)


def record_of(estimator: Estimator, what: str, about: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "class": type(estimator).__name__,
        "what": what,
        "parameters": {name: _shown(value) for name, value in estimator._changed().items()},
        "trained": about is not None,
        "about": about,
    }


def _shown(value: Any) -> str:
    """A parameter in a line."""
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + " ..."


# Pictures


def tagger(found: Tagger) -> str:
    return chain_html(tagger_record(found))


def linear_classifier(found: LinearClassifier) -> str:
    return chain_html(linear_classifier_record(found))


def chain_html(record: Mapping[str, Any]) -> str:
    """A model that scores label sequences."""
    about = record["about"]
    if about is None:
        return model_page(record)
    from palmette.reports.inspection import TOOLS

    origin = about["imported"]
    attributes = [f"{size:,} on the {part}" for part, size in about["attributes"].items()]
    rows = {
        "learner": described(about["settings"]["learner"]) if origin is None else "",
        "read from": "" if origin is None else f"a model of {TOOLS[origin['tool']]}",
        "labels": _names(about["labels"]) + (f" ({about['scheme']})" if about["scheme"] else ""),
        "states": ", ".join(f"{label} {n}" for label, n in about["states"].items()),
        "words": f"{record['words']:,}" if "words" in record else "",
        "order, search": f"{about['order']}, {about['search']}",
        "attributes": f"{', '.join(attributes)}; {not_zero(about['nonzero_weights'])}",
        "training": _training(about),
        "confidences": about["confidence_is"],
    }
    weights = [(label, [(row["name"], row["weight"]) for row in top]) for label, top in about["top"].items() if top]
    left = len(about["labels"]) - len(about["top"])
    more = quiet(f"and {counted(left, 'more label')}") if left > 0 else ""
    pairs = [(f"{one['from']} > {one['to']}", one["weight"]) for one in about["transitions"]]
    return model_page(
        record,
        facts(rows),
        folded("strongest weights", _strongest(weights), more) if weights else "",
        folded("strongest transitions", _weights(pairs)) if pairs else "",
        _log(about["history"], about["best_pass"]),
    )


def parser(found: Parser) -> str:
    return parser_html(parser_record(found))


def parser_html(record: Mapping[str, Any]) -> str:
    about = record["about"]
    if about is None:
        return model_page(record)
    settings = about["settings"]
    rows = {
        "learner": described(settings["learner"]),
        "search": described(settings["search"]) + (", merging" if settings["merge"] else ""),
        "relations": _names(about["relations"]),
        "templates": f"{about['templates']['number']} ({about['templates']['name']}), which read "
        + " ".join(about["reads"]),
        "features": f"{about['features']:,}; {not_zero(about['nonzero_weights'])}",
        "training": _training(about, "LAS"),
    }
    templates = element("pre", "\n".join(about["template_lines"]), style="background:none;color:inherit")
    return model_page(record, facts(rows), _log(about["history"], about["best_pass"]), folded("templates", templates))


def classifier(found: Classifier) -> str:
    return classifier_html(classifier_record(found))


def classifier_html(record: Mapping[str, Any]) -> str:
    about = record["about"]
    if about is None:
        return model_page(record)
    settings = about["settings"]
    negative, positive = about["classes"]
    views = ", ".join(f"{name} ({counted(len(tags), 'tag')})" for name, tags in about["views"].items())
    rows = {
        "learner": described(settings["learner"]),
        "classes": f"{positive} (score of at least 0), {negative}",
        "views": views + (f", combined by {settings['combine']}" if len(about["views"]) > 1 else ""),
        "attributes": f"{about['attributes']:,}; {not_zero(about['nonzero_weights'])}",
        "training": _training(about),
    }
    folds = [
        folded(f"strongest weights of {name}", _strongest(list(tags.items())[:LABELS]))
        for name, tags in about["top"].items()
        if any(tags.values())
    ]
    return model_page(record, facts(rows), *folds, _log(about["history"], about["best_pass"]))


def model_page(record: Mapping[str, Any], *parts: Any) -> str:
    """The name of the class and what it is, the parts, and the parameters."""
    state = "" if record["trained"] else ", not trained yet"
    head = element("div", element("b", record["class"]), quiet(f"  {record['what']}{state}"))
    given = facts({name: element("code", value) for name, value in record["parameters"].items()})
    parameters = "" if not record["parameters"] else folded("parameters that are not the defaults", given)
    return page(head, *parts, parameters)


def _names(names: Sequence[str]) -> str:
    more = f", and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{len(names)}: {', '.join(names[:NAMED])}{more}"


def _training(about: Mapping[str, Any], metric: str = "score") -> str:
    """The pass that was kept, and its scores."""
    history, best = about["history"], about["best_pass"]
    kept = next((row for row in history if row["number"] == best), None)
    if kept is None:
        return ""
    dev = "" if kept["dev"] is None else f"; development {metric} {percent(kept['dev'])}"
    unit = unit_of(kept["figures"])
    return f"{unit} {best} of {len(history)} kept; training accuracy {percent(kept['train_accuracy'])}{dev}"


def _strongest(rows: Iterable[tuple[str, Weights]]) -> Html:
    """A row for each label: its attributes."""
    return facts({label: _weights(pairs) for label, pairs in rows})


def _weights(pairs: Weights) -> Html:
    """Attributes with their weights, as many in a line as there is room for."""
    style = "display:inline-block;margin-right:1.1em"
    return html(*(element("span", f"{name} ", quiet(f"{weight:+.2f}"), style=style) for name, weight in pairs))


def _log(history: Sequence[Mapping[str, Any]], best: int | None) -> Html | str:
    if not history:
        return ""
    dev = any(row["dev"] is not None for row in history)
    objective = any("objective" in row["figures"] for row in history)
    heads = [unit_of(history[-1]["figures"]), "objective" if objective else "updates", "training"]
    rows = []
    for row in history[-PASSES:]:
        work = row["figures"].get("objective") if objective else row["updates"]
        cells = [row["number"], "" if work is None else f"{work:,.2f}" if objective else f"{work:,}"]
        cells.append(percent(row["train_accuracy"]))
        cells += [percent(row["dev"])] if dev else []
        rows.append([*cells, "kept" if row["number"] == best else ""])
    return folded("training log", rows_table([*heads, *(["development"] if dev else []), ""], rows, left=0))
