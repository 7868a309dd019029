"""A correction session: the journal of a tagger, the pool to pick from, and its training in the background."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from palmette.data.files import write_whole
from palmette.errors import DataError
from palmette.serve.correction_data import ENDINGS, file_bytes, written_format
from palmette.serve.failure import Failure
from palmette.serve.journal import ENDING, Journal
from palmette.serve.pool import Picker
from palmette.serve.registry import Registry, Slot
from palmette.serve.retrain import Job, Retraining
from palmette.serve.types import Correction, RetrainRequest, Saved


class CorrectionSession:
    """What is kept for one tagger."""

    def __init__(self, slot: Slot, registry: Registry) -> None:
        self.slot, self.registry = slot, registry
        served, source = slot.served, registry.source
        self.folder = Path(source.corrections or os.path.dirname(served.path) or ".")
        self.journal = Journal(self.folder / f"{served.name}{ENDING}")
        self.picker = Picker(source.files.get("pool"), source.files.get("train"))
        self.retraining = Retraining(served.path, self._trained)

    def check(self, given: list[Correction]) -> None:
        """DataError if corrections do not fit the model."""
        served = self.slot.served
        labels = set(served.labels)
        for k, one in enumerate(given):
            where = f"correction {k + 1}"
            if len(one.tokens) != len(one.labels):
                raise DataError(f"{where} has {len(one.tokens)} tokens and {len(one.labels)} labels")
            if all(label is None for label in one.labels):
                raise DataError(f"{where} has no label: null is for tokens that nobody looked at")
            for label in one.labels:
                names = [label] if isinstance(label, str) else label if label is not None else []
                if label is not None and (not names or "" in names):
                    raise DataError(f"{where} has an empty label")
                strange = next((name for name in names if name not in labels), None)
                if strange is not None:
                    raise DataError(f"{where}: the model has no label {strange[:100]!r}")
            self._check_tokens(one, where)

    def _check_tokens(self, one: Correction, where: str) -> None:
        columns = self.slot.served.columns
        for i, token in enumerate(one.tokens):
            if not columns:
                if isinstance(token, str):
                    raise DataError(f"{where}, token {i + 1}: the model reads attributes, in a list or an object")
                continue
            cells = [token] if isinstance(token, str) else token
            if not isinstance(cells, list) or len(cells) != columns:
                raise DataError(f"{where}, token {i + 1}: {columns} columns are expected, as the model reads them")
            if any(not cell or "\t" in cell or "\n" in cell or "\r" in cell for cell in cells):
                raise DataError(f"{where}, token {i + 1}: a cell is empty, or has a TAB or line end")

    def file(self) -> tuple[str, bytes]:
        """The name and the bytes of the corrections in the format of the training data."""
        served = self.slot.served
        spec = written_format(served.estimator.model_.meta.get("reading"), not served.columns)
        name = f"{served.name}.corrections{ENDINGS[spec.format]}"
        if spec.format == "jsonl":
            name = f"{served.name}.corrected.jsonl"  # the journal has the other name
        return name, file_bytes(self.journal.all(), spec)

    def save(self) -> Saved:
        """Write that file beside the journal."""
        name, data = self.file()
        with write_whole(self.folder / name, sync=True) as out:
            out.write(data)
        return Saved(file=name, sentences=len(self.journal))

    def retrain(self, request: RetrainRequest) -> None:
        """Begin a training; Failure if it cannot be."""
        served, files = self.slot.served, self.registry.source.files
        train, dev = files.get("train"), files.get("dev")
        if train is None:
            raise Failure(409, "the server has no training data: start it with --train FILE")
        if served.estimator.model_.exact is not None:
            raise Failure(409, "a model of another tool cannot be trained further: train a new one on its data")
        replace = request.replace or ("always" if dev is None else "better")
        if replace == "better" and dev is None:
            raise Failure(409, "better is measured on development data: start the server with --dev FILE")
        corrections: list[Any] = self.journal.all()
        self.retraining.start(
            Job(model=served.path, train=train, dev=dev, corrections=corrections, weight=request.weight), replace
        )

    def _trained(self) -> None:
        self.registry.refresh()

    def close(self) -> None:
        self.retraining.stop()
        self.journal.close()


def sessions_of(registry: Registry) -> dict[str, CorrectionSession]:
    """The sessions of all taggers."""
    taggers = {name: slot for name, slot in registry.slots.items() if slot.served.kind == "tagger"}
    return {name: CorrectionSession(slot, registry) for name, slot in taggers.items()}
