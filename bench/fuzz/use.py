"""What a user may do with a model file: load it, then everything that its kind offers, on a few tokens."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.fuzz.models import ATTRIBUTES, CLASSIFIED, LABELS, ROWS, SENTENCES, TEXT, TREEBANK
from bench.fuzz.run import REFUSED, USED, refusal
from palmette import HMM, Classifier, LanguageModel, LinearClassifier, Parser, Pipeline, Tagger
from palmette.classification.inspection import inspect_classifier, print_classifier
from palmette.data.items import corpus_from_items
from palmette.data.treebank import treebank_from_sentences
from palmette.errors import ModelError, PalmetteError
from palmette.parsing.inspection import inspect_parser, print_parser_inspection
from palmette.parsing.retag import retagged
from palmette.pipeline.display import inspect_pipeline
from palmette.reports.inspection import inspect_chain, print_inspection
from palmette.reports.sentence import print_explanation
from palmette.reports.tables import OutputConsole, print_facts
from palmette.structures.chain.explain import explain
from palmette.structures.chain.files import spec_for
from palmette.structures.chain.python_data import items_of

Step = Callable[[], object]
INPUT = [[*sentence, ("unseen", "XX")] for sentence in SENTENCES[:2]]


class NotNamed(Exception):
    """A model was refused by an error that does not name its file, or is not a ModelError."""


def use_model(path: Path, task: str, thorough: bool = True) -> str:
    """REFUSED or USED; any exception is a fault. A step that refuses (an error of ours) does not stop the others.
    Printing reports and saving take longer than all the rest: they can be left out."""
    console = OutputConsole(80, file=io.StringIO()) if thorough else None
    try:
        steps = list(STEPS.get(task, _tagger_steps)(path, console))
    except ModelError as error:
        refusal(error)
        if not str(error).startswith(str(path)):
            raise NotNamed(str(error)) from error
        return REFUSED
    except PalmetteError as error:
        raise NotNamed(f"{type(error).__name__}: {error}") from error
    for step in steps:
        try:
            step()
        except PalmetteError as error:
            refusal(error)
    return USED


# --- taggers ------------------------------------------------------------------------------------------------


def _tagger_steps(path: Path, console: Console | None) -> Iterator[Step]:
    tagger = Tagger.load(path)
    model = tagger.model_
    X: list[list[Any]] = INPUT if model.encoder is not None else ATTRIBUTES[:2]
    width = 1 if model.encoder is None else max(2, model.encoder.n_columns)
    if 2 < width < 100:
        X = [[(*token, *["x"] * (width - 2)) for token in sentence] for sentence in X]
    yield lambda: tagger.predict(X)
    yield lambda: tagger.predict([*X, *X, *X])
    yield lambda: tagger.predict(X, allowed=[[None, *[set(model.labels[:2])] * (len(s) - 1)] for s in X])
    yield lambda: tagger.predict(X[:1], decode="marginal")
    yield lambda: tagger.predict_exact(X[:1], cap=20)
    yield lambda: tagger.nbest(X, 3)
    yield lambda: tagger.predict_marginals(X[:1])
    yield lambda: tagger.predict_confidence(X[:1])
    yield lambda: tagger.log_probability(SENTENCES if model.encoder is not None else ATTRIBUTES, LABELS)
    yield lambda: _explained(tagger, X, console)
    yield lambda: _inspected(tagger, console)
    yield lambda: (repr(tagger), tagger.get_params(), tagger.states_, tagger.training_log_)
    yield lambda: (
        spec_for(tagger.model_, "x.txt"),
        spec_for(tagger.model_, "x.conllu", labelled=True),
        tagger.calibrated_,
    )
    if console is not None:
        yield lambda: model.tag(items_of(tagger.model_, X).corpus, states=True)
        yield lambda: tagger.tag_file(_written(path), path.with_suffix(".tagged"))
        yield lambda: retagged(treebank_from_sentences(INPUT), tagger)
        yield lambda: tagger.save(path.with_suffix(".saved"), prune=True, strip=True)
        yield lambda: _resaved(tagger, path.with_suffix(".saved"))
    if "counting" in model.meta:
        yield lambda: _use_hmm(path)
    if "rows" in model.meta:
        yield lambda: LinearClassifier.load(path).predict(ROWS)
    if model.exact is None and (model.checkpoint or model.meta.get("rows") is None):
        yield lambda: _resumed(tagger)
    yield lambda: tagger.search_with(*(("viterbi",) if model.beam else ("beam", 3))).predict(X)


def _explained(tagger: Tagger, X: list[list[Any]], console: Console | None) -> None:
    index = tagger.model_.feature_indexes[1] if tagger.model_.encoder is None else None
    mode = "columns" if index is None else "attributes"
    found = explain(tagger.model_, corpus_from_items(X[:1], None, mode=mode, index=index).corpus)
    json.dumps(found.to_dict())
    if console is not None:
        print_explanation(found, 5, console)


def _inspected(tagger: Tagger, console: Console | None) -> None:
    about = inspect_chain(tagger.model_, 3)
    json.dumps(about)
    if console is not None:
        print_inspection(about, all_labels=False, console=console)


def _written(path: Path) -> Path:
    """The input as a file of columns."""
    text = path.with_suffix(".txt")
    text.write_text("".join("".join(f"{word} {tag}\n" for word, tag in sentence) + "\n" for sentence in INPUT))
    return text


def _resaved(tagger: Tagger, path: Path) -> None:
    """What is saved from a loaded model can be loaded again: an error here is a fault."""
    tagger.save(path)
    try:
        Tagger.load(path)
    except PalmetteError as error:
        raise NotNamed(f"saved, and not loaded again: {error}") from error


def _use_hmm(path: Path) -> None:
    model = HMM.load(path)
    words = [[word for word, _ in sentence] for sentence in SENTENCES]
    for step in (
        lambda: model.predict(words), lambda: model.log_joint(words, LABELS), lambda: model.to_tables(),
        lambda: model.log_likelihood(words), lambda: model.predict_marginal(words),
    ):  # fmt: skip
        try:
            step()
        except PalmetteError as error:
            refusal(error)


def _resumed(tagger: Tagger) -> None:
    """One more pass; how many is the user's to say, not the file's."""
    tagger.passes = 1
    tagger.partial_fit(SENTENCES if tagger.model_.encoder is not None else ATTRIBUTES, LABELS)


# --- others -------------------------------------------------------------------------------------------------


def _parser_steps(path: Path, console: Console | None) -> Iterator[Step]:
    parser = Parser.load(path)
    yield lambda: parser.predict(INPUT)
    yield lambda: parser.nbest(INPUT[:1], 3)
    yield lambda: parser.parse(INPUT[:1], beam=3)
    yield lambda: json.dumps(inspect_parser(parser).to_dict())
    if console is not None:
        yield lambda: print_parser_inspection(inspect_parser(parser), True, console)
    yield lambda: (repr(parser), parser.get_params(), parser.relations_, parser.training_log_)
    yield lambda: parser.save(path.with_suffix(".saved"))
    if parser.model_.checkpoint:
        yield lambda: _resumed_parser(path)
    yield lambda: parser.compact()
    yield lambda: parser.predict(INPUT[:1])


def _resumed_parser(path: Path) -> None:
    """One more pass."""
    parser = Parser.load(path)
    parser.passes = 1
    parser.partial_fit(TREEBANK)


def _classifier_steps(path: Path, console: Console | None) -> Iterator[Step]:
    classifier = Classifier.load(path)
    yield lambda: classifier.predict(INPUT)
    yield lambda: classifier.structures(INPUT)
    yield lambda: json.dumps(inspect_classifier(classifier, 3).to_dict())
    if console is not None:
        yield lambda: print_classifier(inspect_classifier(classifier, 3), console)
    yield lambda: (repr(classifier), classifier.get_params(), classifier.views_, classifier.training_log_)
    yield lambda: classifier.save(path.with_suffix(".saved"))
    if classifier.model_.checkpoint:
        yield lambda: _resumed_classifier(classifier)


def _resumed_classifier(classifier: Classifier) -> None:
    """One more pass."""
    classifier.passes = 1
    classifier.fit(*CLASSIFIED, resume=classifier.model_)


TYPED = "The boat stopped, didn't it?  We si\u0301ng.\n\nUnseen: 日本語 \U0001f600!"


def _pipeline_steps(path: Path, console: Console | None) -> Iterator[Step]:
    pipeline = Pipeline.load(path)
    for name in pipeline.components_:
        pipeline.component(name)
    yield lambda: pipeline(TYPED).to_conllu()
    yield lambda: [doc.to_dict() for doc in pipeline.pipe([TYPED, "", "We"], beam=1)]
    yield lambda: pipeline.annotate(INPUT)
    yield lambda: json.dumps(inspect_pipeline(pipeline).to_dict())
    yield lambda: (repr(pipeline), pipeline.get_params())
    if console is not None:
        yield lambda: print_facts(inspect_pipeline(pipeline), console)
        yield lambda: _run_pipeline(pipeline, path)
        yield lambda: _resaved_pipeline(pipeline, path.with_suffix(".saved"))


def _run_pipeline(pipeline: Pipeline, path: Path) -> None:
    text = path.with_suffix(".txt")
    text.write_text(TYPED, encoding="utf-8")
    for output in ("conllu", "jsonl", "columns"):
        pipeline.run_file(text, path.with_suffix(".out"), output=output)


def _resaved_pipeline(pipeline: Pipeline, path: Path) -> None:
    """What is saved from a loaded pipeline can be loaded and used again: an error here is a fault."""
    pipeline.save(path)
    try:
        again = Pipeline.load(path)
        for name in again.components_:
            again.component(name)
    except PalmetteError as error:
        raise NotNamed(f"saved, and not loaded again: {error}") from error


def _lm_steps(path: Path, console: Console | None) -> Iterator[Step]:
    model = LanguageModel.load(path)
    yield lambda: model.evaluate([*TEXT, "unseen words"])
    yield lambda: model.predict(["the", ""])
    yield lambda: model.sample(2, max_length=5, seed=1)
    yield lambda: (repr(model), model.get_params(), model.discounts_)
    yield lambda: model.save(path.with_suffix(".saved"))
    yield lambda: model.save(path.with_suffix(".saved"), arpa=True)


STEPS: dict[str, Callable[[Path, Console | None], Iterator[Step]]] = {
    "parse": _parser_steps,
    "classify": _classifier_steps,
    "lm": _lm_steps,
    "pipeline": _pipeline_steps,
}
