"""Labels written back: into the text of the input, or in a simpler format made from its cells.

The outputs of each format are in its `Format`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.formats.confidence import NO_CONFIDENCE, Confidence, ConfidenceOutput
from palmette.data.formats.labelling import Labelling, check_labels
from palmette.data.formats.registry import load_format
from palmette.data.formats.spec import ANNOTATORS
from palmette.errors import UsageError
from palmette.options.spelling import argument


class Writer:
    """Writes corpora with predicted labels as bytes. It does not change, so several threads may use it.

    source: the format that was read. format: the format to write; None: the default for that source. scores: write
    the score of each sentence too: a line `# score ...` before it, or a key in JSON. confidence: likewise confidences.
    """

    def __init__(
        self,
        source: str,
        format: str | None,
        labels: Sequence[str],
        *,
        scores: bool = False,
        confidence: ConfidenceOutput = NO_CONFIDENCE,
    ) -> None:
        row = load_format(source)
        choices = row.outputs
        self.format = next(iter(choices)) if format in (None, "auto") else str(format)
        known = [*choices, *(name for name in ANNOTATORS if row.records is not None and name not in choices)]
        if self.format not in known:
            raise UsageError(f"from {source} one can write {', '.join(known)}, not {format}")
        if self.format not in choices:
            choices = load_format(self.format).outputs
        check_labels(labels, self.format)
        output = choices[self.format]
        wanted = {**confidence._asdict(), "scores": scores}
        for name, message in output.refuses.items():
            if wanted[name]:
                raise UsageError(f"{argument(name)}: {message} ({argument('output')})")
        self.labels, self.scores, self.confidence = list(labels), scores, confidence
        self._write = output.write
        self.opened = output.opened

    def write(
        self,
        corpus: Corpus,
        label_ids: np.ndarray,
        scores: np.ndarray | None = None,
        confidence: Confidence | None = None,
    ) -> bytes:
        """The text of a corpus with the labels i32[N] and, if the writer writes them, scores f64[S] and confidences."""
        if self.scores and scores is None:
            raise UsageError("scores are to be written, but none are given")
        ids = np.ascontiguousarray(label_ids, np.int32)
        return self._write(
            Labelling(corpus, ids, self.labels, scores if self.scores else None, confidence, self.confidence)
        )
