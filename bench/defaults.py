"""The default of a tagger against other settings, with one setting for all tasks.

Choices are made on development data: every corpus has a part to learn from and one to score on. `TRIED` ran on all
tasks; `TRIED_SMALL` ran on the small ones, where they had lost, or where a question about them (how many passes, which
step size) had its answer. Then the default, the default before 0.2 and, task by task, the setting that is best on
development data are scored on test data. A run is kept in `results/defaults.json` as soon as it is done, and not
repeated.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.addresses import address_features, read_addresses
from bench.measure import RESULTS, keep
from palmette import Arow, Crf, Mira, PassiveAggressive, ProbPerc, Tagger
from palmette.data import FormatSpec
from palmette.data.corpus import Corpus, column_of_types
from palmette.data.formats.registry import read_corpus
from palmette.data.items import corpus_from_items
from palmette.data.subset import take
from palmette.datasets import load_demo

Settings = dict[str, Any]
Cells = dict[str, dict[str, dict[str, float]]]  # task -> setting -> score, cpu
DEFAULT, OLD = "default", "perceptron, 10 passes"
SHARE: Settings = {"passes": 30, "patience": 5, "dev_share": 0.1}

TRIED: dict[str, Settings] = {
    OLD: {"learner": "perceptron"},
    "5-best mira": {"learner": Mira(nbest=5)},
    "3-best mira": {"learner": Mira(nbest=3)},
    "5-best arow": {"learner": Arow(nbest=5)},
    "probperc": {"learner": ProbPerc()},
    "pa": {"learner": PassiveAggressive()},
    DEFAULT: {},
}
TRIED_SMALL: dict[str, Settings] = {
    "perceptron, 5 passes": {"learner": "perceptron", "passes": 5},
    "perceptron, 20 passes": {"learner": "perceptron", "passes": 20},
    "perceptron, share 0.1": {"learner": "perceptron", **SHARE},
    "5-best mira, 5 passes": {"learner": Mira(nbest=5), "passes": 5},
    "5-best mira, 20 passes": {"learner": Mira(nbest=5), "passes": 20},
    "5-best mira, share 0.1": {"learner": Mira(nbest=5), **SHARE},
    "5-best mira, C 0.03": {"learner": Mira(nbest=5, aggressiveness=0.03)},
    "5-best mira, C 0.01": {"learner": Mira(nbest=5, aggressiveness=0.01)},
    "5-best mira, sum of steps": {"learner": Mira(nbest=5, step_cap="sum")},
    "10-best mira": {"learner": Mira(nbest=10)},
    "1-best mira": {"learner": Mira()},
    "1-best arow": {"learner": Arow()},
    "5-best arow, C 0.1": {"learner": Arow(nbest=5, aggressiveness=0.1)},
    "5-best arow, C 10": {"learner": Arow(nbest=5, aggressiveness=10.0)},
    "5-best arow, share 0.1": {"learner": Arow(nbest=5), **SHARE},
    "pa, C 0.01": {"learner": PassiveAggressive(aggressiveness=0.01)},
    "probperc, 20 passes": {"learner": ProbPerc(), "passes": 20},
    "crf, adagrad": {"learner": Crf(optimiser="adagrad")},
    "crf, lbfgs, l2 1": {"learner": Crf(l2=1.0)},
    "crf, lbfgs, l2 0.3": {"learner": Crf(l2=0.3)},
}


class Parts(NamedTuple):
    """Of a corpus; `whole` is what is learnt from before test data is scored."""

    train: Corpus
    dev: Corpus
    whole: Corpus
    test: Corpus | None


class Task(NamedTuple):
    """features: the templates of all settings but the default, which chooses its own."""

    read: Callable[[Path], Parts]
    features: str | None
    small: bool = False


def _halves(corpus: Corpus, test: Corpus | None = None) -> Parts:
    """Every tenth sentence to score on."""
    numbers = np.arange(corpus.n_sentences)
    return Parts(take(corpus, numbers[numbers % 10 != 9]), take(corpus, numbers[numbers % 10 == 9]), corpus, test)


def _noun_phrases(corpus: Corpus) -> Corpus:
    """The labels of noun phrases alone."""
    assert corpus.labels is not None
    types = [label if label in ("B-NP", "I-NP") else "O" for label in corpus.labels.types]
    names = ["B-NP", "I-NP", "O"]
    ids = np.array([names.index(label) for label in types], np.int32)[corpus.labels.ids]
    corpus.labels = column_of_types(ids, names)
    return corpus


def _conll(data: Path, change: Callable[[Corpus], Corpus]) -> Parts:
    train, test = (change(read_corpus(data / "conll2000" / f"{part}.txt", FormatSpec())) for part in ("train", "test"))
    return _halves(train, test)


def _three(read: Callable[[str], Corpus]) -> Parts:
    train, dev, test = (read(part) for part in ("train", "dev", "test"))
    return Parts(train, dev, train, test)


def _conllu(stem: Path, label: str) -> Parts:
    return _three(lambda part: read_corpus(stem.with_name(f"{stem.name}-ud-{part}.conllu"), FormatSpec(label=label)))


def _demo(part: str, tags: bool) -> Corpus:
    """The demo corpus: chunks, or parts of speech from words."""
    X, y = load_demo(part)
    if tags:
        y = [[tag for _, tag in sentence] for sentence in X]
        X = [[word for word, _ in sentence] for sentence in X]
    return corpus_from_items(X, y).corpus


def _addresses(data: Path) -> Parts:
    """Ready-made attributes."""
    pairs = read_addresses(data / "downstream" / "usaddress-labeled.xml")
    return _halves(corpus_from_items([address_features(tokens) for tokens, _ in pairs], [y for _, y in pairs]).corpus)


TASKS: dict[str, Task] = {
    "demo chunks": Task(lambda data: _three(lambda part: _demo(part, tags=False)), "ner", small=True),
    "demo tags": Task(lambda data: _three(lambda part: _demo(part, tags=True)), "pos", small=True),
    "dates": Task(lambda data: _halves(read_corpus(data / "downstream" / "grobid-date.txt")), "ner", small=True),
    "addresses": Task(_addresses, None, small=True),
    "vi upos": Task(lambda data: _conllu(data / "ud-vi" / "vi_vtb", "upos"), "pos", small=True),
    "tr upos": Task(lambda data: _conllu(data / "ud-tr" / "tr_imst", "upos"), "pos", small=True),
    "en upos": Task(lambda data: _conllu(data / "ud-ewt" / "en_ewt", "upos"), "pos"),
    "en xpos": Task(lambda data: _conllu(data / "ud-ewt" / "en_ewt", "xpos"), "pos"),
    "chunks": Task(lambda data: _conll(data, lambda corpus: corpus), "ner"),
    "noun phrases": Task(lambda data: _conll(data, _noun_phrases), "ner"),
    "bio entities": Task(lambda data: _three(lambda part: read_corpus(data / "jnlpba" / f"{part}.txt")), "ner"),
}


def bench_defaults(data: Path) -> None:
    path = RESULTS / "defaults.json"
    found: dict[str, Cells] = json.loads(path.read_text())["result"] if path.exists() else {"dev": {}, "test": {}}
    for name, task in TASKS.items():
        own = found["dev"].setdefault(name, {})
        wanted = {**TRIED, **TRIED_SMALL} if task.small else TRIED
        missing = [setting for setting in wanted if setting not in own]
        parts = task.read(data) if missing else None
        for setting in missing:
            assert parts is not None
            own[setting] = _run(task, setting, parts.train, parts.dev)
            print(f"  {name:<14} {setting:<28} {own[setting]['score']:.2f}  {own[setting]['cpu']:.1f} s", flush=True)
            keep("defaults", found)
    for name, task in TASKS.items():
        own, parts = found["test"].setdefault(name, {}), None
        for setting in dict.fromkeys((OLD, DEFAULT, best_known(found["dev"][name]))):
            if setting not in own:
                parts = parts or task.read(data)
                if parts.test is not None:
                    own[setting] = _run(task, setting, parts.whole, parts.test)
                    keep("defaults", found)
    _print_settings(found["dev"])
    _print_tasks(found)


def _run(task: Task, setting: str, train: Corpus, gold: Corpus) -> dict[str, float]:
    """F1 of spans, or else accuracy, in percent; seconds of CPU of the training."""
    params = {**TRIED, **TRIED_SMALL}[setting]
    begun = time.process_time()
    features = None if setting == DEFAULT else task.features
    tagger = Tagger(features, **params).fit_corpus(train, None)
    cpu = time.process_time() - begun
    scores = tagger.evaluate(gold)
    figure = scores.accuracy if scores.f1 is None else scores.f1
    return {"score": round(100 * figure, 2), "cpu": round(cpu, 2)}


def best_known(own: dict[str, dict[str, float]]) -> str:
    """The setting with the best score on development data; of equal ones the quickest."""
    return max(own, key=lambda setting: (own[setting]["score"], -own[setting]["cpu"]))


def _print_settings(found: Cells) -> None:
    """Differences to the perceptron task by task, their mean over the tasks that were run, and the median of the time
    as a multiple of its time."""
    short = {name: name.replace("demo ", "d.")[:9] for name in TASKS}
    print(f"\non dev, against {OLD}\n{'':28}" + "".join(f"{short[name]:>10}" for name in TASKS) + "    mean    time")
    for setting in {**TRIED, **TRIED_SMALL}:
        ran = {name: own[setting] for name, own in found.items() if setting in own}
        gains = {name: cell["score"] - found[name][OLD]["score"] for name, cell in ran.items()}
        times = [cell["cpu"] / max(0.01, found[name][OLD]["cpu"]) for name, cell in ran.items()]
        cells = "".join(f"{gains[name]:>+10.2f}" if name in gains else f"{'not run':>10}" for name in TASKS)
        of = "all" if len(ran) == len(TASKS) else str(len(ran))
        print(f"{setting:<28}{cells}{np.mean(list(gains.values())):>+8.2f} ({of}){np.median(times):>6.1f}x")


def _print_tasks(found: dict[str, Cells]) -> None:
    """The default beside the old one and the best known setting of each task."""
    print(f"\n{'':14}{'before':>8}{'':>8}{'default':>8}{'':>8}{'best':>8}{'':>8}  best on dev\n{'on test':<14}", end="")
    print(f"{'score':>8}{'CPU':>8}" * 3)
    for name in TASKS:
        best = best_known(found["dev"][name])
        own, what = found["test"][name], ""
        if not own:
            own, what = found["dev"][name], " (dev: there is no test data)"
        cells = "".join(f"{own[s]['score']:>8.2f}{own[s]['cpu']:>6.1f} s" for s in (OLD, DEFAULT, best))
        print(f"{name:<14}{cells}  {best}{what}")
