"""Hidden Markov models: vocabulary and probability tables, counted from labelled text, also as a linear model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Column, Corpus, column_of_types
from palmette.data.labels.schemes import Transitions
from palmette.data.text import NFC, NONE
from palmette.errors import DataError, UsageError
from palmette.features.encode import Encoder
from palmette.features.resources import UNKNOWN, Observed, Resources, word_classes
from palmette.features.templates import TemplateSet, boundary, parse
from palmette.kernels.chain.forms import Chain, FeatureWeights
from palmette.structures.chain.constraints import END, START
from palmette.structures.chain.data import Collected
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.weights import Shape, estimated, new_chain
from palmette.structures.stored import Names

# Which words a hidden Markov model knows, and the classes of those that it does not.
#
# Training words that occur often enough are known. The rare ones are replaced by classes (see features/resources.py),
# in training as in tagging, so that the model learns what unknown words look like: `<lower:ing>`, `<initial>`,
# `<number>`. A class with a suffix is made for at least eight rare words; one that no training word is left for (they
# all have narrower ones) is not kept: it has no training data. `<unknown>` is for forms that no rare word
# had.

NAME = "words"  # of what is observed, in templates
BEFORE = boundary("crfpp", -1)  # how templates call the place before the first token
LEAST_WORDS = 8  # with a suffix in common; EWT dev is flat between 5 and 12


class ObservedWords:
    """Numbers what can be observed."""

    def __init__(self, known: Iterable[str], classes: Iterable[str] = ()) -> None:
        self.known = sorted(known)
        self.classes = sorted(classes)
        self.names = [*self.known, *self.classes]
        self.observed = Observed(NAME, self.known, self.classes)
        self._number = {name: k for k, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def find(self, word: str) -> int | None:
        """The number of the word or of its class; None: it cannot be observed."""
        name = self.observed.find(word)
        return None if name is None else self._number[name]


def learn_vocabulary(count: Mapping[str, int], rare: int) -> ObservedWords:
    """Words seen more than `rare` times, and classes for the others; with rare = 0 all words and no class."""
    if rare == 0:
        return ObservedWords(count)
    known = {word for word, n in count.items() if n > rare}
    unknown = [word for word in count if word not in known]
    size = Counter(name for word in unknown for name in word_classes(word))
    made = {name for name, n in size.items() if n >= LEAST_WORDS or ":" not in name}
    members = {next(name for name in word_classes(word) if name in made) for word in unknown}
    # A word that is written like a class or like the edge of a sentence counts as rare, whatever its number: there must
    # be one meaning to a name.
    return ObservedWords(known - members - {UNKNOWN, BEFORE}, members | {UNKNOWN})


# The probabilities of a hidden Markov model of order 1 or 2, and the joint probability of words and labels.
#
#     P(x, y) = start[y1] * pair[y1, y2] * triple[y1, y2, y3] * ... * triple[.., yn] * end[yn]
#               * product of emission[yi, xi]
#
# At order 1 every step is a pair. At order 2 the pair is the step from the first token to the second, which has only
# one label before it. The end, where it is modelled at all, hangs on the last label alone (as in TnT): a row of pairs
# or triples then sums to 1 - end of the label that it leaves. Y labels, V observations.

SLACK = 1e-9  # by which a sum of given probabilities may miss 1

Distribution = Mapping[str, float]
Context = str | tuple[str, str]


class HmmTables(NamedTuple):
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
) -> tuple[list[str], ObservedWords, HmmTables]:
    """Labels and words in alphabetical order, and the tables; see HMM.from_tables."""
    _check_distributions(start, transition, emission)
    labels = sorted(emission)
    number = {label: k for k, label in enumerate(labels)}
    unknown = set(classes)
    words = ObservedWords({word for row in emission.values() for word in row} - unknown, unknown)
    pair, triple, end = _steps(transition, number)
    first = np.array([start.get(label, 0.0) for label in labels])
    for label in start:
        _label(label, number)
    columns = words.names
    emitted = np.array([[emission[label].get(word, 0.0) for word in columns] for label in labels])
    if dictionary is not None:
        emitted = np.where(_support(dictionary, columns, number), emitted, 0.0)
    return labels, words, HmmTables(first, pair, triple, end, emitted)


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
        raise UsageError(f"{label!r} is not a label: labels are the keys of emission, {', '.join(number)}{hint}")
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


# Probabilities of a hidden Markov model from labelled text.
#
# A step is counted with its context, which is one label at order 1 and two at order 2; the place before a sentence is a
# label of its own there, number Y. Without interpolation, a step's probability is its share among those of its context,
# and 0 in a context that was never left.
#
# **Deleted interpolation** (Brants 2000, TnT) mixes the shares of the contexts of 0, 1 (and 2) labels:
#
#     P(h | f, g) = l1 * share(h) + l2 * share(h | g) + l3 * share(h | f, g)
#
# Each n-gram of the data votes, as often as it occurs, for the context that predicts it best when one of its
# occurrences is taken away; the l's are the shares of the votes, one vote given to each beforehand, so that nothing
# is impossible. Where a context was never left, the next shorter one speaks for it, so that each row sums to 1.
#
# **Emissions** get `smoothing` added to the count of each observation that the label may have. The tag dictionary says
# which these are: of an observation seen at least `dictionary` times only the labels it was seen with.


class HmmCounts(NamedTuple):
    """What was counted; label Y is the place before a sentence."""

    step: np.ndarray  # f64[Y+1, Y] or f64[Y+1, Y+1, Y]: contexts and the label that follows
    label: np.ndarray  # f64[Y]
    end: np.ndarray  # f64[Y]  at the end of a sentence
    emission: np.ndarray  # f64[Y, V]


def count(
    labels: np.ndarray, observed: np.ndarray, offset: np.ndarray, shape: tuple[int, int], order: int
) -> HmmCounts:
    """labels and observed: i64[N]; shape: (Y, V)."""
    Y, V = shape
    position = np.arange(labels.size) - np.repeat(offset[:-1], np.diff(offset))
    back = [np.where(position >= k, np.roll(labels, k), Y) for k in range(order, 0, -1)]
    step = _tally([*back, labels], (*(Y + 1,) * order, Y))
    end = np.bincount(labels[offset[1:] - 1], minlength=Y).astype(np.float64)
    return HmmCounts(step, step.reshape(-1, Y).sum(0), end, _tally([labels, observed], (Y, V)))


def _tally(places: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    flat = np.ravel_multi_index(tuple(places), shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)


def estimate(
    counts: HmmCounts, *, smoothing: float, interpolate: bool, dictionary: int | None, ends: bool
) -> HmmTables:
    Y = counts.label.size
    step = interpolated(counts.step) if interpolate else shares(counts.step)
    end = _ends(counts, interpolate) if ends else None
    if end is not None:  # what goes on does not end; nothing ends before it has begun
        step = step * (1.0 - np.append(end, 0.0))[:, None]
    if step.ndim == 2:
        start, pair, triple = step[Y], step[:Y], None
    else:
        start, pair, triple = step[Y, Y], step[Y, :Y], step[:Y, :Y]
    return HmmTables(start, pair, triple, end, _emissions(counts.emission, smoothing, dictionary))


def shares(table: np.ndarray) -> np.ndarray:
    """Along the last axis; 0 where there is nothing to share."""
    total = table.sum(-1, keepdims=True)
    return np.divide(table, total, out=np.zeros_like(table), where=total > 0)


def interpolated(step: np.ndarray) -> np.ndarray:
    """Shares mixed with those of shorter contexts; as step."""
    shorter = [step.sum(axis=tuple(range(k))) for k in range(step.ndim - 1, 0, -1)]
    levels = [*shorter, step]
    weights = _votes(levels)
    before = shares(levels[0])
    mixed = np.broadcast_to(weights[0] * before, step.shape).copy()
    for weight, level in zip(weights[1:], levels[1:], strict=True):
        before = np.where(level.sum(-1, keepdims=True) > 0, shares(level), before)
        mixed += weight * before
    return mixed


def _votes(levels: list[np.ndarray]) -> np.ndarray:
    """How much each length of context counts, f64[levels]; the last level has the whole n-grams."""
    step = levels[-1]
    there = step > 0
    without_one = []
    for level in levels:
        rest = level.sum(-1, keepdims=True) - 1.0
        left_out = np.divide(level - 1.0, rest, out=np.zeros_like(level), where=(rest > 0) & (level > 0))
        without_one.append(np.broadcast_to(left_out, step.shape)[there])
    best = np.argmax(without_one, axis=0)  # ties to the shorter context
    votes = 1.0 + np.bincount(best, weights=step[there], minlength=len(levels))
    return np.asarray(votes / votes.sum())


def _ends(counts: HmmCounts, interpolate: bool) -> np.ndarray:
    """How often each label is the last one; interpolated: as if it had been seen once more, and at the end as often as
    labels are on the whole, but not always: longer sentences than those of one word are possible."""
    more = counts.end.sum() / max(counts.label.sum(), counts.end.sum() + 1.0) if interpolate else 0.0
    return np.asarray((counts.end + more) / (counts.label + (1.0 if interpolate else 0.0)))


def _emissions(table: np.ndarray, smoothing: float, dictionary: int | None) -> np.ndarray:
    allowed = np.ones(table.shape, np.bool_)
    if dictionary is not None:
        allowed = (table > 0) | (table.sum(0) < dictionary)
    return shares(table + smoothing * allowed)


class HiddenMarkovModel(NamedTuple):
    """The probabilities, and the names of their rows and columns."""

    labels: list[str]  # sorted
    vocabulary: ObservedWords
    tables: HmmTables


def count_model(
    corpus: Corpus, *, order: int = 1, smoothing: float = 0.001, interpolate: bool = True, rare: int = 1,
    dictionary: int | None = None, ends: bool = True, unicode: str = NFC,
) -> HiddenMarkovModel:  # fmt: skip
    """The model of a labelled corpus, whose column 0 has the words; the options are those of `HMM`."""
    if corpus.label_sets:
        raise DataError("partial labels cannot be counted: an HMM needs one label per token", file=corpus.source)
    if corpus.weight is not None:
        raise DataError("an HMM counts each sentence once: leave the weights out", file=corpus.source)
    assert corpus.labels is not None
    words, names = word_column(corpus, unicode), corpus.labels.types
    occurrences = np.bincount(words.ids, minlength=len(words.types)).tolist()
    vocabulary = learn_vocabulary(dict(zip(words.types, occurrences, strict=True)), rare)
    labels = sorted(names)
    number = np.array([labels.index(name) for name in names])
    shape = len(labels), len(vocabulary)
    counts = count(number[corpus.labels.ids], observations(corpus, vocabulary, unicode), corpus.offset, shape, order)
    tables = estimate(counts, smoothing=smoothing, interpolate=interpolate, dictionary=dictionary, ends=ends)
    return HiddenMarkovModel(labels, vocabulary, tables)


def word_column(corpus: Corpus, unicode: str) -> Column:
    """Column 0, which has the words, in a form of Unicode."""
    if not corpus.columns:
        raise DataError("ready-made attributes are not words", file=corpus.source, hint="give words, or columns")
    return corpus.columns[0].in_form(unicode)


def observations(corpus: Corpus, vocabulary: ObservedWords, unicode: str) -> np.ndarray:
    """The number i64[N] of each token's word, or of the class of an unknown word."""
    column = word_column(corpus, unicode)
    numbers = [vocabulary.find(word) for word in column.types]
    if None in numbers:
        unknown = numbers.index(None)
        token = int(np.argmax(column.ids == unknown))
        raise DataError(
            f"the model knows no word {column.types[unknown]!r}", file=corpus.source, line=corpus.line_of(token),
            hint="it was made without classes for unknown words: fit with rare=1, or more",
        )  # fmt: skip
    return np.array(numbers, np.int64)[column.ids]


# A hidden Markov model as a linear model: same score, same path.
#
# As two vectors, the logarithm of a joint probability is weights . features: the weights are the logarithms of all
# probabilities, the features count how often each was used, and 0 times minus infinity counts as 0.
#
#     start[Y], pair[Y*Y], triple[Y*Y*Y] (order 2), end[Y] (if there is one), emission[Y*V]
#
# As a ChainModel, the same numbers are bare weights of starts, pairs, triples and ends, and the weights of one
# attribute an observation. Bare weights of pairs count at every token; at order 2 ours count at the second one alone,
# so they are weights of the attribute that tells the second token: what stands two before it is the place before the
# sentence. What has probability 0 is forbidden, or -inf. Weights are float32. The chain reads words: its templates
# see them as what is observed, through an atom that has the vocabulary.

TEMPLATES = {1: "U0:%x[0,0{atom}]\nB\n", 2: "U0:%x[0,0{atom}]\nB1:%x[-2,0{atom}]\nT\n"}


# --- as two vectors -----------------------------------------------------------------------------------------


def weight_vector(tables: HmmTables) -> np.ndarray:
    """The logarithms of all probabilities, one after the other."""
    return log(np.concatenate([block.ravel() for block in tables if block is not None]))


def feature_vector(tables: HmmTables, labels: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """How often a sentence uses each of them."""
    counts = HmmTables(*(None if block is None else np.zeros(block.shape) for block in tables))  # type: ignore[arg-type]
    counts.start[labels[0]] = 1.0
    np.add.at(counts.emission, (labels, observed), 1.0)
    pairs = labels if tables.order == 1 else labels[:2]
    np.add.at(counts.pair, (pairs[:-1], pairs[1:]), 1.0)
    if counts.triple is not None:
        np.add.at(counts.triple, (labels[:-2], labels[1:-1], labels[2:]), 1.0)
    if counts.end is not None:
        counts.end[labels[-1]] = 1.0
    return np.concatenate([block.ravel() for block in counts if block is not None])


def inner(weights: np.ndarray, features: np.ndarray) -> float:
    """weights . features, where 0 * -inf = 0"""
    used = features != 0
    return float(weights[used] @ features[used])


# --- as a chain ---------------------------------------------------------------------------------------------


def to_chain(
    labels: Sequence[str],
    vocabulary: ObservedWords,
    tables: HmmTables,
    rules: Transitions | None = None,
    *,
    unicode: str,
) -> ChainModel:
    """The chain model whose column 0 has the words. `rules`: what is allowed besides having a probability. `unicode`:
    the form of the words."""
    if tables.order == 2 and BEFORE in vocabulary.known:
        raise UsageError(f"the word {BEFORE!r} is the name of the place before a sentence: rename it")
    corpus = _every_observation(vocabulary)
    collected = Collected(corpus, Encoder(_templates(tables.order, ""), Resources(), NONE))
    shape = Shape(
        len(labels), tables.order, ends=True, transitions=tables.order == 1, triples=tables.order == 2
    )  # fmt: skip
    allowed = _allowed(tables)
    if rules is not None:
        allowed = Transitions(*(mine & theirs for mine, theirs in zip(allowed, rules, strict=True)))
    chain = new_chain(shape, collected.sizes, allowed, {})
    _fill_bare(chain, tables, allowed)
    one = _filled(chain.weights[0], collected.actives[1].att[: len(vocabulary)], log(tables.emission).T)
    two = chain.weights[1]
    if tables.order == 2:
        rows = np.zeros((len(labels), two.w.shape[1] // len(labels)))
        rows[:, : len(labels)] = log(tables.pair)
        two = _filled(two, np.zeros(1, np.int64), rows.reshape(1, -1))
    names = {order: Names(*collected.names(order)) for order in collected.feature_indexes}
    words = np.sort(corpus.columns[0].hash[: len(vocabulary.known)])
    resources = Resources(observed={NAME: vocabulary.observed})
    encoder = Encoder(_templates(tables.order, f",observed:{NAME}"), resources, unicode)
    return ChainModel(
        list(labels), shape, allowed, None, encoder, collected.feature_indexes,
        estimated(chain._replace(weights=(one, two, chain.weights[2])), None), names, words,
    )  # fmt: skip


def _templates(order: int, atom: str) -> TemplateSet:
    """With and without the atom they make the same strings, of words and of what is observed."""
    return parse(TEMPLATES[order].replace("{atom}", atom), "hmm", "crfpp")


def _every_observation(vocabulary: ObservedWords) -> Corpus:
    """A corpus that has them all, in sentences of two tokens: so pairs have one attribute, that of the second token."""
    n = len(vocabulary)
    ids = np.append(np.arange(n), n - 1)[: n + n % 2].astype(np.int32)
    return Corpus(np.arange(0, ids.size + 1, 2, dtype=np.int64), [column_of_types(ids, vocabulary.names)])


def _allowed(tables: HmmTables) -> Transitions:
    pair = tables.pair > 0
    if tables.triple is not None:
        pair = pair | (tables.triple > 0).any(0)
    return Transitions(tables.start > 0, pair, np.ones_like(pair[0]) if tables.end is None else tables.end > 0)


def _fill_bare(chain: Chain, tables: HmmTables, allowed: Transitions) -> None:
    """What is forbidden needs no weight besides."""
    Y = tables.start.size
    ends, pairs, triples = (t.w for t in chain.transitions)
    ends[0, :Y] = np.where(allowed.start, log(tables.start), 0.0)
    if tables.end is not None:
        ends[1, :Y] = np.where(allowed.end, log(tables.end), 0.0)
    if tables.triple is None:
        pairs[:, :Y] = np.where(allowed.pair, log(tables.pair), 0.0)
    else:
        triples[:, :Y] = log(tables.triple).reshape(Y * Y, Y)


def _filled(rows: FeatureWeights, attributes: np.ndarray, weights: np.ndarray) -> FeatureWeights:
    """Rows with these weights of these attributes, each in a row of its own after the shared one of zeros."""
    rows.w[1 + attributes, : weights.shape[1]] = weights
    slot = rows.slot.copy()
    slot[attributes] = 1 + attributes
    return rows._replace(slot=slot, used=np.array([1 + attributes.size], np.int64))
