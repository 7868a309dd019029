"""The log of a training that runs now, in memory, for whoever watches it: records in order, and how it ended."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec

from palmette.serve.types import TrainingRecords

MOST_RECORDS = 100_000
PATIENCE = 0.25  # seconds between looks at the log


class TrainingLog:
    """Records of a training: any thread may append, any number of readers may look."""

    def __init__(self, about: Mapping[str, Any] | None = None) -> None:
        self.about = dict(about or {})
        self.records: list[dict[str, Any]] = []
        self.outcome: dict[str, Any] | None = None
        self._lock = threading.Lock()

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a record, such as those of `training_log_`."""
        with self._lock:
            if len(self.records) < MOST_RECORDS:
                self.records.append(dict(record))

    def finish(self, outcome: Mapping[str, Any] | None = None) -> None:
        """The training has ended."""
        self.outcome = dict(outcome or {})

    @property
    def finished(self) -> bool:
        return self.outcome is not None

    def after(self, first: int) -> TrainingRecords:
        """The records from number `first`, counted from 0."""
        with self._lock:
            rows = self.records[max(0, first) :]
            return TrainingRecords(
                records=rows, next=len(self.records), finished=self.finished, outcome=self.outcome, about=self.about
            )

    async def events(self, stopping: asyncio.Event) -> AsyncIterator[bytes]:
        """The records as server-sent events, until the training has ended or the server stops."""
        at = 0
        yield event("about", self.about)
        while not stopping.is_set():
            finished = self.finished
            found = self.after(at)
            at = found.next
            for record in found.records:
                yield event("record", record)
            if finished:
                yield event("finished", self.outcome)
                return
            try:
                await asyncio.wait_for(stopping.wait(), PATIENCE)
            except TimeoutError:
                continue


def event(name: str, data: Any) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode(data) + b"\n\n"
