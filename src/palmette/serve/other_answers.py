"""Answers of parsers, classifiers and pipelines."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from palmette.data.treebank import Treebank, treebank_from_sentences
from palmette.errors import UsageError
from palmette.pipeline.output import plain_words
from palmette.serve.answers import Wanted, full_answer, slices, with_helpers
from palmette.serve.inputs import Inputs, inputs_of, texts_of
from palmette.serve.limits import Limits
from palmette.serve.served import Served
from palmette.serve.types import (
    Answer,
    ClassifiedSentence,
    ClassifierAnswer,
    ParsedSentence,
    ParserAnswer,
    PipelineAnswer,
    PipelineSentence,
    Request,
    Tree,
)

NOT_THEIRS = {
    "parser": ("marginals", "confidence", "explain", "allowed", "spans"),
    "classifier": ("nbest", "marginals", "confidence", "allowed", "beam", "spans"),
    "pipeline": ("nbest", "marginals", "confidence", "explain", "allowed", "spans"),
    "tagger": ("beam",),
}


def answer(served: Served, request: Request, limits: Limits, wanted: Wanted | None = None) -> Answer:
    """The answer to a request, whatever the kind of the model."""
    asked = [name for name in NOT_THEIRS[served.kind] if getattr(request, name)]
    if asked:
        raise UsageError(f"a {served.kind} has no {asked[0]}: leave it out")
    inputs = inputs_of(request, limits)
    if served.kind == "tagger":
        return full_answer(served, request, inputs, limits, wanted)
    if served.kind == "parser":
        return _parsed(served, request, inputs, limits, wanted)
    if served.kind == "classifier":
        return _classified(served, request, inputs)
    return _annotated(served, request, inputs, wanted)


def treebank_of_inputs(served: Served, inputs: Inputs) -> Treebank:
    """The words; those without any tag are tagged by helpers."""
    treebank = treebank_from_sentences(inputs.sentences, source="the request")
    if inputs.parts is not None:
        served.check_text()
    words_only = all(isinstance(token, str) for sentence in inputs.sentences for token in sentence)
    ready = served.preparation
    if not words_only:
        ready = type(ready)((), ready.ignored)
    return ready(treebank)


def _parsed(served: Served, request: Request, inputs: Inputs, limits: Limits, wanted: Wanted | None) -> ParserAnswer:
    made: list[ParsedSentence] = []
    limits.check_cells(inputs.n_tokens * request.nbest)
    first = 0
    for part in slices(inputs.sentences):
        if wanted is not None:
            wanted.check()
        last = first + len(part)
        parts = None if inputs.parts is None else inputs.parts[first:last]
        origin = None if inputs.origin is None else inputs.origin[first:last]
        treebank = treebank_of_inputs(served, Inputs(part, origin, parts, 0))
        found = served.estimator.parse(treebank, beam=request.beam)
        words, heads, names = found.forms.cells(), found.heads.tolist(), found.relations.cells()
        for s, (a, b) in enumerate(pairwise(found.offset.tolist())):
            sentence = ParsedSentence(
                input=inputs.number(first + s), tokens=words[a:b], heads=heads[a:b], relations=names[a:b]
            )
            if parts is not None:
                sentence.offsets = parts[s].offsets
            made.append(sentence)
        if request.nbest:
            for sentence, best in zip(
                made[first:], served.estimator.nbest(treebank, request.nbest, beam=request.beam), strict=True
            ):
                sentence.nbest = [_tree(one.output, one.score) for one in best]
        first = last
    return ParserAnswer(model=served.name, sentences=made)


def _tree(arcs: list[tuple[int, str]], score: float) -> Tree:
    return Tree(heads=[head for head, _ in arcs], relations=[name for _, name in arcs], score=score)


def _classified(served: Served, request: Request, inputs: Inputs) -> ClassifierAnswer:
    X: list[list[Any]] = inputs.sentences
    if inputs.parts is not None:
        served.check_text()
        X = with_helpers(served, X)
    scores = served.estimator.decision_function(X).tolist()
    low, high = served.labels
    made = [
        ClassifiedSentence(input=inputs.number(s), class_=high if score >= 0 else low, score=score)
        for s, score in enumerate(scores)
    ]
    if inputs.parts is not None:
        for sentence, words in zip(made, inputs.sentences, strict=True):
            sentence.tokens = words
    if request.explain:
        for sentence, found in zip(made, served.estimator.structures(X), strict=True):
            sentence.structures = found
    return ClassifierAnswer(model=served.name, sentences=made)


def _annotated(served: Served, request: Request, inputs: Inputs, wanted: Wanted | None) -> PipelineAnswer:
    made: list[dict[str, Any]] = []
    texts = texts_of(request)
    if texts is not None:
        served.check_text()
        for number, document in enumerate(served.estimator.pipe(texts, beam=request.beam)):
            if wanted is not None:
                wanted.check()
            made += [{"input": number, **sentence} for sentence in document.to_dict()["sentences"]]
    else:
        for part in slices(inputs.sentences):
            if wanted is not None:
                wanted.check()
            found = served.estimator.annotate(part, beam=request.beam)
            for a, b in pairwise(found.offset.tolist()):
                made.append({"input": len(made), "words": plain_words(found, a, b)})
    return PipelineAnswer(model=served.name, sentences=[PipelineSentence(**sentence) for sentence in made])
