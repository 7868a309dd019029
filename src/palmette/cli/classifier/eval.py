"""`palmette classifier eval`: accuracy, precision, recall, F, area under the ROC curve, and how training went."""

from __future__ import annotations

from palmette.cli.classifier.common import ClassifyingOptions, LabelledCommand, load_with_tagger, read_labelled
from palmette.cli.command import JsonOptions
from palmette.cli.output import print_json
from palmette.options.declare import option


class EvalClassifier(ClassifyingOptions, JsonOptions, LabelledCommand):
    """Score a classifier on sentences whose classes are known."""

    examples = ("classifier eval classifier.palm test.tsv",)
    common = ("format", "positives", "negatives", "tagger", "json", "quiet")
    model: str = option(argument=True, path="input", help="The model file.")
    data: str | None = option(
        default=None, argument=True, path="input",
        help="One sentence per line: CLASS<TAB>words, optionally followed by <TAB>parts of speech; or JSON lines.",
    )  # fmt: skip

    def run(self) -> None:
        classifier = load_with_tagger(self.model, self.tagger, self.quiet)
        model = classifier.model_
        given = read_labelled(self.sources(self.data), model.classes)
        found = classifier.evaluate(*given)
        dev = [{"pass": row["number"], "dev": row["dev"]} for row in classifier.training_log_ if row["dev"] is not None]
        if self.json:
            print_json(found.to_dict() | {"accuracy_by_pass": dev})
            return
        from palmette.reports.tables import print_scores

        print_scores(found)
        if dev:
            print("accuracy on development data by pass")
            print("  ".join(f"{row['pass']}: {100 * row['dev']:.2f}" for row in dev))
