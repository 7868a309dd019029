"""Pipelines meet text and treebanks that nobody prepared: the output is always CoNLL-U whose words spell the text."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette import Pipeline
from palmette.data import parse_treebank
from palmette.datasets import tree_text
from palmette.errors import DataError, UsageError
from palmette.parsing import model as parser_model
from palmette.pipeline import bundles, chains, gold_split, known_words, lemmas, morphology, read_spans
from palmette.pipeline.split_text import without_white

GOOD = "The old dog sleeps. She baked two loaves of bread in the evening!"
QUICK: dict[str, Any] = {"passes": 2, "jackknife": False, "beam": 2}


def trained(conllu: str, **options: Any) -> Pipeline:
    return Pipeline(**(QUICK | options)).fit(parse_treebank(conllu.encode(), "treebank"), threads=1)


@pytest.fixture(scope="module")
def nlp(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """A small pipeline as a user has it: from a file."""
    path = tmp_path_factory.mktemp("pipeline") / "demo.palm"
    trained(tree_text("train")).save(path)
    return Pipeline.load(path)


def check(conllu: str, text: str, trees: bool = True) -> None:
    """Valid CoNLL-U with a tree for every sentence, from which the text comes back."""
    spans = read_spans(conllu.encode())  # checks numbers, ranges and trees
    assert spans.text == without_white(text)
    if not spans.text:
        assert conllu == ""
        return
    assert (spans.heads is not None) == trees
    assert gold_split(parse_treebank(conllu.encode(), "output", labelled=trees)).text == text
    for line in conllu.split("\n"):
        assert not line or all(line.split("\t")), line


TEXTS = {
    "nothing": "",
    "blanks": " \t\n \r\n\u00a0\u3000\n",
    "only a NUL": "\0",
    "NULs": "The\0dog \0 sleeps.\0",
    "control characters": "a\x01b \x07 \x1b[31mred\x1b[0m \x7f c\x08d",
    "controls that are white space": "a\x0bb\x0cc\x1cd\x1de\x1ef\x1fg\x85h",
    "C1 controls": "\x80 a\x9f",
    "mixed scripts": "The собака 狗 ঘর كلب dog. Ωμέγα и 東京タワー!",
    "no spaces": "我们都是学生。你呢？これは本です。",
    "Thai": "สวัสดีครับผมชื่อสมชาย",
    "emoji with joiners": "A 👨‍👩‍👧‍👦 and 🏳️‍🌈, ok👍🏽! 🇩🇪🇫🇷",
    "only joiners": "\u200d\u200d \u200b \ufe0f",
    "combining marks": "e\u0301te\u0301 Z\u0351\u036b\u0343a\u0327\u0321lgo",
    "begins with a combining mark": "\u0301abc \u0300",
    "right to left": "שלום עולם. مرحبا بالعالم! \u202eabc\u202c \u200fx",
    "another language": "Der alte Hund schläft, während es draußen regnet. Wo bist du?",
    "byte order mark": "\ufeffThe dog\ufeff sleeps.\ufeff",
    "CRLF": "The dog sleeps.\r\nShe runs.\r\n\r\nHome.\r\n",
    "CR": "The dog sleeps.\rShe runs.\r\rHome.",
    "line separators": "The dog\u2028sleeps.\u2029She runs.",
    "very long word": "x" * 70_000,
    "very long word with marks": "ab,c" * 10_000,
    "many blank lines": "The dog" + "\n" * 500 + "sleeps.",
    "only punctuation": "... !!! ??? --- (((",
    "looks like CoNLL-U": "# text = x\n1\tThe\tthe\t_\n# newpar\n1-2\tdu _ __",
    "looks like MISC": "SpaceAfter=No|SpacesAfter=\\s\\n \\ | = \\u0020",
    "private and unassigned": "\ue000 \uffff \U0010ffff \u0378",
    "capitals": "THE OLD DOG SLEEPS. STRASSE ẞ İ ı ﬁ",
    "numbers": "3.14 1,000,000 12:30 2020-01-01 1/2 ½ ² Ⅷ",
    "addresses": "See https://example.org/a?b=c&d=e#f or mail x.y@example.org now.",
    "no end": "The old dog",
    "blank at both ends": "  The dog sleeps. \n",
    "blank lines at both ends": "\n \n\nThe dog\n\nsleeps.\n\n\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_any_text_gives_words_that_spell_it(nlp: Pipeline, name: str) -> None:
    check(nlp(TEXTS[name]).to_conllu(), TEXTS[name])


@settings(max_examples=60)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.text("ab.\n \r\t\u200d'é\u0301-0#_|\\"))
def test_random_text(nlp: Pipeline, text: str) -> None:
    check(nlp(text).to_conllu(), text)


def test_views_of_strange_documents(nlp: Pipeline) -> None:
    """Offsets, JSON and drawings of a document agree with its text."""
    for text in TEXTS.values():
        if len(text) > 1000:
            continue
        doc = nlp(text)
        assert all(doc.text[t.start : t.end] == t.text and t.text.strip() == t.text for t in doc.tokens)
        plain = [word["form"] for sentence in doc.to_dict()["sentences"] for word in sentence["words"]]
        assert plain == [word.form for word in doc.words]


@pytest.mark.parametrize("text", ["\ud800", "The dog\udfff sleeps."])
def test_lone_surrogates_are_an_error_that_says_so(nlp: Pipeline, text: str) -> None:
    with pytest.raises(DataError, match="surrogate"):
        nlp(text)
    with pytest.raises(DataError, match="surrogate"):
        list(nlp.pipe(["fine", text]))


@pytest.mark.parametrize("text", [None, b"bytes", 3, ["a", "list"]])
def test_what_is_not_a_string(nlp: Pipeline, text: Any) -> None:
    with pytest.raises(DataError, match="string"):
        nlp(text)


def test_documents_are_the_same_one_by_one_and_together(nlp: Pipeline) -> None:
    texts = [text for text in TEXTS.values() if len(text) < 1000]
    alone = [nlp(text).to_conllu() for text in texts]
    assert [doc.to_conllu() for doc in nlp.pipe(texts, threads=2)] == alone
    assert [doc.to_conllu() for doc in nlp.pipe(texts[::-1])] == alone[::-1]


def without_short_ways() -> ExitStack:
    """Every text takes the way of long ones."""
    made = ExitStack()
    for module in (chains, bundles, lemmas, morphology, parser_model):
        made.enter_context(mock.patch.object(module, "SHORT", 0))
    return made


WORDS = [
    "The",
    "cook",
    "bakes",
    "bread",
    ",",
    "and",
    "it",
    "rains",
    "!",
    "Éa",
    "7",
    ".",
    "\n",
    "\n\n",
    "xyzzy",
    "BREAD",
]


@given(st.lists(st.sampled_from(WORDS), max_size=90))
def test_short_texts_are_annotated_as_long_ones(nlp: Pipeline, words: list[str]) -> None:
    text = " ".join(words)
    found = [nlp(text).to_conllu(), nlp(text).to_conllu()]
    with without_short_ways():
        assert found == 2 * [nlp(text).to_conllu()]


def test_short_texts_on_many_threads(nlp: Pipeline) -> None:
    texts = ["The cook bakes bread.", "It rains.", "A ferry! Crosses the lake again and again.", "x"]
    right = {text: nlp(text).to_conllu() for text in texts}
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: nlp(texts[k % 4]).to_conllu() == right[texts[k % 4]], range(120)))
    assert all(found)


def test_a_full_memo_starts_anew() -> None:
    asked: list[list[str]] = []

    def lengths(words: list[str]) -> list[int]:
        asked.append(words)
        return [len(word) for word in words]

    made = known_words.WordMemo(lengths)
    with mock.patch.object(known_words, "MOST", 3):
        assert made.of(["a", "bb", "a"]) == [1, 2, 1]
        assert made.of(["bb", "ccc"]) == [2, 3]
        assert made.of(["dddd", "a"]) == [4, 1]
        assert made.of(["a", "dddd"]) == [1, 4]
        assert made.of(["1", "22", "333", "4444"]) == [1, 2, 3, 4]  # more than it keeps
    assert asked == [["a", "bb"], ["ccc"], ["dddd", "a"], ["1", "22", "333", "4444"]]


def test_memory_does_not_grow_with_the_square_of_the_kinds_of_characters(nlp: Pipeline) -> None:
    text = "".join(map(chr, range(0xF0000, 0xF0000 + 20_000)))
    tracemalloc.start()
    try:
        found = nlp.model_.split(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    found.check()
    assert peak < 100e6


# Files


def ran(nlp: Pipeline, data: bytes, folder: Path, **options: Any) -> str:
    source, target = folder / "in", folder / "out"
    source.write_bytes(data)
    nlp.run_file(source, target, **options)
    return target.read_bytes().decode()


@pytest.mark.parametrize("name", [n for n in TEXTS if n not in ("byte order mark", "CR", "looks like CoNLL-U")])
def test_files(nlp: Pipeline, tmp_path: Path, name: str) -> None:
    made = ran(nlp, TEXTS[name].encode(), tmp_path)
    check(made, TEXTS[name])


def test_files_with_a_mark_gzip_and_old_line_ends(nlp: Pipeline, tmp_path: Path) -> None:
    plain = ran(nlp, GOOD.encode(), tmp_path)
    assert ran(nlp, b"\xef\xbb\xbf" + GOOD.encode(), tmp_path) == plain
    assert ran(nlp, gzip.compress(GOOD.encode()), tmp_path) == plain
    check(ran(nlp, b"The dog.\rShe runs.", tmp_path), "The dog.\nShe runs.")


@pytest.mark.parametrize("data", [b"fine\n\xff\xfe bad", b"The dog\n\xc3", "The".encode("utf-16")])
def test_files_that_are_not_utf8_say_where(nlp: Pipeline, tmp_path: Path, data: bytes) -> None:
    with pytest.raises(DataError, match=r"in:\d"):
        ran(nlp, data, tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_long_file_without_line_breaks(nlp: Pipeline, tmp_path: Path) -> None:
    """Longer than what is read at a time, with and without sentences and blanks."""
    for text in ("The dog sleeps. " * 17_000, "x" * 300_000, "ab" * 140_000 + " " + "é" * 140_000):
        check(ran(nlp, text.encode(), tmp_path, components=["tok"]), text, trees=False)


@pytest.mark.parametrize("blank", [" ", "\n", "\r\n \t"])
def test_long_white_space(nlp: Pipeline, tmp_path: Path, blank: str) -> None:
    """White space longer than what is read at a time, before, between and after words."""
    much = blank * (300_000 // len(blank))
    for text in (much, f"{much}The dog", f"The{much}dog", f"The dog{much}"):
        check(ran(nlp, text.encode(), tmp_path, components=["tok"]), text, trees=False)


@pytest.mark.parametrize("data", [b"", b"\n\n", b"# only a comment\n", b"# a comment\n\n\n"])
def test_empty_files_of_words(nlp: Pipeline, tmp_path: Path, data: bytes) -> None:
    for kind in ("tokens", "conllu"):
        made = ran(nlp, data, tmp_path, input=kind)
        assert not read_spans(made.encode()).token.size or kind == "tokens"


def test_words_that_are_given_stay(nlp: Pipeline, tmp_path: Path) -> None:
    """Ranges, empty nodes and comments of CoNLL-U stay; its words get trees."""
    rows = ["1-2\tdel" + "\t_" * 8, "1\tde" + "\t_" * 8, "1.1\tx" + "\t_" * 6 + "\t0:root\t_", "2\tel" + "\t_" * 8]
    data = "# text = del\n" + "\n".join(rows) + "\n\n"
    made = ran(nlp, data.encode(), tmp_path, input="conllu")
    assert [line.split("\t")[0] for line in made.splitlines()] == ["# text = del", "1-2", "1", "1.1", "2", ""]
    assert read_spans(made.encode()).heads is not None


# Validation


def test_any_text_is_valid_for_the_official_validator(nlp: Pipeline) -> None:
    """If it is in the normal form NFC, which the validator asks for."""
    from udtools import validator

    texts = [GOOD, *(text for text in TEXTS.values() if len(text) < 1000 and unicodedata.is_normalized("NFC", text))]
    assert len(texts) > 25
    told = io.StringIO()
    state = validator.Validator(lang="ud", level=2, output=told).validate_file_handle(
        io.StringIO(nlp("\n\n".join(texts)).to_conllu())
    )
    assert state.passed(), f"{state}\n{told.getvalue()}"


# Treebanks


def demo(n: int = 40) -> list[list[str]]:
    """Sentences of the demo treebank as lines."""
    return [block.split("\n") for block in tree_text("train").strip().split("\n\n")][:n]


def joined(sentences: list[list[str]]) -> str:
    return "".join("\n".join(lines) + "\n\n" for lines in sentences)


def without_field(k: int) -> str:
    """The demo treebank with nothing in field k."""
    made = []
    for lines in demo():
        rows = [line.split("\t") if not line.startswith("#") else [line] for line in lines]
        made.append(["\t".join(c if i != k else "_" for i, c in enumerate(row)) for row in rows])
    return joined(made)


def sentence(*rows: str, text: str = "") -> str:
    """A sentence of rows `id form upos head deprel misc`, separated by bars."""
    lines = [f"# text = {text}"] if text else []
    for row in rows:
        number, form, upos, head, relation, misc = row.split("|")
        lines.append("\t".join((number, form, "_", upos, "_", "_", head, relation, "_", misc)))
    return "\n".join(lines) + "\n\n"


NO_SPACE = "SpaceAfter=No"
TREEBANKS = {
    "without lemmas": without_field(2),
    "without UPOS": without_field(3),
    "without XPOS": without_field(4),
    "without FEATS": without_field(5),
    "without MISC": without_field(9),
    "without text": joined([[line for line in lines if not line.startswith("# text")] for lines in demo()]),
    "with a wrong text": joined(demo()).replace("# text = The", "# text = Teh"),
    "one sentence": joined(demo(1)),
    "one sentence many times": joined(demo(1) * 30),
    "with empty nodes": joined([[*lines, "7.1\tx\tx\tX\t_\t_\t_\t_\t0:root\t_"] for lines in demo(3)]),
    "with CRLF": joined(demo()).replace("\n", "\r\n"),
    "without spaces": sentence(f"1|我们|PRON|2|nsubj|{NO_SPACE}", f"2|好|ADJ|0|root|{NO_SPACE}", text="我们好")
    + sentence(f"1|学生|NOUN|2|nsubj|{NO_SPACE}", f"2|好|ADJ|0|root|{NO_SPACE}", text="学生好"),
    "words with blanks": sentence("1|chủ tịch|NOUN|0|root|_", "2|xã|NOUN|1|nmod|_", text="chủ tịch xã") * 5,
    "multi-word tokens": sentence(
        "1|va|VERB|0|root|_", "2-3|del|_|_|_|_", "2|de|ADP|4|case|_", "3|el|DET|4|det|_", "4|río|NOUN|1|obl|_",
        text="va del río",
    ) * 3,
    "crossing arcs": sentence("1|a|X|3|dep|_", "2|b|X|4|dep|_", "3|c|X|0|root|_", "4|d|X|3|dep|_") * 4,
    "strange forms": sentence("1|\u0301|X|0|root|_", f"2|👨‍👩‍👧|SYM|1|dep|{NO_SPACE}", "3|\ufeff|X|1|dep|_") * 3,
}  # fmt: skip


@pytest.mark.parametrize("name", TREEBANKS)
def test_any_treebank_makes_a_pipeline(name: str, tmp_path: Path) -> None:
    made = trained(TREEBANKS[name])
    made.save(tmp_path / "it.palm")
    loaded = Pipeline.load(tmp_path / "it.palm")
    for text in (GOOD, "va del río. 我们好 chủ tịch", TEXTS["control characters"], ""):
        found = made(text).to_conllu()
        check(found, text)
        assert loaded(text).to_conllu() == found


def test_treebanks_without_something_do_not_invent_it() -> None:
    for field, name in (("lemma", "without lemmas"), ("xpos", "without XPOS"), ("feats_text", "without FEATS")):
        assert {getattr(word, field) for word in trained(TREEBANKS[name])(GOOD).words} == {"_"}, name


def test_treebanks_that_cannot_be_learnt_from() -> None:
    with pytest.raises(DataError, match="no sentences"):
        trained("# nothing\n")
    with pytest.raises(DataError, match="no sentence has an arc"):
        trained(sentence("1|Hi|INTJ|0|root|_") * 3)
    with pytest.raises(DataError, match="head is missing"):
        trained(without_field(6))
    with pytest.raises(UsageError, match="component"):
        trained(joined(demo()), components=("tok", "ner"))


def test_a_treebank_without_trees_gives_the_other_components() -> None:
    bank = parse_treebank(without_field(6).encode(), "treebank", labelled=False)
    made = Pipeline(**(QUICK | {"components": ("tok", "tag", "lemma")})).fit(bank, threads=1)
    assert read_spans(made(GOOD).to_conllu().encode()).text == without_white(GOOD)
