"""What is written beside a model: its card for people, and the notice that its licence asks for.

A card is a JSON object: name, language, version, licence, about, components, bytes, sha256, training_seconds, scores,
limits, and sources, each with name, licence, url, use, attribution, and a notice that goes with every copy. Only the
first two, the licence and the checksum have to be there.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

README, NOTICE = "README.md", "LICENSE.txt"
COLUMNS = ("Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "Lemmas", "UAS", "LAS")
INPUTS = {"text": "from raw text", "gold-tokens": "from gold words"}


def card_text(card: Mapping[str, Any]) -> str:
    """The card in Markdown."""
    return "\n".join(_lines(card)) + "\n"


def _lines(card: Mapping[str, Any]) -> Iterator[str]:
    yield f"# {card['name']}: {card.get('language', '')}".rstrip(": ")
    yield ""
    if "bytes" in card:
        parts = ", ".join(card.get("components", ()))
        yield f"A language pipeline ({parts}), {card['bytes'] / 1e6:.1f} MB. Licence: {card['licence']}."
        yield ""
    yield "```python"
    yield f'nlp = palmette.load("{card["name"]}")'
    yield "```"
    yield ""
    if card.get("about"):
        yield from ("## Text that it was trained on", "", card["about"], "")
    yield from _score_lines(card.get("scores", {}))
    if card.get("limits"):
        yield from ("## Limits", "", *(f"- {limit}" for limit in card["limits"]), "")
    if card.get("sources"):
        yield from ("## Data", "", "| data | licence | used for | by |", "|---|---|---|---|")
        for source in card["sources"]:
            name = f"[{source['name']}]({source['url']})" if source.get("url") else source["name"]
            yield f"| {name} | {source['licence']} | {source.get('use', '')} | {source.get('attribution', '')} |"
        yield ""
    yield from ("## File", "", f"`sha256 {card['sha256']}`")
    if "training_seconds" in card:
        yield from ("", f"Training took {card['training_seconds']} seconds of CPU time.")


def _score_lines(scores: Mapping[str, Any]) -> Iterator[str]:
    test = scores.get("test", {})
    if any(name in test for name in INPUTS):
        yield from ("## Scores", "", "F1 on test data, by the rules of the CoNLL 2018 shared task:", "")
        yield f"| | {' | '.join(COLUMNS)} |"
        yield "|---|" + "--:|" * len(COLUMNS)
        for name, title in INPUTS.items():
            cells = [f"{test[name][column]:.1f}" if column in test.get(name, {}) else "" for column in COLUMNS]
            yield f"| {title} | {' | '.join(cells)} |"
        yield ""
    if "entities" in test:
        found = test["entities"]
        figures = ", ".join(f"{name} {value:.1f}" for name, value in found.items())
        yield f"Entities on test data, from gold words: {figures}."
        yield ""


def notice_text(card: Mapping[str, Any]) -> str:
    """The notice of the licence, with the attribution of all data."""
    made = [
        f"The model {card['name']!r} ({card.get('language', '')}) is licensed under {card['licence']}.",
        "It was trained by Palmette from:",
        "",
    ]
    for source in card.get("sources", ()):
        made += [f"{source['name']}, {source['licence']}", f"  {source.get('attribution', '')}"]
        made += [f"  {source['url']}"] if source.get("url") else []
        made += ["", textwrap.indent(source["notice"], "    "), ""] if source.get("notice") else []
    made += [
        "",
        "CC BY-SA 4.0: https://creativecommons.org/licenses/by-sa/4.0/legalcode",
        "CC BY 4.0: https://creativecommons.org/licenses/by/4.0/legalcode",
    ]
    return "\n".join(made) + "\n"
