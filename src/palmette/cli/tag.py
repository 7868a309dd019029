"""`palmette tag`: tag a file, standard input or a typed sentence."""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING, Any

from palmette.cli.command import Command, OutputOptions
from palmette.cli.common import (
    DECODINGS,
    OF_FILES,
    BiasOptions,
    EncodingOptions,
    HelperOptions,
    SearchOptions,
    ThreadOptions,
    biases,
    check_order,
    input_spec,
    is_typed,
    load_tagger,
)
from palmette.cli.output import Meter, report_rate, report_source
from palmette.data.files import typed
from palmette.data.formats.spec import ANNOTATORS, FormatSpec
from palmette.errors import UsageError, counted
from palmette.lazy import loaded
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.estimators.tagger import Tagger

logger = logging.getLogger(__name__)
BULK = "connect.bulk_command:tag_bulk"  # for many files


class Tag(HelperOptions, BiasOptions, SearchOptions, ThreadOptions, EncodingOptions, OutputOptions, Command):
    """Tag a file, standard input or a typed sentence with a model. The input is read as the training data was, unless
    the options of the data say otherwise."""

    examples = ("tag chunk.palm input.txt -o tagged.txt", 'tag pos.palm "Time flies like an arrow."')
    owners = (FormatSpec,)
    several_with = ("output",)
    hidden = ("label", "tag-names", "split-at-spans", "offsets")
    common = (
        "output", "text", "format", "columns", "nbest", "confidence", "marginals", "known", "to", "with", "stream",
        "threads", "quiet",
    )  # fmt: skip

    model: str = option(argument=True, path="input", help="The model file.")
    data: str = option(
        default="-", argument=True, path="input",
        help="What to tag: columns, CoNLL-U, attributes, JSON lines or annotated texts as in training, or raw text; "
        "`-` is standard input. What is no file and has a blank is a sentence to tag.",
    )  # fmt: skip
    more: list | None = option(
        default=None, argument=True, repeat=True, metavar="FILE", path="input",
        help="Further files: each is written to a file of the same name in the folder of -o.",
    )  # fmt: skip
    output: str = option(
        default="-", short="o", metavar="FILE|FOLDER/", path="output",
        help="Where to write; `-` is standard output. In a folder, files that are done are not done again.",
    )  # fmt: skip
    text: str | None = option(default=None, help="A sentence to tag instead of a file.")
    nbest: int | None = option(
        default=None,
        help="Write this many label sequences per sentence, best first, with scores and, if the model is calibrated or "
        "has learnt them (crf, dplvm, hmm), probabilities.",
    )  # fmt: skip
    ray: str | None = option(
        default=None, metavar="ADDRESS|auto|local", group="output",
        help="Tag files on a Ray cluster, whose workers read and write the same paths.",
    )  # fmt: skip
    stream: bool = option(
        default=False,
        help="Answer sentence by sentence over a pipe: what has arrived is tagged and written at once. The format is "
        "that of the training data unless --format is given.",
    )  # fmt: skip
    known: str | None = option(
        default=None, metavar="NAME", group="data",
        help="A column of the input with what is known about the labels: a label, `A|B` for one of several, `?` or `_` "
        "for any.",
    )  # fmt: skip
    decode: str = option(
        default="viterbi", choices=DECODINGS, group="model",
        help="How labels of latent models are found. exact reports how many sentences are proven.",
    )  # fmt: skip
    posterior: bool = option(default=False, group="model", help="Short for --decode marginal.")
    cap: int = option(
        default=1000, flag="exact-cap", group="model",
        help="Paths per sentence that --decode exact looks at before it gives up the proof.",
    )  # fmt: skip
    to: str | None = option(
        default=None, metavar="FORMAT", group="output",
        help="Output format: columns or jsonl (default: as the input; for raw text columns; for attributes labels); "
        "spans for annotators: prodigy, labelstudio, doccano or brat. With --nbest: crfpp (one block per candidate, as "
        "CRF++ writes them; the default), columns (labels side by side) or jsonl.",
    )  # fmt: skip
    scores: bool = option(default=False, group="output", help="Write the score of the best path of each sentence.")
    show_states: bool = option(
        default=False, group="output",
        help="Write states instead of labels: the hidden state of a latent model, as in NP#2, or what a state "
        "remembers of earlier labels (--label-history), as in O#3+.",
    )  # fmt: skip
    confidence: bool = option(
        default=False, group="output",
        help="Write the confidence of each label, of each span and of all labels of a sentence together.",
    )  # fmt: skip
    marginals: bool = option(default=False, group="output", help="Write the confidence of every label for each token.")

    def run(self) -> None:
        if self.text is None and not self.more and is_typed(self.data):
            self.text, self.data = self.data, "-"
        decode = self._check()
        if self._is_bulk():
            loaded(BULK)(self, decode)
            return
        check_order(self)
        tagger = load_tagger(self.model, self)
        helpers = self.helpers()
        if self.confidence or self.marginals:
            tagger.model_.need_exact("--confidence and --marginals")
            self._warn_of_scale(tagger)
        if self.text is not None and not self._is_written():
            print(self._tagged_text(tagger, helpers, self.text, decode))
            return
        if self.text is None:
            report_source(self.data, self.quiet)
            spec = self._spec(tagger)
        else:
            self.data = typed(" ".join(self.text.split()))
            spec = FormatSpec(**self.params(FormatSpec), format="text")
        begun = time.perf_counter()
        n = self._write(tagger, helpers, spec, decode)
        seconds = time.perf_counter() - begun
        if decode == "exact":
            proven, searched = tagger.proven_
            logger.info("proven to be the best: %s of %s", f"{proven:,}", counted(searched, "sentence"))
        if not self.quiet and self.output != "-":
            report_rate(n, "token", seconds, [self.output])

    def _is_written(self) -> bool:
        """Whether what a typed sentence gets is written as that of a file is, and not shown in aligned columns."""
        return bool(self.to or self.scores or self.output_encoding or self.show_states or self.output != "-")

    def _is_bulk(self) -> bool:
        """Whether outputs go to a folder: its name ends with a slash, or there are several inputs."""
        several = bool(self.more) or self.ray is not None or _is_pattern(self.data)
        return several or self.output.endswith(("/", os.sep))

    def _check(self) -> str:
        """How to decode; UsageError if options contradict each other."""
        if self.posterior and self.decode == "exact":
            raise UsageError("--posterior is short for --decode marginal, and --decode exact is given")
        decode = "marginal" if self.posterior else self.decode
        if self.text is not None and (self.data != "-" or self.more or self.known or self.given(*OF_FILES)):
            raise UsageError("--text tags a typed sentence: leave the file and the options for files out")
        if self.stream and (self.output != "-" or self.threads is not None or self.text is not None):
            raise UsageError(
                "--stream answers on standard output as the input arrives: leave -o, --threads and --text out"
            )
        if self.nbest is not None and (
            self.show_states or self.scores or decode != "viterbi" or self.confidence or self.marginals
        ):
            raise UsageError(
                "--nbest lists labels with their scores: leave --scores, --show-states, --decode, --posterior, "
                "--confidence and --marginals out"
            )
        return decode

    def _tagged_text(self, tagger: Tagger, helpers: list[Tagger], text: str, decode: str) -> str:
        from palmette.data.formats.labelling import ConfidenceOutput
        from palmette.reports.sentence import nbest_text, tagged_text

        tokens = self.params(FormatSpec)
        if self.nbest is not None:
            return nbest_text(tagger, helpers, text, self.nbest, biases(self.bias), **tokens)
        wanted = ConfidenceOutput(self.confidence, self.marginals)
        return tagged_text(tagger, helpers, text, biases(self.bias), wanted, decode=decode, **tokens)

    def _spec(self, tagger: Tagger) -> FormatSpec:
        spec = self._stream_spec(tagger) if self.stream else input_spec(self, tagger, self.data)
        raw = {name: value for name, value in self.params(FormatSpec).items() if name in ("unit", "penn_quotes")}
        if raw and spec.resolved(self.data).format not in ("text", "plain", *ANNOTATORS):
            raise UsageError("--unit and --penn-quotes are for raw text: --format text or plain, or annotated texts")
        return spec.replace(**raw)

    def _stream_spec(self, tagger: Tagger) -> FormatSpec:
        """The format without a look at the first lines, which may not have arrived."""
        from palmette.structures.chain.files import spec_for

        given = FormatSpec(**self.params(FormatSpec))
        trained = (tagger.model_.meta.get("reading") or {}).get("format", "columns")
        spec = spec_for(tagger.model_, self.data, given if given.format != "auto" else given.replace(format=trained))
        if spec.format in ANNOTATORS:
            raise UsageError(f"--stream reads sentences one by one, and {spec.format} has whole texts: give --format")
        return spec

    def _write(self, tagger: Tagger, helpers: list[Tagger], spec: FormatSpec, decode: str) -> int:
        """Tag the file; the number of its tokens."""
        shared: dict[str, Any] = {
            "spec": spec, "output": self.to, "threads": 1 if self.stream else self.n_threads,
            "bias": biases(self.bias), "add": helpers, "known": self.known,
            "output_encoding": self.output_encoding, "flush": self.stream,
            "progress": None if self.quiet or self.stream else Meter(),
        }  # fmt: skip
        if self.nbest is not None:
            return tagger.nbest_file(self.data, self.output, self.nbest, **shared)
        return tagger.tag_file(
            self.data, self.output, scores=self.scores, states=self.show_states, decode=decode, cap=self.cap,
            confidence=self.confidence, marginals=self.marginals, **shared,
        )  # fmt: skip

    def _warn_of_scale(self, tagger: Tagger) -> None:
        """Log that confidences are not probabilities, if they are not."""
        from palmette.structures.chain.posteriors import are_probabilities

        if are_probabilities(tagger.model_, biases(self.bias)):
            return
        if are_probabilities(tagger.model_):
            logger.info("with another bias than its own, a model's confidences are not calibrated")
            return
        logger.info(
            "these confidences are not calibrated: they rank guesses, and are not probabilities\n"
            "  to calibrate the model: palmette calibrate %s DEV -o calibrated.palm", self.model,
        )  # fmt: skip


def _is_pattern(name: str) -> bool:
    return any(mark in name for mark in "*?[") and not os.path.exists(name)
