"""Published methods as settings: `palmette train --as sun2009`, `Tagger.preset("sun2009")`.

Each setting stands beside the place in its source, under the flat name that the command line uses. What a source leaves
to the data (features, order, passes) stays the user's choice and is named in `open`; what differs from the source in
spite of the preset is named in `differs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from palmette.errors import UsageError
from palmette.options.declare import Options, option
from palmette.options.spelling import as_flags, assemble

SUN2009 = "Sun et al. 2009"
PROBPERC = "Sun n. d."
COLLINS2002 = "Collins 2002, as in Huang 2013"
HUANG2012 = "Huang et al. 2012, as in Huang 2013"
CLIFTON2013 = "Clifton et al. 2013"
Settings = dict[str, tuple[Any, str]]  # flat name -> value, place in the source


class Preset(NamedTuple):
    """The settings of a published method."""

    about: str
    source: str
    settings: Settings
    open: str = ""
    differs: str = ""

    def values(self) -> dict[str, Any]:
        """The settings by flat name."""
        return {name: value for name, (value, _) in self.settings.items()}

    def flags(self, owner: type[Options]) -> str:
        """The words that give the same settings on the command line."""
        return " ".join(as_flags(owner, self.values()))


_ORDER = "Palmette visits the sentences in random order."
_BOTH_PATHS: Settings = {
    "constraints": ("none", "equation 8: the maximum is over all latent sequences"),
    "ends": (False, "section 3: features are local state and edge features"),
}
_LATENT: Settings = {
    "latent": (5, "section 5.2: 5 latent variables per label (Bio-NER: 4, section 5.1; synthetic data: 2, section 4)"),
    "latent_init": ("all", "figure 1: parameters are initialised at random"),
}
_GAUSSIAN: Settings = {"l2": (0.5, "section 5: Gaussian prior with variance 1, that is w²/2")}
_LATENT_OPEN = "features, order and the number of passes, which the paper chooses on development data"
_PERCEPTRON: Settings = {
    "learner": ("perceptron", "update at each mistake by the difference of two feature vectors"),
    "estimator": ("avg", "averaged perceptron, Daumé's two vectors"),
    "batch_size": (1, "one example at a time"),
}
_UNCONSTRAINED: Settings = {"constraints": ("none", "the search is over all label sequences")}
_N_BEST: Settings = {
    "learner": ("probperc", "algorithm 1"),
    "probability_function": ("softmax", "equation 1"),
    "update_when": ("always", "algorithm 1: no test for a mistake"),
    "batch_size": (1, "algorithm 1, line 3: one sample at a time"),
    "constraints": ("none", "algorithm 1, line 4: the best of all outputs"),
}


def _inexact(update: str, figure: str) -> Preset:
    """A tagger with a beam."""
    return Preset(
        f"perceptron with a beam and {update} updates", HUANG2012,
        {
            **_PERCEPTRON, **_UNCONSTRAINED,
            "beam": (2, "trigram tagging: no real difference beyond a beam of 2"),
            "update": (update, figure),
            "recombine": (True, "dynamic programming: equal histories are one state"),
        },
        open="features, passes and the width of the beam", differs=_ORDER,
    )  # fmt: skip


def _inexact_parser(update: str, figure: str) -> Preset:
    """An incremental parser with merged states."""
    return Preset(
        f"incremental parser with merged states and {update} updates", HUANG2012,
        {
            **_PERCEPTRON,
            "beam": (8, "incremental dependency parsing: a beam of 8"),
            "update": (update, figure),
            "merge_states": (True, "parser of Huang and Sagae (2010): dynamic programming"),
            "features": ("basic", "parser of Huang and Sagae (2010): templates on the stack and the queue"),
        },
        open="passes", differs=f"The published parser predicts heads without relations. {_ORDER}",
    )  # fmt: skip


UPDATES = {
    "standard": "the whole output, whether or not it is a violation",
    "early": "early update (Collins and Roark 2004)",
    "max-violation": "max-violation update",
}
TAGGER_PRESETS: dict[str, Preset] = {
    "sun2009": Preset(
        "latent perceptron", SUN2009,
        {
            "learner": ("perceptron", "figure 1, lower algorithm"), **_LATENT,
            "tied_update": (0.0, "equation 8: only the features of the two paths change"),
            "estimator": ("mavg", "section 3.1: restart from the average in every k-th pass"),
            "batch_size": (1, "figure 1: each sentence in turn"), **_BOTH_PATHS,
        },
        open=f"{_LATENT_OPEN}; k of mavg (2 to 8, on development data)",
        differs=f"The size of the random start is not printed (ours: 0.01). {_ORDER}",
    ),
    "sun2009-dplvm": Preset(
        "latent CRF trained by L-BFGS", SUN2009,
        {
            "learner": ("dplvm", "equations 1 to 4"), **_LATENT, **_GAUSSIAN,
            "optimiser": ("lbfgs", "section 5"), "iterations": (300, "tables 2 and 4"), **_BOTH_PATHS,
        },
        open=_LATENT_OPEN,
    ),
    "sun2009-dplvm-sgd": Preset(
        "latent CRF trained by SGD", SUN2009,
        {
            "learner": ("dplvm", "equations 1 to 4"), **_LATENT, **_GAUSSIAN,
            "optimiser": ("sgd", "section 5: stochastic gradient descent"),
            "batch_size": (1, "section 5: stochastic gradient descent"), **_BOTH_PATHS,
        },
        open=f"{_LATENT_OPEN}; the rates of the steps, which are not printed",
    ),
    "sun2009-crf": Preset(
        "CRF trained by L-BFGS", SUN2009,
        {
            "learner": ("crf", "tables 2 and 4: CRF-BFGS"), **_GAUSSIAN,
            "optimiser": ("lbfgs", "section 5"), "iterations": (300, "tables 2 and 4: 200 to 300"), **_BOTH_PATHS,
        },
        open="features and order",
    ),
    "sun-probperc": Preset(
        "probabilistic perceptron (probPerc)", PROBPERC,
        {
            **_N_BEST,
            "add_gold": (True, "algorithm 1, line 5"),
            "rate_schedule": ("falling", "section 2.1: γ₀ / (1 + t/|S|)"),
            "estimator": ("avg", "algorithm 1, line 12: averaged weights"),
        },
        open="features, passes, n and γ₀, which are not printed in our copy (ours: 5 and 0.1)",
    ),
    "sapo": Preset(
        "probPerc without the gold sequence in the list", "Sun's later program",
        {
            **{name: (value, "as probPerc") for name, (value, _) in _N_BEST.items()},
            "add_gold": (False, "the list is that of the search"),
            "rate": (0.02, "initial rate"),
        },
        open="features, passes and n",
        differs="Palmette has no geometric rate (there 0.9 per pass), no cut of the list at a probability ratio, no "
        "shrinking of the weights and no training on pieces of sentences.",
    ),
    "collins2002": Preset(
        "averaged structured perceptron", COLLINS2002, {**_PERCEPTRON, **_UNCONSTRAINED},
        open="features, order, cut-off and passes; last weights are the variant without averaging",
        differs=_ORDER,
    ),
    **{f"huang2012-{update}": _inexact(update, place) for update, place in UPDATES.items()},
}  # fmt: skip
PARSER_PRESETS = {f"huang2012-{update}": _inexact_parser(update, place) for update, place in UPDATES.items()}

_CLIFTON: Settings = {
    "types": (11, "section 4.1: the 23 tags of CoNLL-2000, B and I of 11 types and O"),
    "features": ("ngrams", "section 3.4: 1-, 2- and 3-grams of words and parts of speech"),
    "pairs": (True, "section 3.4: bigrams of chunk tags"),
    "normalise": (False, "section 3.4: features are counts"),
    "estimator": ("last", "algorithm 1, line 12: the last weights"),
    "passes": (40, "table 2: after 40 outer iterations"),
}
_ONLINE: Settings = {
    "learner": ("pa", "algorithm 1"),
    "pa_type": ("PA", "algorithm 1, line 8: the step has no limit"),
    "negative_cap": (10_000, "algorithm 1, line 11: until the sentence is labelled negative"),
    "batch_size": (1, "algorithm 1, line 3: each example in turn"),
    **_CLIFTON,
}
_ONE_VIEW: Settings = {"views": ("iob2", "section 4.1: the representation of CoNLL-2000")}


def _views(combine: str, method: str) -> Preset:
    return Preset(
        f"online learner with five views, {method}", CLIFTON2013,
        {**_ONLINE, "views": ("all", "table 1"), "combine": (combine, f"section {_SECTIONS[combine]}")},
        open="the start, at zero or from a chunker", differs=_CLIFTON_DIFFERS,
    )  # fmt: skip


_SECTIONS = {"add": "3.4.1", "vote": "3.4.2, algorithm 3", "cotrain": "3.4.3, algorithm 4"}
_CLIFTON_DIFFERS = (
    "Tags end in the type of the chunk; section 3.4 says the token's part of speech. A negative sentence is decoded at "
    "most 10,000 times."
)
CLASSIFIER_PRESETS: dict[str, Preset] = {
    "clifton2013": Preset(
        "online learner with one view", CLIFTON2013, {**_ONLINE, **_ONE_VIEW},
        open="the start, at zero or from a chunker", differs=_CLIFTON_DIFFERS,
    ),
    "clifton2013-add": _views("add", "added"),
    "clifton2013-vote": _views("vote", "majority vote"),
    "clifton2013-cotrain": _views("cotrain", "co-training"),
    "clifton2013-lclr": Preset(
        "LCLR (Chang et al. 2010)", CLIFTON2013,
        {"learner": ("lclr", "section 4.2"), "pa_type": ("PA", "section 4.2: trained by PA"), **_CLIFTON, **_ONE_VIEW},
        open="the start, at zero or from a chunker, and the limits of the inner loops",
    ),
    "clifton2013-lclr-variant": Preset(
        "LCLR without inference in the inner loop", CLIFTON2013,
        {
            "learner": ("lclr-variant", "section 4.2, algorithm 5"), "pa_type": ("PA", "algorithm 5, line 10"),
            **_CLIFTON, **_ONE_VIEW,
        },
        open="the start, at zero or from a chunker, and the limit of the inner loop",
    ),
}  # fmt: skip
# By the name of the estimator
PRESETS = {"Tagger": TAGGER_PRESETS, "Parser": PARSER_PRESETS, "Classifier": CLASSIFIER_PRESETS}


def parameters(owner: type[Options], preset: Preset, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Constructor parameters of an estimator, with changes by flat name."""
    return assemble(owner, changes or {}, assemble(owner, preset.values()))


def preset_of(estimator: type[Options], name: str) -> Preset:
    """The preset of an estimator; UsageError if it does not exist."""
    table = next((PRESETS[base.__name__] for base in estimator.__mro__ if base.__name__ in PRESETS), {})
    if not table:
        raise UsageError(f"{estimator.__name__} has no presets; {', '.join(PRESETS)} have some")
    if name not in table:
        raise UsageError(f"there is no preset {name!r} of {estimator.__name__}; choose one of {', '.join(table)}")
    return table[name]


def preset_option(presets: Mapping[str, Preset]) -> Any:
    """The option --as of a command that trains; its help has a clause per preset, with the method and its source."""
    return option(
        default=None, flag="as", metavar="NAME", group="model",
        choices={name: f"{preset.about} ({preset.source})" for name, preset in presets.items()},
        help="Train as published: a name for the settings of a method, which are printed and further flags change.",
    )  # fmt: skip
