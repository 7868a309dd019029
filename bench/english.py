"""The English model that ships with the package beside other tools: accuracy, speed on one core, memory, size.

NLTK's tagger is trained here on the same treebank with its default of five passes, since its own model has other tags.
Scores of our model are those of its card, which were read once on test data; speed and memory are measured. UDPipe,
spaCy and XLM-R are published figures. `python -m bench report` writes the table of docs/ready_models.md.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.measure import keep, process
from bench.udpipe import PUBLISHED as UDPIPE
from bench.udpipe import ewt_inputs
from palmette import Pipeline
from palmette.data import read_treebank
from palmette.models import CARD, SHIPPED, path_of

MARKS = "<!-- english: begin -->", "<!-- english: end -->"
CARD_FILE = SHIPPED / "en" / CARD
# The metadata of the model, meta/en_core_web_sm-3.8.0.json in the repository explosion/spacy-models; its speed was
# measured on a machine that is not named. Tags, relations and entities are those of OntoNotes.
SPACY = {"XPOS": 97.3, "UAS": 91.8, "LAS": 89.9, "entities": 84.3, "words per second": 9426, "megabytes": 12}
XLM_R = {"entities": 86.0}  # arXiv 2311.09122: XLM-R large, trained on the training part, EWT test
# The card of explosion/en_udv25_englishewt_trf: EWT of UD 2.5; the card does not say from which part or input
TRANSFORMER = {"UPOS": 96.9, "XPOS": 96.4, "LAS": 89.4}
Side = dict[str, Any]


def bench_english(data: Path, times: int) -> None:
    """Measure our model and NLTK's tagger, and keep their figures with the published ones."""
    gold = read_treebank(data / "ud-ewt" / "en_ewt-ud-test.conllu")
    inputs = ewt_inputs(data)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {"palmette": _ours(inputs, gold.n_tokens, folder, times)}
        for field in ("upos", "xpos"):
            found[f"NLTK {field}"] = _nltk(data, field, folder, times)
    keep("english", found)
    print(table(found))


def _ours(inputs: dict[str, Path], words: int, folder: Path, times: int) -> Side:
    """Words per second of CPU from raw text to everything, and of tags alone; a whole process; start and load."""
    pipeline, target = Pipeline.load(path_of("en")), folder / "out.conllu"
    works: dict[str, Callable[[], Any]] = {
        "text to trees and entities": lambda: pipeline.run_file(inputs["raw"], target),
        "tags": lambda: pipeline.run_file(inputs["gold tokens"], target, input="conllu", components=("tag",)),
    }
    speed = {what: words / _fastest(work, times) for what, work in works.items()}
    begin = [sys.executable, "-m", "palmette", "tag", "en"]
    whole = [process([*begin, str(inputs["raw"]), "-o", str(target), "-q"]) for _ in range(times)]
    one = [process([*begin, "Time flies."]) for _ in range(times)]
    return {"words per second": speed, "megabytes of memory": max(run[2] for run in whole),
            "one sentence": {"cpu": min(run[1] for run in one), "megabytes": max(run[2] for run in one)}}  # fmt: skip


def _fastest(work: Callable[[], Any], times: int) -> float:
    """Seconds of CPU of the fastest of all runs."""
    best = float("inf")
    for _ in range(times):
        begun = time.process_time()
        work()
        best = min(best, time.process_time() - begun)
    return best


def _nltk(data: Path, field: str, folder: Path, times: int) -> Side:
    """NLTK's perceptron trained on the treebank: accuracy on gold words, words per second, memory, size."""
    from nltk.tag.perceptron import PerceptronTagger

    files = {part: folder / f"{field}-{part}.txt" for part in ("train", "test")}
    for part, file in files.items():
        file.write_text("".join(_columns(data / "ud-ewt" / f"en_ewt-ud-{part}.conllu", field)), encoding="utf-8")
    model, out = folder / f"{field}.json", folder / "out.txt"
    command = [sys.executable, "-m", "bench.newcomer", "NLTK"]
    process([*command, "train", str(files["train"]), str(model)])
    whole = process([*command, "tag", str(model), str(files["test"]), str(out)])
    rows = [line.split(" ") for line in out.read_text(encoding="utf-8").splitlines() if line]
    tables = json.loads(model.read_text(encoding="utf-8"))
    tagger = PerceptronTagger(load=False)
    tagger.model.weights, tagger.tagdict, tagger.classes = tables["weights"], tables["tags"], set(tables["classes"])
    tagger.model.classes = tagger.classes
    sentences = [[line.split(" ")[0] for line in block.splitlines()]
                 for block in files["test"].read_text(encoding="utf-8").strip().split("\n\n")]  # fmt: skip
    seconds = _fastest(lambda: [tagger.tag(sentence) for sentence in sentences], times)
    return {"accuracy": 100 * sum(row[1] == row[2] for row in rows) / len(rows),
            "words per second": len(rows) / seconds, "megabytes of memory": whole[2],
            "megabytes": model.stat().st_size / 1e6}  # fmt: skip


def _columns(path: Path, field: str) -> Iterator[str]:
    """Yield a CoNLL-U file as lines of word and tag; spaces inside a word become underscores."""
    place = {"upos": 3, "xpos": 4}[field]
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if fields == [""]:
                yield "\n"
            elif fields[0].isdigit():
                yield f"{fields[1].replace(' ', '_')} {fields[place]}\n"


# The table


COLUMNS = ("UPOS", "XPOS", "LAS", "entities, F1", "words per second", "memory", "model")


def table(found: dict[str, Side]) -> str:
    """The tools side by side; empty cells were not measured or published."""
    card = json.loads(CARD_FILE.read_text(encoding="utf-8"))
    test, ours, upos, xpos = card["scores"]["test"], found["palmette"], found["NLTK upos"], found["NLTK xpos"]
    size, memory = f"{card['bytes'] / 1e6:.1f} MB", f"{ours['megabytes of memory']:.0f} MB"
    entities = f"{test['entities']['F1']:.1f}"
    text, tags = (_round(speed) for speed in ours["words per second"].values())
    rows = [
        ("**`en`**, raw text", *_scores(test["text"]), "", text, memory, size),
        ("**`en`**, gold words", *_scores(test["gold-tokens"]), entities, f"tags alone: {tags}", "", ""),
        ("NLTK's tagger, trained on EWT, gold words", f"{upos['accuracy']:.1f}", f"{xpos['accuracy']:.1f}", "", "",
         _round(xpos["words per second"]), f"{xpos['megabytes of memory']:.0f} MB", f"{xpos['megabytes']:.1f} MB"),
        ("UDPipe 1.2, published, raw text", f"{UDPIPE['raw']['UPOS']:.1f}", "", f"{UDPIPE['raw']['LAS']:.1f}", "",
         str(UDPIPE["words_per_second"]), "", ""),
        ("a transformer in spaCy, [published](https://huggingface.co/explosion/en_udv25_englishewt_trf)",
         *(f"{score}" for score in TRANSFORMER.values()), "", "", "", ""),
        ("XLM-R large, [published](https://arxiv.org/abs/2311.09122), gold words", "", "", "",
         f"{XLM_R['entities']:.1f}", "", "", ""),
        ("spaCy's `en_core_web_sm` 3.8, [published](https://github.com/explosion/spacy-models), **on OntoNotes**", "",
         f"{SPACY['XPOS']}", f"{SPACY['LAS']}", f"{SPACY['entities']}", f"{SPACY['words per second']:,}", "",
         f"{SPACY['megabytes']} MB"),
    ]  # fmt: skip
    one = ours["one sentence"]
    start = f"{one['cpu']:.2f} s of CPU and {one['megabytes']:.0f} MB"
    return "\n".join([
        f"| UD English-EWT, test | {' | '.join(COLUMNS)} |",
        "|---|" + "--:|" * len(COLUMNS),
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
        f'`palmette tag en "Time flies."` takes {start}, start included.',
    ])  # fmt: skip


def _scores(test: dict[str, float]) -> tuple[str, ...]:
    return tuple(f"{test[name]:.1f}" for name in ("UPOS", "XPOS", "LAS"))


def _round(speed: float) -> str:
    return f"{round(speed, -2):,.0f}"
