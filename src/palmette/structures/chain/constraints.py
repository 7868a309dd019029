"""Which labels may follow each other in a training: by the tag scheme of the labels, and by the user's own list."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.labels.mask import label_names, training_mask
from palmette.data.labels.repair import RARE, Violations, nearest, repaired, violations
from palmette.data.labels.schemes import (
    FOUND,
    HYPHEN,
    Transitions,
    allowed_transitions,
    are_chunk_labels,
    every_label_usable,
    fits,
    recognise,
    scheme_named,
    schemes_of,
    unseen_scheme,
)
from palmette.errors import DataError, UsageError, counted, either
from palmette.kernels.chain.forms import Chain
from palmette.options.chain import TaggerOptions
from palmette.options.declare import OptionError
from palmette.options.spelling import named, spelt
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.weights import everything_allowed, new_chain

logger = logging.getLogger(__name__)
START, END = "<s>", "</s>"


def settle_scheme(
    corpus: Corpus, asked: str, old_labels: Sequence[str] = (), old: str | None = None
) -> tuple[Corpus, str | None]:
    """The tag scheme of a training corpus, and the corpus with rare violations of it repaired. `old_labels` and `old`
    are the labels and the scheme of a model that goes on learning, which stays unless the new labels contradict it."""
    labels = list(dict.fromkeys((*old_labels, *label_names(corpus))))
    if asked not in ("auto", "none", "strict"):
        return corpus, asked.upper()
    if asked == "auto" and unseen_scheme(old) is not None:
        return corpus, old
    if not are_chunk_labels(labels):
        if asked == "strict":
            raise _no_scheme(labels, corpus)
        _warn_of_stray_labels(corpus)
        return corpus, None
    known = training_mask(corpus, labels).rows
    kept = [old] if old in schemes_of(labels) else []
    keep = kept and fits(labels, kept[0], known, corpus.offset)
    scheme = old if keep else recognise(labels, known, corpus.offset)
    if scheme is not None or asked == "none":
        return corpus, scheme
    found, taken = nearest(labels, known, corpus.offset, kept)
    if asked == "strict":
        raise DataError(_summary(found, corpus), hint=rewriting(found.scheme))
    mended, done = repaired(corpus, labels, known, found) if taken else (corpus, 0)
    taken = taken and (corpus.label_numbers is None or corpus.label_numbers.have(label_names(mended)))
    if taken and _all_usable(mended, labels, known, old_labels, found.scheme):
        strict = spelt(TaggerOptions, "constraints", "strict")
        logger.warning("%s; %s (%s: error)", _summary(found, corpus), _outcome(found, done), strict)
        return mended, found.scheme
    logger.warning(
        "the labels follow no tag scheme, so that any label may follow any: %s; %s",
        _summary(found, corpus), rewriting(found.scheme),
    )  # fmt: skip
    return corpus, None


def repair_dev(dev: Corpus, scheme: str | None) -> Corpus:
    """Development data with rare violations of the model's scheme repaired, as in training data."""
    labels = label_names(dev)
    if scheme not in schemes_of(labels):
        return dev
    known = training_mask(dev, labels).rows
    found = violations(labels, known, dev.offset, str(scheme))
    if not found.tokens.size:
        return dev
    mended, done = repaired(dev, labels, known, found) if found.rare else (dev, 0)
    logger.warning("development data: %s; %s", _summary(found, dev), _outcome(found, done))
    return mended


def _all_usable(
    mended: Corpus, labels: Sequence[str], known: np.ndarray, old_labels: Sequence[str], scheme: str
) -> bool:
    """Whether every label of a repaired corpus has a use in the scheme, which partly known labels do not show."""
    names = list(dict.fromkeys((*old_labels, *label_names(mended))))
    return bool((known < len(labels)).all()) or every_label_usable(names, scheme)


def _summary(found: Violations, corpus: Corpus) -> str:
    n = found.tokens.size
    chunks = f"{n:,} of {counted(found.chunks, 'chunk')} {'is' if n == 1 else 'are'} ill-formed in {found.scheme}"
    return f"{chunks} ({corpus.places(found.tokens)})"


def _outcome(found: Violations, done: int) -> str:
    """How many of the ill-formed chunks were repaired: those beside unknown labels stay."""
    if done == found.tokens.size:
        return "read as conlleval does, and repaired"
    return f"{done:,} of them repaired, as conlleval reads them" if done else "left as they are"


def rewriting(scheme: str) -> str:
    """How to have ill-formed chunks rewritten."""
    how = either("convert_labels", f"`palmette convert FILE -o OUT --to-scheme {scheme.lower()}`")
    return f"{how} rewrites ill-formed chunks"


def _warn_of_stray_labels(corpus: Corpus) -> None:
    """Report rare labels without a letter among labels of a tag scheme (0 or o for O): they switch the scheme off."""
    assert corpus.labels is not None
    types = corpus.labels.types
    for notation in FOUND:
        stray = np.array([not notation.split(cell)[0] and cell not in (corpus.label_sets or {}) for cell in types])
        found = np.flatnonzero(stray[corpus.labels.ids])
        others = [cell for cell, is_stray in zip(types, stray, strict=True) if not is_stray]
        if found.size and found.size * RARE <= corpus.n_tokens and are_chunk_labels(others):
            logger.warning(
                "%s no letter of a tag scheme, such as %r, so that no scheme is taken (%s)",
                counted(found.size, "label has", "labels have"), types[corpus.labels.ids[found[0]]],
                corpus.places(found),
            )  # fmt: skip
            return


def _no_scheme(labels: Sequence[str], corpus: Corpus) -> DataError:
    assert corpus.labels is not None
    strange = next((label for label in labels if not HYPHEN.split(label)[0]), labels[0])
    return DataError(
        f"{spelt(TaggerOptions, 'constraints', 'strict')}: labels of a tag scheme (B-X, I-X, O) are expected, and "
        f"{strange!r} is none",
        file=corpus.source,
    )


def constraints(
    labels: list[str], known: np.ndarray, corpus: Corpus, scheme: str | None, asked: str,
    forbidden: Sequence[tuple[str, str]],
) -> Transitions:  # fmt: skip
    """Which labels may follow each other: by the tag scheme, unless `asked` is none, and by the user's list."""
    enforced = scheme is not None and asked != "none"
    allowed = allowed_transitions(labels, str(scheme)) if enforced else everything_allowed(len(labels))
    for before, after in forbidden:
        _forbid(allowed, labels, before, after)
    if asked not in ("none", "auto") or forbidden:
        _check_gold(known, allowed, labels, corpus)
    return allowed


def _forbid(allowed: Transitions, labels: list[str], before: str, after: str) -> None:
    for label, end in ((before, START), (after, END)):
        if label not in labels and label != end:
            raise UsageError(
                f"forbidden transition {before} {after}: no label {label!r} in the training data; "
                f"{START} may stand first, {END} second"
            )
    if (before, after) == (START, END):
        raise UsageError(f"forbidden transition {START} {END}: one of the two must be a label")
    if before == START:
        allowed.start[labels.index(after)] = False
    elif after == END:
        allowed.end[labels.index(before)] = False
    else:
        allowed.pair[labels.index(before), labels.index(after)] = False


def _check_gold(known: np.ndarray, allowed: Transitions, labels: list[str], corpus: Corpus) -> None:
    """The training data itself must keep to the constraints."""
    first, last = corpus.offset[:-1], corpus.offset[1:] - 1
    inside = np.ones(known.size, np.bool_)
    inside[first] = False
    places = np.flatnonzero(inside)
    # Where something is not known for sure, anything may stand.
    start, end = (np.append(row, True) for row in (allowed.start, allowed.end))
    pair = np.pad(allowed.pair, (0, 1), constant_values=True)
    known = np.minimum(known, len(labels))
    bad = places[~pair[known[places - 1], known[places]]]
    bad = np.concatenate((bad, first[~start[known[first]]], last[~end[known[last]]]))
    if bad.size:
        token = int(bad.min())
        before = [*labels, "?"][known[token - 1]] if inside[token] else START
        raise DataError(
            f"the label {labels[known[token]]!r} after {before!r} is forbidden, and the training data has it",
            file=corpus.source,
            line=corpus.line_of(token),
            hint=f"mend the data, or use {spelt(TaggerOptions, 'constraints', 'auto')} or none, or another list of "
            + named(TaggerOptions, "forbidden"),
        )


# A trained model, or one of another tool, whose label sequences must follow a tag scheme from now on.


def constrained(model: ChainModel, scheme: str = "auto") -> ChainModel:
    """The model with the transitions forbidden that a tag scheme forbids, besides its own; `auto`: the strictest scheme
    that its labels can be of."""
    if not are_chunk_labels(model.labels):
        raise OptionError(
            "scheme", f"{', '.join(model.labels[:8])} are no labels of a tag scheme (B-X, I-X, O)", "constraints"
        )
    if model.compact:
        raise OptionError("scheme", "constrain the full model, and compact it then", "constraints")
    named = recognise(model.labels) if scheme == "auto" else scheme.upper()
    if named is None:
        raise OptionError("scheme", "the labels fit no tag scheme: name one, such as iob2", "constraints")
    scheme_named(named)
    own, new = model.allowed, allowed_transitions(model.labels, named)
    allowed = Transitions(own.start & new.start, own.pair & new.pair, own.end & new.end)
    return model.changed(allowed=allowed, scheme=named, searched=_restricted(model.searched, model, allowed))


def _restricted(chain: Chain, model: ChainModel, allowed: Transitions) -> Chain:
    blank = new_chain(model.shape, {}, allowed, {})
    return chain._replace(order=blank.order, forbid=blank.forbid, first=blank.first, last=blank.last)
