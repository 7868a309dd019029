"""Settings as the training code of chains reads them: all options side by side."""

from __future__ import annotations

from palmette.options.chain import ChainSettings
from palmette.options.classifier_settings import Settings as ClassifierSettings
from palmette.options.latent import LatentSettings
from palmette.options.parser_settings import ParserSettings
from palmette.options.settings import Settings
from palmette.options.states import LabelHistory
from palmette.options.tree import MAVG_EVERY, TreeSettings

_RENAMED = {
    "nbest": "candidates",
    "tied_update": "share",
    "states": "latent",
    "width": "beam",
    "memory": "label_history",
}


def flat_chain_settings(settings: ChainSettings) -> Settings:
    found = {name: value for name, value in settings.values().items() if name not in ("learner", "search", "states")}
    found |= {"learner": settings.chosen_learner.kind, "search": settings.search.kind}  # type: ignore[union-attr]
    for part in (settings.learner, settings.search, settings.states):
        found |= {_RENAMED.get(name, name): value for name, value in part.values().items()}  # type: ignore[union-attr]
    if isinstance(settings.states, LabelHistory) and callable(settings.states.memory):
        found["label_history"] = "custom"
    return Settings(**found)


def flat_tree_settings(settings: TreeSettings) -> ParserSettings:
    found = {name: value for name, value in settings.values().items() if name not in ("learner", "search")}
    found |= {"learner": settings.chosen_learner.kind, "mavg_every": settings.mavg_every or MAVG_EVERY}
    for part in (settings.chosen_learner, settings.beam):
        found |= {_RENAMED.get(name, name): value for name, value in part.values().items()}
    known = ParserSettings.__struct_fields__
    return ParserSettings(**{name: value for name, value in found.items() if name in known})


def flat_latent_settings(settings: LatentSettings) -> ClassifierSettings:
    found = settings.values() | settings.chosen_learner.values()
    found |= {"learner": settings.chosen_learner.kind, "passes": settings.n_passes()}
    known = ClassifierSettings.__struct_fields__
    return ClassifierSettings(**{name: value for name, value in found.items() if name in known})
