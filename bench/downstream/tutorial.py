"""The usual program of a user of sklearn-crfsuite, with only the import changed: features of a word and its neighbours
as dicts, `CRF` with both penalties, a search for them by cross-validation, scores over tokens, the strongest weights.

On CoNLL-2000 (chunks) and JNLPBA (entities). `CORPORA` and `SEARCHED` say how many sentences are used.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.downstream.side import ORIGINAL, PALMETTE, SIDES, run, span_f1

PACKAGES = ("sklearn_crfsuite", "sklearn", "scipy")
CORPORA = {"conll2000": ("CoNLL-2000", 8_936), "jnlpba": ("JNLPBA", 6_000)}  # and the sentences to train on
SEARCHED = 600  # sentences of the search
ITERATIONS, SEARCH_ITERATIONS, CANDIDATES, FOLDS = 100, 40, 4, 3
SHOWN = 10  # strongest weights, which both sides should agree on

Sentence = list[list[str]]  # word, part of speech, label


def files(data: Path) -> tuple[Path, ...]:
    return tuple(data / corpus / f"{part}.txt" for corpus in CORPORA for part in ("train", "test"))


def compare(data: Path, times: int) -> dict[str, Any]:
    """Each corpus once: a training takes long enough."""
    return {corpus: {side: run("tutorial", side, data, corpus) for side in SIDES} for corpus in CORPORA}


def rows(found: dict[str, Any]) -> list[tuple[str, ...]]:
    """Rows of the table: what, palmette, original, ratio."""
    shown = []
    for corpus, (name, _) in CORPORA.items():
        mine, theirs = (found[corpus][side] for side in (PALMETTE, ORIGINAL))
        n, test, searched = (f"{theirs[key]:,}" for key in ("sentences", "test sentences", "searched"))
        for key, what in (
            ("fit", f"fit, {n} sentences, {ITERATIONS} iterations, CPU"),
            ("predict", f"predict, {test} sentences, CPU"),
            ("marginals", f"predict_marginals, {test} sentences, CPU"),
            ("search", f"RandomizedSearchCV, {CANDIDATES} x {FOLDS} trainings, {searched} sentences, CPU"),
        ):
            a, b = mine[key], theirs[key]
            shown.append((f"{name}: {what}", f"{a:.2f} s", f"{b:.2f} s", f"{b / a:.1f}x"))
        a, b = mine["objective"], theirs["objective"]
        shown.append((f"{name}: objective after {ITERATIONS} iterations", f"{a:.1f}", f"{b:.1f}", ""))
        for key in ("flat F1", "span F1", "accuracy", "sequences", "search F1"):
            shown.append((f"{name}: {key}", f"{100 * mine[key]:.2f}", f"{100 * theirs[key]:.2f}", ""))
        best = (", ".join(f"{key} {value:.3f}" for key, value in side["best"].items()) for side in (mine, theirs))
        shown.append((f"{name}: best of the search", *best, ""))
        same = mine["strongest"].keys() & theirs["strongest"].keys()
        shown.append((f"{name}: of {2 * SHOWN} strongest weights the same", str(len(same)), "", ""))
    return shown


def measure(side: str, data: Path, corpus: str) -> dict[str, Any]:
    if side == PALMETTE:
        import palmette.crfsuite as sklearn_crfsuite
        from palmette.crfsuite import metrics
    else:
        import sklearn_crfsuite
        from sklearn_crfsuite import metrics

    X_train, y_train = items(read(data / corpus / "train.txt")[: CORPORA[corpus][1]])
    X_test, y_test = items(read(data / corpus / "test.txt"))
    crf = sklearn_crfsuite.CRF("lbfgs", c1=0.1, c2=0.1, max_iterations=ITERATIONS, all_possible_transitions=True)
    found: dict[str, Any] = {"sentences": len(X_train), "test sentences": len(X_test)}
    found["fit"], _ = timed(lambda: crf.fit(X_train, y_train))
    found["objective"] = crf.training_log_.last_iteration["loss"]
    found["first predict"], _ = timed(lambda: crf.predict(X_test))  # opens the model too
    found["predict"], y_pred = timed(lambda: crf.predict(X_test))
    found["marginals"], _ = timed(lambda: crf.predict_marginals(X_test))
    labels = [label for label in crf.classes_ if label != "O"]
    scores = {"average": "weighted", "labels": labels, "zero_division": 0}
    found["flat F1"] = metrics.flat_f1_score(y_test, y_pred, **scores)
    found["accuracy"] = metrics.flat_accuracy_score(y_test, y_pred)
    found["sequences"] = metrics.sequence_accuracy_score(y_test, y_pred)
    found["span F1"] = span_f1(y_test, y_pred)
    report = metrics.flat_classification_report(y_test, y_pred, labels=labels, zero_division=0, output_dict=True)
    found["weakest label"] = min(labels, key=lambda label: report[label]["f1-score"])
    weights = Counter(crf.transition_features_).most_common(SHOWN) + Counter(crf.state_features_).most_common(SHOWN)
    found["strongest"] = {" --> ".join(names): weight for names, weight in weights}
    found["megabytes"] = crf.size_ / 1e6
    return found | search(sklearn_crfsuite, metrics, X_train[:SEARCHED], y_train[:SEARCHED], scores)


def search(sklearn_crfsuite: Any, metrics: Any, X: list[Any], y: list[Any], scores: dict[str, Any]) -> dict[str, Any]:
    """Candidates for c1 and c2 by cross-validation."""
    from scipy import stats
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import RandomizedSearchCV

    crf = sklearn_crfsuite.CRF("lbfgs", max_iterations=SEARCH_ITERATIONS, all_possible_transitions=True)
    space = {"c1": stats.expon(scale=0.5), "c2": stats.expon(scale=0.05)}
    scorer = make_scorer(metrics.flat_f1_score, **scores)
    tried = RandomizedSearchCV(crf, space, cv=FOLDS, n_iter=CANDIDATES, scoring=scorer, random_state=1)
    cpu, _ = timed(lambda: tried.fit(X, y))
    return {"search": cpu, "search F1": tried.best_score_, "best": tried.best_params_, "searched": len(X)}


def timed(work: Any) -> tuple[float, Any]:
    """Seconds of CPU, and what came out."""
    begun = time.process_time()
    result = work()
    return time.process_time() - begun, result


def read(path: Path) -> list[Sentence]:
    """Sentences of word, part of speech and label."""
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    return [[line.split() for line in block.split("\n")] for block in blocks]


def items(sentences: list[Sentence]) -> tuple[list[list[dict[str, Any]]], list[list[str]]]:
    """The features of each token, and the labels."""
    X = [[word_features(sentence, k) for k in range(len(sentence))] for sentence in sentences]
    return X, [[row[2] for row in sentence] for sentence in sentences]


def word_features(sentence: Sentence, k: int) -> dict[str, Any]:
    """A word, its ends, how it is written and its part of speech; of its neighbours a part of that."""
    word, tag = sentence[k][:2]
    found = {
        "bias": 1.0,
        "lower": word.lower(),
        "last3": word[-3:],
        "last2": word[-2:],
        "upper": word.isupper(),
        "title": word.istitle(),
        "digit": word.isdigit(),
        "pos": tag,
        "pos[:2]": tag[:2],
    }
    for name, j, edge in (("-1", k - 1, "BOS"), ("+1", k + 1, "EOS")):
        if 0 <= j < len(sentence):
            near, its = sentence[j][:2]
            found |= {
                f"{name}:lower": near.lower(),
                f"{name}:title": near.istitle(),
                f"{name}:upper": near.isupper(),
                f"{name}:pos": its,
                f"{name}:pos[:2]": its[:2],
            }
        else:
            found[edge] = True
    return found
