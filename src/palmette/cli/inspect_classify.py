"""`palmette inspect` with a classifier: settings, history, decodings, the strongest attributes of each tag."""

from __future__ import annotations

from palmette.cli.options import File, Json


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
    from palmette.classify.model import load_classifier
    from palmette.report.classification import classifier_inspection, print_classifier

    about = classifier_inspection(load_classifier(model), max(0, top))
    if json:
        import msgspec

        print(msgspec.json.format(msgspec.json.encode(about), indent=2).decode())
    else:
        print_classifier(about)
