"""What a search tries: options of a tagger by flat name (options/spelling.py), each with its values.

    learner=crf,mira        one of these
    l2=0.1..10              a number between these, evenly on a logarithmic scale if they are far apart
    nbest=1,5               only tried with a learner that has it

Values are read and checked by the declarations of the options. Settings are drawn by a seed, each once, half of them
near the best so far: setting k of a search depends on the seed and on scores alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.labels.schemes import are_chunk_labels
from palmette.errors import UsageError, either
from palmette.options.chain import ChainSettings, TaggerOptions
from palmette.options.declare import Option, OptionError, Value
from palmette.options.learners import MOST_LABELS, MOST_LABELS_IN_PAIRS, PASSES_OF_MIRA, Learner
from palmette.options.spelling import assemble, flat_name, flat_options, full_names, named, variant_options

# What a search sets itself, and why it cannot be tried
OWN = {
    "seed": "one seed is for the whole search",
    "metric": "scores by different metrics cannot be compared",
    "dev_share": "all settings are scored on the same sentences",
    "iterations": "a search gives fewer of them to most settings; set how many a training in full has",
}
TEMPLATES = ("features", "template")  # a model has one of the two
ONE_BY_ONE = ("passes", "batch_size")  # what L-BFGS does not have
STAY = 0.75  # how often a setting near another one keeps what that has
DECADE = 10.0  # from this ratio of its ends on, a range is drawn on a logarithmic scale
DIGITS = 3  # of a number that is drawn: it will be typed
_STALE = 200  # draws in a row without a new setting, after which a finite space is listed instead
_LISTED = 20_000  # settings that a finite space may have to be listed
_RANGE = re.compile(r"(.+?)\.\.(.+)")

Settings = dict[str, Any]
"""Values by flat name."""


class ValueRange(NamedTuple):
    """Numbers from low to high."""

    low: float
    high: float
    whole: bool = False

    def draw(self, rng: np.random.Generator) -> float:
        if self.whole and self.high < self.low * DECADE:
            return int(rng.integers(int(self.low), int(self.high) + 1))
        if self.low > 0 and self.high >= self.low * DECADE:
            drawn = math.exp(rng.uniform(math.log(self.low), math.log(self.high)))
        else:
            drawn = float(rng.uniform(self.low, self.high))
        drawn = min(self.high, max(self.low, float(f"{drawn:.{DIGITS}g}")))
        return round(drawn) if self.whole else drawn


class Dimension(NamedTuple):
    """One thing that differs between settings: one of several values, or a number of a range."""

    name: str
    choices: tuple[Settings, ...] = ()
    range: ValueRange | None = None

    def draw(self, rng: np.random.Generator) -> Settings:
        if self.range is not None:
            return {self.name: self.range.draw(rng)}
        return self.choices[int(rng.integers(len(self.choices)))]

    @property
    def first(self) -> Settings:
        return self.choices[0] if self.range is None else {self.name: self.range.low}


class Space:
    """The settings of a search, around a tagger whose parameters hold for all of them."""

    def __init__(self, tries: Mapping[str, Any], base: TaggerOptions) -> None:
        fixed = fixed_names(base)
        full = full_names(TaggerOptions)
        tries = {full.get(name, name): values for name, values in tries.items()}
        for name in tries:
            _check_free(name, fixed)
        self.base = base._values()
        self.dimensions = _ordered(_dimensions(tries))
        self.rejected = 0  # settings that were drawn and cannot be
        self._kinds: dict[str, list[tuple[Option, str]]] = {}
        for outer, kind, inner in variant_options(TaggerOptions):
            self._kinds.setdefault(flat_name(inner), []).append((outer, kind))

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(name for each in self.dimensions for name in _names(each)))

    def params(self, settings: Settings) -> dict[str, Any]:
        """Constructor parameters of a tagger with these settings. Those of the base that the learner does not have are
        left out: a CRF by L-BFGS has no passes."""
        made = assemble(TaggerOptions, settings, self.base)
        return made | {name: TaggerOptions.__options__[name].default for name in self._unused(made)}

    def left_out(self, settings: Settings) -> list[str]:
        """The options of the base, by flat name, that mean nothing with these settings."""
        unused = self._unused(assemble(TaggerOptions, settings, self.base))
        return [flat_name(TaggerOptions.__options__[name]) for name in unused]

    def _unused(self, params: Mapping[str, Any]) -> list[str]:
        learner = cast(Learner, TaggerOptions.__options__["learner"].variant(params["learner"]))
        if learner == TaggerOptions.__options__["learner"].variant(self.base["learner"]):
            return []  # given together: an error, if they contradict each other
        unused = (*learner.unused, *ONE_BY_ONE) if learner.full_batch else learner.unused
        return [name for name in unused if name in TaggerOptions.__options__]

    def draws(self, seed: int, best: Callable[[], Settings] = dict) -> Iterator[Settings]:
        """Different settings, drawn by a seed, until there are no more; UsageError if none is possible. best: the best
        settings so far, near which every second one is drawn; {} are the first values of all options."""
        problem: UsageError | None = None
        found = False
        for settings in self._different(np.random.default_rng([seed, 5]), best):
            try:
                self._check(settings)
            except UsageError as error:
                self.rejected += 1
                problem = problem or error
            else:
                found = True
                yield settings
        if not found and problem is not None:
            raise problem

    def _different(self, rng: np.random.Generator, best: Callable[[], Settings]) -> Iterator[Settings]:
        seen: set[str] = set()
        near: Settings | None = None

        def new(settings: Settings) -> bool:
            size = len(seen)
            seen.add(repr(settings))
            return len(seen) > size

        stale = 0
        while stale < _STALE:
            settings = next(self._walk({}, self.dimensions, lambda dimension: (_drawn(dimension, rng, near),)))  # noqa: B023
            stale = 0 if new(settings) else stale + 1
            if not stale:
                near = (best() or self._first()) if near is None else None
                yield settings
        if self.size is not None:  # what chance has left out
            rest = [settings for settings in self._all() if new(settings)]
            yield from (rest[k] for k in rng.permutation(len(rest)))

    @property
    def size(self) -> int | None:
        """How many settings there are, those that cannot be included; None if there are many or infinitely many."""
        if any(dimension.range is not None for dimension in self.dimensions):
            return None
        most = math.prod(len(dimension.choices) for dimension in self.dimensions)
        return None if most > _LISTED else sum(1 for _ in self._all())

    def _first(self) -> Settings:
        """The first value of every option."""
        return next(self._walk({}, self.dimensions, lambda dimension: (dimension.first,)))

    def _all(self) -> Iterator[Settings]:
        return self._walk({}, self.dimensions, lambda dimension: dimension.choices)

    def _walk(
        self, chosen: Settings, left: Sequence[Dimension], pick: Callable[[Dimension], Iterable[Settings]]
    ) -> Iterator[Settings]:
        """Settings that choose from one dimension after the other, whatever applies to the choices before it."""
        if not left:
            yield chosen
        elif not self._applies(left[0].name, chosen):
            yield from self._walk(chosen, left[1:], pick)
        else:
            for choice in pick(left[0]):
                yield from self._walk(chosen | choice, left[1:], pick)

    def _applies(self, name: str, chosen: Settings) -> bool:
        """Whether an option means something with those chosen so far: an option of a learner, if it is that one."""
        if name == "order":
            return "template" not in chosen and self.base["template"] is None
        if name in ONE_BY_ONE:
            return name not in self._unused(assemble(TaggerOptions, chosen, self.base))
        if name not in self._kinds or name in TaggerOptions.__options__:
            return True
        for outer, kind in self._kinds[name]:
            value = chosen.get(flat_name(outer))
            if value is None and _selects(outer, kind, name):
                return True
            if outer.variant(value if value is not None else self.base[outer.name]).kind == kind:  # type: ignore[attr-defined]
                return True
        return False

    def _check(self, settings: Settings) -> None:
        """UsageError if a tagger cannot have these settings together."""
        params = self.params(settings)
        ChainSettings(**{name: params[name] for name in ChainSettings.__options__})


def _drawn(dimension: Dimension, rng: np.random.Generator, near: Settings | None) -> Settings:
    """A value of a dimension; mostly the one of the settings that are to be near."""
    kept = {} if near is None else {name: near[name] for name in _names(dimension) if name in near}
    return kept if kept and rng.random() < STAY else dimension.draw(rng)


def fixed_names(base: TaggerOptions) -> list[str]:
    """The options of a tagger that are not as by default, by flat name; those of its learner, search and states too."""
    found = []
    for name, value in base._changed().items():
        option = base.__options__[name]
        found.append(flat_name(option))
        if option.variants is not None:
            inner = option.variant(value)
            found += [flat_name(inner.__options__[changed]) for changed in inner._changed()]
    return found


def _check_free(name: str, fixed: Sequence[str]) -> None:
    if name in OWN:
        raise OptionError(name, f"cannot be tried: {OWN[name]}")
    pair = TEMPLATES if name in TEMPLATES else (name,)
    taken = next((other for other in pair if other in fixed), None)
    if taken is not None:
        option = flat_options(TaggerOptions)[taken][0]
        where = f"{named(option.owner, option.name)} is given too"
        raise UsageError(f"{name} cannot be tried: {where}; leave one of them out")


def _dimensions(tries: Mapping[str, Any]) -> list[Dimension]:
    options = flat_options(TaggerOptions)
    made: list[Dimension] = []
    for name, values in tries.items():
        if name not in options:
            where = either("Tagger", "`palmette train`")
            raise OptionError(name, f"no such option to try: it is none of {where}")
        if options[name][0].repeat:
            raise OptionError(name, "cannot be tried; it holds for all settings")
        made.append(_dimension(name, options[name], values))
    both = [each for each in made if each.name in TEMPLATES]
    if len(both) == 2:  # sets and files are one choice
        one = Dimension(TEMPLATES[0], tuple(choice for each in both for choice in each.choices))
        made = [one, *(each for each in made if each.name not in TEMPLATES)]
    return made


def _dimension(name: str, options: Sequence[Option], given: Any) -> Dimension:
    texts: list[Any] = given.split(",") if isinstance(given, str) else list(given)
    if isinstance(given, str):
        ends = _RANGE.fullmatch(given.strip())
        if ends is not None and _is_number(options[0]):
            return Dimension(name, range=_range(name, options, *ends.groups()))
    if not texts:
        raise OptionError(name, "no value to try")
    values = [_value(options, text.strip() if isinstance(text, str) else text) for text in texts]
    for k, value in enumerate(values):
        if value in values[:k]:
            raise OptionError(name, f"{value!r} is there twice")
    return Dimension(name, tuple({name: value} for value in values))


def _value(options: Sequence[Option], given: Any) -> Any:
    """A value to try, checked by the first option of this name that takes it: learners may share a name."""
    first = options[0]
    problem: OptionError | None = None
    for option in options:
        try:
            value = _read(option, given) if isinstance(given, str) else given
            checked = option.checked(value)
            if isinstance(value, Value):
                raise OptionError(first.name, f"{value!r}: try its name, and its options by their own names")
            return value if option.variants is not None else checked
        except OptionError as error:
            problem = problem or error
    assert problem is not None
    raise problem


def _read(option: Option, text: str) -> Any:
    if not option.is_switch:
        return option.from_text(text)
    if text.lower() not in ("true", "false"):
        raise OptionError(option.name, f"{text!r} is not true or false", option.flag_name)
    return text.lower() == "true"


def _range(name: str, options: Sequence[Option], low: str, high: str) -> ValueRange:
    ends = [_value(options, text.strip()) for text in (low, high)]
    if not all(isinstance(end, int | float) for end in ends) or not ends[0] < ends[1]:
        raise OptionError(name, f"{low}..{high} is not a range from a smaller to a larger number")
    return ValueRange(
        ends[0], ends[1], whole=all(isinstance(end, int) for end in ends) and float not in options[0].kinds()
    )


def _is_number(option: Option) -> bool:
    return not option.is_switch and any(kind in option.kinds() for kind in (int, float))


def _selects(outer: Option, kind: str, name: str) -> bool:
    assert outer.variants is not None
    inner = outer.variants[kind].__options__.values()
    return any(flat_name(each) == name and each.selects for each in inner)


def _names(dimension: Dimension) -> Iterator[str]:
    yield dimension.name
    for choice in dimension.choices:
        yield from choice


def _ordered(dimensions: Sequence[Dimension]) -> list[Dimension]:
    """Learners, searches and states before their options, templates before the order."""
    own = TaggerOptions.__options__

    def place(dimension: Dimension) -> int:
        if dimension.name in own and own[dimension.name].variants is not None:
            return 0
        return 1 if dimension.name in TEMPLATES else 2

    return sorted(dimensions, key=place)


# What a search tries by default: by the labels, the columns and the size of the data.

MOST_TRIPLES = 60  # labels from which on order 2 and sums over all paths take long
LARGE = 100_000  # tokens from which on rare attributes can be left out


def default_space(corpus: Corpus, base: TaggerOptions) -> dict[str, Any]:
    """The options to try on a labelled corpus and their values, those of the default first, but for those that the
    tagger has already."""
    assert corpus.labels is not None
    n_labels = len(corpus.labels.types)
    learners = ["mira", "arow"] if n_labels <= MOST_LABELS else []
    learners += ["perceptron", "crf"] if n_labels <= MOST_TRIPLES else ["perceptron"]
    found: dict[str, Any] = {"learner": learners}
    if corpus.attributes is None:
        found["features"] = _features(corpus)
    found |= {
        "order": [2, 1] if n_labels <= MOST_LABELS_IN_PAIRS else [1, 2] if n_labels <= MOST_TRIPLES else [1, 0],
        "min_count": [1, 2, 3] if corpus.n_tokens < LARGE else [1, 2, 3, 5],
        "learner_nbest": [5, 3, 10],
        "aggressiveness": [0.1, 0.03, 0.3],
        "optimiser": ["adagrad"],  # after a third of its passes it is as far as others; L-BFGS is not
        "l2": [0.3, 0.1, 1.0, 3.0],
        "batch_size": [1, 4],
        "passes": [PASSES_OF_MIRA, 2 * PASSES_OF_MIRA],
    }
    fixed = set(fixed_names(base))
    if fixed & set(TEMPLATES):
        fixed |= set(TEMPLATES)
    return {name: values for name, values in found.items() if name not in fixed}


def _features(corpus: Corpus) -> list[str]:
    """Named sets that may suit the labels: as `palmette train` would choose, and the nearest others."""
    assert corpus.labels is not None
    tagged = len(corpus.columns) > 1
    if are_chunk_labels(corpus.labels.types):
        found = ["chunk", "ner"] if tagged else ["ner", "pos"]
    else:
        found = ["pos", "ner", "chunk"] if tagged else ["pos", "ner"]
    words = corpus.columns[0]
    if np.mean([len(words.types[k]) == 1 for k in words.ids[:1000]]) > 0.5:
        found.append("char")
    return found
