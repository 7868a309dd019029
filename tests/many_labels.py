"""Made-up data with many labels: words with a suffix class, labels of Zipf frequencies that follow from both."""

from __future__ import annotations

import numpy as np


def supertags(n_labels: int, n_sentences: int, seed: int = 0) -> tuple[list[list[list[str]]], list[list[str]]]:
    """Sentences of (word, suffix) and their labels. A word has one to three labels of its own, as with supertags; which
    one it has depends on the label before."""
    rng = np.random.default_rng(seed)
    n_words = 3 * n_labels
    word_share = 1.0 / np.arange(1, n_words + 1)
    word_share /= word_share.sum()
    own = [np.unique(rng.integers(0, n_labels, rng.integers(1, 4))) for _ in range(n_words)]
    sentences, labels = [], []
    for _ in range(n_sentences):
        words = rng.choice(n_words, int(rng.integers(3, 36)), p=word_share)
        tags: list[int] = []
        for word in words:
            before = tags[-1] if tags else 0
            tags.append(int(own[word][(before * 7 + int(rng.random() < 0.1)) % own[word].size]))
        sentences.append([[f"w{word}", f"s{word % 97}"] for word in words])
        labels.append([f"T{tag}" for tag in tags])
    return sentences, labels
