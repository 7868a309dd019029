"""N-best lists of a file of any size, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath, write_whole
from palmette.data.formats.nbest import NBestWriter
from palmette.data.labels.mask import mask_from_column
from palmette.data.read import BLOCK, FormatSpec, stream
from palmette.data.threads import in_order
from palmette.estimators.tagger import Tagger
from palmette.structures.chain.nbest import check_count, nbest_lists, of_no_token
from palmette.structures.chain.tag_file import with_columns

LEAST_BLOCK = 1 << 12


def nbest_file(
    tagger: Tagger, source: FilePath, target: FilePath, n: int, *, reading: FormatSpec | None = None,
    output: str | None = None, threads: int = 1, bias: dict[str, float] | None = None, add: Sequence[Tagger] = (),
    known: str | None = None, progress: Callable[[int], None] | None = None,
) -> int:  # fmt: skip
    """Write the n best label sequences of each sentence; the number of tokens. Options as of `Tagger.tag_file`;
    `output` is crfpp, columns or jsonl."""
    check_count(n)
    model = tagger.model_
    model.with_bias(bias or {})
    reading = reading or tagger.reading_for(source)
    if known is not None:
        reading = msgspec.structs.replace(reading, label=known, has_label=True)
    writer = NBestWriter(reading.resolved(source).format, output, model.labels, n, of_no_token(model))

    def work(corpus: Corpus) -> tuple[int, bytes]:
        corpus = with_columns(corpus, [helper.model_ for helper in add], model)
        facts = mask_from_column(corpus, model.labels) if known is not None and corpus.n_tokens else None
        return corpus.n_tokens, writer.write(corpus, nbest_lists(model, corpus, n, bias, facts))

    n_tokens = 0
    # What comes out is n times as large as what goes in, so blocks are smaller.
    blocks = stream(source, reading, max(LEAST_BLOCK, BLOCK // n))
    with write_whole(target) as out:
        for size, data in in_order(work, blocks, threads):
            out.write(data)
            n_tokens += size
            if progress is not None:
                progress(n_tokens)
    return n_tokens
