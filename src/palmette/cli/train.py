"""`palmette train`: from a labelled file to a model file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from palmette.cli.options import (
    Columns,
    File,
    Flag,
    Json,
    MaybeFile,
    Output,
    Quiet,
    Repeated,
    announce_compiling,
    forbidden_pairs,
    pairs,
    reading_from,
    say,
)
from palmette.cli.telling import tell_training
from palmette.errors import UsageError

if TYPE_CHECKING:
    from palmette.estimators.tagger import Tagger
    from palmette.reports.progress import TrainingDisplay


def train(
    data: File,
    /,
    *,
    output: Output,
    template: Annotated[str | None, Parameter(name=["--template", "-t"])] = None,
    features: Annotated[str | None, Parameter(name=["--features", "-f"])] = None,
    dev: MaybeFile = None,
    dev_share: float | None = None,
    label: str | None = None,
    columns: Columns = None,
    format: str | None = None,
    separator: str = "auto",
    tag_names: str | None = None,
    order: int | None = None,
    learner: str | None = None,
    latent: str | None = None,
    label_history: str | None = None,
    init_size: float | None = None,
    share: float | None = None,
    split_after: int | None = None,
    estimator: str | None = None,
    mavg_every: str | None = None,
    partial: Annotated[bool | None, Parameter(negative="--no-partial")] = None,
    passes: int | None = None,
    patience: int | None = None,
    metric: str | None = None,
    seed: int | None = None,
    min_count: int | None = None,
    max_attributes: int | None = None,
    edge_features: str | None = None,
    state_features: str | None = None,
    constraints: str | None = None,
    forbid: str | None = None,
    no_ends: Flag = False,
    lexicon: Repeated = None,
    clusters: Repeated = None,
    l2: float | None = None,
    l1: float | None = None,
    l1_then_l2: Annotated[bool, Parameter(name="--l1-then-l2", negative=(), show_default=False)] = False,
    tolerance: float | None = None,
    optimiser: str | None = None,
    rate: float | None = None,
    restarts: int | None = None,
    nbest: int | None = None,
    rate_schedule: str | None = None,
    probability_function: str | None = None,
    degree: float | None = None,
    add_gold: Annotated[bool | None, Parameter(negative="--no-add-gold")] = None,
    when: str | None = None,
    search: str | None = None,
    beam: int | None = None,
    update: str | None = None,
    aggressiveness: float | None = None,
    pa_type: str | None = None,
    cost: str | None = None,
    threads: int = 1,
    smoothing: float | None = None,
    rare: int | None = None,
    dictionary: int | None = None,
    tune_bias: Flag = False,
    resume: str | None = None,
    checkpoint: Flag = False,
    prune: Flag = False,
    strip: Flag = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a tagger from a labelled file.

    Parameters
    ----------
    data: str
        Labelled sentences: columns, CoNLL-U, CRFsuite attributes or JSON lines; `-` is standard input, gzip is fine.
    output: str
        The model file to write.
    template: str
        CRF++ or Wapiti template file.
    features: str
        A named template set instead: pos, chunk, ner, char or ngrams (`palmette features` shows them).
    dev: str
        Development file: the best pass on it is kept.
    dev_share: float
        Hold out this share of the training sentences instead, such as 0.1.
    label: str
        The label's column: a number from 0 (-1 is the last, the default), or in CoNLL-U a field such as upos, xpos.
    columns: str
        Columns that templates see as 0, 1, ...: numbers or CoNLL-U fields with commas. Default: all but the label.
    format: str
        columns, conllu, attributes or jsonl; default by the file's name.
    separator: str
        auto, tab, space (runs of them), comma, semicolon, bar, or one character.
    tag_names: str
        Names of labels that are numbers in JSON lines, with commas: O,B-PER,I-PER.
    order: int
        0, 1 or 2, for named sets and ready-made attributes; a template file says it itself.
    learner: str
        perceptron (the default), probperc (probabilistic perceptron), mira, pa (passive-aggressive), crf (conditional
        random field), dplvm (a CRF with latent states), maxent (each label given those before it) or hmm (hidden Markov
        model: counts words, order 1 or 2, no features).
    latent: str
        Hidden states behind every label, such as 3, or behind some: B-NP=2,I-NP=5. Default: 1, a plain model.
    label_history: str
        What states remember of the labels before: bigram (the label before), trigram (two), or run:O:3 (how many O in a
        row, 3 or more being one).
    init_size: float
        Size of the random numbers that a latent model starts from (0.01).
    share: float
        How much of an update all states of a label get besides the state that it is about (1; 0: the latent perceptron
        as published, which takes longer to lower a label with many states).
    split_after: int
        Begin a latent model with so many passes of a plain one, whose labels are then split into states (0).
    estimator: str
        avg (mean of all weights), mavg (the same, from which learning starts again every k-th pass), last, or auto
        (the default: avg; for a latent model with development data the best of avg and mavg).
    mavg_every: str
        The k of mavg: a number of passes, or auto (2, 4 or 8, whichever is best on the development data).
    partial: bool
        Labels may be partly known: `?` is any label, `A|B` one of several. --no-partial: these are labels.
    passes: int
        Passes over the data, or iterations of lbfgs (10; with --patience, and for lbfgs, at most 100). With
        --resume: more passes.
    patience: int
        Stop after this many passes without a better one on the development data.
    metric: str
        What is better on dev: f1 (spans), accuracy, or auto (the default).
    seed: int
        The same seed gives the same model, bit for bit (1).
    min_count: int
        Leave out attributes that occur less often (1).
    max_attributes: int
        Keep at most so many attributes of each kind, the most frequent ones.
    edge_features: str
        Observations on label pairs and triples: weights for all combinations (the default), or for those seen in
        training.
    state_features: str
        Weights of crf and dplvm for attributes: with all labels (the default), or with those seen in training.
    constraints: str
        auto (by the tag scheme of the labels, the default), none, or a scheme: IOB1, IOB2, IOE1, IOE2, IOBES, BILOU.
    forbid: str
        File of label pairs that may not follow each other, `BEFORE AFTER` a line; <s> and </s> are the ends.
    no_ends: bool
        No weights for the first and last label of a sentence.
    lexicon: list[str]
        NAME=FILE, phrases with classes; repeatable.
    clusters: list[str]
        NAME=FILE, word clusters (Brown paths or word and class); repeatable.
    l2: float
        Penalty of crf, dplvm and maxent: l2 times the sum of the squared weights (1; with --l1 0).
    l1: float
        Penalty of the same: l1 times the sum of the weights without sign, which leaves most of them at zero (0).
    l1_then_l2: bool
        First select weights with --l1, then train those that are left with --l2; tells size and accuracy of both.
    tolerance: float
        crf, dplvm and maxent end when ten iterations have made the objective smaller by less than this share (1e-5).
    optimiser: str
        How crf and dplvm are trained: lbfgs (all the data for each step, the default), or after each sentence, which is
        faster: adagrad (a rate for each weight), sgd (one rate that decays).
    rate: float
        Step size of adagrad and sgd (0.1) and of probperc (0.2).
    restarts: int
        Train a latent model from so many random starts and keep the best on development data, else by objective (1).
    nbest: int
        How many of the best paths probperc (5) and mira (1) look at.
    rate_schedule: str
        The rate of probperc: falling (a half after the first pass, a third after the second, ...) or constant.
    probability_function: str
        How probperc makes probabilities of the scores of the best paths: softmax, linear or polynomial.
    degree: float
        Of the polynomial (2).
    add_gold: bool
        Add gold to the best paths of probperc where it is missing (the default).
    when: str
        When probperc updates: always (the default), or on errors.
    search: str
        viterbi (exact, the default) or beam, for which templates may read any earlier labels: %y[-1], %y[-2], ...
    beam: int
        How many prefixes a beam keeps (8); 1 is greedy search. Says --search beam.
    update: str
        What a beam updates that has lost gold: max-violation (the default), early, standard, and for the perceptron
        also latest, hybrid and laso. See docs/beam.md.
    aggressiveness: float
        The largest step of mira and of pa's types PA-I and PA-II (0.1).
    pa_type: str
        PA, PA-I (the default) or PA-II.
    cost: str
        What a wrong path costs for mira: hamming (wrong tokens), or span (spans that only one of the two has).
    threads: int
        Threads for crf, dplvm and maxent; the result is the same for any number.
    smoothing: float
        hmm: added to the count of each word with each label (0.001).
    rare: int
        hmm: words seen at most so often are replaced by classes of how they are written, and so are new words (1).
    dictionary: int
        hmm: words seen at least so often have no other labels than those they were seen with. Default: no dictionary.
    tune_bias: bool
        Choose the bias of label O that gives the best F on the development data.
    resume: str
        Go on training this model, also with new data, labels and attributes; what is not said stays as it was.
    checkpoint: bool
        Keep in the model what --resume needs to go on exactly as if never stopped.
    prune: bool
        Leave out attributes whose weights are all zero (those that never moved are left out anyway).
    strip: bool
        Leave out the attributes' names, which only `inspect` needs.
    json: bool
        Print a JSON object about the training.
    quiet: bool
        No progress and no messages.
    """
    from palmette.options.settings import LIKELIHOOD

    if dev is not None and dev_share is not None:
        raise UsageError("give --dev or --dev-share, not both")
    if dev is None and dev_share is None and (patience is not None or tune_bias):
        raise UsageError("--patience and --tune-bias need development data: --dev FILE or --dev-share 0.1")
    own = (template, features, order, edge_features, lexicon, clusters, no_ends or None, latent, init_size, split_after,
           label_history)  # fmt: skip
    if resume and any(given is not None for given in own):
        raise UsageError(
            "--resume goes on with the model's own features and states: leave --template, --features, --order, "
            "--edge-features, --lexicon, --clusters, --no-ends, --latent, --label-history, "
            "--init-size and --split-after out"
        )
    if threads < 1:
        raise UsageError(f"--threads {threads}: at least 1")
    stepwise = learner not in LIKELIHOOD or optimiser in ("sgd", "adagrad")
    if threads > 1 and stepwise and not resume:
        raise UsageError(
            f"--threads is for {', '.join(LIKELIHOOD)} by lbfgs; the others go from one sentence to the next"
        )
    if prune and checkpoint:
        raise UsageError("--prune drops attributes that --checkpoint must keep: choose one of them")
    announce_compiling(quiet)
    from palmette.data import model_file
    from palmette.estimators.tagger import Tagger

    model_file.check_output(output)
    begun = time.perf_counter()
    old = Tagger.load(resume) if resume else None
    given = {
        "learner": learner, "latent": latent, "label_history": label_history,
        "init_size": init_size, "share": share, "split_after": split_after,
        "estimator": estimator,
        "mavg_every": None if mavg_every is None else _every(mavg_every), "partial": partial,
        "metric": metric, "seed": seed, "min_count": min_count, "max_attributes": max_attributes,
        "edge_features": edge_features, "constraints": constraints, "l1": l1, "l2": l2, "tolerance": tolerance,
        "l1_then_l2": l1_then_l2 or None, "optimiser": optimiser, "rate": rate, "restarts": restarts,
        "state_features": state_features, "candidates": nbest, "rate_schedule": rate_schedule,
        "probability_function": probability_function, "degree": degree, "add_gold": add_gold, "when": when,
        "search": "beam" if search is None and beam is not None else search, "beam": beam, "update": update,
        "aggressiveness": aggressiveness, "pa_type": pa_type, "cost": cost,
        "smoothing": smoothing, "rare": rare, "dictionary": dictionary,
    }  # fmt: skip
    if old is not None and learner is not None and learner != old.learner:
        raise UsageError(f"--resume goes on with the model's own learner, {old.learner}")
    tagger = Tagger() if old is None else old
    tagger.set_params(**{name: value for name, value in given.items() if value is not None})
    tagger.set_params(
        features=features, template=template, order=order, patience=patience, dev_share=dev_share,
        passes=passes,
        forbidden=forbidden_pairs(forbid), lexicons=pairs(lexicon, "--lexicon"),
        clusters=pairs(clusters, "--clusters"), ends=not no_ends, tune_bias=tune_bias,
    )  # fmt: skip
    reading = reading_from(format, separator, columns, label, tag_names)
    if old is not None:
        reading = old.reading_for(data, labelled=True).overridden(reading)
    with _display(tagger, dev, quiet or json) as display:
        tagger.fit_file(
            data, dev, reading=reading, resume=None if old is None else old.model_, checkpoint=checkpoint,
            names=not strip, threads=threads, progress=display, say=say(quiet or json),
        )  # fmt: skip
    tagger.save(output, prune=prune, strip=strip)
    tell_training(tagger.outcome_, output, time.perf_counter() - begun, lambda: _about(tagger), json, quiet)
    if tagger.outcome_.interrupted:
        raise SystemExit(130)


def _every(given: str) -> int | str:
    """A number where it is one; the settings complain about anything else."""
    return int(given) if given.isdecimal() else given


def _display(tagger: Tagger, dev: str | None, quiet: bool) -> TrainingDisplay:
    from palmette.reports.progress import TrainingDisplay

    metric = None if dev is None and tagger.dev_share is None else tagger.metric.replace("auto", "score")
    from palmette.options.settings import n_passes

    return TrainingDisplay(n_passes(tagger.settings()), metric, quiet)


def _about(tagger: Tagger) -> dict[str, Any]:
    from palmette.structures.chain.weights import n_weights

    model = tagger.model_
    return {
        "labels": len(model.labels),
        "attributes": sum(a.size for a in model.alphabets.values()),
        "nonzero_weights": n_weights(model.chain),
        "scheme": model.scheme,
        "order": model.shape.order,
        "history": model.meta["history"],
    }
