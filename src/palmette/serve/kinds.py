"""The server's columns of the table of kinds (`data/kinds.py`): what corrects a model and what trains it again."""

from __future__ import annotations

from typing import NamedTuple


class Corrected(NamedTuple):
    """A kind of model that can be corrected, as "module:name" in palmette."""

    corrections: str  # a Correctable
    training: str  # an Again


CORRECTED = {
    "tagger": Corrected("serve.correct_taggers:CorrectTaggers", "serve.retrain_kinds:TaggerAgain"),
    "parser": Corrected("serve.correct_parsers:CorrectParsers", "serve.retrain_kinds:ParserAgain"),
    "classifier": Corrected("serve.correct_classifiers:CorrectClassifiers", "serve.retrain_kinds:ClassifierAgain"),
}
