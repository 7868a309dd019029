"""Parts of a corpus (held-out sentences, folds), and several corpora as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette.data.corpus import Attributes, Column, Corpus
from palmette.errors import DataError, UsageError, counted
from palmette.kernels.io.columns import intern_cells, join_types

_TOGETHER = 20  # consecutive sentences that go into one fold: neighbours share a topic and its words


def take(corpus: Corpus, sentences: np.ndarray) -> Corpus:
    """The sentences with these numbers, in this order. The text that they were read from is left out."""
    size = np.diff(corpus.offset)[sentences]
    offset = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
    tokens = np.repeat(corpus.offset[sentences] - offset[:-1], size) + np.arange(offset[-1])
    lines = token_lines(corpus)
    return Corpus(
        offset,
        [picked(column, tokens) for column in corpus.columns],
        None if corpus.labels is None else picked(corpus.labels, tokens),
        corpus.label_sets,
        None if corpus.attributes is None else _attributes(corpus.attributes, tokens),
        None if corpus.weight is None else corpus.weight[sentences],
        source=corpus.source,
        token_lines=None if lines is None else lines[tokens],
        numbers=sentences if corpus.numbers is None else corpus.numbers[sentences],
        vectors=corpus.vectors,
        label_numbers=corpus.label_numbers,
    )


def picked(column: Column, tokens: np.ndarray) -> Column:
    """The cells of these tokens; types that no longer occur are dropped, the others renumbered."""
    used, first, ids = np.unique(column.ids[tokens], return_index=True, return_inverse=True)
    by_occurrence = np.argsort(first, kind="stable")
    new = np.empty(used.size, np.int32)
    new[by_occurrence] = np.arange(used.size, dtype=np.int32)
    kept = used[by_occurrence]
    return Column(new[ids], column.data, column.start[kept], column.end[kept], column.hash[kept], column.power[kept])


def _attributes(given: Attributes, tokens: np.ndarray) -> Attributes:
    size = np.diff(given.ptr)[tokens]
    ptr = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
    places = np.repeat(given.ptr[tokens] - ptr[:-1], size) + np.arange(ptr[-1])
    val = given.val[places] if given.val.size else given.val
    return Attributes(ptr, picked(given.names, places), val, given.rest[places] if given.rest.size else given.rest)


def split(corpus: Corpus, share: float, seed: int) -> tuple[Corpus, Corpus]:
    """Hold out a share of the sentences, drawn by seed: (the rest, the share)."""
    if not 0.0 < share < 1.0:
        raise UsageError(f"the share to hold out must be between 0 and 1, not {share}")
    n = round(share * corpus.n_sentences)
    if not 0 < n < corpus.n_sentences:
        raise UsageError(f"a share of {share} of {counted(corpus.n_sentences, 'sentence')} leaves one side empty")
    drawn = np.random.default_rng([seed, 0]).permutation(corpus.n_sentences)
    return take(corpus, np.sort(drawn[n:])), take(corpus, np.sort(drawn[:n]))


def dealt(n_sentences: int, folds: int, seed: int) -> np.ndarray:
    """The fold i64[S] of each sentence; all folds have about as many sentences."""
    if not 2 <= folds <= max(2, n_sentences):
        sentences = counted(n_sentences, "sentence")
        raise UsageError(f"{counted(folds, 'fold')} of {sentences}: choose 2 or more, at most as many")
    together = min(_TOGETHER, max(1, n_sentences // (4 * folds)))
    groups = -(-n_sentences // together)
    drawn = np.random.default_rng([seed, 3]).permutation(groups) % folds
    return np.repeat(drawn, together)[:n_sentences]


def drawn_together(n_sentences: int, seed: int) -> np.ndarray:
    """The numbers i64[S] of all sentences in random order, neighbours together: they share a topic and its words."""
    together = min(_TOGETHER, max(1, n_sentences // _TOGETHER))
    place = np.repeat(np.random.default_rng([seed, 3]).permutation(-(-n_sentences // together)), together)
    return np.argsort(place[:n_sentences], kind="stable")


def joined(corpora: Sequence[Corpus]) -> Corpus:
    """The sentences of all corpora, one after the other, numbered as if they had been read from one file. The text that
    they were read from is left out."""
    some = [corpus for corpus in corpora if corpus.n_tokens] or list(corpora[:1])
    if len(some) == 1:
        return some[0]
    first = some[0]
    for corpus in some[1:]:
        _check_alike(first, corpus)
    attributes = [corpus.attributes for corpus in some if corpus.attributes is not None]
    labels = [corpus.labels for corpus in some if corpus.labels is not None]
    sets = {cell: names for corpus in some for cell, names in (corpus.label_sets or {}).items()}
    return Corpus(
        _offsets([corpus.offset for corpus in some]),
        [_joined_column([corpus.columns[c] for corpus in some]) for c in range(len(first.columns))],
        _joined_column(labels) if labels else None,
        sets if any(corpus.label_sets is not None for corpus in some) else None,
        _joined_attributes(attributes) if attributes else None,
        _weights(some),
        source=f"{first.source} and {counted(len(some) - 1, 'other')}",
        vectors=first.vectors,
        label_numbers=first.label_numbers,
    )


def joined_blocks(blocks: Sequence[Corpus]) -> Corpus:
    """The corpus whose blocks a stream has read, without the text."""
    some = [block for block in blocks if block.n_tokens] or list(blocks[:1])
    whole = joined(some)
    whole.source, whole.lines, whole.surface = some[0].source, None, None
    lines = [token_lines(block) for block in some]
    whole.token_lines = None if any(own is None for own in lines) else np.concatenate(lines)  # type: ignore[arg-type]
    return whole


def without_text(corpus: Corpus) -> Corpus:
    """A corpus that holds its types and no other part of the text that it was read from."""
    attributes = corpus.attributes
    if attributes is not None:
        attributes = Attributes(attributes.ptr, _compact(attributes.names), attributes.val, attributes.rest)
    labels = None if corpus.labels is None else _compact(corpus.labels)
    return Corpus(
        corpus.offset, [_compact(column) for column in corpus.columns], labels, corpus.label_sets, attributes,
        corpus.weight, source=corpus.source, token_lines=token_lines(corpus), vectors=corpus.vectors,
        label_numbers=corpus.label_numbers,
    )  # fmt: skip


def _compact(column: Column) -> Column:
    data, offset = join_types(column.data, column.start, column.end)
    return Column(column.ids, data, offset[:-1].copy(), offset[1:].copy(), column.hash, column.power)


def token_lines(corpus: Corpus) -> np.ndarray | None:
    """The line i64[N] of each token in its file; None if there is none."""
    if corpus.lines is not None:
        return corpus.lines.first_line + corpus.lines.tokens
    return corpus.token_lines


def _check_alike(first: Corpus, other: Corpus) -> None:
    """DataError if a corpus has other columns than the first one."""
    n, own = len(first.columns), len(other.columns)
    if n != own or (first.attributes is None) != (other.attributes is None):
        raise DataError(
            f"{counted(own, 'column')} besides the label, and {first.source} has {n}", file=other.source,
            line=other.line_of(0), hint="files that are learnt from together have the same columns",
        )  # fmt: skip
    if (first.labels is None) != (other.labels is None):
        raise DataError("the file has no labels", file=(other if other.labels is None else first).source)


def _offsets(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Offsets that go on where those of the part before end."""
    sizes = np.concatenate([np.diff(part) for part in parts])
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def _weights(corpora: Sequence[Corpus]) -> np.ndarray | None:
    """The weight f32[S] of each sentence; None if all weigh the same."""
    if all(corpus.weight is None for corpus in corpora):
        return None
    given = ((corpus.weight, corpus.n_sentences) for corpus in corpora)
    return np.concatenate([np.ones(n, np.float32) if weight is None else weight for weight, n in given])


def _joined_column(parts: Sequence[Column]) -> Column:
    texts = [join_types(part.data, part.start, part.end) for part in parts]
    offset = _offsets([own for _, own in texts])
    data = np.concatenate([*(text for text, _ in texts), np.zeros(1, np.uint8)])
    new, start, end, hash, power = intern_cells(data, offset[:-1].copy(), offset[1:].copy())
    before = np.cumsum([0, *(part.start.size for part in parts)])
    ids = np.concatenate([new[part.ids + at] for part, at in zip(parts, before[:-1].tolist(), strict=True)])
    return Column(ids, data, start, end, hash, power)


def _joined_attributes(parts: Sequence[Attributes]) -> Attributes:
    return Attributes(
        _offsets([part.ptr for part in parts]), _joined_column([part.names for part in parts]),
        _values([part.val for part in parts], parts, 1.0), _values([part.rest for part in parts], parts, 0.0),
    )  # fmt: skip


def _values(given: Sequence[np.ndarray], parts: Sequence[Attributes], usual: float) -> np.ndarray:
    """Values of all attributes; none if all are as usual."""
    if not any(values.size for values in given):
        return given[0]
    return np.concatenate([
        values if values.size else np.full(part.names.ids.size, usual, np.float32)
        for values, part in zip(given, parts, strict=True)
    ])  # fmt: skip
