"""`palmette eval` with a classifier: accuracy, precision, recall, F, area under the ROC, and how training went."""

from __future__ import annotations

from palmette.cli.classifier.common import load_with_tagger, read_classes
from palmette.cli.options import File, Json, MaybeFile
from palmette.cli.telling import print_json


def eval_classify(
    model: File,
    data: MaybeFile = None,
    /,
    *,
    positives: MaybeFile = None,
    negatives: MaybeFile = None,
    format: str | None = None,
    tagger: str | None = None,
    json: Json = False,
) -> None:
    """Score a classifier on sentences whose class is known.

    Parameters
    ----------
    model: str
        The model file.
    data: str
        A sentence a line: CLASS<TAB>words, and perhaps <TAB>parts of speech; or JSON lines.
    positives: str
        Instead of `data`: a file of positive sentences, without classes.
    negatives: str
        And one of negative sentences.
    format: str
        lines (the default), columns (a token a line: word POS; for two files), or jsonl; by the file's name.
    tagger: str
        A tagger's model file for parts of speech; default: the one that the model was trained with, if it is still
        there.
    json: bool
        Print one JSON object; figures are fractions of 1.
    """
    classifier = load_with_tagger(model, tagger, quiet=False)
    given = read_classes(data, positives, negatives, format, None, classifier.model_.classes)
    found = classifier.evaluate(given.positives, given.negatives)
    if json:
        by_pass = [
            {"pass": row["number"], "dev": row["dev"]} for row in classifier.training_log_ if row["dev"] is not None
        ]
        about = found._asdict() | {"positive_class": classifier.model_.classes[1], "accuracy_by_pass": by_pass}
        print_json(about)
        return
    from palmette.reports.classification import print_binary

    print_binary(found, classifier.model_)
