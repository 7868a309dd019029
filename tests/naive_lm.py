"""Interpolated modified Kneser-Ney by the definitions of Chen & Goodman (1998), with dictionaries and tuples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"
FALLBACK = [0.5, 1.0, 1.5]
Gram = tuple[str, ...]


class NaiveModel:
    """P(word | context), worked out anew from the counts each time."""

    def __init__(self, sentences: Iterable[Sequence[str]], order: int, min_count: int = 1) -> None:
        self.order = order
        sentences = [list(sentence) for sentence in sentences]
        frequency = Counter(word for sentence in sentences for word in sentence)
        self.words = {word for word, n in frequency.items() if n >= min_count} | {UNKNOWN, END}
        padded = [(BEGIN, *map(self.known, sentence), END) for sentence in sentences]
        occurrences = [
            Counter(s[i : i + k] for s in padded for i in range(len(s) - k + 1)) for k in range(1, order + 1)
        ]
        self.counts: list[Counter[Gram]] = []
        for k in range(1, order + 1):
            counts: Counter[Gram] = Counter()
            for gram, n in occurrences[k - 1].items():
                if k < order and gram[0] != BEGIN:
                    n = sum(longer[1:] == gram for longer in occurrences[k])
                if gram != (BEGIN,):
                    counts[gram] = n
            self.counts.append(counts)
        self.discounts = [discounts(counts) for counts in self.counts]

    def known(self, word: str) -> str:
        return word if word in self.words else UNKNOWN

    def probability(self, word: str, context: Sequence[str]) -> float:
        """`context` begins with <s>."""
        return self._p(self.known(word), tuple(context[:1]) + tuple(self.known(w) for w in context[1:]))

    def _p(self, word: str, context: Gram) -> float:
        context = context[len(context) - self.order + 1 :] if len(context) >= self.order else context
        lower = self._p(word, context[1:]) if context else 1 / len(self.words)
        k = len(context)
        own = {gram: n for gram, n in self.counts[k].items() if gram[:-1] == context}
        total = sum(own.values())
        if not total:
            return lower
        taken = sum(self._discount(k, n) for n in own.values())
        count = own.get((*context, word), 0)
        return (count - self._discount(k, count)) / total + taken / total * lower

    def _discount(self, k: int, count: int) -> float:
        return 0.0 if count == 0 else self.discounts[k][min(count, 3) - 1]


def discounts(counts: Counter[Gram]) -> list[float]:
    n = [sum(c == i for c in counts.values()) for i in range(5)]
    if not (n[1] and n[2] and n[3]):
        return FALLBACK
    y = n[1] / (n[1] + 2 * n[2])
    found = [1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3]]
    return found if min(found) >= 0 else FALLBACK
