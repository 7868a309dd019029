"""Training data that was hardly meant to be read as it is: warnings before training, with the option that mends it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from palmette.data.corpus import Column, Corpus
from palmette.data.formats.spec import FormatSpec
from palmette.data.normal_form import nfc
from palmette.data.treebank import NOTHING, Treebank
from palmette.errors import counted
from palmette.features.templates import TemplateSet
from palmette.options.spelling import named, spelt

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
