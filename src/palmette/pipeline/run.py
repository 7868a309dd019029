"""A file through a pipeline in bounded memory: parts are read, annotated by threads, and written in order."""

from __future__ import annotations

import re
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
from palmette.data.text import PLAIN, TextSpec, check_utf8, write_text
from palmette.data.treebank import Treebank
from palmette.errors import UsageError, either
from palmette.options.spelling import argument
from palmette.pipeline.conllu_text import conllu_bytes
from palmette.pipeline.model import FIELDS_OF, PipelineModel
from palmette.pipeline.options import INPUTS, OUTPUTS, SPLITTER
from palmette.pipeline.plain import column_lines, plain_sentences
from palmette.pipeline.split_text import SplitText, empty_split, gold_split
from palmette.pipeline.text_parts import text_parts, text_pieces

_WORD = re.compile(r"\S+")


class Part(NamedTuple):
    """A part of the input: its words, if it has been split already, and where it is."""

    split: SplitText | None
    treebank: Treebank | None = None  # of CoNLL-U
    text: str = ""
    continues: bool = False


class Annotated(NamedTuple):
    """A part with its annotations. `split` None: CoNLL-U that is written back into its lines."""

    split: SplitText | None
    treebank: Treebank


class Job(NamedTuple):
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

    def work(self, part: Part) -> Annotated:
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


def make_job(model: PipelineModel, input: str, output: str, components: Iterable[str] | None, beam: int | None) -> Job:
    """The job of options, checked."""
    for name, value, known in (("input", input, INPUTS), ("output", output, OUTPUTS)):
        if value not in known:
            raise UsageError(f"{name}: {value!r} is none of {', '.join(known)}")
    names = model.chosen(components)
    if input == "text" and SPLITTER not in names:
        if components is not None:
            words = either("input='conllu'", "--input conllu")
            raise UsageError(f"plain text is split by the component tok: add it, or give words: {words}")
        model.split("")  # raises
    if beam is not None and "parse" not in names:
        raise UsageError(f"{argument('beam')}: it is of the parser, which does not run")
    return Job(model, names, beam, input, output)


def run_file(
    job: Job,
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


def annotated_parts(job: Job, source: FilePath, threads: int = 1, spec: TextSpec = PLAIN) -> Iterator[Annotated]:
    """The parts of a file with their annotations, in order."""
    return map_in_order(job.work, _read(job, source, spec), threads)


def typed_part(job: Job, text: str) -> Annotated:
    """A text that is not in a file, with its annotations."""
    return job.work(Part(None, text=text))


def written(job: Job, parts: Iterable[Annotated]) -> Iterator[tuple[bytes, int]]:
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


def _read(job: Job, source: FilePath, spec: TextSpec) -> Iterator[Part]:
    if job.input == "text":
        for text, continues in text_parts(text_pieces(source, spec), job.model.split):
            yield Part(None, text=text, continues=continues)
    elif job.input == "conllu":
        for treebank in stream_treebank(source, labelled=False, spec=spec):
            yield Part(None, treebank)
    else:
        for line, data in cut_blocks(source, LINES, spec=spec):
            check_utf8(data, shown(source), line)
            yield Part(split_of_tokens(data.decode()))


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
