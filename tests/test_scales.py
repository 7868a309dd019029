"""Every option at every scale of training: it changes the model, or is refused by its name and with a reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

from palmette import Beam, Crf, Dplvm, Latent, MaxEnt, Tagger
from palmette.data import read_corpus
from palmette.datasets import demo_text
from palmette.errors import UsageError
from palmette.options import TAGGER_LEARNERS, OptionError, TaggerOptions

BASES: dict[str, dict[str, Any]] = {
    "perceptron": {"learner": "perceptron", "passes": 3},
    "crf": {"learner": Crf(iterations=6)},
}
SCALES = ("memory", "disk", "shards")


class Cell(NamedTuple):
    """An option with a value that is not its default, and what is the same with it and without it."""

    change: dict[str, Any]
    also: Mapping[str, Any] = MappingProxyType({})
    file: str = "train.txt"
    fit: Mapping[str, Any] = MappingProxyType({})


DEV = {"dev": "dev.txt"}
CELLS = {
    "search": Cell({"search": Beam(2)}), "states": Cell({"states": Latent(2)}), "passes": Cell({"passes": 2}),
    "patience": Cell({"patience": 1}, {"passes": 12, "max_attributes": 40}, fit=DEV),
    "stop_window": Cell({"stop_window": 2}, {"passes": 9}), "seed": Cell({"seed": 7}),
    "stop_error": Cell({"stop_error": 90.0}, {"stop_window": 2, "passes": 9}),
    "batch_size": Cell({"batch_size": 8}), "unicode": Cell({"unicode": "none"}),
    "estimator": Cell({"estimator": "last"}),
    "mavg_every": Cell({"mavg_every": 2}, {"estimator": "mavg", "passes": 5}), "shards": Cell({"shards": 2}),
    "mixing": Cell({"mixing": "updates"}, {"shards": 3}),
    "partial": Cell({"partial": True}, {"partial": False}, file="partial.txt"),
    "metric": Cell({"metric": "accuracy"}, fit=DEV),
    "tune_bias": Cell({"tune_bias": True}, {"max_attributes": 40}, fit=DEV),
    "min_count": Cell({"min_count": 3}), "max_attributes": Cell({"max_attributes": 200}),
    "min_feature_count": Cell({"min_feature_count": 2}), "state_features": Cell({"state_features": "seen"}),
    "edge_features": Cell({"edge_features": "seen"}, {"template": "pairs.txt", "features": None}),
    "transition_features": Cell({"transition_features": "seen"}), "constraints": Cell({"constraints": "none"}),
    "features": Cell({"features": "chunk"}), "template": Cell({"template": "pairs.txt", "features": None}),
    "order": Cell({"order": 0}), "lexicons": Cell({"lexicons": {"a": "lexicon.txt"}}, {"features": "ner"}),
    "clusters": Cell({"clusters": {"a": "clusters.txt"}}, {"features": "ner"}),
    "raw": Cell({"raw": "raw.txt"}, {"features": "ner"}),
    "forbidden": Cell({"forbidden": (("B-ADVP", "B-ADVP"),)}), "ends": Cell({"ends": False}),
    "dev_share": Cell({"dev_share": 0.3}),
}  # fmt: skip
# What changes no model: `learner` is crossed with scales below; a helper stands beside a model
# (test_helpers_stored.py); the others say where data is.
ELSEWHERE = {"learner", "helper", "out_of_core", "scratch"}
SAME = {("seed", "crf"): "nothing is drawn"}
"""Options without an effect, and why that is no fault."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("scales")
    sentences = demo_text("train").split("\n\n")
    text = "".join(f"{one}\n\n" for one in sentences[:60]) + "cafe\u0301 NN B-NP\ncaf\u00e9 NN I-NP\n\n"
    (made / "train.txt").write_text(text)
    dev = "".join(f"{one}\n\n" for one in sentences[100:130])
    (made / "dev.txt").write_text(re.sub(r" [BI]-(?!NP)\w+", " O", dev))  # the best model is not the last one
    rows = [line.rsplit(" ", 1) for line in text.split("\n")]
    some = [row if k % 9 or len(row) < 2 else [row[0], "B-NP|I-NP"] for k, row in enumerate(rows)]
    (made / "partial.txt").write_text("\n".join(" ".join(row) for row in some))
    (made / "pairs.txt").write_text("*0:%x[0,1]\nU1:%x[0,0]\nB\n")
    (made / "lexicon.txt").write_text("the\nof\nand\n")
    (made / "raw.txt").write_text("the end of the day and the end of the week\n" * 3)
    (made / "clusters.txt").write_text("the\t0\nof\t1\nand\t1\n")
    return made


def trained(scale: str, folder: Path, settings: dict[str, Any], file: str, **fit: Any) -> Tagger:
    found = {"features": "ngrams", **settings}
    for name in ("template", "lexicons", "clusters", "raw"):
        if isinstance(found.get(name), str):
            found |= {name: str(folder / found[name])} | ({"features": None} if name == "template" else {})
        elif name in found:
            found[name] = {key: str(folder / path) for key, path in found[name].items()}
    dev = None if "dev" not in fit else folder / fit.pop("dev")
    if scale == "shards":
        tagger = Tagger(**{"shards": 3} | found)
        return tagger.fit_files([folder / file, folder / file], dev, threads=1, **fit)
    return Tagger(**found, out_of_core=scale == "disk").fit_file(folder / file, dev, threads=1, **fit)


def learnt(tagger: Tagger) -> list[Any]:
    """Everything that a training decides, but for the settings."""
    model = tagger.model_
    chain, names = model.chain, [own.data.tobytes() for own in model.names.values()]
    weights = [part.w.tobytes() for part in (*chain.transitions, *chain.weights)]
    rows = [(row["number"], row["dev"], row["figures"]) for row in tagger.training_log_]
    allowed = [table.tobytes() for table in model.allowed]
    return [model.labels, model.scheme, model.bias, weights, names, rows, allowed, np.sort(model.vocabulary).tobytes()]


def made_or_refused(name: str, make: Callable[[], Tagger]) -> Tagger | str:
    """What is made; or the reason why an option is refused, by its own name or by that of an option beside it."""
    try:
        return make()
    except UsageError as error:
        told = {name, *(CELLS[name].also if name in CELLS else ())}
        return str(error) if any(one in str(error) for one in told) else ""


@pytest.fixture(scope="module")
def without() -> dict[str, list[Any]]:
    """What is learnt without the option of a cell, which is the same for many cells."""
    return {}


def test_every_option_is_crossed_with_scales() -> None:
    assert set(TaggerOptions.__options__) <= CELLS.keys() | ELSEWHERE


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", [name for name in CELLS if name in TaggerOptions.__options__])
def test_an_option_changes_something_or_is_refused(
    name: str, base: str, scale: str, folder: Path, without: dict[str, list[Any]]
) -> None:
    cell = CELLS[name]
    also = BASES[base] | {key: value for key, value in cell.also.items() if key != "passes" or base != "crf"}
    found = made_or_refused(name, lambda: trained(scale, folder, also | cell.change, cell.file, **cell.fit))
    if isinstance(found, str):
        assert len(found) > 20, found
        return
    key = repr((scale, also, cell.file, dict(cell.fit)))
    if key not in without:
        without[key] = learnt(trained(scale, folder, also, cell.file, **cell.fit))
    assert (learnt(found) == without[key]) == ((name, base) in SAME)


FIT = {"checkpoint": {"checkpoint": True}, "names": {"names": False}, "compact": {"compact": 0.5, "dev": "dev.txt"}}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", [*FIT, "resume"])
def test_what_a_training_is_asked_for(name: str, scale: str, folder: Path) -> None:
    base = BASES["perceptron"]
    old = trained("memory", folder, base, "train.txt", checkpoint=True).model_
    fit = {"resume": old} if name == "resume" else FIT[name]
    made = made_or_refused(name, lambda: trained(scale, folder, base, "train.txt", **fit))
    assert isinstance(made, str) == (scale == "disk" and name in ("resume", "checkpoint"))
    if isinstance(made, str):
        return
    model = made.model_
    found = {"checkpoint": bool(model.checkpoint), "names": not model.names, "compact": model.compact}
    assert found.get(name, len(model.meta["history"]) == 6)


LEARNERS = {name: {"learner": name} for name in TAGGER_LEARNERS} | {
    "dplvm": {"learner": Dplvm(iterations=3), "states": Latent(2)}, "maxent": {"learner": MaxEnt(iterations=3)},
    "sgd": {"learner": Crf(optimiser="sgd")}, "adagrad": {"learner": Crf(optimiser="adagrad")},
}  # fmt: skip


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", LEARNERS)
def test_learners_at_all_scales(name: str, scale: str, folder: Path) -> None:
    settings = LEARNERS[name] | ({"features": None} if name == "hmm" else {})
    if name == "hmm" and scale != "memory":
        with pytest.raises(UsageError, match="hmm"):
            trained(scale, folder, settings, "train.txt")
        return
    tagger = trained(scale, folder, settings, "train.txt")
    assert tagger.model_.labels


def test_data_is_where_it_is_said_to_be(folder: Path) -> None:
    corpus = read_corpus(folder / "train.txt")
    with pytest.raises(OptionError, match="out_of_core"):
        Tagger("ngrams", out_of_core=True).fit_corpus(corpus, None)
    with pytest.raises(OptionError, match="out_of_core"):
        Tagger("ngrams", shards=2, out_of_core=True).fit_files([folder / "train.txt"] * 2)


def test_a_share_beside_development_data_is_refused(folder: Path) -> None:
    with pytest.raises(OptionError, match="dev_share: development data is given"):
        trained("memory", folder, {"dev_share": 0.2}, "train.txt", dev="dev.txt")
    with pytest.raises(OptionError, match=r"dev_share: .*give development data"):
        trained("shards", folder, {"dev_share": 0.2}, "train.txt")
