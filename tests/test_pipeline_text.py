"""Plain text in parts: nothing is lost, parts are bounded, and sentences are not cut where that can be helped."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.data import TextSpec, column_of_strings
from palmette.errors import DataError
from palmette.pipeline import SplitText, empty_split
from palmette.pipeline.run import split_of_tokens, text_parts, text_pieces

BLOCK = 40


def full_stops(text: str) -> SplitText:
    """A splitter by definition: words at white space, sentences after words that end in a full stop."""
    spans = [match.span() for match in re.finditer(r"\S+", text)]
    if not spans:
        return empty_split(text)
    ends = [k + 1 for k, (_, b) in enumerate(spans) if text[b - 1] == "." and k + 1 < len(spans)]
    start, end = (np.array(side, np.int64) for side in zip(*spans, strict=True))
    marks = np.array([0, *ends, len(spans)], np.int64)
    forms = column_of_strings(text[a:b] for a, b in spans)
    words = np.arange(len(spans) + 1, dtype=np.int64)
    return SplitText(text, start, end, marks, words, forms, np.arange(marks.size - 1) == 0)


def parts(*pieces: str) -> list[tuple[str, bool]]:
    return [(part.text, part.continues) for part in text_parts(pieces, full_stops, BLOCK)]


@given(st.lists(st.text(st.sampled_from("ab. \n\u0301\u200d"), max_size=90)))
def test_parts_are_the_text_and_bounded(pieces: list[str]) -> None:
    found = parts(*pieces)
    assert "".join(text for text, _ in found) == "".join(pieces)
    assert all(text for text, _ in found)
    assert all(len(text) <= BLOCK + 1 + max(map(len, pieces)) for text, _ in found)


def test_a_part_ends_after_a_blank_line() -> None:
    assert parts("One two.\n\nThree. ", "Four.\n \t\nFive") == [
        ("One two.\n\n", False), ("Three. Four.\n \t\n", False), ("Five", False),
    ]  # fmt: skip


def test_white_space_after_a_blank_line_is_waited_for() -> None:
    assert parts("One.\n\n", "  \n Two.") == [("One.\n\n  \n ", False), ("Two.", False)]


def test_without_blank_lines_a_part_ends_before_the_last_sentence() -> None:
    text = "Aa bb cc. Dd ee ff. Gg hh ii jj kk ll mm nn oo. Pp."
    first, second = parts(text)
    assert first == ("Aa bb cc. Dd ee ff. ", False)
    assert second == ("Gg hh ii jj kk ll mm nn oo. Pp.", True)  # not a new paragraph


def test_a_sentence_longer_than_a_block_ends_at_a_line_end_at_white_space_or_anywhere() -> None:
    assert parts("a b\n" + "c d e f " * 5)[0][0] == "a b\n"
    assert parts("a " + "c" * 50)[0][0] == "a "
    assert [text for text, _ in parts("x" * 100)] == ["x" * 40, "x" * 40, "x" * 20]


def test_combining_marks_stay_with_their_letter() -> None:
    text = "x" * 38 + "e\u0301\u0302" + "y" * 10
    assert parts(text)[0][0] == "x" * 38


def test_bytes_that_are_no_text_are_reported_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"fine\n" * 30 + b"caf\xe9 here\n")
    with pytest.raises(DataError, match=r"bad\.txt:31: not UTF-8: byte 0xe9 at byte 4 of the line"):
        list(text_pieces(path, block=64))
    path.write_bytes("naïve".encode()[:3])
    with pytest.raises(DataError, match=r"bad\.txt:1: not UTF-8"):
        list(text_pieces(path))


def test_characters_cut_between_blocks_are_whole(tmp_path: Path) -> None:
    path, text = tmp_path / "text.txt", "日本語\r\nдела " * 50
    path.write_text(text, encoding="utf-8", newline="")
    assert "".join(text_pieces(path, block=7)) == text
    path.write_text("déjà", encoding="latin-1")
    assert "".join(text_pieces(path, TextSpec(encoding="latin-1"))) == "déjà"


def test_lines_of_tokens_are_sentences() -> None:
    found = split_of_tokens("Time flies .\r\n\n\tA  b\nc")
    found.check()
    assert found.tokens() == ["Time", "flies", ".", "A", "b", "c"]
    assert found.sentence.tolist() == [0, 3, 5, 6]
    assert found.paragraph.tolist() == [True, True, False]
    assert split_of_tokens(" \n\n").n_sentences == 0
