"""The text of a treebank laid out in several ways, so that a splitter has met them all.

Treebanks tell where paragraphs begin at best. Users have text with a sentence per line, a paragraph per line, or lines
that are wrapped, and so has the raw text that pipelines are scored on. A splitter learns from the text as it is, and
from a copy in which each paragraph has one of the layouts.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from msgspec.structs import replace

from palmette.pipeline.split_text import BETWEEN_PARAGRAPHS, SplitText

_WIDTHS = 60, 100  # of wrapped lines
_SHARES = (0.3, 0.3, 0.2, 0.2)  # of paragraphs: as they are, wrapped, sentences per line, paragraphs per line
_PART = 30  # sentences: longer paragraphs are several in the copy


def relaid(split: SplitText, between: list[str]) -> SplitText:
    """A text with other white space between its tokens, T+1 strings."""
    tokens = split.tokens()
    size = np.array([len(token) for token in tokens], np.int64)
    gap = np.array([len(white) for white in between[:-1]], np.int64)
    end = np.cumsum(size + gap)
    pieces = [piece for pair in zip(between, tokens, strict=False) for piece in pair]
    return replace(split, text="".join([*pieces, between[-1]]), start=end - size, end=end)


def joined(splits: list[SplitText]) -> SplitText:
    """Texts one after the other, as paragraphs; of the same words again and again, whose forms are not kept."""
    step = np.cumsum([0, *(len(split.text) + len(BETWEEN_PARAGRAPHS) for split in splits)]).tolist()
    tokens = np.cumsum([0, *(split.n_tokens for split in splits)]).tolist()
    words = np.cumsum([0, *(split.n_words for split in splits)]).tolist()
    return replace(
        splits[0],
        text=BETWEEN_PARAGRAPHS.join(split.text for split in splits),
        start=np.concatenate([split.start + shift for split, shift in zip(splits, step, strict=False)]),
        end=np.concatenate([split.end + shift for split, shift in zip(splits, step, strict=False)]),
        sentence=_joined_offsets([split.sentence for split in splits], tokens),
        first_word=_joined_offsets([split.first_word for split in splits], words),
        paragraph=np.concatenate([split.paragraph for split in splits]),
    )


def _joined_offsets(offsets: list[np.ndarray], shifts: list[int]) -> np.ndarray:
    parts = [offset[1:] + shift for offset, shift in zip(offsets, shifts, strict=False)]
    return np.concatenate([np.zeros(1, np.int64), *parts])


def several_layouts(split: SplitText, seed: int) -> SplitText:
    """The text as it is, and a copy with each paragraph in one of the layouts."""
    rng = np.random.default_rng(seed)
    begins = split.paragraph.copy()
    begins[::_PART] = True
    copy = replace(split, paragraph=begins)
    first = split.sentence[:-1][begins].tolist()
    plain = split.between()
    for t in first[1:]:
        plain[t] = BETWEEN_PARAGRAPHS
    copy = relaid(copy, plain)
    ways = [plain, wrapped(copy, rng), sentence_lines(copy), paragraph_lines(copy)]
    mixed = plain[:1]
    bounds = pairwise([*first, split.n_tokens])
    for (a, b), way in zip(bounds, rng.choice(len(ways), len(first), p=_SHARES).tolist(), strict=True):
        mixed += ways[way][a + 1 : b + 1]
    return joined([split, relaid(copy, mixed)])


# The white space between tokens, T+1 strings


def wrapped(split: SplitText, rng: np.random.Generator, widths: tuple[int, int] = _WIDTHS) -> list[str]:
    """Lines of a width that is drawn for each paragraph."""
    between = split.between()
    tokens = split.tokens()
    size = [0] * (len(tokens) + 1)  # of what cannot be wrapped from a token on
    for t in range(len(tokens) - 1, -1, -1):
        size[t] = len(tokens[t]) + (0 if between[t + 1] else size[t + 1])
    width, column = int(rng.integers(*widths)), 0
    for t, token in enumerate(tokens):
        if "\n" in between[t]:
            width, column = int(rng.integers(*widths)), 0
        elif between[t] == " " and column + 1 + size[t] > width:
            between[t], column = "\n", 0
        else:
            column += len(between[t])
        column += len(token)
    return between


def sentence_lines(split: SplitText) -> list[str]:
    """A line for each sentence that white space separates from the one before."""
    between = split.between()
    for t in split.sentence[1:-1][~split.paragraph[1:]].tolist():
        between[t] = "\n" if between[t] else ""
    return between


def paragraph_lines(split: SplitText) -> list[str]:
    """A line for each paragraph."""
    between = split.between()
    for t in split.sentence[1:-1][split.paragraph[1:]].tolist():
        between[t] = "\n"
    return between
