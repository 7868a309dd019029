"""Text columns in, the same columns and the label out, as `palmette tag` writes them: for callers that run Wapiti or
CRF++ today."""

from __future__ import annotations

from palmette.data.corpus import check_cells
from palmette.data.formats.registry import Writer, load_format
from palmette.data.formats.spec import FormatSpec
from palmette.data.text import check_utf8
from palmette.errors import UsageError
from palmette.serve.answers import Wanted
from palmette.serve.failure import Failure
from palmette.serve.limits import Limits
from palmette.serve.served import Served
from palmette.structures.chain.files import with_missing_columns

MOST_CELL = 10_000  # bytes
SOURCE = "the request"


def labelled_columns(served: Served, body: bytes, limits: Limits, wanted: Wanted) -> bytes:
    """The lines of a request with their labels. Helpers make columns that are missing."""
    if served.kind != "tagger":
        raise UsageError(f"columns are for taggers, and {served.name} is a {served.kind}")
    model = served.estimator.model_
    if model.encoder is None:
        raise UsageError("the model reads attributes, not columns: send JSON to /models/NAME")
    if b"\0" in body:
        raise Failure(400, "the body has a zero byte: it is not text")
    check_utf8(body, SOURCE)
    spec = _spec(served)
    corpus = load_format("columns").parser(spec, SOURCE)(body if body.endswith(b"\n") else body + b"\n", 1)
    check_cells(corpus, MOST_CELL)
    sizes = (corpus.offset[1:] - corpus.offset[:-1]).tolist()
    limits.check_sizes(sizes)
    wanted.check()
    corpus = with_missing_columns(corpus, [helper.model_ for helper in served.helpers.values()], model)
    found = model.decode(corpus, "viterbi").labels if corpus.n_tokens else corpus.offset[:0]
    return Writer("columns", None, model.labels).write(corpus, found)


def _spec(served: Served) -> FormatSpec:
    """How columns are read: as in training if that was columns, without labels."""
    trained = served.estimator.model_.meta.get("reading") or {}
    if trained.get("format") != "columns":
        return FormatSpec(format="columns", has_label=False)
    return FormatSpec.from_stored(trained).replace(has_label=False)
