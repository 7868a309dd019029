"""A `Trainer` that prints an iteration on a line: what `CRF(verbose=True)` shows."""

from __future__ import annotations

from typing import Any

from palmette.crfsuite.trainer import Trainer

WIDTHS = {"active": 7, "loss": 10}  # of figures that grow or shrink


class LinePerIterationTrainer(Trainer):
    """Prints a line per iteration, and at the end the scores of each label if there are development data."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        if self.verbose:
            print(_line(info), flush=True)

    def on_optimization_end(self, log: str) -> None:
        last = None if self.logparser is None else self.logparser.last_iteration
        if self.verbose and last and last.get("scores"):
            print("\n".join(_table(last["scores"])))
        super().on_optimization_end(log)


def _line(info: dict[str, Any]) -> str:
    """The figures of an iteration that its algorithm has."""
    parts = [f"Iter {info['num']:<4}", f"time={info['time']:.2f}", f"loss={info['loss']:<{WIDTHS['loss']}.2f}"]
    if "active_features" in info:
        parts.append(f"active={info['active_features']:<{WIDTHS['active']}}")
    if "avg_precision" in info:
        names = (("precision", "avg_precision"), ("recall", "avg_recall"), ("F1", "avg_f1"))
        parts += [f"{name}={info[key]:.3f}" for name, key in names]
        parts.append(f"acc(item/seq)={info['item_accuracy_float']:.3f} {info['instance_accuracy_float']:.3f}")
    if "feature_norm" in info:
        parts.append(f"feature_norm={info['feature_norm']:.2f}")
    return "  ".join(parts).rstrip()


def _table(scores: dict[str, Any]) -> list[str]:
    """Precision, recall, F1 and support of each label."""
    wide = max(len("label"), *map(len, scores))
    lines = [f"{'label':<{wide}}  precision  recall     F1  support"]
    for label in sorted(scores):
        one = scores[label]  # a label that is neither guessed nor there has no figures
        precision, recall, f1 = ("-" if x is None else f"{x:.3f}" for x in (one.precision, one.recall, one.f1))
        lines.append(f"{label:<{wide}}  {precision:>9}  {recall:>6}  {f1:>5}  {one.ref:>7}")
    rule = "-" * len(lines[0])
    return [rule, *lines, rule]
