"""The format of a file by its first lines, if its name does not show it.

Only what cannot be a sensible column file is recognised:

conllu      ten fields separated by TAB: words numbered 1, 2, ..., with ranges and empty nodes; HEAD a number or `_`; a
            last field that is `_` or has a `=`, unless DEPS is a number (CoNLL-X); lines before it that begin with `#`
jsonl       the first line is a JSON object that holds a list, and it is none of the next two
prodigy     ... with a string `text` and a list of objects `spans`, or `tokens` that are objects
doccano     ... with a string `text` (or `data`) and a list of [start, end, label] under `label` or `labels`, or
            `entities` that are objects with a `start_offset`
labelstudio a list of objects (`[{`) with `data` and `annotations`, `completions` or `predictions`, or with JSON-MIN's
            `annotation_id`
attributes  fields separated by TAB of which all but the first have a `=` or end in a number after a colon, and not as
            many on all lines, which columns would have to have

For columns, give `--format columns`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from palmette.data.files import FilePath, peek
from palmette.data.text import decoded_head
from palmette.errors import DataError

_ID = re.compile(rb"[0-9]+")
_OTHER_ID = re.compile(rb"[0-9]+[-.][0-9]+")
_HEAD = re.compile(rb"[0-9]+|_")
_ATTRIBUTE = re.compile(rb"[^=]+=.*|.+:[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?", re.DOTALL)
_LIST = re.compile(rb"\s*\[\s*\{\s*\"")
_DATA = re.compile(rb"\"data\"\s*:\s*\{")
_RESULTS = re.compile(rb"\"(?:annotations|completions|predictions)\"\s*:\s*\[")
_MINIMAL = re.compile(rb"\"annotation_id\"\s*:\s*[0-9]")
_MOST_LINES = 200
_FIELDS = 10

UNDECIDED = "undecided"


def format_by_content(path: FilePath, encoding: str) -> str | None:
    """The format, if the file is unmistakably that; None: it is something else. What is read of a pipe is kept for its
    reader."""
    try:
        head = peek(path, lambda data: recognised(decoded_head(data, encoding), ended=False) != UNDECIDED)
    except DataError:  # it is raised again when the file is read
        return None
    found = recognised(decoded_head(head, encoding), ended=True)
    return None if found == UNDECIDED else found


def lacks_attributes(path: FilePath, encoding: str) -> bool:
    """Whether a file that should have attributes has columns instead: spaces on all lines of its first sentence, and
    TABs on none."""
    try:
        head = decoded_head(peek(path, lambda data: b"\n\n" in decoded_head(data, encoding)), encoding)
    except DataError:  # it is raised again when the file is read
        return False
    lines = head.lstrip().partition(b"\n\n")[0].splitlines()
    return bool(lines) and all(b" " in line.strip() for line in lines) and b"\t" not in b"".join(lines)


def recognised(head: bytes, *, ended: bool) -> str | None:
    """The format of a file that begins so; UNDECIDED if more lines may show it. `ended`: this is all there is."""
    lines = head.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    last = lines.pop()
    if ended and last:
        lines.append(last)
    while lines and not lines[0].strip():
        lines.pop(0)
    if (lines[0] if lines else last).lstrip().startswith(b"{"):
        return _json(lines)
    if _LIST.match(head):
        return _tasks(head, ended)
    end = next((k for k, line in enumerate(lines) if not line.strip(b" \t")), None)
    complete = end is not None or ended or len(lines) > _MOST_LINES
    sentence = lines[:end][:_MOST_LINES]
    return _conllu(sentence, complete) or _attributes(sentence, complete)


def _json(lines: Sequence[bytes]) -> str | None:
    if not lines:
        return UNDECIDED
    import msgspec

    try:
        found = msgspec.json.decode(lines[0])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    return _annotated(found) or ("jsonl" if any(isinstance(value, list) for value in found.values()) else None)


def _annotated(found: dict[str, Any]) -> str | None:
    """prodigy or doccano, if a line is of that; tokens that are strings are those of JSON lines."""
    tokens = found.get("tokens")
    if not isinstance(found.get("text", found.get("data")), str) or _are(tokens, str):
        return None
    if "text" in found and (_are(found.get("spans"), dict) or _are(tokens, dict) or found.get("spans") == []):
        return "prodigy"
    labels = [row for key in ("label", "labels") if _are(found.get(key), list) for row in found[key]]
    triples = labels and all(len(row) == 3 and _are(row[:2], int) and isinstance(row[2], str) for row in labels)
    entities: Any = found.get("entities")
    if triples or (_are(entities, dict) and "start_offset" in entities[0]) or (entities == [] and "relations" in found):
        return "doccano"
    return None


def _are(items: Any, kind: type) -> bool:
    """Whether something is a list of items of a kind, at least one."""
    return isinstance(items, list) and bool(items) and all(isinstance(item, kind) for item in items)


def _tasks(head: bytes, ended: bool) -> str | None:
    """labelstudio, UNDECIDED, or None if the keys of its tasks do not come."""
    if _MINIMAL.search(head) or (_DATA.search(head) and _RESULTS.search(head)):
        return "labelstudio"
    return None if ended else UNDECIDED


def _conllu(lines: Sequence[bytes], complete: bool) -> str | None:
    """conllu, UNDECIDED, or None if these lines are nothing of the kind."""
    words = 0
    for line in lines:
        if line.startswith(b"#") and line.count(b"\t") != _FIELDS - 1:
            continue
        cells = line.split(b"\t")
        if len(cells) != _FIELDS:
            return None
        if _OTHER_ID.fullmatch(cells[0]):
            continue
        words += 1
        if not _ID.fullmatch(cells[0]) or len(cells[0]) > 9 or int(cells[0]) != words:
            return None
        misc = cells[9] == b"_" or b"=" in cells[9] or _ID.fullmatch(cells[8])
        if not misc or not _HEAD.fullmatch(cells[6]):
            return None
    if not complete:
        return UNDECIDED
    return "conllu" if words else None


def _attributes(lines: Sequence[bytes], complete: bool) -> str | None:
    sizes = set()
    for line in lines:
        _, *names = line.rstrip(b"\t").split(b"\t")
        if not names or not all(map(_ATTRIBUTE.fullmatch, names)):
            return None
        sizes.add(len(names))
    if len(sizes) > 1:
        return "attributes"
    return None if complete else UNDECIDED
