"""Annotated sentences as CoNLL-U, and as plain data for JSON and for tables of columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from palmette.data.formats.conllu_light import UNKNOWN, with_entity
from palmette.data.labels.schemes import Span, spans
from palmette.data.treebank import FIELDS, NOTHING, Treebank
from palmette.errors import UsageError
from palmette.pipeline.split_text import SplitText, escaped, one_blank

# A split text as CoNLL-U from which the exact text can be made again; `split_text.gold_split` reads it.
#
# White space that is not one blank is written in MISC as UDPipe does it (`split_text.py`). A text of white space only
# has no sentence to write it at, and gives no lines.


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
    if treebank.entities is not None:
        misc_of = [with_entity(cell, label) for cell, label in zip(misc_of, treebank.entities.cells(), strict=True)]
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


# Annotated sentences as plain data, for JSON and for tables of columns.


def features(text: str) -> dict[str, str]:
    """The cell FEATS by category."""
    return {} if text == NOTHING else dict(pair.partition("=")[::2] for pair in text.split("|"))


def plain_sentences(
    split: SplitText, treebank: Treebank, first: int = 0, last: int | None = None, *, shift: int = 0
) -> Iterator[dict[str, Any]]:
    """Sentences `first` to `last`: text, place, words, multi-word tokens if there are some, and entities. What is not
    known of a word is left out. `shift`: where the text begins, in a larger one that it is a part of."""
    text, marks = split.text, split.first_word
    for s in range(first, split.n_sentences if last is None else last):
        tokens = slice(int(split.sentence[s]), int(split.sentence[s + 1]))
        start, end = split.start[tokens].tolist(), split.end[tokens].tolist()
        ends = marks[tokens.start : tokens.stop + 1]
        own = (np.repeat(np.arange(len(start)), np.diff(ends))).tolist()  # the token of each word
        lo, hi = int(ends[0]), int(ends[-1])
        words = plain_words(treebank, lo, hi)
        for word, t, following in zip(words, own, [*own[1:], -1], strict=True):
            word["start"], word["end"] = shift + start[t], shift + end[t]
            if t == following or (end[t] < len(text) and not text[end[t]].isspace()):
                word["space_after"] = False
        made: dict[str, Any] = {
            "text": text[start[0] : end[-1]], "start": shift + start[0], "end": shift + end[-1], "words": words,
        }  # fmt: skip
        several = [t for t in range(len(start)) if ends[t + 1] - ends[t] > 1]
        if several:
            made["multiword"] = [
                {"text": text[start[t] : end[t]], "words": [int(ends[t]) - lo + 1, int(ends[t + 1]) - lo]}
                for t in several
            ]
        if treebank.entities is not None:
            made["entities"] = [
                {
                    "text": text[start[own[span.start]] : end[own[span.end - 1]]], "label": span.type,
                    "start": words[span.start]["start"], "end": words[span.end - 1]["end"],
                    "words": [span.start + 1, span.end],
                }
                for span in entity_spans(treebank, lo, hi)
            ]  # fmt: skip
        yield made


def entity_spans(treebank: Treebank, lo: int, hi: int) -> list[Span]:
    """Return the entities of words lo to hi, a sentence; places are words, counted from 0 in the sentence."""
    if treebank.entities is None:
        return []
    types = treebank.entities.types
    return spans([types[k] for k in treebank.entities.ids[lo:hi].tolist()], "IOB2")


def plain_words(treebank: Treebank, lo: int, hi: int) -> list[dict[str, Any]]:
    """Words as dictionaries of what is known of them."""
    words: list[dict[str, Any]] = [{"id": number} for number in range(1, hi - lo + 1)]
    for field in FIELDS:
        column = treebank.column(field)
        types = column.types
        for word, k in zip(words, column.ids[lo:hi].tolist(), strict=True):
            cell = types[k]
            if cell != NOTHING or field == "form" or (field == "lemma" and word["form"] == NOTHING):
                word[field] = features(cell) if field == "feats" else cell
    heads = treebank.heads[lo:hi].tolist()
    names = treebank.relations.types
    for word, head, k in zip(words, heads, treebank.relations.ids[lo:hi].tolist(), strict=True):
        if head != UNKNOWN:
            word["head"], word["deprel"] = head, names[k]
    return words


def column_lines(treebank: Treebank) -> Iterator[str]:
    """The words one per line, FIELDS, head, relation and the label of an entity if they are known, with TABs between
    them, a blank line after each sentence."""
    heads = [NOTHING if head == UNKNOWN else str(head) for head in treebank.heads.tolist()]
    columns = [*(treebank.column(field).cells() for field in FIELDS), heads, treebank.relations.cells()]
    if treebank.entities is not None:
        columns.append(treebank.entities.cells())
    rows = ["\t".join(cells) for cells in zip(*columns, strict=True)]
    for lo, hi in zip(treebank.offset[:-1].tolist(), treebank.offset[1:].tolist(), strict=True):
        yield from rows[lo:hi]
        yield ""
