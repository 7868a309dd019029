"""Confidences of labels as cells and JSON records.

Columns: `--confidence` adds one column after the label, and for labels of spans two: the confidence of the token's
label, and that of the whole span that it belongs to (`-` outside of spans); a line `# confidence ...` before the
sentence has the confidence of all its labels together, `# confidence (not calibrated) ...` if the model is not
calibrated. CoNLL-U has them in its last field. `--marginals` adds `LABEL/number` after the label, for every label in
the model's order, as CRF++ does; alone, after a line `# confidence (not calibrated)` if the model is not. JSON lines
have all of it under names, and `calibrated`, which is true or false.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

NO_SPAN = "-"
CONFIDENCE, TOKENS, SPANS, MARGINALS = "confidence", "token_confidence", "span_confidence", "marginals"
CALIBRATED, NOT_CALIBRATED = "calibrated", "confidence (not calibrated)"


class SpanPosteriors(NamedTuple):
    """The spans of a corpus in their order, each with its posterior."""

    sentence: np.ndarray  # i64[K]
    first: np.ndarray  # i64[K]  token of the sentence
    end: np.ndarray  # i64[K]    the token after its last one
    type: list[str]
    posterior: np.ndarray  # f64[K]


class Confidence(NamedTuple):
    """Posteriors: the share of all allowed paths that have ..."""

    tokens: np.ndarray  # f64[N]     the label of this token here
    sentences: np.ndarray  # f64[S]  all labels of this sentence; empty: not asked for
    spans: SpanPosteriors | None  # this span here, neither longer nor shorter; None: not asked for, or no such labels
    marginals: np.ndarray | None  # f64[N, Y]  each label here; None: not asked for
    calibrated: bool = True  # whether these are probabilities

    @property
    def called(self) -> str:
        """The name of the figures."""
        return CONFIDENCE if self.calibrated else NOT_CALIBRATED


class ConfidenceOutput(NamedTuple):
    """Which confidences are written."""

    confidence: bool = False
    marginals: bool = False


NO_CONFIDENCE = ConfidenceOutput()


def _rounded(values: np.ndarray) -> list[Any]:
    return np.round(values, 6).tolist()


def confidence_records(
    offset: np.ndarray, found: Confidence, labels: Sequence[str], wanted: ConfidenceOutput
) -> list[dict[str, Any]]:
    """The confidences of each sentence as plain JSON types."""
    made: list[dict[str, Any]] = [{} for _ in offset[1:]]
    cuts = list(pairwise(offset.tolist()))
    if wanted.confidence:
        tokens = _rounded(found.tokens)
        for note, posterior, (a, b) in zip(made, found.sentences.tolist(), cuts, strict=True):
            note |= {CONFIDENCE: float(f"{posterior:.6g}"), TOKENS: tokens[a:b]}
            if found.spans is not None:
                note[SPANS] = []
        if found.spans is not None:
            rows = zip(*(column.tolist() for column in found.spans[:3]), found.spans.type, strict=True)
            for (s, first, end, kind), posterior in zip(rows, _rounded(found.spans.posterior), strict=True):
                made[s][SPANS].append({"type": kind, "start": first, "end": end, CONFIDENCE: posterior})
    if wanted.marginals:
        assert found.marginals is not None
        tables = [dict(zip(labels, row, strict=True)) for row in _rounded(found.marginals)]
        for note, (a, b) in zip(made, cuts, strict=True):
            note[MARGINALS] = tables[a:b]
    if any(wanted):
        for note in made:
            note[CALIBRATED] = found.calibrated
    return made


def empty_record(found: Confidence, wanted: ConfidenceOutput) -> dict[str, Any]:
    """The confidences of a sentence without tokens."""
    record: dict[str, Any] = {CONFIDENCE: 1.0, TOKENS: []} if wanted.confidence else {}
    if wanted.confidence and found.spans is not None:
        record[SPANS] = []
    return (
        record | ({MARGINALS: []} if wanted.marginals else {}) | ({CALIBRATED: found.calibrated} if any(wanted) else {})
    )


def n_cells(found: Confidence, labels: Sequence[str], wanted: ConfidenceOutput) -> int:
    """The number of columns that `confidence_cells` makes."""
    return (1 + (found.spans is not None) if wanted.confidence else 0) + (len(labels) if wanted.marginals else 0)


def confidence_cells(
    offset: np.ndarray, found: Confidence, labels: Sequence[str], wanted: ConfidenceOutput
) -> list[list[str]]:
    """The confidences of each token as columns."""
    made: list[list[str]] = [[] for _ in range(found.tokens.size)]
    if wanted.confidence:
        for row, posterior in zip(made, found.tokens.tolist(), strict=True):
            row.append(f"{posterior:.6f}")
        if found.spans is not None:
            for row, text in zip(made, _of_spans(offset, found.spans), strict=True):
                row.append(text)
    if wanted.marginals:
        assert found.marginals is not None
        for row, posteriors in zip(made, found.marginals.tolist(), strict=True):
            row += [f"{label}/{posterior:.6f}" for label, posterior in zip(labels, posteriors, strict=True)]
    return made


def _of_spans(offset: np.ndarray, spans: SpanPosteriors) -> list[str]:
    """The confidence of each token's span."""
    made = [NO_SPAN] * int(offset[-1])
    starts = offset[spans.sentence]
    for first, end, posterior in zip(
        (starts + spans.first).tolist(), (starts + spans.end).tolist(), spans.posterior.tolist(), strict=True
    ):
        made[first:end] = [f"{posterior:.6f}"] * (end - first)
    return made
