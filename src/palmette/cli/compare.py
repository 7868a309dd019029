"""`palmette compare`: models or outputs side by side on the same gold, or learners trained for the purpose."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from palmette.cli.options import (
    Columns,
    File,
    Helpers,
    Json,
    MaybeFile,
    Quiet,
    announce_compiling,
    load_tagger,
    pairs,
    reading_from,
)
from palmette.cli.telling import print_json
from palmette.errors import DataError, UsageError

if TYPE_CHECKING:
    from palmette.data.corpus import Corpus
    from palmette.data.formats.registry import FormatSpec
    from palmette.estimators.ablation import LearnerSpec
    from palmette.estimators.tagger import Tagger
    from palmette.evaluation.comparison import CompareOptions, Labelling, SystemOutputs

Learners = Annotated[list[str] | None, Parameter(name=["--learners", "--learner"], negative=(), consume_multiple=True)]


def compare(
    *files: File,
    gold: MaybeFile = None,
    train: MaybeFile = None,
    learners: Learners = None,
    seeds: int | None = None,
    dev: MaybeFile = None,
    dev_share: float | None = None,
    template: Annotated[str | None, Parameter(name=["--template", "-t"])] = None,
    features: Annotated[str | None, Parameter(name=["--features", "-f"])] = None,
    passes: int | None = None,
    order: int | None = None,
    min_count: int | None = None,
    label: str | None = None,
    columns: Columns = None,
    format: str | None = None,
    separator: str = "auto",
    with_: Helpers = None,
    differences: int | None = None,
    rounds: int = 10_000,
    seed: int = 1,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Set models, outputs or learners side by side on the same gold, with significance tests.

    Parameters
    ----------
    files: str
        Models or tagged files (their last column is the guess), two or more, and then the gold file.
    gold: str
        The gold file, if it is not the last of the files; with --train: what to score on.
    train: str
        Instead of models: train --learners on this file and compare them on --gold.
    learners: list[str]
        NAME[:key=value[,key=value]], with commas or spaces between learners: perceptron,perceptron:estimator=last. Keys
        are parameters of palmette.Tagger, which override the options below; latent:3 is short for perceptron:latent=3.
    seeds: int
        How often each learner is trained, with seeds 1, 2, ... (3).
    dev: str
        Development file: chooses the pass that each training keeps.
    dev_share: float
        Hold out this share of the training sentences instead, such as 0.1.
    template: str
        CRF++ or Wapiti template file for all learners.
    features: str
        A named template set instead: pos, chunk, ner, char or ngrams.
    passes: int
        Passes over the training data (10).
    order: int
        0, 1 or 2, for named sets and ready-made attributes.
    min_count: int
        Leave out attributes that occur less often (1).
    label: str
        The gold label's column; default as in a model's training, else the last one.
    columns: str
        Columns that templates see as 0, 1, ...; default as in training.
    format: str
        columns, conllu, attributes or jsonl; default as in training, or by the file's name.
    separator: str
        auto, tab, space (runs of them), comma, semicolon, bar, or one character.
    with_: list[str]
        NAME=MODEL: a column that the gold file lacks comes from another model; repeatable.
    differences: int
        How many of the sentences to show on which the systems differ (5).
    rounds: int
        Rounds of bootstrap and randomisation.
    seed: int
        Of bootstrap and randomisation.
    json: bool
        Print one JSON object, with all pairs; figures are fractions of 1.
    quiet: bool
        No progress and no messages.
    """
    from palmette.evaluation.comparison import CompareOptions

    if rounds < 1 or seed < 0:
        raise UsageError("--rounds must be at least 1, and --seed not negative")
    wish = CompareOptions(rounds, seed, json, 5 if differences is None else differences)
    reading = reading_from(format, separator, columns, label)
    if train is None:
        given = (learners, seeds, dev, dev_share, template, features, passes, order, min_count)
        if any(value is not None for value in given):
            raise UsageError("--learners, --seeds, --dev and what else is about training need --train FILE")
        _outputs(list(files), gold, reading, pairs(with_, "--with"), wish, json, quiet)
        return
    if files or gold is None or not learners:
        raise UsageError("with --train give --gold FILE and --learners, and no other files")
    if with_ or differences is not None:
        raise UsageError("--with and --differences are for models and outputs: leave them out with --train")
    if dev is not None and dev_share is not None:
        raise UsageError("give --dev or --dev-share, not both")
    common = {
        "dev_share": dev_share, "template": template, "features": features, "passes": passes, "order": order,
        "min_count": min_count,
    }  # fmt: skip
    common = {name: value for name, value in common.items() if value is not None}
    from palmette.estimators.ablation import parse_learners

    chosen = parse_learners(learners)
    _learners((train, dev, gold), chosen, common, 3 if seeds is None else seeds, reading, wish, json, quiet)


# Models and outputs


def _outputs(
    files: list[str],
    gold: str | None,
    reading: FormatSpec,
    helpers: dict[str, str],
    wish: CompareOptions,
    json: bool,
    quiet: bool,
) -> None:
    from palmette.evaluation.comparison import compare
    from palmette.reports.comparison import print_comparison
    from palmette.reports.meter import Meter

    if gold is None and files:
        gold = files.pop()
    if gold is None or len(files) < 2:
        raise UsageError("give two or more models or tagged files, and then the gold file")
    if "-" in (gold, *files):
        raise UsageError("compare reads files, not standard input")
    if is_model(gold):
        raise UsageError(f"{gold} is a model: the gold file comes last")
    meter = Meter(quiet)
    found = compare(_contest(files, gold, reading, helpers, quiet), wish, meter.tell)
    meter.clear()
    if json:
        import msgspec

        print_json({"gold": gold, "files": files} | msgspec.to_builtins(found))
    else:
        print_comparison(found, gold)


def is_model(path: str) -> bool:
    """Whether a file begins as a model does: 8 bytes that are a small number, and a brace. No text does."""
    from palmette.data.files import read_blocks
    from palmette.data.model_file import HEADER_LIMIT

    head = next(read_blocks(path, 9), b"")
    return head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= HEADER_LIMIT


def names_of(files: Sequence[str]) -> list[str]:
    """The files' names without folders where that tells them apart."""
    short = [os.path.basename(file) for file in files]
    names = short if len(set(short)) == len(files) else list(files)
    for file in names:
        if names.count(file) > 1:
            raise UsageError(f"{file} is there twice")
    return names


def _contest(files: list[str], gold: str, given: FormatSpec, helpers: dict[str, str], quiet: bool) -> SystemOutputs:
    """What all systems say about gold. Each model reads gold as it read its training data; outputs look like what the
    first model reads."""
    from palmette.data.formats.registry import read_corpus
    from palmette.evaluation.comparison import Labelling, SystemOutputs
    from palmette.structures.chain.files import with_columns

    names = names_of(files)
    taggers = {file: load_tagger(file, quiet) for file in files if is_model(file)}
    lacking = [load_tagger(path, quiet) for path in helpers.values()]
    readings = {file: tagger.reading_for(gold, labelled=True).overridden(given) for file, tagger in taggers.items()}
    reading = next(iter(readings.values()), given).resolved(gold)
    base = _labelled(read_corpus(gold, reading), gold)
    assert base.labels is not None
    right = Labelling(base.labels.ids, base.labels.types)
    guesses: dict[str, Labelling] = {}
    known, unseen, knower, helped = None, None, None, False
    for file, tagger in taggers.items():
        corpus = read_corpus(gold, readings[file])
        _check_same_gold(base, corpus, file)
        if lacking and lacks_columns(tagger, corpus):
            corpus, helped = with_columns(corpus, [helper.model_ for helper in lacking], tagger.model_), True
        ids, guess, labels = tagger.gold_and_guess(corpus)
        if not guesses:
            right, known = Labelling(ids, labels), tagger.certain(corpus)
        guesses[file] = Labelling(guess, labels)
        if unseen is None and (unseen := tagger.unseen(corpus)) is not None:
            knower = names[files.index(file)]
    if lacking and not helped:
        raise UsageError("--with: there is no model that lacks a column of the gold file")
    for file in files:
        corpus = base
        if file not in taggers:
            corpus = _labelled(read_corpus(file, output_reading(file, reading)), file)
            _check_aligned(corpus, base, file)
            assert corpus.labels is not None
            guesses[file] = Labelling(corpus.labels.ids, corpus.labels.types)
        _check_chunks(guesses[file], right, file, corpus)
    contest = SystemOutputs.of(names, base, right, [guesses[file] for file in files])
    return contest._replace(known=known, unseen=unseen, knower=knower)


def _labelled(corpus: Corpus, file: str) -> Corpus:
    if corpus.labels is None or corpus.n_tokens == 0:
        raise DataError("no labelled sentence to score", file=file)
    return corpus


def _check_same_gold(base: Corpus, corpus: Corpus, file: str) -> None:
    labels = [None if each.labels is None else each.labels.cells() for each in (base, corpus)]
    if labels[0] != labels[1]:
        raise UsageError(f"{file} was trained on labels of another column than the models before it; give --label")


def lacks_columns(tagger: Tagger, corpus: Corpus) -> bool:
    """Whether the model reads more columns than there are."""
    encoder = tagger.model_.encoder
    return encoder is not None and len(corpus.columns) < encoder.n_columns


def output_reading(file: str, gold: FormatSpec) -> FormatSpec:
    """How to read a tagged file. The guess is in the last column, in the label's field of CoNLL-U, in the key `tags` of
    JSON lines. `gold` is how the gold file was read; the output's name may tell another format."""
    import msgspec

    from palmette.data.formats.registry import FormatSpec, format_by_name

    format = format_by_name(file) or gold.format
    reading = gold if format == gold.format else FormatSpec(format=format, has_label=True)
    if format == "columns":
        return msgspec.structs.replace(reading, label="-1", columns=(reading.columns or ("0",))[:1])
    if format == "jsonl":
        return msgspec.structs.replace(reading, label="tags", tag_names=None)
    return reading


def _check_chunks(guess: Labelling, gold: Labelling, file: str, corpus: Corpus) -> None:
    """A guess that is no chunk label cannot be scored where gold has chunks."""
    import numpy as np

    from palmette.data.labels.schemes import are_chunk_labels, split_label

    if not are_chunk_labels([gold.labels[k] for k in np.unique(gold.ids).tolist()]):
        return
    for k in np.unique(guess.ids).tolist():
        if not split_label(guess.labels[k])[0]:
            line = corpus.line_of(int(np.argmax(guess.ids == k))) if corpus.source == file else None
            hint = "the guess must be the last column, or the model one of chunks"
            message = f"{guess.labels[k]!r} is no chunk label, and gold has chunks"
            raise DataError(message, file=file, line=line, hint=hint)


def _check_aligned(found: Corpus, gold: Corpus, file: str) -> None:
    """The same words in the same sentences, or an error at the first that differs."""
    hint = "the files must have the same sentences in the same order: tag the gold file itself"
    n = min(found.n_tokens, gold.n_tokens)
    if found.columns and gold.columns:
        pairs = zip(found.columns[0].cells(), gold.columns[0].cells(), strict=False)
        for i, (word, expected) in enumerate(pairs):
            if word != expected:
                raise DataError(
                    f"the word is {word!r}, and {expected!r} in {_place(gold, i)}", file=file, line=found.line_of(i),
                    hint=hint,
                )  # fmt: skip
    if found.n_tokens != gold.n_tokens:
        longer, shorter = (found, gold) if found.n_tokens > n else (gold, found)
        raise DataError(
            f"{found.n_tokens} tokens, and gold has {gold.n_tokens}: {_place(longer, n)} is beyond the end of "
            f"{shorter.source}", file=file, hint=hint,
        )  # fmt: skip
    for ours, theirs in zip(found.offset.tolist(), gold.offset.tolist(), strict=False):
        if ours != theirs:
            here = "a sentence begins" if ours < theirs else "no sentence begins"
            i = min(ours, theirs)
            there = "none" if ours < theirs else "one"
            raise DataError(
                f"{here} here, and {there} in {_place(gold, i)}", file=file, line=found.line_of(i), hint=hint
            )


def _place(corpus: Corpus, token: int) -> str:
    line = corpus.line_of(token)
    return corpus.source if line is None else f"{corpus.source}:{line}"


# Learners


def _learners(
    files: tuple[str, str | None, str],
    learners: list[LearnerSpec],
    common: dict[str, Any],
    seeds: int,
    reading: FormatSpec,
    wish: CompareOptions,
    json: bool,
    quiet: bool,
) -> None:
    from palmette.data.formats.registry import read_corpus
    from palmette.estimators.ablation import Material, ablate
    from palmette.reports.comparison import print_ablation, use_of_dev
    from palmette.reports.meter import Meter

    if len(learners) < 2:
        raise UsageError("--learners: two or more, to be compared")
    if seeds < 1:
        raise UsageError(f"--seeds {seeds}: at least 1")
    for learner in learners:
        learner.tagger(common, 1)
    announce_compiling(quiet)
    train, dev, gold = (None if file is None else _labelled(read_corpus(file, reading), file) for file in files)
    assert train is not None
    assert gold is not None
    meter = Meter(quiet)
    found = ablate(learners, Material(train, dev, gold), common, range(1, seeds + 1), wish, meter)
    meter.clear()
    note = use_of_dev(files[1], common.get("dev_share"), files[2])
    if json:
        import msgspec

        about = {"train": files[0], "dev": files[1], "gold": files[2], "use_of_dev": note, "common": common}
        print_json(about | msgspec.to_builtins(found))
    else:
        print_ablation(found, note)
