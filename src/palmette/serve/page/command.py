"""`palmette page`: models, labelled data and some sentences as one file to look at in a browser."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from palmette.cli.command import Command, OutputOptions
from palmette.cli.common import HelperOptions, input_spec, names_of
from palmette.data.formats.spec import FormatSpec
from palmette.errors import UsageError
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.estimators.tagger import Tagger

logger = logging.getLogger(__name__)


class Page(HelperOptions, OutputOptions, Command):
    """Write a page about models that needs no server: the search of some sentences, why they get their labels, how sure
    that is, errors, strongest weights, learning curves; of several taggers also which is better. `palmette serve` shows
    the same for sentences that are typed."""

    examples = (
        "page chunk.palm --data test.txt -o report.html",
        "page old.palm new.palm --data test.txt -o report.html",
    )
    owners = (FormatSpec,)
    hidden = ("label", "unit", "penn-quotes")
    common = ("output", "data", "sentences", "text", "model", "with", "format", "columns", "quiet")

    models: list = option(
        argument=True, repeat=True, metavar="MODEL", path="input", help="Model files of any kind but language models."
    )
    output: str = option(short="o", metavar="FILE", path="output", help="The HTML file to write.")
    data: str | None = option(
        default=None,
        metavar="FILE",
        path="input",
        help="Labelled sentences, such as test data: scored, and some of them shown.",
    )
    sentences: int = option(
        default=20, low=0, high=1000, help="Number of sentences of the data to show, those with errors first."
    )
    text: list | None = option(default=None, repeat=True, help="A typed sentence to show; repeatable.")
    model: bool = option(
        default=True,
        help="Put a compact copy of each tagger into the page, which tags what the reader types, without a server.",
    )

    def run(self) -> None:
        if self.data is None and self.flat.get(FormatSpec):
            raise UsageError("the options of the data are for a file: --data FILE")
        from palmette.data.files import write_whole
        from palmette.data.model_file import check_output
        from palmette.reports.progress import Meter
        from palmette.serve.page.bundle import page_file
        from palmette.serve.page.models import PageModel
        from palmette.serve.page.report import beside, page_records

        check_output(self.output)
        names = [_short(name) for name in names_of(self.models)]
        names = names if len(set(names)) == len(names) else names_of(self.models)
        helpers, meter = self.helpers(), Meter(self.quiet)
        loaded = {name: _loaded(file) for name, file in zip(names, self.models, strict=True)}
        data = {} if self.data is None else {name: self._read(self.data, model) for name, model in loaded.items()}
        shown = beside({name: PageModel(model, name, helpers) for name, model in loaded.items()})
        typed = self._typed(names) if self.model else {}
        records = page_records(
            shown, data, sentences=self.sentences, texts=self.text or (), source=self.data or "", tell=meter.tell,
            typed=typed,
        )  # fmt: skip
        meter.clear()
        page = page_file(records, f"{', '.join(names)} - Palmette")
        with write_whole(self.output) as out:
            out.write(page)
        if not self.quiet:
            inside = sum(len(text) for record in typed.values() for text in record.values())
            told = (
                f", {inside / 1e6:.1f} of them models to type sentences for (--no-model leaves them out)"
                if typed
                else ""
            )
            logger.info("wrote %s, %.1f MB%s", self.output, len(page) / 1e6, told)

    def _typed(self, names: list[str]) -> dict[str, dict[str, str]]:
        """The models that the runtime in the page can use, with the runtime, by their names in the page."""
        from palmette.errors import ModelError
        from palmette.runtime.export import for_page

        made = {}
        for name, file in zip(names, self.models, strict=True):
            try:
                made[name] = for_page(file)
            except ModelError as error:
                logger.info(
                    "%s: typed sentences are not tagged in the page (%s)", file, error.args[0].partition("\n")[0]
                )
        return made

    def _read(self, path: str, model: Any) -> Any:
        """The data as a model reads it."""
        from palmette.classification.classifier import Classifier
        from palmette.estimators.tagger import Tagger

        if isinstance(model, Tagger):
            return self._corpus(path, model)
        if isinstance(model, Classifier):
            raise UsageError("--data: of a classifier the page shows sentences that are typed: --text")
        from palmette.data.formats.conllu import read_treebank

        return read_treebank(path)

    def _corpus(self, path: str, tagger: Tagger) -> Any:
        from palmette.data.formats.registry import read_corpus

        return read_corpus(path, input_spec(self, tagger, path, labelled=True))


def _short(name: str) -> str:
    return name.removesuffix(".palm")


def _loaded(path: str) -> Any:
    """A model file of a kind that the page shows."""
    from palmette.cli.common import is_model
    from palmette.data.model_file import load_any

    if not is_model(path):
        raise UsageError(f"{path} is not a model file")
    return load_any(path, "page")
