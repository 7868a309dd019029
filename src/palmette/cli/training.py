"""What training a tagger, a parser or a classifier has in common: options, how it begins and is reported."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from palmette.cli.command import Command, ConfigOptions, ForceOptions, JsonOptions
from palmette.cli.output import report_training
from palmette.errors import UsageError
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.training.result import TrainResult


class TrainingCommand(ConfigOptions, ForceOptions, JsonOptions, Command):
    """Base of these commands."""

    updates = ("resume",)
    fixed: ClassVar[tuple[str, ...]] = ()  # flags of the owners that a resumed training takes from its model,
    kept: ClassVar[str] = ""  # and what they are about

    output: str = option(short="o", metavar="FILE", path="model", help="The model file to write.")
    resume: str | None = option(
        default=None, metavar="MODEL", group="training", path="input",
        help="Continue training this model, also on new data with attributes, labels or relations that it has not "
        "seen; its options are kept.",
    )  # fmt: skip
    checkpoint: bool = option(
        default=False, group="training", help="Keep in the model what --resume needs to continue exactly."
    )
    threads: int | None = option(
        default=None, low=1, group="training",
        help="Threads (default: all cores); the model is the same for any number. See --batch-size.",
    )  # fmt: skip

    @property
    def like(self) -> str | None:
        """The model whose options --config takes; None: it is a TOML file, or not given."""
        from palmette.cli.common import is_model

        return self.config if self.config is not None and is_model(self.config) else None

    @property
    def silent(self) -> bool:
        """Whether nothing is printed during the training."""
        return self.quiet or self.json

    def check_resumed(self, *more: str) -> None:
        """UsageError if an option is given that a resumed training takes from its model; `more`: those besides
        `fixed`."""
        fixed: Sequence[str] = [*self.given(*self.fixed), *more]
        if self.resume and fixed:
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in fixed)
            raise UsageError(f"{flags}: --resume continues with the {self.kept} of the model")

    def begin(self) -> float:
        """Check that the model can be written, before anything is computed; the time, for `report`."""
        from palmette.data import model_file
        from palmette.training.interrupt import stop_on_sigterm

        model_file.check_output(self.output)
        stop_on_sigterm()
        return time.perf_counter()

    def report(
        self, outcome: TrainResult, begun: float, about: Callable[[], dict[str, Any]], score: str = "dev"
    ) -> None:
        """Report a training whose model is saved; `about()` is added to JSON."""
        report_training(outcome, self.output, time.perf_counter() - begun, about, self.json, self.quiet, score)
