"""`Pipeline`: from plain text to sentences, words, tags, lemmas and trees, learnt from a treebank.

    nlp = Pipeline().fit_file("train.conllu", "dev.conllu")
    nlp.save("en.palm")
    nlp = Pipeline.load("en.palm")
    doc = nlp("Time flies like an arrow.")

The command line is built on this class.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from palmette.data.files import FilePath, shown
from palmette.data.formats.conllu import read_treebank
from palmette.data.formats.registry import read_corpus
from palmette.data.formats.spec import FormatSpec
from palmette.data.stream import map_in_order
from palmette.data.text import PLAIN, TextSpec
from palmette.data.treebank import NOTHING, Treebank, Word, treebank_from_sentences
from palmette.display import drawn_by
from palmette.errors import DataError, UsageError
from palmette.estimators.base import Estimator
from palmette.options.spelling import spelt
from palmette.pipeline.document import ParsedDocument, batches, documents
from palmette.pipeline.model import PipelineModel, annotated
from palmette.pipeline.options import GOLD_INPUTS, PipelineOptions
from palmette.pipeline.run import make_job, run_file
from palmette.pipeline.split_text import SplitText

if TYPE_CHECKING:
    from palmette.pipeline.conll18 import PipelineScores
    from palmette.pipeline.train import StageReport


class Pipeline(PipelineOptions, Estimator):
    """A language pipeline. Parameters are declared options; `palmette pipeline train --help` explains all of them."""

    _repr_html_ = drawn_by("reports.notebook:model")

    # Training

    def fit(
        self,
        treebank: Treebank,
        dev: Treebank | None = None,
        *,
        entities: Treebank | None = None,
        entities_dev: Treebank | None = None,
        threads: int = 2,
        progress: StageReport | None = None,
    ) -> Pipeline:
        """Learn from a treebank (`read_treebank`), with its `# text` if it has one. dev: a treebank that chooses among
        passes, and tells how much can be left out of the models. entities: sentences with entities, in addition to
        those of the treebank; entities_dev: the same to score them and make their model small. threads: components that
        learn at the same time. If a
        component fails, its error is raised when the others have ended, and the pipeline keeps them (`components_`)."""
        from palmette.pipeline.train import train_pipeline

        self._check_values()
        self.model_, self.outcome_ = train_pipeline(
            treebank, dev, self, entities=entities, entities_dev=entities_dev, threads=threads, report=progress
        )
        for error in self.outcome_.errors.values():
            raise error
        return self

    def fit_file(
        self, path: FilePath, dev: FilePath | None = None, *, entities: Sequence[FilePath] = (),
        entities_dev: FilePath | None = None, skip_bad: bool = False, spec: TextSpec = PLAIN, **options: Any,
    ) -> Pipeline:  # fmt: skip
        """Learn from a CoNLL-U file; `options` as for `fit`. entities: files with entities (columns of words and
        labels, CoNLL-U, annotators' files); a file that is given twice counts twice. skip_bad: leave out sentences that
        are not trees."""
        self._check_values()
        if entities or entities_dev is not None:
            from palmette.pipeline.entities import read_entities

            if isinstance(entities, (str, os.PathLike)):
                entities = [entities]
            options["entities"] = read_entities(entities, spec) if entities else None
            options["entities_dev"] = None if entities_dev is None else read_entities([entities_dev], spec)
        trees = "parse" in self.components
        files = [path] if dev is None else [path, dev]
        try:
            banks = [read_treebank(file, labelled=trees, skip_bad=skip_bad and trees, spec=spec) for file in files]
        except DataError as error:
            if trees and _is_without_heads(path, spec):
                others = tuple(name for name in self.components if name != "parse")
                hint = f"leave the parser out: {spelt(PipelineOptions, 'components', others)}" if others else None
                raise DataError("no word has a head: there is nothing to parse", file=shown(path), hint=hint) from error
            raise
        return self.fit(*banks, **options)

    # Using

    def __call__(self, text: str, *, beam: int | None = None) -> ParsedDocument:
        """Annotate a text. `beam`: another one than that of the parser's training; 1 is the fastest."""
        split = self._split(text)
        return ParsedDocument(split, self._fitted().annotate(split.treebank(), beam=beam))

    def pipe(self, texts: Iterable[str], *, threads: int = 1, beam: int | None = None) -> Iterator[ParsedDocument]:
        """Annotate many texts, several at a time, which is faster than one after the other."""

        def work(batch: list[str]) -> list[ParsedDocument]:
            return documents(batch, model.split, lambda bank: model.annotate(bank, beam=beam))

        model = self._fitted()
        for made in map_in_order(work, batches(texts), threads):
            yield from made

    def _split(self, text: str) -> SplitText:
        if not isinstance(text, str):
            raise DataError(f"a text is a string, and this is {type(text).__name__}", hint="pipe() takes several texts")
        found: SplitText = self._fitted().split(text)
        return found

    def annotate(
        self,
        sentences: Treebank | Iterable[Iterable[Word]],
        *,
        components: Iterable[str] | None = None,
        beam: int | None = None,
        threads: int = 1,
    ) -> Treebank:
        """Annotate sentences whose words are known: a Treebank, or sentences of words. `components`: some of tag,
        lemma, parse and entities; what the others would write stays as it is."""
        if isinstance(sentences, str):
            raise DataError(
                "a list of sentences is expected, and this is a string", hint="call the pipeline: nlp(text)"
            )
        treebank = sentences if isinstance(sentences, Treebank) else treebank_from_sentences(sentences)
        return annotated(self._fitted(), treebank, components, beam, threads)

    def run_file(
        self,
        source: FilePath,
        target: FilePath,
        *,
        input: str = "text",
        output: str = "conllu",
        components: Iterable[str] | None = None,
        beam: int | None = None,
        threads: int = 1,
        spec: TextSpec = PLAIN,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Run a file through the pipeline into another, in bounded memory; returns the number of words. input: text,
        tokens (a sentence per line) or conllu. output: conllu, jsonl or columns."""
        job = make_job(self._fitted(), input, output, components, beam)
        return run_file(job, source, target, threads=threads, spec=spec, progress=progress)

    def evaluate(
        self,
        gold: FilePath | Treebank,
        *,
        input: str = "text",
        beam: int | None = None,
        threads: int = 1,
        spec: TextSpec = PLAIN,
    ) -> PipelineScores:
        """The metrics of the CoNLL 2018 shared task on a gold treebank, by the official scorer's names. input: text
        (what the treebank's text gives), or gold-tokens (its sentences and words are given)."""
        from palmette.pipeline.conll18 import evaluate_pipeline

        if input not in GOLD_INPUTS:
            raise UsageError(f"input: {input!r} is none of {', '.join(GOLD_INPUTS)}")
        return evaluate_pipeline(self._fitted(), gold, input, beam, threads, spec)

    def __repr__(self) -> str:
        """What is loaded; before training, the parameters."""
        if not hasattr(self, "model_"):
            return super().__repr__()
        return f"<Pipeline: {', '.join(self.components_)}>"

    # Keeping

    def save(self, path: FilePath) -> None:
        """Write the pipeline's file, whole or not at all."""
        self._fitted().save(path)

    @classmethod
    def load(cls, path: FilePath, *, copy: bool = False) -> Pipeline:
        """Read a pipeline's file. Components are built when they are used; `copy` reads the file into memory instead of
        mapping it."""
        model = PipelineModel.load(path, copy=copy)
        made = cls(**_known(model.meta.settings))
        made.model_ = model
        return made

    @property
    def components_(self) -> tuple[str, ...]:
        """The components that the pipeline has, in order."""
        return cast(PipelineModel, self._fitted()).names

    def component(self, name: str) -> Any:
        """A component: tok, tag, lemma, parse or entities."""
        return self._fitted().component(name)


def _known(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that this version has and that are of the right kind; others are only shown."""
    found = {}
    for name, value in settings.items():
        option = PipelineOptions.__options__.get(name)
        value = tuple(value) if isinstance(value, list) else value
        if option is not None:
            try:
                found[name] = option.checked(value)
            except UsageError:
                continue
    return found


def _is_without_heads(path: FilePath, spec: TextSpec) -> bool:
    """Whether a file that can be read a second time has words, and none of them has a head."""
    if str(path) == "-":
        return False
    layout = FormatSpec(
        format="conllu", label="head", columns=("form",), encoding=spec.encoding, max_line=spec.max_line,
        max_cell=spec.max_cell,
    )  # fmt: skip
    try:
        labels = read_corpus(path, layout).labels
    except DataError:
        return False
    return labels is not None and labels.types == [NOTHING]
