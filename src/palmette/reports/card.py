"""A model card in Markdown: what a tagger is, what it learnt from, how good it was, how to use it. Written from what
`palmette inspect --json` reports; what the file does not know is left for its author to fill in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from palmette import __version__
from palmette.reports.tables import described
from palmette.structures.training_log import unit_of

FILL_IN = "*To be filled in by the author.*"
SHOWN = 5


def model_card(about: dict[str, Any], path: str) -> str:
    """The card of the model in a file, from its inspection."""
    return "\n".join(_lines(about, path)) + "\n"


def _lines(about: dict[str, Any], path: str) -> Iterator[str]:
    name = os.path.basename(path)
    yield f"# {os.path.splitext(name)[0]}"
    yield ""
    yield f"A sequence tagger in the file `{name}` ({os.path.getsize(path) / 1e6:.2f} MB), for Palmette {__version__}."
    yield ""
    yield "## Use"
    yield ""
    yield "```"
    yield f"palmette tag {name} input.txt -o tagged.txt"
    yield "```"
    yield ""
    yield f"Intended use and limits: {FILL_IN}"
    yield ""
    yield from _output(about)
    yield from _model(about)
    yield from _training(about, name)
    yield "## What it learnt"
    yield ""
    yield "| label | strongest attributes |"
    yield "|---|---|"
    for label, rows in about["top"].items():
        cells = [f"{_code(row['name'])} {row['weight']:+.2f}" for row in rows[:SHOWN]]
        yield f"| {_code(label)} | {', '.join(cells)} |"


def _output(about: dict[str, Any]) -> Iterator[str]:
    yield "## Output"
    yield ""
    labels = about["labels"]
    scheme = f" in the tag scheme {about['scheme']}" if about["scheme"] else ""
    yield f"{len(labels)} labels{scheme}: {', '.join(_code(label) for label in labels)}."
    yield f"Confidences: {about['confidence_is']}."
    if about["calibration"] is not None:
        yield f"Calibrated on {about['calibration']['data']}."
    yield ""


def _model(about: dict[str, Any]) -> Iterator[str]:
    yield "## Model"
    yield ""
    yield from _table(
        {
            "learner": described(about["settings"]["learner"]),
            "order": about["order"],
            "search": about["search"],
            "hidden states": ", ".join(f"{label} {n}" for label, n in about["states"].items()),
            "attributes": ", ".join(f"{size:,} of the {part}" for part, size in about["attributes"].items()),
            "weights that are not zero": f"{about['nonzero_weights']:,}",
            "templates": "" if about["templates"] is None else len(about["templates"]),
            "seed": about["settings"]["seed"],
        }
    )
    yield ""


def _training(about: dict[str, Any], name: str) -> Iterator[str]:
    yield "## Training"
    yield ""
    yield f"Data, its licence and its annotation: {FILL_IN}"
    yield ""
    unit = unit_of(about["history"][-1]["figures"]) if about["history"] else "pass"
    yield from _table(
        {
            "distinct words in the training data": f"{about['training_words']:,}" if about["training_words"] else "",
            "passes" if unit == "pass" else f"{unit}s": len(about["history"]) or "",
            "ended": about["ended"],
            f"{unit} that was kept": about["best_pass"] if about["best_pass"] else "",
            **_scores(about),
        }
    )
    yield ""
    yield f"Scores on test data: {FILL_IN} (`palmette eval {name} test.txt`)"
    yield ""


def _scores(about: dict[str, Any]) -> dict[str, str]:
    """Of the pass that was kept."""
    rows = {row["number"]: row for row in about["history"]}
    kept = rows.get(about["best_pass"]) or (about["history"][-1] if about["history"] else None)
    if kept is None:
        return {}
    found = {"accuracy on the training data": f"{100 * kept['train_accuracy']:.2f} %"}
    if kept["dev"] is not None:
        found["score on the development data"] = f"{100 * kept['dev']:.2f} %"
    return found


def _table(rows: dict[str, Any]) -> Iterator[str]:
    yield "| | |"
    yield "|---|---|"
    for name, value in rows.items():
        if value is not None and value != "":
            yield f"| {name} | {str(value).replace('|', chr(92) + '|')} |"


def _code(text: str) -> str:
    """Text as code in a cell of a table."""
    fence = "``" if "`" in text else "`"
    edge = " " if "`" in text else ""
    return f"{fence}{edge}{text.replace('|', chr(92) + '|')}{edge}{fence}"
