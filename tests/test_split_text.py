"""Texts with their tokens: from treebanks, to CoNLL-U, and back."""

from __future__ import annotations

import io
import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.data import Treebank, column_of_strings, parse_treebank, treebank_from_sentences
from palmette.errors import DataError, UsageError
from palmette.pipeline import SplitText, conllu_bytes, empty_split, gold_split
from palmette.pipeline.split_text import escaped, one_blank, unescaped


def bank(text: str) -> Treebank:
    """A treebank from lines whose cells have blanks between them: number, form, MISC."""
    made = []
    for line in text.strip().split("\n"):
        cells = line.split(" ")
        plain = line.startswith("#") or not line
        made.append(line if plain else "\t".join([cells[0], cells[1].replace("~", " "), *"_" * 7, cells[2]]))
    return parse_treebank("".join(row + "\n" for row in [*made, ""]).encode(), "t.conllu", labelled=False)


ENGLISH = """
# newdoc id = a
# newpar
# sent_id = 1
# text = Don't go.
1-2 Don't _
1 Do _
2 n't _
3 go SpaceAfter=No
3.1 empty SpaceAfter=No
4 . _

# sent_id = 2
# text = Why?
1 Why SpaceAfter=No
2 ? _

# newpar
# text = "No."
1 " SpaceAfter=No
2 No SpaceAfter=No
3 . SpaceAfter=No
4 " SpaceAfter=No

# text = So what
1 So _
2 what _
"""


def test_the_text_of_a_treebank() -> None:
    split = gold_split(bank(ENGLISH))
    assert split.text == 'Don\'t go. Why?\n\n"No."So what'
    assert split.tokens() == ["Don't", "go", ".", "Why", "?", '"', "No", ".", '"', "So", "what"]
    assert split.sentence.tolist() == [0, 3, 5, 9, 11]
    assert split.offset.tolist() == [0, 4, 6, 10, 12]
    assert split.first_word.tolist() == [0, 2, *range(3, 13)]
    assert split.paragraph.tolist() == [True, False, True, False]
    assert split.forms.cells()[:4] == ["Do", "n't", "go", "."]
    split.check()


def test_white_space_that_is_given_exactly() -> None:
    split = gold_split(
        bank(r"""
# text = a b c d
1 a SpacesBefore=\s\t|SpacesAfter=\s\s
2 b Gloss=x|SpacesAfter=\r\n|SpaceAfter=No
3 c~d SpacesInToken=c\u00a0d|SpacesAfter=\n

# newpar
# text = e
1 e SpacesAfter=\p\s
""")
    )
    assert split.text == " \ta  b\r\nc\u00a0d\ne "  # what is not white space in SpacesAfter is not in the text
    assert split.tokens() == ["a", "b", "c\u00a0d", "e"]
    split.check()


def test_white_space_of_the_text_comment_counts() -> None:
    split = gold_split(bank("# text = a\u00a0b  c~d\n1 a _\n2 b SpaceAfter=No\n3 c~d _".replace("c~d\n1", "c  d\n1")))
    assert split.text == "a\u00a0b  c  d"
    assert split.tokens() == ["a", "b", "c  d"]
    assert split.forms.cells() == ["a", "b", "c d"]


def test_a_treebank_without_text_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        split = gold_split(bank("1 a SpaceAfter=No\n2 , _\n3 b _"))
    assert split.text == "a, b"
    assert "1 of 1 sentence have no `# text`" in caplog.text
    assert "t.conllu" in caplog.text


def test_a_treebank_from_python_has_blanks(caplog: pytest.LogCaptureFixture) -> None:
    split = gold_split(treebank_from_sentences([["a", "b"], ["c"]]))
    assert split.text == "a b c"
    assert "have no `# text`" in caplog.text


def test_a_text_that_is_not_that_of_the_tokens_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    split = gold_split(
        bank("# text = a b\n1 a _\n2 b _\n\n# text = a x\n1 a SpaceAfter=No\n2 b _\n\n# text = a b\n1 a _")
    )
    assert split.text == "a b ab a"
    assert "does not spell" in caplog.text
    assert "2 of 3 sentences" in caplog.text
    assert "line 6" in caplog.text


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ("1 a _\n1-2 ab _\n2 b _", "not before its first word"),
        ("1-2 ab _\n2-3 bc _\n1 a _\n2 b _\n3 c _", "overlaps"),
        ("1-3 ab _\n1 a _\n2 b _", "ends at word 3"),
    ],
)
def test_ranges_that_cannot_be(lines: str, what: str) -> None:
    with pytest.raises(DataError, match=what):
        gold_split(bank(lines))


def test_a_form_of_white_space_is_an_error() -> None:
    with pytest.raises(DataError, match="white space"):
        gold_split(bank("1 \u3000 _"))


# Any text: an arbitrary split of it is written and read

WHITE = [chr(c) for c in range(0x110000) if chr(c).isspace()]
MARKS = [*"ab.|\\_=#-\t'", "\u0301", "\u200d", "\x00", "\x07", "\U0001f600", "\ufeff", "e\u0301"]
texts = st.text(
    st.one_of(st.sampled_from(WHITE), st.sampled_from("".join(MARKS)), st.characters(exclude_categories=["Cs"])),
    max_size=40,
)


@st.composite
def splits(draw: st.DrawFn) -> SplitText:
    """A text, cut into tokens at random; some contain white space, some have several words."""
    text = draw(texts)
    spots = [i for i, c in enumerate(text) if not c.isspace()]
    if not spots:
        return empty_split(text)
    ends = [i for i in spots if draw(st.booleans())] + [spots[-1]]
    ends = sorted(set(ends))
    starts = [next(i for i in spots if i > before) for before in [-1, *ends[:-1]]]
    sizes, forms = [], []
    for a, b in zip(starts, ends, strict=True):
        sizes.append(draw(st.integers(1, 3)))
        forms += [one_blank(text[a : b + 1])] if sizes[-1] == 1 else ["x"] * sizes[-1]
    last = [draw(st.booleans()) for _ in ends[:-1]]
    sentence = [0, *(t + 1 for t, is_last in enumerate(last) if is_last), len(ends)]
    gap = [ends[t - 1] + 1 < starts[t] for t in sentence[1:-1]]
    return SplitText(
        text, np.array(starts), np.array(ends) + 1, np.array(sentence), np.cumsum([0, *sizes]),
        column_of_strings(forms), np.array([True, *(g and draw(st.booleans()) for g in gap)]),
    )  # fmt: skip


@given(splits())
def test_any_text_comes_back_from_conllu(split: SplitText) -> None:
    split.check()
    data = conllu_bytes(split, split.treebank())
    again = gold_split(parse_treebank(data, "t", labelled=False))
    assert again.text == (split.text if split.n_tokens else "")
    for name in ("start", "end", "sentence", "first_word", "paragraph"):
        assert np.array_equal(getattr(again, name), getattr(split, name)), name
    assert again.forms.cells() == split.forms.cells()
    again.check()


@given(splits())
def test_the_cells_of_conllu_are_clean(split: SplitText) -> None:
    """What the validator of Universal Dependencies asks of lines and cells."""
    lines = conllu_bytes(split, split.treebank()).decode().split("\n")
    assert lines.pop() == ""
    for line in lines:
        if line.startswith("#"):
            assert line == one_blank(line).strip()
        elif line:
            cells = line.split("\t")
            assert len(cells) == 10
            assert all(cell and cell == one_blank(cell).strip() for cell in cells)


@given(texts)
def test_escapes(text: str) -> None:
    assert unescaped(escaped(text)) == text
    assert not any(c.isspace() or c == "|" for c in escaped(text))


def test_escapes_are_those_of_udpipe() -> None:
    assert escaped(" \t\r\n|\\") == r"\s\t\r\n\p\\"
    assert escaped("\u00a0\u3000") == r"\u00a0\u3000"
    assert unescaped(r"\q\s") == r"\q "


def test_the_lines_of_a_text() -> None:
    split = gold_split(bank(ENGLISH))
    made = conllu_bytes(split, split.treebank(), first_sentence=7).decode().split("\n")
    assert made[:5] == [
        "# newpar", "# sent_id = 7", "# text = Don't go.", "1-2\tDon't" + "\t_" * 8, "1\tDo" + "\t_" * 8
    ]  # fmt: skip
    assert made[6:10] == ["3\tgo" + "\t_" * 7 + "\tSpaceAfter=No", "4\t." + "\t_" * 8, "", "# sent_id = 8"]
    assert "2\t?" + "\t_" * 7 + "\tSpacesAfter=\\n\\n" in made


def test_the_treebank_must_have_the_words() -> None:
    split = gold_split(bank(ENGLISH))
    with pytest.raises(UsageError, match="words of the text"):
        conllu_bytes(split, treebank_from_sentences([["a"]]))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"text": "ab c"}, "in no token"),
        ({"end": np.array([1, 2])}, "empty or overlap"),
        ({"start": np.array([0, 0])}, "empty or overlap"),
        ({"end": np.array([1, 4])}, "outside"),
        ({"sentence": np.array([0, 0, 2])}, "empty sentences"),
        ({"first_word": np.array([0, 2, 2])}, "without words"),
        ({"first_word": np.array([0, 2])}, "different lengths"),
        ({"paragraph": np.array([True])}, "paragraph"),
        ({"forms": column_of_strings(["a", "c"])}, "with the word"),
        ({"end": np.array([2, 3])}, "the token 'a '"),
        ({"text": "abx", "start": np.array([0, 1]), "paragraph": np.array([True, True])}, "white space before it"),
    ],
)
def test_texts_and_tokens_that_do_not_agree(change: dict[str, object], what: str) -> None:
    parts = {
        "text": "a b", "start": np.array([0, 2]), "end": np.array([1, 3]), "sentence": np.array([0, 1, 2]),
        "first_word": np.array([0, 1, 2]), "forms": column_of_strings(["a", "b"]), "paragraph": np.array([True, False]),
    }  # fmt: skip
    SplitText(**parts).check()  # type: ignore[arg-type]
    with pytest.raises(DataError, match=what):
        SplitText(**{**parts, **change}).check()  # type: ignore[arg-type]


@given(splits())
def test_the_official_scorer_reads_it(split: SplitText) -> None:
    from udtools import udeval

    if not split.n_tokens:
        return
    treebank = split.treebank()
    heads = np.concatenate([np.arange(n) for n in np.diff(split.offset)]).astype(np.int32)
    data = conllu_bytes(split, treebank.with_trees(heads, column_of_strings(["dep"] * split.n_words))).decode()
    read = udeval.load_conllu(io.StringIO(data, newline="\n"), "t", {})
    assert len(read.tokens) == split.n_tokens
    assert len(read.words) == split.n_words
    assert len(read.sentences) == split.n_sentences
