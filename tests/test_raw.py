"""The tokeniser and the sentence splitter: what their documentation promises, and what must always hold."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.data import Writer, make_penn_quotes, parse_plain, parse_text, sentence_spans, token_spans
from palmette.errors import UsageError


def tokenise(text: str, *, penn_quotes: bool = False) -> list[str]:
    """The tokens of one sentence."""
    spans = token_spans(text)
    tokens = [text[a:b] for a, b in spans]
    return make_penn_quotes(text, tokens, spans) if penn_quotes else tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Time flies.", "Time flies ."),
        ("I don't, he won't; it's they're we've I'm I'd she'll",
         "I do n't , he wo n't ; it 's they 're we 've I 'm I 'd she 'll"),
        ("It’s John’s. He shouldn't've.", "It ’s John ’s . He should n't 've ."),
        ("I cannot. Cannot!", "I can not . Can not !"),
        ("the dogs' bowl, O'Neil rock'n'roll", "the dogs ' bowl , O'Neil rock'n'roll"),
        ("Pay $3.50, 1,000 or 5% at 10:30 on 12/25: -5 +3 .5 1/2 1990s 3rd",
         "Pay $ 3.50 , 1,000 or 5 % at 10:30 on 12/25 : -5 +3 .5 1/2 1990s 3rd"),
        ("in the '90s", "in the '90s"),
        ("Mr. Smith of the U.S. said, e.g., J. K. Rowling etc.",
         "Mr. Smith of the U.S. said , e.g. , J. K. Rowling etc."),
        ("See https://a.org/x?y=1,2#z, (www.b.com/c_(d)) or mail a.b+c@d-e.co.uk.",
         "See https://a.org/x?y=1,2#z , ( www.b.com/c_(d) ) or mail a.b+c@d-e.co.uk ."),
        ("Wait... what?! -- yes—no… AT&T's and/or hard-fought snake_case",
         "Wait ... what ? ! -- yes — no … AT&T 's and/or hard-fought snake_case"),
        ('"Hi," (he) [said] {now} `` q \'\'', "\" Hi , \" ( he ) [ said ] { now } `` q ''"),
        ("-LRB- 1\\/2 -RRB- n't 's", "-LRB- 1\\/2 -RRB- n't 's"),
        ("@me #tag 😀👍🏽 ok❤️.", "@me #tag 😀👍🏽 ok ❤️ ."),
        ("我爱北京。你呢？「好」", "我爱北京 。 你呢 ？ 「 好 」"),
        ("हिन्दी में, Straße naïve", "हिन्दी में , Straße naïve"),
        (" \t\u00a0 ", ""),
    ],
)  # fmt: skip
def test_documented_examples(text: str, tokens: str) -> None:
    assert tokenise(text) == tokens.split()


def test_penn_quotes() -> None:
    text = '"Hi," he said ("ok"). “Yes,” ‘no’ — it’s " spaced " and \'single\''
    tokens = "`` Hi , '' he said ( `` ok '' ) . `` Yes , '' ` no ' — it 's `` spaced '' and ` single '"
    assert tokenise(text, penn_quotes=True) == tokens.split()


PIECES = ["U.S.", "Mr.", "can't", "'s", "cannot", "1,000", "5", "...", "www.a", "a@b.c", "-LRB-", *"x)'\".-"]
texts = st.one_of(
    st.text(max_size=30),
    st.text("aAé1 .,'’\"-:/@#$%()&\\`n's\n!?。漢\u0301\u200d😀", max_size=30),
    st.lists(
        st.sampled_from(PIECES), max_size=6
    ).map("".join),
)  # fmt: skip


@settings(max_examples=500)
@given(texts)
def test_tokens_cover_the_text(text: str) -> None:
    spans = token_spans(text)
    assert all(a < b for a, b in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert "".join(text[a:b] for a, b in spans) == "".join(text.split())
    assert not any(c.isspace() for a, b in spans for c in text[a:b])


@settings(max_examples=500)
@given(texts)
def test_tokens_stay_tokens(text: str) -> None:
    """Text that is already tokenised comes out as it went in."""
    tokens = tokenise(text)
    assert tokenise(" ".join(tokens)) == tokens


@settings(max_examples=300)
@given(texts)
def test_sentences_cover_the_text(text: str) -> None:
    spans = list(sentence_spans(text))
    assert "".join("".join(text[a:b].split()) for a, b in spans) == "".join(text.split())
    assert all(text[a:b] and text[a:b] == text[a:b].strip() for a, b in spans)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Time flies. It does! Does it? Yes.", ["Time flies.", "It does!", "Does it?", "Yes."]),
        ("Dr. J. Smith went to the U.S. Senate. He won.", ["Dr. J. Smith went to the U.S. Senate.", "He won."]),
        ("He lives in the U.S. The end.", ["He lives in the U.S.", "The end."]),
        ("Acme Inc. said 3.5. See No. 5 etc. for more.", ["Acme Inc. said 3.5.", "See No. 5 etc. for more."]),
        ('"Really?" she asked. (So it was.) "Go!" He went.',
         ['"Really?" she asked.', "(So it was.)", '"Go!"', "He went."]),
        ("wrapped\nline. Next\none", ["wrapped\nline.", "Next\none"]),
        ("A title\n \nThe text... goes on... Then", ["A title", "The text... goes on...", "Then"]),
        ("我爱。你呢？好", ["我爱。", "你呢？", "好"]),
    ],
)  # fmt: skip
def test_sentences(text: str, sentences: list[str]) -> None:
    assert [text[a:b] for a, b in sentence_spans(text)] == sentences


def test_text_is_a_sentence_a_line() -> None:
    corpus = parse_text("It's me.\r\n \n\nÜ 漢\n".encode(), "f", 5)
    assert [corpus.sentence(s) for s in range(2)] == [[["It"], ["'s"], ["me"], ["."]], [["Ü"], ["漢"]]]
    assert corpus.line_of(0) == 5
    assert corpus.line_of(4) == 8
    out = Writer("text", None, ["X", "Y"]).write(corpus, np.array([0, 1, 0, 0, 1, 1]))
    assert out.decode() == "It\tX\n's\tY\nme\tX\n.\tX\n\nÜ\tY\n漢\tY\n\n"
    rows = Writer("text", "jsonl", ["X"], scores=True).write(corpus, np.zeros(6), np.array([1.0, 2.0]))
    first = json.loads(rows.splitlines()[0])
    assert first == {
        "text": "It's me.", "tokens": ["It", "'s", "me", "."], "offsets": [[0, 2], [2, 4], [5, 7], [7, 8]],
        "tags": ["X"] * 4, "score": 1.0,
    }  # fmt: skip


def test_plain_text_and_characters() -> None:
    corpus = parse_plain(b"One two.\nThree\nfour. Five", "f")
    assert [len(corpus.sentence(s)) for s in range(3)] == [3, 3, 1]
    assert [corpus.line_of(n) for n in (0, 3, 6)] == [1, 2, 3]
    characters = parse_text("我 爱\nab\n".encode(), "f", unit="char")
    assert [characters.sentence(s) for s in range(2)] == [[["我"], ["爱"]], [["a"], ["b"]]]
    assert characters.surface is not None
    assert characters.surface.span.tolist() == [[0, 1], [2, 3], [0, 1], [1, 2]]
    with pytest.raises(UsageError, match="unknown unit"):
        parse_text(b"a", "f", unit="letter")


def test_large_things() -> None:
    for word in ("é" * 500_000, "+-@" * 100_000, "a.b," * 100_000, "'s" * 100_000, "http://" * 50_000, "." * 10**6):
        assert "".join(tokenise(word)) == word
    assert parse_text(b"w " * 100_000, "f").n_tokens == 100_000
    assert parse_plain(b"W. " * 30_000 + b"\0", "f").n_tokens > 30_000
    assert parse_text(b"", "f").n_sentences == parse_plain(b"\n\n", "f").n_sentences == 0


@pytest.mark.corpus
def test_tokenised_penn_text_stays(corpora: Path) -> None:
    """The words of CoNLL-2000, joined by spaces, come back nearly all."""
    rows = (corpora / "conll2000" / "test.txt").read_text(encoding="utf-8").split("\n\n")[:1000]
    same = total = 0
    for sentence in rows:
        words = [row.split(" ")[0] for row in sentence.split("\n") if row]
        total += len(words)
        same += len(words) if tokenise(" ".join(words)) == words else 0
    assert same / total > 0.97
