"""Trees, drawn in the terminal and in SVG.

In the terminal a word stands on a line, its arcs beside it, so that long sentences and crossing arcs stay readable.

    1  We   PRON  ◀─┐      nsubj 2
    2  saw  VERB  ──┴─┬─┐  root
    3  the  DET   ◀─┐ │ │  det 4
    4  sea  NOUN  ◀─┴─┘ │  obj 2
    5  .    PUNCT ◀─────┘  punct 2

An arc ends with an arrow at the word that depends; behind the relation stands the number of its head. Given gold,
words with another head or relation than there get a mark and what would be right.

In SVG, for papers, slides and browsers, arcs stand over the words. Against gold, what was guessed stands above the
words and what gold has instead below them. Wrong arcs are dashed and their relations marked, so that nothing hangs on
colour alone. Colours follow the light or dark scheme of the reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text

from palmette.data.analysed import ParsedSentence, SentenceTree
from palmette.data.formats.conllu_light import DrawnTree
from palmette.reports.svg import FONT, paint, palette, text_of

# --- in the terminal -----------------------------------------------------------------------------------------


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


# --- in SVG --------------------------------------------------------------------------------------------------


SIZE = 15  # of the words, in pixels
_SMALL = 11
_CHARACTER = 0.56  # of a word's size: about the mean width of a letter; a bit too much is better than too little
_STEP = 24  # between one track of arcs and the next
_GAP = 22
_EDGE = 24
_CORNER = 7
_ENTITIES = "\n".join(
    f".palmette-tree .entity.{name} {{ {paint('fill', name)}; {paint('stroke', name)} }} "
    f".palmette-tree .type.{name} {{ {paint('fill', name)} }}"
    for name in ("blue", "orange", "teal", "pink", "amber")
)
# Every rule begins with the picture's own class: notebooks put the picture into their page, where others would see it.
_STYLE = f"""
{palette("palmette-tree")}
.palmette-tree text {{ font-family: {FONT}; text-anchor: middle; {paint("fill", "ink")} }}
.palmette-tree .paper {{ {paint("fill", "paper")} }}
.palmette-tree .word {{ font-size: {SIZE}px }}
.palmette-tree .tag, .palmette-tree .title {{ font-size: {_SMALL}px; {paint("fill", "quiet")} }}
.palmette-tree .title {{ text-anchor: start; font-style: italic }}
.palmette-tree .relation, .palmette-tree .halo {{ font-size: {_SMALL}px }}
.palmette-tree .halo {{ {paint("fill", "paper")}; {paint("stroke", "paper")}; stroke-width: 4px }}
.palmette-tree .arc {{ fill: none; {paint("stroke", "quiet")}; stroke-width: 1.4px }}
.palmette-tree .head {{ {paint("fill", "quiet")} }}
.palmette-tree .wrong .arc {{ {paint("stroke", "orange")}; stroke-dasharray: 5 3 }}
.palmette-tree .wrong .head, .palmette-tree .relation.wrong {{ {paint("fill", "orange")} }}
.palmette-tree .missed .arc {{ {paint("stroke", "teal")}; stroke-width: 1.8px }}
.palmette-tree .type {{ font-size: {_SMALL}px; font-weight: 600 }}
.palmette-tree .entity {{ fill-opacity: 0.12; stroke-width: 1.2px }}
{_ENTITIES}
.palmette-tree .missed .head, .palmette-tree .relation.missed {{ {paint("fill", "teal")} }}
"""


class _Place(NamedTuple):
    """Where a sentence's words stand."""

    x: Sequence[float]  # their middles
    top: float  # arcs start above this
    bottom: float  # and below this
    widths: Sequence[float]


def svg_of(pairs: Sequence[tuple[str, DrawnTree, DrawnTree | None]]) -> str:
    """A picture of trees, one under the other: (title, guess or only tree, gold or None)."""
    parts, width, y = [], 0.0, 0.0
    for title, tree, gold in pairs:
        body, w, h = _sentence(title, tree, gold)
        parts.append(f'<g transform="translate(0 {y:g})">\n{body}</g>\n')
        width, y = max(width, w), y + h
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="palmette-tree" width="{width:g}" height="{y:g}" '
        f'viewBox="0 0 {width:g} {y:g}">'
    )
    paper = f'<rect class="paper" width="{width:g}" height="{y:g}"/>'
    return f"{head}\n<style>{_STYLE}</style>\n{paper}\n{''.join(parts)}</svg>\n"


def _sentence(title: str, tree: DrawnTree, gold: DrawnTree | None) -> tuple[str, float, float]:
    """The drawing of a sentence, its width and height."""
    n = len(tree.forms)
    differs = [
        gold is not None and (tree.heads[k], tree.relations[k]) != (gold.heads[k], gold.relations[k]) for k in range(n)
    ]
    relations = [f"{WRONG} {name}" if bad else name for name, bad in zip(tree.relations, differs, strict=True)]
    missed = [k + 1 for k in range(n) if differs[k]]
    rows = max(tracks(tree.heads).values(), default=0) + (0 in tree.heads)
    below = _levels(gold, missed) if gold is not None else {}
    x, width = _across(tree, relations, gold if missed else None)
    top = (2 if title else 0.5) * _EDGE + _STEP * (rows + 0.5)
    bottom = top + SIZE + _SMALL + 14 + (_SMALL + 5 if tree.entities else 0)
    place = _Place(x, top, bottom, [_width(form, SIZE) for form in tree.forms])
    made = [f'<text class="title" x="{_EDGE}" y="{_EDGE}">{text_of(title)}</text>\n'] if title else []
    made += [_entities(tree, place), _words(tree, place)]
    level = tracks(tree.heads) | {k + 1: rows for k, head in enumerate(tree.heads) if head == 0}
    kinds = {k + 1: "wrong" if bad else "right" for k, bad in enumerate(differs)}
    made.append(_curves(tree.heads, relations, level, kinds, place, -1))
    if gold is not None:
        made.append(_curves(gold.heads, gold.relations, below, dict.fromkeys(missed, "missed"), place, 1))
    height = place.bottom + _STEP * (max(below.values(), default=0) + 0.75) + _EDGE
    if gold is not None:
        made.append(_legend(bool(missed), height - 4))
        height += _SMALL
    return "".join(made), max(width, 420.0 if gold is not None else 0.0), height


def _levels(gold: DrawnTree, missed: Sequence[int]) -> dict[int, int]:
    """The tracks of gold's arcs that were missed, and of its root below them."""
    level = tracks([head if k + 1 in missed else 0 for k, head in enumerate(gold.heads)])
    deepest = max(level.values(), default=0) + 1
    return {word: level.get(word, deepest) for word in missed}


def _legend(errors: bool, y: float) -> str:
    text = f"{WRONG} dashed, above: guessed and wrong. Below: what gold has instead." if errors else "as in gold"
    return f'<text class="title" x="{_EDGE}" y="{y:g}">{text_of(text)}</text>\n'


def _width(text: str, size: int) -> float:
    return cell_len(text) * size * _CHARACTER


def _across(tree: DrawnTree, relations: Sequence[str], gold: DrawnTree | None) -> tuple[list[float], float]:
    """The middles of the words, and the width of all: neighbours leave room for the relation of an arc between
    them, since that is as long as the arc."""
    sizes = [max(_width(form, SIZE), _width(tag, _SMALL)) for form, tag in zip(tree.forms, tree.tags, strict=True)]
    x: list[float] = []
    for k, size in enumerate(sizes):
        if k == 0:
            x.append(_EDGE + size / 2)
            continue
        room = (sizes[k - 1] + size) / 2 + _GAP
        for side, names in ((tree, relations), (gold, gold.relations if gold else ())):
            if side is not None and side.heads[k - 1] == k + 1:
                room = max(room, _width(names[k - 1], _SMALL) + _GAP)
            if side is not None and side.heads[k] == k:
                room = max(room, _width(names[k], _SMALL) + _GAP)
        x.append(x[-1] + room)
    return x, (x[-1] + sizes[-1] / 2 if x else 0.0) + _EDGE


def _words(tree: DrawnTree, place: _Place) -> str:
    made = []
    for x, form, tag in zip(place.x, tree.forms, tree.tags, strict=True):
        made.append(f'<text class="word" x="{x:g}" y="{place.top + SIZE + 3:g}">{text_of(form)}</text>\n')
        made.append(f'<text class="tag" x="{x:g}" y="{place.top + SIZE + _SMALL + 7:g}">{text_of(tag)}</text>\n')
    return "".join(made)


def _entities(tree: DrawnTree, place: _Place) -> str:
    """Boxes around the words of entities, with the types below the tags. Types have colours in order."""
    colours = dict(
        zip(sorted({kind for _, _, kind in tree.entities}), ("blue", "orange", "teal", "pink"), strict=False)
    )
    made = []
    for first, end, kind in tree.entities:
        left = place.x[first] - place.widths[first] / 2 - 4
        right = place.x[end - 1] + place.widths[end - 1] / 2 + 4
        colour = colours.get(kind, "amber")
        size = f'width="{right - left:g}" height="{SIZE + 8:g}"'
        made.append(f'<rect class="entity {colour}" x="{left:g}" y="{place.top:g}" {size} rx="5"/>\n')
        at = f'x="{(left + right) / 2:g}" y="{place.top + SIZE + 2 * _SMALL + 11:g}"'
        made.append(f'<text class="type {colour}" {at}>{text_of(kind)}</text>\n')
    return "".join(made)


def _starts(heads: Sequence[int], place: _Place) -> dict[int, float]:
    """Where on its head each arc starts, by its dependent: beside the middle, where the head's own arrow is, longer
    ones nearer to it, so that they do not cross."""
    found: dict[int, float] = {}
    for head in set(heads) - {0}:
        for way in (-1, 1):
            words = [k for k, above in enumerate(heads, 1) if above == head and (k - head) * way > 0]
            room = max(place.widths[head - 1] / 2, 6.0)
            step = min(4.0, (room - 3) / max(1, len(words)))
            for rank, word in enumerate(sorted(words, key=lambda k: -abs(k - head))):
                found[word] = place.x[head - 1] + way * (3 + step * (rank + 0.5))
    return found


def _curves(
    heads: Sequence[int], relations: Sequence[str], level: Mapping[int, int], kinds: Mapping[int, str],
    place: _Place, side: int,
) -> str:  # fmt: skip
    """The arcs to the words in `level`, and their relations over them. `side`: -1 above the words, 1 below them."""
    foot = place.bottom if side > 0 else place.top
    starts = _starts(heads, place)
    lines, names = [], []
    for word in sorted(level, key=lambda word: -level[word]):
        end, far = place.x[word - 1], foot + side * _STEP * level[word]
        start = starts.get(word, end)
        path = f"M{end:g} {far:g}V{foot:g}" if heads[word - 1] == 0 else _path(start, end, foot, far, side)
        tip = f"M{end:g} {foot:g}l-3.5 {side * 7:g}h7z"
        kind = kinds[word]
        lines.append(f'<g class="{kind}"><path class="arc" d="{path}"/><path class="head" d="{tip}"/></g>\n')
        at = f'x="{(start + end) / 2:g}" y="{far + (_SMALL + 2 if side > 0 else -6):g}"'
        name = text_of(relations[word - 1])
        names.append(f'<text class="halo" {at}>{name}</text><text class="relation {kind}" {at}>{name}</text>\n')
    return "".join(lines + names)


def _path(start: float, end: float, foot: float, far: float, side: int) -> str:
    way = 1 if end > start else -1
    bend = -side * _CORNER
    return (
        f"M{start:g} {foot:g}V{far + bend:g}Q{start:g} {far:g} {start + way * _CORNER:g} {far:g}"
        f"H{end - way * _CORNER:g}Q{end:g} {far:g} {end:g} {far + bend:g}V{foot:g}"
    )


# --- parsed sentences ----------------------------------------------------------------------------------------


def parsed_svg(sentence: ParsedSentence) -> str:
    """The trees as arcs over the words, one tree below the other."""
    return svg_of(_titled(sentence))


def parsed_text(sentence: ParsedSentence) -> str:
    """The trees with a word a line."""
    drawn = [(f"{title}\n" if title else "") + draw_tree(tree, gold).plain for title, tree, gold in _titled(sentence)]
    return "\n".join(drawn).rstrip("\n")


def _titled(sentence: ParsedSentence) -> list[tuple[str, DrawnTree, DrawnTree | None]]:
    gold = None if sentence.gold is None else _tree(sentence, sentence.gold)
    several = len(sentence.trees) > 1
    return [
        (f"score {tree.score:.2f}" if several and tree.score is not None else "", _tree(sentence, tree), gold)
        for tree in sentence.trees
    ]


def _tree(sentence: ParsedSentence, arcs: SentenceTree) -> DrawnTree:
    return DrawnTree(sentence.words, sentence.tags or [""] * len(sentence.words), arcs.heads, arcs.relations)
