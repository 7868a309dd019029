"""Skip-gram word vectors with negative samples (Mikolov et al., 2013) of a treebank's own forms.

The models that UDPipe's authors published begin from such vectors, made of the training data alone: 50 numbers a form,
window 10, 5 negative samples, 15 passes, forms that occur twice. They are made here so that UDPipe gets what it was
tuned with.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

SIZE, WINDOW, NEGATIVES, PASSES, LEAST, RATE = 50, 10, 5, 15, 2, 0.025


def skip_gram(sentences: list[list[str]], seed: int = 1) -> tuple[list[str], np.ndarray]:
    """Forms, the frequent ones first, and their vectors."""
    counts = Counter(form for sentence in sentences for form in sentence)
    forms = [form for form, count in counts.most_common() if count >= LEAST]
    number = {form: i for i, form in enumerate(forms)}
    texts = [np.array([number[f] for f in s if f in number], np.int64) for s in sentences]
    random = np.random.default_rng(seed)
    seen = (random.random((len(forms), SIZE)) - 0.5) / SIZE
    sought = np.zeros((len(forms), SIZE))
    share = np.array([counts[form] for form in forms]) ** 0.75
    bounds = np.cumsum(share / share.sum())
    total, done = PASSES * sum(map(len, texts)), 0
    for _ in range(PASSES):
        for text in texts:
            for i in range(len(text)):
                rate = RATE * max(1e-4, 1 - done / total)
                _learn(seen, sought, text, i, bounds, random, rate)
                done += 1
    return forms, seen


def _learn(
    seen: np.ndarray, sought: np.ndarray, text: np.ndarray, i: int, bounds: np.ndarray,
    random: np.random.Generator, rate: float,
) -> None:  # fmt: skip
    """One word is sought from each word around it, against words drawn by frequency."""
    reach = int(random.integers(1, WINDOW + 1))
    around = np.concatenate((text[max(0, i - reach) : i], text[i + 1 : i + 1 + reach]))
    if not len(around):
        return
    drawn = np.searchsorted(bounds, random.random((len(around), NEGATIVES)))
    targets = np.concatenate((np.full((len(around), 1), text[i]), np.minimum(drawn, len(bounds) - 1)), axis=1)
    wanted = (np.arange(1 + NEGATIVES) == 0).astype(float)
    usable = (targets != text[i]) | (wanted == 1)  # a drawn word that is the sought one teaches nothing
    inputs, outputs = seen[around], sought[targets]
    error = rate * usable * (wanted - 1 / (1 + np.exp(-np.einsum("ad,atd->at", inputs, outputs))))
    np.add.at(seen, around, np.einsum("at,atd->ad", error, outputs))
    np.add.at(sought, targets, error[:, :, None] * inputs[:, None, :])


def write_vectors(path: Path, forms: list[str], vectors: np.ndarray) -> None:
    """As word2vec's text files: a line with both sizes, then a form and its numbers a line."""
    rows = (f"{form} {' '.join(f'{x:.6f}' for x in row)}" for form, row in zip(forms, vectors, strict=True))
    path.write_text("\n".join((f"{len(forms)} {SIZE}", *rows)) + "\n", encoding="utf-8")
