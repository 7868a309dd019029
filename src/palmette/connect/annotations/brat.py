"""brat's standoff: the text in NAME.txt, its annotations in NAME.ann, a line each.

`T1 TAB Type 0 5 TAB text` is a span; pieces of a discontinuous one are separated by semicolons: `0 5;8 10`. All other
lines (relations, events, attributes, notes) are kept. Offsets are characters of the text file as it is: CR LF are two.
brat has no span over a line end: such a span is written in pieces, and pieces with only white space between them are
read as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from palmette.data.analysed import ACCEPT, At, Document, Pieces, TextSpan, joined_pieces
from palmette.data.notes import Notes
from palmette.errors import DataError

NAME = "brat"
_OFFSETS = re.compile(r"[0-9]{1,15} [0-9]{1,15}(?:;[0-9]{1,15} [0-9]{1,15})*")
_ID = re.compile(r"(?:[A-Za-z]+|#)[0-9]+\S*|\*")
_LINE_END = re.compile(r"\r\n|\r|\n")
_NOTE = "AnnotatorNotes"


def read_pair(text: str, annotations: str | None, file: str, name: str, notes: Notes) -> Document:
    """A document; `annotations` None: there is no such file. `file`: where the annotations are from."""
    spans: list[TextSpan] = []
    others: list[str] = []
    seen: set[str] = set()
    for number, line in enumerate(_LINE_END.split(annotations or ""), 1):
        at = At(file, number)
        if not line.strip():
            continue
        own, tab, rest = line.partition("\t")
        if not tab or not _ID.fullmatch(own):
            raise at.error(f"not an annotation: {line[:40]!r}", "expected an ID, a TAB and the annotation: T1 TAB ...")
        if own in seen and own != "*":
            raise at.error(f"the ID {own} comes twice")
        seen.add(own)
        if own[0] == "T":
            spans.append(_span(own, rest, text, at, notes))
        else:
            others.append(line)
    return Document(
        text, spans, answer=None if annotations is None else ACCEPT, name=name, format=NAME,
        kept={"lines": others} if others else {}, others=len(others), place=file,
    )  # fmt: skip


def _span(own: str, rest: str, text: str, at: At, notes: Notes) -> TextSpan:
    head, _, given = rest.partition("\t")
    label, _, offsets = head.partition(" ")
    if not label or not _OFFSETS.fullmatch(offsets):
        raise at.error(f"not a span: {rest[:40]!r}", "expected T1 TAB Type START END TAB text")
    pairs = [piece.split(" ") for piece in offsets.split(";")]
    pieces = [(int(start), int(end)) for start, end in pairs]
    if all(start <= end <= len(text) for start, end in pieces):
        found = " ".join(text[start:end] for start, end in pieces)
        if given and "".join(given.split()) != "".join(found.split()):
            notes.add("differs", at)
        pieces = list(joined_pieces(text, pieces))
    start, end = min(start for start, _ in pieces), max(end for _, end in pieces)
    return TextSpan(start, end, label, tuple(pieces) if len(pieces) > 1 else (), id=own)


def annotation_lines(document: Document) -> str:
    """The content of the annotation file."""
    return "".join(f"{line}\n" for line in _lines(document))


def _lines(document: Document) -> Iterator[str]:
    text, same = document.text, document.format == NAME
    used = {span.id for span in document.spans if same and _is_own(span)}
    free = (f"T{k}" for k in count(1) if f"T{k}" not in used)
    others = document.kept.get("lines", []) if same else []
    note = max((int(n) for line in others if (n := _note_number(line))), default=0)
    for span in document.spans:
        if re.search(r"\s", span.label) or not span.label:
            raise DataError(
                f"{document.place}: the label {span.label!r} cannot be written for brat, whose types have no spaces",
                hint="rename the label, or write another format",
            )
        own = span.id if same and _is_own(span) else next(free)
        pieces = _written_pieces(text, span)
        offsets = ";".join(f"{start} {end}" for start, end in pieces)
        covered = _LINE_END.sub(" ", " ".join(text[start:end] for start, end in pieces))
        yield f"{own}\t{span.label} {offsets}\t{covered}"
        if span.score is not None:
            note += 1
            yield f"#{note}\t{_NOTE} {own}\tscore {span.score:.6g}"
    yield from others


def _written_pieces(text: str, span: TextSpan) -> Pieces:
    return tuple(piece for start, end in span.pieces for piece in _without_line_ends(text, start, end))


def loses_edge(text: str, span: TextSpan) -> bool:
    """Whether a piece of a span begins or ends with a line end, which is left out."""
    for start, end in span.pieces:
        made = _without_line_ends(text, start, end)
        if (made[0][0], made[-1][1]) != (start, end):
            return True
    return False


def _is_own(span: TextSpan) -> bool:
    return isinstance(span.id, str) and span.id[:1] == "T" and _ID.fullmatch(span.id) is not None


def _note_number(line: str) -> str:
    found = re.match(r"#([0-9]{1,15})", line)
    return found[1] if found else ""


def _without_line_ends(text: str, start: int, end: int) -> Pieces:
    """The pieces of a stretch between its line ends; empty lines have none."""
    made = []
    at = start
    for found in _LINE_END.finditer(text, start, end):
        made.append((at, found.start()))
        at = found.end()
    made.append((at, end))
    return tuple(piece for piece in made if piece[0] < piece[1]) or ((start, end),)
