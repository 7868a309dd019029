"""`palmette tag` with a classifier: the class and score of each sentence, and if asked its latent structures."""

from __future__ import annotations

import time

from palmette.cli.classifier.common import load_with_tagger
from palmette.cli.options import File, Flag, Output, Quiet, Text
from palmette.cli.telling import Meter, tell_rate, tell_where_from
from palmette.errors import UsageError


def tag_classify(
    model: str,
    data: File = "-",
    /,
    *,
    output: Output = "-",
    text: Text = None,
    format: str | None = None,
    to: str = "lines",
    structures: Flag = False,
    tagger: str | None = None,
    quiet: Quiet = False,
) -> None:
    """Tell the class and the score of each sentence.

    Parameters
    ----------
    model: str
        The model file.
    data: str
        A sentence a line: words, and perhaps <TAB>parts of speech; or columns or JSON lines. `-` is standard input.
    output: str
        Where to write; `-` is standard output.
    text: str
        A sentence to classify instead of a file: words with spaces between them.
    format: str
        lines (the default), columns (a token a line: word POS), or jsonl; by the file's name.
    to: str
        lines (class, score and words, with TABs between them) or jsonl.
    structures: bool
        Tell also the latent tags of each view: a line each below the sentence, which begins with `#`.
    tagger: str
        A tagger's model file for parts of speech; default: the one that the model was trained with, if it is still
        there.
    quiet: bool
        No messages.
    """
    if text is not None and (data != "-" or format is not None):
        raise UsageError("--text is a sentence instead of a file: leave the file and --format out")
    from palmette.data.files import write_whole
    from palmette.data.formats.classified import check_classified_output, parse_line

    check_classified_output(to)
    classifier = load_with_tagger(model, tagger, quiet)
    if text is not None:
        sentence = parse_line(text, "--text", 1, labelled=False)
        with write_whole(output) as out:
            out.write(classifier.classified([sentence], output=to, structures=structures))
        return
    tell_where_from(data, quiet)
    begun = time.perf_counter()
    n = classifier.classify_file(
        data, output, format=format, output=to, structures=structures, progress=None if quiet else Meter("sentences")
    )
    if not quiet and output != "-":
        tell_rate(n, "sentences", time.perf_counter() - begun, [output])
