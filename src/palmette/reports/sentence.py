"""Sentences for people to read: a typed sentence with its labels, and an explanation as plain data and as tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from palmette.data.corpus import Corpus
from palmette.data.formats.labelling import ConfidenceOutput, confidence_cells
from palmette.data.formats.raw import parse_text
from palmette.data.labels.schemes import Span, spans
from palmette.errors import DataError
from palmette.estimators.tagger import Tagger
from palmette.reports.tables import OutputConsole
from palmette.structures.chain.explain import Explanation
from palmette.structures.chain.files import with_columns
from palmette.structures.chain.nbest import nbest_lists
from palmette.structures.chain.posteriors import confidence_of


def typed_sentence(tagger: Tagger, helpers: list[Tagger], text: str, **tokens: Any) -> Corpus:
    """The words with the columns that helpers made; `tokens` as for `parse_text`."""
    line = " ".join(text.split()).encode(errors="surrogateescape")
    corpus = parse_text(line, "the text", **tokens)
    if not corpus.n_tokens:
        raise DataError("there is no word in the text")
    return with_columns(corpus, [helper.model_ for helper in helpers], tagger.model_)


def tag_sentence(
    tagger: Tagger, helpers: list[Tagger], text: str, bias: dict[str, float] | None = None, decode: str = "viterbi",
    **tokens: Any,
) -> tuple[Corpus, list[str]]:  # fmt: skip
    """The words with the columns that helpers made, and the labels; `tokens` as for `parse_text`."""
    corpus = typed_sentence(tagger, helpers, text, **tokens)
    ids = tagger.model_.decode(corpus, decode, bias).labels
    return corpus, [tagger.labels_[i] for i in ids.tolist()]


def tagged_text(
    tagger: Tagger,
    helpers: list[Tagger],
    text: str,
    bias: dict[str, float] | None = None,
    tell: ConfidenceOutput | None = None,
    **tokens: Any,
) -> str:
    """Aligned columns, a token a line: the word, the helpers' columns, the label, and how sure that is; before them
    how sure all labels together are."""
    corpus, labels = tag_sentence(tagger, helpers, text, bias, **tokens)
    rows = [[*words, label] for words, label in zip(corpus.sentence(0), labels, strict=True)]
    head = ""
    if tell is not None and any(tell):
        ids = np.array([tagger.labels_.index(label) for label in labels], np.int32)
        found = confidence_of(tagger.model_, corpus, ids, bias, marginals=tell.marginals)
        if tell.confidence:
            head = f"# {found.called} {found.sentences[0]:.6g}\n"
        elif not found.calibrated:
            head = f"# {found.called}\n"
        further = confidence_cells(corpus.offset, found, tagger.labels_, tell)
        rows = [[*row, *more] for row, more in zip(rows, further, strict=True)]
    return head + aligned(rows)


def nbest_text(
    tagger: Tagger, helpers: list[Tagger], text: str, n: int, bias: dict[str, float] | None = None, **tokens: Any
) -> str:
    """A tagged sentence with a column per label sequence of the n best; above it its score (and probability)."""
    corpus = typed_sentence(tagger, helpers, text, **tokens)
    (candidates,) = nbest_lists(tagger.model_, corpus, n, bias)
    blank = [""] * (len(corpus.columns) - 1)
    rows = [["score", *blank, *(f"{one.score:.6g}" for one in candidates)]]
    if candidates[0].probability is not None:
        rows.append(["probability", *blank, *(f"{one.probability:.4f}" for one in candidates)])
    for k, words in enumerate(corpus.sentence(0)):
        rows.append([*words, *(one.output[k] for one in candidates)])
    return aligned(rows)


def aligned(rows: list[list[str]]) -> str:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join(lines)


def draw_chunks(cells: list[list[str]], labels: list[str]) -> Table:
    """Words with the cells under them and a bar under each span, wrapped to the console's width by rows."""
    table = Table(box=None, padding=(0, 1, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    for line in _wrapped(cells, labels, 88):
        for row in line:
            table.add_row(row)
        table.add_row(Text(""))
    return table


COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "red")


def _wrapped(cells: list[list[str]], labels: list[str], width: int) -> list[list[Text]]:
    """Blocks of rows: words, further columns, span bars. A span is never broken over two blocks if it fits."""
    inside = [False] * len(cells)
    owner: list[Span | None] = [None] * len(cells)
    for span in spans(labels):
        for k in range(span.start, span.end):
            owner[k] = span
            inside[k] = k > span.start
    kinds = sorted({span.type for span in owner if span is not None})
    colour = {kind: COLOURS[k % len(COLOURS)] for k, kind in enumerate(kinds)}
    widths = [max(*(len(cell) for cell in row), _label_room(owner[k], k)) for k, row in enumerate(cells)]
    blocks, start = [], 0
    while start < len(cells):
        stop, used = start, 0
        while stop < len(cells) and (used + widths[stop] + 1 <= width or stop == start):
            used += widths[stop] + 1
            stop += 1
        begin = next((k for k in range(stop, start, -1) if k == len(cells) or not inside[k]), stop)
        stop = begin if begin > start else stop
        blocks.append(_block(cells, owner, widths, colour, start, stop))
        start = stop
    return blocks


def _label_room(span: Span | None, k: int) -> int:
    """A one-token span must be wide enough for its name."""
    return 0 if span is None or span.end - span.start > 1 else len(span.type)


def _block(
    cells: list[list[str]], owner: list[Span | None], widths: list[int], colour: dict[str, str], start: int, stop: int
) -> list[Text]:  # fmt: skip
    rows = [Text() for _ in range(len(cells[0]) + 1)]
    for k in range(start, stop):
        span = owner[k]
        style = "" if span is None else colour[span.type]
        for c, cell in enumerate(cells[k]):
            rows[c].append(cell.ljust(widths[k] + 1), "bold" if c == 0 else "dim")
        joined = span is not None and k + 1 < min(span.end, stop)
        bar = ("─" if span is not None else " ") * widths[k] + ("─" if joined else " ")
        if span is not None and k == max(span.start, start):
            bar = span.type + bar[len(span.type) :]
        rows[-1].append(bar, style)
    return rows


def print_explanation(found: Explanation, top: int = 15, console: Console | None = None) -> None:
    """Print an explanation: the two sequences side by side, then the largest contributions."""
    console = console or OutputConsole(100)
    first, second = found.first_states or found.first.output, found.second_states or found.second.output
    table = Table(box=None, padding=(0, 2, 0, 0))
    for head in ("", "best", "runner-up"):
        table.add_column(head, no_wrap=True)
    for word, one, two in zip(found.words, first, second, strict=True):
        same = one == two
        table.add_row(escape(word), escape(one), "[dim]=[/dim]" if same else f"[bold]{escape(two)}[/bold]")
    table.add_row("[dim]score[/dim]", _amount(found.first.score), _amount(found.second.score))
    if found.first.probability is not None and found.second.probability is not None:
        table.add_row("[dim]probability[/dim]", f"{found.first.probability:.4f}", f"{found.second.probability:.4f}")
    console.print(table)
    console.print(f"\nThe best sequence is ahead by {_amount(found.difference)}:\n")
    console.print(_weighed(found, top))


def _weighed(found: Explanation, top: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("", justify="right", no_wrap=True)
    for head in ("attribute", "at", "best", "runner-up"):
        table.add_column(head)
    shown, rest = found.contributions[:top], found.contributions[top:]
    for c in shown:
        number, word = str(c.token + 1), found.words[c.token]
        where = number if word == number else f"{number} {word}"  # ready-made attributes have no words
        table.add_row(f"{c.amount:+.4f}", escape(c.name), escape(where), escape(c.first), escape(c.second))
    if rest:
        table.add_row(f"{math.fsum(c.amount for c in rest):+.4f}", f"[dim]{len(rest)} others[/dim]")
    table.add_row(f"[bold]{found.difference:+.4f}[/bold]", "[bold]total[/bold]")
    return table


def _amount(value: float) -> str:
    return f"{value:.4f}"
