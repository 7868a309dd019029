"""Options of a language pipeline."""

from __future__ import annotations

from typing import Any

from palmette.options.clusters import CLUSTERS, RAW, named_file
from palmette.options.declare import OptionError, Options, option
from palmette.options.search import MOST_BEAM

COMPONENTS = ("tok", "tag", "lemma", "parse", "entities")
"""In the order in which they run."""

SPLITTER = "tok"
MOST_LOSS = 0.2  # points, of all components together

INPUTS = {
    "text": "plain text",
    "tokens": "a sentence per line, blanks between its words",
    "conllu": "CoNLL-U, whose sentences and words are kept",
}
OUTPUTS = {
    "conllu": "CoNLL-U with the text, multi-word tokens and white space",
    "jsonl": "a JSON object per sentence, words with their places in the text",
    "columns": "a word per line: form, lemma, UPOS, XPOS, FEATS, head, relation, entity",
}
GOLD_INPUTS = {
    "text": "the raw text of the treebank",
    "gold-tokens": "the sentences and words of the treebank",
}


def components_from_text(text: str) -> tuple[str, ...]:
    """Names separated by commas."""
    return tuple(text.replace(",", " ").split())


def check_components(value: tuple[str, ...]) -> None:
    """OptionError unless these are components."""
    if isinstance(value, str) or not value:
        raise OptionError("components", f"{value!r} is not a list of {', '.join(COMPONENTS)}")
    unknown = [name for name in value if name not in COMPONENTS]
    if unknown:
        raise OptionError("components", f"there is no component {unknown[0]!r}: choose from {', '.join(COMPONENTS)}")


class PipelineOptions(Options):
    """How a pipeline is trained."""

    components: tuple = option(
        default=COMPONENTS, metavar="NAME,...", parse=components_from_text, check=check_components, group="model",
        help="What is trained: tok (sentences, tokens and words), tag (UPOS, XPOS, FEATS), lemma, parse, entities.",
    )  # fmt: skip
    jackknife: bool = option(
        default=True, group="training",
        help="Train the parser on tags, features and lemmas as the pipeline predicts them: each part of the training "
        "data is annotated by models trained on the other parts.",
    )  # fmt: skip
    folds: int = option(default=5, low=2, high=100, group="training", help="Parts for --jackknife.")
    beam: int = option(default=8, low=1, high=MOST_BEAM, group="model", help="States that the parser's search keeps.")
    passes: int | None = option(
        default=None,
        low=1,
        group="training",
        help="Passes of every component over the data (default: of each its own).",
    )
    lexicons: dict | None = option(
        default=None, repeat=True, parse=named_file, metavar="NAME=FILE", group="model", path="input",
        help="Word lists that help to find entities, such as names and places; they are stored in the pipeline.",
    )  # fmt: skip
    clusters: dict | None = CLUSTERS
    raw: Any = RAW
    full: bool = option(
        default=False, group="model",
        help="Keep all weights. Otherwise models are made small, with at most --most-loss points lost on the "
        "development data; without --dev weights are only rounded.",
    )  # fmt: skip
    most_loss: float = option(
        default=MOST_LOSS, low=0.0, high=100.0, group="model",
        help="The most points, of 100, that making the models small may lose on the development data.",
    )  # fmt: skip
    seed: int = option(
        default=1, low=0, high=2**62, group="training", help="The same seed gives the same pipeline, bit for bit."
    )
