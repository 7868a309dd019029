"""N-best lists as text: the kernels write what the definition, a loop over candidates, writes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.data import Candidate, CheckedParser, Corpus, FormatSpec
from palmette.data.analysed import LabelLists
from palmette.data.formats.nbest import NBestWriter

LABELS = ["B-NP", "O", "é", ""]
EMPTY = Candidate([], 0.0)
N = 4  # length of a list


def _blocks(rows: list[str], between: str, lists: list[list[Candidate[list[str]]]]) -> str:
    made, done = "", 0
    for candidates in lists:
        own = rows[done : done + len(candidates[0].output)]
        done += len(own)
        for rank, one in enumerate(candidates):
            number = one.score if one.probability is None else one.probability
            made += f"# {rank} {number:.6g}\n"
            made += "".join(f"{row}{between}{label}\n" for row, label in zip(own, one.output, strict=True)) + "\n"
    return made


def _side_by_side(rows: list[str], between: str, lists: list[list[Candidate[list[str]]]]) -> str:
    made, done = "", 0
    for candidates in lists:
        made += "# score " + " ".join(f"{one.score:.6g}" for one in candidates) + "\n"
        if candidates[0].probability is not None:
            made += "# probability " + " ".join(f"{one.probability:.6g}" for one in candidates) + "\n"
        for k in range(len(candidates[0].output)):
            labels = [one.output[k] for one in candidates] + ["_"] * (N - len(candidates))
            made += f"{rows[done]}{between}{(between or chr(9)).join(labels)}\n"
            done += 1
        made += "\n"
    return made


TWINS = {"crfpp": _blocks, "columns": _side_by_side}


@st.composite
def _lists(draw: st.DrawFn) -> tuple[list[int], list[LabelLists]]:
    """Lengths of sentences, and their lists in one to three parts."""
    sure, lengths, parts = draw(st.booleans()), [], []
    number = st.floats(allow_nan=False, width=32) | st.floats(-30, 30)
    for _ in range(draw(st.integers(1, 3))):
        own = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
        S, tokens = len(own), sum(own)
        labels = draw(st.lists(st.integers(0, len(LABELS) - 1), min_size=N * tokens, max_size=N * tokens))
        numbers = draw(st.lists(number, min_size=2 * S * N, max_size=2 * S * N))
        scores, probability = np.array(numbers).reshape(2, S, N)
        found = draw(st.lists(st.integers(1, N), min_size=S, max_size=S))
        parts.append(
            LabelLists(
                np.cumsum([0, *own]), np.array(labels, np.int32).reshape(N, tokens), scores,
                probability if sure else None, np.array(found),
            )
        )  # fmt: skip
        lengths += own
    return lengths, parts


def _corpus(text: str, format: str, columns: tuple[str, ...] | None = None) -> Corpus:
    return CheckedParser(FormatSpec(format=format, columns=columns, has_label=False).resolved("x"), "x")(
        text.encode(), 1
    )


def _rows(lengths: list[int], between: str, end: str) -> tuple[list[list[str]], str]:
    """Two cells per token, and their lines; some sentences have a document mark before them."""
    cells = [[f"wörd{k}" * (k % 3), "TAG"] if between == "\t" else [f"w{k}", "T"] for k in range(sum(lengths))]
    text, done = "", 0
    for s, length in enumerate(lengths):
        text += f"-DOCSTART- -X-{end}{end}" if s % 3 == 2 else ""
        text += "".join(between.join(row) + end for row in cells[done : done + length]) + end
        done += length
    return cells, text


@pytest.mark.parametrize("format", TWINS)
@pytest.mark.parametrize(("between", "end"), [("\t", "\n"), (" ", "\r\n")])
@given(given=_lists())
def test_lines_of_columns(format: str, between: str, end: str, given: tuple[list[int], list[LabelLists]]) -> None:
    lengths, parts = given
    cells, text = _rows(lengths, between, end)
    writer = NBestWriter("columns", format, LABELS, N, EMPTY)
    lists = [candidates for part in parts for candidates in part.candidates(LABELS)]
    wanted = TWINS[format]([between.join(row) for row in cells], between, lists)
    assert writer.write(_corpus(text, "columns"), parts).decode() == wanted


@pytest.mark.parametrize("format", TWINS)
@pytest.mark.parametrize("columns", [("form",), ("form", "xpos")])
@given(given=_lists())
def test_cells_of_other_formats(
    format: str, columns: tuple[str, ...], given: tuple[list[int], list[LabelLists]]
) -> None:
    lengths, parts = given
    words = [f"w{k % 5}" for k in range(sum(lengths))]
    text, done = "", 0
    for length in lengths:
        rows = [f"{k + 1}\t{words[done + k]}\t_\t_\tX{k}\t_\t0\t_\t_\t_\n" for k in range(length)]
        text += "# a comment\n" + "".join(rows) + "\n"
        done += length
    tags = [f"X{k}" for length in lengths for k in range(length)]
    cells = words if len(columns) == 1 else [f"{word}\t{tag}" for word, tag in zip(words, tags, strict=True)]
    lists = [candidates for part in parts for candidates in part.candidates(LABELS)]
    writer = NBestWriter("conllu", format, LABELS, N, EMPTY)
    assert writer.write(_corpus(text, "conllu", columns), parts).decode() == TWINS[format](cells, "\t", lists)
