"""`palmette compare`: taggers or outputs on the same gold, or learners that are trained for the comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from palmette.cli.command import Command, JsonOptions
from palmette.cli.common import HelperOptions, format_spec, is_model, load_tagger, names_of
from palmette.cli.output import print_json
from palmette.data.formats.spec import FormatSpec
from palmette.errors import DataError, UsageError, counted
from palmette.lazy import loaded
from palmette.options.chain import TaggerOptions
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.data.corpus import Corpus
    from palmette.estimators.tagger import Tagger
    from palmette.evaluation.rivals import CompareOptions, Rivals, SystemLabels, SystemOutputs

LEARNERS = "lab.ablation:compare_learners"
# Options of a tagger that hold for all learners of a comparison
SHARED = ("dev-share", "template", "features", "passes", "order", "min-count")


class Comparing(JsonOptions, Command):
    """Base of the commands that compare."""

    rounds: int = option(default=10_000, low=1, group="output", help="Rounds of bootstrap and randomisation.")
    seed: int = option(default=1, low=0, group="output", help="Seed of bootstrap and randomisation.")

    def options(self, differences: int | None = None) -> CompareOptions:
        from palmette.evaluation.rivals import CompareOptions

        return CompareOptions(self.rounds, self.seed, self.json, 5 if differences is None else differences)

    def show(
        self, rivals: Callable[[], Rivals], data: str, about: dict[str, Any], differences: int | None = None
    ) -> None:
        """Compare and print; `about`: what JSON has of the files, `data`: what they are compared on."""
        from palmette.evaluation.rivals import compare
        from palmette.reports.progress import Meter

        meter = Meter(self.quiet or self.json)
        found = compare(rivals(), self.options(differences), meter.tell)
        meter.clear()
        if self.json:
            print_json(about | found.to_dict())
        else:
            from palmette.reports.comparison import print_comparison

            print_comparison(found, data)


def systems_and_gold(given: list[str] | None, gold: str | None, what: str) -> tuple[list[str], str]:
    """What is compared, two or more, and the gold file: the last of the files unless it is named."""
    from palmette.cli.common import is_model

    files = list(given or ())
    if gold is None and files:
        gold = files.pop()
    if gold is None or len(files) < 2:
        raise UsageError(f"give two or more {what}, and then the gold file")
    if "-" in (gold, *files):
        raise UsageError("compare reads files, not standard input")
    if is_model(gold):
        raise UsageError(f"{gold} is a model: the gold file comes last")
    return files, gold


class Compare(HelperOptions, Comparing):
    """Compare taggers, outputs or learners on the same gold, with significance tests. JSON has all pairs, and figures
    as fractions of 1."""

    examples = (
        "compare old.palm new.palm test.txt",
        "compare --train train.txt --gold test.txt --learners perceptron,crf",
    )
    owners = (TaggerOptions, FormatSpec)
    hidden = (
        "unit", "penn-quotes",
        *(each.flag_name for each in TaggerOptions.__options__.values() if each.flag_name not in SHARED),
    )  # fmt: skip
    common = (
        "gold", "train", "learners", "seeds", "dev", "differences", "features", "passes", "format", "label", "json",
        "quiet",
    )  # fmt: skip

    files: list | None = option(
        default=None, argument=True, repeat=True, path="input",
        help="Models or tagged files (their last column is the guess), two or more, and then the gold file.",
    )  # fmt: skip
    gold: str | None = option(
        default=None, metavar="FILE", path="input",
        help="The gold file, if it is not the last of the files; with --train: the file to score on.",
    )  # fmt: skip
    train: str | None = option(
        default=None, metavar="FILE", path="input",
        help="Instead of models: train --learners on this file and compare them on --gold.",
    )  # fmt: skip
    learners: list | None = option(
        default=None, repeat=True, metavar="NAME[:KEY=VALUE,...],...",
        help="The learners, separated by commas: perceptron,perceptron:estimator=last. Keys are options of `palmette "
        "train`, which override those given for all; latent:3 is short for perceptron:latent=3.",
    )  # fmt: skip
    seeds: int | None = option(
        default=None, low=1, help="Trainings of each learner, with seeds 1, 2, ... (default: 3)."
    )
    dev: str | None = option(
        default=None, metavar="FILE", path="input", help="Development file: chooses the pass that each training keeps."
    )
    threads: int | None = option(
        default=None,
        low=1,
        help="Threads of each training (default: all cores); the result is the same for any number.",
    )
    differences: int | None = option(
        default=None, group="output", help="Sentences to show on which the systems differ (default: 5)."
    )

    def run(self) -> None:
        self._check()
        if self.train is None:
            self._compare_outputs()
        else:
            loaded(LEARNERS)(self, self.train)

    def _check(self) -> None:
        common = self.params(TaggerOptions)
        if self.train is None:
            given = (self.learners, self.seeds, self.dev, self.threads)
            if any(value is not None for value in given) or common:
                raise UsageError("--learners, --seeds, --dev, --threads and the options of training need --train FILE")
            return
        if self.files or self.gold is None or not self.learners:
            raise UsageError("with --train give --gold FILE and --learners A,B, and no other files")
        if self.with_ or self.differences is not None:
            raise UsageError("--with and --differences are for models and outputs: leave them out with --train")
        if self.dev is not None and "dev_share" in common:
            raise UsageError("give --dev or --dev-share, not both")

    def _compare_outputs(self) -> None:
        from palmette.evaluation.rivals import label_rivals

        files, gold = systems_and_gold(self.files, self.gold, "models or tagged files")
        systems = dict(zip(names_of(files), files, strict=True))
        spec = format_spec(self.params(FormatSpec))
        self.show(
            lambda: label_rivals(system_outputs(systems, gold, spec, self.helpers())),
            gold, {"gold": gold, "files": files}, self.differences,
        )  # fmt: skip


def system_outputs(systems: Mapping[str, str], gold: str, given: FormatSpec, helpers: list[Tagger]) -> SystemOutputs:
    """The labels that all systems give to the gold file. Each model reads gold as it read its training data; outputs
    look like what the first model reads. systems: files by name."""
    from palmette.data.formats.registry import read_corpus
    from palmette.evaluation.rivals import SystemLabels, SystemOutputs
    from palmette.structures.chain.files import spec_for, with_columns
    from palmette.structures.chain.gold import certain, gold_and_guess
    from palmette.structures.chain.gold import unseen as unseen_words

    names, files = list(systems), list(systems.values())
    taggers = {file: load_tagger(file) for file in files if is_model(file)}
    specs = {file: spec_for(tagger.model_, gold, given, labelled=True) for file, tagger in taggers.items()}
    spec = next(iter(specs.values()), given).resolved(gold)
    base = labelled(read_corpus(gold, spec), gold)
    assert base.labels is not None
    right = SystemLabels(base.labels.ids, base.labels.types)
    guesses: dict[str, SystemLabels] = {}
    known, unseen, knower, helped = None, None, None, False
    for file, tagger in taggers.items():
        corpus = read_corpus(gold, specs[file])
        _check_same_gold(base, corpus, file)
        if helpers and lacks_columns(tagger, corpus):
            corpus, helped = with_columns(corpus, [helper.model_ for helper in helpers], tagger.model_), True
        ids, guess, labels = gold_and_guess(tagger.model_, corpus)
        if not guesses:
            right, known = SystemLabels(ids, labels), certain(corpus)
        guesses[file] = SystemLabels(guess, labels)
        if unseen is None and (unseen := unseen_words(tagger.model_, corpus)) is not None:
            knower = names[files.index(file)]
    if helpers and not helped:
        raise UsageError("--with: no model lacks a column of the gold file")
    for file in files:
        corpus = base
        if file not in taggers:
            corpus = labelled(read_corpus(file, output_spec(file, spec)), file)
            _check_aligned(corpus, base, file)
            assert corpus.labels is not None
            guesses[file] = SystemLabels(corpus.labels.ids, corpus.labels.types)
        _check_chunks(guesses[file], right, file, corpus)
    outputs = SystemOutputs.of(names, base, right, [guesses[file] for file in files])
    return outputs._replace(known=known, unseen=unseen, unseen_for=knower)


def labelled(corpus: Corpus, file: str) -> Corpus:
    if corpus.labels is None or corpus.n_tokens == 0:
        raise DataError("no labelled sentence to score", file=file)
    return corpus


def _check_same_gold(base: Corpus, corpus: Corpus, file: str) -> None:
    labels = [None if each.labels is None else each.labels.cells() for each in (base, corpus)]
    if labels[0] != labels[1]:
        raise UsageError(f"{file} was trained on labels of another column than the models before it; give --label")


def lacks_columns(tagger: Tagger, corpus: Corpus) -> bool:
    """Whether the model reads more columns than the corpus has."""
    encoder = tagger.model_.encoder
    return encoder is not None and len(corpus.columns) < encoder.n_columns


def output_spec(file: str, gold: FormatSpec) -> FormatSpec:
    """How to read a tagged file. The guess is in the last column, in the label's field of CoNLL-U, or under the key
    `tags` of JSON lines. `gold` is how the gold file was read; the name of the output may show another format."""

    from palmette.data.formats.spec import ANNOTATORS, FormatSpec, format_by_name
    from palmette.data.text import TextSpec

    if gold.format in ANNOTATORS:
        format = FormatSpec(encoding=gold.encoding).resolved(file, gold.format).format
    else:
        format = format_by_name(file) or gold.format
    text = {name: getattr(gold, name) for name in TextSpec.__options__}
    spec = gold if format == gold.format else FormatSpec(format=format, has_label=True, **text)
    if format == "columns":
        return spec.replace(label="-1", columns=(spec.columns or ("0",))[:1])
    if format == "jsonl":
        return spec.replace(label="tags", tag_names=None)
    return spec


def _check_chunks(guess: SystemLabels, gold: SystemLabels, file: str, corpus: Corpus) -> None:
    """DataError if gold has chunks and a guess is no chunk label."""
    import numpy as np

    from palmette.data.labels.schemes import reading

    notation = reading([gold.labels[k] for k in np.unique(gold.ids).tolist()])
    if notation is None:
        return
    for k in np.unique(guess.ids).tolist():
        if not notation.split(guess.labels[k])[0]:
            line = corpus.line_of(int(np.argmax(guess.ids == k))) if corpus.source == file else None
            hint = "the guess must be the last column, or the model one of chunks"
            message = f"{guess.labels[k]!r} is no chunk label, and gold has chunks"
            raise DataError(message, file=file, line=line, hint=hint)


def _check_aligned(found: Corpus, gold: Corpus, file: str) -> None:
    """DataError at the first word or sentence that differs."""
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
            f"{counted(found.n_tokens, 'token')}, and gold has {gold.n_tokens}: {_place(longer, n)} is beyond the end "
            f"of {shorter.source}", file=file, hint=hint,
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
