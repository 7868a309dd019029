"""What the first lines of a column file may be instead: running text, a table with a header, or another separator.

They are read as told all the same, with a warning: only the user knows.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

from palmette.data.formats.spec import FormatSpec
from palmette.options.spelling import spelt

logger = logging.getLogger(__name__)
MOST = 20  # lines that are looked at
OF_SENTENCES = 3  # cells from which on a line may be a sentence
HEADERS = {
    "token", "tokens", "word", "words", "form", "text", "lemma", "pos", "tag", "tags", "upos", "xpos", "ner", "chunk",
    "label", "labels", "entity", "sentence", "sentence_id", "sent_id", "sentence#", "sentence_#", "id",
}  # fmt: skip


def looks_like_text(rows: Sequence[Sequence[str]]) -> bool:
    """Whether most lines end as sentences do; of columns only few tokens are the end of a sentence."""
    ends = [row[-1][-1] in ".!?…。！？" for row in rows if len(row) >= OF_SENTENCES and row[-1]]
    return len(ends) * 2 > len(rows) and sum(ends) * 2 > len(rows)


def text_hint(rows: Sequence[Sequence[str]]) -> str:
    """What to do about lines of different lengths that look like text; empty if they do not."""
    if not looks_like_text(rows):
        return ""
    return f"\n  the lines look like sentences; for text: {spelt(FormatSpec, 'format', 'text')}"


def warn_of_content(rows: Sequence[Sequence[str]], source: str, first_line: int) -> None:
    """Log what speaks against reading these lines as columns."""
    if looks_like_text(rows):
        text = spelt(FormatSpec, "format", "text")
        logger.warning("%s: the lines look like sentences and are read as one token each; for text: %s", source, text)
        return
    first = [cell.strip().lower().replace(" ", "_") for cell in rows[0]]
    if len(first) > 1 and len(rows) > 1 and all(cell in HEADERS for cell in first):
        logger.warning(
            "%s:%d: the first line looks like a header, and is read as a token: delete it (%s)",
            source, first_line, " ".join(rows[0]),
        )  # fmt: skip
    for name, character in (("comma", ","), ("semicolon", ";"), ("bar", "|")):
        counts = Counter(row[0].strip(character).count(character) for row in rows if len(row) == 1)
        if len(rows) > 1 and counts[0] == 0 and sum(counts.values()) == len(rows):
            logger.warning(
                "%s: the cells seem to be separated by %r: %s", source, character, spelt(FormatSpec, "separator", name)
            )
