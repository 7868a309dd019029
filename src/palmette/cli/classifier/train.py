"""`palmette classifier train`: from labelled sentences to a classifier over latent structures."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from palmette.cli.classifier.common import (
    POSITIVE,
    LabelledCommand,
    LabelledSentences,
    Sources,
    load_with_tagger,
    read_labelled,
)
from palmette.cli.command import ForceOptions, JsonOptions
from palmette.cli.common import base_params
from palmette.cli.output import exit_if_interrupted, report_training
from palmette.data.text import TextSpec
from palmette.errors import UsageError
from palmette.options.declare import option
from palmette.options.latent import ClassifierOptions
from palmette.options.presets import CLASSIFIER_PRESETS, listed

if TYPE_CHECKING:
    from palmette.estimators.classifier import Classifier


# Options that a resumed training takes from its model
FIXED = (
    "features", "template", "views", "types", "latent", "pairs", "normalise", "estimator", "init", "init_range",
    "unicode",
)  # fmt: skip


class TrainClassifier(ForceOptions, JsonOptions, LabelledCommand):
    """Train a classifier of sentences: it finds the latent structure that helps the decision most."""

    examples = ("classifier train train.tsv -o classifier.palm --dev dev.tsv",)
    owners = (ClassifierOptions, TextSpec)
    updates = ("resume",)
    common = (
        "output", "dev", "positives", "negatives", "learner", "latent", "types", "features", "template", "passes",
        "resume", "quiet",
    )  # fmt: skip

    data: str | None = option(
        default=None, argument=True, path="input",
        help="One sentence per line: CLASS<TAB>words, optionally followed by <TAB>parts of speech. Or JSON lines with "
        "tokens, pos and label.",
    )  # fmt: skip
    output: str = option(short="o", metavar="FILE", path="model", help="The model file to write.")
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
    preset: str | None = option(
        default=None, flag="as", metavar="NAME", group="model", choices=listed(CLASSIFIER_PRESETS),
        help="Train as published: a name for the settings of a method, which are printed and further flags change.",
    )  # fmt: skip
    resume: str | None = option(
        default=None, metavar="MODEL", group="training", path="input",
        help="Continue training this model, also with new data and attributes; its options are kept.",
    )  # fmt: skip
    checkpoint: bool = option(
        default=False, group="training", help="Keep in the model what --resume needs to continue exactly."
    )
    threads: int | None = option(
        default=None, low=1, group="training",
        help="Threads (default: all cores); the model is the same for any number. See --batch-size.",
    )  # fmt: skip
    strip: bool = option(default=False, group="output", help="Leave out the attributes' names, used by `inspect` only.")

    def run(self) -> None:
        sources = self.sources(self.data)
        dev_sources = Sources(self.dev, self.dev_positives, self.dev_negatives, self.format, sources.spec, "dev-")
        if dev_sources.given and self.given("dev_share"):
            raise UsageError("give development files or --dev-share, not both")
        if len(self.given("features", "template")) > 1:
            raise UsageError("give --features or --template, not both")
        from palmette.data import model_file
        from palmette.training.interrupt import stop_on_sigterm

        model_file.check_output(self.output)
        stop_on_sigterm()
        begun = time.perf_counter()
        old = load_with_tagger(self.resume, None, self.quiet) if self.resume else None
        classifier = self._classifier(old)
        classifier._check_values()
        train = read_labelled(sources, None if old is None else old.model_.classes)
        classes = self._classes(sources, train) if old is None else old.model_.classes
        dev = read_labelled(dev_sources, classes) if dev_sources.given else None
        self._fit(classifier, train, dev, classes[1], old)
        classifier.save(self.output)
        if not (self.json or self.quiet):
            from palmette.reports.classification import training_notes

            for note in training_notes(classifier.model_):
                print(note)
        seconds = time.perf_counter() - begun
        report_training(classifier.outcome_, self.output, seconds, lambda: _about(classifier), self.json, self.quiet)
        exit_if_interrupted(classifier.outcome_)

    def _classifier(self, old: Classifier | None) -> Classifier:
        """A classifier with the options given; a resumed one keeps those of its model."""
        from palmette.estimators.classifier import Classifier

        fixed = self.given(*FIXED) + (["positive"] if self.positive is not None else [])
        if old is not None and fixed:
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in fixed)
            raise UsageError(f"{flags}: --resume continues with the features, views and classes of the model")
        before = base_params(ClassifierOptions, self.preset, CLASSIFIER_PRESETS, old, self.quiet or self.json)
        return Classifier(**self.params(ClassifierOptions, before))

    def _classes(self, sources: Sources, train: LabelledSentences) -> tuple[str, str]:
        """The negative class and the positive one."""
        from palmette.data.formats.classified import two_classes

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
        with TrainingDisplay(classifier._settings().n_passes(), metric, self.quiet or self.json) as display:
            classifier.fit(
                *train, dev=dev, positive=positive, names=not self.strip,
                resume=None if old is None else old.model_, checkpoint=self.checkpoint,
                threads=self.threads, progress=display,
            )  # fmt: skip


def _about(classifier: Classifier) -> dict[str, Any]:
    from palmette.structures.latent.model import n_weights

    model = classifier.model_
    return {
        "classes": model.classes,
        "views": {view.name: len(view.tags) for view in model.views},
        "attributes": model.feature_index.size,
        "nonzero_weights": n_weights(model.weights),
        "history": model.meta["history"],
    }
