"""What requests and answers look like. Requests are checked against these types, and the description of the interface
(openapi.py) is made from them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from palmette.serve.limits import LONGEST_CELL, MOST_NBEST

Cell = Annotated[str, Meta(max_length=LONGEST_CELL)]
Token = Cell | list[Cell] | dict[Cell, Cell | float | bool | list[Cell] | None]
"""A word; columns, or attributes of a model that reads these; or attributes (of parsers: fields) by name."""
Allowed = str | list[str] | None
"""Labels that a token may have: one, several, or any."""
Label = str | int
NBest = Annotated[int, Meta(ge=0, le=MOST_NBEST)]
Beam = Annotated[int, Meta(ge=1, le=512)]


class Request(Struct, forbid_unknown_fields=True, kw_only=True):
    """Sentences, and what to find. Exactly one of text, texts, tokens and sentences is given."""

    text: str | None = None
    texts: list[str] | None = None
    tokens: list[Token] | None = None
    sentences: list[list[Token]] | None = None
    allowed: list[list[Allowed]] | None = None
    spans: bool | None = None
    nbest: NBest = 0
    confidence: bool = False
    marginals: bool = False
    explain: bool = False
    beam: Beam | None = None
    split: bool = True
    unit: Literal["word", "char"] = "word"
    penn_quotes: bool = False

    @property
    def plain(self) -> bool:
        """Whether only labels are asked for, so that it can be answered together with others."""
        return not (self.nbest or self.confidence or self.marginals or self.explain or self.allowed or self.beam)


class Span(Struct, kw_only=True, omit_defaults=True):
    """A span: places by tokens, and by characters if the input is text."""

    label: str
    start: int
    end: int
    start_char: int | UnsetType = UNSET
    end_char: int | UnsetType = UNSET
    text: str | UnsetType = UNSET
    confidence: float | UnsetType = UNSET


class Sequence(Struct, kw_only=True, omit_defaults=True):
    """One label sequence of an n-best list."""

    labels: list[Label]
    score: float | None
    probability: float | UnsetType | None = UNSET


class TaggedSentence(Struct, kw_only=True, omit_defaults=True):
    """A sentence with its labels, and what was asked for."""

    input: int
    labels: list[Label]
    score: float | None
    tokens: list[str] | UnsetType = UNSET
    offsets: list[tuple[int, int]] | UnsetType = UNSET
    columns: list[list[str]] | UnsetType = UNSET
    spans: list[Span] | UnsetType | None = UNSET
    confidence: float | UnsetType = UNSET
    token_confidence: list[float] | UnsetType = UNSET
    marginals: list[dict[str, float]] | UnsetType = UNSET
    calibrated: bool | UnsetType = UNSET
    nbest: list[Sequence] | UnsetType = UNSET
    explanation: dict[str, Any] | UnsetType | None = UNSET


class Tree(Struct, kw_only=True, omit_defaults=True):
    heads: list[int]
    relations: list[str]
    score: float | UnsetType = UNSET


class ParsedSentence(Struct, kw_only=True, omit_defaults=True):
    """A sentence with its tree: heads count words from 1, 0 is the root."""

    input: int
    tokens: list[str]
    heads: list[int]
    relations: list[str]
    offsets: list[tuple[int, int]] | UnsetType = UNSET
    nbest: list[Tree] | UnsetType = UNSET


class ClassifiedSentence(Struct, kw_only=True, omit_defaults=True):
    """A sentence with its class; a score of 0 and above is the second class of the model."""

    input: int
    class_: str = msgspec.field(name="class")
    score: float
    tokens: list[str] | UnsetType = UNSET
    structures: dict[str, list[str]] | UnsetType = UNSET


class Word(Struct, kw_only=True, omit_defaults=True):
    """A word of a pipeline's sentence; what is not known of it is left out."""

    id: int
    form: str
    lemma: str | UnsetType = UNSET
    upos: str | UnsetType = UNSET
    xpos: str | UnsetType = UNSET
    feats: dict[str, str] | UnsetType = UNSET
    head: int | UnsetType = UNSET
    deprel: str | UnsetType = UNSET
    start: int | UnsetType = UNSET
    end: int | UnsetType = UNSET
    space_after: bool | UnsetType = UNSET


class Multiword(Struct, kw_only=True):
    text: str
    words: list[int]


class PipelineSentence(Struct, kw_only=True, omit_defaults=True):
    """A sentence of a pipeline."""

    input: int
    words: list[Word]
    text: str | UnsetType = UNSET
    start: int | UnsetType = UNSET
    end: int | UnsetType = UNSET
    multiword: list[Multiword] | UnsetType = UNSET


class TaggerAnswer(Struct, kw_only=True, tag_field="kind", tag="tagger"):
    model: str
    sentences: list[TaggedSentence]


class ParserAnswer(Struct, kw_only=True, tag_field="kind", tag="parser"):
    model: str
    sentences: list[ParsedSentence]


class ClassifierAnswer(Struct, kw_only=True, tag_field="kind", tag="classifier"):
    model: str
    sentences: list[ClassifiedSentence]


class PipelineAnswer(Struct, kw_only=True, tag_field="kind", tag="pipeline"):
    model: str
    sentences: list[PipelineSentence]


Answer = TaggerAnswer | ParserAnswer | ClassifierAnswer | PipelineAnswer


class Error(Struct):
    """What was found and what to do."""

    error: str


class ModelDescription(Struct, kw_only=True):
    """A served model."""

    name: str
    kind: str
    labels: list[str]
    columns: int
    helpers: list[str]
    text: bool
    probabilities: bool
    scheme: str | None
    loaded: str
    generation: int
    files: list[str]
    corrections: int
    uncorrectable: str | None = None
    untrainable: str | None = None
    reload_error: str | None = None


class Overview(Struct, kw_only=True):
    models: list[ModelDescription]
    views: list[str]
    version: str


class Health(Struct, kw_only=True):
    status: str
    version: str
    models: dict[str, int]


# Correct and learn again


class PickRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """Which sentences to pick, of those in the request or of the server's pool."""

    n: Annotated[int, Meta(ge=1, le=1000)] = 20
    by: Literal["confidence", "margin", "entropy"] | None = None
    diversity: Annotated[float, Meta(ge=0, le=100)] = 1.0
    texts: list[str] | None = None
    sentences: list[list[Token]] | None = None


class GivenSpan(Struct, forbid_unknown_fields=True, kw_only=True):
    """A span of tokens: the first one, counted from 0, and the one after the last."""

    start: Annotated[int, Meta(ge=0, le=1_000_000)]
    end: Annotated[int, Meta(ge=1, le=1_000_000)]
    label: Annotated[str, Meta(max_length=200)]


class PickedSentence(Struct, kw_only=True, omit_defaults=True):
    """A sentence that is worth annotating, with what the model guesses: labels, a tree or a class. A correction has
    `columns` as its tokens if they are given, else `words`, else `tokens`."""

    id: str
    tokens: list[str]
    uncertainty: float
    novelty: float
    score: float
    columns: list[list[str]] | UnsetType = UNSET
    labels: list[Label] | UnsetType = UNSET
    spans: list[GivenSpan] | UnsetType = UNSET
    words: list[dict[str, str]] | UnsetType = UNSET
    heads: list[int] | UnsetType = UNSET
    relations: list[str] | UnsetType = UNSET
    class_: str | UnsetType = msgspec.field(name="class", default=UNSET)


class Picked(Struct, kw_only=True):
    pool: int
    sentences: list[PickedSentence]


Identity = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^(?!\.{1,2}$)")]  # no `.` and `..`: see DELETE


class Correction(Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A sentence with what is right. Of taggers: labels, null where nobody looked, a list where one of several is
    right; or instead of them all spans of the sentence. Of parsers: a whole tree, heads (from 1; 0 is the root) and
    relations. Of classifiers: the class."""

    tokens: Annotated[list[Token], Meta(min_length=1)]
    labels: list[Allowed] = []
    spans: list[GivenSpan] | None = None
    heads: list[Annotated[int, Meta(ge=0, le=1_000_000)]] = []
    relations: list[Annotated[str, Meta(min_length=1, max_length=200)]] = []
    class_: Annotated[str, Meta(max_length=200)] | None = msgspec.field(name="class", default=None)
    id: Identity | None = None
    source: Annotated[str, Meta(max_length=1000)] | None = None
    time: str | None = None


class CorrectionsRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    corrections: Annotated[list[Correction], Meta(min_length=1, max_length=1000)]


class Confirmed(Struct, kw_only=True):
    ids: list[str]
    corrections: int


class Corrections(Struct, kw_only=True):
    corrections: list[Correction]
    total: int


class Count(Struct, kw_only=True):
    corrections: int


class Saved(Struct, kw_only=True):
    file: str
    sentences: int


class RetrainRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    replace: Literal["better", "always", "never"] | None = None
    weight: Annotated[int, Meta(ge=1, le=100)] = 1


class RetrainState(Struct, kw_only=True):
    """How a training is going, or how it ended. Scores are shares: 0.83; intervals are of 95%, by the bootstrap over
    sentences. `within_noise`: that of the difference has 0 in it. `continued`: from the weights of the model before."""

    state: Literal["idle", "running", "done", "stopped", "failed"] = "idle"
    id: int = 0
    corrections: int = 0
    seconds: float = 0.0
    measure: str | None = None
    before: float | None = None
    after: float | None = None
    before_interval: tuple[float, float] | None = None
    after_interval: tuple[float, float] | None = None
    difference_interval: tuple[float, float] | None = None
    within_noise: bool | None = None
    continued: bool | None = None
    warning: str | None = None
    log: list[dict[str, Any]] = []
    replaced: bool = False
    error: str | None = None


class TrainingRecords(Struct, kw_only=True):
    records: list[dict[str, Any]]
    next: int
    finished: bool
    outcome: dict[str, Any] | None
    about: dict[str, Any]


# Label Studio


class StudioTask(Struct):
    """A task: `data` has the text."""

    data: dict[str, Any]
    id: int | str | None = None


class StudioRequest(Struct, kw_only=True):
    tasks: list[StudioTask]
    label_config: str | None = None


class StudioSetup(Struct, kw_only=True):
    schema: str | None = None
    project: Any = None


class StudioPrediction(Struct, kw_only=True):
    result: list[dict[str, Any]]
    score: float
    model_version: str


class StudioPredictions(Struct, kw_only=True):
    results: list[StudioPrediction]
    model_version: str


class StudioEvent(Struct, kw_only=True):
    """What Label Studio reports: an annotation, or several with their tasks, or the wish to train."""

    action: str | None = None
    event: str | None = None
    task: dict[str, Any] | list[dict[str, Any]] | None = None
    annotation: dict[str, Any] | list[dict[str, Any]] | None = None
    project: Any = None
    label_config: str | None = None


# INCEpTION


class RecommenderMetadata(Struct, kw_only=True):
    """The layer and the feature of annotations."""

    layer: str
    feature: str
    projectId: int | str = 0


class RecommenderDocument(Struct, kw_only=True):
    """A document as XMI."""

    xmi: str
    documentId: Annotated[int, Meta(ge=0)] | Annotated[str, Meta(max_length=100)] = 0
    userId: str = ""


class RecommenderRequest(Struct, kw_only=True):
    metadata: RecommenderMetadata
    document: RecommenderDocument
    typeSystem: str = ""


class RecommenderTraining(Struct, kw_only=True):
    metadata: RecommenderMetadata
    documents: list[RecommenderDocument]
    typeSystem: str = ""


class RecommenderAnswer(Struct, kw_only=True):
    """The XMI of the document with predictions."""

    document: str
