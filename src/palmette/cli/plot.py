"""`palmette plot`: pictures of a model."""

from __future__ import annotations

from palmette.cli.command import Command, OutputOptions
from palmette.errors import UsageError
from palmette.options.declare import option

# As in reports/plots.py, which `--help` does not import
PICTURES = ("curve", "transitions", "weights")


class Plot(OutputOptions, Command):
    """Draw a model: its learning curve, transitions or strongest weights. The learning curve is for parsers and
    classifiers too."""

    examples = ("plot chunk.palm -o curve.png", "plot chunk.palm --what weights --label B-NP -o weights.svg")
    model: str = option(argument=True, path="input", help="The model file.")
    output: str = option(short="o", metavar="FILE", path="output", help="The picture to write: .png, .svg or .pdf.")
    what: str = option(
        default="curve",
        choices=PICTURES,
        help="What to draw: scores by pass, weights of label pairs as a heat map, or the strongest attributes.",
    )
    label: list | None = option(
        default=None, repeat=True, metavar="LABEL", help="Of weights: this label; repeatable (default: the first four)."
    )
    top: int = option(default=10, low=1, high=50, help="Of weights: number of attributes of each label.")

    def run(self) -> None:
        self._check()
        from palmette.data.model_file import check_output, load_any
        from palmette.reports.plots import picture_format, plot, save_figure

        check_output(self.output)
        picture_format(self.output)
        figure = plot(load_any(self.model, "plot"), self.what, labels=self.label, top=self.top, title=self.model)
        save_figure(figure, self.output)

    def _check(self) -> None:
        if self.what != "weights" and (self.label or self.top != type(self).__options__["top"].default):
            raise UsageError("--label and --top choose the weights to draw: add --what weights")
