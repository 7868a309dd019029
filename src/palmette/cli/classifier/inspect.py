"""`palmette inspect` with a classifier: settings, history, decodings, the strongest attributes of each tag."""

from __future__ import annotations

from palmette.cli.options import File, Json
from palmette.cli.telling import print_json


def inspect_classify(model: File, /, *, top: int = 5, json: Json = False) -> None:
    """Look into a classifier.

    Parameters
    ----------
    model: str
        The model file.
    top: int
        How many of the strongest attributes to show for each tag.
    json: bool
        Print one JSON object.
    """
    from palmette.reports.classification import classifier_inspection, print_classifier
    from palmette.structures.latent.serialise import load_classifier

    about = classifier_inspection(load_classifier(model), max(0, top))
    if json:
        print_json(about)
    else:
        print_classifier(about)
