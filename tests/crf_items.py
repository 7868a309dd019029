"""Sentences of the demo corpus as dicts of features, as users of sklearn-crfsuite have them."""

from __future__ import annotations

from typing import Any

from palmette.datasets import load_demo


def features(sentence: list[tuple[str, str]], k: int) -> dict[str, Any]:
    word, tag = sentence[k]
    found: dict[str, Any] = {"bias": 1.0, "word": word.lower(), "end": word[-3:], "title": word.istitle(), "tag": tag}
    for name, j in (("-1", k - 1), ("+1", k + 1)):
        if 0 <= j < len(sentence):
            found[name] = {"word": sentence[j][0].lower(), "tag": sentence[j][1]}
        else:
            found[name] = {"edge": True}
    return found


def items(part: str, n: int) -> tuple[list[list[dict[str, Any]]], list[list[str]]]:
    X, y = load_demo(part)
    return [[features(one, k) for k in range(len(one))] for one in X[:n]], [list(one) for one in y[:n]]


TRAIN, TEST = items("train", 60), items("test", 40)


def lists(found: Any) -> list[list[Any]]:
    return [list(one) for one in found]
