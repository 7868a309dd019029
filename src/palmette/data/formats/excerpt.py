"""Single sentences of a corpus as text in the format that they were read from."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from palmette.data.corpus import Corpus
from palmette.kernels.io.columns import OTHER_LINE

_ENDS = {"jsonl": b"\n", "text": b"\n"}  # what follows a sentence; elsewhere a blank line does


def sentence_texts(corpus: Corpus, format: str) -> list[bytes]:
    """Each sentence with what ends it; comments, ranges and empty nodes are parts of their sentence."""
    end = _ENDS.get(format, b"\n\n")
    if corpus.surface is not None:
        return [" ".join(text.split("\n")).encode() + end for text in corpus.surface.sentences]
    lines = corpus.lines
    assert lines is not None
    data = lines.data.tobytes()
    own = format != "jsonl"  # an object without tokens is a line of no sentence there
    made = []
    for start, stop in pairwise(corpus.offset.tolist()):
        first, last = int(lines.tokens[start]), int(lines.tokens[stop - 1])
        while own and first > 0 and lines.kind[first - 1] == OTHER_LINE:
            first -= 1
        while own and last + 1 < lines.kind.size and lines.kind[last + 1] == OTHER_LINE:
            last += 1
        made.append(data[lines.start[first] : lines.end[last]].rstrip(b"\r") + end)
    return made


def noted(text: bytes, name: str, value: float, format: str) -> bytes:
    """The text of a sentence with a figure: a key of a JSON object, else a comment line before it."""
    if format == "jsonl":
        return msgspec.json.encode(msgspec.json.decode(text) | {name: round(value, 6)}) + b"\n"
    equals = "= " if format == "conllu" else ""
    return f"# {name} {equals}{value:.6g}\n".encode() + text
