"""Slow twins of the hidden Markov model, from the definitions: probabilities in dictionaries, every label sequence
listed, n-grams counted one by one, and Viterbi as the lectures write it."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

START, END = "<s>", "</s>"
Row = Mapping[str, float]
Labels = tuple[str, ...]


class Naive(NamedTuple):
    """Tables as HMM.from_tables takes them."""

    start: Row
    transition: Mapping[str | tuple[str, str], Row]
    emission: Mapping[str, Row]

    @property
    def order(self) -> int:
        return 2 if any(isinstance(context, tuple) for context in self.transition) else 1

    @property
    def ends(self) -> bool:
        return any(END in row for row in self.transition.values())

    def words(self) -> list[str]:
        return sorted({word for row in self.emission.values() for word in row})

    def joint(self, words: Sequence[str], labels: Sequence[str]) -> float:
        p = self.start.get(labels[0], 0.0)
        for i, (word, label) in enumerate(zip(words, labels, strict=True)):
            p *= self.emission[label].get(word, 0.0)
            if i > 0:
                context = labels[i - 1] if self.order == 1 or i == 1 else (labels[i - 2], labels[i - 1])
                p *= self.transition.get(context, {}).get(label, 0.0)
        return p * self.transition.get(labels[-1], {}).get(END, 0.0) if self.ends else p

    def paths(self, words: Sequence[str]) -> dict[Labels, float]:
        """Every label sequence with its joint probability."""
        every = itertools.product(sorted(self.emission), repeat=len(words))
        return {labels: self.joint(words, labels) for labels in every}

    def posterior(self, words: Sequence[str], i: int) -> dict[str, float]:
        """How probable each label of token i is, given the words."""
        found: dict[str, float] = defaultdict(float)
        paths = self.paths(words)
        for labels, p in paths.items():
            found[labels[i]] += p / sum(paths.values())
        return found


def viterbi(
    words: Sequence[str], tags: Mapping[str, Sequence[str]], ptag: Mapping[str, Row], pword: Mapping[str, Row]
) -> list[str]:
    """The program of the lectures: `tags` says which tags a word may have; sentences end in </s>."""
    best: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    back: dict[int, dict[str, str]] = defaultdict(dict)
    best[0][START] = 1.0
    sentence = [START, *words, END]
    for i, word in enumerate(sentence[1:], 1):
        for tag in [END] if word == END else tags[word]:
            for before in best[i - 1]:
                if tag in ptag[before]:
                    emitted = 1.0 if word == END else pword[tag][word]
                    score = best[i - 1][before] * ptag[before][tag] * emitted
                    if score > best[i][tag]:
                        best[i][tag], back[i][tag] = score, before

    def backtrack(i: int, tag: str) -> list[str]:
        return [] if i == 0 else [*backtrack(i - 1, back[i][tag]), tag]

    return backtrack(len(sentence) - 1, END)[:-1]


# --- counting -----------------------------------------------------------------------------------------------


def n_grams(tags: Sequence[Sequence[str]], order: int) -> Iterator[tuple[str, ...]]:
    """Each label with the `order` labels before it; those before the sentence are START."""
    for labels in tags:
        padded = [START] * order + list(labels)
        yield from (tuple(padded[i : i + order + 1]) for i in range(len(labels)))


class Shares:
    """The share of a label among those of a context, the last `length` labels; contexts that were never left ask the
    next shorter one."""

    def __init__(self, tags: Sequence[Sequence[str]], order: int) -> None:
        self.grams = Counter(n_grams(tags, order))

    def counts(self, gram: tuple[str, ...], length: int) -> tuple[int, int]:
        """How often the label follows this much of its context; how often anything does."""
        tail = gram[-1 - length : -1]
        same = [(g, n) for g, n in self.grams.items() if g[len(g) - 1 - length : -1] == tail]
        return sum(n for g, n in same if g[-1] == gram[-1]), sum(n for _, n in same)

    def share(self, gram: tuple[str, ...], length: int) -> float:
        own, all_of_them = self.counts(gram, length)
        return own / all_of_them if all_of_them else self.share(gram, length - 1)

    def weights(self, order: int) -> list[float]:
        """Deleted interpolation."""
        votes = [1.0] * (order + 1)
        for gram, n in self.grams.items():
            figures = []
            for length in range(order + 1):
                own, all_of_them = self.counts(gram, length)
                figures.append((own - 1) / (all_of_them - 1) if all_of_them > 1 else 0.0)
            votes[figures.index(max(figures))] += n
        return [vote / sum(votes) for vote in votes]


def estimated(
    words: Sequence[Sequence[str]], tags: Sequence[Sequence[str]], *, order: int, smoothing: float, interpolate: bool,
    dictionary: int | None, ends: bool,
) -> Naive:  # fmt: skip
    """Counted tables for words that are all known."""
    labels = sorted({tag for sentence in tags for tag in sentence})
    shares, seen = Shares(tags, order), Counter(tag for sentence in tags for tag in sentence)
    last = Counter(sentence[-1] for sentence in tags)
    weights = shares.weights(order)

    def end(label: str) -> float:
        if not ends or label == START:
            return 0.0
        if interpolate:
            # one label more goes on where all that were seen are ends
            more = len(tags) / (seen.total() if seen.total() > len(tags) else len(tags) + 1)
            return (last[label] + more) / (seen[label] + 1)
        return last[label] / seen[label]

    def step(context: tuple[str, ...], label: str) -> float:
        gram = (*context, label)
        if interpolate:
            mixed = sum(weight * shares.share(gram, k) for k, weight in enumerate(weights))
        else:
            own, all_of_them = shares.counts(gram, order)
            mixed = own / all_of_them if all_of_them else 0.0
        return (1 - end(context[-1])) * mixed

    def row(*context: str) -> dict[str, float]:
        return {label: step(context, label) for label in labels}

    transition: dict[str | tuple[str, str], Row] = {}
    for label in labels:
        transition[label] = row(label) if order == 1 else row(START, label)
        transition[label] |= {END: end(label)} if ends else {}
    if order == 2:
        transition |= {(f, g): row(f, g) for f in labels for g in labels}
    return Naive(row(*[START] * order), transition, _emissions(words, tags, smoothing, dictionary))


def _emissions(
    words: Sequence[Sequence[str]], tags: Sequence[Sequence[str]], smoothing: float, dictionary: int | None
) -> dict[str, Row]:
    tokens = [pair for x, y in zip(words, tags, strict=True) for pair in zip(x, y, strict=True)]
    both, of_word = Counter(tokens), Counter(word for word, _ in tokens)
    rows: dict[str, Row] = {}
    for label in sorted({label for _, label in tokens}):
        row = {}
        for word in of_word:
            fixed = dictionary is not None and of_word[word] >= dictionary and not both[word, label]
            row[word] = 0.0 if fixed else both[word, label] + smoothing
        rows[label] = {word: n / sum(row.values()) for word, n in row.items()}
    return rows
