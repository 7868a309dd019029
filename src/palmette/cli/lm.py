"""`palmette lm train|score|sample`: language models."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from palmette.cli.options import File, Flag, Json, MaybeFile, Output, Quiet, announce_compiling, no_options, say
from palmette.cli.telling import Ticker, print_json
from palmette.errors import UsageError

if TYPE_CHECKING:
    from palmette.estimators.language_model import LanguageModel

lm = App(name="lm", help="Language models: train one, score text with it, draw sentences from it.")
Files = Annotated[list[str], Parameter(allow_leading_hyphen=True, validator=no_options)]


@lm.command
def train(
    files: Files,
    /,
    *,
    output: Output,
    order: int = 3,
    min_count: int = 1,
    arpa: Flag = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a language model with interpolated modified Kneser-Ney smoothing.

    Parameters
    ----------
    files: list[str]
        Text: a sentence a line, words between white space; `-` is standard input.
    output: str
        The model file; a name that ends in .arpa or .arpa.gz gets the ARPA format.
    order: int
        Words of an n-gram, 1 to 5.
    min_count: int
        Words that occur less often are unknown words, <unk>.
    arpa: bool
        Write the ARPA format whatever the name; then `-o -` is standard output.
    json: bool
        Print the figures as one JSON object on standard output.
    quiet: bool
        No progress and no messages.
    """
    from palmette.data import model_file
    from palmette.data.files import check_output
    from palmette.structures.lm.arpa import is_arpa_name

    is_arpa = arpa or is_arpa_name(output)
    if json and output == "-":
        raise UsageError("--json prints to standard output: write the model to a file")
    (check_output if is_arpa else model_file.check_output)(output)
    announce_compiling(quiet)
    from palmette.estimators.language_model import LanguageModel

    begun, tell = time.perf_counter(), say(quiet)
    model = LanguageModel(order, min_count=min_count).fit_file(*files, say=tell)
    model.save(output, arpa=is_arpa)
    took = time.perf_counter() - begun
    tell(f"wrote {output}: {_orders(model)}, {took:.1f} s")
    if json:
        print_json(
            {"output": output, "order": order, "min_count": min_count, "sizes": model.sizes_, "seconds": took,
             "discounts": model.discounts_, "fell_back": model.fell_back_}
        )  # fmt: skip


def _orders(model: LanguageModel) -> str:
    return ", ".join(f"{n:,} {k}-grams" for k, n in enumerate(model.sizes_, 1))


@lm.command
def score(
    model: File,
    file: File = "-",
    /,
    *,
    by_sentence: Flag = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Perplexity of a text, with and without the words that the model does not know.

    Parameters
    ----------
    model: str
        A model file or an ARPA file.
    file: str
        Text: a sentence a line, words between white space; default standard input.
    by_sentence: bool
        A line for each sentence: natural logarithm of its probability, tokens, unknown tokens, text.
    json: bool
        Print one JSON object, with the figures of each sentence.
    quiet: bool
        No messages.
    """
    from palmette.data.formats.sentences import read_sentences

    found = _load(model, quiet)
    text = read_sentences(file)
    scores = found.sentence_scores(text)
    whole = scores.together()
    rows = zip(scores.logprob.tolist(), scores.tokens.tolist(), scores.unknown.tolist(), strict=True)
    if json:
        own = [{"logprob": log, "tokens": n, "unknown": unknown} for log, n, unknown in rows]
        print_json({**{name: getattr(whole, name) for name in whole.__slots__}, "by_sentence": own})
        return
    if by_sentence:
        for (log, n, unknown), sentence in zip(rows, text.texts(), strict=True):
            print(f"{log:.4f}\t{n}\t{unknown}\t{sentence}")
        return
    share = 100 * whole.unknown / whole.tokens
    print(f"sentences {whole.sentences:>10,}   tokens {whole.tokens:>12,}")
    print(f"unknown   {whole.unknown:>10,}   {share:17.2f} %")
    print(f"perplexity {whole.perplexity:>19,.2f}   with unknown words")
    print(f"           {whole.perplexity_without_unknown:>19,.2f}   without them")


@lm.command
def sample(
    model: File,
    /,
    *,
    output: Output = "-",
    n: Annotated[int | None, Parameter(name=["--sentences", "-n"])] = None,
    seed: int = 1,
    max_length: int = 100,
    vocabulary: MaybeFile = None,
    lengths: MaybeFile = None,
    new: Flag = False,
    exclude: MaybeFile = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw sentences from a language model, a line each.

    Sentences that do not fulfil the wishes are dropped and drawn again; what was dropped is told on standard error.

    Parameters
    ----------
    model: str
        A model file or an ARPA file.
    output: str
        The file to write; `-` is standard output.
    n: int
        How many; default 10, or as many as the file of --lengths has.
    seed: int
        Equal seeds give equal files.
    max_length: int
        Longer sentences are dropped.
    vocabulary: str
        Only words of this text; sentences with other words are dropped.
    lengths: str
        Match the histogram of sentence lengths of this text.
    new: bool
        No sentence of the training text.
    exclude: str
        No sentence of this text.
    json: bool
        Print what it took as one JSON object; the sentences need a file then.
    quiet: bool
        No progress and no messages.
    """
    from palmette.data.files import check_output, write_whole
    from palmette.data.formats.sentences import read_sentences

    if json and output == "-":
        raise UsageError("--json prints to standard output: write the sentences to a file, with -o FILE")
    check_output(output)
    found = _load(model, quiet)
    wishes: dict[str, Any] = {"seed": seed, "max_length": max_length, "new": new}
    if vocabulary is not None:
        wishes["vocabulary"] = read_sentences(vocabulary).words.types
    if lengths is not None:
        wishes["lengths"] = read_sentences(lengths).lengths
        n = len(wishes["lengths"]) if n is None else n
    if exclude is not None:
        wishes["exclude"] = read_sentences(exclude)
    begun, n = time.perf_counter(), 10 if n is None else n
    drawn = found.draw(n, **wishes, progress=None if quiet else Watch(n))
    words, marks = [found.vocabulary_[w] for w in drawn.ids.tolist()], drawn.offset.tolist()
    with write_whole(output) as out:
        out.write("".join(" ".join(words[a:b]) + "\n" for a, b in pairwise(marks)).encode())
    about = {"sentences": n, "tokens": len(words), "draws": drawn.tries, "dropped": drawn.dropped,
             "length_slack": drawn.length_slack, "seconds": time.perf_counter() - begun}  # fmt: skip
    _tell_sample(about, quiet)
    if json:
        print_json(about)


def _tell_sample(about: dict[str, Any], quiet: bool) -> None:
    tell = say(quiet)
    if about["dropped"]:
        said = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in about["dropped"].items())
        tell(f"{about['draws']:,} draws; dropped: {said}")
    if about["length_slack"]:
        tell(f"rare lengths: the last places went to sentences up to {about['length_slack']} words off")


class Watch(Ticker):
    """How many sentences are kept."""

    def __init__(self, n: int) -> None:
        super().__init__(seconds=5.0)
        self.n = n

    def __call__(self, kept: int, draws: int) -> None:
        if self.due():
            self.tell(f"{kept:,} of {self.n:,} sentences, {draws:,} draws")


def _load(path: str, quiet: bool) -> LanguageModel:
    announce_compiling(quiet)
    from palmette.estimators.language_model import LanguageModel

    return LanguageModel.load(path)
