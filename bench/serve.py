"""From Python, beside python-crfsuite: one sentence at a time, lists of sentences, and training, from words, columns,
lists and dicts of features. Both sides have the same features: the CRF++ templates for CoNLL-2000 (for words, those
that read words), which python-crfsuite gets as strings; where it must make them first, that counts.

CPU time, the sides in turn. For single calls also the clock: the median and the 99th percentile of all calls.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pycrfsuite

from bench import rival
from bench.measure import TEMPLATES, keep, median
from palmette import Tagger
from palmette.data.items import corpus_from_items
from palmette.features.templates import parse

CRFPP = TEMPLATES / "crfpp.txt"
PASSES = 10
LENGTH = 10  # tokens of the sentences that are tagged one by one
N_WORD = 7  # templates that read words only: the first ones
SIDES = ("predict", "session", "python-crfsuite")
BATCH_SIDES = ("predict", "python-crfsuite")


class View(NamedTuple):
    """One form of the same sentences: what palmette gets, what python-crfsuite gets, and how it makes that."""

    mine: list[Any]
    theirs: list[Any]
    prepare: Callable[[Any], Any] | None = None


def as_dicts(sentences: list[Any]) -> list[Any]:
    return [[dict(name.split(":", 1) for name in token) for token in sentence] for sentence in sentences]


def word_attributes(sentence: list[str]) -> list[list[str]]:
    """The word templates of CRF++ as strings."""
    w = ["_B-2", "_B-1", *sentence, "_B+1", "_B+2"]
    return [
        ["U00:" + w[i], "U01:" + w[i + 1], "U02:" + w[i + 2], "U03:" + w[i + 3], "U04:" + w[i + 4],
         "U05:" + w[i + 1] + "/" + w[i + 2], "U06:" + w[i + 2] + "/" + w[i + 3]]
        for i in range(len(sentence))
    ]  # fmt: skip


def views(sentences: list[Any]) -> dict[str, View]:
    """All forms of the sentences; the same ones for both sides."""
    words, lists = [[row[0] for row in s] for s in sentences], [rival.attributes(s) for s in sentences]
    columns, dicts = [[(row[0], row[1]) for row in s] for s in sentences], as_dicts(lists)
    short = [[{**dict(list(token.items())[::3]), "bias": "1"} for token in sentence] for sentence in dicts]
    return {
        "words": View(words, words, word_attributes),
        "columns": View(columns, columns, rival.attributes),
        "columns, features ready": View(columns, lists),
        "lists": View(lists, lists),
        "dicts": View(dicts, dicts),
        "short dicts": View(short, short),
    }


def _cpu(work: Callable[[], Any]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def bench_serve(data: Path, times: int) -> None:
    """Microseconds a sentence and tokens per second; seconds of training."""
    train, test = (rival.read(data / "conll2000" / f"{part}.txt") for part in ("train", "test"))
    with tempfile.TemporaryDirectory() as name:
        fit, mine, theirs = _fits(train, Path(name), min(times, 3))
        given = views(test)
        single = {view: _single(view, own, mine, theirs, times) for view, own in given.items()}
        batch = {view: _batch(view, own, mine, theirs, times) for view, own in given.items()}
    sizes = {"train": len(train), "test": len(test)}
    result = {"fit": fit, "single": single, "batch": batch, "length": LENGTH, "sentences": sizes}
    keep("serve", result)
    print("\n".join(table(result)))


def _fits(train: list[Any], folder: Path, times: int) -> tuple[dict[str, Any], dict[str, Tagger], dict[str, Any]]:
    """Seconds to read and to learn, and the models: from lists for lists and dicts, whose features are the same."""
    given, y = views(train), [[row[2] for row in s] for s in train]
    found: dict[str, Any] = {}
    taggers, rivals = {}, {}
    for name in ("lists", "dicts"):
        X, seconds = given[name].mine, {side: {"read": [], "all": []} for side in BATCH_SIDES}
        for _ in range(times):
            seconds["predict"]["read"].append(_cpu(lambda X=X: corpus_from_items(X, y)))
            tagger = Tagger(learner="perceptron", passes=PASSES, seed=1)
            seconds["predict"]["all"].append(_cpu(lambda X=X, tagger=tagger: tagger.fit(X, y, threads=1)))
            trainer = _trainer()
            read = _cpu(lambda X=X, trainer=trainer: _append(trainer, X, y))
            learn = _cpu(lambda trainer=trainer: trainer.train(str(folder / "full")))
            seconds["python-crfsuite"]["read"].append(read)
            seconds["python-crfsuite"]["all"].append(read + learn)
        found[name] = {side: {what: median(own) for what, own in both.items()} for side, both in seconds.items()}
        taggers["attributes"] = tagger
    common: dict[str, Any] = {"learner": "perceptron", "passes": PASSES, "seed": 1}
    taggers["columns"] = Tagger(template=CRFPP, **common).fit(given["columns"].mine, y)
    lines = CRFPP.read_text(encoding="utf-8").splitlines()
    own = [line for line in lines if line.startswith("U")][:N_WORD]
    taggers["words"] = Tagger(template=parse("\n".join([*own, "B"])), **common).fit(given["words"].mine, y)
    trainer = _trainer()
    _append(trainer, [word_attributes(s) for s in given["words"].mine], y)
    trainer.train(str(folder / "words"))
    for name in ("full", "words"):
        rivals[name] = pycrfsuite.Tagger()
        rivals[name].open(str(folder / name))
    return found, taggers, rivals


def _trainer() -> Any:
    trainer = pycrfsuite.Trainer(algorithm="ap", verbose=False)
    trainer.set_params({"max_iterations": PASSES, "epsilon": 0.0})
    return trainer


def _append(trainer: Any, X: list[Any], y: list[Any]) -> None:
    for features, labels in zip(X, y, strict=True):
        trainer.append(features, labels)


def _calls(name: str, view: View, mine: dict[str, Tagger], theirs: dict[str, Any]) -> dict[str, Callable[[Any], Any]]:
    """What each side does with a sentence."""
    kind = name.partition(",")[0]
    tagger = mine[kind if kind in mine else "attributes"]
    tag = theirs["words" if kind == "words" else "full"].tag
    prepare = view.prepare
    return {
        "predict": lambda sentence: tagger.predict([sentence]),
        "session": tagger.session().tag,
        "python-crfsuite": tag if prepare is None else lambda sentence: tag(prepare(sentence)),
    }


def _single(
    name: str, view: View, mine: dict[str, Tagger], theirs: dict[str, Any], times: int
) -> dict[str, dict[str, float]]:
    """Microseconds a sentence of LENGTH tokens: of CPU, and by the clock."""
    chosen = [k for k, sentence in enumerate(view.mine) if len(sentence) == LENGTH]
    calls = _calls(name, view, mine, theirs)
    clock: dict[str, list[int]] = {side: [] for side in SIDES}
    cpu: dict[str, list[float]] = {side: [] for side in SIDES}
    for _ in range(max(times, 3)):
        for side, call in calls.items():
            sentences = [(view.theirs if side == "python-crfsuite" else view.mine)[k] for k in chosen] * 10
            for sentence in sentences[: len(chosen)]:
                call(sentence)
            took = _cpu(lambda call=call, own=sentences: [call(sentence) for sentence in own])
            cpu[side].append(1e6 * took / len(sentences))
            for sentence in sentences:
                begun = time.perf_counter_ns()
                call(sentence)
                clock[side].append(time.perf_counter_ns() - begun)
    found = {}
    for side, own in clock.items():
        own.sort()
        found[side] = {"cpu": min(cpu[side]), "p50": own[len(own) // 2] / 1e3, "p99": own[len(own) * 99 // 100] / 1e3}
    return found


def _batch(name: str, view: View, mine: dict[str, Tagger], theirs: dict[str, Any], times: int) -> dict[str, float]:
    """Tokens a second for all sentences of the test part in one list."""
    kind = name.partition(",")[0]
    tagger = mine[kind if kind in mine else "attributes"]
    tag = _calls(name, view, mine, theirs)["python-crfsuite"]
    sides = {
        "predict": lambda: tagger.predict(view.mine),
        "python-crfsuite": lambda: [tag(sentence) for sentence in view.theirs],
    }
    cpu: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(max(times, 3)):
        for side, work in sides.items():
            cpu[side].append(_cpu(work))
    tokens = sum(map(len, view.mine))
    return {side: tokens / min(own) for side, own in cpu.items()}


WORDS = {
    "words": "words (python-crfsuite: makes its features)",
    "columns": "columns (python-crfsuite: makes its features)",
    "columns, features ready": "columns (python-crfsuite: features ready-made)",
    "lists": "lists of features",
    "dicts": "dicts of 19 features",
    "short dicts": "dicts of 8 features",
}


def table(found: dict[str, Any]) -> list[str]:
    """The tables of docs/benchmarks.md on single sentences."""
    lines = [
        f"| one sentence of {found['length']} tokens, µs of CPU | `predict` | `session.tag` | python-crfsuite | |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, own in found["single"].items():
        cells = [f"{own[side]['cpu']:.0f}" for side in SIDES]
        ratio = own["python-crfsuite"]["cpu"] / own["session"]["cpu"]
        lines.append(f"| {WORDS[name]} | {' | '.join(cells)} | {ratio:.1f}x |")
    lines += ["", "| by the clock, µs: median / 99th percentile | `predict` | `session.tag` | python-crfsuite |"]
    lines += ["|---|--:|--:|--:|"]
    for name, own in found["single"].items():
        cells = [f"{own[side]['p50']:.0f} / {own[side]['p99']:.0f}" for side in SIDES]
        lines.append(f"| {WORDS[name]} | {' | '.join(cells)} |")
    lines += [
        "",
        f"| {found['sentences']['test']:,} sentences in one list, tokens per second | `predict` | python-crfsuite | |",
        "|---|--:|--:|--:|",
    ]
    for name, own in found["batch"].items():
        cells = [f"{own[side]:,.0f}" for side in BATCH_SIDES]
        lines.append(f"| {WORDS[name]} | {' | '.join(cells)} | **{own['predict'] / own['python-crfsuite']:.1f}x** |")
    lines += ["", f"| training on {found['sentences']['train']:,} sentences, s of CPU | `fit` | python-crfsuite | |"]
    lines += ["|---|--:|--:|--:|"]
    for name, sides in found["fit"].items():
        for what, words in (("read", "reading"), ("all", f"reading and {PASSES} passes")):
            mine, theirs = (sides[side][what] for side in BATCH_SIDES)
            lines.append(f"| {WORDS[name]}: {words} | {mine:.2f} | {theirs:.2f} | **{theirs / mine:.1f}x** |")
    return lines
