"""Answers of taggers: labels, spans, confidences, n-best lists, explanations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from palmette.data.labels.schemes import spans
from palmette.estimators.tagger import Tagger
from palmette.serve.cells import corpus_of_cells
from palmette.serve.inputs import Inputs
from palmette.serve.limits import Limits
from palmette.serve.served import Served
from palmette.serve.types import Request, Span, TaggedSentence, TaggerAnswer
from palmette.serve.types import Sequence as LabelSequence
from palmette.structures.chain.python_data import by_session, predicted

SLICE = 20_000  # tokens that are decoded at a time, between looks at whether anybody still waits


class Labels(NamedTuple):
    """What a tagger found for sentences, and the sentences with the columns that helpers made."""

    labels: list[list[Any]]
    scores: list[float]
    sentences: list[list[Any]]


class Wanted:
    """Whether anybody still waits for an answer."""

    gone = False

    def check(self) -> None:
        if self.gone:
            raise TimeoutError


def with_helpers(served: Served, sentences: list[list[Any]]) -> list[list[Any]]:
    """Sentences of words with the columns that helpers make."""
    made: list[list[Any]] = [[(word,) for word in sentence] for sentence in sentences] if served.helpers else sentences
    for helper in served.helpers.values():
        found = helper.predict(made)
        made = [
            [(*cells, str(tag)) for cells, tag in zip(sentence, tags, strict=True)]
            for sentence, tags in zip(made, found, strict=True)
        ]
    return made


def label(served: Served, sentences: list[list[Any]], text: bool, wanted: Wanted | None = None) -> Labels:
    """The best labels of sentences; `text`: they are words, for which helpers make columns."""
    if text:
        served.check_text()
        sentences = with_helpers(served, sentences)
    tagger: Tagger = served.estimator
    labels: list[list[Any]] = []
    scores: list[float] = []
    for part in slices(sentences):
        if wanted is not None:
            wanted.check()
        found = by_session(tagger.model_, part) or _together(tagger, part) or predicted(tagger.model_, part)
        labels += found[0]
        scores += found[1]
    return Labels(labels, scores, sentences)


def _together(tagger: Tagger, sentences: list[list[Any]]) -> tuple[list[list[Any]], list[float]] | None:
    """Many sentences of columns at once; None if they are not plain rows of strings, as many as the model reads."""
    model = tagger.model_
    corpus = None if model.encoder is None else corpus_of_cells(sentences)
    if corpus is None or model.encoder is None or len(corpus.columns) < model.encoder.n_columns:
        return None
    found = model.decode(corpus, "viterbi")
    classes = model.classes
    names = [classes[k] for k in found.labels.tolist()]
    return [names[a:b] for a, b in pairwise(corpus.offset.tolist())], found.scores.tolist()


def slices(sentences: list[list[Any]]) -> Iterator[list[list[Any]]]:
    """Parts of about SLICE tokens."""
    part: list[list[Any]] = []
    size = 0
    for sentence in sentences:
        part.append(sentence)
        size += len(sentence)
        if size >= SLICE:
            yield part
            part, size = [], 0
    if part:
        yield part


def tagger_answer(served: Served, request: Request, inputs: Inputs, found: Labels) -> TaggerAnswer:
    """Labels, and spans if they are wanted."""
    with_spans = inputs.parts is not None if request.spans is None else request.spans
    made = [
        TaggedSentence(input=inputs.number(s), labels=labels, score=score)
        for s, (labels, score) in enumerate(zip(found.labels, found.scores, strict=True))
    ]
    if inputs.parts is not None:
        for sentence, words, part, cells in zip(made, inputs.sentences, inputs.parts, found.sentences, strict=True):
            sentence.tokens, sentence.offsets = words, part.offsets
            if served.helpers:
                sentence.columns = [list(row) for row in cells]
    if with_spans:
        for s, sentence in enumerate(made):
            sentence.spans = spans_of(served, sentence.labels, inputs, s)
    return TaggerAnswer(model=served.name, sentences=made)


def spans_of(served: Served, labels: Sequence[Any], inputs: Inputs, s: int) -> list[Span] | None:
    """The spans of a sentence; None if the labels of the model are not those of spans."""
    if not served.has_spans:
        return None
    names: Sequence[str] = labels
    if served.named:
        called = dict(zip(served.estimator.classes_, served.estimator.labels_, strict=True))
        names = [called[each] for each in labels]
    made = [Span(label=one.type, start=one.start, end=one.end) for one in spans(names, served.scheme)]
    if inputs.parts is not None:
        text, offsets = inputs.parts[s]
        for span in made:
            span.start_char, span.end_char = offsets[span.start][0], offsets[span.end - 1][1]
            span.text = text[span.start_char : span.end_char]
    return made


def full_answer(
    served: Served, request: Request, inputs: Inputs, limits: Limits, wanted: Wanted | None = None
) -> TaggerAnswer:
    """Everything that a request can ask of a tagger."""
    tagger: Tagger = served.estimator
    check_asked(served, request, inputs, limits)
    if inputs.parts is not None:
        served.check_text()
    X = inputs.sentences if inputs.parts is None else with_helpers(served, inputs.sentences)
    if request.allowed is None:
        found = label(served, X, False, wanted)
    else:
        labels, scores, _ = predicted(tagger.model_, X, request.allowed)
        found = Labels(labels, scores, X)
    answer = tagger_answer(served, request, inputs, found)
    wanted = wanted or Wanted()
    if request.confidence:
        wanted.check()
        _put_confidence(tagger, answer.sentences, X, request.allowed)
    if request.marginals:
        wanted.check()
        found_marginals = tagger.predict_marginals(X, allowed=request.allowed)
        for sentence, rows in zip(answer.sentences, found_marginals, strict=True):
            sentence.marginals = [{str(name): share for name, share in row.items()} for row in rows]
    if request.confidence or request.marginals:
        for sentence in answer.sentences:
            sentence.calibrated = tagger.calibrated_
    if request.nbest:
        wanted.check()
        lists = tagger.nbest(X, request.nbest, allowed=request.allowed)
        for sentence, best in zip(answer.sentences, lists, strict=True):
            sentence.nbest = [
                LabelSequence(labels=list(one.output), score=one.score, probability=one.probability) for one in best
            ]
    if request.explain:
        for sentence, tokens in zip(answer.sentences, X, strict=True):
            wanted.check()
            sentence.explanation = tagger.explain(tokens).to_dict() if tokens else None
    return answer


def _put_confidence(tagger: Tagger, sentences: list[TaggedSentence], X: list[list[Any]], allowed: Any) -> None:
    for sentence, row in zip(sentences, tagger.predict_confidence(X, allowed=allowed), strict=True):
        sentence.confidence, sentence.token_confidence = row["confidence"], row["token_confidence"]
        if isinstance(sentence.spans, list):
            sure = {(one["start"], one["end"], one["type"]): one["confidence"] for one in row["span_confidence"]}
            for span in sentence.spans:
                span.confidence = sure[span.start, span.end, span.label]


def check_asked(served: Served, request: Request, inputs: Inputs, limits: Limits) -> None:
    """Failure if the answer would be too large."""
    n = inputs.n_tokens
    limits.check_cells(n * (request.nbest + request.marginals * len(served.labels)))
    if request.explain:
        limits.check_cells(200 * n)  # attributes of a token, about
