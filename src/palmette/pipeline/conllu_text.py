"""A split text as CoNLL-U from which the exact text can be made again; `split_text.gold_split` reads it.

White space that is not one blank is written in MISC as UDPipe does it (`white_space.py`). A text of white space only
has no sentence to write it at, and gives no lines.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from palmette.data.tree_checks import UNKNOWN
from palmette.data.treebank import FIELDS, NOTHING, Treebank
from palmette.errors import UsageError
from palmette.pipeline.split_text import SplitText
from palmette.pipeline.white_space import escaped, one_blank


def conllu_bytes(split: SplitText, treebank: Treebank, *, first_sentence: int = 1) -> bytes:
    """The sentences of a text with the tags, lemmas and trees of a treebank that has the same words. The comments
    `# sent_id` count from `first_sentence`."""
    if not np.array_equal(treebank.offset, split.offset):
        raise UsageError("conllu_bytes: the treebank does not have the words of the text")
    if not split.n_sentences:
        return b""
    tokens = split.tokens()
    lines = _lines(split, treebank, tokens, _misc(split, tokens))
    made: list[str] = []
    sentences = zip(pairwise(split.offset.tolist()), split.paragraph.tolist(), _texts(split), strict=True)
    for number, ((first, last), begins_paragraph, text) in enumerate(sentences, first_sentence):
        if begins_paragraph:
            made.append("# newpar")
        made += (f"# sent_id = {number}", f"# text = {text}", *lines[first:last], "")
    made.append("")
    return "\n".join(made).encode()


def _texts(split: SplitText) -> list[str]:
    """The text of each sentence in one line."""
    first, last = split.start[split.sentence[:-1]].tolist(), split.end[split.sentence[1:] - 1].tolist()
    return [one_blank(split.text[a:b]) for a, b in zip(first, last, strict=True)]


def _misc(split: SplitText, tokens: list[str]) -> list[str]:
    """The MISC cell of each token: the white space after it, before the first one, and inside."""
    before, *after = split.between()
    usual = {" ": NOTHING, "": "SpaceAfter=No"}
    cells = [usual.get(gap) or f"SpacesAfter={escaped(gap)}" for gap in after]
    # A blank before a paragraph, or at the end, is not what a reader would expect there.
    last = [*(split.sentence[:-1][split.paragraph] - 1).tolist(), split.n_tokens - 1]
    for t in last:
        if t >= 0 and after[t] == " ":
            cells[t] = r"SpacesAfter=\s"
    if before:
        cells[0] = _joined(f"SpacesBefore={escaped(before)}", cells[0])
    for t, token in enumerate(tokens):
        if len(token.split()) > 1 and token != one_blank(token):
            cells[t] = _joined(cells[t], f"SpacesInToken={escaped(token)}")
    return cells


def _joined(*entries: str) -> str:
    return "|".join(entry for entry in entries if entry != NOTHING)


def _lines(split: SplitText, treebank: Treebank, tokens: list[str], misc: list[str]) -> list[str]:
    """The line of each word, with the line of its multi-word token before the first word of it."""
    offset = split.offset
    number = np.arange(1, split.n_words + 1) - np.repeat(offset[:-1], np.diff(offset))
    names = list(map(str, range(int(number.max(initial=0)) + 1)))
    heads = [NOTHING, *names]
    size = np.diff(split.first_word)
    several = np.flatnonzero(size > 1)
    token_of = np.repeat(np.arange(split.n_tokens), size)
    misc_of = [misc[t] for t in token_of.tolist()]
    for word in np.flatnonzero(size[token_of] > 1).tolist():
        misc_of[word] = NOTHING
    columns = [
        [names[k] for k in number.tolist()],
        *(treebank.column(field).cells() for field in FIELDS),
        [heads[k] for k in (treebank.heads - UNKNOWN).tolist()],
        treebank.relations.cells(),
        [NOTHING] * split.n_words,
        misc_of,
    ]
    made = list(map("\t".join, zip(*columns, strict=True)))
    rest = "\t".join([NOTHING] * 7)
    for t in several.tolist():
        word = int(split.first_word[t])
        first = int(number[word])
        span = f"{first}-{first + int(size[t]) - 1}"
        made[word] = f"{span}\t{one_blank(tokens[t])}\t{rest}\t{misc[t]}\n{made[word]}"
    return made
