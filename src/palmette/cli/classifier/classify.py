"""`palmette tag` with a classifier: the class and score of each sentence, and if asked its latent structures."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from palmette.cli.classifier.common import load_with_tagger
from palmette.cli.options import File, Flag, Output, Quiet, Text
from palmette.cli.telling import Meter, tell_rate, tell_where_from
from palmette.errors import UsageError

if TYPE_CHECKING:
    from palmette.data.formats.classified import Sentence
    from palmette.estimators.classifier import Classifier

OUTPUTS = ("lines", "jsonl")


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
    if to not in OUTPUTS:
        raise UsageError(f"--to {to}: choose one of {', '.join(OUTPUTS)}")
    if text is not None and (data != "-" or format is not None):
        raise UsageError("--text is a sentence instead of a file: leave the file and --format out")
    from palmette.data.files import write_whole
    from palmette.data.formats.classified import parse_line, stream_sentences

    classifier = load_with_tagger(model, tagger, quiet)
    if text is not None:
        blocks: Iterable[list[Sentence]] = [[parse_line(text, "--text", 1, labelled=False)]]
    else:
        tell_where_from(data, quiet)
        blocks = stream_sentences(data, format, labelled=False)
    done, begun, meter = 0, time.perf_counter(), Meter("sentences")
    with write_whole(output) as out:
        for block in blocks:
            out.write(_classified(classifier, block, to, structures).encode())
            done += len(block)
            if not quiet:
                meter(done)
    if not quiet and output != "-":
        tell_rate(done, "sentences", time.perf_counter() - begun, [output])


def _classified(classifier: Classifier, found: list[Sentence], to: str, structures: bool) -> str:
    sentences = [sentence.tokens for sentence in found]
    scores = classifier.decision(sentences)
    tags = classifier.structures(sentences) if structures else [None] * len(found)
    rows = zip(found, scores.tolist(), tags, strict=True)
    return "".join(_written(classifier, sentence.words, score, own, to) for sentence, score, own in rows)


def _written(classifier: Classifier, words: list[str], score: float, tags: dict[str, list[str]] | None, to: str) -> str:
    label = str(classifier.classes_[int(score >= 0)])
    if to == "jsonl":
        import msgspec

        about: dict[str, Any] = {"label": label, "score": score, "tokens": words}
        if tags is not None:
            about["structures"] = tags
        return msgspec.json.encode(about).decode() + "\n"
    lines = [f"{label}\t{score:.4f}\t{' '.join(words)}\n"]
    lines += [f"# {name}\t{' '.join(own)}\n" for name, own in (tags or {}).items()]
    return "".join(lines)
