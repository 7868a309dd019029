"""`palmette classifier compare`: classifiers on the same labelled sentences."""

from __future__ import annotations

from palmette.cli.classifier.common import ClassifyingOptions, LabelledCommand, load_with_tagger, read_labelled
from palmette.cli.command import JsonOptions
from palmette.cli.output import print_json
from palmette.errors import UsageError
from palmette.options.declare import option


class CompareClassifiers(ClassifyingOptions, JsonOptions, LabelledCommand):
    """Compare classifiers on the same labelled sentences, with significance tests."""

    files: list = option(
        argument=True, repeat=True,
        help="Two or more models, followed by a labelled file: CLASS<TAB>words per line, or JSON lines.",
    )  # fmt: skip
    rounds: int = option(default=10_000, low=1, help="Rounds of bootstrap and randomisation.")
    seed: int = option(default=1, low=0, help="Seed of bootstrap and randomisation.")

    def run(self) -> None:
        models, data = list(self.files), None
        if self.positives is None and self.negatives is None:
            data = models.pop()
        if len(models) < 2:
            raise UsageError("give two or more classifiers, and then the labelled file")
        from palmette.cli.common import names_of
        from palmette.evaluation.class_comparison import compare_classes
        from palmette.evaluation.comparison import CompareOptions
        from palmette.reports.meter import Meter

        names, meter = names_of(models), Meter(self.quiet or self.json)
        classifiers = [load_with_tagger(model, self.tagger, self.quiet) for model in models]
        classes = classifiers[0].model_.classes
        for name, classifier in zip(names, classifiers, strict=True):
            if set(classifier.model_.classes) != set(classes):
                theirs = ", ".join(classifier.model_.classes)
                raise UsageError(f"{name} has the classes {theirs}, and {names[0]} has {', '.join(classes)}")
        given = read_labelled(self.sources(data), classes)
        guesses = {name: each.predict(given.X).tolist() for name, each in zip(names, classifiers, strict=True)}
        options = CompareOptions(self.rounds, self.seed, all_pairs=self.json)
        found = compare_classes(given.y, guesses, options, meter.tell)
        meter.clear()
        if self.json:
            import msgspec

            print_json({"files": models, "data": data} | msgspec.to_builtins(found))
        else:
            from palmette.reports.class_comparison import print_class_comparison

            print_class_comparison(found, data or f"{self.positives}, {self.negatives}")
