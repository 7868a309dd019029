"""Scores of a pipeline on a gold treebank, from its raw text or from its words."""

from __future__ import annotations

from collections.abc import Iterator

from palmette.data.files import FilePath, shown
from palmette.data.formats.conllu import parse_treebank, treebank_bytes
from palmette.data.stream import map_in_order
from palmette.data.text import PLAIN, TextSpec, read_text
from palmette.data.treebank import Treebank
from palmette.pipeline.conll18 import PipelineScores, evaluate
from palmette.pipeline.model import ANNOTATIONS, PipelineModel, annotated, words_only
from palmette.pipeline.run import Job, Part, make_job, written
from palmette.pipeline.split_text import gold_split
from palmette.pipeline.text_parts import text_parts


def evaluate_pipeline(
    model: PipelineModel, gold: FilePath | Treebank, input: str = "text", beam: int | None = None, threads: int = 1,
    spec: TextSpec = PLAIN,
) -> PipelineScores:  # fmt: skip
    """The metrics of the CoNLL 2018 shared task. input: text, or gold-tokens."""
    if isinstance(gold, Treebank):
        treebank, right = gold, treebank_bytes(gold, fields=())
    else:
        right = read_text(gold, spec)
        treebank = parse_treebank(right, shown(gold), labelled=False)
    if input == "gold-tokens":
        guess = treebank_bytes(_annotated(model, treebank, beam, threads), fields=ANNOTATIONS)
    else:
        job = make_job(model, "text", "conllu", None, beam)
        parts = map_in_order(job.work, _parts(job, gold_split(treebank).text), threads)
        guess = b"".join(data for data, _ in written(job, parts))
    return evaluate(right, guess)


def _annotated(model: PipelineModel, gold: Treebank, beam: int | None, threads: int) -> Treebank:
    """The words of gold with what the pipeline finds, and nothing else. A parser alone reads gold's tags and lemmas."""
    words = words_only(gold)
    if not {"tag", "lemma"} & set(model.names):
        found = annotated(model, gold, ["parse"], beam, threads) if "parse" in model.names else words
        return words.with_trees(found.heads, found.relations)
    return annotated(model, words, beam=beam, threads=threads)


def _parts(job: Job, text: str) -> Iterator[Part]:
    for part, continues in text_parts([text], job.model.split):
        yield Part(None, text=part, continues=continues)
