"""Every declared option is read by a training, or refused with a reason: none is accepted and left unused."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from palmette import (
    HMM,
    Beam,
    Classifier,
    LabelHistory,
    LanguageModel,
    Latent,
    LinearClassifier,
    Parser,
    Pipeline,
    Tagger,
)
from palmette.classification.options import LatentSettings
from palmette.data.corpus import column_of_strings
from palmette.datasets import load_demo, load_trees
from palmette.features import parse
from palmette.options import PARSER_LEARNERS, TAGGER_LEARNERS, ChainSettings, Options, Value, declare, option
from palmette.options.learners import CLASSIFIER_LEARNERS, ROW_LEARNERS
from palmette.parsing import TreeSettings

COPYING = {"_settings", "get_params", "set_params"}  # functions that only pass values on
Reads = set[tuple[type, str]]


@contextmanager
def recorded() -> Iterator[Reads]:
    """The options that are read meanwhile, except by code that passes all of them on."""
    found: Reads = set()
    plain, values = Options.__getattribute__, Options._values

    class Values(dict):  # `_values()["nbest"]` reads one option
        owner: type

        def __getitem__(self, name: str) -> Any:
            found.add((self.owner, name))
            return super().__getitem__(name)

        def get(self, name: str, default: Any = None) -> Any:
            found.add((self.owner, name))
            return super().get(name, default)

    def all_values(self: Options) -> dict[str, Any]:
        made = Values(values(self))
        made.owner = type(self)
        return made

    def read(self: Options, name: str) -> Any:
        kind = type(self)
        if name in kind.__options__:
            caller = sys._getframe(1)
            while caller.f_code.co_name.startswith("<") and caller.f_back is not None:  # a comprehension
                caller = caller.f_back
            if caller.f_code.co_filename != declare.__file__ and caller.f_code.co_name not in COPYING:
                found.add((kind, name))
        return plain(self, name)

    Options.__getattribute__ = read  # type: ignore[method-assign]
    Options._values = Value.values = all_values  # type: ignore[method-assign]
    try:
        yield found
    finally:
        del Options.__getattribute__
        Options._values = Value.values = values  # type: ignore[method-assign]


def _tag(**options: Any) -> Any:
    X, y = load_demo("train")
    dev = None if "dev_share" in options else (X[40:50], y[40:50])
    return Tagger(**options).fit(X[:40], y[:40], dev=dev)


def _parse(**options: Any) -> Any:
    return Parser("basic", **options).fit(load_trees("test"), dev=load_trees("test"))


def _classify(**options: Any) -> Any:
    X = [["a", "b", "c"], ["d", "a"], ["b", "b", "d"], ["c", "a"]] * 5
    dev = None if "dev_share" in options else (X[:4], ["x", "y"] * 2)
    return Classifier(**options).fit(X, ["x", "y"] * 10, dev=dev, positive="x")


def _rows(**options: Any) -> Any:
    return LinearClassifier(**options).fit([{"a": 1.0}, {"b": 1.0}] * 8, ["x", "y"] * 8, dev=([{"a": 1.0}], ["x"]))


def _ngrams(**options: Any) -> Any:
    return LanguageModel(**options).fit(["a bb cc a", "bb a cc", "cc a bb d", "d bb", "a bb"])


def _pipeline(**options: Any) -> Any:
    small = load_trees("test")
    small = small.with_entities(column_of_strings(["B-PER"] + ["O"] * (small.n_tokens - 1)))
    return Pipeline(passes=1, folds=2, beam=1, **options).fit(small, small)


class Kind:
    """An estimator, the settings that it makes, and how it is trained with each learner."""

    def __init__(self, made: type, fit: Callable[..., Any], settings: type | None, learners: Any, *more: Any) -> None:
        self.made, self.fit, self.settings, self.learners, self.more = made, fit, settings, learners, more

    def runs(self) -> list[dict[str, Any]]:
        return [{"learner": name} for name in self.learners] + [dict(one) for one in self.more] or [{}]

    def variants(self, options: dict[str, Any]) -> Iterator[type[Options]]:
        """The classes of the learner, search and states of a training."""
        for name, value in options.items():
            if self.made.__options__[name].variants is not None:
                yield type(self.made.__options__[name].variant(value))


KINDS = {
    "tagger": Kind(
        Tagger, _tag, ChainSettings, TAGGER_LEARNERS, {"search": Beam(4)}, {"states": Latent(2)},
        {"states": Latent(2, init="all")}, {"states": LabelHistory()},
        {"shards": 2, "mixing": "updates", "learner": "perceptron"}, {"estimator": "mavg", "mavg_every": 2},
        {"out_of_core": True}, {"dev_share": 0.2}, {"template": parse("U0:%x[0,0]\nB0:%x[0,0]")},
    ),
    "parser": Kind(
        Parser, _parse, TreeSettings, PARSER_LEARNERS, {"search": Beam(4)}, {"variants": 2},
        {"estimator": "mavg", "mavg_every": 2},
    ),
    "classifier": Kind(Classifier, _classify, LatentSettings, CLASSIFIER_LEARNERS, {"dev_share": 0.2}),
    "rows": Kind(LinearClassifier, _rows, None, ROW_LEARNERS),
    "ngrams": Kind(LanguageModel, _ngrams, None, {}),
    "pipeline": Kind(Pipeline, _pipeline, None, {}),
}  # fmt: skip
NEEDED = {"dplvm": {"states": Latent(2)}}


def reads_of(kind: Kind, options: dict[str, Any]) -> Reads:
    """What a training reads."""
    learner = options.get("learner")
    with recorded() as found:
        kind.fit(**options, **NEEDED.get(learner if isinstance(learner, str) else "", {}))
    return found


def unread(kind: Kind) -> tuple[set[str], dict[str, set[str]]]:
    """The options of the estimator that no training reads, and per learner, search and kind of states those of its own
    that no training with it reads."""
    every: set[str] = set()
    own: dict[str, set[str]] = {}
    for options in kind.runs():
        found = reads_of(kind, options)
        every |= {name for owner, name in found if owner in (kind.made, kind.settings)}
        for variant in kind.variants(options):
            left = set(variant.__options__) - {read for owner, read in found if owner is variant}
            own[variant.__name__] = own.get(variant.__name__, left) & left
    return set(kind.made.__options__) - every, {name: left for name, left in own.items() if left}


@pytest.mark.parametrize("name", KINDS)
def test_every_option_is_read_by_a_training(name: str) -> None:
    assert unread(KINDS[name]) == (set(), {})


class Idle(Options):
    idle: int = option(default=1, help="Has no effect.")


def test_an_hmm_passes_its_options_by_name_to_what_refuses_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HMM.__options__, "idle", Idle.__options__["idle"])
    with pytest.raises(TypeError, match="idle"):
        HMM().fit(*load_demo("test"))


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("tagger", {"search": Beam(4)}), ("tagger", {"states": Latent(2)}), ("tagger", {"states": LabelHistory()}),
        ("tagger", {"learner": "mira"}), ("parser", {"search": Beam(4)}),
    ],
)  # fmt: skip
def test_an_option_of_a_variant_that_no_code_reads_is_found(
    name: str, run: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = KINDS[name]
    (variant,) = kind.variants(run)
    monkeypatch.setitem(variant.__options__, "idle", Idle.__options__["idle"])
    monkeypatch.setattr(variant, "idle", 1, raising=False)
    assert unread(Kind(kind.made, kind.fit, kind.settings, {}, run))[1] == {variant.__name__: {"idle"}}


@pytest.mark.parametrize("name", ["tagger", "parser", "classifier", "rows", "pipeline"])
def test_an_option_that_no_code_reads_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = KINDS[name]
    for owner in filter(None, (kind.made, kind.settings)):
        monkeypatch.setitem(owner.__options__, "idle", Idle.__options__["idle"])
        monkeypatch.setattr(owner, "idle", 1, raising=False)
    kind.made(idle=2)  # accepted
    short = Kind(kind.made, kind.fit, kind.settings, dict(list(kind.learners.items())[:2]))
    assert "idle" in unread(short)[0]
