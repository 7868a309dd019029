"""Synthetic data from a hidden Markov model whose states form a ring, and the best possible accuracy on it.

The study of latent perceptrons (Sun, Matsuzaki, Okanohara and Tsujii, 2009) draws labels from hidden states that
training never sees: y1 = {h1, h2}, y2 = {h3, h4}, and with probability P the next state of the ring
h1 -> h2 -> h3 -> h4 -> h1; the rest, 1 - P, is spread evenly over all other states, the current one included.
Symbols depend weakly on the state, P(x1|h) = (.91, .358, .09, .642). The states of a label are neighbours in the ring:
then labels carry no information about the next label, only the states do. At P = 0.9 and length 20 the true model gets
85.2 % of the labels right and one state per label 63.4 % (100,000 sequences); published are 84.9 for latent models and
63.4 for a CRF. With alternating states (y1 = {h1, h3}) the figures would be 77.2 and 50.0 %.

Here the numbers of labels, states per label and symbols are free. The Bayes limit, `bayes_accuracy`, cannot be exceeded
in expectation: it takes at each token the label with the highest marginal probability under the true model. The limit
on whole sequences is at the end of this file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np

from palmette.data.files import FilePath, shown
from palmette.data.text import CONVERT, check_utf8, read_text
from palmette.errors import DataError, UsageError, counted

STUDY_P = 0.9
# The study's emissions are .5 + .41 cos(angle), with this angle from the first state of a label to the second.
_REACH = 0.41
_ANGLE = math.acos((0.358 - 0.5) / _REACH)
_TOLERANCE = 1e-6
_MOST_CELLS = 1 << 27  # of a table: a gigabyte
_MOST_TOKENS = (1 << 31) - 1
_BLOCK = 1 << 20  # the numbers that a recursion holds at a time


class SymbolNames(NamedTuple):
    """The names of labels, states and symbols in files."""

    labels: tuple[str, ...]
    states: tuple[str, ...]
    symbols: tuple[str, ...]


class Model(NamedTuple):
    """A hidden Markov model with H states, K symbols and Y labels; rows are distributions."""

    start: np.ndarray  # f64[H]
    transition: np.ndarray  # f64[H, H]: (previous, current)
    emission: np.ndarray  # f64[H, K]
    label_of: np.ndarray  # i64[H]
    names: SymbolNames


class Sample(NamedTuple):
    """Concatenated sequences: sequence s is `[offset[s]:offset[s + 1]]`."""

    symbols: np.ndarray  # i32[N]
    states: np.ndarray  # i32[N]
    offset: np.ndarray  # i64[S + 1]


# The model


def ring(
    labels: int = 2, states: int = 2, symbols: int | None = None, p: float = STUDY_P, emission: np.ndarray | None = None
) -> Model:
    """Labels with `states` states each, in a ring: the next state has probability `p`, all others share the rest.

    `emission` has a row per state and a column per symbol; the default is `default_emission` (2 symbols).
    """
    if not 0 <= p <= 1:
        raise UsageError(f"p = {p}: it is a probability, from 0 to 1")
    if symbols is None:
        symbols = 2 if emission is None else np.atleast_2d(emission).shape[1]
    for name, size in (("labels", labels), ("states", states), ("symbols", symbols)):
        if size < 1:
            raise UsageError(f"{name} = {size}: there must be at least one")
    H = labels * states
    if H * max(H, symbols) > _MOST_CELLS:
        raise UsageError(f"{H} states with {symbols} symbols: the model's tables would take more than a gigabyte")
    if emission is None:
        emission = default_emission(labels, states, symbols)
    names = SymbolNames(_numbered("y", labels), _numbered("h", H), _numbered("x", symbols))
    return Model(
        start=np.full(H, 1 / H),
        transition=_ring_transition(H, p),
        emission=_checked_emission(np.asarray(emission, np.float64), H, symbols),
        label_of=np.repeat(np.arange(labels), states),
        names=names,
    )


def default_emission(labels: int, states: int, symbols: int) -> np.ndarray:
    """f64[H, K]: the study's table, (.91, .358, .09, .642), generalised to any size.

    Symbols lie evenly on a circle. So do the first states of the labels; the other states of a label follow at equal
    steps over 220 degrees, so that they differ and their mean is uninformative. P(x|h) is proportional to
    1 + .82 cos(angle between x and h).
    """
    label, state = np.divmod(np.arange(labels * states), states)
    at = 2 * np.pi * label / labels + 2 * _ANGLE * state / states
    weight = 1 + 2 * _REACH * np.cos(at[:, None] - 2 * np.pi * np.arange(symbols) / symbols)
    return weight / weight.sum(1, keepdims=True)


def merged(model: Model) -> Model:
    """The model with one state per label, the mean of the label's states: a model without latent states.

    Its states are labels. In a ring all states are equally frequent, so a plain mean is right.
    """
    member = _membership(model)  # [H, Y]
    share = (member / member.sum(0)).T
    Y = len(model.names.labels)
    return Model(
        start=model.start @ member,
        transition=share @ model.transition @ member,
        emission=share @ model.emission,
        label_of=np.arange(Y),
        names=model.names._replace(states=model.names.labels),
    )


def read_emission(path: FilePath) -> np.ndarray:
    """A table of probabilities from a file, one state per line; `#` begins a comment."""
    file = shown(path)
    data = read_text(path)
    check_utf8(data, file, hint=CONVERT)
    rows: list[list[float]] = []
    for number, line in enumerate(data.decode().splitlines(), 1):
        cells = line.partition("#")[0].split()
        if not cells:
            continue
        try:
            row = [float(cell) for cell in cells]
        except ValueError:
            raise DataError(
                f"{line.strip()!r} is not a row of numbers", file=file, line=number,
                hint="a line has the probabilities of all symbols in one state, with spaces between them",
            ) from None  # fmt: skip
        if rows and len(row) != len(rows[0]):
            raise DataError(f"{counted(len(row), 'number')} where {len(rows[0])} are expected", file=file, line=number)
        if not _is_distribution(np.array(row)):
            raise DataError(
                f"{' '.join(cells)} is not a distribution: the sum is {sum(row):.6g}", file=file, line=number,
                hint="numbers from 0 to 1 whose sum is 1",
            )  # fmt: skip
        rows.append(row)
    if not rows:
        raise DataError("no probabilities", file=file, hint="expected a line per state and a column per symbol")
    return np.array(rows)


def _numbered(letter: str, n: int) -> tuple[str, ...]:
    return tuple(f"{letter}{i}" for i in range(1, n + 1))


def _ring_transition(H: int, p: float) -> np.ndarray:
    if H == 1:
        return np.ones((1, 1))
    transition = np.full((H, H), (1 - p) / (H - 1))
    here = np.arange(H)
    transition[here, (here + 1) % H] = p
    return transition


def _is_distribution(row: np.ndarray) -> bool:
    return bool(np.all(row >= 0) and abs(row.sum() - 1) <= _TOLERANCE)  # a NaN is not >= 0


def _checked_emission(table: np.ndarray, H: int, K: int) -> np.ndarray:
    if table.shape != (H, K):
        shape = " x ".join(map(str, table.shape))
        raise UsageError(f"the emission table is {shape}: expected {H} x {K}, a row per state and a column per symbol")
    for state, row in enumerate(table, 1):
        if not _is_distribution(row):
            raise UsageError(f"row {state} of the emission table is not a distribution: the sum is {row.sum():.6g}")
    return table / table.sum(1, keepdims=True)


def _membership(model: Model) -> np.ndarray:
    """f64[H, Y]: 1 if the state belongs to the label."""
    return np.eye(len(model.names.labels))[model.label_of]


# Drawing sequences


def lengths_of(given: str) -> tuple[int, int]:
    """`20` or `8-20` as the shortest and the longest length."""
    low, hyphen, high = given.partition("-")
    try:
        found = int(low), int(high if hyphen else low)
    except ValueError:
        raise UsageError(f"length {given}: write a number such as 20, or a range such as 8-20") from None
    _check_lengths(*found)
    return found


def sample(model: Model, n: int, length: int | tuple[int, int], rng: np.random.Generator) -> Sample:
    """Draw `n` sequences; a pair of lengths is a range, ends included, in which all lengths are equally likely."""
    shortest, longest = length if isinstance(length, tuple) else (length, length)
    _check_lengths(shortest, longest)
    if n < 1:
        raise UsageError(f"{n} sequences: there must be at least one")
    if n * longest > _MOST_TOKENS:
        raise UsageError(f"{n} sequences of {longest}: more than {_MOST_TOKENS} tokens")
    lengths = rng.integers(shortest, longest, n, endpoint=True)
    states = np.empty((n, longest), np.int32)
    symbols = np.empty((n, longest), np.int32)
    nowhere = np.zeros(n, np.int64)
    for i in range(longest):
        table, rows = (model.transition, states[:, i - 1]) if i else (model.start[None], nowhere)
        states[:, i] = _draw(table, rows, rng)
        symbols[:, i] = _draw(model.emission, states[:, i], rng)
    kept = np.arange(longest) < lengths[:, None]
    return Sample(symbols[kept], states[kept], np.concatenate(([0], np.cumsum(lengths))))


def stream_of(seed: int, number: int) -> np.random.Generator:
    """Random numbers for one file of a study: a seed has any number of independent streams."""
    if seed < 0:
        raise UsageError(f"seed {seed}: it must not be negative")
    return np.random.default_rng([seed, number])


def _check_lengths(shortest: int, longest: int) -> None:
    if shortest < 1:
        raise UsageError(f"length {shortest}: a sequence has at least one token")
    if longest < shortest:
        raise UsageError(f"length {shortest}-{longest}: the shorter one comes first")


def _draw(table: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One draw from `table[row]` per row: a search in the concatenated cumulative rows."""
    cumulated = np.cumsum(table, axis=1)
    cumulated /= cumulated[:, -1:]
    cumulated += np.arange(len(table))[:, None]
    # Row and fraction share the digits of a float: the sum must not round up into the next row.
    at = np.minimum(rows + rng.random(len(rows)), np.nextafter(rows + 1.0, 0))
    return np.searchsorted(cumulated.ravel(), at, side="right") - rows * table.shape[1]


def write_columns(out: BinaryIO, model: Model, drawn: Sample) -> None:
    """Write `symbol TAB hidden TAB label`, one token per line, and an empty line after each sequence."""
    names = model.names
    heads = [f"{symbol}\t" for symbol in names.symbols]
    tails = [f"{state}\t{names.labels[y]}\n" for state, y in zip(names.states, model.label_of, strict=True)]
    for first, last in zip(drawn.offset[:-1], drawn.offset[1:], strict=True):
        tokens = zip(drawn.symbols[first:last].tolist(), drawn.states[first:last].tolist(), strict=True)
        out.write(("".join([heads[x] + tails[h] for x, h in tokens]) + "\n").encode())


# The best possible accuracy


def bayes_accuracy(model: Model, symbols: np.ndarray, states: np.ndarray, offset: np.ndarray) -> float:
    """Share of tokens whose label is the most probable one under the model, given all symbols of the sequence."""
    return _accuracy(model, label_marginals(model, symbols, offset).argmax(1), states)


def path_accuracy(model: Model, symbols: np.ndarray, states: np.ndarray, offset: np.ndarray) -> float:
    """Share of tokens whose label is right on the most probable path of hidden states (Viterbi)."""
    return _accuracy(model, model.label_of[best_paths(model, symbols, offset)], states)


def majority_accuracy(model: Model, states: np.ndarray) -> float:
    """Share of the most frequent label."""
    return float(np.bincount(model.label_of[states]).max() / len(states))


def label_marginals(model: Model, symbols: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """f64[N, Y]: the probability of each label at each token, given all symbols of its sequence."""
    found = np.empty((len(symbols), len(model.names.labels)))
    member = _membership(model)
    for tokens in blocks_of(offset, len(model.start)):
        found[tokens] = _state_marginals(model, symbols[tokens]) @ member
    return found


def best_paths(model: Model, symbols: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """i64[N]: the most probable hidden states of each sequence."""
    found = np.empty(len(symbols), np.int64)
    for tokens in blocks_of(offset, len(model.start)):
        found[tokens] = _viterbi(model, symbols[tokens])
    return found


def _accuracy(model: Model, guess: np.ndarray, states: np.ndarray) -> float:
    return float(np.mean(guess == model.label_of[states]))


def blocks_of(offset: np.ndarray, H: int) -> Iterator[np.ndarray]:
    """i64[n, T]: the tokens of sequences of one length, a row per sequence, in blocks that fit into the caches."""
    lengths = np.diff(offset)
    for T in np.unique(lengths[lengths > 0]).tolist():
        first = offset[:-1][lengths == T]
        n = max(1, _BLOCK // (T * H + H * H))
        for at in range(0, len(first), n):
            yield first[at : at + n, None] + np.arange(T)


def _state_marginals(model: Model, x: np.ndarray) -> np.ndarray:
    """f64[n, T, H] for symbols i[n, T].

    a[i, h] ~ e[h, x_i] sum_g a[i-1, g] t[g, h];  b[i, h] ~ sum_g t[h, g] e[g, x_i+1] b[i+1, g];  both scaled to sum 1
    """
    n, T = x.shape
    t, e = model.transition, model.emission.T[x.T]  # e: f64[T, n, H]
    a = np.empty((T, n, len(model.start)))
    a[0] = _scaled(model.start * e[0])
    for i in range(1, T):
        a[i] = _scaled((a[i - 1] @ t) * e[i])
    b = np.ones((n, len(model.start)))
    for i in range(T - 2, -1, -1):
        b = _scaled((b * e[i + 1]) @ t.T)
        a[i] = _scaled(a[i] * b)
    return a.transpose(1, 0, 2)


def _scaled(rows: np.ndarray) -> np.ndarray:
    total = rows.sum(1, keepdims=True)
    if not np.all(total > 0):
        raise DataError("a sequence that the model cannot make: its probability is zero")
    return rows / total


def _viterbi(model: Model, x: np.ndarray) -> np.ndarray:
    """i64[n, T] for symbols i[n, T].   D[i, h] = e[h, x_i] + max_g D[i-1, g] + t[g, h], in logarithms"""
    n, T = x.shape
    with np.errstate(divide="ignore"):  # the logarithm of 0 is minus infinity: never on the best path
        start, t, e = np.log(model.start), np.log(model.transition), np.log(model.emission.T)
    D = start + e[x[:, 0]]
    back = np.empty((T, n, len(start)), np.int64)
    for i in range(1, T):
        through = D[:, :, None] + t
        back[i] = through.argmax(1)
        D = through.max(1) + e[x[:, i]]
    path = np.empty((n, T), np.int64)
    path[:, -1] = D.argmax(1)
    for i in range(T - 1, 0, -1):
        path[:, i - 1] = back[i, np.arange(n), path[:, i]]
    return path


# The sequence limit of a hidden Markov model: how often its most probable label sequence is the right one.
#
# The probability of a label sequence y sums over the paths of hidden states behind it. No tagger gets more whole
# sequences right, in expectation, than the one that outputs the y with the largest P(y | x); the best path of states
# need not have its labels. We search from left to right over prefixes of labels. A prefix has the forward vector a[h]
# of its paths, and no label sequence that begins with it is more probable than
#
#     sum over h of a[h] b[i, h]
#     b[i, h] = max over labels y of  sum over states g of y:  t[h, g] e[g, x_i+1] b[i+1, g]
#
# where each state may continue with the labels that suit it best. A beam finds some label sequence; then all prefixes
# are followed whose bound is not below its probability, and the best one at the end is the most probable of all. A
# sequence with too many of them is not proven: the best one that was found counts.

MOST_TOKENS = 60_000  # that the limit is estimated on
BEAM = 16  # prefixes per sequence in the first search
MOST_PREFIXES = 256  # per sequence in the second one
_CHUNK = 64  # sequences that are searched together
_ROUNDING = 1e-9


class SequenceLimit(NamedTuple):
    """Share of sequences whose most probable label sequence is right."""

    share: float
    error: float  # its standard error
    sequences: int  # that it was measured on
    unproven: int  # of these, whose best label sequence may not be the most probable one


class _Front(NamedTuple):
    """Prefixes of labels of several sequences; a prefix is a label and a row of the front before it."""

    owner: np.ndarray  # i64[R]: the sequence
    forward: np.ndarray  # f64[R, H]
    bound: np.ndarray  # f64[R]
    label: np.ndarray  # i64[R]
    back: np.ndarray  # i64[R]


def sequence_limit(model: Model, drawn: Sample) -> SequenceLimit:
    """The limit, measured on the first sequences."""
    n = max(1, int(np.searchsorted(drawn.offset, MOST_TOKENS, side="right")) - 1)
    labels, proven = most_probable_labels(model, drawn.symbols, drawn.offset[: n + 1])
    tokens = int(drawn.offset[n])
    wrong = labels != model.label_of[drawn.states[:tokens]]
    errors = np.add.reduceat(wrong, drawn.offset[:n])
    share = float(np.mean(errors == 0))
    return SequenceLimit(share, math.sqrt(share * (1 - share) / n), n, int(n - proven.sum()))


def most_probable_labels(model: Model, symbols: np.ndarray, offset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """i64[N]: the most probable label sequence of each sequence, and bool[S]: whether that is proven."""
    found = np.empty(int(offset[-1]), np.int64)
    proven = np.ones(len(offset) - 1, np.bool_)
    for tokens in blocks_of(offset, len(model.start)):
        for at in range(0, len(tokens), _CHUNK):
            own = tokens[at : at + _CHUNK]
            labels, sure = _search(model, symbols[own])
            found[own] = labels
            proven[np.searchsorted(offset, own[:, 0], side="right") - 1] = sure
    return found, proven


def _search(model: Model, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels i64[n, T] and proofs bool[n] for symbols i[n, T]."""
    emission = _scaled_emission(model, x)
    ahead = _best_ahead(model, emission)
    fronts, _ = _follow(model, emission, ahead, np.zeros(len(x)), BEAM)
    least = np.zeros(len(x))
    np.maximum.at(least, fronts[-1].owner, fronts[-1].bound)
    fronts, proven = _follow(model, emission, ahead, least * (1 - _ROUNDING), MOST_PREFIXES)
    best = np.lexsort((-fronts[-1].bound, fronts[-1].owner))
    row = best[np.unique(fronts[-1].owner[best], return_index=True)[1]]
    labels = np.empty(x.shape, np.int64)
    for i in range(x.shape[1] - 1, -1, -1):
        labels[:, i] = fronts[i].label[row]
        row = fronts[i].back[row]
    return labels, proven


def _scaled_emission(model: Model, x: np.ndarray) -> np.ndarray:
    """f64[T, n, H]: e[h, x_i], over the probability of x_i given the symbols before it, so that nothing underflows."""
    e = model.emission.T[x.T]
    a = model.start * e[0]
    for i in range(len(e)):
        if i:
            a = (a @ model.transition) * e[i]
        total = a.sum(1, keepdims=True)
        e[i] /= total
        a /= total
    return e


def _best_ahead(model: Model, emission: np.ndarray) -> np.ndarray:
    """b f64[T, n, H]"""
    T, n, H = emission.shape
    ahead = np.ones((T, n, H))
    groups = [np.flatnonzero(model.label_of == y) for y in range(len(model.names.labels))]
    for i in range(T - 2, -1, -1):
        weighed = emission[i + 1] * ahead[i + 1]
        ahead[i] = np.max([weighed[:, own] @ model.transition[:, own].T for own in groups if own.size], axis=0)
    return ahead


def _follow(
    model: Model, emission: np.ndarray, ahead: np.ndarray, least: np.ndarray, most: int
) -> tuple[list[_Front], np.ndarray]:
    """The prefixes after each token whose bounds are not below `least` f64[n], at most `most` per sequence; and
    bool[n]: whether there were no more."""
    T, n, _ = emission.shape
    complete = np.ones(n, np.bool_)
    owner, into = np.arange(n), np.tile(model.start, (n, 1))
    fronts: list[_Front] = []
    for i in range(T):
        parts = [_with_label(model, y, owner, into * emission[i][owner], ahead[i]) for y in np.unique(model.label_of)]
        grown = _Front(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        kept = (grown.bound >= least[grown.owner]) & (grown.bound > 0)
        if np.bincount(grown.owner[kept], minlength=n).max() > most:
            kept = _best_of_each(grown.owner, grown.bound, kept, most, complete)
        front = _Front(*(column[kept] for column in grown))
        owner, into = front.owner, front.forward @ model.transition
        fronts.append(front._replace(forward=np.zeros((0, 0))))  # not needed any more
    return fronts, complete


def _with_label(model: Model, y: int, owner: np.ndarray, into: np.ndarray, ahead: np.ndarray) -> _Front:
    """All prefixes with one more label."""
    forward = np.where(model.label_of == y, into, 0.0)
    bound = np.einsum("rh,rh->r", forward, ahead[owner])
    return _Front(owner, forward, bound, np.full(len(into), y), np.arange(len(into)))


def _best_of_each(
    owner: np.ndarray, bound: np.ndarray, kept: np.ndarray, most: int, complete: np.ndarray
) -> np.ndarray:
    """Which prefixes to keep: the best ones of each sequence. Sequences that lose some are marked as not complete."""
    rows = np.flatnonzero(kept)
    rows = rows[np.lexsort((-bound[rows], owner[rows]))]
    count = np.bincount(owner[rows], minlength=len(complete))
    rank = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
    complete[count > most] = False
    out = np.zeros(len(kept), np.bool_)
    out[rows[rank < most]] = True
    return out
