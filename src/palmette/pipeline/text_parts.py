"""A text file of any size in parts that a pipeline can work on by themselves.

A part has a word, unless the text has none, so that no white space is lost. It ends after a blank line; where there
is none for a whole block, it ends before the last sentence that a splitter finds near the end of the block, or, if it
finds only one, at a line end, at white space, or anywhere.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from palmette.data.files import FilePath, shown
from palmette.data.text import PLAIN, UTF8, TextSpec, check_utf8, text_blocks
from palmette.pipeline.split_text import SplitText

BLOCK = 1 << 18
"""Bytes that are read at a time, and characters of a part, about."""

TAIL = 1 << 13  # characters in which the end of a sentence is looked for
MARGIN = 1 << 10  # characters before the end of a block that tell too little about sentences
_LONGEST_LINE = 1 << 40
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"  # which hold characters together


class TextPart(NamedTuple):
    """A part of a text; they follow each other without a gap."""

    text: str
    continues: bool  # whether it begins within a paragraph


def text_parts(pieces: Iterable[str], split: Callable[[str], SplitText], block: int = BLOCK) -> Iterator[TextPart]:
    """The parts of a text that comes in pieces."""
    continues, rest = False, ""
    for piece in pieces:
        rest += piece
        while True:
            cut, paragraph = paragraph_end(rest), True
            before = len(rest) - len(rest.lstrip())
            if not cut and len(rest.rstrip()) - before > block:
                cut, paragraph = sentence_end(rest[: before + block + 1], split), False
            if not cut:
                break
            yield TextPart(rest[:cut], continues)
            continues, rest = not paragraph, rest[cut:]
            if len(rest) <= block:
                break
    if rest:
        yield TextPart(rest, continues)


def text_pieces(path: FilePath, spec: TextSpec = PLAIN, block: int = BLOCK) -> Iterator[str]:
    """The text of a file, `-` for standard input, in pieces; DataError if it is not text. Lines may be as long as they
    like, since nothing waits for their end."""
    decoder = codecs.getincrementaldecoder(UTF8)()
    line = 1
    held = b""  # of a character that is not complete
    for piece in text_blocks(path, spec.replace(max_line=_LONGEST_LINE), block):
        try:
            text = decoder.decode(piece)
        except UnicodeDecodeError:
            check_utf8(held + piece, shown(path), line)
            raise
        held = decoder.getstate()[0]
        line += text.count("\n")
        if text:
            yield text
    check_utf8(held, shown(path), line)


def paragraph_end(text: str) -> int:
    """The position after the last blank line between words; 0: nowhere."""
    begin, at = len(text) - len(text.lstrip()), len(text.rstrip())
    found = 0
    low = text.rfind("\n\n", begin, at)
    for match in _BLANK_LINE.finditer(text, max(low, begin)):
        if match.end() <= at:
            found = match.end()
    return found


def sentence_end(text: str, split: Callable[[str], SplitText]) -> int:
    """A position in a long text where a sentence ends, or else one that does least harm."""
    low = max(0, len(text) - TAIL)
    found = split(text[low:])
    if found.n_sentences > 1:
        starts = found.start[found.sentence[1:-1]]
        early = starts[starts <= len(text) - low - MARGIN]
        return low + int(early[-1] if early.size else starts[-1])
    for wanted in (r".*\n", r".*\s"):
        match = re.compile(wanted, re.DOTALL).match(text, low)
        if match and text[: match.end()].strip():
            return match.end()
    at = len(text) - 1
    while at > low + 1 and (unicodedata.combining(text[at]) or text[at] in _JOINERS or text[at - 1] == "\u200d"):
        at -= 1
    return at
