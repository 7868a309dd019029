"""The page and the picture of the study of hidden states, from its record alone."""

from __future__ import annotations

import statistics
from typing import Any

from palmette.evaluation.significance import holm
from studies.charts import Chart, Line, Panel
from studies.common import Cell, Record, markdown, mean
from studies.latent_gain_sets import SEEDS, SETS, best_latent, best_plain, latent_settings, plain_settings, published

Settings = dict[str, Any]
LEVEL = 0.05
COLOURS = ("orange", "teal", "blue", "grey", "amber", "pink", "ink", "orange", "teal")
WORDS = {
    "share": "tied update", "mavg_every": "mavg every", "init": "start", "init_size": "size",
    "split_after": "split after", "constraints": "constraints",
}  # fmt: skip


def said(states: int, settings: Settings) -> str:
    """A setting in words."""
    parts = [f"{states} states" if states > 1 else "plain"]
    parts += ["avg"] if settings["estimator"] == "avg" else []
    parts += [f"{WORDS[name]} {settings[name]:g}" if name not in ("init", "constraints") else
              f"{WORDS[name]} {settings[name]}" for name in WORDS if name in settings]  # fmt: skip
    return ", ".join(parts)


def finished(record: Record) -> list[str]:
    """Sets of features whose stage two is complete."""
    return [name for name in SETS if started(record, name) and all(_seeds(record, name, c) == set(SEEDS) for c in
            [best_plain(record, name), *best_latent(record, name)])]  # fmt: skip


def started(record: Record, name: str) -> bool:
    return len({c["states"] > 1 for c in record.some(stage="one", features=name)}) == 2


def _seeds(record: Record, name: str, chosen: Cell) -> set[int]:
    return {c["seed"] for c in _tests(record, name, chosen)}


def _tests(record: Record, name: str, chosen: Cell, stage: str = "two") -> list[Cell]:
    return record.some(stage=stage, features=name, states=chosen["states"], settings=chosen["settings"])


class Row:
    """A latent setting beside the plain model on test."""

    def __init__(self, record: Record, name: str, chosen: Cell, rank: int) -> None:
        self.name, self.chosen, self.rank = name, chosen, rank
        self.plain = [c["f1"] for c in _tests(record, name, best_plain(record, name))]
        self.own = [c["f1"] for c in _tests(record, name, chosen)]
        self.test = _tests(record, name, chosen, "compared")[0]
        self.gain = statistics.mean(self.own) - statistics.mean(self.plain)
        self.corrected = 1.0

    @property
    def wins(self) -> bool:
        return self.gain > 0 and self.corrected < LEVEL


def rows_of(record: Record) -> list[Row]:
    """All comparisons on test, p corrected by Holm for their number. Settings that were read on test when stage one was
    not complete, and are not among the best of it now, come last with a rank of 0."""
    rows = []
    for name in filter(lambda name: started(record, name), SETS):
        ranked = best_latent(record, name)
        chosen = dict(enumerate(ranked, 1))
        rows += [Row(record, name, own, k) for k, own in chosen.items() if _tests(record, name, own, "compared")]
        rows += [Row(record, name, own, 0) for own in record.some(stage="compared", features=name)
                 if not any(_same(own, other) for other in ranked)]  # fmt: skip
    for row, p in zip(rows, holm([row.test["randomisation"] for row in rows]), strict=True):
        row.corrected = p
    return rows


def _same(first: Cell, second: Cell) -> bool:
    return (first["states"], first["settings"]) == (second["states"], second["settings"])


def _is_published(row: Row) -> bool:
    return (row.chosen["states"], row.chosen["settings"]) == published(SETS[row.name].published)


def _test_table(record: Record) -> str:
    table = []
    for row in rows_of(record):
        place = f"no. {row.rank} on dev" if row.rank else "read before stage one was complete"
        place = "as published" if _is_published(row) else place
        test = row.test
        significant = sum(p < LEVEL for p in test["mcnemar"])
        table.append([
            f"{SETS[row.name].title}: {said(row.chosen['states'], row.chosen['settings'])} ({place})",
            mean(row.plain), mean(row.own), f"{row.gain:+.2f}", f"{test['randomisation']:.4f}",
            f"{row.corrected:.4f}", f"{test['only_latent']:,} / {test['only_plain']:,}",
            f"{significant} of {len(test['mcnemar'])}",
        ])  # fmt: skip
    head = ["features: latent setting", "plain F", "latent F", "gain", "p", "p, Holm",
            "tokens right in latent / plain alone", "McNemar, seeds with p < .05"]  # fmt: skip
    return markdown(head, table)


def _verdict(record: Record) -> str:
    rows = rows_of(record)
    if not rows:
        return "Stage two has not been run yet."
    chosen = [row for row in rows if row.rank == 1]
    wins = [row for row in chosen if row.wins]
    lines = []
    for row in chosen:
        what = (
            "significantly above"
            if row.wins
            else "significantly below"
            if row.corrected < LEVEL
            else "not significantly different from"
        )
        lines.append(
            f"- {SETS[row.name].title}: the setting that is best on development data "
            f"({said(row.chosen['states'], row.chosen['settings'])}) is {what} the plain model on test, "
            f"{statistics.mean(row.own):.2f} against {statistics.mean(row.plain):.2f} ({row.gain:+.2f}, corrected "
            f"p = {row.corrected:.4f}, five seeds)."
        )
    if wins:
        best = max(wins, key=lambda row: row.gain)
        lines.append(f'\nThe largest gain on a real task is that of "{SETS[best.name].title}": {best.gain:+.2f}.')
    return "\n".join(lines)


def _one_table(record: Record) -> str:
    names = [name for name in SETS if record.some(stage="one", features=name)]
    settings = [(1, s) for s in [*plain_settings(), {"estimator": "avg", "constraints": "none"}]]
    settings += [one for one in latent_settings(5) if one != published(5)]
    rows = [[said(*one), *(_one(record, name, *one) for name in names)] for one in settings]
    theirs = [_one(record, name, *published(SETS[name].published)) for name in names]
    rows.append(["as published: 5 states (Bio-NER 4), tied update 0, mavg every 4, start all, size 1", *theirs])
    return markdown(["", *(SETS[name].title for name in names)], rows)


def _one(record: Record, name: str, states: int, settings: Settings) -> str:
    cells = record.some(stage="one", features=name, states=states, settings=settings)
    return f"{cells[0]['best']:.2f} ({cells[0]['passes']})" if cells else "not run"


def _missing(record: Record) -> str:
    lines = []
    for name, features in SETS.items():
        wanted = [(1, s) for s in plain_settings()] + latent_settings(features.published)
        left = [one for one in wanted if _one(record, name, *one) == "not run"]
        if len(left) == len(wanted):
            lines.append(f"- {features.title}: nothing was run.")
        elif left or name not in finished(record):
            parts = [f"{len(left)} of {len(wanted)} settings of stage one"] * bool(left)
            if name not in finished(record):
                some = bool(record.some(stage="compared", features=name))
                parts.append("all but the best setting of stage two" if some else "stage two")
            lines.append(f"- {features.title}: {' and '.join(parts)}.")
    if lines:
        lines.insert(0, "For want of time:\n")
    return "\n".join([*lines, *_begun(record)]) or "Everything was run."


def _begun(record: Record) -> list[str]:
    """Tests that were begun and have no comparison yet, with what was seen of them."""
    found: dict[str, list[str]] = {}
    for cell in record.some(stage="two"):
        if cell["states"] > 1 and not _tests(record, cell["features"], cell, "compared"):
            title = f"{SETS[cell['features']].title}: {said(cell['states'], cell['settings'])}"
            found.setdefault(title, []).append(f"{cell['f1']:.2f} (seed {cell['seed']})")
    return [f"- Begun on test, not finished: {title}, {', '.join(seen)}." for title, seen in found.items()]


def _sizes(record: Record) -> str:
    """How long the curves of stage one are."""
    told = []
    for name, features in SETS.items():
        found = {len(c["dev"]) for c in record.some(stage="one", features=name)}
        if found:
            told.append(f"{features.title} {max(found)}")
    return "; ".join(told)


PAGE = """# Where hidden states pay

{origin}

The other studies of hidden states ([NP chunking](np_latent.md), [Bio-NER](bio_latent.md)) have the rich features of
Sun, Matsuzaki, Okanohara and Tsujii (2009) on state pairs and triples, where hidden states bring nothing. Here the same
two corpora have sets of features from a single column to those of the publication, and each latent model stands beside
the plain model with the same features.

Stage one, one seed, development data (NP: a held-out tenth of the training sentences): one factor at a time around two
states per label with tied updates, mavg every 4 passes and a start of size 0.01 on transitions (`bare`). Stage two,
five seeds, test: the three best latent settings of stage one, the published one, and the best plain one, each with its
best number of passes; NP is then trained on all sentences. No setting was chosen on test data. p: approximate
randomisation over sentences and all seeds, then corrected by Holm for all rows of the table; McNemar's test is on
tokens, seed by seed. Passes of stage one (fewer than the 60 and 80 of the publication, for want of time): {sizes}.
Attributes that occur once are left out for Bio-NER, and those below 15 with pairs. Tag sequences are constrained to the
scheme unless a row says otherwise, and the ends of a sentence have weights, in which the NP rows differ from those of
[NP chunking](np_latent.md).

Figures seen before a setting was changed: the plain model of word and part of speech with 30 passes (89.63, pass 6),
after which the passes of that set were cut to 15 to save time; four passes of the 28 contexts with plain and latent
models, for their times alone. Of word and part of speech, and of the 17 contexts on states, a first run had only some
latent settings, chosen when the figures of the part of speech alone, on development data and on test, had been seen;
the best of them was read on test before the others were run. The passes of the 17 contexts were cut from 30 to 12
before any of their figures was seen.

## What came out

{verdict}

Where it pays, a state stands for what neighbouring words and tags would have shown. With poor features the level stays
far below that of rich ones (see stage one), so that features are the better way where they can be had.

![Gain by states per label](latent_gain.svg)

## Stage two: test

{tests}

## Stage one: development data

Best F and its pass.

{one}

## Not run

{missing}
"""


def page(record: Record) -> str:
    """The page, from the record alone."""
    return PAGE.format(
        origin=record.origin(), sizes=_sizes(record), verdict=_verdict(record), tests=_test_table(record),
        one=_one_table(record), missing=_missing(record),
    )  # fmt: skip


def chart(record: Record) -> Chart:
    """Development data: what states bring beyond the best plain model, tied updates."""
    lines = []
    for (name, features), colour in zip(SETS.items(), COLOURS, strict=True):
        if not started(record, name):
            continue
        plain = best_plain(record, name)["best"]
        by_states = {c["states"]: c["best"] - plain for c in record.some(stage="one", features=name)
                     if c["settings"] == {"estimator": "mavg", "mavg_every": 4, "share": 1.0}}  # fmt: skip
        points = {1: 0.0} | by_states
        if len(points) > 1:
            x = sorted(points)
            lines.append(Line(features.title, [float(n) for n in x], [points[n] for n in x], colour, points=True))
    panel = Panel(lines, "states per label (1: the plain model)", "F on development data, gain over the plain model",
                  x_ticks=[1.0, 2.0, 3.0, 4.0])  # fmt: skip
    return Chart("Hidden states pay where features are poor", [panel], size=(760, 380))
