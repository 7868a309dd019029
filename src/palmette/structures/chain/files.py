"""Files of any size through a chain model, in bounded memory: labels, or n-best lists of label sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from palmette.data.corpus import Corpus, column_of_types
from palmette.data.files import FilePath, check_apart, shown
from palmette.data.formats.labelling import ConfidenceOutput
from palmette.data.formats.registry import Writer, read_corpus, stream_corpus
from palmette.data.formats.spec import ANNOTATORS, FormatSpec
from palmette.data.labels.mask import LabelMask, mask_from_column
from palmette.data.stream import BLOCK, Processed, Progress, map_in_order, process_file
from palmette.errors import UsageError, counted
from palmette.options.chain import LabelHistory, Latent
from palmette.options.spelling import argument, named, spelt
from palmette.structures.chain.model import CAP, ChainModel, Decoded

SMALLEST_BLOCK = 1 << 12


class TagRequest(msgspec.Struct, frozen=True, kw_only=True):
    """How a file is read, how its labels are found, and what is written."""

    spec: FormatSpec = FormatSpec()
    helpers: Sequence[ChainModel] = ()  # they make the columns that the input lacks
    known: str | None = None  # the column that has what is known about the labels: a label, `A|B`, or `?`
    bias: Mapping[str, float] | None = None
    output: str | None = None  # the format to write; None: the default for the input
    scores: bool = False  # the score of each sentence
    states: bool = False  # the latent state instead of the label
    decode: str = "viterbi"  # viterbi, marginal or exact
    cap: int = CAP  # the most paths that exact search visits per sentence
    confidence: bool = False
    marginals: bool = False
    output_encoding: str | None = None  # None: that of the input
    flush: bool = False  # write each block at once, for whoever waits at the other end of a pipe

    @property
    def reading_spec(self) -> FormatSpec:
        """How to read the file: with the labels if they are known."""
        if self.known is None:
            return self.spec
        return self.spec.replace(label=self.known, has_label=True)

    @property
    def biases(self) -> dict[str, float] | None:
        return None if self.bias is None else dict(self.bias)

    @property
    def confidences(self) -> ConfidenceOutput:
        return ConfidenceOutput(self.confidence, self.marginals)

    @property
    def written_encoding(self) -> str:
        return self.spec.encoding if self.output_encoding is None else self.output_encoding

    def mask(self, corpus: Corpus, model: ChainModel) -> LabelMask | None:
        """What is known about the labels of a block."""
        return mask_from_column(corpus, model.labels) if self.known is not None and corpus.n_tokens else None


def spec_for(
    model: ChainModel, source: FilePath, given: FormatSpec | None = None, *, labelled: bool = False
) -> FormatSpec:
    """How to read input that looks like the training data, with its labels or without. What `given` sets holds."""
    trained = model.meta.get("reading") or FormatSpec()
    spec = (given or FormatSpec()).like(trained, source)
    return spec.labelled() if labelled else spec


class TagCounts(NamedTuple):
    """The tokens of a file; and of how many sentences exact search has proven the labels to be best."""

    tokens: int = 0
    proven: int = 0
    searched: int = 0  # the sentences that exact search was used for


def tag_file(
    model: ChainModel, source: FilePath, target: FilePath, request: TagRequest, *, threads: int = 1,
    progress: Progress | None = None,
) -> TagCounts:  # fmt: skip
    """Tag a file block by block; the target is written whole or not at all."""
    check_apart([target], [source])
    model.with_bias(request.biases or {})
    _check(model, request)
    spec = request.reading_spec.resolved(source)
    _check_known(spec, request)
    names = model.shape.state_names(model.labels) if request.states else model.labels
    writer = Writer(spec.format, request.output, names, scores=request.scores, confidence=request.confidences)

    def work(corpus: Corpus) -> Processed:
        corpus = with_columns(corpus, request.helpers, model)
        mask, bias = request.mask(corpus, model), request.biases
        if request.states:
            found = Decoded(*model.tag(corpus, bias, mask, states=True), None)
        else:
            found = model.decode(corpus, request.decode, bias, mask, request.cap)
        sure = None
        if any(request.confidences):
            from palmette.structures.chain.posteriors import confidence_of

            sure = confidence_of(
                model, corpus, found.labels, bias, mask, marginals=request.marginals, whole=request.confidence
            )
        proven = (0, 0) if found.proven is None else (int(found.proven.sum()), found.proven.size)
        return Processed(writer.write(corpus, found.labels, found.scores, sure), (corpus.n_tokens, *proven))

    blocks, encoding = stream_corpus(source, spec), request.written_encoding
    opened = writer.opened
    done = process_file(
        blocks, work, target, threads=threads, progress=progress, encoding=encoding, opened=opened, flush=request.flush
    )
    return TagCounts(*done)


def nbest_file(
    model: ChainModel, source: FilePath, target: FilePath, n: int, request: TagRequest, *, threads: int = 1,
    progress: Progress | None = None,
) -> int:  # fmt: skip
    """Write the n best label sequences of each sentence, and return the number of tokens. `output` of the request is
    crfpp, columns or jsonl."""
    check_apart([target], [source])
    from palmette.data.formats.nbest import NBestWriter
    from palmette.structures.chain.nbest import check_count, label_lists, of_no_token

    check_count(n)
    _check_listed(request)
    bias = request.biases
    model.with_bias(bias or {})
    spec = request.reading_spec.resolved(source)
    _check_known(spec, request)
    writer = NBestWriter(spec.format, request.output, model.labels, n, of_no_token(model))

    def work(corpus: Corpus) -> Processed:
        corpus = with_columns(corpus, request.helpers, model)
        lists = label_lists(model, corpus, n, bias, request.mask(corpus, model))
        return Processed(writer.write(corpus, lists), (corpus.n_tokens,))

    # The output is n times as large as the input, so blocks are smaller.
    blocks = stream_corpus(source, spec, max(SMALLEST_BLOCK, BLOCK // n))
    encoding = request.written_encoding
    done = process_file(
        blocks, work, target, threads=threads, progress=progress, encoding=encoding, flush=request.flush
    )
    return sum(done)


def decoded_file(
    model: ChainModel, source: FilePath, request: TagRequest, *, threads: int = 1
) -> tuple[Corpus, np.ndarray]:
    """A file as a corpus without its text, and the labels i32[N] that the model finds. Blocks are read and decoded side
    by side."""
    from palmette.data.subset import joined_blocks, without_text

    spec = request.reading_spec.resolved(source)

    def work(block: Corpus) -> tuple[Corpus, np.ndarray]:
        block = with_columns(block, request.helpers, model)
        return without_text(block), model.decode(block, request.decode, request.biases, cap=request.cap).labels

    # How wide the lines of a ragged file are, all of them tell.
    blocks = stream_corpus(source, spec) if spec.ragged != "pad" else iter([read_corpus(source, spec)])
    parts = list(map_in_order(work, blocks, threads))
    if not parts:
        return Corpus(np.zeros(1, np.int64), source=shown(source)), np.zeros(0, np.int32)
    return joined_blocks([corpus for corpus, _ in parts]), np.concatenate([labels for _, labels in parts])


def _check(model: ChainModel, request: TagRequest) -> None:
    if request.states and model.shape.states_per_label == 1:
        hidden = f"{spelt(Latent, 'states', 2)} or {spelt(LabelHistory, 'memory', 'bigram')}"
        raise UsageError(f"the model has no latent states to write; train it with {hidden}")
    if request.states and request.decode != "viterbi":
        raise UsageError(f"states are those of the best path: {argument('states')} requires {argument('decode')}")
    if request.states and any(request.confidences):
        raise UsageError(f"confidences are those of labels: leave {argument('states')} out")


def _check_known(spec: FormatSpec, request: TagRequest) -> None:
    if request.known is not None and spec.format in ANNOTATORS:
        raise UsageError(f"known labels are in a column ({argument('known')}), and {spec.format} has none")


def _check_listed(request: TagRequest) -> None:
    default = TagRequest()
    for name in ("scores", "states", "decode", "confidence", "marginals"):
        if getattr(request, name) != getattr(default, name):
            raise UsageError(f"{name} does not apply to n-best lists, which have labels with their scores")


def with_columns(corpus: Corpus, helpers: Sequence[ChainModel], reader: ChainModel) -> Corpus:
    """The corpus with one more column per helper, made by it, for a reader that needs them; without helpers, by those
    that the reader stores."""
    if not helpers:
        return reader.completed(corpus)
    encoder = reader.encoder
    if helpers and corpus.n_tokens and encoder is not None and len(corpus.columns) >= encoder.n_columns:
        raise UsageError(
            f"the model reads {counted(encoder.n_columns, 'column')} and the input has {len(corpus.columns)}: "
            f"there is nothing to add; leave {argument('add')} out, or choose columns by {named(FormatSpec, 'columns')}"
        )
    for model in helpers:
        ids, _ = model.tag(corpus)
        corpus.columns = [*corpus.columns, column_of_types(ids, model.labels)]
    return corpus


def with_missing_columns(corpus: Corpus, helpers: Sequence[ChainModel], reader: ChainModel) -> Corpus:
    """The corpus with the columns that a reader lacks, made by the last of the helpers, or without these by those that
    it stores; as it is if it has them all."""
    missing = 0 if reader.encoder is None else reader.encoder.n_columns - len(corpus.columns)
    if missing <= 0 or not corpus.n_tokens:
        return corpus
    return with_columns(corpus, helpers[max(0, len(helpers) - missing) :], reader)
