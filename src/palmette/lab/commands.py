"""The commands of the lab: `palmette classifier cues`, `palmette hmm count|model` and `palmette lm ...`."""

from __future__ import annotations

import logging
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from palmette.cli.command import Command, ForceOptions, JsonOptions, OutputOptions
from palmette.cli.common import format_spec, text_spec
from palmette.cli.output import Ticker, print_json, report_source
from palmette.data.formats.spec import FormatSpec
from palmette.data.text import TextSpec
from palmette.errors import UsageError, counted
from palmette.lab.lm.options import NgramOptions
from palmette.options.declare import option
from palmette.options.learners import HmmOptions

if TYPE_CHECKING:
    from palmette.lab.lm.language_model import LanguageModel

# `palmette classifier cues`: shallow cues that separate two corpora without any structure.


class Cues(JsonOptions, Command):
    """Check two corpora for shallow cues: vocabulary, length, overlap, duplicates.

    A learner that should find structure needs negatives that words and lengths do not give away.
    """

    owners = (TextSpec,)
    hidden = ("max-cell",)

    positives: str = option(
        argument=True, path="input", help="Text: one sentence per line, words separated by white space."
    )
    negatives: str = option(argument=True, path="input", help="The sentences to distinguish from them.")
    seed: int = option(default=1, low=0, help="Seed of the folds of held-out sentences.")

    def run(self) -> None:
        from palmette.lab.sentences import read_sentences
        from palmette.lab.shallow_cues import cues_text, shallow_cues

        found = shallow_cues(
            *(read_sentences(file, spec=text_spec(self)) for file in (self.positives, self.negatives)), seed=self.seed
        )
        if self.json:
            print_json(found)
        else:
            print(cues_text(found))


# `palmette hmm count|model`: the tables of hidden Markov models as JSON, and model files made from them.

logger = logging.getLogger(__name__)


class CountTables(OutputOptions, Command):
    """Count a hidden Markov model and write its probabilities as JSON, to be read, changed, or made into a model file
    by `palmette hmm model`. The words are the first of the columns that are read."""

    examples = ("hmm count train.txt -o tables.json",)
    common = (
        "output", "order", "smoothing", "interpolate", "rare-words", "dictionary", "ends", "format", "columns", "label",
        "quiet",
    )  # fmt: skip
    owners = (HmmOptions, FormatSpec)
    hidden = ("unit", "penn-quotes")

    data: str = option(default="-", argument=True, path="input", help="Labelled sentences; `-` is standard input.")
    output: str = option(
        default="-", short="o", metavar="FILE", path="output", help="The JSON file; `-` is standard output."
    )

    def run(self) -> None:
        spec = format_spec(self.params(FormatSpec))
        report_source(self.data, self.quiet)
        from palmette.lab.hmm.estimator import HMM

        hmm = HMM(**self.params(HmmOptions)).fit_file(self.data, spec=spec)
        hmm.save_tables(self.output)
        if self.output != "-":
            words = hmm.vocabulary_
            about = (
                f"{counted(len(hmm.labels_), 'label')}, {counted(len(words.known), 'word')}, "
                f"{counted(len(words.classes), 'class', 'classes')} of rare words"
            )
            logger.info("wrote %s: %s", self.output, about)


class MakeModel(ForceOptions, Command):
    """Make a model file from the tables of a hidden Markov model, for `palmette tag` and the other commands."""

    examples = ("hmm model tables.json -o hmm.palm",)
    tables: str = option(
        argument=True, path="input", help="A JSON file of `palmette hmm count`, or one written by hand."
    )
    output: str = option(short="o", metavar="FILE", path="model", help="The model file to write.")

    def run(self) -> None:
        from palmette.data import model_file
        from palmette.lab.hmm.estimator import HMM

        model_file.check_output(self.output)
        HMM.load_tables(self.tables).save(self.output)
        logger.info("wrote %s", self.output)


# `palmette lm train|score|sample`: language models.

SAMPLES = 10  # sentences that are drawn by default


class TrainLanguageModel(ForceOptions, JsonOptions, Command):
    """Train an n-gram language model with interpolated modified Kneser-Ney smoothing."""

    examples = ("lm train text.txt -o text.palm --order 3",)
    common = ("output", "order", "min-count", "arpa", "encoding", "json", "quiet")
    owners = (NgramOptions, TextSpec)
    hidden = ("max-cell",)

    files: list = option(
        argument=True, repeat=True, path="input",
        help="Text: one sentence per line, words separated by white space; `-` is standard input.",
    )  # fmt: skip
    output: str = option(
        short="o",
        metavar="FILE",
        path="model",
        help="The model file; if its name ends in .arpa or .arpa.gz, an ARPA file.",
    )
    arpa: bool = option(
        default=False, group="output", help="Write the ARPA format whatever the name; then `-o -` is standard output."
    )

    def writes_over(self, output: str) -> bool:
        from palmette.lab.lm.files import begins_as_arpa, is_arpa_name

        return (self.arpa or is_arpa_name(output)) and begins_as_arpa(output)

    def run(self) -> None:
        from palmette.data import model_file
        from palmette.data.files import check_output
        from palmette.lab.lm.files import is_arpa_name

        is_arpa = self.arpa or is_arpa_name(self.output)
        if self.json and self.output == "-":
            raise UsageError("--json prints to standard output: write the model to a file")
        (check_output if is_arpa else model_file.check_output)(self.output)
        from palmette.lab.lm.language_model import LanguageModel

        begun = time.perf_counter()
        model = LanguageModel(**self.params(NgramOptions))
        if is_arpa:
            model.check_arpa()
        model.fit_file(*self.files, spec=text_spec(self))
        model.save(self.output, arpa=is_arpa)
        seconds = time.perf_counter() - begun
        sizes = ", ".join(f"{n:,} {k}-grams" for k, n in enumerate(model.sizes_, 1))
        logger.info("wrote %s: %s, %.1f s", self.output, sizes, seconds)
        if self.json:
            print_json(
                {"output": self.output, "order": model.order, "min_count": model.min_count, "sizes": model.sizes_,
                 "seconds": seconds, "discounts": model.discounts_, "fell_back": model.fell_back_}
            )  # fmt: skip


class ScoreText(JsonOptions, Command):
    """Print the perplexity of a text, with and without the words that the model does not know."""

    examples = ("lm score text.palm other.txt",)
    owners = (TextSpec,)
    hidden = ("max-cell",)

    model: str = option(argument=True, path="input", help="A model file or an ARPA file.")
    file: str = option(
        default="-", argument=True, path="input",
        help="Text: one sentence per line, words separated by white space; `-` is standard input.",
    )  # fmt: skip
    by_sentence: bool = option(
        default=False, group="output",
        help="Print a line per sentence: natural logarithm of its probability, tokens, unknown tokens, text.",
    )  # fmt: skip

    def run(self) -> None:
        from palmette.lab.sentences import read_sentences

        model = _load(self.model)
        text = read_sentences(self.file, spec=text_spec(self))
        scores = model.sentence_scores(text)
        whole = scores.together()
        rows = zip(scores.logprob.tolist(), scores.tokens.tolist(), scores.unknown.tolist(), strict=True)
        if self.json:
            own = [{"logprob": log, "tokens": n, "unknown": unknown} for log, n, unknown in rows]
            print_json(whole.to_dict() | {"by_sentence": own})
        elif self.by_sentence:
            for (log, n, unknown), sentence in zip(rows, text.texts(), strict=True):
                print(f"{log:.4f}\t{n}\t{unknown}\t{sentence}")
        else:
            from palmette.reports.tables import print_scores

            print_scores(whole)


class InspectLanguageModel(JsonOptions, Command):
    """Show a language model: how many n-grams it has, and the discounts of each order."""

    model: str = option(argument=True, path="input", help="A model file or an ARPA file.")

    def run(self) -> None:
        from palmette.lab.lm.language_model import inspect_language_model

        found = inspect_language_model(_load(self.model))
        if self.json:
            print_json(found.to_dict())
        else:
            from palmette.reports.tables import OutputConsole, print_facts

            print_facts(found, OutputConsole(100))


class SampleText(JsonOptions, Command):
    """Draw sentences from a language model, one per line.

    Sentences that do not meet the conditions are dropped and others drawn; how many is reported on standard error.
    """

    examples = ("lm sample text.palm -n 5 --new",)
    owners = (TextSpec,)
    hidden = ("max-cell",)

    model: str = option(argument=True, path="input", help="A model file or an ARPA file.")
    output: str = option(
        default="-", short="o", metavar="FILE", path="output", help="The file to write; `-` is standard output."
    )
    n: int | None = option(
        default=None, flag="sentences", short="n", low=1,
        help=f"How many (default: {SAMPLES}, or as many as the file of --lengths has).",
    )  # fmt: skip
    seed: int = option(default=1, low=0, help="Equal seeds give equal files.")
    max_length: int = option(default=100, low=1, help="Drop sentences with more words.")
    vocabulary: str | None = option(
        default=None, metavar="FILE", path="input", help="Drop sentences with words that this text does not have."
    )
    lengths: str | None = option(
        default=None, metavar="FILE", path="input", help="Match the histogram of sentence lengths of this text."
    )
    new: bool = option(default=False, help="Drop sentences of the training text.")
    exclude: str | None = option(default=None, metavar="FILE", path="input", help="Drop sentences of this text.")

    def run(self) -> None:
        from palmette.data.files import check_output
        from palmette.data.text import write_text

        if self.json and self.output == "-":
            raise UsageError("--json prints to standard output: write the sentences to a file, with -o FILE")
        check_output(self.output)
        model = _load(self.model)
        conditions = self._conditions()
        n = self.n or len(conditions.get("lengths", range(SAMPLES)))
        begun = time.perf_counter()
        drawn = model.draw(n, **conditions, progress=None if self.quiet else SampleMeter(n))
        words, marks = [model.vocabulary_[w] for w in drawn.ids.tolist()], drawn.offset.tolist()
        with write_text(self.output, text_spec(self).encoding) as out:
            out.write("".join(" ".join(words[a:b]) + "\n" for a, b in pairwise(marks)).encode())
        about = {"sentences": n, "tokens": len(words), "draws": drawn.tries, "dropped": drawn.dropped,
                 "length_slack": drawn.length_slack, "seconds": time.perf_counter() - begun}  # fmt: skip
        if drawn.dropped:
            dropped = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in drawn.dropped.items())
            logger.info("%s draws; dropped: %s", f"{drawn.tries:,}", dropped)
        if drawn.length_slack:
            slack = counted(drawn.length_slack, "word")
            logger.info("rare lengths: the last places took sentences up to %s off", slack)
        if self.json:
            print_json(about)

    def _conditions(self) -> dict[str, Any]:
        """What `LanguageModel.draw` takes."""
        from palmette.lab.sentences import read_sentences

        found: dict[str, Any] = {"seed": self.seed, "max_length": self.max_length, "new": self.new}
        if self.vocabulary is not None:
            found["vocabulary"] = read_sentences(self.vocabulary, spec=text_spec(self)).words.types
        if self.lengths is not None:
            found["lengths"] = read_sentences(self.lengths, spec=text_spec(self)).lengths
        if self.exclude is not None:
            found["exclude"] = read_sentences(self.exclude, spec=text_spec(self))
        return found


class SampleMeter(Ticker):
    """Reports how many sentences are drawn."""

    def __init__(self, n: int) -> None:
        super().__init__(seconds=5.0)
        self.n = n

    def __call__(self, kept: int, draws: int) -> None:
        if self.due():
            self.tell(f"{kept:,} of {counted(self.n, 'sentence')}, {counted(draws, 'draw')}")


def _load(path: str) -> LanguageModel:
    from palmette.lab.lm.language_model import LanguageModel

    return LanguageModel.load(path)
