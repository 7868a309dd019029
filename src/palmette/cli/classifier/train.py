"""`palmette train --task classify`: a classifier of sentences over latent structures."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from palmette.cli.classifier.common import held_out, read_classes
from palmette.cli.options import Flag, Json, MaybeFile, Output, Quiet, announce_compiling, say
from palmette.cli.telling import tell_training
from palmette.errors import UsageError

if TYPE_CHECKING:
    from palmette.estimators.classifier import Classifier


def train_classify(
    data: MaybeFile = None,
    /,
    *,
    output: Output,
    positives: MaybeFile = None,
    negatives: MaybeFile = None,
    positive: str | None = None,
    dev: MaybeFile = None,
    dev_positives: MaybeFile = None,
    dev_negatives: MaybeFile = None,
    dev_share: float | None = None,
    format: str | None = None,
    tagger: str | None = None,
    features: Annotated[str | None, Parameter(name=["--features", "-f"])] = None,
    template: Annotated[str | None, Parameter(name=["--template", "-t"])] = None,
    learner: str = "pa",
    views: str = "iob2",
    combine: str = "add",
    types: str | None = None,
    latent: str = "chunks",
    init: str | None = None,
    init_range: str = "0.1",
    pa_type: str = "PA",
    aggressiveness: float = 1.0,
    normalise: Annotated[bool, Parameter(negative="--no-normalise", show_default=False)] = True,
    pairs: Annotated[bool, Parameter(negative="--no-pairs", show_default=False)] = True,
    estimator: str = "pass",
    passes: int = 10,
    patience: int | None = None,
    cap: int = 20,
    bound: Flag = False,
    inner_rounds: int = 50,
    inner_passes: int = 10,
    min_count: int = 1,
    seed: int = 1,
    strip: Flag = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a classifier of sentences that finds the latent structure which serves the decision best.

    Parameters
    ----------
    data: str
        A sentence a line: CLASS<TAB>words, and perhaps <TAB>parts of speech. Or JSON lines with tokens, pos and label.
    output: str
        The model file to write.
    positives: str
        Instead of `data`: a file of positive sentences, without classes.
    negatives: str
        And one of negative sentences.
    positive: str
        Which of the two classes of `data` is positive; 1 of 0 and 1, +1, yes and the like go without saying.
    dev: str
        Development file, as `data`: the best pass on it is kept.
    dev_positives: str
        Instead of it: positive sentences for development.
    dev_negatives: str
        And negative ones.
    dev_share: float
        Hold out this share of the training sentences instead, such as 0.1.
    format: str
        lines (the default), columns (a token a line: word POS; for two files), or jsonl; by the file's name.
    tagger: str
        A palmette tagger's model file that gives the parts of speech, where the data has none.
    features: str
        A named template set (ngrams: 1- to 3-grams of words and parts of speech).
    template: str
        A template file instead.
    learner: str
        pa (online), lclr (batch, with a cache of negative structures) or lclr-variant (batch, all structures fixed
        for a pass).
    views: str
        Representations of the latent chunking, with commas: iob1, iob2, ioe1, ioe2, o+c; or all.
    combine: str
        How views work together: add (each has its own structure), vote (all take the majority's) or cotrain (each takes
        the majority of the others).
    types: str
        Chunk types: how many, or their names with commas. Default: 4, or those of the chunker (--init).
    latent: str
        chunks; a number of general hidden states instead; or none: n-grams alone, without structure.
    init: str
        Start from the weights of this chunker, a model of `palmette train --features ngrams`.
    init_range: str
        The largest of these weights, to which they are scaled; auto: the largest of a model trained from zero.
    pa_type: str
        PA (the default), PA-I or PA-II.
    aggressiveness: float
        The largest step of PA-I, and the C of PA-II.
    normalise: bool
        Features are divided by their length (the default).
    pairs: bool
        Weights for pairs of tags (the default).
    estimator: str
        pass (mean of the weights of the last pass), avg (mean of all weights) or last.
    passes: int
        Passes over the data.
    patience: int
        Stop after this many passes without a better one on the development data.
    cap: int
        How often a negative sentence is decoded at most in a pass.
    bound: bool
        Measure the bound on the squared loss beside the loss itself (plain PA).
    inner_rounds: int
        lclr: rounds of decoding the negatives in a pass, at most.
    inner_passes: int
        lclr, lclr-variant: passes over fixed structures, at most.
    min_count: int
        Leave out attributes that occur less often.
    seed: int
        The same seed gives the same model, bit for bit.
    strip: bool
        Leave out the attributes' names, which only `inspect` needs.
    json: bool
        Print a JSON object about the training.
    quiet: bool
        No progress and no messages.
    """
    if dev_share is not None and (dev, dev_positives, dev_negatives) != (None, None, None):
        raise UsageError("give development files or --dev-share, not both")
    announce_compiling(quiet)
    from palmette.data import model_file
    from palmette.estimators.classifier import Classifier

    model_file.check_output(output)
    begun = time.perf_counter()
    classifier = Classifier(
        learner, views=views, combine=combine, types=_types(types), latent=_latent(latent),
        features=features or "ngrams", template=template, init=init, init_range=init_range, tagger=tagger,
        pa_type=pa_type, aggressiveness=aggressiveness, normalise=normalise, pairs=pairs, estimator=estimator,
        passes=passes, patience=patience, cap=cap, bound=bound, inner_rounds=inner_rounds, inner_passes=inner_passes,
        min_count=min_count, seed=seed,
    )  # fmt: skip
    if features is not None and template is not None:
        raise UsageError("give --features or --template, not both")
    given = read_classes(data, positives, negatives, format, positive)
    development = None
    if dev_share is not None:
        given, development = held_out(given, dev_share, seed)
    elif (dev, dev_positives, dev_negatives) != (None, None, None):
        development = read_classes(dev, dev_positives, dev_negatives, format, None, given.classes, "dev-")
    from palmette.reports.progress import TrainingDisplay

    with TrainingDisplay(passes, None if development is None else "accuracy", quiet or json) as display:
        classifier.fit(
            given.positives, given.negatives, dev=None if development is None else development[:2],
            classes=given.classes, names=not strip, progress=display, say=say(quiet or json),
        )  # fmt: skip
    classifier.save(output)
    if not (json or quiet):
        from palmette.reports.classification import training_notes

        for note in training_notes(classifier.model_):
            print(note)
    seconds = time.perf_counter() - begun
    tell_training(classifier.outcome_, output, seconds, lambda: _about(classifier), json, quiet)
    if classifier.outcome_.interrupted:
        raise SystemExit(130)


def _types(given: str | None) -> Any:
    if given is None:
        return None
    return int(given) if given.isdecimal() else tuple(given.replace(",", " ").split())


def _latent(given: str) -> str | int:
    return int(given) if given.isdecimal() else given


def _about(classifier: Classifier) -> dict[str, Any]:
    from palmette.structures.latent.weights import n_weights

    model = classifier.model_
    return {
        "classes": model.classes,
        "views": {view.name: len(view.tags) for view in model.views},
        "attributes": model.alphabet.size,
        "nonzero_weights": n_weights(model.weights),
        "history": model.meta["history"],
    }
