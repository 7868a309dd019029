"""What a training says, in the words that programs that read CRFsuite's log look for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from palmette.data.corpus import Corpus
from palmette.kernels.chain.forms import Chain
from palmette.structures.chain.data import allow_table, encode_corpus
from palmette.structures.chain.model import best_labels
from palmette.training.chain.request import TrainingData

STEPS = 50  # of the progress of feature generation


def shown(value: Any) -> str:
    """A parameter as the log has it."""
    return f"{value:f}" if isinstance(value, float) else str(int(value) if isinstance(value, bool) else value)


class Log:
    """Sends messages, and measures the time between them."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self.begun = self.lap = time.perf_counter()

    def say(self, *lines: str) -> None:
        """Send lines, each as a message."""
        for line in lines:
            self._say(f"{line}\n")

    def begin(self, text: str) -> None:
        """Send the first part of a line."""
        self._say(text)

    def seconds(self) -> str:
        """Seconds since the last call, or the start."""
        before, self.lap = self.lap, time.perf_counter()
        return f"{self.lap - before:.3f}"

    def parameters(self, title: str, names: Mapping[str, Any]) -> None:
        self.say(title, *(f"{name}: {shown(value)}" for name, value in names.items()))

    def features(self, values: Mapping[str, Any]) -> None:
        """The head of feature generation."""
        self.parameters("Feature generation", {"type": "CRF1d"} | _starting(values, "feature."))

    def generated(self, count: int) -> None:
        """Feature generation is over: its progress in one go, and what it found."""
        for step in range(STEPS + 1):
            self._say("." if step % 5 else str(step // 5))
        self.say("", f"Number of features: {count}", f"Seconds required: {self.seconds()}", "")

    def total(self) -> None:
        self.say(f"Total seconds required for training: {time.perf_counter() - self.begun:.3f}", "")


def _starting(values: Mapping[str, Any], head: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name.startswith(head)}


class Holdout:
    """A group that is tagged after each iteration, to report its scores."""

    def __init__(self, corpus: Corpus, problem: TrainingData) -> None:
        assert corpus.labels is not None
        self.names, self.gold, self.offset = problem.labels, corpus.labels.ids, corpus.offset
        free, allow = np.full(corpus.n_tokens, len(self.names), np.int32), allow_table(len(self.names))
        self.data = encode_corpus(corpus, None, problem.collected.feature_indexes, free, allow)

    def lines(self, chain: Chain) -> list[str]:
        """The scores of the weights as lines of the log."""
        guess, _ = best_labels(chain, self.data, restricted=False)
        Y, right = len(self.names), guess == self.gold
        match, model, ref = (np.bincount(rows, minlength=Y) for rows in (self.gold[right], guess, self.gold))
        lines, sums = ["Performance by label (#match, #model, #ref) (precision, recall, F1):"], np.zeros(3)
        for name, *counts in zip(self.names, match.tolist(), model.tolist(), ref.tolist(), strict=True):
            figures = "(******, ******, ******)"
            if counts[2]:
                scores = _scores(*counts)
                sums += scores
                figures = "({:.4f}, {:.4f}, {:.4f})".format(*scores)
            lines.append(f"    {name}: ({counts[0]}, {counts[1]}, {counts[2]}) {figures}")
        whole = np.logical_and.reduceat(right, self.offset[:-1])
        lines.append("Macro-average precision, recall, F1: ({:.6f}, {:.6f}, {:.6f})".format(*(sums / Y)))
        for what, correct in (("Item", right), ("Instance", whole)):
            lines.append(f"{what} accuracy: {correct.sum()} / {correct.size} ({correct.mean():.4f})")
        return lines


def _scores(match: int, model: int, ref: int) -> tuple[float, float, float]:
    """Precision, recall and F1."""
    precision, recall = match / model if model else 0.0, match / ref
    return precision, recall, 2 * precision * recall / (precision + recall) if match else 0.0
