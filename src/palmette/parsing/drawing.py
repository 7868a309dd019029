"""A tree in the terminal: a word a line, its arcs beside it, so that long sentences and crossing arcs stay readable.

    1  We   PRON  ◀─┐      nsubj 2
    2  saw  VERB  ──┴─┬─┐  root
    3  the  DET   ◀─┐ │ │  det 4
    4  sea  NOUN  ◀─┴─┘ │  obj 2
    5  .    PUNCT ◀─────┘  punct 2

An arc ends with an arrow at the word that depends; behind the relation stands the number of its head. Given gold,
words with another head or relation than there get a mark and what would be right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.text import Text

from palmette.data.formats.conllu_light import DrawnTree

WRONG = "✗"
_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_BOX = {
    0: " ", _UP: "│", _DOWN: "│", _UP | _DOWN: "│", _LEFT: "─", _RIGHT: "─", _LEFT | _RIGHT: "─",
    _LEFT | _DOWN: "┐", _LEFT | _UP: "┘", _LEFT | _UP | _DOWN: "┤",
    _LEFT | _RIGHT | _DOWN: "┬", _LEFT | _RIGHT | _UP: "┴", _LEFT | _RIGHT | _UP | _DOWN: "┼",
}  # fmt: skip
_WIDE = 12  # up to so many tracks there is room between them


def draw_tree(tree: DrawnTree, gold: DrawnTree | None = None) -> Text:
    """The lines of a tree; with `gold`, its errors."""
    numbers = _padded([str(k + 1) for k in range(len(tree.forms))], right=True)
    columns = [numbers, _padded(tree.forms), _padded(tree.tags)]
    arcs = _arcs(tree.heads)
    drawn = Text()
    for k, cells in enumerate(zip(*columns, strict=True)):
        wrong = gold is not None and (tree.heads[k], tree.relations[k]) != (gold.heads[k], gold.relations[k])
        drawn.append(f"{cells[0]}  ", "dim")
        drawn.append(cells[1], "bold" if tree.heads[k] == 0 else "")
        drawn.append(f"  {cells[2]} ", "dim")
        drawn.append(arcs[k][0], "bold red" if wrong else "cyan")
        drawn.append(arcs[k][1:], "cyan")
        drawn.append(f"  {tree.relations[k]}")
        if tree.heads[k]:
            drawn.append(f" {tree.heads[k]}", "dim")
        if wrong and gold is not None:
            drawn.append(f"  {WRONG} {_expected(tree, gold, k)}", "red")
        drawn.append("\n")
    return drawn


def _expected(tree: DrawnTree, gold: DrawnTree, k: int) -> str:
    """What gold says of a word that is wrong."""
    if gold.heads[k] == tree.heads[k]:
        return f"gold: {gold.relations[k]}"
    above = f" {gold.heads[k]} ({gold.forms[gold.heads[k] - 1]})" if gold.heads[k] else ""
    return f"gold: {gold.relations[k]}{above}"


def count_errors(tree: DrawnTree, gold: DrawnTree) -> tuple[int, int]:
    """Words with another head than in gold, and with the same head and another relation."""
    heads = [a != b for a, b in zip(tree.heads, gold.heads, strict=True)]
    relations = [a != b for a, b in zip(tree.relations, gold.relations, strict=True)]
    return sum(heads), sum(name and not head for head, name in zip(heads, relations, strict=True))


def tracks(heads: Sequence[int]) -> dict[int, int]:
    """How far out each arc runs, by its dependent (counted from 1): short ones first, each beyond all that share a
    stretch with it."""
    arcs = sorted((abs(head - word), min(head, word), word) for word, head in enumerate(heads, 1) if head)
    level: dict[int, int] = {}
    outermost = [0] * (len(heads) + 1)  # of the gap behind each word
    for length, first, word in arcs:
        gaps = range(first, first + length)
        level[word] = 1 + max(outermost[gap] for gap in gaps)
        for gap in gaps:
            outermost[gap] = level[word]
    return level


def _arcs(heads: Sequence[int]) -> list[str]:
    """The arcs beside each word, as wide as they need."""
    level = tracks(heads)
    most = max(level.values(), default=0)
    step = 2 if most <= _WIDE else 1
    grid = [[0] * (most * step + 1) for _ in heads]
    for word, track in level.items():
        _draw(grid, word - 1, heads[word - 1] - 1, track * step)
    rows = []
    for k, cells in enumerate(grid):
        # Two arcs that cross are no junction: the one that runs down goes over the other.
        row = "".join(_BOX[cell] if cell < 16 else "│" for cell in cells)
        rows.append(("◀" if heads[k] else row[0]) + row[1:])
    return rows


_OVER = 16  # an arc runs down here that does not end in this row


def _draw(grid: list[list[int]], word: int, head: int, x: int) -> None:
    """One arc: from two rows to the column x, and down between them."""
    top, bottom = min(word, head), max(word, head)
    for row, turn in ((top, _DOWN), (bottom, _UP)):
        grid[row][0] |= _RIGHT
        for column in range(1, x):
            grid[row][column] |= _LEFT | _RIGHT
        grid[row][x] |= _LEFT | turn
    for row in range(top + 1, bottom):
        grid[row][x] |= _UP | _DOWN | _OVER


def _padded(cells: Sequence[str], right: bool = False) -> list[str]:
    """The cells as wide as the widest of them, counted as a terminal does."""
    widths = [cell_len(cell) for cell in cells]
    most = max(widths, default=0)
    room = [" " * (most - width) for width in widths]
    return [space + cell if right else cell + space for cell, space in zip(cells, room, strict=True)]


def draw_trees(pairs: Iterable[tuple[str, DrawnTree, DrawnTree | None]]) -> Iterable[Text]:
    """Each tree under its title."""
    for title, tree, gold in pairs:
        drawn = Text(f"{title}\n", "italic")
        drawn.append_text(draw_tree(tree, gold))
        yield drawn
