"""What looks wrong: training data that was hardly meant to be read as it is, and weights that overflow. Messages name
the option that helps."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from palmette.data.corpus import Column, Corpus
from palmette.data.formats.spec import FormatSpec
from palmette.data.text import nfc
from palmette.data.treebank import NOTHING, Treebank
from palmette.errors import DataError, counted
from palmette.features.templates import TemplateSet
from palmette.kernels.chain.forms import Active, Chain, Data, LabelContextWeights
from palmette.options.learners import Learner
from palmette.options.spelling import named, spelt
from palmette.training.lbfgs import Result
from palmette.training.result import TrainResult

logger = logging.getLogger(__name__)
MANY = 50  # labels: fewer may all be different
TOKENS_PER_LABEL = 20  # with fewer tokens than this per label,
ONCE = 0.45  # and with this share of labels that occur once, they are words, lemmas or comments
ALMOST = 0.99  # share of tokens
COUNTED = 10  # neighbours that count up: fewer may be numbers by chance
GIANT = 1000  # tokens of an only sentence


def warn_of_strange_corpus(corpus: Corpus, templates: TemplateSet | None, partial: bool = False) -> None:
    """Log what looks wrong in a training corpus. `templates` are those that read its columns, if any do; `partial`:
    whether `_` stands for any label."""
    assert corpus.labels is not None
    labels = () if partial and NOTHING in corpus.labels.types else _labels(corpus.labels, "label")
    read = corpus.line_of(0) is not None  # from a file: an option can read it otherwise
    for what, cure in (*labels, *_words(corpus, templates), *_sentences(corpus)):
        logger.warning(f"{what}: {cure}" if read else what)


def warn_of_strange_trees(treebank: Treebank) -> None:
    """Log what looks wrong in a treebank."""
    for what, _ in _labels(treebank.relations, "relation"):
        logger.warning(f"{what}: is the eighth field (deprel) filled in?")
    warn_of_same_labels(treebank.relations.types, "relations")


def _labels(labels: Column, name: str) -> Iterator[tuple[str, str]]:
    """Labels that hardly distinguish tokens, or distinguish nearly all of them."""
    counts = np.bincount(labels.ids, minlength=len(labels.types))
    used, n = np.flatnonzero(counts), labels.ids.size
    nothing = counts[labels.types.index(NOTHING)] if NOTHING in labels.types else 0
    once = int(np.count_nonzero(counts == 1))
    if nothing >= ALMOST * n:
        some = f"{nothing:,} of {n:,} {name}s are" if n > 1 else f"the only {name} is"
        yield f"{some} `_`, which means no annotation", f"choose another field by {named(FormatSpec, 'label')}"
    elif used.size == 1:
        some = f"all {n:,} {name}s are" if n > 1 else f"the only {name} is"
        yield f"{some} {labels.types[int(used[0])]!r}", f"is it the right column? see {named(FormatSpec, 'label')}"
    elif used.size >= MANY and used.size * TOKENS_PER_LABEL >= n and once >= ONCE * used.size:
        yield (
            f"{used.size:,} different {name}s for {counted(n, 'token')}, {once:,} of them occur once",
            f"is it the right column? see {named(FormatSpec, 'label')}",
        )


def warn_of_same_labels(labels: Iterable[str], names: str = "labels") -> None:
    """Log labels that are one in Unicode's normal form C: they look the same, and are learnt as two."""
    for form, n in Counter(map(nfc, labels)).items():
        if n > 1:
            logger.warning(
                f"{n} different {names} look the same, {form!r}, and are equal in Unicode's NFC: write them in one "
                "form, since they are learnt as different ones"
            )


def _words(corpus: Corpus, templates: TemplateSet | None) -> Iterator[tuple[str, str]]:
    """Numbers of tokens where words are expected, as in CoNLL-U that is read as columns."""
    read = templates is None or any(macro.column == 0 for t in templates.templates for macro in t.macros)
    if not corpus.columns or not read:
        return
    words = corpus.columns[0]
    numbers = np.array([int(word) if word.isdecimal() and len(word) < 10 else -1 for word in words.types])[words.ids]
    inside = np.ones(numbers.size, np.bool_)
    inside[corpus.offset[:-1]] = False
    steps = (np.diff(numbers) == 1)[inside[1:]]
    if steps.size >= COUNTED and steps.sum() >= ALMOST * steps.size:
        yield (
            "the first column counts the tokens (1, 2, 3, ...) where words are expected",
            f"choose {spelt(FormatSpec, 'format', 'conllu')}, or other columns by {named(FormatSpec, 'columns')}",
        )


def _sentences(corpus: Corpus) -> Iterator[tuple[str, str]]:
    if corpus.n_sentences == 1 and corpus.n_tokens >= GIANT:
        yield (
            f"all {corpus.n_tokens:,} tokens are one sentence",
            f"is there a blank line after each sentence? see {named(FormatSpec, 'format')}",
        )


# Weights and scores that overflow float32, or that never moved: errors with what to do, before a model comes of it.

LARGEST = float(np.finfo(np.float32).max)
TOKENS = 1 << 14  # whose values are summed together
STEEP = 0.01  # share of the first gradient that is left where no step was found: far from the optimum
SCALE = "scale the values of attributes or the weights of sentences down, for example to at most 1"


def check_weights(
    chain: Chain, contexts: LabelContextWeights | None, data: Data, learner: Learner, corpus: Corpus
) -> None:
    """DataError if weights, or the scores that they give the training data, overflow float32."""
    blocks = [*_blocks(chain), *([] if contexts is None else [contexts.w])]
    if not all(np.isfinite(block).all() for block in blocks):
        raise DataError("the weights have overflowed", file=corpus.source, hint=cure(data, learner))
    largest = max(float(np.abs(block).max(initial=0.0)) for block in blocks)
    score = sum(_most(active) for active in data.features) * largest
    if score > LARGEST:
        raise DataError(
            f"scores overflow: weights of up to {largest:.3g}, values of up to {_largest_value(data):.3g}",
            file=corpus.source, hint=cure(data, learner),
        )  # fmt: skip


def _blocks(chain: Chain) -> list[np.ndarray]:
    """All weights."""
    return [*(part.w for part in (*chain.transitions, *chain.weights)), *(rows.value for rows in chain.stored)]


def _most(active: Active) -> float:
    """The largest sum of absolute values of the attributes of a token."""
    if active.ptr.size < 2:
        return 0.0
    if not active.val.size:
        return float(np.diff(active.ptr).max())
    most = 0.0
    for first in range(0, active.ptr.size - 1, TOKENS):  # what is summed takes five times the memory of the values
        ptr = active.ptr[first : first + TOKENS + 1]
        sums = np.concatenate(([0.0], np.cumsum(np.abs(active.val[ptr[0] : ptr[-1]]), dtype=np.float64)))
        most = max(most, float(np.diff(sums[ptr - ptr[0]]).max()))
    return most


def _largest_value(data: Data) -> float:
    values = [active.val for active in data.features if active.val.size]
    return max((float(max(val.max(), -val.min())) for val in values), default=1.0)


def cure(data: Data, learner: Learner) -> str:
    """What to do about an overflow."""
    if data.features[0].val.size or (data.weight != 1).any():
        return SCALE
    return f"choose a smaller {named(type(learner), 'rate')}" if "rate" in learner.values() else SCALE


def check_moved(outcome: TrainResult, chain: Chain, data: Data) -> None:
    """Warn if an online training made updates and has no weights."""
    blocks = _blocks(chain)
    if sum(epoch.updates for epoch in outcome.training_log) and not any(block.any() for block in blocks):
        logger.warning(
            "all weights are zero after training: updates were lost in rounding, with values of up to %.3g and "
            "sentence weights of up to %.3g; %s", _largest_value(data), float(data.weight.max(initial=0.0)), SCALE,
        )  # fmt: skip


def check_descent(found: Result, data: Data, fresh: bool) -> None:
    """DataError if L-BFGS found no step from a fresh start, a warning if it stopped far from an optimum."""
    if found.ending != "no step" or not (fresh or found.iterations):
        return
    if not found.iterations:
        raise DataError(
            f"L-BFGS finds no step that decreases the objective: its gradient has the norm {found.norm:.3g}, and the "
            f"values of attributes go up to {_largest_value(data):.3g}",
            hint=SCALE,
        )
    if found.norm > STEEP * found.first_norm:
        logger.warning(
            "L-BFGS stopped far from the optimum, after iteration %d with a gradient of norm %.3g (%.3g at the start); "
            "%s", found.iterations, found.norm, found.first_norm, SCALE,
        )  # fmt: skip
