"""How sure a model is of its labels, written beside them.

Columns: `--confidence` puts one more column behind the label, and for labels of spans two: how sure the label of the
token is, and how sure the whole span that it belongs to (`-` outside of spans); a line `# confidence ...` before the
sentence tells it of all its labels together. CoNLL-U has them in its last field. `--marginals` puts `LABEL/number`
behind the label, for every label in the model's order, as CRF++ does. JSON lines have all of it under names.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.formats.write import MARK, Writer
from palmette.errors import UsageError

NO_SPAN = "-"
ALL, TOKENS, SPANS, MARGINALS = "confidence", "token_confidence", "span_confidence", "marginals"


class SpanShares(NamedTuple):
    """The spans of a corpus in their order, each with its share of all paths."""

    sentence: np.ndarray  # i64[K]
    first: np.ndarray  # i64[K]  token of the sentence
    end: np.ndarray  # i64[K]    the token after its last one
    type: list[str]
    share: np.ndarray  # f64[K]


class Confidence(NamedTuple):
    """The share of all paths (of those that what is known allows) that have ..."""

    tokens: np.ndarray  # f64[N]     the label of this token here
    sentences: np.ndarray  # f64[S]  all labels of this sentence; empty: not asked for
    spans: SpanShares | None  # this span here, neither longer nor shorter; None: not asked for, or no such labels
    marginals: np.ndarray | None  # f64[N, Y]  each label here; None: not asked for


class ConfidenceOutput(NamedTuple):
    """What is to be written."""

    confidence: bool = False
    marginals: bool = False


def check_tellable(writer: Writer, tell: ConfidenceOutput) -> None:
    """Complain about a format that has no room for it."""
    if tell.marginals and writer.format == "conllu":
        raise UsageError("CoNLL-U has no room for all labels: write them with --to jsonl or --to columns")
    if any(tell) and writer.format == "attributes":
        raise UsageError("behind attributes a confidence would be one more of them: leave --to attributes out")


def _rounded(values: np.ndarray) -> list[Any]:
    return np.round(values, 6).tolist()


def notes(offset: np.ndarray, found: Confidence, labels: list[str], tell: ConfidenceOutput) -> list[dict[str, Any]]:
    """All of it as plain JSON types, for each sentence."""
    made: list[dict[str, Any]] = [{} for _ in offset[1:]]
    cuts = list(pairwise(offset.tolist()))
    if tell.confidence:
        tokens = _rounded(found.tokens)
        for note, share, (a, b) in zip(made, found.sentences.tolist(), cuts, strict=True):
            note |= {ALL: float(f"{share:.6g}"), TOKENS: tokens[a:b]}
            if found.spans is not None:
                note[SPANS] = []
        if found.spans is not None:
            rows = zip(*(column.tolist() for column in found.spans[:3]), found.spans.type, strict=True)
            for (s, first, end, kind), share in zip(rows, _rounded(found.spans.share), strict=True):
                made[s][SPANS].append({"type": kind, "start": first, "end": end, ALL: share})
    if tell.marginals:
        assert found.marginals is not None
        tables = [dict(zip(labels, row, strict=True)) for row in _rounded(found.marginals)]
        for note, (a, b) in zip(made, cuts, strict=True):
            note[MARGINALS] = tables[a:b]
    return made


def cells(offset: np.ndarray, found: Confidence, labels: list[str], tell: ConfidenceOutput) -> list[list[str]]:
    """The further columns of each token."""
    made: list[list[str]] = [[] for _ in range(found.tokens.size)]
    if tell.confidence:
        for row, share in zip(made, found.tokens.tolist(), strict=True):
            row.append(f"{share:.6f}")
        if found.spans is not None:
            for row, text in zip(made, _of_spans(offset, found.spans), strict=True):
                row.append(text)
    if tell.marginals:
        assert found.marginals is not None
        for row, shares in zip(made, found.marginals.tolist(), strict=True):
            row += [f"{label}/{share:.6f}" for label, share in zip(labels, shares, strict=True)]
    return made


def _of_spans(offset: np.ndarray, spans: SpanShares) -> list[str]:
    """For each token the confidence of its span."""
    made = [NO_SPAN] * int(offset[-1])
    starts = offset[spans.sentence]
    for first, end, share in zip(
        (starts + spans.first).tolist(), (starts + spans.end).tolist(), spans.share.tolist(), strict=True
    ):
        made[first:end] = [f"{share:.6f}"] * (end - first)
    return made


def _misc(row: list[str]) -> str:
    names = ("Confidence", "SpanConfidence")
    return "|".join(f"{name}={value}" for name, value in zip(names, row, strict=False) if value != NO_SPAN)


def write_confidence(
    writer: Writer, corpus: Corpus, label_ids: np.ndarray, scores: np.ndarray, found: Confidence, tell: ConfidenceOutput
) -> bytes:
    """As `Writer.write`, with confidences."""
    labels, spans = writer.labels, found.spans is not None
    if writer.format == "jsonl":
        empty: dict[str, Any] = {ALL: 1.0, TOKENS: []} | ({SPANS: []} if spans else {}) if tell.confidence else {}
        empty |= {MARGINALS: []} if tell.marginals else {}
        made = writer.telling(labels, MARK, None, empty)
        return made.write(corpus, label_ids, scores, notes(corpus.offset, found, labels, tell))
    heads = [{ALL: share} for share in found.sentences.tolist()] if tell.confidence else None
    rows = cells(corpus.offset, found, labels, tell)
    names = [labels[k] for k in label_ids.tolist()]
    if writer.format == "conllu":
        return writer.telling(names, MARK, [_misc(row) for row in rows], {}).write(corpus, _each(names), scores, heads)
    between = _separator(corpus, writer)
    width = (1 + spans if tell.confidence else 0) + (len(labels) if tell.marginals else 0)
    texts = [between.join([name, *row]) for name, row in zip(names, rows, strict=True)]
    own = writer.telling(texts, between.join([MARK, *[NO_SPAN] * width]), None, {})
    return own.write(corpus, _each(texts), scores, heads)


def _each(texts: list[str]) -> np.ndarray:
    return np.arange(len(texts), dtype=np.int32)


def _separator(corpus: Corpus, writer: Writer) -> str:
    """What stands between the columns of the output: that of the input where its lines are written back."""
    pasted = corpus.lines is not None and corpus.lines.cut.size == corpus.n_tokens and writer.source == writer.format
    return chr(corpus.lines.separator) if pasted and corpus.lines and corpus.lines.separator else "\t"
