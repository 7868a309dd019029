"""Chunkers in five representations of the same chunks, and a vote between them (Shen and Sarkar 2005).

`python -m studies chunk_views` trains an averaged perceptron on the NP chunks of CoNLL-2000 and on all of them in each
of the five representations of Clifton, Whitney and Sarkar (2013), and reads the test file: chunks, and beginnings and
ends of chunks by themselves. The vote takes for each token the label that most of the five have once they are written
in IOB2. Passes were fixed in advance, nothing was chosen.
"""

from __future__ import annotations

import statistics
import tempfile
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path

import msgspec

from bench.measure import TEMPLATES, data_folder
from bench.quality import np_file
from palmette import Tagger
from palmette.data import FormatSpec
from palmette.data.convert import convert_labels
from palmette.data.corpus import Corpus, column_of_strings
from palmette.data.formats.registry import read_corpus
from palmette.data.labels.schemes import Span, spans
from palmette.structures.chain.gold import gold_and_guess
from studies.common import Cell, Record, estimator_from, markdown, mean, run_study

NAME = "chunk_views"
SEEDS = (1, 2, 3, 4, 5)
PASSES = 10
TASKS = {"np": "NP chunks", "chunks": "All chunks"}
VIEWS = {"IOB1": "IOB1", "IOB2": "IOB2", "IOE1": "IOE1", "IOE2": "IOE2", "O+C": "IOBES"}  # name -> scheme
VOTE = "vote of the five"
FIGURES = {"f1": "F", "starts": "F of beginnings", "ends": "F of ends"}
Labels = list[list[str]]


@cache
def corpora(task: str, data: Path) -> tuple[Corpus, Corpus]:
    files = [data / "conll2000" / f"{part}.txt" for part in ("train", "test")]
    if task == "np":
        folder = Path(tempfile.mkdtemp())
        files = [np_file(file, folder / file.name) for file in files]
    train, test = (read_corpus(file, FormatSpec()) for file in files)
    return train, test


def by_sentence(labels: list[str], corpus: Corpus) -> Labels:
    cuts = corpus.offset.tolist()
    return [labels[a:b] for a, b in pairwise(cuts)]


def written(corpus: Corpus, scheme: str) -> Corpus:
    """The corpus with its chunks in another scheme."""
    assert corpus.labels is not None
    converted = convert_labels(by_sentence(corpus.labels.cells(), corpus), scheme)
    return msgspec.structs.replace(corpus, labels=column_of_strings(label for own in converted for label in own))


@cache
def guessed(task: str, data: Path, view: str, seed: int) -> Labels:
    """The labels of the test sentences by a chunker in one representation, written in IOB2."""
    train, test = corpora(task, data)
    settings = {"template": TEMPLATES / "crfpp.txt", "passes": PASSES, "seed": seed}
    tagger = estimator_from(Tagger, settings).fit_corpus(written(train, VIEWS[view]), None)
    _, guess, names = gold_and_guess(tagger.model_, written(test, VIEWS[view]))
    return convert_labels(by_sentence([names[y] for y in guess], test), "iob2")


def voted(task: str, data: Path, seed: int) -> Labels:
    """For each token the label that most representations have; the first of them decides between equals."""
    outputs = [guessed(task, data, view, seed) for view in VIEWS]
    return [
        [Counter(labels).most_common(1)[0][0] for labels in zip(*own, strict=True)]
        for own in zip(*outputs, strict=True)
    ]


def f_score(gold: Iterable[set], guess: Iterable[set]) -> float:
    """F in per cent over sentences of sets."""
    right = wanted = found = 0
    for true, own in zip(gold, guess, strict=True):
        right, wanted, found = right + len(true & own), wanted + len(true), found + len(own)
    return 200 * right / (wanted + found)


def scored(task: str, data: Path, guess: Labels) -> Cell:
    test = corpora(task, data)[1]
    assert test.labels is not None
    gold = by_sentence(test.labels.cells(), test)
    chunks = [[spans(own) for own in side] for side in (gold, guess)]

    def sets(side: list[list[Span]], start: bool, end: bool) -> list[set]:
        return [{(c.type, c.start if start else 0, c.end if end else 0) for c in own} for own in side]

    asked = {"f1": (True, True), "starts": (True, False), "ends": (False, True)}
    return {name: f_score(*(sets(side, *which) for side in chunks)) for name, which in asked.items()}


def run(record: Record, data: Path) -> None:
    for task in TASKS:
        for seed in SEEDS:
            for view in VIEWS:
                what = {"task": task, "view": view, "seed": seed}
                record.cell(what, lambda t=task, v=view, s=seed: scored(t, data, guessed(t, data, v, s)))
            what = {"task": task, "view": VOTE, "seed": seed}
            record.cell(what, lambda t=task, s=seed: scored(t, data, voted(t, data, s)))


def smallest(data: Path) -> tuple[Cell, Cell]:
    """The settings of a cell that is quickly run again, and what comes out now."""
    return {"task": "np", "view": "IOE1", "seed": 1}, scored("np", data, guessed("np", data, "IOE1", 1))


def table(record: Record, task: str) -> str:
    rows = []
    for view in (*VIEWS, VOTE):
        cells = record.some(task=task, view=view)
        rows.append([view, *(mean(c[figure] for c in cells) if cells else "not run" for figure in FIGURES)])
    return markdown(["representation", *FIGURES.values()], rows)


def came_out(record: Record, task: str) -> str:
    """The best representation by itself beside the vote."""
    scores = {view: [c["f1"] for c in record.some(task=task, view=view)] for view in (*VIEWS, VOTE)}
    if not all(scores.values()):
        return ""
    best = max(VIEWS, key=lambda view: statistics.mean(scores[view]))
    gap = statistics.mean(scores[VOTE]) - statistics.mean(scores[best])
    return f"\n\nThe vote is {abs(gap):.2f} {'above' if gap > 0 else 'below'} {best}, the best of the five by itself."


def page(record: Record) -> str:
    """The page, from the record alone."""
    tables = "\n\n".join(
        f"## {title}\n\n{table(record, task)}{came_out(record, task)}" for task, title in TASKS.items()
    )
    return f"""# Chunks in five representations

{record.origin()}

CoNLL-2000, the 19 templates of CRF++, averaged perceptron, {PASSES} passes, fixed in advance. The same chunks are
written in the five representations of Clifton, Whitney and Sarkar (2013; [tag schemes](../tagging.md)) for training,
and read back from each. The vote takes for each token the label that most of the five have in IOB2, as Shen and Sarkar
(2005) do. Beginnings and ends are scored by themselves, with their types, on the test file.

{tables}
"""


def main() -> None:
    run_study(NAME, SEEDS, lambda record: run(record, data_folder()), page)


if __name__ == "__main__":
    main()
