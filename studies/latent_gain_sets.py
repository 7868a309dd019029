"""Features, settings and choices of the study of hidden states (studies/latent_gain.py)."""

from __future__ import annotations

from typing import Any, NamedTuple

from bench.measure import TEMPLATES
from studies.common import HERE, Cell, Record

NAME = "latent_gain"
SEEDS = (1, 2, 3, 4, 5)
Settings = dict[str, Any]
MAVG = {"estimator": "mavg", "mavg_every": 4}
BASE: Settings = MAVG | {"share": 1.0}


class FeatureSet(NamedTuple):
    """A task with a set of features: data, template, attributes seen less often than `cut` are left out."""

    title: str
    task: str  # np or bio
    template: str
    passes: int
    cut: int = 1
    published: int = 5  # states per label in the publication


NP17 = "".join(line for line in (TEMPLATES / "np2.txt").read_text(encoding="utf-8").splitlines(True)
               if line[:2] in ("*0", "*1"))  # fmt: skip
BIO = (HERE / "templates" / "bio.txt").read_text(encoding="utf-8")
SETS = {
    "np tag": FeatureSet("NP, the part of speech", "np", "U0:%x[0,1]\nB\n", 30),
    "np token": FeatureSet("NP, word and part of speech", "np", "U0:%x[0,0]\nU1:%x[0,1]\nB\n", 15),
    "np words": FeatureSet("NP, words at -1, 0, 1", "np", "U0:%x[-1,0]\nU1:%x[0,0]\nU2:%x[1,0]\nB\n", 15),
    "np 17 U": FeatureSet("NP, the 17 contexts on states", "np", NP17.replace("*", "U") + "B\n", 12),
    "np 17 order 2": FeatureSet("NP, the 17 contexts on states, pairs and triples", "np", NP17 + "B\nT\n", 30),
    "bio token": FeatureSet("Bio-NER, word, part of speech and shape", "bio",
                            "U0:%x[0,0]\nU1:%x[0,1]\nU2:%x[0,0,short_shape]\nB\n", 15, 2, 4),
    "bio ner": FeatureSet("Bio-NER, `--features ner`", "bio", "ner", 15, 1, 4),
    "bio 28 U": FeatureSet("Bio-NER, the 28 contexts on states", "bio", BIO.replace("*", "U"), 15, 2, 4),
    "bio 28 pairs": FeatureSet("Bio-NER, the 28 contexts on states and pairs", "bio", BIO, 20, 15, 4),
}  # fmt: skip


def plain_settings() -> list[Settings]:
    return [{"estimator": "avg"}, MAVG, {"estimator": "mavg", "mavg_every": 8}]


def published(states: int) -> tuple[int, Settings]:
    """Random start of all weights within [-1, 1], no tied updates, mavg."""
    return states, MAVG | {"share": 0.0, "init": "all", "init_size": 1.0}


def latent_settings(published_states: int) -> list[tuple[int, Settings]]:
    """Two states with tied updates and mavg every 4 passes, and one factor changed at a time."""
    changes: list[Settings] = [
        {}, {"share": 3.0}, {"share": 0.0}, {"estimator": "avg", "mavg_every": None}, {"mavg_every": 8},
        {"split_after": 5}, {"init": "all", "init_size": 1.0}, {"constraints": "none"}, {"mavg_every": 2},
        {"init": "all"}, {"init": "all", "init_size": 0.1}, {"init_size": 0.1},
    ]  # fmt: skip
    found = [(2, {k: v for k, v in (BASE | change).items() if v is not None}) for change in changes]
    return [*found[:5], published(published_states), (3, BASE), (4, BASE), *found[5:]]


def best_plain(record: Record, name: str) -> Cell:
    cells = [c for c in record.some(stage="one", features=name, states=1) if "constraints" not in c["settings"]]
    return max(cells, key=lambda c: (c["best"], -c["passes"]))


def best_latent(record: Record, name: str) -> list[Cell]:
    """The three best settings of stage one, best first, and the published one. Settings that change the tag
    constraints are left out: the plain model has them."""
    cells = [c for c in record.some(stage="one", features=name) if c["states"] > 1]
    cells = [c for c in cells if "constraints" not in c["settings"]]
    ranked = sorted(cells, key=lambda c: (-c["best"], c["passes"]))
    states, settings = published(SETS[name].published)
    theirs = [c for c in cells if c["states"] == states and c["settings"] == settings]
    return [*ranked[:3], *(c for c in theirs if c not in ranked[:3])]
