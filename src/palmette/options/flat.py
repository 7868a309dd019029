"""Settings as the training code of chains reads them: all options side by side."""

from __future__ import annotations

from palmette.options.chain import ChainSettings
from palmette.options.settings import Settings
from palmette.options.states import LabelHistory

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
