"""The files of data that belong to each served model: `--pool FILE` is for every model that can read it, `--pool
NAME=FILE` for one. All are read once when the server starts, so that a wrong one is reported then."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from palmette.classification.files import stream_classified
from palmette.data.formats.conllu import stream_treebank
from palmette.data.formats.registry import stream_corpus
from palmette.data.formats.spec import FormatSpec
from palmette.data.model_file import peek_task
from palmette.data.subset import take
from palmette.data.treebank import Treebank, treebank_from_sentences
from palmette.errors import DataError, PalmetteError, UsageError
from palmette.serve.served import FILES, Served
from palmette.structures.chain.files import spec_for, with_missing_columns
from palmette.structures.chain.model import ChainModel

LOOKED = 1 << 16  # bytes by which a pool is seen to be plain text


def files_given(words: Mapping[str, Sequence[str] | None], models: Iterable[str]) -> dict[str, str]:
    """`FILE` and `NAME=FILE` words of the options of FILES, as `Source.files` has them."""
    found: dict[str, str] = {}
    for name, given in words.items():
        for word in given or ():
            model, equals, path = word.partition("=")
            if not equals or os.path.isfile(word):
                key, path = name, word
            elif model in models:
                key = f"{model}:{name}"
            else:
                raise UsageError(f"--{name} {word}: there is no model {model!r}; there are: {', '.join(models)}")
            if not os.path.isfile(path):
                what = "a folder, and one file is expected" if os.path.isdir(path) else "no such file"
                raise UsageError(f"--{name} {path}: {what}")
            if key in found:
                raise UsageError(f"--{name} is given twice: {found[key]} and {path}; write NAME=FILE for one model")
            found[key] = path
    return found


def files_of(models: Sequence[Served], given: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The files of each model by name. UsageError if a model cannot read its own file, or no model one for all."""
    made: dict[str, dict[str, str]] = {served.name: {} for served in models}
    for key, path in given.items():
        model, _, name = key.rpartition(":")
        takers = [served for served in models if model in ("", served.name)]
        refused: list[str] = []
        for served in takers:
            if not model and f"{served.name}:{name}" in given:
                continue
            try:
                check_file(served, name, path)
            except PalmetteError as error:
                refused.append(f"--{name} {path} is not for {served.name}: {error}")
            else:
                made[served.name][name] = path
        if refused and len(refused) == len(takers):
            raise UsageError(refused[0])
    return {name: {key: own[key] for key in FILES if key in own} for name, own in made.items()}


def check_file(served: Served, name: str, path: str) -> None:
    """DataError or UsageError if a model cannot use a file as `name` of FILES."""
    if peek_task(path) is not None:
        raise DataError("it is a model, not data")
    labelled = name != "pool"
    if served.kind == "tagger":
        sizes = _check_corpora(served, path, labelled)
    elif served.kind == "classifier":
        sizes = _check_classes(served, path, labelled)
    elif labelled:
        sizes = [bank.n_tokens for bank in stream_treebank(path, labelled=served.kind == "parser")]
    else:
        sizes = [bank.n_tokens for bank in pool_of_trees(path)]
    if not sum(sizes):
        raise DataError("it has no sentence")


def _check_classes(served: Served, path: str, labelled: bool) -> list[int]:
    known = set(served.labels)
    sizes: list[int] = []
    for block in stream_classified(path, labelled=labelled):
        strange = next((str(one.label) for one in block if labelled and str(one.label) not in known), None)
        if strange is not None:
            raise DataError(f"it has the class {strange[:100]!r}; the classes are {', '.join(served.labels)}")
        sizes.append(len(block))
    return sizes


def _check_corpora(served: Served, path: str, labelled: bool) -> list[int]:
    model = served.estimator.model_
    spec = spec_for(model, path, labelled=True) if labelled else pool_spec(model, path)
    known = set(model.labels)
    sizes: list[int] = []
    strange: list[str] = []
    fits = not labelled
    for corpus in stream_corpus(path, spec):
        if corpus.n_tokens and not sizes:
            helpers = [helper.model_ for helper in served.helpers.values()]
            with_missing_columns(take(corpus, np.array([0])), helpers, model)
        if labelled and corpus.labels is not None:
            fits = fits or bool(known & set(corpus.labels.types)) or bool(corpus.label_sets)
            strange = strange or list(corpus.labels.types[:3])
        sizes.append(corpus.n_tokens)
    if sizes and not fits:
        raise DataError(f"its labels are {', '.join(strange)}, ..., and the model has none of them")
    return sizes


def pool_spec(model: ChainModel, path: str) -> FormatSpec:
    """How to read sentences without labels: like the training data, or as text with a sentence per line."""
    spec = spec_for(model, path)
    if model.encoder is not None and spec.format in ("auto", "columns") and is_running_text(path):
        return FormatSpec(format="text", unit=spec.unit)
    return spec


def pool_of_trees(path: str) -> Iterator[Treebank]:
    """The sentences of a file without trees: CoNLL-U, or text with a sentence per line."""
    if not is_running_text(path):
        yield from stream_treebank(path, labelled=False)
        return
    for corpus in stream_corpus(path, FormatSpec(format="text")):
        words: list[Any] = [[row[0] for row in corpus.sentence(s)] for s in range(corpus.n_sentences)]
        yield treebank_from_sentences(words, source=path)


def is_running_text(path: str) -> bool:
    """Whether a file has sentences as people write them: lines without TABs and with unlike numbers of words."""
    with open(path, "rb") as file:
        head = file.read(LOOKED)
    lines = head.decode("utf-8", "replace").splitlines()
    lines = lines[: max(1, len(lines) - (len(head) == LOOKED))]
    sizes = {len(line.split()) for line in lines if line.strip()}
    return not any("\t" in line or line.startswith("{") for line in lines) and len(sizes) > 1
