r"""White space between tokens, and how the MISC field of CoNLL-U writes it.

White space is what `str.isspace` says, as for the validator of Universal Dependencies: blanks, TAB, line ends, no-break
and other Unicode spaces. UDPipe writes it in MISC as `SpacesAfter`, `SpacesBefore` and `SpacesInToken`, with the
escapes \s \t \r \n \p (a bar) and \\. We add \uXXXX for all other white space, which would not be valid there as it is.
"""

from __future__ import annotations

import re

WHITE = re.compile(r"\s+")
_ESCAPES = {" ": r"\s", "\t": r"\t", "\r": r"\r", "\n": r"\n", "|": r"\p", "\\": r"\\"}
_PLAIN = {escape[1]: character for character, escape in _ESCAPES.items()}
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SPECIAL = re.compile(r"[\s|\\]")


def one_blank(token: str) -> str:
    """The form of a token that is one word: its text, with one blank where it has white space."""
    return WHITE.sub(" ", token)


def without_white(text: str) -> str:
    return WHITE.sub("", text)


def escaped(text: str) -> str:
    """A text as a value in MISC."""
    return _SPECIAL.sub(lambda found: _ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04x}", text)


def unescaped(value: str) -> str:
    """The text of a value in MISC; escapes that nobody knows stay as they are."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else _PLAIN.get(found[2], found[0]), value)
