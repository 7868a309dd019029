"""The same work with python-crfsuite, as a careful user of it would write it.

As a program (`python -m bench.rival train FILE MODEL`, `... tag MODEL FILE OUT`) it is the other side of the
whole-process measurements.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pycrfsuite

Sentence = list[list[str]]


def stream(path: str | Path) -> Iterator[Sentence]:
    """Yield sentences of word, POS, chunk, one at a time."""
    sentence: Sentence = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line := line.rstrip("\n"):
                sentence.append(line.split(" "))
            elif sentence:
                yield sentence
                sentence = []
    if sentence:
        yield sentence


def read(path: str | Path) -> list[Sentence]:
    """Read all sentences of word, POS, chunk."""
    return list(stream(path))


def attributes(sentence: Sentence) -> list[list[str]]:
    """The 19 CRF++ templates for CoNLL-2000 as strings."""
    n = len(sentence)
    w = ["_B-2", "_B-1", *(row[0] for row in sentence), "_B+1", "_B+2"]
    p = ["_B-2", "_B-1", *(row[1] for row in sentence), "_B+1", "_B+2"]
    return [
        [
            "U00:" + w[i], "U01:" + w[i + 1], "U02:" + w[i + 2], "U03:" + w[i + 3], "U04:" + w[i + 4],
            "U05:" + w[i + 1] + "/" + w[i + 2], "U06:" + w[i + 2] + "/" + w[i + 3],
            "U10:" + p[i], "U11:" + p[i + 1], "U12:" + p[i + 2], "U13:" + p[i + 3], "U14:" + p[i + 4],
            "U15:" + p[i] + "/" + p[i + 1], "U16:" + p[i + 1] + "/" + p[i + 2],
            "U17:" + p[i + 2] + "/" + p[i + 3], "U18:" + p[i + 3] + "/" + p[i + 4],
            "U20:" + p[i] + "/" + p[i + 1] + "/" + p[i + 2],
            "U21:" + p[i + 1] + "/" + p[i + 2] + "/" + p[i + 3],
            "U22:" + p[i + 2] + "/" + p[i + 3] + "/" + p[i + 4],
        ]
        for i in range(n)
    ]  # fmt: skip


def train(path: str | Path, model: str | Path, passes: int = 10) -> dict[str, float]:
    """Train the averaged perceptron from a file to a saved model; return the seconds of each step. A sentence is
    appended as soon as it is read, so that only CRFsuite keeps its features."""
    begun = time.perf_counter()
    trainer = pycrfsuite.Trainer(algorithm="ap", verbose=False)
    trainer.set_params({"max_iterations": passes, "epsilon": 0.0})
    for s in stream(path):
        trainer.append(attributes(s), [row[2] for row in s])
    append_done = time.perf_counter()
    trainer.train(str(model))
    end = time.perf_counter()
    return {"read and append": append_done - begun, "train and save": end - append_done, "total": end - begun}


def tag(model: str | Path, path: str | Path, out: str | Path) -> float:
    """File to file; seconds."""
    begun = time.perf_counter()
    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))
    with open(out, "w", encoding="utf-8") as target:
        for sentence in stream(path):
            labels = tagger.tag(attributes(sentence))
            for row, label in zip(sentence, labels, strict=True):
                target.write(" ".join(row) + " " + label + "\n")
            target.write("\n")
    return time.perf_counter() - begun


def crf(path: str | Path, model: str | Path, iterations: int, equal: bool) -> None:
    """File to saved model with L-BFGS, with a weight for every attribute and label, or for those seen together."""
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    everything = {"feature.possible_states": equal, "feature.possible_transitions": equal}
    trainer.set_params({"c1": 0.0, "c2": 1.0, "max_iterations": iterations, **everything})
    for s in stream(path):
        trainer.append(attributes(s), [row[2] for row in s])
    trainer.train(str(model))


if __name__ == "__main__":
    if sys.argv[1] == "train":
        train(sys.argv[2], sys.argv[3])
    elif sys.argv[1] == "crf":
        crf(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5] == "equal")
    else:
        tag(sys.argv[2], sys.argv[3], sys.argv[4])
