"""CoNLL-U and CoNLL-X: ten columns separated by TAB, read as a corpus or as a treebank, and written back.

Of the lines that were read only the fields that are asked for change; comments, multi-word tokens, empty nodes, line
ends and all other cells come back byte for byte. The rules of the format are in `conllu_light`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from msgspec.structs import replace

from palmette.data.analysed import Parse
from palmette.data.corpus import (
    Column,
    Corpus,
    Lines,
    bytes_of,
    check_cells,
    column_of_strings,
    offsets_from_lines,
)
from palmette.data.files import FilePath, shown
from palmette.data.formats.columns import (
    ColumnLayout,
    LineCells,
    chosen_columns,
    insert_comments,
    make_corpus,
    paste_labels,
    read_cells,
    read_lines,
    replace_cells,
)
from palmette.data.formats.conllu_light import (
    CONLLU_FIELDS,
    DEPREL,
    HEAD,
    MISC,
    UNKNOWN,
    Fault,
    entity_of,
    faults,
    heads_of_cells,
    with_entity,
    wrong_number,
)
from palmette.data.formats.jsonl import write_objects
from palmette.data.formats.labelling import MARK, NO_SPAN, Labelling, token_records, write_cells
from palmette.data.formats.registry import Format, Output, Parser
from palmette.data.formats.spec import FormatSpec
from palmette.data.stream import BLANK_LINES, BLOCK, cut_blocks
from palmette.data.text import MAX_CELL, PLAIN, UTF8, TextSpec, read_text, write_text
from palmette.data.treebank import ENTITY, FIELDS, NOTHING, OUTSIDE, Treebank, tokens_of, without_trees
from palmette.errors import DataError, UsageError
from palmette.kernels.io import columns as kernels
from palmette.kernels.io.columns import BLANK_LINE, splice
from palmette.options.spelling import named

logger = logging.getLogger(__name__)

TREE = ("head", "deprel")
_LONGEST_ID = 9  # digits of a word number: longer ones are no such number, and might not fit into an i64


# Reading as a corpus


def _hint() -> str:
    return f"CoNLL-U has ten fields with TABs between them; a tagger reads other input by {named(FormatSpec, 'format')}"


def field_number(name: str) -> int:
    """The number of a field that the user gives by name or number."""
    if name.lower() in CONLLU_FIELDS:
        return CONLLU_FIELDS.index(name.lower())
    try:
        return int(name)
    except ValueError:
        known = ", ".join(CONLLU_FIELDS)
        raise UsageError(f"there is no column {name!r}: give a number or one of {known}") from None


def _parser(spec: FormatSpec, source: str) -> Parser:
    columns = None if spec.columns is None else tuple(map(field_number, spec.columns))
    label = None if spec.label is None else field_number(spec.label)
    layout = ColumnLayout(columns=columns, label=label, labelled=spec.has_label is not False)
    return lambda data, line: parse_conllu(data, layout, source, line)


def parse_conllu(data: bytes, layout: ColumnLayout, source: str, first_line: int = 1) -> Corpus:
    """A corpus from the bytes of whole lines. Labels are written into the label's field, nowhere if it is None."""
    lines = read_lines(data, source, first_line, conllu=True)
    lines.between, lines.n_columns = kernels.TAB, len(CONLLU_FIELDS)
    if not lines.tokens.size:
        return Corpus(np.zeros(1, np.int64), lines=lines, source=source)
    cells = read_cells(lines, lines.tokens, source, _hint())
    _check_other_lines(lines, source)
    _check_numbers(cells, lines, source)
    label, _ = chosen_columns(layout, cells.n_columns, source, first_line + int(lines.tokens[0]))
    if label is None:
        lines.cut = lines.resume = np.zeros(0, np.int64)
    else:
        lines.cut, lines.resume = cells.start[label], cells.end[label]
    return make_corpus(lines, cells, layout, source)


def _check_other_lines(lines: Lines, source: str) -> None:
    """Ranges and empty nodes have ten fields too."""
    others = np.flatnonzero(lines.kind == kernels.OTHER_LINE)
    others = others[lines.data[lines.start[others]] != kernels.HASH]
    if others.size:
        read_cells(lines, others, source, _hint())


def _check_numbers(cells: LineCells, lines: Lines, source: str) -> None:
    """Words are numbered 1, 2, ... in each sentence."""
    offset = offsets_from_lines(lines.kind, lines.tokens)
    ids = cells.column(0)
    numbers = np.array([int(t) if _is_number(t) else -1 for t in ids.types])
    expected = np.arange(1, ids.ids.size + 1) - np.repeat(offset[:-1], np.diff(offset))
    bad = np.flatnonzero(numbers[ids.ids] != expected)
    if bad.size:
        token = int(bad[0])
        line = lines.first_line + int(lines.tokens[token])
        raise wrong_number(ids.types[ids.ids[token]], int(expected[token]), source, line)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _LONGEST_ID


# Reading as a treebank


def read_treebank(path: FilePath, *, labelled: bool = True, skip_bad: bool = False, spec: TextSpec = PLAIN) -> Treebank:
    """A whole file. `labelled`: every sentence must have a tree; if one has none, that is an error, or with `skip_bad`
    the sentence is left out, which is logged. Not labelled: heads and relations are ignored. `spec`: the encoding."""
    return _whole(read_text(path, spec), _TreebankReader(shown(path), labelled, skip_bad, spec.max_cell))


def parse_treebank(data: bytes, source: str, *, labelled: bool = True, skip_bad: bool = False) -> Treebank:
    """A treebank from the bytes of a file; the options are those of `read_treebank`."""
    return _whole(data, _TreebankReader(source, labelled, skip_bad))


def _whole(data: bytes, reader: _TreebankReader) -> Treebank:
    made = reader(data, 1)
    reader.report()
    return made


def stream_treebank(
    path: FilePath, *, labelled: bool = True, skip_bad: bool = False, block: int = BLOCK, spec: TextSpec = PLAIN
) -> Iterator[Treebank]:
    """A file as treebanks of about `block` bytes, cut between sentences; from a pipe, as soon as one has arrived.
    Parts without a sentence (only comments, for example) are yielded too, so that they can be written back."""
    reader = _TreebankReader(shown(path), labelled, skip_bad, spec.max_cell)
    for line, data in cut_blocks(path, BLANK_LINES, block, spec):
        yield reader(data, line)
    reader.report()


class _TreebankReader:
    """Blocks of bytes to treebanks, and the sentences that were left out."""

    def __init__(self, source: str, labelled: bool, skip_bad: bool, max_cell: int = MAX_CELL) -> None:
        self.source, self.labelled, self.skip_bad, self.max_cell = source, labelled, skip_bad, max_cell
        columns = tuple(map(CONLLU_FIELDS.index, FIELDS))
        self.columns = (*columns, HEAD) if labelled else columns
        self.n_sentences = 0
        self.left_out: list[DataError] = []

    def __call__(self, data: bytes, first_line: int) -> Treebank:
        has_entities = b"Entity=" in data
        columns = (*self.columns, MISC) if has_entities else self.columns
        layout = ColumnLayout(columns=columns, label=DEPREL, labelled=self.labelled)
        corpus = parse_conllu(data, layout, self.source, first_line)
        check_cells(corpus, self.max_cell)
        entities = None
        if has_entities and corpus.n_tokens:
            *rest, misc = corpus.columns
            entities, corpus = _entities(misc), replace(corpus, columns=rest)
        return self._treebank(corpus, entities)

    def _treebank(self, corpus: Corpus, entities: Column | None) -> Treebank:
        if corpus.n_tokens == 0:
            return without_trees(replace(corpus, columns=[column_of_strings([]) for _ in FIELDS]))
        if not self.labelled:
            self.n_sentences += corpus.n_sentences
            return without_trees(corpus).with_entities(entities)
        *columns, head_cells = corpus.columns
        assert corpus.labels is not None
        heads = heads_of_cells(head_cells.types)[head_cells.ids]
        made = Treebank(replace(corpus, columns=columns, labels=None), heads, corpus.labels, entities)
        return self._checked(made)

    def _checked(self, treebank: Treebank) -> Treebank:
        relations = treebank.relations
        nameless = np.array([not name for name in relations.types], np.bool_)[relations.ids]
        found = faults(treebank.heads, treebank.offset, nameless)
        for fault in found:
            error = fault.error(self.n_sentences, self.source, treebank.corpus.line_of(fault.token))
            if not self.skip_bad:
                raise error
            self.left_out.append(error)
        self.n_sentences += treebank.n_sentences
        return _without_faults(treebank, found) if found else treebank

    def report(self) -> None:
        if self.left_out:
            first = str(self.left_out[0]).partition("\n")[0]
            logger.warning(
                "%d of %d sentences left out, because they have no valid tree; the first: %s",
                len(self.left_out), self.n_sentences, first,
            )  # fmt: skip


def _entities(misc: Column) -> Column | None:
    """Return the labels of entities in the cells of MISC; None if no cell has one."""
    labels = [entity_of(cell) for cell in misc.types]
    if not any(labels):
        return None
    made = column_of_strings(label or OUTSIDE for label in labels)
    return made.with_ids(made.ids[misc.ids])


def _without_faults(treebank: Treebank, bad: Sequence[Fault]) -> Treebank:
    """The treebank without some sentences. Their lines are kept, so that line numbers hold, but are not written."""
    keep = np.ones(treebank.n_sentences, bool)
    keep[[fault.sentence for fault in bad]] = False
    made = treebank.take(np.flatnonzero(keep))
    lines = treebank.corpus.lines
    if lines is None:
        return made
    blank = lines.kind == kernels.BLANK_LINE
    part = np.cumsum(blank) - blank  # a blank line belongs to the sentence that it ends
    gone = np.isin(part, part[lines.tokens[treebank.offset[:-1][~keep]]])
    tokens = lines.tokens[tokens_of(treebank.offset, np.flatnonzero(keep))]
    kept = replace(
        lines, kind=np.where(gone, np.uint8(kernels.DROPPED_LINE), lines.kind), tokens=tokens,
        cut=np.zeros(0, np.int64), resume=np.zeros(0, np.int64),
    )  # fmt: skip
    return replace(made, corpus=replace(made.corpus, lines=kept))


# Writing labels


def _write(given: Labelling) -> bytes:
    """The lines of the input, each with its label in the label's field."""
    lines = given.corpus.lines
    assert lines is not None
    if lines.cut.size != given.corpus.n_tokens:
        raise UsageError(
            "name the CoNLL-U field that the label goes to (label=upos, xpos, ...), or write columns or jsonl"
        )
    out = paste_labels(given.corpus, given.ids, given.labels, MARK)
    if given.confidence is not None:
        out = _with_misc(out, lines, [_misc(row) for row in given.cells()])
    comments = given.comments("= ")
    return out if comments is None else insert_comments(out, given.corpus, comments)


def _misc(row: Sequence[str]) -> str:
    names = ("Confidence", "SpanConfidence")
    return "|".join(f"{name}={value}" for name, value in zip(names, row, strict=False) if value != NO_SPAN)


def _with_misc(out: bytes, lines: Lines, misc: Sequence[str]) -> bytes:
    """Lines with a text appended to the last field of each word."""
    rows = out.split(b"\n")
    for line, text in zip(lines.tokens.tolist(), misc, strict=True):
        rest, tab, last = rows[line].rpartition(b"\t")
        rows[line] = rest + tab + (b"" if last == b"_" else last + b"|") + text.encode()
    return b"\n".join(rows)


def _relabel(corpus: Corpus, spec: FormatSpec, ids: np.ndarray, labels: Sequence[str]) -> bytes:
    assert corpus.lines is not None
    return replace_cells(corpus.lines, corpus.lines.cut, corpus.lines.resume, ids, labels)


_NO_ROOM = "CoNLL-U has no field for all labels: write jsonl or columns"

FORMAT = Format(
    _parser,
    BLANK_LINES,
    {
        "conllu": Output(_write, {"marginals": _NO_ROOM}),
        "columns": Output(write_cells),
        "jsonl": Output(write_objects),
    },
    records=token_records,
    relabel=_relabel,
)


# Writing trees


def write_treebank(
    path: FilePath, treebank: Treebank | Iterable[Treebank], *, fields: Sequence[str] = TREE, encoding: str = UTF8
) -> None:
    """A treebank, or several in the order in which `stream_treebank` yields them, to a file: whole or not at all."""
    with write_text(path, encoding) as file:
        for part in (treebank,) if isinstance(treebank, Treebank) else treebank:
            file.write(treebank_bytes(part, fields=fields))


def treebank_bytes(treebank: Treebank, *, fields: Sequence[str] = TREE) -> bytes:
    """The text of a treebank. `fields` are those that are replaced in its own lines: head, deprel, entity, and any of
    FIELDS.
    A treebank without lines, made in Python or from others, is written from its cells."""
    known = (*FIELDS, *TREE, ENTITY)
    unknown = [name for name in fields if name not in known]
    if unknown:
        raise UsageError(f"cannot write the field {unknown[0]!r}: choose {', '.join(known)}")
    lines = treebank.corpus.lines
    if lines is None:
        return _from_cells(treebank)
    return _into_lines(treebank, lines, sorted(fields, key=_place))


def _place(field: str) -> int:
    """Return the number of the CoNLL-U field that holds a field of a treebank."""
    return MISC if field == ENTITY else CONLLU_FIELDS.index(field)


def _cells(treebank: Treebank, field: str) -> tuple[np.ndarray, Sequence[str]]:
    """The type i32[N] of each token's cell, and the types."""
    if field == "head":
        largest = int(treebank.heads.max(initial=0))
        return treebank.heads - UNKNOWN, [NOTHING, *map(str, range(largest + 1))]
    column: Column = treebank.relations if field == "deprel" else treebank.column(field)
    if broken := next((cell for cell in column.types if not cell or any(c in cell for c in "\t\n\r")), None):
        raise DataError(f"the {field} {broken!r} cannot be written in CoNLL-U: it holds a TAB or a line end")
    return column.ids, column.types


def _into_lines(treebank: Treebank, lines: Lines, fields: Sequence[str]) -> bytes:
    """The lines with a new cell per token and field, and without the lines of sentences that were left out."""
    start, end, piece, strings = [], [], [], [""]
    if treebank.n_tokens:
        cell_start, cell_end, _, _ = kernels.split_cells(
            lines.data, lines.start, lines.end, lines.tokens, len(CONLLU_FIELDS), kernels.TAB
        )
        for field in fields:
            at = _place(field)
            if field == ENTITY:
                ids, types = _misc_cells(treebank, lines, cell_start[at], cell_end[at])
            else:
                ids, types = _cells(treebank, field)
            start.append(cell_start[at])
            end.append(cell_end[at])
            piece.append(ids.astype(np.int64) + len(strings))
            strings += types
    gone = np.flatnonzero(lines.kind == kernels.DROPPED_LINE)
    start.append(lines.start[gone])
    end.append(np.append(lines.start[1:], lines.data.size)[gone])
    piece.append(np.zeros(gone.size, np.int64))
    starts = np.concatenate(start)
    order = np.argsort(starts, kind="stable")
    text, offset = bytes_of(strings)
    pieces = np.concatenate(piece)
    return splice(lines.data, starts[order], np.concatenate(end)[order], pieces[order], text, offset).tobytes()


def _misc_cells(
    treebank: Treebank, lines: Lines, start: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, Sequence[str]]:
    """Return the cells of MISC with the labels of entities, as `_cells` does."""
    raw, labels = lines.data.tobytes(), _entity_cells(treebank)
    places = zip(start.tolist(), end.tolist(), labels, strict=True)
    made = column_of_strings(with_entity(raw[a:b].decode(), label) for a, b, label in places)
    return made.ids, made.types


def _entity_cells(treebank: Treebank) -> list[str]:
    """Return the label of each token, `O` if entities are not known."""
    return [OUTSIDE] * treebank.n_tokens if treebank.entities is None else treebank.entities.cells()


def _from_cells(treebank: Treebank) -> bytes:
    cells: dict[str, list[str]] = {}
    for field in (*FIELDS, *TREE):
        ids, types = _cells(treebank, field)
        cells[field] = [types[k] for k in ids.tolist()]
    misc = [with_entity(NOTHING, label) for label in _entity_cells(treebank)]
    made = []
    for first, last in pairwise(treebank.offset.tolist()):
        for i in range(first, last):
            row = [cells[field][i] for field in (*FIELDS, *TREE)]
            made.append("\t".join([str(i - first + 1), *row, NOTHING, misc[i]]))
        made.append("")
    return "".join(row + "\n" for row in made).encode()


# N-best lists of trees as CoNLL-U: each sentence is repeated per tree, under comments with rank and score.


def nbest_treebank_bytes(treebank: Treebank, lists: Sequence[Sequence[Parse]], fields: Sequence[str] = ()) -> bytes:
    """The text of a treebank with several trees per sentence; their numbers may differ."""
    most = max((len(found) for found in lists), default=0)
    ranked = [_ranked(treebank, lists, rank, fields) for rank in range(most)]
    made: list[bytes] = []
    at = 0
    for s, found in enumerate(lists):
        start, end = _lines_of(treebank, s)
        if ranked and start > at:
            made += ranked[0][at:start]
        for rank, one in enumerate(found):
            block = ranked[rank][start:end]
            carriage = "\r" if block[0].endswith(b"\r") else ""
            if block[-1].strip(b" \t\r"):
                block = [*block, carriage.encode()]  # the last sentence of a file may have no blank line
            head = (f"# nbest = {rank + 1}{carriage}", f"# score = {one.score:.6g}{carriage}")
            made += [*(line.encode() for line in head), *block]
        at = end
    rest = ranked[0][at:] if ranked else treebank_bytes(treebank, fields=()).split(b"\n")
    return b"\n".join([*made, *rest]) if made and rest else b"\n".join(made or rest)


def _ranked(treebank: Treebank, lists: Sequence[Sequence[Parse]], rank: int, fields: Sequence[str]) -> list[bytes]:
    """The lines with the trees of one rank (the last tree if a list is shorter)."""
    chosen = [found[min(rank, len(found) - 1)] for found in lists]
    heads = np.array([head for one in chosen for head, _ in one.output], np.int32)
    relations = column_of_strings(name for one in chosen for _, name in one.output)
    return treebank_bytes(treebank.with_trees(heads, relations), fields=(*TREE, *fields)).split(b"\n")


def _lines_of(treebank: Treebank, s: int) -> tuple[int, int]:
    """The lines of a sentence, from after the blank line before it up to and with the one after it."""
    lines = treebank.corpus.lines
    assert lines is not None
    blank = np.flatnonzero(lines.kind == BLANK_LINE)
    first = int(lines.tokens[treebank.offset[s]])
    k = int(np.searchsorted(blank, first))
    start = int(blank[k - 1]) + 1 if k else 0
    return start, int(blank[k]) + 1 if k < blank.size else int(lines.start.size)
