"""Sentences with classes as the commands of the classifier read them: one file with classes, or two without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from palmette.errors import DataError, UsageError

if TYPE_CHECKING:
    from palmette.estimators.classifier import Classifier


class Given(NamedTuple):
    """Positive and negative sentences as Python data, and the names of the classes, negative first."""

    positives: list[list[Any]]
    negatives: list[list[Any]]
    classes: tuple[str, str]


def read_classes(
    data: str | None, positives: str | None, negatives: str | None, format: str | None, positive: str | None = None,
    classes: tuple[str, str] | None = None, what: str = "",
) -> Given:  # fmt: skip
    """What the user gave. `classes`: those of a model, which the file must have."""
    from palmette.data.formats.classified import read_classified, two_classes

    if (data is None) == (positives is None and negatives is None) or (positives is None) != (negatives is None):
        raise UsageError(
            f"give a file with a class and a sentence a line, or both --{what}positives FILE and --{what}negatives FILE"
        )
    if data is None:
        assert positives is not None
        assert negatives is not None
        if positive is not None:
            raise UsageError("--positive is for one file with classes: --positives says it of two")
        up, down = (
            [s.tokens for s in read_classified(path, format, labelled=False)] for path in (positives, negatives)
        )
        return Given(up, down, classes or ("0", "1"))
    found = read_classified(data, format, labelled=True)
    labels = {str(sentence.label) for sentence in found}
    if classes is not None:
        strange = next((s for s in found if s.label not in classes), None)
        if strange is not None:
            raise DataError(
                f"the class {strange.label!r} is not one of {', '.join(classes)}", file=data, line=strange.line
            )
    named = classes or two_classes(labels, positive, data)
    return Given(
        [s.tokens for s in found if s.label == named[1]], [s.tokens for s in found if s.label == named[0]], named
    )


def held_out(given: Given, share: float, seed: int) -> tuple[Given, Given]:
    """A share of both classes for development, the rest for training."""
    import numpy as np

    if not 0 < share < 1:
        raise UsageError(f"--dev-share {share}: a number between 0 and 1, such as 0.1")
    parts: list[tuple[list[Any], list[Any]]] = []
    for k, sentences in enumerate((given.positives, given.negatives)):
        order = np.random.default_rng([seed, 1 + k]).permutation(len(sentences)).tolist()
        n = max(1, round(share * len(sentences)))
        dev = set(order[:n])
        parts.append(([s for i, s in enumerate(sentences) if i not in dev], [sentences[i] for i in sorted(dev)]))
    (up, up_dev), (down, down_dev) = parts
    return Given(up, down, given.classes), Given(up_dev, down_dev, given.classes)


def load_with_tagger(model: str, tagger: str | None, quiet: bool) -> Classifier:
    """A classifier, with the tagger that it was trained with or another."""
    import os

    from palmette.cli.options import announce_compiling
    from palmette.estimators.classifier import Classifier

    announce_compiling(quiet)
    classifier = Classifier.load(model)
    trained = classifier.model_.meta.get("tagger")
    if tagger is None and isinstance(trained, str) and os.path.isfile(trained):
        tagger = trained
    if tagger is not None:
        from palmette.estimators.tagger import Tagger

        classifier.tagger = Tagger.load(tagger)
    return classifier
