"""Options and helpers of the classifier commands: sentences with classes from one file, or from two without."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from palmette.cli.command import Command
from palmette.cli.common import text_spec
from palmette.data.text import TextSpec
from palmette.errors import DataError, UsageError
from palmette.options.declare import Options, option

if TYPE_CHECKING:
    from palmette.classification.classifier import Classifier

CLASSIFIED_FORMATS = {
    "lines": "one sentence per line, fields separated by TABs",
    "columns": "one token per line, word and part of speech; for files without classes",
    "jsonl": "one JSON object per sentence",
}
NEGATIVE, POSITIVE = "0", "1"  # classes of sentences from two files


class FormatOption(Options):
    """The format of sentences with classes."""

    format: str | None = option(
        default=None, choices=CLASSIFIED_FORMATS, group="data",
        help="Format of the files (default: jsonl if the name ends in it or the first line is an object, else lines).",
    )  # fmt: skip


class LabelledCommand(FormatOption, Command):
    """Commands that read sentences whose classes are known."""

    owners: ClassVar[tuple[type[Options], ...]] = (TextSpec,)
    hidden = ("max-cell",)

    positives: str | None = option(
        default=None,
        metavar="FILE",
        group="data",
        path="input",
        help="Instead of a labelled file: positive sentences, without classes.",
    )
    negatives: str | None = option(
        default=None, metavar="FILE", group="data", path="input", help="Negative sentences; goes with --positives."
    )

    def sources(self, data: str | None) -> Sources:
        return Sources(data, self.positives, self.negatives, self.format, text_spec(self))


class ClassifyingOptions(Options):
    """Options of commands that classify with a model."""

    tagger: str | None = option(
        default=None, metavar="MODEL", group="data", path="input",
        help="A tagger for parts of speech (default: the one that the model was trained with, if it still exists).",
    )  # fmt: skip


class Sources(NamedTuple):
    """Where labelled sentences come from: one file with classes, or two files without."""

    data: str | None
    positives: str | None
    negatives: str | None
    format: str | None
    spec: TextSpec  # the encoding of all files
    prefix: str = ""  # of the flags, in messages

    @property
    def given(self) -> bool:
        return (self.data, self.positives, self.negatives) != (None, None, None)

    @property
    def in_two_files(self) -> bool:
        return self.data is None


class LabelledSentences(NamedTuple):
    """Sentences as Python data, and their classes."""

    X: list[list[Any]]
    y: list[str]


def read_labelled(sources: Sources, classes: tuple[str, str] | None = None) -> LabelledSentences:
    """Read sentences and classes. classes: those of a model, negative first; a file may have no others."""
    from palmette.classification.files import read_classified

    data, positives, negatives, format, spec, prefix = sources
    if (data is None) == (positives is None and negatives is None) or (positives is None) != (negatives is None):
        raise UsageError(
            "give a file with a class and a sentence per line, or both "
            f"--{prefix}positives FILE and --{prefix}negatives FILE"
        )
    if data is not None:
        found = read_classified(data, format, labelled=True, spec=spec)
        strange = next((s for s in found if classes is not None and s.label not in classes), None)
        if classes is not None and strange is not None:
            raise DataError(
                f"the class {strange.label!r} is not one of {', '.join(classes)}", file=data, line=strange.line
            )
        return LabelledSentences([s.tokens for s in found], [str(s.label) for s in found])
    assert positives is not None
    assert negatives is not None
    up, down = (read_classified(path, format, labelled=False, spec=spec) for path in (positives, negatives))
    low, high = classes or (NEGATIVE, POSITIVE)
    return LabelledSentences([s.tokens for s in (*up, *down)], [high] * len(up) + [low] * len(down))


def load_with_tagger(model: str, tagger: str | None, quiet: bool) -> Classifier:
    """A classifier, with the tagger that it was trained with or another."""
    from palmette.classification.classifier import Classifier

    classifier = Classifier.load(model)
    trained = classifier.model_.meta.get("tagger")
    if tagger is None and isinstance(trained, str) and os.path.isfile(trained):
        tagger = trained
    if tagger is not None:
        from palmette.estimators.tagger import Tagger

        classifier.tagger = Tagger.load(tagger)
    return classifier
