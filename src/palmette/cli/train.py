"""`palmette train`: from a labelled file to a tagger."""

from __future__ import annotations

import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any

from palmette.cli.change import MOST_LOSS, log_compact
from palmette.cli.command import Command, ConfigOptions, ForceOptions, JsonOptions
from palmette.cli.common import base_params, forbidden_pairs, format_spec
from palmette.cli.output import exit_if_interrupted, report_training
from palmette.data.formats.spec import FormatSpec
from palmette.errors import UsageError
from palmette.lazy import loaded
from palmette.options.chain import TaggerOptions
from palmette.options.declare import option
from palmette.options.learners import HiddenMarkov
from palmette.options.presets import TAGGER_PRESETS, listed

if TYPE_CHECKING:
    from palmette.estimators.tagger import Tagger

logger = logging.getLogger(__name__)

# Options that a resumed training takes from its model
FIXED = (
    "template", "features", "order", "edge_features", "lexicons", "clusters", "ends", "states", "latent",
    "label_history", "init", "init_size", "split_after", "unicode",
)  # fmt: skip


class Train(ConfigOptions, ForceOptions, JsonOptions, Command):
    """Train a tagger from a labelled file."""

    examples = ("train train.txt -o chunk.palm --dev dev.txt", "train train.conllu -o pos.palm --learner crf",
                "train train.txt -o np.palm --as sun2009 -t np.tmpl --dev dev.txt")  # fmt: skip
    owners = (TaggerOptions, FormatSpec)
    updates = ("resume",)
    hidden = ("unit", "penn-quotes", "candidates")
    common = (
        "output", "dev", "learner", "features", "template", "latent", "passes", "patience", "format", "label",
        "threads", "resume", "quiet",
    )  # fmt: skip

    data: list = option(
        argument=True, repeat=True, path="input",
        help="Labelled sentences in one or more files: columns, CoNLL-U, CRFsuite attributes, JSON lines, or files of "
        "annotators; `-` is standard input, gzip is fine.",
    )  # fmt: skip
    output: str = option(short="o", metavar="FILE", path="model", help="The model file to write.")
    dev: str | None = option(
        default=None, metavar="FILE", path="input", help="Development file: the pass with the best score on it is kept."
    )
    preset: str | None = option(
        default=None, flag="as", metavar="NAME", group="model", choices=listed(TAGGER_PRESETS),
        help="Train as published: a name for the settings of a method, which are printed and further flags change.",
    )  # fmt: skip
    resume: str | None = option(
        default=None, metavar="MODEL", group="training", path="input",
        help="Continue training this model, also with new data, labels and attributes; its options are kept.",
    )  # fmt: skip
    checkpoint: bool = option(
        default=False, group="training", help="Keep in the model what --resume needs to continue exactly."
    )
    threads: int | None = option(
        default=None, low=1, group="training",
        help="Threads (default: all cores); the model is the same for any number. See --batch-size.",
    )  # fmt: skip
    ray: str | None = option(
        default=None, metavar="ADDRESS|auto|local", group="training",
        help="Train on a Ray cluster, a worker for each of --shards: at an address, the one that is found (auto), or "
        "one that is started here (local). The model is the same as without; it is written after each pass.",
    )  # fmt: skip
    compact: bool = option(
        default=False, group="output",
        help="Write a compact model: weights of 8 bits, without the attributes that development data does not miss.",
    )  # fmt: skip
    prune: bool = option(default=False, group="output", help="Leave out attributes whose weights are all zero.")
    plot: str | None = option(
        default=None, metavar="FILE", group="output", path="output",
        help="Draw the learning curve to this file: .png, .svg or .pdf (needs matplotlib).",
    )  # fmt: skip
    page: bool = option(
        default=False, group="output",
        help="Show the learning curves in a browser while training runs, at an address of this machine that is printed "
        "(needs the extra `serve`).",
    )  # fmt: skip
    strip: bool = option(default=False, group="output", help="Leave out the attributes' names, used by `inspect` only.")

    def run(self) -> None:
        self._check()
        from palmette.data import model_file
        from palmette.estimators.helping import needed_columns
        from palmette.estimators.tagger import Tagger
        from palmette.training.interrupt import stop_on_sigterm

        model_file.check_output(self.output)
        if self.plot is not None:
            from palmette.reports.plots import picture_format

            model_file.check_output(self.plot)
            picture_format(self.plot)
        stop_on_sigterm()
        begun = time.perf_counter()
        old = Tagger.load(self.resume) if self.resume else None
        tagger = self._tagger(old)
        spec = format_spec(self.params(FormatSpec))
        if old is not None:
            from palmette.structures.chain.files import spec_for

            spec = spec_for(old.model_, self.data[0], spec, labelled=True)
        silent = self.quiet or self.json
        with _display(tagger, silent) as display, self._watched(display) as progress:
            own: dict[str, Any] = {
                "spec": spec, "resume": None if old is None else old.model_, "checkpoint": self.checkpoint,
                "names": not self.strip, "threads": self.threads, "progress": progress,
                "compact": MOST_LOSS if self.compact else None,
            }  # fmt: skip
            if len(self.data) > 1 or self.ray is not None:
                tagger.fit_files(self.data, self.dev, cluster=self.ray, output=self.output, **own)
            else:
                tagger.fit_file(self.data[0], self.dev, **own)
        tagger.save(self.output, prune=self.prune, strip=self.strip)
        seconds = time.perf_counter() - begun
        report_training(tagger.outcome_, self.output, seconds, lambda: about(tagger), self.json, self.quiet)
        if self.compact and not silent:
            log_compact(tagger.compaction_)
        if not silent and (told := needed_columns(tagger.model_)) is not None:
            logger.info("%s", told)
        if self.plot is not None:
            from palmette.reports.plots import plot, save_figure

            save_figure(plot(tagger, title=self.output), self.plot)
        exit_if_interrupted(tagger.outcome_)

    def _watched(self, display: Any) -> Any:
        """What is told of each epoch: the display, and the page if there is one."""
        if not self.page:
            return contextlib.nullcontext(display)
        return loaded("serve.live_page:LivePage")(display, {"data": self.data, "output": self.output})

    def _check(self) -> None:
        held_out = self.dev is not None or bool(self.flat.get(TaggerOptions, {}).get("dev_share"))
        if self.dev is not None and self.given("dev_share"):
            raise UsageError("give --dev or --dev-share, not both")
        if not held_out and self.given("patience", "tune_bias"):
            raise UsageError("--patience and --tune-bias need development data: --dev FILE or --dev-share 0.1")
        fixed = self.given(*FIXED)
        if self.resume and fixed:
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in fixed)
            raise UsageError(f"{flags}: --resume continues with the features and states of the model")
        if self.prune and self.checkpoint:
            raise UsageError("--prune drops attributes that --checkpoint must keep: choose one of them")
        if self.compact and self.checkpoint:
            raise UsageError("--compact drops what --checkpoint must keep: choose one of them")

    def _tagger(self, old: Tagger | None) -> Tagger:
        from palmette.estimators.tagger import Tagger

        before = base_params(TaggerOptions, self.preset, TAGGER_PRESETS, old, self.quiet or self.json)
        if old is not None:
            before["learner"] = old._settings().chosen_learner.without_limit()
        tagger = Tagger(**file_params(self.params(TaggerOptions, before)))
        learner = tagger._settings().chosen_learner
        if isinstance(learner, HiddenMarkov) and self.threads is not None:
            raise UsageError("--threads is for learners that pass over the data; hmm counts once")
        if old is not None and learner.kind != old._settings().chosen_learner.kind:
            raise UsageError(f"--resume continues with the learner of the model, {old._settings().chosen_learner.kind}")
        return tagger


def file_params(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters of a tagger, with those that flags give as files as Python has them."""
    made = dict(params)
    for name in ("lexicons", "clusters"):
        if isinstance(made.get(name), list):
            made[name] = _unique(made[name], name)
    if isinstance(made.get("forbidden"), str):
        made["forbidden"] = forbidden_pairs(made["forbidden"])
    return made


def _unique(given: list[tuple[str, str]], name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, path in given:
        if key in found:
            raise UsageError(f"--{name} {key}={path}: {key} is given twice")
        found[key] = path
    return found


def _display(tagger: Tagger, quiet: bool) -> Any:
    from palmette.reports.progress import TrainingDisplay

    metric = tagger.metric.replace("auto", "score")
    return TrainingDisplay(tagger._settings().n_passes(), metric, quiet)


def about(tagger: Tagger) -> dict[str, Any]:
    """What --json prints of a model."""
    from palmette.structures.chain.weights import n_weights

    model = tagger.model_
    return {
        "labels": len(model.labels),
        "attributes": sum(index.size for index in model.feature_indexes.values()),
        "nonzero_weights": n_weights(model.searched),
        "scheme": model.scheme,
        "order": model.shape.order,
        "history": model.meta["history"],
    }
