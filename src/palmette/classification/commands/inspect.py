"""`palmette classifier inspect`: settings, training log, decodings, the strongest attributes of each tag."""

from __future__ import annotations

from palmette.cli.command import Command, JsonOptions
from palmette.cli.output import print_json
from palmette.options.declare import option


class InspectClassifier(JsonOptions, Command):
    """Show a classifier: settings, training log, strongest attributes of each tag."""

    model: str = option(argument=True, path="input", help="The model file.")
    top: int = option(default=5, low=0, help="Strongest attributes to show per tag.")

    def run(self) -> None:
        from palmette.classification.classifier import Classifier
        from palmette.classification.inspection import inspect_classifier, print_classifier

        found = inspect_classifier(Classifier.load(self.model), self.top)
        if self.json:
            print_json(found.to_dict())
        else:
            print_classifier(found)
