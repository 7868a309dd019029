"""`palmette train`: from a labelled file to a tagger."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

from palmette.cli.change import MOST_LOSS, log_compact
from palmette.cli.common import base_params, forbidden_pairs, format_spec, with_named_files
from palmette.cli.output import exit_if_interrupted
from palmette.cli.training import TrainingCommand
from palmette.data.formats.spec import FormatSpec
from palmette.errors import UsageError
from palmette.lazy import loaded
from palmette.options.chain import TaggerOptions
from palmette.options.declare import option
from palmette.options.learners import HiddenMarkov
from palmette.options.presets import TAGGER_PRESETS, preset_option

if TYPE_CHECKING:
    from palmette.estimators.tagger import Tagger

logger = logging.getLogger(__name__)


class Train(TrainingCommand):
    """Train a tagger from a labelled file."""

    examples = ("train train.txt -o chunk.palm --dev dev.txt", "train train.conllu -o pos.palm --learner crf",
                "train train.txt -o np.palm --as sun2009 -t np.tmpl --dev dev.txt")  # fmt: skip
    owners = (TaggerOptions, FormatSpec)
    hidden = ("unit", "penn-quotes", "candidates")
    fixed = (
        "template", "features", "order", "edge_features", "lexicons", "clusters", "raw", "ends", "states", "latent",
        "label_history", "latent_init", "latent_init_size", "split_after", "unicode",
    )  # fmt: skip
    kept = "features and states"
    common = (
        "output", "dev", "learner", "features", "template", "latent", "passes", "patience", "format", "label",
        "threads", "resume", "quiet",
    )  # fmt: skip

    data: list = option(
        argument=True, repeat=True, path="input",
        help="Labelled sentences in one or more files: columns, CoNLL-U, CRFsuite attributes, JSON lines, or files of "
        "annotators; `-` is standard input, gzip is fine.",
    )  # fmt: skip
    dev: str | None = option(
        default=None, metavar="FILE", path="input", help="Development file: the pass with the best score on it is kept."
    )
    preset: str | None = preset_option(TAGGER_PRESETS)
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
    picture: str | None = option(
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
        from palmette.estimators.helping import needed_columns
        from palmette.estimators.tagger import Tagger

        begun = self.begin()
        if self.picture is not None:
            from palmette.data.model_file import check_output
            from palmette.reports.plots import picture_format

            check_output(self.picture)
            picture_format(self.picture)
        old = Tagger.load(self.resume) if self.resume else None
        tagger = self._tagger(old)
        spec = format_spec(self.params(FormatSpec))
        trained = Tagger.load(self.like) if self.like is not None else old
        if trained is not None:
            from palmette.structures.chain.files import spec_for

            spec = spec_for(trained.model_, self.data[0], spec, labelled=True)
            spec = spec if old is not None else spec.replace(has_label=None)  # as a new training stores it
        with _display(tagger, self.silent) as display, self._watched(display) as progress:
            own: dict[str, Any] = {
                "spec": spec, "resume": None if old is None else old.model_, "checkpoint": self.checkpoint,
                "names": not self.strip, "threads": self.threads, "progress": progress,
                "compact": MOST_LOSS if self.compact else None,
                "again": None if self.like is None or trained is None else trained.model_,  # with its word lists
            }  # fmt: skip
            if len(self.data) > 1 or self.ray is not None:
                tagger.fit_files(self.data, self.dev, cluster=self.ray, output=self.output, **own)
            else:
                tagger.fit_file(self.data[0], self.dev, **own)
        tagger.save(self.output, prune=self.prune, strip=self.strip)
        self.report(tagger.outcome_, begun, lambda: about(tagger))
        if self.compact and not self.silent:
            log_compact(tagger.compaction_)
        if not self.silent and (told := needed_columns(tagger.model_)) is not None:
            logger.info("%s", told)
        if self.picture is not None:
            from palmette.reports.plots import plot, save_figure

            save_figure(plot(tagger, title=self.output), self.picture)
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
        self.check_resumed()
        if self.prune and self.checkpoint:
            raise UsageError("--prune drops attributes that --checkpoint must keep: choose one of them")
        if self.compact and self.checkpoint:
            raise UsageError("--compact drops what --checkpoint must keep: choose one of them")

    def _tagger(self, old: Tagger | None) -> Tagger:
        from palmette.estimators.tagger import Tagger

        before = base_params(TaggerOptions, self.preset, TAGGER_PRESETS, old, self.silent, self.like)
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
    made = with_named_files(params)
    if isinstance(made.get("forbidden"), str):
        made["forbidden"] = forbidden_pairs(made["forbidden"])
    return made


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
