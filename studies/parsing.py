"""Learning to parse with a beam: updates, beams, merging of states, and gold tags against predicted ones.

`python -m studies.parsing` trains on UD English-EWT and writes docs/studies/parsing.json, then the page and the plots.

- main: rich templates, beam 8, the whole training file, gold tags; standard, early and max-violation updates. The pass
  is chosen on dev; test is read once for each seed of max-violation.
- seeds: the same updates on the first 1,500 training and 800 dev sentences, three seeds, to count passes.
- beams: beams of 1 to 16 for every update, on the same sentences.
- merging: basic templates, with merging of states and without, on the same sentences.
- learners: PA, MIRA and probPerc on the items of the beam.
- predicted: tags by our own tagger, jackknifed in ten folds for training; lemmas and features left out.
"""

from __future__ import annotations

import statistics
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import data_folder
from palmette import Parser, Reading, Tagger, Treebank, read_treebank
from palmette.parse.tags import jackknifed, retagged
from palmette.text.corpus import column_of_types
from palmette.text.read import read_corpus
from studies.common import BLUE, BROWN, DOCS, GREEN, GREY, RED, Cell, Record, markdown, mean, plotting, publish

NAME = "parsing"
SEEDS = (1, 2, 3)
UPDATES = ("standard", "early", "max-violation", "latest", "hybrid", "laso")
MAIN = {"max-violation": 10, "early": 16, "standard": 8}  # passes
SEEDED = {"max-violation": 16, "early": 32, "standard": 8}
PREDICTED = 8  # passes with predicted tags
BEAMS = (1, 2, 4, 8, 16)
SMALL, SMALL_DEV, SMALL_PASSES = 1500, 800, 6
LEARNERS = {"perceptron": {}, "pa": {}, "mira": {}, "probperc": {"rate": 0.1}}
COLOURS = dict(zip(UPDATES, (BROWN, GREEN, BLUE, GREY, RED, "#7b2d8b"), strict=True))


@cache
def treebank(part: str) -> Treebank:
    return read_treebank(data_folder() / "ud-ewt" / f"en_ewt-ud-{part}.conllu")


@cache
def small() -> Treebank:
    return treebank("train").take(np.arange(SMALL))


@cache
def small_dev() -> Treebank:
    return treebank("dev").take(np.arange(SMALL_DEV))


def trained(train: Treebank, dev: Treebank, passes: int, **settings: Any) -> tuple[Parser, Cell]:
    """A parser and what its passes were like."""
    parser = Parser(passes=passes, **settings).fit(train, dev)
    rows = parser.outcome_.history
    return parser, {
        "las": [round(100 * float(row.dev or 0), 3) for row in rows],
        "uas": [round(100 * row.figures["dev_uas"], 3) for row in rows],
        "bad": [round(100 * row.figures["bad_updates"], 2) for row in rows],
        "cut": [round(row.figures["cut"], 3) for row in rows],
        "updates": [row.updates for row in rows],
        "seconds": [round(row.seconds, 2) for row in rows],
    }


def main_cell(update: str, seed: int) -> Cell:
    parser, found = trained(treebank("train"), treebank("dev"), MAIN[update], update=update, seed=seed)
    if update == "max-violation":
        scores = parser.evaluate(treebank("test"))
        found |= {"test_uas": 100 * scores.uas, "test_las": 100 * scores.las, "test_clas": 100 * scores.clas}
        found |= {"test_uas_words": 100 * scores.no_punctuation.uas, "test_las_words": 100 * scores.no_punctuation.las}
    return found


def seeded_cell(update: str, seed: int) -> Cell:
    return trained(small(), small_dev(), SEEDED[update], update=update, seed=seed)[1]


def beam_cell(update: str, beam: int) -> Cell:
    return trained(small(), small_dev(), SMALL_PASSES, update=update, beam=beam)[1]


def learner_cell(learner: str, update: str) -> Cell:
    return trained(small(), small_dev(), SMALL_PASSES, learner=learner, update=update, **LEARNERS[learner])[1]


def merging_cell(merge: bool) -> Cell:
    """Trained with merging or without; parsed with both by the same weights, so that model scores can be compared."""
    parser, found = trained(small(), small_dev(), SMALL_PASSES, features="basic", merge=merge)
    dev, model = small_dev(), parser.model_
    scores = {}
    for other in (False, True):
        model.parse(dev.take(np.arange(5)), 8, other)
        begun = time.perf_counter()
        parsed = model.parse(dev, 8, other)
        name = "merging" if other else "plain"
        found[f"{name}_seconds"] = time.perf_counter() - begun
        found[f"{name}_merges"] = parsed.merges / dev.n_sentences
        scores[other] = parsed.scores
    found["higher"] = 100 * float((scores[True] > scores[False] + 1e-6).mean())
    found["lower"] = 100 * float((scores[True] < scores[False] - 1e-6).mean())
    return found


def predicted_cell(seed: int) -> Cell:
    """Tags by a tagger, in training too."""
    path = data_folder() / "ud-ewt" / "en_ewt-ud-train.conllu"
    made: dict[str, Treebank] = {part: _without_morphology(treebank(part)) for part in ("train", "dev", "test")}
    accuracy = {}
    for field in ("upos", "xpos"):
        tagger = Tagger("pos", passes=5).fit_corpus(read_corpus(path, Reading(label=field)), None, names=False)
        tagger.model_.meta["reading"] = {"format": "conllu", "label": field, "columns": ("form",)}
        made["train"] = jackknifed(made["train"], field, seed=seed)
        for part in ("dev", "test"):
            gold = treebank(part).column(field).cells()
            made[part] = retagged(made[part], tagger, field)
            accuracy[f"{part}_{field}"] = 100 * float(
                np.mean([a == b for a, b in zip(gold, made[part].column(field).cells(), strict=True)])
            )
    parser, found = trained(made["train"], made["dev"], PREDICTED, seed=seed)
    scores = parser.evaluate(made["test"])
    return found | accuracy | {"test_uas": 100 * scores.uas, "test_las": 100 * scores.las}


def _without_morphology(bank: Treebank) -> Treebank:
    nothing = column_of_types(np.zeros(bank.n_tokens, np.int32), ["_"])
    return bank.with_column("lemma", nothing).with_column("feats", nothing)


def run(record: Record) -> None:
    """Cheap cells first, so that a study that was stopped has something to tell."""
    record.cell({"stage": "main", "update": "max-violation", "seed": 1}, lambda: main_cell("max-violation", 1))
    for merge in (False, True):
        record.cell({"stage": "merging", "merge": merge}, lambda m=merge: merging_cell(m))
    for beam in BEAMS:
        for update in UPDATES:
            record.cell({"stage": "beams", "update": update, "beam": beam}, lambda u=update, b=beam: beam_cell(u, b))
    for seed in SEEDS:
        for update in SEEDED:
            what = {"stage": "seeds", "update": update, "seed": seed}
            record.cell(what, lambda u=update, s=seed: seeded_cell(u, s))
    record.cell({"stage": "predicted", "seed": 1}, lambda: predicted_cell(1))
    for learner in LEARNERS:
        what = {"stage": "learners", "learner": learner, "update": "max-violation"}
        record.cell(what, lambda n=learner: learner_cell(n, "max-violation"))
    for seed in SEEDS:
        for update in MAIN:
            record.cell({"stage": "main", "update": update, "seed": seed}, lambda u=update, s=seed: main_cell(u, s))


def main() -> None:
    record = Record(NAME, SEEDS)
    if "--publish" not in sys.argv:
        run(record)
    publish(NAME, page(record))
    plot(record)


def smallest(data: Path) -> tuple[Cell, Cell]:
    """The settings of a cell that is quickly run again, and what comes out now."""
    return {"stage": "beams", "update": "early", "beam": 1}, beam_cell("early", 1)


def reached(curve: list[float], score: float) -> int | None:
    """The first pass that is at least so good."""
    return next((k + 1 for k, value in enumerate(curve) if value >= score), None)


def page(record: Record) -> str:
    """All that the record has so far."""
    parts = [PAGE.format(origin=record.origin()), _main_part(record), _seeds_part(record, "main")]
    parts += [_seeds_part(record, "seeds"), _beams_part(record)]
    parts += [_merging_part(record), _learners_part(record), _predicted_part(record)]
    return "\n\n".join(part for part in parts if part) + "\n"


PAGE = """# Learning to parse with a beam

{origin}

UD English-EWT, 12,544 training sentences; labelled arc-standard parser, pseudo-projective. Figures by the rules of the
official UD scorer (punctuation counts, subtypes of relations do not). A bad update is one that is no violation: gold
already scores higher than the guess where the two are cut (see [inexact search](../beam.md)).

![UAS against passes and against time; beams of tagger and parser](parsing.png)"""


def _best(cell: Cell) -> int:
    return max(range(len(cell["las"])), key=lambda k: cell["las"][k])


def _main_part(record: Record) -> str:
    rows = []
    for update in MAIN:
        cells = record.some(stage="main", update=update)
        if not cells:
            continue
        best = [_best(cell) for cell in cells]
        figures = [mean(cell[name][k] for cell, k in zip(cells, best, strict=True)) for name in ("uas", "las")]
        bad = mean((statistics.mean(cell["bad"]) for cell in cells), 1)
        seconds = statistics.mean(statistics.median(cell["seconds"]) for cell in cells)
        passes = ", ".join(str(k + 1) for k in best)
        rows.append([update, str(len(cells)), *figures, passes, bad, f"{seconds:.0f} s"])
    head = ["update", "seeds", "dev UAS", "dev LAS", "best pass", "bad updates, %", "a pass"]
    tested = record.some(stage="main", update="max-violation")
    text = "## Gold tags, beam 8, rich templates\n\n" + markdown(head, rows)
    if tested:
        names = ("test_uas", "test_las", "test_clas", "test_uas_words", "test_las_words")
        uas, las, clas, uas_words, las_words = (mean(cell[name] for cell in tested) for name in names)
        text += (
            f"\n\nOn test, max-violation, the pass chosen on dev: **UAS {uas}, LAS {las}**, CLAS {clas}; without "
            f"punctuation UAS {uas_words}, LAS {las_words}. (UDPipe 1 has 88.1 and 86.2 with gold tags.)"
        )
    return text


FIRST_RUN = "early's best (80.07, 80.80, 80.81) in passes 16, 15, 16, which max-violation reached in passes 6, 10, 9."


def _seeds_part(record: Record, stage: str) -> str:
    """How soon max-violation is where early ends up, and whether standard is below both."""
    rows, share = [], []
    for seed in SEEDS:
        found = {c["update"]: c for c in record.some(stage=stage, seed=seed)}
        if set(found) != set(MAIN):
            continue
        best = {update: max(cell["las"]) for update, cell in found.items()}
        passes, last = reached(found["max-violation"]["las"], best["early"]), _best(found["early"]) + 1
        share += [passes / last] if passes else []
        bad = "/".join(f"{statistics.mean(found[update]['bad']):.0f}" for update in MAIN)
        rows.append([
            str(seed), f"{best['early']:.2f}", str(last), "never" if passes is None else str(passes),
            f"{best['max-violation']:.2f}", f"{best['standard']:.2f}", bad,
        ])  # fmt: skip
    if not rows:
        return ""
    head = [
        "seed", "early: best dev LAS", "in pass", "max-violation is there in pass", "its best LAS",
        "standard: best LAS", "bad updates, % (max-violation/early/standard)",
    ]  # fmt: skip
    data = "all training sentences" if stage == "main" else f"the first {SMALL:,} training sentences"
    told = f"\n\nWhere it gets there, it needs {statistics.mean(share):.2f} of early's passes." if share else ""
    if stage == "seeds":
        told += " A first run with 16 passes of early, which was still rising, and 10 of the other: " + FIRST_RUN
    return f"### Passes that max-violation needs for the best score of early; {data}\n\n" + markdown(head, rows) + told


def _beams_part(record: Record) -> str:
    cells = record.some(stage="beams")
    if not cells:
        return ""
    tables = []
    for title, figure in (("UAS on dev, the best of", "uas"), ("bad updates in %, mean of", "bad")):
        rows = []
        for update in UPDATES:
            row = [update]
            for beam in BEAMS:
                one = record.some(stage="beams", update=update, beam=beam)
                value = (max(one[0][figure]) if figure == "uas" else statistics.mean(one[0][figure])) if one else None
                row.append("—" if value is None else f"{value:.2f}" if figure == "uas" else f"{value:.1f}")
            rows.append(row)
        head = [f"{title} {SMALL_PASSES} passes", *(f"beam {beam}" for beam in BEAMS)]
        tables.append(markdown(head, rows))
    return f"## Beams, on the first {SMALL:,} training sentences, seed 1\n\n" + "\n\n".join(tables)


def _merging_part(record: Record) -> str:
    rows = []
    for merge in (False, True):
        for cell in record.some(stage="merging", merge=merge):
            rows.append([
                "with merging" if merge else "without", f"{max(cell['las']):.2f}", f"{cell['merging_merges']:.1f}",
                f"{cell['higher']:.1f}%", f"{cell['lower']:.1f}%",
                f"{cell['merging_seconds'] / cell['plain_seconds']:.2f}x",
            ])  # fmt: skip
    if not rows:
        return ""
    head = ["trained", "dev LAS", "merges a sentence", "merging finds a higher score", "a lower one", "time of merging"]
    return (
        f"## Merging of states, basic templates, beam 8, {SMALL:,} training sentences\n\n" + markdown(head, rows)
        + "\n\nThe last four columns parse dev with the same weights in both ways, at the same beam."
    )  # fmt: skip


def _learners_part(record: Record) -> str:
    cells = record.some(stage="learners")
    if not cells:
        return ""
    rows = [
        [c["learner"], f"{max(c['uas']):.2f}", f"{max(c['las']):.2f}", f"{statistics.median(c['seconds']):.1f} s"]
        for c in cells
    ]
    head = ["learner", "dev UAS", "dev LAS", "a pass"]
    return f"## Learners on the beam, max-violation, {SMALL:,} training sentences\n\n" + markdown(head, rows)


def _predicted_part(record: Record) -> str:
    cells = record.some(stage="predicted")
    if not cells:
        return ""
    tags = ", ".join(f"{field.upper()} {mean(c[f'test_{field}'] for c in cells)}" for field in ("upos", "xpos"))
    return (
        "## Predicted tags\n\nTags by our own tagger, jackknifed in ten folds for training, without lemmas and "
        f"morphological features. On test: {tags}; UAS {mean(c['test_uas'] for c in cells)}, "
        f"LAS {mean(c['test_las'] for c in cells)}. (UDPipe 1 has 84.4 and 81.1 with its own tags.)"
    )


def plot(record: Record, folder: Path = DOCS) -> None:
    """Learning curves of the parser, and beams of tagger and parser side by side."""
    plt = plotting()
    figure, ((by_pass, by_time), (tagging, parsing)) = plt.subplots(2, 2, figsize=(12, 8.6))
    for update in MAIN:
        for cell in record.some(stage="main", update=update, seed=1):
            passes = range(1, len(cell["uas"]) + 1)
            by_pass.plot(passes, cell["uas"], marker="o", markersize=3, color=COLOURS[update], label=update)
            by_time.plot(np.cumsum(cell["seconds"]) / 60, cell["uas"], marker="o", markersize=3, color=COLOURS[update])
    by_pass.set(title="Parser: UAS on dev by pass (beam 8)", xlabel="pass", ylabel="UAS")
    by_time.set(title="The same by minutes of training", xlabel="minutes", ylabel="UAS")
    tagged = Record("inexact", ()).some(task="tagging", seed=1, weights="avg")
    _beams(tagging, tagged, "dev", "Tagger: accuracy on dev by beam", "accuracy", 100)
    _beams(parsing, record.some(stage="beams"), "uas", f"Parser: UAS on dev by beam ({SMALL:,} sentences)", "UAS", 1)
    by_pass.legend(frameon=False)
    tagging.legend(frameon=False, fontsize=8, loc="center right")
    for axis in (by_pass, by_time):
        axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(folder / f"{NAME}.png", dpi=110)
    plt.close(figure)


def _beams(axis: Any, cells: list[Cell], figure: str, title: str, ylabel: str, percent: int) -> None:
    """The best score by beam for each update; dotted, on the right, the share of bad updates."""
    bad = axis.twinx()
    for update in UPDATES:
        own = sorted((c for c in cells if c["update"] == update and c["beam"]), key=lambda cell: cell["beam"])
        beams = [cell["beam"] for cell in own]
        axis.plot(beams, [max(c[figure]) for c in own], marker="o", markersize=4, color=COLOURS[update], label=update)
        if update in ("standard", "max-violation"):
            shares = [percent * statistics.mean(c["bad"]) for c in own]
            bad.plot(beams, shares, linestyle=":", marker="x", markersize=5, color=COLOURS[update])
    axis.set(title=title, xlabel="beam", ylabel=ylabel)
    axis.set_xscale("log", base=2)
    axis.set_xticks(BEAMS, [str(beam) for beam in BEAMS])
    axis.grid(alpha=0.3)
    bad.set_ylabel("dotted: bad updates, %")
    bad.set_ylim(bottom=-2)


if __name__ == "__main__":
    main()
