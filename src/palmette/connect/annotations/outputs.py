"""Labels written as annotators' files, from a corpus of any format that has words."""

from __future__ import annotations

from collections.abc import Callable

from palmette.connect.annotations.labelled import documents_of
from palmette.connect.annotations.sinks import SINKS, lines_of
from palmette.data.formats.format import Output
from palmette.data.formats.labelling import Labelling
from palmette.data.formats.spec import ANNOTATORS
from palmette.data.notes import Notes

_MARGINALS = "formats of annotators have no place for marginals: write jsonl"
_SCORES = "formats of annotators have no place for scores of sentences, but for confidences; write jsonl"
_CONFIDENCE = "doccano has no place for confidences: write prodigy, labelstudio, brat or jsonl"


def _writer(format: str) -> Callable[[Labelling], bytes]:
    def write(given: Labelling) -> bytes:
        notes = Notes()
        made = lines_of(documents_of(given, notes, whole=format == "brat"), format, notes)
        notes.log()
        return made

    return write


OUTPUTS = {
    format: Output(
        _writer(format),
        {"marginals": _MARGINALS, "scores": _SCORES, **({"confidence": _CONFIDENCE} if format == "doccano" else {})},
        SINKS[format],
    )
    for format in ANNOTATORS
}
