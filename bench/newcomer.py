"""What a newcomer pays: the plain default command beside the defaults of the rivals, as whole processes.

Chunks (CoNLL-2000): `palmette train`, `palmette tag` without an option, beside python-crfsuite with its default trainer
and the features of the tutorial that its users copy. Tags (UPOS of EWT): `palmette train --label upos` beside NLTK's
averaged perceptron with its default of five passes. Training is run once per side, since python-crfsuite's takes
minutes; tagging as often as asked. As a program (`python -m bench.newcomer SIDE train|tag ...`) this
module is the other side.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.measure import keep, median, process
from bench.rival import Sentence, stream

SIDES = {"chunks": ("palmette", "python-crfsuite"), "tags": ("palmette", "NLTK")}


def bench_newcomer(data: Path, times: int) -> None:
    """CPU, clock, memory and size, and the score on test."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for task, files in _files(data, folder).items():
            found[task] = {side: _side(side, task, files, folder, times) for side in SIDES[task]}
    keep("newcomer", found)
    print("\n".join("  ".join(row) for row in rows(found)))


def _files(data: Path, folder: Path) -> dict[str, tuple[Path, Path]]:
    """Training and test files: chunks as distributed, tags as columns that both sides read."""
    chunks = data / "conll2000" / "train.txt", data / "conll2000" / "test.txt"
    tags = tuple(folder / f"{part}.txt" for part in ("train", "test"))
    for part, file in zip(("train", "test"), tags, strict=True):
        file.write_text("".join(_columns(data / "ud-ewt" / f"en_ewt-ud-{part}.conllu")), encoding="utf-8")
    return {"chunks": chunks, "tags": (tags[0], tags[1])}


def _columns(path: Path) -> Iterator[str]:
    """Yield a CoNLL-U file as lines of word and UPOS; spaces inside a word become underscores."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if fields == [""]:
                yield "\n"
            elif fields[0].isdigit():
                yield f"{fields[1].replace(' ', '_')} {fields[3]}\n"


def _side(side: str, task: str, files: tuple[Path, Path], folder: Path, times: int) -> dict[str, Any]:
    train, test = map(str, files)
    model, out = str(folder / f"{task}.model.palm"), str(folder / "out.txt")
    commands = {"train": ["-m", "palmette", "train", train, "-o", model, "-q"],
                "tag": ["-m", "palmette", "tag", model, test, "-o", out, "-q"]}  # fmt: skip
    if side != "palmette":
        commands = {"train": ["-m", "bench.newcomer", side, "train", train, model],
                    "tag": ["-m", "bench.newcomer", side, "tag", model, test, out]}  # fmt: skip
    row: dict[str, Any] = {}
    for verb, words in commands.items():
        runs = []
        for _ in range(1 if verb == "train" else times):
            runs.append(process([sys.executable, *words]))
        row[verb] = {"seconds": median([run[0] for run in runs]), "cpu": median([run[1] for run in runs]),
                     "megabytes": max(run[2] for run in runs)}  # fmt: skip
    row["model megabytes"] = os.path.getsize(model) / 1e6
    row["score"] = _score(Path(out), task)
    Path(model).unlink()
    print(f"  {task}, {side}: {row}", file=sys.stderr, flush=True)
    return row


def _score(out: Path, task: str) -> float:
    """F1 of chunks or accuracy of tags; the last two columns are gold and guess."""
    from seqeval.metrics import f1_score

    sentences = list(stream(out))
    gold, guess = ([[row[k] for row in s] for s in sentences] for k in (-2, -1))
    if task == "chunks":
        return 100 * float(f1_score(gold, guess))
    pairs = [pair for g, h in zip(gold, guess, strict=True) for pair in zip(g, h, strict=True)]
    return 100 * sum(a == b for a, b in pairs) / len(pairs)


NAMES = {"chunks": "CoNLL-2000 chunks, F1", "tags": "EWT UPOS, accuracy"}


def rows(found: dict[str, Any]) -> list[tuple[str, ...]]:
    """(task, side, score, training, memory, size of the model, tagging)"""
    return [
        (NAMES[task] if side == "palmette" else "", side, f"{row['score']:.2f}", f"{row['train']['cpu']:.1f} s",
         f"{row['train']['megabytes']:.0f} MB", f"{row['model megabytes']:.1f} MB", f"{row['tag']['cpu']:.2f} s",
         f"{row['tag']['megabytes']:.0f} MB")
        for task, sides in found.items()
        for side, row in sides.items()
    ]  # fmt: skip


# --- the rivals, as programs ------------------------------------------------------------------------------------------


def _token(sentence: Sentence, i: int) -> dict[str, Any]:
    """The features of the tutorial of sklearn-crfsuite for word and POS."""
    word, tag = sentence[i][:2]
    found: dict[str, Any] = {
        "bias": 1.0, "word.lower()": word.lower(), "word[-3:]": word[-3:], "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(), "word.istitle()": word.istitle(), "word.isdigit()": word.isdigit(),
        "postag": tag, "postag[:2]": tag[:2],
    }  # fmt: skip
    for step in (-1, 1):
        if not 0 <= i + step < len(sentence):
            found["BOS" if step < 0 else "EOS"] = True
            continue
        word, tag = sentence[i + step][:2]
        found |= {
            f"{step:+d}:word.lower()": word.lower(), f"{step:+d}:word.istitle()": word.istitle(),
            f"{step:+d}:word.isupper()": word.isupper(), f"{step:+d}:postag": tag, f"{step:+d}:postag[:2]": tag[:2],
        }  # fmt: skip
    return found


def _crfsuite(verb: str, *paths: str) -> None:
    import pycrfsuite

    if verb == "train":
        trainer = pycrfsuite.Trainer(verbose=False)
        for s in stream(paths[0]):
            trainer.append([_token(s, i) for i in range(len(s))], [row[2] for row in s])
        trainer.train(paths[1])
        return
    tagger = pycrfsuite.Tagger()
    tagger.open(paths[0])
    with open(paths[2], "w", encoding="utf-8") as out:
        for s in stream(paths[1]):
            _write(out, s, tagger.tag([_token(s, i) for i in range(len(s))]))


def _nltk(verb: str, *paths: str) -> None:
    """NLTK's tagger writes a folder of JSON; one file holds the same three tables here."""
    from nltk.tag.perceptron import PerceptronTagger

    tagger = PerceptronTagger(load=False)
    if verb == "train":
        tagger.train([[(row[0], row[1]) for row in s] for s in stream(paths[0])])
        tables = {"weights": tagger.model.weights, "tags": tagger.tagdict, "classes": sorted(tagger.classes)}
        Path(paths[1]).write_text(json.dumps(tables), encoding="utf-8")
        return
    tables = json.loads(Path(paths[0]).read_text(encoding="utf-8"))
    tagger.model.weights, tagger.tagdict, tagger.classes = tables["weights"], tables["tags"], set(tables["classes"])
    tagger.model.classes = tagger.classes
    with open(paths[2], "w", encoding="utf-8") as out:
        for s in stream(paths[1]):
            _write(out, s, [tag for _, tag in tagger.tag([row[0] for row in s])])


def _write(out: Any, sentence: Sentence, labels: list[str]) -> None:
    out.write("".join(" ".join([*row, label]) + "\n" for row, label in zip(sentence, labels, strict=True)) + "\n")


if __name__ == "__main__":
    {"python-crfsuite": _crfsuite, "NLTK": _nltk}[sys.argv[1]](*sys.argv[2:])
