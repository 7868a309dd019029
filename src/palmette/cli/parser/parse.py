"""`palmette tag` with a parser: a file, standard input or a typed sentence to trees."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from palmette.cli.options import File, Flag, MaybeFile, Output, Quiet, Text
from palmette.cli.parser.common import Taggers, Watched, load_parser, numbers, preparation, show_trees, tags_read
from palmette.cli.telling import Meter, tell_rate, tell_where_from
from palmette.errors import UsageError

if TYPE_CHECKING:
    from palmette.estimators.parser import Parser
    from palmette.estimators.retag import Preparation


def tag_parse(
    model: str,
    data: File = "-",
    /,
    *,
    output: Output = "-",
    text: Text = None,
    beam: int | None = None,
    nbest: int | None = None,
    tagger: Taggers = None,
    draw: Flag = False,
    svg: MaybeFile = None,
    sentences: str | None = None,
    threads: int = 1,
    quiet: Quiet = False,
) -> None:
    """Parse a file, standard input or a typed sentence with a parser.

    Parameters
    ----------
    model: str
        The model file, of a parser.
    data: str
        What to parse: CoNLL-U or CoNLL-X with tags; `-` is standard input. Its own heads and relations do not matter.
    output: str
        Where to write CoNLL-U; `-` is standard output. All but heads and relations comes back as it was.
    text: str
        A sentence to parse and draw instead of a file; it needs --tagger.
    beam: int
        How many states the search keeps; default as in training.
    nbest: int
        Write so many trees of each sentence, best first, with comments `# nbest` and `# score`.
    tagger: list[str]
        MODEL or upos=MODEL, xpos=MODEL: tag first with a palmette tagger; repeatable. The tags are written too.
    draw: bool
        Draw the trees in the terminal, instead of CoNLL-U unless -o names a file.
    svg: str
        A file to draw the trees into, as SVG.
    sentences: str
        Which sentences to draw, such as 1,4-6; default the first 20.
    threads: int
        Threads to parse with.
    quiet: bool
        No progress and no messages.
    """
    if threads < 1:
        raise UsageError(f"--threads {threads}: at least 1")
    if nbest is not None and (draw or svg or text is not None):
        raise UsageError("--nbest writes CoNLL-U: leave --draw, --svg and --text out")
    if sentences is not None and not (draw or svg):
        raise UsageError("--sentences chooses what --draw and --svg show: say one of them")
    if text is not None and (data, output) != ("-", "-"):
        raise UsageError("--text draws a typed sentence: leave the file out")
    parser = load_parser(model, quiet)
    ready = preparation(parser, tagger, quiet)
    if text is not None:
        _typed(parser, ready, text, beam, svg)
        return
    tell_where_from(data, quiet, "CoNLL-U ")
    begun, watched = time.perf_counter(), Watched(parser, ready, quiet)
    if draw or svg is not None:
        n = _drawn(parser, watched, data, output, beam, threads, draw, svg, sentences, quiet)
    elif nbest is not None:
        n = parser.nbest_file(data, output, nbest, beam=beam, prepare=watched, fields=ready.fields)
    else:
        n = parser.parse_file(
            data, output, beam=beam, threads=threads, prepare=watched, fields=ready.fields,
            progress=None if quiet else Meter(),
        )  # fmt: skip
    seconds = time.perf_counter() - begun
    if not quiet and (output != "-" or svg is not None):
        tell_rate(n, "words", seconds, [file for file in (output, svg) if file is not None and file != "-"])


def _typed(parser: Parser, ready: Preparation, text: str, beam: int | None, svg: str | None) -> None:
    """A typed sentence, drawn."""
    from palmette.data.formats.conllu_light import tree_of
    from palmette.data.formats.raw import parse_text
    from palmette.data.treebank import treebank_from_sentences
    from palmette.errors import DataError

    _check_tags(parser, ready)
    words = parse_text(" ".join(text.split()).encode(errors="surrogateescape"), "the text")
    if not words.n_tokens:
        raise DataError("there is no word in the text")
    found = parser.parse(ready(treebank_from_sentences([words.columns[0].cells()])), beam=beam)
    field = ready.fields[0] if ready.fields else "upos"
    show_trees([(" ".join(text.split()), tree_of(found, 0, field), None)], svg, draw=True)


def _check_tags(parser: Parser, ready: Preparation) -> None:
    """A typed sentence has no tags of its own."""
    lacking = tags_read(parser, ready)
    if lacking:
        raise UsageError(
            f"the parser looks at {' and '.join(lacking)}, which a typed sentence does not have: give --tagger MODEL"
        )


def _drawn(
    parser: Parser, ready: Watched, data: str, output: str, beam: int | None, threads: int, draw: bool,
    svg: str | None, sentences: str | None, quiet: bool,
) -> int:  # fmt: skip
    """Parse a whole file, draw some of it, and write all of it where a file is named."""
    from palmette.data.formats.conllu import TREE, read_treebank, write_treebank
    from palmette.data.formats.conllu_light import tree_of

    treebank = read_treebank(data, labelled=False)
    chosen = numbers(sentences, treebank.n_sentences, quiet)
    found = parser.parse(ready(treebank), beam=beam, threads=threads)
    if output != "-" or not draw:
        write_treebank(output, found, fields=(*TREE, *ready.fields))
    field = ready.fields[0] if ready.fields else "upos"
    show_trees([(f"sentence {s + 1}", tree_of(found, s, field), None) for s in chosen], svg, draw)
    return treebank.n_tokens
