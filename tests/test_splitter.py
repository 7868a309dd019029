"""Splitting plain text: units, layouts, multi-word tokens, blocks, and what is learnt from made-up treebanks."""

from __future__ import annotations

import logging
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.data import Treebank, parse_treebank, read_treebank
from palmette.errors import DataError, ModelError, UsageError
from palmette.pipeline import SplitText, conllu_bytes, gold_split
from palmette.pipeline.multiword import AffixRule, MultiwordTokens, _Affixes, rules_of
from palmette.pipeline.splitter import (
    BIASES,
    MOST_CHARACTERS,
    MOST_TOKENS,
    Splitter,
    paragraph_lines,
    relaid,
    sentence_f1,
    sentence_lines,
    several_layouts,
    wrapped,
)
from palmette.pipeline.units import GAPS, LONGEST, Capitals, UnitRule, cells_of, codes_of, learn_units, read_units

# A treebank from sentences of (token, words, space after)

Token = tuple[str, tuple[str, ...], bool]


def treebank(sentences: list[list[Token]], newpar: int = 7) -> Treebank:
    lines = []
    for s, sentence in enumerate(sentences):
        if s % newpar == 0:
            lines.append("# newpar")
        lines.append("# text = " + "".join(token + " " * space for token, _, space in sentence).strip())
        n = 1
        for token, words, space in sentence:
            misc = "_" if space else "SpaceAfter=No"
            if len(words) > 1:
                lines.append("\t".join([f"{n}-{n + len(words) - 1}", token, *"_" * 7, misc]))
            for word in words:
                lines.append("\t".join([str(n), word, *"_" * 7, misc if len(words) == 1 else "_"]))
                n += 1
        lines.append("")
    return parse_treebank("".join(line + "\n" for line in lines).encode(), "made.conllu", labelled=False)


NOUNS = ["house", "tree", "river", "stone", "bird", "table", "window", "garden", "road", "cloud", "lamp", "wolf"]
NAMES = ["Smith", "Brown", "Miller", "Baker", "Fisher", "Turner"]
VERBS = ["sees", "takes", "finds", "likes", "breaks", "moves"]
CLITICS = ["could", "would", "should", "did", "does", "is", "was", "had"]


def english(n: int, seed: int) -> list[list[Token]]:
    """Sentences such as `Dr. Smith couldn't see the house.`"""
    rng = random.Random(seed)
    made = []
    for _ in range(n):
        name = rng.choice(NAMES)
        start = rng.choice([["The", rng.choice(NOUNS)], [name], ["Dr.", name], ["Mr.", name]])
        verb = rng.choice([[rng.choice(VERBS)], [rng.choice(CLITICS) + "n't", "see"], [rng.choice(VERBS)]])
        tokens = [*start, *verb, rng.choice(["the", "a"]), rng.choice(NOUNS)]
        if rng.random() < 0.3:
            tokens += [",", "and", rng.choice(["Dr.", "Mr."]), rng.choice(NAMES)]
        tokens.append(rng.choice([".", ".", "!", "?"]))
        glued = {",", ".", "!", "?"}
        made.append(
            [
                (t, (t[:-3], "n't") if t.endswith("n't") else (t,), following not in glued)
                for t, following in zip(tokens, [*tokens[1:], ""], strict=True)
            ]
        )
    return made


@pytest.fixture(scope="module")
def splitter() -> Splitter:
    return Splitter().fit(treebank(english(400, 1)))


def f1(found: SplitText, gold: SplitText, what: str) -> float:
    """Of tokens or sentences by their places."""

    def spans(split: SplitText) -> set[tuple[int, int]]:
        if what == "tokens":
            return set(zip(split.start.tolist(), split.end.tolist(), strict=True))
        first, last = split.start[split.sentence[:-1]], split.end[split.sentence[1:] - 1]
        return set(zip(first.tolist(), last.tolist(), strict=True))

    a, b = spans(found), spans(gold)
    return 2 * len(a & b) / (len(a) + len(b))


def test_new_text_is_split_as_the_treebank_shows(splitter: Splitter) -> None:
    gold = gold_split(treebank(english(100, 2)))
    found = splitter.split(gold.text)
    found.check()
    assert f1(found, gold, "tokens") == 1
    assert f1(found, gold, "sentences") == 1
    assert found.forms.cells() == gold.forms.cells()
    assert found.paragraph.tolist() == gold.paragraph.tolist()


@pytest.mark.parametrize("layout", [sentence_lines, paragraph_lines, lambda g: wrapped(g, np.random.default_rng(3))])
def test_all_layouts_are_understood(splitter: Splitter, layout: object) -> None:
    gold = gold_split(treebank(english(100, 2)))
    gold = relaid(gold, layout(gold))  # type: ignore[operator]
    found = splitter.split(gold.text)
    assert f1(found, gold, "tokens") == 1
    assert f1(found, gold, "sentences") > 0.95


def test_an_unseen_multiword_token_is_cut_by_its_ending(splitter: Splitter) -> None:
    found = splitter.split("The wolf needn't see COULDN'T.")
    assert found.tokens() == ["The", "wolf", "needn't", "see", "COULDN'T", "."]
    assert found.forms.cells() == ["The", "wolf", "need", "n't", "see", "COULD", "N'T", "."]


def test_a_splitter_must_be_trained() -> None:
    with pytest.raises(UsageError, match="not trained yet"):
        Splitter().split("a")


def test_nothing_to_learn_from() -> None:
    with pytest.raises(DataError, match="no sentence"):
        Splitter().fit(parse_treebank(b"# nothing\n", "t", labelled=False))


@pytest.mark.parametrize("text", ["", " ", "\n\n\t\u3000"])
def test_a_text_without_tokens(splitter: Splitter, text: str) -> None:
    found = splitter.split(text)
    assert found.text == text
    assert (found.n_sentences, found.n_tokens, found.n_words) == (0, 0, 0)
    assert conllu_bytes(found, found.treebank()) == b""


def test_half_a_surrogate_pair_is_an_error(splitter: Splitter) -> None:
    with pytest.raises(DataError, match="surrogate"):
        splitter.split("a \ud800")


letters = st.sampled_from("abT .,!?'\n\r\t\u00a0\u3000\x00\x85\u2028\u200d\u0301-=1\U0001f600\u4e2d\u0e01")


@given(
    st.text(st.one_of(letters, st.characters(exclude_categories=["Cs"])), max_size=60), st.sampled_from([1, 9, 10**6])
)
def test_any_text_gives_words_that_spell_it(splitter: Splitter, text: str, block: int) -> None:
    found = splitter.split(text, block=block)
    found.check()
    assert found.text == text
    again = gold_split(parse_treebank(conllu_bytes(found, found.treebank()), "t", labelled=False))
    assert again.text == (text if text.strip() else "")
    assert again.forms.cells() == found.forms.cells()


# Scripts without spaces


def test_words_without_spaces() -> None:
    """A made-up lexicon of words over 40 characters, each sentence without any blank."""
    rng = random.Random(4)
    characters = [chr(0x4E00 + 7 * k) for k in range(40)]
    lexicon = sorted({"".join(rng.choices(characters, k=rng.choice([1, 2, 2, 3]))) for _ in range(150)})

    def sentences(n: int) -> list[list[Token]]:
        rows = [[*rng.choices(lexicon, k=rng.randint(4, 12)), "\u3002"] for _ in range(n)]
        return [[(word, (word,), False) for word in row] for row in rows]

    learnt = Splitter().fit(treebank(sentences(600), newpar=10**6))
    gold = gold_split(treebank(sentences(60), newpar=10**6))
    found = learnt.split(gold.text)
    assert " " not in gold.text
    assert f1(found, gold, "tokens") > 0.9
    assert f1(found, gold, "sentences") == 1


def test_sentences_without_blanks_between_them_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    rows: list[list[Token]] = [[("ab", ("ab",), True), (".", (".",), False)]] * 3
    with caplog.at_level(logging.WARNING):
        Splitter().fit(treebank(rows, newpar=10**6))
    assert "never a blank between sentences" in caplog.text


def test_words_with_blanks_inside() -> None:
    """As in Vietnamese: some pairs of syllables are one word."""
    rng = random.Random(5)
    pairs, single = ["ba na", "co di", "em ga"], ["hu", "ki", "lo"]
    rows = [[(w, (w,), True) for w in [*rng.choices(pairs + single, k=6), "."]] for _ in range(150)]
    learnt = Splitter().fit(treebank(rows))
    found = learnt.split("hu ba\u00a0na lo co  di .")
    assert found.tokens() == ["hu", "ba\u00a0na", "lo", "co  di", "."]
    assert found.forms.cells() == ["hu", "ba na", "lo", "co di", "."]


# Blocks


def test_blocks_do_not_matter(splitter: Splitter) -> None:
    gold = gold_split(treebank(english(1500, 6), newpar=10**6))
    assert "\n" not in gold.text
    whole = splitter.split(gold.text)
    for block in (3000, 4321, 20000):
        parts = splitter.split(gold.text, block=block)
        for name in ("start", "end", "sentence", "first_word", "paragraph"):
            assert np.array_equal(getattr(parts, name), getattr(whole, name)), (block, name)


def test_blocks_end_after_blank_lines(splitter: Splitter) -> None:
    gold = gold_split(treebank(english(300, 7)))
    whole, parts = splitter.split(gold.text), splitter.split(gold.text, block=500)
    assert np.array_equal(parts.sentence, whole.sentence)
    assert np.array_equal(parts.paragraph, whole.paragraph)


@pytest.mark.parametrize("text", ["a" * 3000, "-=" * 3000, "x, " * 3000, "\n" * 3000 + "a", "a" + " " * 3000 + "\n\nb"])
def test_strange_texts(splitter: Splitter, text: str) -> None:
    for block in (100, 2500, 10**6):
        found = splitter.split(text, block=block)
        found.check()
        assert (found.end - found.start).max() <= MOST_CHARACTERS
        assert np.diff(found.sentence).max() <= MOST_TOKENS


# Units, and a naive version of them

WORDS = UnitRule([("LATIN", "9")], ["CJK"], {"cannot": (3,)})


def naive_units(text: str) -> list[str]:
    """By WORDS: Latin letters stand together, with a digit after them too; so do equal marks, but not Chinese."""
    units: list[str] = []
    before = " "
    for c in text:
        kind = " " if c.isspace() else "L" if c.isascii() and c.isalpha() else "9" if c.isdigit() else c
        if c == "\u0301" and before != " ":
            units[-1] += c
            continue
        if kind != " ":
            joins = (kind == before and kind != "\u4e2d") or (before, kind) == ("L", "9")
            if joins:
                units[-1] += c
            else:
                units.append(c)
        before = kind
    return [part for unit in units for part in (["can", "not"] if unit == "cannot" else [unit])]


@given(
    st.lists(st.sampled_from(["a", "B", "7", ".", "\u4e2d", " ", "\n", "cannot", "'", "\u0301"]), max_size=30).map(
        "".join
    )
)
def test_units(text: str) -> None:
    codes = codes_of(text)
    units = WORDS.units(codes, cells_of(text, codes))
    found = [text[a:b] for a, b in zip(units.start.tolist(), units.end.tolist(), strict=True)]
    assert found == naive_units(text) == units.cells.cells()


def test_marks_and_joined_emoji_stay_together() -> None:
    text = "e\u0301a \U0001f469\u200d\U0001f680! \U0001f44d\U0001f3fd\U0001f1eb\U0001f1f7"
    codes = codes_of(text)
    units = WORDS.units(codes, cells_of(text, codes)).cells.cells()
    assert units[:3] == ["e\u0301a", "\U0001f469\u200d\U0001f680", "!"]
    assert units[3:] == ["\U0001f44d\U0001f3fd", "\U0001f1eb\U0001f1f7"]


def test_long_units_are_cut() -> None:
    text = "a" * (2 * LONGEST + 1)
    codes = codes_of(text)
    units = WORDS.units(codes, cells_of(text, codes))
    assert (units.end - units.start).tolist() == [LONGEST, LONGEST, 1]


def test_units_are_learnt_from_what_the_treebank_cuts() -> None:
    rows: list[list[Token]] = [
        [("can", ("can",), False), ("not", ("not",), True), ("4", ("4",), False), ("g", ("g",), True)]
    ]
    chinese: list[Token] = [(c, (c,), False) for c in "\u4e2d\u6587"]
    rule = learn_units(gold_split(treebank([*rows * 40, chinese * 40, [("plainword", ("plainword",), True)] * 100])))
    assert rule.cuts == {"cannot": (3,)}
    assert rule.apart == {"CJK"}
    assert rule.together == set()


def naive_gaps(text: str) -> list[str]:
    """What follows each word of lower-case letters, from the definition."""
    made: list[str] = []
    for paragraph in text.split("\n\n"):
        lines = [line.split(" ") for line in paragraph.split("\n")]
        widest = max(len(" ".join(line)) for line in lines)
        for number, line in enumerate(lines):
            made += ["_"] * (len(line) - 1)
            if number + 1 < len(lines):
                full = len(" ".join(line)) + 1 + len(lines[number + 1][0]) > widest
                made.append("n" if full and 40 <= widest <= 200 else "N")
            else:
                made.append("")
    return made


words = st.integers(1, 30).map(lambda n: "a" * n)
line = st.lists(words, min_size=1, max_size=6).map(" ".join)
paragraph = st.lists(line, min_size=1, max_size=5).map("\n".join)


@given(st.lists(paragraph, min_size=1, max_size=3).map("\n\n".join))
def test_gaps(text: str) -> None:
    read = read_units(text, WORDS, Capitals([], []))
    found = read.corpus.columns[1].cells()
    expected = naive_gaps(text)
    assert len(found) == len(expected)
    ends = set((read.corpus.offset[1:] - 1).tolist())
    assert [g for k, g in enumerate(found) if k not in ends] == [g for k, g in enumerate(expected) if k not in ends]
    assert read.corpus.n_sentences == text.count("\n\n") + 1
    assert set(found) <= set(GAPS)


def test_line_ends_of_other_systems() -> None:
    for mark in ("\n", "\r\n", "\r", "\u2028"):
        read = read_units(f"a{mark}b{mark} {mark}c", WORDS, Capitals([], []))
        assert read.corpus.offset.tolist() == [0, 2, 3]
        assert read.corpus.columns[1].cells()[0] == "N"


# Layouts


def test_layouts_keep_tokens_and_sentences() -> None:
    gold = gold_split(treebank(english(80, 8), newpar=50))
    for between in (sentence_lines(gold), paragraph_lines(gold), wrapped(gold, np.random.default_rng(0))):
        other = relaid(gold, between)
        other.check()
        assert other.tokens() == gold.tokens()
    lines = relaid(gold, wrapped(gold, np.random.default_rng(0), (50, 51))).text.split("\n")
    assert max(map(len, lines)) <= 50
    both = several_layouts(gold, 1)
    assert both.tokens() == gold.tokens() * 2
    assert both.n_sentences == 2 * gold.n_sentences
    assert len(set(both.between())) > 3


# Multi-word tokens

strings = st.text("abc'", min_size=1, max_size=6)


@given(strings, st.lists(strings, min_size=2, max_size=3))
def test_rules_make_the_words_that_they_come_from(token: str, words: list[str]) -> None:
    for rule in rules_of(token, words):
        if len(rule.affix) < len(token):
            assert rule.applied(token) == words
        assert len(rule.words) == len(words)


@given(st.lists(st.tuples(st.booleans(), st.text("abc'", max_size=3)), max_size=5), st.text("abc'", max_size=5))
def test_tokens_with_affixes_are_found(affixes: list[tuple[bool, str]], token: str) -> None:
    """The fast test agrees with the definition: an affix beside something else."""
    known = _Affixes(AffixRule(at_end, affix, ("x", "y")) for at_end, affix in affixes)
    having = [
        affix for at_end, affix in affixes
        if len(affix) < len(token) and (token.endswith(affix) if at_end else token.startswith(affix))
    ]  # fmt: skip
    assert known.any_of(token) == bool(having)
    assert {affix for _, affix in known.of(token)} == set(having)


@pytest.mark.parametrize(
    ("token", "words", "end", "beginning"),
    [
        ("don't", ["do", "n't"], ("n't", ("", "n't")), ("do", ("do", ""))),
        ("zum", ["zu", "dem"], ("m", ("", "dem")), ("zu", ("zu", "de"))),
        ("alsalam", ["al", "salam"], ("salam", ("", "salam")), ("al", ("al", ""))),
    ],
)
def test_rules(token: str, words: list[str], end: tuple, beginning: tuple) -> None:  # type: ignore[type-arg]
    assert rules_of(token, words) == (AffixRule(True, *end), AffixRule(False, *beginning))
    assert AffixRule(True, *end).applied("x") is None
    assert AffixRule(True, *end).applied(token[::-1]) is None


def test_the_dictionary_knows_other_cases() -> None:
    known = MultiwordTokens({"zum": ("zu", "dem"), "don't": ("do", "n't")}, None)
    found = known.apart(["Zum", "ZUM", "zum", "Don't", "DON'T", "zu"])
    assert found == {
        0: ("Zu", "dem"), 1: ("ZU", "DEM"), 2: ("zu", "dem"), 3: ("Do", "n't"), 4: ("DO", "N'T"),
    }  # fmt: skip


# Storing


def test_parts_make_the_same_splitter(splitter: Splitter) -> None:
    arrays, meta = splitter.parts()
    again = Splitter.from_parts(arrays, meta, "t")
    text = gold_split(treebank(english(50, 9))).text
    a, b = splitter.split(text), again.split(text)
    assert conllu_bytes(a, a.treebank()) == conllu_bytes(b, b.treebank())
    assert again.parts()[1] == meta


def test_a_compact_splitter_splits_as_well() -> None:
    made, dev = Splitter().fit(treebank(english(200, 11))), treebank(english(100, 12))
    size = sum(array.nbytes for array in made.parts()[0].values())
    gold = gold_split(treebank(english(100, 13)))
    for data in (None, dev):
        made.compact(data, 0.1)
        arrays, meta = made.parts()
        assert sum(array.nbytes for array in arrays.values()) < size
        found = Splitter.from_parts(arrays, meta, "t").split(gold.text)
        assert f1(found, gold, "tokens") > 0.99
        assert f1(found, gold, "sentences") > 0.98


def test_development_data_chooses_how_readily_sentences_end() -> None:
    made, dev = Splitter().fit(treebank(english(60, 14))), treebank(english(60, 15))
    assert made.model.bias == {}
    gold, scores = gold_split(dev), []
    for bias in BIASES:
        made.model.bias = {"sentence": bias}
        scores.append(f1(made.split(gold.text), gold, "sentences"))
        assert sentence_f1(gold, made.split(gold.text)) == pytest.approx(scores[-1])
    chosen = Splitter().fit(treebank(english(60, 14)), dev)
    most = BIASES[scores.index(max(scores))]
    best = {"sentence": most} if most else {}
    assert chosen.model.bias == best
    chosen.compact(dev, 0.1)
    assert Splitter.from_parts(*chosen.parts(), "t").model.bias == best


def test_the_same_seed_makes_the_same_splitter() -> None:
    bank = treebank(english(60, 10))
    one, two = (Splitter(seed=3).fit(bank).parts() for _ in range(2))
    assert one[1] == two[1]
    assert all(np.array_equal(one[0][name], two[0][name]) for name in one[0])


def test_hostile_parts(splitter: Splitter) -> None:
    arrays, meta = splitter.parts()
    bad = [
        {},
        {**meta, "cuts": {"ab": [2]}},
        {**meta, "cuts": {"ab": [1, 1]}},
        {**meta, "together": [["a"]]},
        {**meta, "small": ["\ud800"]},
        {**meta, "multiword": {"ab": ["a"]}},
        {**meta, "multiword": {"ab": ["a", "b c"]}},
        {**meta, "multiword": {"ab": ["a", ""]}},
        {**meta, "models": {}},
        {**meta, "models": {"marks": meta["models"]["words"], "words": meta["models"]["words"]}},
        {**meta, "models": {"marks": meta["models"]["marks"], "words": meta["models"]["marks"]}},
    ]
    for one in bad:
        with pytest.raises(ModelError):
            Splitter.from_parts(arrays, one, "t")
    swapped = {name.replace("marks/", "words/") if "marks/" in name else name.replace("words/", "marks/"): array
               for name, array in arrays.items()}  # fmt: skip
    models = {"marks": meta["models"]["words"], "words": meta["models"]["marks"]}
    with pytest.raises(ModelError):
        Splitter.from_parts(swapped, {**meta, "models": models}, "t")


@pytest.mark.corpus
@pytest.mark.parametrize(("name", "tokens", "sentences"), [("vi/vi_vtb", 0.87, 0.96), ("tr/tr_imst", 0.995, 0.94)])
def test_treebanks(corpora: Path, name: str, tokens: float, sentences: float) -> None:
    """Well above what UDPipe 1 reaches on the words of Vietnamese (about 85)."""
    files = [corpora / f"ud-{name}-ud-{part}.conllu" for part in ("train", "dev")]
    learnt, gold = Splitter().fit(read_treebank(files[0])), gold_split(read_treebank(files[1]))
    found = learnt.split(gold.text)
    found.check()
    assert f1(found, gold, "tokens") > tokens
    assert f1(found, gold, "sentences") > sentences
