"""Chunk scores in the output formats of conlleval and seqeval, digit for digit.

The formulas repeat those of the originals in their order and scale (conlleval works in percent,
seqeval in fractions), because the rounding of a figure half way between two digits depends on its last bit.
"""

from __future__ import annotations

import numpy as np

from palmette.evaluation.spans import SpanCounts


def conlleval_text(counts: SpanCounts) -> str:
    """The output of conlleval.pl."""
    correct, guessed, gold = (int(which.sum()) for which in (counts.correct, counts.guessed, counts.gold))
    right, tokens = counts.tokens
    lines = [f"processed {tokens} tokens with {gold} phrases; found: {guessed} phrases; correct: {correct}."]
    if tokens:
        lines.append(f"accuracy: {100 * right / tokens:6.2f}%; {_conlleval_figures(correct, guessed, gold)}")
    for name, figures in counts.by_type().items():
        row = _conlleval_figures(figures.correct, figures.guessed, figures.gold)
        # The script drops a repeated name only if it is not empty: bare B and I get their line twice.
        times = 2 if name == "" and figures.gold and figures.guessed else 1
        lines += [f"{name:>17}: {row}  {figures.guessed}"] * times
    return "\n".join(lines) + "\n"


def _conlleval_figures(correct: int, guessed: int, gold: int) -> str:
    precision = 100 * correct / guessed if guessed else 0.0
    recall = 100 * correct / gold if gold else 0.0
    fb1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    return f"precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {fb1:6.2f}"


def seqeval_text(counts: SpanCounts, digits: int = 4) -> str:
    """The output of seqeval's classification_report, for lenient and for strict counts.

    If there is no chunk at all, seqeval raises an error; here the averages are 0.
    """
    # Without a type the name is "_", and it is sorted as such.
    rows = sorted((name or "_", each) for name, each in counts.by_type().items())
    correct = np.array([each.correct for _, each in rows], dtype=np.int64)
    guessed = np.array([each.guessed for _, each in rows], dtype=np.int64)
    gold = np.array([each.gold for _, each in rows], dtype=np.int64)
    width = max([len(name) for name, _ in rows] + [len("weighted avg"), digits])

    def line(name: str, values: tuple[float, ...], support: int) -> str:
        cells = "".join(f" {value:>9.{digits}f}" for value in values)
        return f"{name:>{width}s} {cells} {support:>9}"

    shares = _seqeval_shares(correct, guessed, gold)  # f64[3, K]
    whole = _seqeval_shares(correct.sum(keepdims=True), guessed.sum(keepdims=True), gold.sum(keepdims=True))
    macro = tuple(np.average(share) for share in shares) if rows else (0.0,) * 3
    weighted = tuple(np.average(share, weights=gold) for share in shares) if gold.sum() else (0.0,) * 3
    lines = ["".join([" " * (width + 1), *(f" {head:>9}" for head in _HEADS)]), ""]
    lines += [line(name, tuple(shares[:, k]), int(gold[k])) for k, (name, _) in enumerate(rows)] + [""]
    averages = {"micro avg": tuple(whole[:, 0]), "macro avg": macro, "weighted avg": weighted}
    lines += [line(name, values, int(gold.sum())) for name, values in averages.items()]
    return "\n".join(lines) + "\n"


_HEADS = ("precision", "recall", "f1-score", "support")


def _seqeval_shares(correct: np.ndarray, guessed: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Precision, recall and F1: f64[3, K]; 0 if the denominator is 0."""
    precision = correct / np.maximum(guessed, 1)
    recall = correct / np.maximum(gold, 1)
    both = precision + recall
    f1 = 2 * precision * recall / np.where(both == 0, 1, both)
    return np.stack([precision, recall, f1])
