"""A file through a pipeline in bounded memory: parts are read, annotated by threads, and written in order."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, chain
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from palmette.data.corpus import column_of_strings
from palmette.data.files import FilePath, check_apart, shown
from palmette.data.formats.conllu import stream_treebank, treebank_bytes
from palmette.data.stream import LINES, cut_blocks, map_in_order
from palmette.data.text import PLAIN, UTF8, TextSpec, check_utf8, text_blocks, write_text
from palmette.data.treebank import Treebank
from palmette.errors import UsageError, either
from palmette.options.spelling import argument
from palmette.pipeline.model import FIELDS_OF, PipelineModel
from palmette.pipeline.options import INPUTS, OUTPUTS, SPLITTER
from palmette.pipeline.output import column_lines, conllu_bytes, plain_sentences
from palmette.pipeline.split_text import SplitText, empty_split, gold_split

# A text file of any size in parts that a pipeline can work on by themselves.
#
# A part has a word, unless the text has none, so that no white space is lost. It ends after a blank line; where there
# is none for a whole block, it ends before the last sentence that a splitter finds near the end of the block, or, if it
# finds only one, at a line end, at white space, or anywhere.

BLOCK = 1 << 18
"""Bytes that are read at a time, and characters of a part, about."""

TAIL = 1 << 13  # characters in which the end of a sentence is looked for
MARGIN = 1 << 10  # characters before the end of a block with too little context to find sentences
_LONGEST_LINE = 1 << 40
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"  # which hold characters together


class FilePart(NamedTuple):
    """A part of a text; they follow each other without a gap."""

    text: str
    continues: bool  # whether it begins within a paragraph


def text_parts(pieces: Iterable[str], split: Callable[[str], SplitText], block: int = BLOCK) -> Iterator[FilePart]:
    """The parts of a text that comes in pieces."""
    continues, rest = False, ""
    for piece in pieces:
        rest += piece
        while True:
            cut, paragraph = paragraph_end(rest), True
            before = len(rest) - len(rest.lstrip())
            if not cut and len(rest.rstrip()) - before > block:
                cut, paragraph = sentence_end(rest[: before + block + 1], split), False
            if not cut:
                break
            yield FilePart(rest[:cut], continues)
            continues, rest = not paragraph, rest[cut:]
            if len(rest) <= block:
                break
    if rest:
        yield FilePart(rest, continues)


def text_pieces(path: FilePath, spec: TextSpec = PLAIN, block: int = BLOCK) -> Iterator[str]:
    """The text of a file, `-` for standard input, in pieces; DataError if it is not text. Lines may be as long as they
    like, since nothing waits for their end."""
    decoder = codecs.getincrementaldecoder(UTF8)()
    line = 1
    held = b""  # of a character that is not complete
    for piece in text_blocks(path, spec.replace(max_line=_LONGEST_LINE), block):
        try:
            text = decoder.decode(piece)
        except UnicodeDecodeError:
            check_utf8(held + piece, shown(path), line)
            raise
        held = decoder.getstate()[0]
        line += text.count("\n")
        if text:
            yield text
    check_utf8(held, shown(path), line)


def paragraph_end(text: str) -> int:
    """The position after the last blank line between words; 0: nowhere."""
    begin, at = len(text) - len(text.lstrip()), len(text.rstrip())
    found = 0
    low = text.rfind("\n\n", begin, at)
    for match in _BLANK_LINE.finditer(text, max(low, begin)):
        if match.end() <= at:
            found = match.end()
    return found


def sentence_end(text: str, split: Callable[[str], SplitText]) -> int:
    """A position in a long text where a sentence ends, or else one that does least harm."""
    low = max(0, len(text) - TAIL)
    found = split(text[low:])
    if found.n_sentences > 1:
        starts = found.start[found.sentence[1:-1]]
        early = starts[starts <= len(text) - low - MARGIN]
        return low + int(early[-1] if early.size else starts[-1])
    for wanted in (r".*\n", r".*\s"):
        match = re.compile(wanted, re.DOTALL).match(text, low)
        if match and text[: match.end()].strip():
            return match.end()
    at = len(text) - 1
    while at > low + 1 and (unicodedata.combining(text[at]) or text[at] in _JOINERS or text[at - 1] == "\u200d"):
        at -= 1
    return at


_WORD = re.compile(r"\S+")


class InputPart(NamedTuple):
    """A part of the input: its words, if it has been split already, and where it is."""

    split: SplitText | None
    treebank: Treebank | None = None  # of CoNLL-U
    text: str = ""
    continues: bool = False


class Annotated(NamedTuple):
    """A part with its annotations. `split` None: CoNLL-U that is written back into its lines."""

    split: SplitText | None
    treebank: Treebank


class PipelineJob(NamedTuple):
    """How a file is run through a pipeline."""

    model: PipelineModel
    names: tuple[str, ...]  # of the components
    beam: int | None
    input: str
    output: str

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of CoNLL-U that change."""
        return tuple(field for name in self.names for field in FIELDS_OF.get(name, ()))

    def work(self, part: InputPart) -> Annotated:
        """Annotate a part; runs on several threads."""
        split, treebank = part.split, part.treebank
        if treebank is None:
            split = self.model.split(part.text) if split is None else split
            if part.continues and split.n_sentences:
                split = replace(split, paragraph=np.append(False, split.paragraph[1:]))
            treebank = split.treebank()
        made = self.model.annotate(treebank, self.names, self.beam)
        if split is None and self.output == "jsonl":
            split = gold_split(treebank)
        return Annotated(split, made)


def make_job(
    model: PipelineModel, input: str, output: str, components: Iterable[str] | None, beam: int | None
) -> PipelineJob:
    """The job of options, checked."""
    for name, value, known in (("input", input, INPUTS), ("output", output, OUTPUTS)):
        if value not in known:
            raise UsageError(f"{name}: {value!r} is none of {', '.join(known)}")
    names = model.chosen(components)
    if input == "text" and SPLITTER not in names:
        if components is not None:
            words = either("input='conllu'", "--format conllu")
            raise UsageError(f"plain text is split by the component tok: add it, or give words: {words}")
        model.split("")  # raises
    if beam is not None and "parse" not in names:
        raise UsageError(f"{argument('beam')}: it is of the parser, which does not run")
    return PipelineJob(model, names, beam, input, output)


def run_file(
    job: PipelineJob,
    source: FilePath,
    target: FilePath,
    *,
    threads: int = 1,
    spec: TextSpec = PLAIN,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Run a file through a pipeline into another one, which is written whole or not at all; returns the number of
    words."""
    check_apart([target], [source])
    words = 0
    with write_text(target) as out:
        for data, n in written(job, annotated_parts(job, source, threads, spec)):
            out.write(data)
            words += n
            if progress is not None:
                progress(words)
    return words


def annotated_parts(
    job: PipelineJob, source: FilePath, threads: int = 1, spec: TextSpec = PLAIN
) -> Iterator[Annotated]:
    """The parts of a file with their annotations, in order."""
    return map_in_order(job.work, _read(job, source, spec), threads)


def typed_part(job: PipelineJob, text: str) -> Annotated:
    """A text that is not in a file, with its annotations."""
    return job.work(InputPart(None, text=text))


def written(job: PipelineJob, parts: Iterable[Annotated]) -> Iterator[tuple[bytes, int]]:
    """The bytes of each part in the format of the output, and the number of its words."""
    sentence, place = 1, 0  # the number of the next sentence, and where the text of the next part begins
    for split, treebank in parts:
        if job.output == "columns":
            data = "".join(f"{line}\n" for line in column_lines(treebank)).encode()
        elif split is None:
            data = treebank_bytes(treebank, fields=job.fields)
        elif job.output == "jsonl":
            encode = msgspec.json.Encoder().encode
            data = b"".join(encode(made) + b"\n" for made in plain_sentences(split, treebank, shift=place))
        else:
            data = conllu_bytes(split, treebank, first_sentence=sentence)
        sentence += treebank.n_sentences
        place += 0 if split is None else len(split.text)
        yield data, treebank.n_tokens


# Reading


def parts_of_text(job: PipelineJob, pieces: Iterable[str]) -> Iterator[InputPart]:
    """The parts of a text that comes in pieces."""
    for text, continues in text_parts(pieces, job.model.split):
        yield InputPart(None, text=text, continues=continues)


def _read(job: PipelineJob, source: FilePath, spec: TextSpec) -> Iterator[InputPart]:
    if job.input == "text":
        yield from parts_of_text(job, text_pieces(source, spec))
    elif job.input == "conllu":
        for treebank in stream_treebank(source, labelled=False, spec=spec):
            yield InputPart(None, treebank)
    else:
        for line, data in cut_blocks(source, LINES, spec=spec):
            check_utf8(data, shown(source), line)
            yield InputPart(split_of_tokens(data.decode()))


def split_of_tokens(text: str) -> SplitText:
    """A text whose lines are sentences and whose words have white space between them. A blank line, or the start, is
    where a paragraph begins."""
    places: list[tuple[int, int]] = []
    sizes: list[int] = []
    begins: list[bool] = []
    start, fresh = 0, True
    for line in text.split("\n"):
        found = [(start + match.start(), start + match.end()) for match in _WORD.finditer(line)]
        if found:
            sizes.append(len(found))
            begins.append(fresh)
            places += found
        fresh = not found
        start += len(line) + 1
    if not places:
        return empty_split(text)
    bounds = np.array(places, np.int64)
    forms = column_of_strings(text[a:b] for a, b in places)
    sentences = np.array(list(accumulate(chain([0], sizes))), np.int64)
    words = np.arange(len(places) + 1, dtype=np.int64)
    return SplitText(text, bounds[:, 0], bounds[:, 1], sentences, words, forms, np.array(begins, np.bool_))
