"""`palmette classifier compare`: classifiers, or what they wrote, on the same labelled sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.cli.classifier.common import (
    ClassifyingOptions,
    LabelledCommand,
    LabelledSentences,
    load_with_tagger,
    read_labelled,
)
from palmette.cli.common import is_model, names_of
from palmette.cli.compare import Comparing
from palmette.errors import DataError, UsageError
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.estimators.classifier import Classifier
    from palmette.evaluation.rivals import Rivals


class CompareClassifiers(ClassifyingOptions, Comparing, LabelledCommand):
    """Compare classifiers on the same labelled sentences, with significance tests."""

    examples = ("classifier compare old.palm new.palm test.tsv",)
    common = ("format", "positives", "negatives", "tagger", "rounds", "seed", "json", "quiet")
    files: list = option(
        argument=True, repeat=True, path="input",
        help="Two or more models or outputs of `classifier classify`, followed by a labelled file: CLASS<TAB>words per "
        "line, or JSON lines.",
    )  # fmt: skip

    def run(self) -> None:
        files, data = list(self.files), None
        if self.positives is None and self.negatives is None:
            data = files.pop()
        if len(files) < 2:
            raise UsageError("give two or more classifiers, or outputs of them, and then the labelled file")
        systems = dict(zip(names_of(files), files, strict=True))
        where = data or f"{self.positives}, {self.negatives}"
        self.show(lambda: self._rivals(systems, data), where, {"files": files, "data": data})

    def _rivals(self, systems: dict[str, str], data: str | None) -> Rivals:
        from palmette.evaluation.rivals import class_rivals

        models = {
            name: load_with_tagger(file, self.tagger, self.quiet) for name, file in systems.items() if is_model(file)
        }
        given = read_labelled(self.sources(data), _classes(models))
        guesses = {
            name: models[name].predict(given.X).tolist() if name in models else _classes_in(file, given)
            for name, file in systems.items()
        }
        return class_rivals(given.y, guesses)


def _classes(models: dict[str, Classifier]) -> tuple[str, str] | None:
    """The classes of all models; None if there is no model."""
    found = {name: model.model_.classes for name, model in models.items()}
    first = next(iter(found), None)
    for name, classes in found.items():
        if first is not None and set(classes) != set(found[first]):
            raise UsageError(f"{name} has the classes {', '.join(classes)}, and {first} has {', '.join(found[first])}")
    return None if first is None else found[first]


def _classes_in(file: str, gold: LabelledSentences) -> list[str]:
    """The classes that an output has for the labelled sentences."""
    from palmette.data.formats.classified import read_outputs

    found = read_outputs(file)
    hint = "the files must have the same sentences in the same order"
    for sentence, expected in zip(found, gold.X, strict=False):
        words = [token if isinstance(token, str) else token[0] for token in expected]
        if sentence.words != words:
            there = f"the sentence is not {' '.join(words)[:40]!r}, as in the labelled file"
            raise DataError(there, file=file, line=sentence.line, hint=hint)
    if len(found) != len(gold.X):
        raise DataError(f"{len(found)} sentences, and {len(gold.X)} are labelled", file=file, hint=hint)
    return [str(sentence.label) for sentence in found]
