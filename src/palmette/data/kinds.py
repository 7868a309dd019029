"""The kinds of models, a row each: what a model file calls it, and what makes, loads and uses it.

The command line, the server, the page and messages read this table; rooms have columns of their own by `Kind.name`
(`serve/kinds.py`). Values of the form "module:name" are relative to `palmette` and imported when they are needed. A
verb without a command works for all kinds (`plot`, `page`, `serve`), or the row says why it does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from palmette.errors import UsageError, either
from palmette.lazy import loaded

VERBS = ("train", "tag", "eval", "inspect", "explain", "compare", "compact", "calibrate", "trellis", "plot", "pick",
         "page", "serve")  # fmt: skip


class Kind(NamedTuple):
    """A kind of model."""

    name: str  # of its group of commands, and for --task
    task: str | None  # in model files; None: its models are files of another kind
    words: str  # with its article
    estimator: str
    inspect: str  # the function from an estimator to an Inspection
    about: str  # the group of commands in a line
    commands: Mapping[str, tuple[str, str]]  # verb: the class, and a line of help
    spelled: Mapping[str, str] = {}  # verb: the word in the group, where it is another
    refuses: Mapping[str, str] = {}  # verb: why this kind does not have it
    more: str = ""  # what else is possible with such a file

    @property
    def loads(self) -> Any:
        """The class of its estimator."""
        return loaded(self.estimator)

    def command(self, verb: str) -> str:
        """What is typed for a verb: `palmette parser parse`."""
        group = "" if self.name == "tagger" else f"{self.name} "
        return f"palmette {group}{self.spelled.get(verb, verb)}"

    def check(self, verb: str, file: str) -> None:
        """UsageError if models of the kind do not have a verb."""
        if verb in self.refuses:
            raise UsageError(f"{file} is {self.words}, and `palmette {verb}` does not take one: {self.refuses[verb]}")


TAGGER = Kind(
    "tagger", "chain", "a tagger", "estimators.tagger:Tagger", "reports.inspection:inspect_tagger",
    "Taggers and other models of label sequences.",
    {
        "train": ("cli.train:Train", "Train a model: a tagger, or with --task another kind."),
        "tag": ("cli.tag:Tag", "Tag, parse or classify a file, standard input or a text."),
        "eval": ("cli.eval:Eval", "Score a model on labelled data, or a file with both."),
        "inspect": ("cli.inside:Inspect", "Show a model: settings, training log, strongest weights."),
        "explain": ("cli.inside:Explain", "Compare the best labels of a sentence with the next."),
        "compare": ("cli.compare:Compare", "Compare models, outputs or learners, with tests."),
        "compact": ("cli.change:Compact", "Make a model small: weights of 8 bits, fewer attributes."),
        "calibrate": ("cli.change:Calibrate", "Fit a temperature, so that confidences are probabilities."),
        "trellis": ("cli.inside:DrawTrellis", "Draw the search of a sentence: scores and best paths."),
        "pick": ("cli.data:Pick", "Pick the sentences most worth annotating."),
        "features": ("cli.inside:Features", "Print a named template set, or check a template file."),
    },
)  # fmt: skip
_LABELS = "it is about labels of tokens, and only taggers have them"

PARSER = Kind(
    "parser", "parse", "a parser", "parsing.parser:Parser", "parsing.inspection:inspect_parser",
    "Dependency parsers.",
    {
        "train": ("parsing.commands:TrainParser", "Train a dependency parser from a treebank."),
        "tag": ("parsing.commands:Parse", "Parse a file, standard input or a typed sentence."),
        "eval": ("parsing.commands:EvalParser", "Score a parser on gold trees, or one CoNLL-U file against another."),
        "inspect": ("parsing.commands:InspectParser", "Show a parser: settings, training log, actions, templates."),
        "compare": ("parsing.commands:CompareParsers", "Compare parsers or parsed files, with significance tests."),
        "compact": ("parsing.commands:CompactParser", "Make a parser small, and report what is lost."),
        "features": ("parsing.commands:ParserFeatures", "Print a template set of the parser, or check a file."),
    },
    {"tag": "parse"},
    {
        "explain": "`palmette page MODEL -o FILE` shows what decided each action of its search",
        "calibrate": _LABELS,
        "trellis": "its search builds a tree; `palmette parser parse MODEL --draw` draws it",
        "pick": "`palmette serve MODEL` picks sentences for parsers while you correct them",
    },
)  # fmt: skip
CLASSIFIER = Kind(
    "classifier", "classify", "a classifier", "classification.classifier:Classifier",
    "classification.inspection:inspect_classifier",
    "Sentence classifiers.",
    {
        "train": ("classification.commands:TrainClassifier", "Train a classifier of sentences."),
        "tag": ("classification.commands:Classify", "Classify sentences of a file or standard input."),
        "eval": ("classification.commands:EvalClassifier", "Score a classifier on labelled sentences."),
        "inspect": ("classification.commands:InspectClassifier", "Show a classifier: settings, strongest weights."),
        "compare": ("classification.commands:CompareClassifiers", "Compare classifiers, with significance tests."),
        "cues": ("lab.commands:Cues", "Check two corpora for cues: vocabulary, length, overlap."),
    },
    {"tag": "classify"},
    {
        "explain": "`palmette classifier classify MODEL --structures` shows the latent tags behind a class",
        "compact": "--min-count of `palmette classifier train` leaves rare attributes out",
        "calibrate": _LABELS,
        "trellis": "its latent tags are written by `palmette classifier classify MODEL --structures`",
        "pick": "`palmette serve MODEL` picks sentences for classifiers while you correct them",
    },
)  # fmt: skip
_PARTS = "take a component out with `palmette pipeline extract` and give that model"

PIPELINE = Kind(
    "pipeline", "pipeline", "a pipeline", "pipeline.pipeline:Pipeline", "pipeline.display:inspect_pipeline",
    "Language pipelines, text to trees.",
    {
        "train": ("pipeline.commands:TrainPipeline", "Train a pipeline from a treebank: text in, trees out."),
        "tag": ("pipeline.commands:RunPipeline", "Run a text through a pipeline: words, tags, lemmas, trees."),
        "eval": ("pipeline.commands:EvalPipeline", "Score a pipeline by the metrics of CoNLL 2018."),
        "inspect": ("pipeline.commands:InspectPipeline", "Show a pipeline: components, scores, settings."),
        "extract": ("pipeline.commands:ExtractComponent", "Take components out into a model file."),
        "replace": ("pipeline.commands:ReplaceComponent", "Put a component of another model in."),
        "package": ("models.commands:PackageModel", "Make a package (wheel) of a pipeline."),
    },
    {"tag": "run"},
    {
        "explain": _PARTS, "calibrate": _PARTS, "trellis": _PARTS, "pick": _PARTS, "plot": _PARTS,
        "compare": "score each pipeline by `palmette eval`, or compare what they wrote by `palmette parser compare`",
        "compact": _PARTS,
    },
    "; `palmette pipeline extract` takes its parser or a tagger out",
)  # fmt: skip
_TEXTS = "a language model reports how probable a text is; use `palmette eval` and `palmette lm sample`"

LANGUAGE_MODEL = Kind(
    "lm", "lm", "a language model", "lab.lm.language_model:LanguageModel",
    "lab.lm.language_model:inspect_language_model",
    "N-gram language models.",
    {
        "train": ("lab.commands:TrainLanguageModel", "Train an n-gram language model from sentences."),
        "eval": ("lab.commands:ScoreText", "Score text with a language model."),
        "inspect": ("lab.commands:InspectLanguageModel", "Show a language model: sizes and discounts."),
        "sample": ("lab.commands:SampleText", "Draw sentences from a language model."),
    },
    {"eval": "score"},
    {
        **dict.fromkeys(("tag", "explain", "calibrate", "trellis", "pick", "plot", "page", "serve"), _TEXTS),
        "compare": "score the text with each model by `palmette eval` and compare the perplexities",
        "compact": "--min-count and a lower --order of `palmette lm train` make it smaller",
    },
)  # fmt: skip
HMM = Kind(
    "hmm", None, "a hidden Markov model", "lab.hmm.estimator:HMM", "reports.inspection:inspect_tagger",
    "Tables of hidden Markov models.",
    {
        "train": ("lab.commands:CountTables", "Count the tables of a hidden Markov model, as JSON."),
        "model": ("lab.commands:MakeModel", "Make a model file, which is a tagger, from such tables."),
    },
    {"train": "count"},
    dict.fromkeys(VERBS[1:], "make a tagger of its tables by `palmette hmm model`, and give that model"),
)  # fmt: skip
KINDS = {kind.name: kind for kind in (TAGGER, PARSER, CLASSIFIER, PIPELINE, LANGUAGE_MODEL, HMM)}
BY_TASK = {kind.task: kind for kind in KINDS.values() if kind.task is not None}
_OTHERS = "; models of CRFsuite and Wapiti, and text models of CRF++, are read too"


def kind_of(model: Any) -> Kind | None:
    """The kind of an estimator; None: it has no file of its own."""
    places = {f"{cls.__module__}:{cls.__qualname__}" for cls in type(model).__mro__}
    return next((kind for kind in KINDS.values() if f"palmette.{kind.estimator}" in places), None)


def how_to_make(task: str) -> str:
    """What somebody does who has a file that is not a model of a task."""
    trainer = BY_TASK[task].command("train")
    hint = f"make one with {either('fit and save', f'`{trainer}`')}"
    return hint + _OTHERS if task == "chain" else hint


def how_to_use(found: str, wanted: str) -> str:
    """What somebody does who has a model of one task where one of another is wanted."""
    kind = BY_TASK[found]
    user = kind.command("tag" if "tag" in kind.commands else "eval")
    loader = f"{kind.estimator.partition(':')[2]}.load"
    hint = f"{either(f'load it with {loader}', f'use it with `{user}`')}{kind.more}"
    part = {"chain": "upos", "parse": "parse"}.get(found)
    if wanted == "pipeline" and part is not None:
        hint += f"; `palmette pipeline replace PIPELINE {part}=MODEL` puts it into a pipeline"
    return hint
