"""A correction session: the journal of a model, the pool to pick from, and its training in the background."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from palmette.data.files import check_apart, write_whole
from palmette.data.labels.schemes import Span as Chunk
from palmette.errors import DataError, UsageError
from palmette.lazy import loaded
from palmette.serve.correctable import Correctable
from palmette.serve.failure import Failure, StorageError
from palmette.serve.journal import ENDING, Journal
from palmette.serve.kinds import CORRECTED
from palmette.serve.pool import Picker
from palmette.serve.registry import Registry, Slot
from palmette.serve.retrain import Job, Retraining
from palmette.serve.served import Served
from palmette.serve.spans import labels_of_spans
from palmette.serve.types import Allowed, Correction, RetrainRequest, Saved


class CorrectionSession:
    """What is kept for one model."""

    def __init__(self, slot: Slot, registry: Registry) -> None:
        self.slot, self.registry = slot, registry
        self.kind_name = slot.served.kind
        self.kind: Correctable = loaded(CORRECTED[self.kind_name].corrections)()
        served, source = slot.served, registry.source
        self.folder = Path(source.corrections or os.path.dirname(served.path) or ".")
        self.journal = Journal(self.folder / f"{served.name}{ENDING}")
        self._check_files()
        files = registry.files[served.name]
        self.picker = Picker(self.kind, files.get("pool"), files.get("train"))
        self.retraining = Retraining(served.path, self._trained)

    def _check_files(self) -> None:
        """UsageError if corrections would be written over a file that the server reads."""
        source, written = self.registry.source, (self.journal.path, self.folder / self.kind.file(self.served, [])[0])
        for path in written:
            try:
                check_apart([path], [*source.files.values(), *source.models.values(), *source.helpers.values()])
            except UsageError as error:
                raise UsageError(
                    f"the corrections of {self.slot.served.name} are written to {path}, which the server reads: rename "
                    "that file, or keep corrections elsewhere by --corrections FOLDER"
                ) from error

    @property
    def served(self) -> Served:
        """The model that is there now; Failure if it is of another kind than its corrections."""
        served = self.slot.served
        if served.kind != self.kind_name:
            raise Failure(409, other_kind(served, self.kind_name))
        return served

    def in_labels(self, one: Correction, where: str) -> Correction:
        """A correction with labels if it has spans."""
        if one.spans is None:
            return one
        if one.labels:
            raise DataError(f"{where} has labels and spans: give one of them")
        chunks = [Chunk(span.label, span.start, span.end) for span in one.spans]
        labels: list[Allowed] = [*labels_of_spans(self.served, chunks, len(one.tokens), where)]
        return msgspec.structs.replace(one, spans=None, labels=labels)

    def check(self, given: list[Correction]) -> None:
        """DataError if corrections do not fit the model."""
        served = self.served
        for k, one in enumerate(given):
            self.kind.check(served, one, f"correction {k + 1}")

    def file(self) -> tuple[str, bytes]:
        """The name and the bytes of the corrections in the format of the training data."""
        return self.kind.file(self.served, self.journal.all())

    def save(self) -> Saved:
        """Write that file beside the journal."""
        name, data = self.file()
        try:
            with write_whole(self.folder / name, sync=True) as out:
                out.write(data)
        except DataError as error:
            raise StorageError(str(error)) from error
        return Saved(file=name, sentences=len(self.journal))

    @property
    def can_retrain(self) -> bool:
        """Whether the server has training data for the model, and the model can be trained further."""
        served = self.served
        return "train" in self.registry.files[served.name] and untrainable(served) is None

    def retrain(self, request: RetrainRequest) -> None:
        """Begin a training; Failure if it cannot be."""
        served = self.served
        files = self.registry.files[served.name]
        train, dev = files.get("train"), files.get("dev")
        if train is None:
            raise Failure(409, "the server has no training data: start it with --train FILE")
        refused = untrainable(served)
        if refused is not None:
            raise Failure(409, refused)
        replace = request.replace or ("always" if dev is None else "better")
        if replace == "better" and dev is None:
            raise Failure(409, "better is measured on development data: start the server with --dev FILE")
        corrections: list[Any] = self.journal.all()
        self.retraining.start(
            Job(
                model=served.path, kind=served.kind, train=train, dev=dev, corrections=corrections,
                weight=request.weight, helpers=dict(self.registry.source.helpers),
            ),
            replace,
        )  # fmt: skip

    def _trained(self) -> None:
        self.registry.refresh()

    def close(self) -> None:
        self.retraining.stop()


def other_kind(served: Served, before: str) -> str:
    """Why a model cannot be corrected that took the place of one of another kind."""
    return (
        f"{served.path} is a {served.kind} now, and the corrections of {served.name} are those of a {before}: put a "
        f"{before} there, or start the server again with another name for the {served.kind}, NAME=FILE"
    )


def uncorrectable(served: Served, session: CorrectionSession | None) -> str | None:
    """Why a model cannot be corrected; None if it can."""
    if session is not None:
        return None if session.kind_name == served.kind else other_kind(served, session.kind_name)
    if served.kind in CORRECTED:
        return f"{served.name} was not a {served.kind} when the server was started: start it again to correct the model"
    return (
        f"{served.name} is a {served.kind}: several models in one file, which are trained together from a treebank. "
        "Correct sentences in the treebank and run `palmette pipeline train` again, or serve and correct a tagger or a "
        "parser of its own."
    )


def untrainable(served: Served) -> str | None:
    """Why a model cannot be trained again here, whatever files the server has; None if it can."""
    if served.kind == "tagger" and served.estimator.model_.exact is not None:
        return (
            f"{served.name} is a model of another tool, which cannot be trained further. Its corrections are kept all "
            "the same: save them as a file and train a new model on it and on the data of the old one."
        )
    return None


def sessions_of(registry: Registry) -> dict[str, CorrectionSession]:
    """The sessions of all models that can be corrected."""
    found = {name: slot for name, slot in registry.slots.items() if slot.served.kind in CORRECTED}
    return {name: CorrectionSession(slot, registry) for name, slot in found.items()}
