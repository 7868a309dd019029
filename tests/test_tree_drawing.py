"""Trees in the terminal and as SVG: where arcs run, and that errors show without colour."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hypothesis import given
from naive_trees import crosses, trees
from rich.cells import cell_len
from strategies import few

from palmette.data import tree_of, treebank_from_sentences
from palmette.data.formats.conllu_light import DrawnTree
from palmette.parsing import drawing
from palmette.parsing.drawing import count_errors, draw_tree, svg_of, tracks

SEA = DrawnTree(
    ["We", "saw", "the", "sea", "."],
    ["PRON", "VERB", "DET", "NOUN", "PUNCT"],
    [2, 0, 4, 2, 2],
    ["nsubj", "root", "det", "obj", "punct"],
)
SVG = "{http://www.w3.org/2000/svg}"


def rows(tree: DrawnTree, gold: DrawnTree | None = None) -> list[str]:
    return draw_tree(tree, gold).plain.rstrip("\n").split("\n")


def plain(heads: list[int]) -> DrawnTree:
    n = len(heads)
    return DrawnTree(["w"] * n, ["X"] * n, heads, ["dep"] * n)


def test_a_drawing_to_the_letter() -> None:
    drawn = "\n".join(f"    {row}" for row in rows(SEA))
    assert drawing.__doc__ is not None
    assert drawn in drawing.__doc__


@few(2)
@given(trees(9))
def test_arcs_run_on_tracks_of_their_own(heads: list[int]) -> None:
    level = tracks(heads)
    assert set(level) == {word for word, head in enumerate(heads, 1) if head}
    for one in level:
        for other in level:
            (a, b), (c, d) = sorted((one, heads[one - 1])), sorted((other, heads[other - 1]))
            if one < other and max(a, c) < min(b, d):  # they share a stretch
                assert level[one] != level[other]


@few(2)
@given(trees(9))
def test_every_arc_can_be_followed(heads: list[int]) -> None:
    """From the arrow of a word along its track to the row of its head, where a line meets it."""
    drawn = [row.split("X ", 1)[1] for row in rows(plain(heads))]
    level = tracks(heads)
    for word, head in enumerate(heads, 1):
        assert (drawn[word - 1][0] == "◀") == (head != 0)
        if head:
            x = 2 * level[word]
            low, high = sorted((word - 1, head - 1))
            assert drawn[low][x] in "┐┬┼┤│"
            assert drawn[high][x] in "┘┴┼┤│"
            assert all(drawn[row][x] in "│┤┼" for row in range(low + 1, high))
    if not any(crosses(heads, word) for word in range(1, len(heads) + 1)):
        assert not any(re.search("─│", row) for row in drawn)  # nothing crosses


def test_errors_are_marked_in_words() -> None:
    guess = SEA._replace(heads=[2, 0, 4, 2, 4], relations=["obj", "root", "det", "obj", "punct"])
    found = rows(guess, SEA)
    assert found[0].endswith("obj 2  ✗ gold: nsubj")
    assert found[4].endswith("punct 4  ✗ gold: punct 2 (saw)")
    assert sum("✗" in row for row in found) == 2
    assert count_errors(guess, SEA) == (1, 1)
    assert not any("✗" in row for row in rows(SEA, SEA))
    other = SEA._replace(heads=[0, 1, 4, 2, 2])
    assert rows(other, SEA)[1].endswith("✗ gold: root")


def test_wide_characters_keep_the_columns() -> None:
    tree = SEA._replace(forms=["我们", "saw", "the", "海", "。"])
    assert len({cell_len(row[: row.index(tag)]) for row, tag in zip(rows(tree), tree.tags, strict=True)}) == 1


def test_long_sentences_stay_narrow() -> None:
    heads = [0, *range(1, 60)]
    assert max(len(row) for row in rows(plain(heads))) < 30
    fan = rows(plain([0, *[1] * 30]))
    assert max(len(row) for row in fan) < 60


def test_svg_has_every_word_arc_and_mark() -> None:
    guess = SEA._replace(forms=["We", "<saw>", "&", "sea", "."], heads=[2, 0, 4, 2, 4])
    root = ElementTree.fromstring(svg_of([("a < b", guess, SEA), ("alone", SEA, None)]))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"a < b", "<saw>", "&", "✗ punct"} <= set(texts)
    kinds = [element.get("class") for element in root.iter(f"{SVG}g")]
    assert (kinds.count("right"), kinds.count("wrong"), kinds.count("missed")) == (9, 1, 1)
    assert "stroke-dasharray: 5 3 }" in (root.find(f"{SVG}style").text or "")
    width = float(root.get("width") or 0)
    assert all(0 < float(element.get("x") or 0) < width for element in root.iter(f"{SVG}text"))


def test_the_tree_of_a_sentence() -> None:
    words = [{"form": f, "upos": t, "head": h, "deprel": r} for f, t, h, r in zip(*SEA[:4], strict=True)]
    assert tree_of(treebank_from_sentences([["x"], words]), 1) == SEA
