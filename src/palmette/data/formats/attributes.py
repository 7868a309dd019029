r"""CRFsuite attribute files: `label TAB attribute[:value] TAB ...`, blank line between sequences.

`\:` and `\\` stand for a colon and a backslash in a name or label; any other backslash is itself. No value
means 1. `@weight:2` before the label, or on a line of its own, weights the whole sequence. CRFsuite takes
what follows an unescaped colon for a number and reads other text as 0: here such a name is an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import msgspec
import numpy as np

from palmette.data.corpus import Attributes, Column, Corpus, Lines, offsets_from_lines
from palmette.data.formats.columns import insert_comments, paste_labels, replace_cells
from palmette.data.formats.jsonl import TAGS
from palmette.data.formats.labelling import BREAKING, MARK, Labelling, cell_rows, token_records, write_labels
from palmette.data.formats.registry import Format, Output, Parser
from palmette.data.formats.spec import FormatSpec
from palmette.data.stream import BLANK_LINES
from palmette.data.text import check_utf8, n_line_ends
from palmette.errors import DataError, UsageError
from palmette.kernels.io import attributes as kernels
from palmette.kernels.io.columns import BLANK_LINE, MARK_LINE, OTHER_LINE, TOKEN_LINE, intern_cells, split_lines
from palmette.options.spelling import named

_COLON = re.compile(r"\\[:\\]|:")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WEIGHT = b"@weight"
_LARGEST = float(np.finfo(np.float32).max)


def escaped(name: str) -> str:
    """A name or label as it is written into an attribute file."""
    return name.replace("\\", "\\\\").replace(":", "\\:")


def parse_attributes(data: bytes, source: str, first_line: int = 1, labelled: bool = True) -> Corpus:
    """A corpus from the bytes of whole lines."""
    check_utf8(data, source, first_line)
    raw = np.frombuffer(data, np.uint8)
    n_lines = n_line_ends(data) + (not data.endswith(b"\n") and len(data) > 0)
    start, end, kind = split_lines(raw, n_lines, False)
    kind[kind == MARK_LINE] = TOKEN_LINE  # -DOCSTART- is a label like any other here
    body = start.copy()
    weights = _declared(data, start, end, kind, body, source, first_line) if _WEIGHT in data else {}
    tokens = np.flatnonzero(kind == TOKEN_LINE)
    offset = offsets_from_lines(kind, tokens)
    label_start, label_end, ptr, name_start, name_end, val, *rest = kernels.split_attributes(
        raw, body[tokens], end, tokens, data.count(b"\t")
    )
    labels_escaped, names_escaped, wrong, where, bad_start, bad_end = rest
    if wrong != kernels.FINE:
        cell = data[bad_start:bad_end].decode()
        raise _bad_cell(wrong, cell, source, first_line + int(tokens[where]))
    lines = Lines(raw, start, end, kind, tokens, label_start, label_end, 0, first_line)
    corpus = Corpus(offset, lines=lines, source=source)
    val, left_over = _values(data, val, name_end, ptr, corpus)
    corpus.attributes = Attributes(ptr, _column(raw, name_start, name_end, names_escaped), val, left_over)
    if labelled and tokens.size:
        corpus.labels = _column(raw, label_start, label_end, labels_escaped)
        _check_comments(corpus)
    if weights:
        corpus.weight = _sentence_weights(weights, corpus)
    return corpus


def _bad_cell(wrong: int, cell: str, source: str, line: int) -> DataError:
    shown = cell if len(cell) <= 60 else cell[:57] + "..."
    message = {
        kernels.LABEL_HAS_COLON: f"the label {shown!r} has a value",
        kernels.NO_NAME: f"the attribute {shown!r} has a value but no name",
        kernels.NO_VALUE: f"the attribute {shown!r} has a colon but no number after it",
    }[wrong]
    return DataError(message, file=source, line=line, hint=_advice(cell))


def _advice(cell: str) -> str:
    fixed = _COLON.sub(lambda found: found[0] if len(found[0]) == 2 else "\\:", cell)
    return f"a colon in a name is written `\\:`, thus: {fixed if len(fixed) <= 200 else fixed[:197] + '...'}"


def _column(raw: np.ndarray, start: np.ndarray, end: np.ndarray, has_escapes: bool) -> Column:
    ids, type_start, type_end, hash, power = intern_cells(raw, start, end)
    if not has_escapes:
        return Column(ids, raw, type_start, type_end, hash, power)
    text, offset = kernels.unescaped(raw, type_start, type_end)
    text.flags.writeable = False  # like `raw`: else the kernel is compiled once more
    # Two spellings may be one name: a lone backslash and an escaped one.
    number, type_start, type_end, hash, power = intern_cells(text, offset[:-1], offset[1:])
    return Column(number[ids], text, type_start, type_end, hash, power)


def _values(
    data: bytes, val: np.ndarray, name_end: np.ndarray, ptr: np.ndarray, corpus: Corpus
) -> tuple[np.ndarray, np.ndarray]:
    """The values f32[z], with those that the kernel has left to Python; of size 0 when all are 1. And what float32
    leaves of them f32[z]; of size 0 when nothing."""
    lines = corpus.lines
    assert lines is not None
    for k in np.flatnonzero(~np.isfinite(val)).tolist():
        token = int(np.searchsorted(ptr, k, side="right")) - 1
        line = int(lines.tokens[token])
        stop = int(lines.end[line])
        tab = data.find(b"\t", int(name_end[k]), stop)
        text = data[int(name_end[k]) + 1 : stop if tab < 0 else tab].decode()
        value = float(text) if _NUMBER.fullmatch(text) else math.nan
        if not abs(value) <= _LARGEST:
            first = max(data.rfind(b"\t", 0, int(name_end[k])), 0) + 1
            cell = data[first : stop if tab < 0 else tab].decode()
            what = "not a number" if math.isnan(value) else "too large"
            raise DataError(
                f"the value of {cell[:60]!r} is {what}: {text[:20]!r}",
                file=corpus.source, line=lines.first_line + line, hint=_advice(cell),
            )  # fmt: skip
        val[k] = value
    none = np.zeros(0, np.float32)
    if np.all(val == 1.0):
        return none, none
    values = val.astype(np.float32)
    left_over = (val - values).astype(np.float32)
    return values, left_over if left_over.any() else none


def _check_comments(corpus: Corpus) -> None:
    """CRFsuite skips `# ...` lines. Here there are no comments; a lone `#` is a label (as in Penn's tag set)."""
    labels, attributes = corpus.labels, corpus.attributes
    assert labels is not None
    assert attributes is not None
    bare = np.diff(attributes.ptr) == 0
    for k, label in enumerate(labels.types):
        if label.startswith("#") and " " in label and (found := np.flatnonzero(bare & (labels.ids == k))).size:
            raise DataError(
                f"a comment: {label[:60]!r}", file=corpus.source, line=corpus.line_of(int(found[0])),
                hint="this format has no comments; remove the line",
            )  # fmt: skip


def _declared(
    data: bytes, start: np.ndarray, end: np.ndarray, kind: np.ndarray, body: np.ndarray,
    source: str, first_line: int,
) -> dict[int, float]:  # fmt: skip
    """The weights by line; the bodies of these lines start after the declaration."""
    weights = {}
    raw = np.frombuffer(data, np.uint8)
    starts = np.flatnonzero((kind == TOKEN_LINE) & (raw[np.minimum(start, raw.size - 1)] == _WEIGHT[0]))
    for line in starts.tolist():
        cell, tab, _ = data[start[line] : end[line]].partition(b"\t")
        name, _, value = cell.partition(b":")
        if name != _WEIGHT:
            continue
        text = value.decode()
        weight = float(text) if _NUMBER.fullmatch(text) else math.nan
        if not 0.0 <= weight <= _LARGEST:
            raise DataError(
                f"the weight of a sequence is a number that is not negative, not {text[:20]!r}",
                file=source, line=first_line + line, hint="write for example @weight:2",
            )  # fmt: skip
        weights[line] = weight
        body[line] += len(cell) + len(tab)
        if body[line] >= end[line]:
            kind[line] = OTHER_LINE
    return weights


def _sentence_weights(weights: dict[int, float], corpus: Corpus) -> np.ndarray:
    lines = corpus.lines
    assert lines is not None
    weight = np.full(corpus.n_sentences, np.nan, np.float32)
    for line, value in weights.items():
        token = _token_beside(line, lines)
        place = lines.first_line + line
        if token is None:
            raise DataError("a weight without a sequence", file=corpus.source, line=place)
        s = int(np.searchsorted(corpus.offset, token, side="right")) - 1
        if not math.isnan(weight[s]) and weight[s] != np.float32(value):
            raise DataError("a second weight for this sequence", file=corpus.source, line=place)
        weight[s] = value
    return np.where(np.isnan(weight), np.float32(1.0), weight)


def _token_beside(line: int, lines: Lines) -> int | None:
    """A token of the sentence that a line of declarations belongs to."""
    after = int(np.searchsorted(lines.tokens, line))
    if after < lines.tokens.size and not np.any(lines.kind[line : lines.tokens[after]] == BLANK_LINE):
        return after
    if after > 0 and not np.any(lines.kind[lines.tokens[after - 1] : line] == BLANK_LINE):
        return after - 1
    return None


# Writing


def _write(given: Labelling) -> bytes:
    """The lines of the input, each with its label replaced."""
    out = paste_labels(given.corpus, given.ids, [escaped(label) for label in given.labels], MARK)
    comments = given.comments()
    return out if comments is None else insert_comments(out, given.corpus, comments)


def _relabel(corpus: Corpus, spec: FormatSpec, ids: np.ndarray, labels: Sequence[str]) -> bytes:
    assert corpus.lines is not None
    return replace_cells(corpus.lines, corpus.lines.cut, corpus.lines.resume, ids, [escaped(label) for label in labels])


def _parser(spec: FormatSpec, source: str) -> Parser:
    return lambda data, line: parse_attributes(data, source, line, spec.has_label is not False)


_REFUSAL = "after attributes a confidence would be read as one more attribute: write another format"

FORMAT = Format(
    _parser,
    BLANK_LINES,
    {"labels": Output(write_labels), "attributes": Output(_write, {"confidence": _REFUSAL, "marginals": _REFUSAL})},
    relabel=_relabel,
)


# Files made from the cells of any corpus, with its labels or without: what `palmette convert` writes.
#
# columns     the columns and the label, separated by TAB, with a blank line after each sentence
# jsonl       an object per sentence: `tokens` and `tags`; of raw and annotated text also `text` and `offsets`
# conllu      the words numbered, the label as UPOS; of raw and annotated text also `# text` and `SpaceAfter=No`
# attributes  the label, and of each column its number and its cell: `0=Time`

NOTHING = "_"


def _columns(given: Labelling, labelled: bool) -> bytes:
    rows, between = cell_rows(given.corpus, given.labels)
    if labelled:
        rows = [row + between + tag.encode() for row, tag in zip(rows, given.tags(), strict=True)]
    marks = given.corpus.offset.tolist()
    return b"".join(b"\n".join([*rows[first:end], b"", b""]) for first, end in pairwise(marks))


def check_words(corpus: Corpus, name: str) -> None:
    """DataError if the tokens have no words, which a format must have."""
    if corpus.n_tokens and not corpus.columns:
        raise DataError(
            f"there are only labels, and {name} has words", file=corpus.source, hint=f"see {named(FormatSpec, 'label')}"
        )


def _jsonl(given: Labelling, labelled: bool) -> bytes:
    check_words(given.corpus, "a JSON line")
    tags = given.tags()
    made = []
    for (fields, _), (first, end) in zip(
        token_records(given.corpus), pairwise(given.corpus.offset.tolist()), strict=True
    ):
        made.append(msgspec.json.encode(fields | {TAGS: tags[first:end]} if labelled else fields) + b"\n")
    return b"".join(made)


def _conllu(given: Labelling, labelled: bool) -> bytes:
    corpus, tags = given.corpus, given.tags()
    check_words(corpus, "CoNLL-U")
    words = corpus.columns[0].cells() if corpus.columns else []
    if broken := next((word for word in words if not word or BREAKING.search(word)), None):
        raise DataError(f"the word {broken[:20]!r} cannot be a word of CoNLL-U", file=corpus.source, hint="write jsonl")
    glued = _glued(corpus)
    made: list[str] = []
    for s, (first, end) in enumerate(pairwise(corpus.offset.tolist())):
        if corpus.surface is not None:
            made.append(f"# text = {' '.join(corpus.surface.sentences[s].split())}")
        for i in range(first, end):
            tag = tags[i] if labelled else NOTHING
            misc = "SpaceAfter=No" if glued[i] else NOTHING
            fields = [str(i - first + 1), words[i], NOTHING, tag, *[NOTHING] * 5, misc]
            made.append("\t".join(fields))
        made.append("")
    return "".join(f"{line}\n" for line in made).encode()


def _glued(corpus: Corpus) -> list[bool]:
    """After which tokens the next one of the sentence follows without a space."""
    made = [False] * corpus.n_tokens
    if corpus.surface is not None:
        places = corpus.surface.span.tolist()
        for first, end in pairwise(corpus.offset.tolist()):
            for i in range(first, end - 1):
                made[i] = places[i][1] == places[i + 1][0]
    return made


def _attributes(given: Labelling, labelled: bool) -> bytes:
    if not labelled:
        raise UsageError("a file of attributes begins with labels, and the input has none")
    cell_rows(given.corpus, given.labels)  # checks the cells
    labels = [escaped(label) for label in given.labels]
    columns = [
        [f"{number}={escaped(cell)}" for cell in column.types] for number, column in enumerate(given.corpus.columns)
    ]
    ids = [column.ids.tolist() for column in given.corpus.columns]

    def lines() -> Iterator[str]:
        for first, end in pairwise(given.corpus.offset.tolist()):
            for i in range(first, end):
                cells = [names[own[i]] for names, own in zip(columns, ids, strict=True)]
                yield "\t".join([labels[given.ids[i]], *cells])
            yield ""

    return "".join(f"{line}\n" for line in lines()).encode()


MADE: dict[str, Callable[[Labelling, bool], bytes]] = {
    "columns": _columns,
    "jsonl": _jsonl,
    "conllu": _conllu,
    "attributes": _attributes,
}
