"""Models that are installed, by name: `palmette.load("en")`.

A model is a folder with MODEL and CARD. The package has some; others come with packages that name theirs by an entry
point of the group `palmette_models`, such as `de = palmette_model_de`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from palmette.data.files import FilePath
from palmette.errors import ModelError, UsageError
from palmette.lazy import loaded

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

MODEL, CARD = "model.palm", "card.json"
GROUP = "palmette_models"
SHIPPED = Path(__file__).parent


class InstalledModel(NamedTuple):
    """A model with its card."""

    name: str
    folder: Path

    @property
    def path(self) -> str:
        """The model file."""
        return str(self.folder / MODEL)

    @property
    def card(self) -> dict[str, Any]:
        """What is known of it; see `card.py`."""
        try:
            found: dict[str, Any] = json.loads((self.folder / CARD).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ModelError(f"the card of the model {self.name!r} cannot be read: {error}") from None
        return found


def installed() -> dict[str, InstalledModel]:
    """The models by name, those of the package itself first."""
    from importlib.metadata import entry_points

    found = {path.parent.name: path.parent for path in sorted(SHIPPED.glob(f"*/{MODEL}"))}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        found.setdefault(entry.name, _folder(entry))
    return {name: InstalledModel(name, folder) for name, folder in found.items()}


def _folder(entry: EntryPoint) -> Path:
    """The folder of a package with a model; no code of it runs, so that it may be broken."""
    from importlib.util import find_spec

    spec = find_spec(entry.value)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) if places else Path(entry.value)


def path_of(name: FilePath) -> FilePath:
    """The model file that an installed model of this name has; the name itself if it is a file, or no such model."""
    if not isinstance(name, str) or os.path.exists(name) or os.path.basename(name) != name or "." in name:
        return name
    if (SHIPPED / name / MODEL).exists():  # first, and without a look at all packages
        return str(SHIPPED / name / MODEL)
    found = installed().get(name)
    return name if found is None else found.path


def load(name_or_path: FilePath, *, copy: bool = False) -> Any:
    """An installed model ("en") or that of a file, of whatever kind: a `Pipeline`, `Tagger`, `Parser`, `Classifier`,
    `LinearClassifier` or `LanguageModel`. `copy` reads it into memory instead of mapping it."""
    path = path_of(name_or_path)
    if path == name_or_path and not os.path.exists(path):
        names = ", ".join(installed()) or "none"
        raise UsageError(
            f"{os.fspath(name_or_path)!r} is neither a file nor an installed model; installed models: {names}"
        )
    from palmette.data.model_file import peek_kind

    made = peek_kind(path).loads
    found = made.load(path, copy=True) if copy else made.load(path)
    meta = getattr(getattr(found, "model_", None), "meta", None)
    if not isinstance(meta, dict) or meta.get("rows") is None:
        return found
    return loaded("classification.linear_classifier:LinearClassifier").load(path, copy=copy)
