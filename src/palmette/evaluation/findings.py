"""What a check of labelled data finds: plain records that become JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from palmette.display import drawn_by

KINDS = {
    "columns": "lines with more or fewer cells than the others",
    "cells": "odd cells",
    "trees": "sentences whose heads are not a tree",
    "spans": "annotations that training leaves out or moves",
    "tags": "ill-formed tag sequences",
    "once": "labels that occur once",
    "spelling": "labels that differ only in case or spelling",
    "conflicts": "equal sentences with different labels",
    "duplicates": "equal sentences with equal labels",
    "overlap": "sentences that other data has too",
    "labels": "labels that only other data has",
    "variation": "equal words in equal contexts with different labels",
    "noise": "doubtful labels, by cross-validation",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at. `line` counts from 1; None: the format has no lines. `details` depend on the kind."""

    kind: str
    file: str
    line: int | None
    message: str
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Overlap:
    """How many sentences of other data are in a file."""

    file: str
    sentences: int
    shared: int


@dataclass(frozen=True, slots=True)
class FileCheck:
    """What was found in one file. `counts` are complete; `findings` has the first ones of each kind only."""

    file: str
    format: str
    sentences: int
    tokens: int
    labels: int
    scheme: str | None  # the tag scheme that the labels are taken to be in
    counts: dict[str, int]
    findings: list[Finding]
    overlaps: list[Overlap]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of `palmette.check`."""

    files: list[FileCheck]

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not any(sum(one.counts.values()) for one in self.files)

    @property
    def findings(self) -> list[Finding]:
        """Those of all files."""
        return [finding for one in self.files for finding in one.findings]

    def to_dict(self) -> dict[str, Any]:
        """Everything as built-in types, for JSON."""
        return {"clean": self.clean, **asdict(self)}

    _repr_html_ = drawn_by("reports.notebook_scores:check")
