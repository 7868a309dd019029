"""`palmette classifier`: classifiers of sentences over latent structures. Sentences come from one file with classes, or
from two without."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from palmette.classification.options import ClassifierOptions, parse_helper
from palmette.cli.command import Command, JsonOptions, OutputOptions
from palmette.cli.common import (
    OF_FILES,
    EncodingOptions,
    ThreadOptions,
    base_params,
    check_order,
    is_model,
    is_typed,
    names_of,
    text_spec,
)
from palmette.cli.compare import Comparing
from palmette.cli.output import Meter, exit_if_interrupted, print_json, report_rate, report_source
from palmette.cli.training import TrainingCommand
from palmette.data.text import TextSpec
from palmette.errors import DataError, UsageError
from palmette.options.declare import Options, option
from palmette.options.presets import CLASSIFIER_PRESETS, preset_option

if TYPE_CHECKING:
    from palmette.classification.classifier import Classifier
    from palmette.evaluation.rivals import Rivals

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

    with_: str | None = option(
        default=None, flag="with", metavar="[pos=]MODEL", group="data", path="input", parse=parse_helper,
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


def load_with_tagger(model: str, tagger: str | None) -> Classifier:
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


# --- train ---------------------------------------------------------------------------------------------------


class TrainClassifier(TrainingCommand, LabelledCommand):
    """Train a classifier of sentences: it finds the latent structure that helps the decision most."""

    examples = ("classifier train train.tsv -o classifier.palm --dev dev.tsv",)
    owners = (ClassifierOptions, TextSpec)
    fixed = (
        "features", "template", "views", "types", "latent", "pairs", "normalise", "estimator", "chunker_init",
        "chunker_init_range", "unicode",
    )  # fmt: skip
    kept = "features, views and classes"
    common = (
        "output", "dev", "positives", "negatives", "learner", "latent", "types", "features", "template", "passes",
        "resume", "quiet",
    )  # fmt: skip

    data: str | None = option(
        default=None, argument=True, path="input",
        help="One sentence per line: CLASS<TAB>words, optionally followed by <TAB>parts of speech. Or JSON lines with "
        "tokens, pos and label.",
    )  # fmt: skip
    dev: str | None = option(
        default=None,
        metavar="FILE",
        path="input",
        help="Development file, like DATA: the pass with the best accuracy on it is kept.",
    )
    positive: str | None = option(
        default=None, metavar="CLASS", group="data",
        help="Which of the two classes of DATA is positive; not needed for 0 and 1, no and yes, and similar pairs.",
    )  # fmt: skip
    dev_positives: str | None = option(
        default=None,
        metavar="FILE",
        group="data",
        path="input",
        help="Instead of --dev: positive sentences, without classes.",
    )
    dev_negatives: str | None = option(
        default=None, metavar="FILE", group="data", path="input", help="Negative sentences; goes with --dev-positives."
    )
    preset: str | None = preset_option(CLASSIFIER_PRESETS)
    strip: bool = option(default=False, group="output", help="Leave out the attributes' names, used by `inspect` only.")

    def run(self) -> None:
        sources = self.sources(self.data)
        dev_sources = Sources(self.dev, self.dev_positives, self.dev_negatives, self.format, sources.spec, "dev-")
        if dev_sources.given and self.given("dev_share"):
            raise UsageError("give development files or --dev-share, not both")
        if len(self.given("features", "template")) > 1:
            raise UsageError("give --features or --template, not both")
        begun = self.begin()
        old = load_with_tagger(self.resume, None) if self.resume else None
        classifier = self._classifier(old)
        classifier._check_values()
        train = read_labelled(sources, None if old is None else old.model_.classes)
        classes = self._classes(sources, train) if old is None else old.model_.classes
        dev = read_labelled(dev_sources, classes) if dev_sources.given else None
        self._fit(classifier, train, dev, classes[1], old)
        classifier.save(self.output)
        if not self.silent:
            from palmette.classification.inspection import training_notes

            for note in training_notes(classifier.model_):
                print(note)
        self.report(classifier.outcome_, begun, lambda: _about(classifier))
        exit_if_interrupted(classifier.outcome_)

    def _classifier(self, old: Classifier | None) -> Classifier:
        """A classifier with the options given; a resumed one keeps those of its model."""
        from palmette.classification.classifier import Classifier

        self.check_resumed(*([] if self.positive is None else ["positive"]))
        before = base_params(ClassifierOptions, self.preset, CLASSIFIER_PRESETS, old, self.silent, self.like)
        return Classifier(**self.params(ClassifierOptions, before))

    def _classes(self, sources: Sources, train: LabelledSentences) -> tuple[str, str]:
        """The negative class and the positive one."""
        from palmette.classification.files import two_classes

        if sources.in_two_files:
            if self.positive is not None:
                raise UsageError("--positive is for one file with classes; --positives names the positive file of two")
            return two_classes(set(train.y), POSITIVE, str(sources.positives))
        return two_classes(set(train.y), self.positive, str(sources.data))

    def _fit(
        self, classifier: Classifier, train: LabelledSentences, dev: LabelledSentences | None, positive: str,
        old: Classifier | None,
    ) -> None:  # fmt: skip
        from palmette.reports.progress import TrainingDisplay

        metric = None if dev is None and classifier.dev_share is None else "accuracy"
        with TrainingDisplay(classifier._settings().n_passes(), metric, self.silent) as display:
            classifier.fit(
                *train, dev=dev, positive=positive, names=not self.strip,
                resume=None if old is None else old.model_, checkpoint=self.checkpoint,
                threads=self.threads, progress=display,
            )  # fmt: skip


def _about(classifier: Classifier) -> dict[str, Any]:
    from palmette.classification.model import n_weights

    model = classifier.model_
    return {
        "classes": model.classes,
        "views": {view.name: len(view.tags) for view in model.views},
        "attributes": model.feature_index.size,
        "nonzero_weights": n_weights(model.weights),
        "history": model.meta["history"],
    }


# --- classify ------------------------------------------------------------------------------------------------


WRITTEN = {"lines": "class, score and words, separated by TABs", "jsonl": "one JSON object per sentence"}


class Classify(FormatOption, ClassifyingOptions, ThreadOptions, EncodingOptions, OutputOptions, Command):
    """Write the class and the score of each sentence."""

    examples = ("classifier classify classifier.palm input.txt -o classes.tsv",)
    common = ("output", "text", "with", "format", "to", "structures", "threads", "quiet")
    owners = (TextSpec,)
    hidden = ("max-cell",)

    model: str = option(argument=True, path="input", help="The model file.")
    data: str = option(
        default="-", argument=True, path="input",
        help="One sentence per line: words, optionally followed by <TAB>parts of speech; or columns or JSON lines. "
        "`-` is standard input.",
    )  # fmt: skip
    output: str = option(
        default="-", short="o", metavar="FILE", path="output", help="Where to write; `-` is standard output."
    )
    text: str | None = option(default=None, help="A sentence to classify instead of a file: words separated by spaces.")
    to: str = option(default="lines", choices=WRITTEN, group="output", help="Format of the output.")
    structures: bool = option(
        default=False, group="output",
        help="Write the latent tags of each view too: a line per view below the sentence, which begins with `#`.",
    )  # fmt: skip

    def run(self) -> None:
        if self.text is None and is_typed(self.data):
            self.text, self.data = self.data, "-"
        if self.text is not None and (self.data != "-" or self.format is not None or self.given(*OF_FILES)):
            raise UsageError("--text is a sentence instead of a file: leave the file and the options for files out")
        check_order(self)
        classifier = load_with_tagger(self.model, self.with_)
        if self.text is not None:
            from palmette.classification.files import parse_line
            from palmette.data.text import UTF8, write_text

            sentence = parse_line(self.text, "--text", 1, labelled=False)
            with write_text(self.output, self.output_encoding or UTF8) as out:
                out.write(classifier.classified([sentence], output=self.to, structures=self.structures))
            return
        report_source(self.data, self.quiet)
        begun = time.perf_counter()
        n = classifier.classify_file(
            self.data, self.output, format=self.format, output=self.to, structures=self.structures,
            spec=text_spec(self), output_encoding=self.output_encoding, threads=self.n_threads,
            progress=None if self.quiet else Meter("sentence"),
        )  # fmt: skip
        if self.output != "-" and not self.quiet:
            report_rate(n, "sentence", time.perf_counter() - begun, [self.output])


# --- eval ----------------------------------------------------------------------------------------------------


class EvalClassifier(ClassifyingOptions, JsonOptions, LabelledCommand):
    """Score a classifier on sentences whose classes are known."""

    examples = ("classifier eval classifier.palm test.tsv",)
    common = ("format", "positives", "negatives", "with", "json", "quiet")
    model: str = option(argument=True, path="input", help="The model file.")
    data: str | None = option(
        default=None, argument=True, path="input",
        help="One sentence per line: CLASS<TAB>words, optionally followed by <TAB>parts of speech; or JSON lines.",
    )  # fmt: skip

    def run(self) -> None:
        check_order(self)
        classifier = load_with_tagger(self.model, self.with_)
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


# --- compare -------------------------------------------------------------------------------------------------


class CompareClassifiers(ClassifyingOptions, Comparing, LabelledCommand):
    """Compare classifiers on the same labelled sentences, with significance tests."""

    examples = ("classifier compare old.palm new.palm test.tsv",)
    common = ("format", "positives", "negatives", "with", "rounds", "seed", "json", "quiet")
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

        models = {name: load_with_tagger(file, self.with_) for name, file in systems.items() if is_model(file)}
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
    from palmette.classification.files import read_outputs

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


# --- inspect -------------------------------------------------------------------------------------------------


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
