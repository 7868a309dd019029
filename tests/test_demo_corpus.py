"""The corpus that ships with the package is what its README says: consistent, varied, and ours in form."""

from __future__ import annotations

from collections import Counter

import pytest
from naive_classify import is_wellformed

from palmette.datasets import PARTS, demo_text, load_demo, load_trees, tree_text
from palmette.errors import UsageError
from palmette.parsing import projective_sentences

_TAGS = """CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH
VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB . , : $ `` '' ( ) #"""
PENN = set(_TAGS.split())
CHUNKS = {"NP", "VP", "PP", "ADVP", "ADJP", "SBAR", "PRT", "CONJP", "INTJ"}


@pytest.fixture(scope="module")
def sentences() -> list[list[tuple[str, str, str]]]:
    found = []
    for part in PARTS:
        for words, chunks in zip(*load_demo(part), strict=True):
            found.append([(word, pos, chunk) for (word, pos), chunk in zip(words, chunks, strict=True)])
    return found


def test_there_are_enough_sentences_and_none_twice(sentences: list) -> None:
    texts = Counter(" ".join(word for word, _, _ in sentence).lower() for sentence in sentences)
    assert len(sentences) >= 400
    assert max(texts.values()) == 1


def test_every_line_has_three_cells_and_known_tags(sentences: list) -> None:
    for sentence in sentences:
        for word, pos, chunk in sentence:
            assert word.strip() == word != ""
            assert pos in PENN
            assert chunk == "O" or (chunk[:2] in ("B-", "I-") and chunk[2:] in CHUNKS)


def test_chunks_are_wellformed(sentences: list) -> None:
    assert all(is_wellformed([chunk for _, _, chunk in sentence], "IOB2") for sentence in sentences)


def test_tags_and_chunks_agree(sentences: list) -> None:
    """What the scheme forces: determiners in noun phrases, modals in verb phrases (or outside, in questions)."""
    places = Counter((pos, chunk[2:] or "O") for sentence in sentences for _, pos, chunk in sentence)
    assert places["PRP$", "NP"] == sum(n for (pos, _), n in places.items() if pos == "PRP$")
    assert places["DT", "NP"] >= 0.97 * sum(n for (pos, _), n in places.items() if pos == "DT")
    modal = {chunk: n for (pos, chunk), n in places.items() if pos == "MD"}
    assert set(modal) <= {"VP", "O"}
    assert {chunk for (pos, chunk) in places if pos == "RP"} <= {"PRT", "VP", "ADVP"}


def test_sentences_are_varied(sentences: list) -> None:
    """No filled slots: hardly any two sentences share their sequence of tags or their first four words."""
    tags = Counter(" ".join(pos for _, pos, _ in sentence) for sentence in sentences)
    starts = Counter(" ".join(word for word, _, _ in sentence[:4]).lower() for sentence in sentences)
    assert sum(n for n in tags.values() if n > 1) <= 0.02 * len(sentences)
    assert max(starts.values()) <= 4
    assert len({len(sentence) for sentence in sentences}) >= 18


def test_an_unknown_part_is_an_error() -> None:
    with pytest.raises(UsageError, match="train, dev, test"):
        demo_text("training")


def test_the_small_treebank_has_what_its_readme_says() -> None:
    both = {part: load_trees(part) for part in ("train", "test")}
    assert {part: bank.n_sentences for part, bank in both.items()} == {"train": 48, "test": 12}
    assert sum(int((~projective_sentences(bank)).sum()) for bank in both.values()) == 4
    rows = [line.split("\t") for part in both for line in tree_text(part).splitlines() if "\t" in line]
    assert sum("-" in row[0] for row in rows) == 3
    assert sum("." in row[0] for row in rows) == 1
    assert {row[4] for row in rows if row[0].isdigit()} <= PENN
    texts = [line for part in both for line in tree_text(part).splitlines() if line.startswith("# text = ")]
    assert len(set(texts)) == 60
    with pytest.raises(UsageError, match="train, test"):
        load_trees("dev")
