"""Slow twins of label histories, from their definitions: the state of each token by looking at all labels before it,
and the order 2 model that a model of order 1 over label bigrams must agree with. Nothing of src is used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from naive_chain import Feature, Model, Token

START = "<s>"


def memory(kind: str, labels: Sequence[str]) -> str:
    """What the state of the last of these labels shows of them."""
    if kind in ("bigram", "trigram"):
        back = 1 if kind == "bigram" else 2
        return ",".join([*[START] * back, *labels[:-1]][-back:])
    _, label, most = kind.split(":")
    run = 0
    for own in reversed(labels):
        if own != label:
            break
        run += 1
    return f"{most}+" if run >= int(most) else str(run)


def state_names(kind: str, labels: Sequence[str], single: Iterable[str] = ()) -> list[str]:
    """The names of the states of a label sequence; labels of `single` have one state, which is called as they are."""
    return [label if label in single else f"{label}#{memory(kind, labels[: i + 1])}" for i, label in enumerate(labels)]


class Bigrams:
    """The states (label before, label) of Y labels, Y standing for the start; state number = label * (Y + 1) + k, with
    the start first, then the labels before."""

    def __init__(self, n_labels: int) -> None:
        self.n_labels = n_labels
        self.states_per_label = n_labels + 1
        self.n_states = n_labels * self.states_per_label

    def state(self, before: int | None, label: int) -> int:
        return label * self.states_per_label + (0 if before is None else before + 1)

    def pairs(self) -> Iterable[tuple[int | None, int, int]]:
        """(label before, label, state)"""
        for before in (None, *range(self.n_labels)):
            for label in range(self.n_labels):
                yield before, label, self.state(before, label)

    def path(self, labels: Sequence[int]) -> tuple[int, ...]:
        befores = [None, *labels[:-1]]
        return tuple(self.state(before, label) for before, label in zip(befores, labels, strict=True))

    def forbidden(self, of_labels: Iterable[Feature] = ()) -> frozenset[Feature]:
        """States that do not follow each other, and what is forbidden of their labels."""
        labels = set(of_labels)
        found: set[Feature] = set()
        for before, label, h in self.pairs():
            if before is not None or ("start", label) in labels:
                found.add(("start", h))
            if ("end", label) in labels:
                found.add(("end", h))
            for earlier, middle, g in self.pairs():
                if middle != before or ("pair", middle, label) in labels:
                    found.add(("pair", g, h))
                assert earlier is None or earlier < self.n_labels
        return frozenset(found)

    def model(self, two: Model) -> Model:
        """The model of order 1 over these states with the scores of a model of order 2 over labels: what the latter
        has on pairs goes to states, what it has on triples to pairs of states."""
        one = Model(1, self.n_states, forbidden=self.forbidden(two.forbidden))
        w = two.weights.get
        for before, label, h in self.pairs():
            for kind in ("start", "end", "bias"):
                one.weights[(kind, h)] = w((kind, label), 0.0)
            for _, attribute, _ in {f for f in two.weights if f[0] == "one"}:
                one.weights[("one", ("one", attribute), h)] = w(("one", attribute, label), 0.0)
            for _, attribute, *_ in {f for f in two.weights if f[0] == "two"}:
                if before is not None:
                    one.weights[("one", ("two", attribute), h)] = w(("two", attribute, before, label), 0.0)
            for after in range(self.n_labels):
                step = (h, self.state(label, after))
                triple = 0.0 if before is None else w(("triple", before, label, after), 0.0)
                one.weights[("pair", *step)] = w(("pair", label, after), 0.0) + triple
                for _, attribute, *_ in {f for f in two.weights if f[0] == "three"}:
                    if before is not None:
                        weight = w(("three", attribute, before, label, after), 0.0)
                        one.weights[("two", ("three", attribute), *step)] = weight
        return one

    @staticmethod
    def token(token: Token) -> Token:
        """Attributes on pairs become such on states, those on triples such on pairs of states."""
        named = [[((kind, a), value) for a, value in getattr(token, kind)] for kind in Token._fields]
        return Token(tuple(named[0] + named[1]), tuple(named[2]), ())
