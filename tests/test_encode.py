"""The encoder against the slow template expander: the same attribute strings on every token, and feature indexes
that grow, stay locked, and forget what is rare."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from chain_arrays import attribute_corpus, column_corpus
from hypothesis import given
from hypothesis import strategies as st
from naive_chain import Token
from naive_templates import expand
from strategies import few

from palmette.data import Corpus
from palmette.features import Clusters, Encoder, Lexicon, Resources, TemplateSet, parse
from palmette.features.encode import new_feature_index
from palmette.structures import Collected, Names, allow_table, encode_corpus
from palmette.structures.chain.session import PLAIN, reader_for

Sentences = list[list[list[str]]]
Listed = list[list[str]]  # the attribute strings of each token of a corpus

RESOURCES = Resources(
    {"city": Lexicon("city", {"new york": "city", "new": "word", "york b": "other"})},
    {"brown": Clusters("brown", {"new": "0110", "a": "10"}, paths=True)},
)
ATOMS = [
    "",
    "lower",
    "suffix2",
    "prefix3",
    "capital",
    "number",
    "short_shape",
    "lexicon:city",
    "cluster:brown:2",
]
CELLS = st.sampled_from(["a", "b", "B", "ab", "new", "york", "12", "Über", "中文", "", "_B-1"])
SENTENCES = st.lists(st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=5), min_size=1, max_size=3)


@st.composite
def crfpp_lines(draw: st.DrawFn) -> str:
    pieces = [draw(st.sampled_from("UUBT*"))]
    for _ in range(draw(st.integers(0, 3))):
        row, column = draw(st.integers(-3, 3)), draw(st.integers(0, 1))
        atom = draw(st.sampled_from(ATOMS))
        pieces.append(f"%x[{row},{column},{atom}]" if atom else f"%x[{row},{column}]")
        pieces.append(draw(st.sampled_from(["", "", "/", "a", "ü"])))
    return "".join(pieces)


@st.composite
def wapiti_lines(draw: st.DrawFn) -> str:
    row = st.one_of(st.integers(-6, 6).map(str), st.sampled_from(["@1", "@2", "@-1", "@-3", "@4"]))
    pieces = [draw(st.sampled_from("ub*")), draw(st.sampled_from(["", ":", "1:"]))]
    for _ in range(draw(st.integers(0, 2))):
        form = draw(st.sampled_from(["%x[{},{}]", "%X[{},{}]", '%t[{},{},"^\\u"]', '%m[{},{},".?.$"]']))
        pieces += [form.format(draw(row), draw(st.integers(0, 1))), draw(st.sampled_from(["", "/"]))]
    return "".join(pieces)


def template_sets() -> st.SearchStrategy[TemplateSet]:
    crfpp = st.lists(crfpp_lines(), min_size=1, max_size=6).map(lambda ls: parse("\n".join(ls), syntax="crfpp"))
    wapiti = st.lists(wapiti_lines(), min_size=1, max_size=6).map(lambda ls: parse("\n".join(ls), syntax="wapiti"))
    return st.one_of(crfpp, wapiti)


# --- both sides as lists of strings -------------------------------------------------------------------------


def expanded(templates: TemplateSet, sentences: Sentences, order: int) -> Listed:
    """What the slow twin says. Pairs begin at the second token, triples at the third."""
    mine = [t for t in templates.templates if order in t.orders and (t.macros or order == 1)]
    return [
        [
            text
            for template in (mine if i >= order - 1 else [])
            if (text := expand(template, templates.syntax, sentence, i, RESOURCES)) is not None
        ]
        for sentence in sentences
        for i in range(len(sentence))
    ]


def collect(text: str | TemplateSet, sentences: Sentences, **options) -> Collected:
    templates = parse(text) if isinstance(text, str) else text
    return Collected(column_corpus(sentences), Encoder(templates, RESOURCES), **options)


def names_of(collected: Collected, order: int = 1) -> list[str]:
    """The strings of the new attributes, in the order of their numbers."""
    names = Names(*collected.names(order))
    return [names[k] for k in range(len(names))]


def spelled(collected: Collected, order: int = 1) -> Listed:
    names, (ptr, att, _) = names_of(collected, order), collected.actives[order]
    return [[names[a] for a in att[lo:hi]] for lo, hi in itertools.pairwise(ptr)]


def locked(collected: Collected, corpus: Corpus) -> Listed:
    """Another corpus with the attributes of the first one."""
    Y = 1
    data = encode_corpus(
        corpus, collected.encoder, collected.feature_indexes, np.full(corpus.n_tokens, Y, np.int32), allow_table(Y)
    )
    names = names_of(collected)
    return [[names[a] for a in data.features[0].att[lo:hi]] for lo, hi in itertools.pairwise(data.features[0].ptr)]


def words(*sentences: str) -> Sentences:
    return [[[word] for word in sentence.split()] for sentence in sentences]


# --- the same strings ---------------------------------------------------------------------------------------


@few(2)
@given(template_sets(), SENTENCES)
def test_every_token_has_the_strings_of_the_twin(templates: TemplateSet, sentences: Sentences) -> None:
    collected = collect(templates, sentences)
    assert collected.encoder is not None
    for order in (1, 2, 3):
        expected = expanded(templates, sentences, order)
        if order not in collected.encoder.programs:
            assert not any(expected)
            continue
        found = spelled(collected, order)
        assert [Counter(strings) for strings in found] == [Counter(strings) for strings in expected]
        names = names_of(collected, order)
        assert len(set(names)) == len(names) == collected.sizes[order]


@few()
@given(template_sets(), SENTENCES, SENTENCES)
def test_a_locked_feature_index_drops_what_it_does_not_know(
    templates: TemplateSet, sentences: Sentences, others: Sentences
) -> None:
    collected = collect(templates, sentences)
    if 1 not in collected.feature_indexes:
        return
    known = set(names_of(collected))
    expected = [[text for text in token if text in known] for token in expanded(templates, others, 1)]
    assert [sorted(token) for token in locked(collected, column_corpus(others))] == [sorted(t) for t in expected]


@few(2)
@given(template_sets(), SENTENCES, SENTENCES)
def test_one_sentence_at_a_time(templates: TemplateSet, sentences: Sentences, others: Sentences) -> None:
    """The strings of the twin, in the order of the corpus kernel."""
    collected = collect(templates, sentences)
    assert collected.encoder is not None
    reader = reader_for(collected.encoder, collected.feature_indexes)
    if reader is None:
        assert any(macro.atom.startswith("lexicon:") for t in templates.templates for macro in t.macros)
        return
    reader.resize(6)
    for sentence in sentences + others:
        corpus, n = column_corpus([sentence]), len(sentence)
        assert reader.read([tuple(cells) for cells in sentence]) == PLAIN
        free, allow = np.full(n, 1, np.int32), allow_table(1)
        whole = encode_corpus(corpus, collected.encoder, collected.feature_indexes, free, allow)
        for order in collected.encoder.programs:
            active, expected = reader.actives[order - 1], whole.features[order - 1]
            assert active.ptr[: n + 1].tolist() == expected.ptr.tolist()
            assert active.att[: active.ptr[n]].tolist() == expected.att.tolist()
            known = set(names_of(collected, order))
            strings = [[text for text in token if text in known] for token in expanded(templates, [sentence], order)]
            assert np.diff(active.ptr[: n + 1]).tolist() == [len(token) for token in strings]


def test_boundaries_are_those_of_each_sentence() -> None:
    found = spelled(collect("U:%x[-2,0]/%x[-1,0]/%x[1,0]/%x[2,0]", words("a b", "c")))
    assert found == [["U:_B-2/_B-1/b/_B+1"], ["U:_B-1/a/_B+1/_B+2"], ["U:_B-2/_B-1/_B+1/_B+2"]]


def test_wapiti_boundaries_and_anchors() -> None:
    text = 'u1:%x[-1,0]\nu2:%x[-5,0]\nu3:%x[@1,0]/%x[@-1,0]\nu4:%x[@2,0]\nu5:%t[1,0,"^\\l*$"]'
    assert spelled(collect(text, words("a b", "c"))) == [
        ["u1:_x-1", "u2:_x-#", "u3:a/b", "u4:b", "u5:true"],
        ["u1:a", "u2:_x-4", "u3:a/b", "u4:b", "u5:false"],
        ["u1:_x-1", "u2:_x-#", "u3:c/c", "u4:_x+1", "u5:false"],
    ]


def test_an_absent_atom_silences_only_its_own_template() -> None:
    found = spelled(collect("U:%x[0,0,suffix3]\nU2:%x[0,0]", words("abc b")))
    assert found == [["U:abc", "U2:abc"], ["U2:b"]]


def test_pairs_begin_at_the_second_token_and_triples_at_the_third() -> None:
    collected = collect("*:%x[0,0]\nT:%x[-2,0]\nB\nU", words("a b c", "d"))
    assert spelled(collected, 1) == [["*:a", "U"], ["*:b", "U"], ["*:c", "U"], ["*:d", "U"]]
    assert spelled(collected, 2) == [[], ["*:b"], ["*:c"], []]
    assert spelled(collected, 3) == [[], [], ["*:c", "T:a"], []]


def test_equal_strings_are_one_attribute_whatever_they_are_made_of() -> None:
    collected = collect("U%x[0,0]%x[1,0]\nU%x[0,0]b%x[1,0]", words("ab c", "a bc", "a c"))
    ptr, att, _ = collected.actives[1]
    assert spelled(collected)[2][0] == spelled(collected)[0][0] == "Uabc"
    assert att[ptr[0]] == att[ptr[2]] == att[ptr[4] + 1]  # U|ab|c, U|a|bc and U|a|b|c
    assert len(names_of(collected)) == collected.sizes[1]


def test_a_template_twice_counts_twice() -> None:
    assert spelled(collect("U%x[0,0]\nU%x[0,0]", words("a"))) == [["Ua", "Ua"]]


# --- growing ------------------------------------------------------------------------------------------------


@few()
@given(template_sets(), SENTENCES, SENTENCES)
def test_growing_keeps_the_old_numbers(templates: TemplateSet, sentences: Sentences, others: Sentences) -> None:
    old = collect(templates, sentences)
    grown = collect(templates, others, feature_indexes=old.feature_indexes)
    for order in old.feature_indexes:
        size = old.sizes[order]
        assert np.all(grown.first[order][:size] < 0)
        assert np.all(grown.first[order][size:] >= 0)
        names = names_of(old, order) + names_of(grown, order)
        assert len(set(names)) == len(names) == grown.sizes[order]
        ptr, att, _ = grown.actives[order]
        found = [[names[a] for a in att[lo:hi]] for lo, hi in itertools.pairwise(ptr)]
        assert [sorted(token) for token in found] == [sorted(t) for t in expanded(templates, others, order)]


def test_growing_leaves_the_old_feature_index_alone() -> None:
    old = collect("U:%x[0,0]", words("a b"))
    before = old.feature_indexes[1].keys.copy(), old.feature_indexes[1].numbers.copy()
    grown = collect("U:%x[0,0]", words("b c"), feature_indexes=old.feature_indexes)
    assert grown.sizes[1] == 3
    assert np.array_equal(old.feature_indexes[1].keys, before[0])
    assert np.array_equal(old.feature_indexes[1].numbers, before[1])


@pytest.mark.parametrize("n_sentences", [1, 3000])
def test_a_table_grows_with_thousands_of_attributes(n_sentences: int) -> None:
    text = [f"w{k}" for k in range(9000)]
    size = len(text) // n_sentences
    sentences = [[[word] for word in text[k : k + size]] for k in range(0, len(text), size)]
    encoder = Encoder(parse("U0:%x[0,0]\nU1:%x[0,0,suffix3]\nU2:%x[0,0]/%x[-1,0]"), RESOURCES)
    corpus = column_corpus(sentences)
    cells = encoder.cells(corpus)
    small = new_feature_index(1)
    ptr, att, feature_index, first = encoder.encode(1, cells, corpus.offset, small, grow=True)
    assert feature_index.keys.size > small.keys.size
    assert np.count_nonzero(feature_index.keys) == feature_index.size == first.size
    assert 2 * feature_index.size <= feature_index.keys.size
    names = Names(*encoder.spell(1, corpus, cells, first))
    expected = expanded(encoder.templates, sentences, 1)
    assert [names[a] for a in att] == [text for token in expected for text in token]
    assert feature_index.size == len({text for token in expected for text in token})
    again = encoder.encode(1, cells, corpus.offset, feature_index, grow=False)
    assert np.array_equal(again[0], ptr)
    assert np.array_equal(again[1], att)


# --- forgetting what is rare --------------------------------------------------------------------------------


@few()
@given(template_sets(), SENTENCES, st.integers(2, 4))
def test_min_count_drops_exactly_the_rare_ones(templates: TemplateSet, sentences: Sentences, least: int) -> None:
    everything = collect(templates, sentences)
    cut = collect(templates, sentences, min_count=least)
    for order in everything.feature_indexes:
        expected = expanded(templates, sentences, order)
        count = Counter(text for token in expected for text in token)
        assert names_of(cut, order) == [name for name in names_of(everything, order) if count[name] >= least]
        assert cut.found[order] == len(count)
        kept = [sorted(text for text in token if count[text] >= least) for token in expected]
        assert [sorted(token) for token in spelled(cut, order)] == kept


def test_max_attributes_keeps_the_most_frequent_and_of_equals_the_first() -> None:
    sentences = words("d a b c a b a", "e")
    assert names_of(collect("U%x[0,0]", sentences, max_attributes=3)) == ["Ud", "Ua", "Ub"]
    assert names_of(collect("U%x[0,0]", sentences, max_attributes=2)) == ["Ua", "Ub"]
    assert names_of(collect("U%x[0,0]", sentences, max_attributes=3, min_count=2)) == ["Ua", "Ub"]
    assert names_of(collect("U%x[0,0]", sentences, max_attributes=5)) == ["Ud", "Ua", "Ub", "Uc", "Ue"]


def test_a_cut_feature_index_finds_what_it_kept() -> None:
    collected = collect("U%x[0,0]", words("a b a c", "b d"), min_count=2)
    assert locked(collected, column_corpus(words("d c b a x"))) == [[], [], ["Ub"], ["Ua"], []]


@pytest.mark.parametrize("options", [{"min_count": 2}, {"max_attributes": 4}, {"max_attributes": 1}])
def test_old_attributes_are_never_dropped(options: dict[str, int]) -> None:
    old = collect("U%x[0,0]", words("a b c"))
    grown = collect("U%x[0,0]", words("c d e d"), feature_indexes=old.feature_indexes, **options)
    new = [] if options == {"max_attributes": 1} else ["Ud"]
    assert names_of(old) + names_of(grown) == ["Ua", "Ub", "Uc", *new]
    assert grown.actives[1].att.tolist() == ([2, 3, 3] if new else [2])


# --- ready-made attributes ----------------------------------------------------------------------------------

READY = [
    [Token((("x", 1.0), ("y", 0.5))), Token((("x", 2.0),))],
    [Token(), Token((("z", -1.0), ("x", 1.0), ("x", 3.0)))],
]


def ready_made(collected: Collected, names: list[str]) -> list[list[tuple[str, float]]]:
    ptr, att, val = collected.actives[1]
    return [
        [(names[a], float(v)) for a, v in zip(att[lo:hi], val[lo:hi], strict=True)]
        for lo, hi in itertools.pairwise(ptr)
    ]


def test_ready_made_attributes_keep_their_values() -> None:
    collected = Collected(attribute_corpus(READY), None)
    assert names_of(collected) == ["x", "y", "z"]
    assert ready_made(collected, ["x", "y", "z"]) == [list(token.one) for sentence in READY for token in sentence]


def test_a_count_cut_on_ready_made_attributes_leaves_the_corpus_as_it_was() -> None:
    corpus = attribute_corpus(READY)
    first = Collected(corpus, None, min_count=2)
    second = Collected(corpus, None, min_count=2)
    expected = [[("x", 1.0)], [("x", 2.0)], [], [("x", 1.0), ("x", 3.0)]]
    assert names_of(first) == ["x"]
    assert ready_made(first, ["x"]) == expected
    assert ready_made(second, ["x"]) == expected


def test_ready_made_attributes_grow_and_lock() -> None:
    old = Collected(attribute_corpus(READY), None)
    corpus = attribute_corpus([[Token((("new", 1.0), ("z", 4.0), ("x", 1.0)))]])
    grown = Collected(corpus, None, feature_indexes=old.feature_indexes)
    assert ready_made(grown, ["x", "y", "z", "new"]) == [[("new", 1.0), ("z", 4.0), ("x", 1.0)]]
    assert names_of(grown) == ["new"]
    assert old.sizes[1] == 3
    data = encode_corpus(corpus, None, old.feature_indexes, np.full(1, 1, np.int32), allow_table(1))
    assert (data.features[0].att.tolist(), data.features[0].val.tolist()) == ([2, 0], [4.0, 1.0])
