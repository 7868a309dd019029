"""CRF by L-BFGS beside python-crfsuite, like for like: the time of an iteration, and time and peak memory of whole
trainings, with a weight for every attribute and label ("equal") and with seen ones only ("seen", CRFsuite's default);
the time to the same quality on held-out sentences; and a training with L1 and L2 to its end on small data with many
features (US addresses).

On CoNLL-2000: the 19 templates, no end weights, no constraints, c2 = l2 = 1. One thread, CPU seconds.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite

from bench.addresses import address_features, read_addresses
from bench.measure import TEMPLATES, keep, median, process
from bench.rival import attributes, read
from palmette import Crf, Tagger
from palmette.data import FormatSpec
from palmette.data.corpus import Corpus
from palmette.data.formats.registry import read_corpus
from palmette.data.subset import split
from palmette.evaluation.scores import score

ITERATIONS = 12
ROUNDS, PASSES = 60, 10
FEATURES = {"equal": "all", "seen": "seen"}  # state features of palmette
PARAMETERS = {"c1": 0.1, "c2": 0.01, "feature.minfreq": 0}  # with which parsers of addresses are trained
SIDES = ("palmette", "python-crfsuite")


def _rival(sentences: list[Any], model: Path, equal: bool) -> tuple[list[float], float]:
    """CPU seconds of each iteration, and the loss after the last one."""
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    everything = {"feature.possible_states": equal, "feature.possible_transitions": equal}
    trainer.set_params({"c1": 0.0, "c2": 1.0, "max_iterations": ITERATIONS, "delta": 0.0, "epsilon": 0.0, **everything})
    for x, y in sentences:
        trainer.append(x, y)
    trainer.train(str(model))
    steps = trainer.logparser.iterations
    return [float(step["time"]) for step in steps], float(steps[-1]["loss"])


class _Clock:
    """CPU seconds since it was made at the end of each iteration, as a progress report."""

    def __init__(self) -> None:
        self.begun, self.marks = time.process_time(), list[float]()

    def __call__(self, number: int, done: int, total: int, finished: Any) -> None:
        if finished is not None:
            self.marks.append(time.process_time() - self.begun)

    @property
    def iterations(self) -> list[float]:
        """Of each iteration but the first, which begins with reading."""
        return np.diff(self.marks).tolist()


def _mine(train: Path, state_features: str) -> tuple[list[float], float]:
    """CPU seconds of each iteration after the first, and the objective after the last one."""
    clock = _Clock()
    tagger = Tagger(
        template=TEMPLATES / "crfpp.txt", learner=Crf(l2=1.0, tolerance=0.0, iterations=ITERATIONS),
        constraints="none", ends=False, state_features=state_features,
    ).fit_file(train, progress=clock, threads=1)  # fmt: skip
    return clock.iterations, float(tagger.training_log_[-1]["figures"]["objective"])


def bench_crf(data: Path, times: int) -> None:
    """Everything, both sides in turn."""
    found: dict[str, Any] = {"iteration": _iterations(data, max(1, times // 2))}
    found["training"] = _trainings(data)
    found["held out"] = _to_equal_quality(data)
    found["addresses"] = _addresses(data, max(1, times // 2))
    keep("crf", found)


def _iterations(data: Path, turns: int) -> dict[str, dict[str, Any]]:
    train = data / "conll2000" / "train.txt"
    sentences = [(attributes(s), [row[2] for row in s]) for s in read(train)]
    found: dict[str, dict[str, Any]] = {name: {side: [] for side in SIDES} | {"objective": {}} for name in FEATURES}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(turns):
            for name, state_features in FEATURES.items():
                own = found[name]
                seconds, own["objective"]["palmette"] = _mine(train, state_features)
                own["palmette"] += seconds
                seconds, own["objective"]["python-crfsuite"] = _rival(sentences, Path(folder, "m"), name == "equal")
                own["python-crfsuite"] += seconds[1:]
    for name, own in found.items():
        mine, theirs = (median(own[side]) for side in SIDES)
        values = " against ".join(f"{own['objective'][side]:.1f}" for side in SIDES)
        print(f"an iteration, {name} features: {mine:.3f} s against {theirs:.3f} s ({theirs / mine:.1f}x)")
        print(f"objective after {ITERATIONS} iterations: {values}")
    return found


def _trainings(data: Path) -> dict[str, dict[str, dict[str, float]]]:
    """CPU seconds and peak memory (MB) of whole processes that train for ITERATIONS iterations."""
    train, n = data / "conll2000" / "train.txt", str(ITERATIONS)
    found: dict[str, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, state_features in FEATURES.items():
            own = ["-t", str(TEMPLATES / "crfpp.txt"), "-q", "--learner", "crf", "--state-features", state_features]
            ours = ["palmette", "train", str(train), "-o", str(Path(folder, "m")), *own, "--iterations", n]
            theirs = ["bench.rival", "crf", str(train), str(Path(folder, "r")), n, name]
            found[name] = {}
            for side, command in zip(SIDES, (ours, theirs), strict=True):
                _, cpu, peak = process([sys.executable, "-m", *command])
                found[name][side] = {"cpu": cpu, "megabytes": peak}
            figures = " against ".join(f"{own['cpu']:.1f} s, {own['megabytes']:.0f} MB" for own in found[name].values())
            print(f"a training of {n} iterations, {name} features: {figures}")
    return found


def _addresses(data: Path, turns: int) -> dict[str, Any]:
    """Trainings to their end with the same penalties and test of convergence, from a dict per token; each fifth
    address is held out. python-crfsuite as parsers of addresses use it, and so that both minimise the same function:
    with weights for all label pairs, and without features that are False, which it counts as seen with their labels."""
    read_in = read_addresses(data / "downstream" / "usaddress-labeled.xml")
    items = [(address_features(tokens), labels) for tokens, labels in read_in]
    train = [one for k, one in enumerate(items) if k % 5]
    test = [one for k, one in enumerate(items) if k % 5 == 0]
    same = {"feature.possible_transitions": True}
    sides = {
        "palmette": lambda: _address_tagger(train, test),
        "python-crfsuite": lambda: _address_rival(train, test, {}),
        "python-crfsuite, same function": lambda: _address_rival(_only_true(train), _only_true(test), same),
    }
    found: dict[str, Any] = {name: {"cpu": []} for name in sides}
    for _ in range(turns):
        for name, work in sides.items():
            begun = time.process_time()
            result, tagged = work()
            found[name] |= result
            found[name]["cpu"].append(tagged - begun)
    for name, own in found.items():
        print(
            f"addresses: {name}: {median(own['cpu']):.2f} s, {own['iterations']} iterations, objective "
            f"{own['objective']:.2f}, {100 * own['accuracy']:.2f}% of held-out tokens"
        )
    return found


def _only_true(items: list[Any]) -> list[Any]:
    """Without features that are False, also in the dicts of neighbours."""

    def kept(item: dict[str, Any]) -> dict[str, Any]:
        return {k: kept(v) if isinstance(v, dict) else v for k, v in item.items() if v is not False}

    return [([kept(item) for item in x], y) for x, y in items]


def _address_tagger(train: list[Any], test: list[Any]) -> tuple[dict[str, float], float]:
    """What was found, and the time before it was tested."""
    tagger = Tagger(
        learner=Crf(l1=PARAMETERS["c1"], l2=PARAMETERS["c2"], iterations=10_000), constraints="none", ends=False,
        state_features="seen",
    ).fit([x for x, _ in train], [y for _, y in train], threads=1)  # fmt: skip
    end, last = time.process_time(), tagger.training_log_[-1]
    guess = tagger.predict([x for x, _ in test])
    return _figures(last["number"], last["figures"]["objective"], guess, test), end


def _address_rival(train: list[Any], test: list[Any], more: dict[str, Any]) -> tuple[dict[str, float], float]:
    trainer = pycrfsuite.Trainer(verbose=False, params=PARAMETERS | more)
    for x, y in train:
        trainer.append(x, y)
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(str(Path(folder, "m")))
        end, last = time.process_time(), trainer.logparser.iterations[-1]
        tagger = pycrfsuite.Tagger()
        tagger.open(str(Path(folder, "m")))
        guess = [tagger.tag(x) for x, _ in test]
    return _figures(last["num"], last["loss"], guess, test), end


def _figures(iterations: int, objective: float, guess: list[list[str]], test: list[Any]) -> dict[str, float]:
    right = [a == b for labels, (_, gold) in zip(guess, test, strict=True) for a, b in zip(labels, gold, strict=True)]
    return {"iterations": iterations, "objective": objective, "accuracy": sum(right) / len(right)}


def _to_equal_quality(data: Path) -> dict[str, float]:
    """python-crfsuite's L-BFGS as it comes, to its end of ROUNDS iterations, on nine tenths of the sentences; then how
    long palmette takes, with encoding and scoring, to be as good on the last tenth, by L-BFGS and by AdaGrad."""
    corpus = read_corpus(data / "conll2000" / "train.txt", FormatSpec())
    rest, held_out = split(corpus, 0.1, 1)
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c1": 0.0, "c2": 1.0, "max_iterations": ROUNDS})
    with tempfile.TemporaryDirectory() as folder:
        for s in range(rest.n_sentences):
            trainer.append(attributes(_rows(rest, s)), [row[-1] for row in _rows(rest, s)])
        begun = time.process_time()
        trainer.train(str(Path(folder, "m")))
        took = time.process_time() - begun
        tagger = pycrfsuite.Tagger()
        tagger.open(str(Path(folder, "m")))
        guess = [tagger.tag(attributes(_rows(held_out, s))) for s in range(held_out.n_sentences)]
    f1 = 100 * _f1(held_out, [label for labels in guess for label in labels])
    found = {"python-crfsuite": took, "python-crfsuite, F": f1}
    print(f"held out: python-crfsuite, {ROUNDS} iterations: F {f1:.2f} after {took:.1f} s")
    for name, own in (("lbfgs", {"l2": 1.0}), ("lbfgs", {"l2": 0.3}), ("adagrad", {"l2": 0.3, "rate": 0.2})):
        learner = Crf(optimiser=name, **own)
        rounds = {"learner": learner.replace(iterations=ROUNDS)} if learner.full_batch else {"passes": PASSES}
        mine = Tagger(template=TEMPLATES / "crfpp.txt", **{"learner": learner} | rounds)
        clock = _Clock()
        mine.fit_corpus(rest, held_out, progress=clock)
        scores, title = [100 * row["dev"] for row in mine.training_log_], f"palmette, {name}, l2 {own['l2']}"
        if max(scores) < f1:
            print(f"held out: {title}: at most {max(scores):.2f}, after {clock.marks[-1]:.1f} s")
            continue
        first = next(k for k, one in enumerate(scores) if one >= f1)
        found[title] = clock.marks[first]
        print(f"held out: {title}: as good after {first + 1} and {found[title]:.2f} s ({took / found[title]:.0f}x)")
    return found


def _f1(corpus: Corpus, guess: list[str]) -> float:
    assert corpus.labels is not None
    names = sorted({*corpus.labels.types, *guess})
    number = {name: k for k, name in enumerate(names)}
    gold = np.array([number[name] for name in corpus.labels.types], np.int32)[corpus.labels.ids]
    found = score(gold, np.array([number[name] for name in guess], np.int32), corpus.offset, names).f1
    assert found is not None
    return found


def _rows(corpus: Corpus, s: int) -> list[list[str]]:
    """The cells of sentence s with its labels."""
    assert corpus.labels is not None
    lo, hi = int(corpus.offset[s]), int(corpus.offset[s + 1])
    labels = [corpus.labels.types[k] for k in corpus.labels.ids[lo:hi]]
    return [[*cells, label] for cells, label in zip(corpus.sentence(s), labels, strict=True)]
