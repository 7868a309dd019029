"""Text inside of SVG and HTML: escaped, and without characters that no such document may hold."""

from __future__ import annotations

import re
from html import escape

# What XML 1.0 excludes: control characters, lone surrogates, and the two that are no characters.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def text_of(text: object) -> str:
    """Text for an element or an attribute's value; what cannot be written is shown as U+FFFD."""
    return escape(_FORBIDDEN.sub("\ufffd", str(text)))
