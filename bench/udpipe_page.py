"""The tables of docs/pipeline.md and a sentence of docs/benchmarks.md, from the record of bench/udpipe.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MARKS = "<!-- pipelines: begin -->", "<!-- pipelines: end -->"
SENTENCE = "<!-- pipeline of EWT: begin -->", "<!-- pipeline of EWT: end -->"
COLUMNS = {"Tokens": "tokens", "Sentences": "sentences", "UPOS": "UPOS", "XPOS": "XPOS", "UFeats": "FEATS",
           "Lemmas": "lemmas", "UAS": "UAS", "LAS": "LAS"}  # fmt: skip
QUOTED = ("Sentences", "UPOS", "UFeats", "Lemmas", "LAS")  # in the sentence
GIVEN = ("Tokens", "Sentences")  # known if tokens are
OURS, RIVAL, PUBLISHED = "palmette", "UDPipe 1", "published"
ENGLISH, TRAINED = "English-EWT", ("Turkish-IMST", "Vietnamese-VTB")
AUTHORS = {"parser": 30, "tokenizer": 100}  # epochs of the authors of UDPipe
Side = dict[str, Any]


def page(result: dict[str, Any]) -> str:
    """All that is between the marks of docs/pipeline.md."""
    english = result[ENGLISH]
    both = {title: result[title] for title in TRAINED}
    return "\n".join([
        _head("UD English-EWT, test, F1"),
        *_rows("", english, PUBLISHED, "UDPipe 1.2, published"),
        "",
        "The figures of UDPipe 1.2 are the published ones of its UD 2.5 model. Palmette's are those of",
        "`python -m bench udpipe-ewt`, which trains with the defaults. " + _costs(english[OURS]),
        "",
        f"Turkish and Vietnamese, compared with UDPipe 1 (`ufal.udpipe` {result['udpipe']}) trained on the same",
        "treebanks with its authors' settings by `python -m bench udpipe`, on test data. " + _bounds(both),
        "",
        _head("F1"),
        *(row for title, found in both.items() for row in _rows(f"**UD {title}**, ", found, RIVAL, RIVAL)),
        "",
        *_cost_table(both),
    ])  # fmt: skip


def sentence(result: dict[str, Any]) -> str:
    """The sentence on English in docs/benchmarks.md."""
    mine, theirs = (result[ENGLISH][side]["raw"] for side in (OURS, PUBLISHED))
    named = [f"{COLUMNS[metric]} {mine[metric]:.1f}" for metric in QUOTED]
    other = [f"{theirs[metric]:.1f}" for metric in QUOTED]
    return (
        "A pipeline of UD English-EWT, from raw text to trees (test data, `palmette pipeline eval`):\n"
        f"{', '.join(named)}, where UDPipe 1.2 has {', '.join(other)}\n"
        "in published figures ([all figures](pipeline.md#scores))."
    )


def _head(title: str) -> str:
    return f"| {title} | {' | '.join(COLUMNS.values())} |\n|---|{'--:|' * len(COLUMNS)}"


def _rows(title: str, found: dict[str, Side], rival: str, name: str) -> list[str]:
    """A row of ours and one of the rival's for each kind of input; a kind that the rival was not run on has none."""
    rows = []
    for what, words in (("raw", "from raw text"), ("gold tokens", "from gold tokens")):
        for side, label in ((OURS, (title if what == "raw" else "") + words), (rival, name)):
            scores = found.get(side, {}).get(what)
            if scores:
                rows.append(f"| {label} | {' | '.join(_cell(scores, metric, what) for metric in COLUMNS)} |")
    return rows


def _cell(scores: dict[str, float], metric: str, what: str) -> str:
    hidden = metric not in scores or (metric in GIVEN and what != "raw")
    return "" if hidden else f"{scores[metric]:.1f}"


def _costs(mine: Side) -> str:
    speed = mine["words_per_second"]
    return (
        f"Training took {mine['seconds']:.0f} s\nwith two threads, {mine['cpu']:.0f} s of CPU, and "
        f"{mine['megabytes'] / 1000:.1f} GB; the file has {mine['model_megabytes']:.0f} MB. "
        "One core goes from text to\n"
        f"trees at {_round(speed['raw'])} words per second with the parser's beam of 8, and at "
        f"{_round(speed['raw, greedy'])} greedily (CPU time)."
    )


def _round(speed: float) -> str:
    return f"{round(speed, -2):,.0f}"


def _speed(what: str) -> Callable[[Side], str]:
    return lambda side: _round(side["words_per_second"][what])


COSTS: dict[str, Callable[[Side], str]] = {
    "training, seconds of CPU": lambda side: f"{side['cpu']:,.0f}",
    "training, peak memory": lambda side: f"{side['megabytes']:,.0f} MB",
    "model": lambda side: f"{side['model_megabytes']:.1f} MB",
    "words per second, raw text": _speed("raw"),
    "words per second, gold tokens": _speed("gold tokens"),
    "words per second, raw text, greedy parser": _speed("raw, greedy"),
}


def _cost_table(both: dict[str, dict[str, Side]]) -> list[str]:
    sides = [(title.partition("-")[0] if side == OURS else side, found.get(side, {}))
             for title, found in both.items() for side in (OURS, RIVAL)]  # fmt: skip
    lines = [f"| | {' | '.join(name for name, _ in sides)} |", "|---|" + "--:|" * len(sides)]
    return lines + [
        f"| {what} | {' | '.join(_known(shown, side) for _, side in sides)} |" for what, shown in COSTS.items()
    ]


def _known(shown: Callable[[Side], str], side: Side) -> str:
    try:
        return shown(side)
    except KeyError:
        return ""


def _bounds(both: dict[str, dict[str, Side]]) -> str:
    """For how many epochs UDPipe was trained."""
    shorter = []
    for title, found in both.items():
        parts = found.get(RIVAL, {}).get("parts", {})
        lengths = [f"{part} {parts[part]['passes']}" if part in parts else f"no {part}" for part in AUTHORS]
        shorter.append(f"{title.partition('-')[0]} {', '.join(lengths)}")
    whole = ", ".join(f"{part} {passes}" for part, passes in AUTHORS.items())
    return f"We trained UDPipe for\nfewer epochs than its authors ({whole}): {'; '.join(shorter)}."
