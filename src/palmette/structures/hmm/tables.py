"""The probabilities of a hidden Markov model of order 1 or 2, and the joint probability of words and labels.

    P(x, y) = start[y1] * pair[y1, y2] * triple[y1, y2, y3] * ... * triple[.., yn] * end[yn]
              * product of emission[yi, xi]

At order 1 every step is a pair. At order 2 the pair is the step from the first token to the second, which has only one
label before it. The end, where it is modelled at all, hangs on the last label alone (as in TnT): a row of pairs or
triples then sums to 1 - end of the label that it leaves. Y labels, V observations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from palmette.errors import UsageError
from palmette.structures.chain.constraints import END, START
from palmette.structures.hmm.words import Vocabulary

SLACK = 1e-9  # by which a sum of given probabilities may miss 1

Distribution = Mapping[str, float]
Context = str | tuple[str, str]


class Tables(NamedTuple):
    start: np.ndarray  # f64[Y]
    pair: np.ndarray  # f64[Y, Y]        (previous, current)
    triple: np.ndarray | None  # f64[Y, Y, Y]  (before, previous, current); None: order 1
    end: np.ndarray | None  # f64[Y]; None: sentences have no end, and the sequences of each length sum to 1
    emission: np.ndarray  # f64[Y, V]

    @property
    def order(self) -> int:
        return 1 if self.triple is None else 2

    def factors(self, labels: np.ndarray, observed: np.ndarray) -> list[np.ndarray]:
        """The numbers whose product is the joint probability of one sentence, i64[n] both."""
        steps = [self.start[labels[:1]], self.emission[labels, observed]]
        if self.triple is None:
            steps.append(self.pair[labels[:-1], labels[1:]])
        else:
            steps += [self.pair[labels[:1], labels[1:2]] if labels.size > 1 else np.ones(0)]
            steps += [self.triple[labels[:-2], labels[1:-1], labels[2:]]]
        return steps if self.end is None else [*steps, self.end[labels[-1:]]]

    def log_joint(self, labels: np.ndarray, observed: np.ndarray) -> float:
        """The logarithm of the joint probability; -inf where it is 0."""
        return float(sum(log(block).sum() for block in self.factors(labels, observed)))


def log(probability: np.ndarray) -> np.ndarray:
    """With -inf for 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probability))


# --- from dictionaries --------------------------------------------------------------------------------------


def tables_from_dicts(
    start: Distribution,
    transition: Mapping[Context, Distribution],
    emission: Mapping[str, Distribution],
    dictionary: Mapping[str, Iterable[str]] | None = None,
    classes: Iterable[str] = (),
) -> tuple[list[str], Vocabulary, Tables]:
    """Labels and words in alphabetical order, and the tables; see HMM.from_tables."""
    _check_distributions(start, transition, emission)
    labels = sorted(emission)
    number = {label: k for k, label in enumerate(labels)}
    unknown = set(classes)
    words = Vocabulary({word for row in emission.values() for word in row} - unknown, unknown)
    pair, triple, end = _steps(transition, number)
    first = np.array([start.get(label, 0.0) for label in labels])
    for label in start:
        _label(label, number)
    columns = words.names
    emitted = np.array([[emission[label].get(word, 0.0) for word in columns] for label in labels])
    if dictionary is not None:
        emitted = np.where(_support(dictionary, columns, number), emitted, 0.0)
    return labels, words, Tables(first, pair, triple, end, emitted)


def _steps(
    transition: Mapping[Context, Distribution], number: Mapping[str, int]
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """pair, triple and end; None for what no row speaks of."""
    Y = len(number)
    pair, triple, end = np.zeros((Y, Y)), np.zeros((Y, Y, Y)), np.zeros(Y)
    for context, row in transition.items():
        at = (context,) if isinstance(context, str) else context
        if len(at) not in (1, 2):
            raise UsageError(f"transition[{context!r}]: a context has one label, or two for order 2")
        if len(at) == 2 and END in row:
            raise UsageError(f"transition[{context!r}]: {END} hangs on one label: put it into the row of {at[1]!r}")
        where = pair if len(at) == 1 else triple
        place = tuple(_label(label, number) for label in at)
        for label, p in row.items():
            if label == END:
                end[place] = p
            else:
                where[(*place, _label(label, number))] = p
    has_triples, has_ends = any(not isinstance(c, str) for c in transition), any(END in r for r in transition.values())
    over = triple.sum(-1) + end > 1.0 + SLACK
    if over.any():
        f, g = (list(number)[k] for k in np.argwhere(over)[0])
        raise UsageError(f"transition[{(f, g)!r}]: with the end after {g!r} the probabilities sum to more than 1")
    return pair, triple if has_triples else None, end if has_ends else None


def _check_distributions(
    start: Distribution, transition: Mapping[Context, Distribution], emission: Mapping[str, Distribution]
) -> None:
    if not emission or not any(emission.values()):
        raise UsageError("emission: no label with a word; write {label: {word: probability}}")
    named = [("start", start), *((f"transition[{k!r}]", row) for k, row in transition.items())]
    for name, row in [*named, *((f"emission[{k!r}]", row) for k, row in emission.items())]:
        for outcome, p in row.items():
            if not 0.0 <= p <= 1.0 + SLACK:
                raise UsageError(f"{name}: {p} for {outcome!r} is not a probability")
        if math.fsum(row.values()) > 1.0 + SLACK:
            raise UsageError(f"{name}: the probabilities sum to {math.fsum(row.values()):.6g}, which is more than 1")


def _label(label: str, number: Mapping[str, int]) -> int:
    if label in (START, END) or label not in number:
        hint = f"; {END} may stand in rows of transition" if label == END else ""
        raise UsageError(f"{label!r} is no label: labels are the keys of emission, {', '.join(number)}{hint}")
    return number[label]


def _support(dictionary: Mapping[str, Iterable[str]], words: list[str], number: Mapping[str, int]) -> np.ndarray:
    """bool[Y, V]: what the dictionary allows; words that it does not have may be anything."""
    place = {word: k for k, word in enumerate(words)}
    allowed = np.ones((len(number), len(words)), np.bool_)
    for word, labels in dictionary.items():
        if isinstance(labels, str):
            raise UsageError(f"dictionary[{word!r}] is {labels!r}: a list of labels is expected")
        if word in place:
            allowed[:, place[word]] = False
            for label in labels:
                allowed[_label(label, number), place[word]] = True
    return allowed
