"""The notes of a release: its section of the changelog, with links that work outside of the repository."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

UNRELEASED = "Unreleased"


def version_of(root: Path) -> str:
    """The version of the project."""
    found: str = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return found


def notes(changelog: str, version: str) -> str:
    """The section of what is not released yet, or if there is none, of the version."""
    sections = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]
    by_name = {section.split(maxsplit=1)[0]: section for section in sections}
    name = UNRELEASED if UNRELEASED in by_name else version
    if name not in by_name:
        raise ValueError(f"CHANGELOG.md has no section of version {version}: add '## {version} (date)'")
    heading, _, body = by_name[name].partition("\n")
    title = f"after {version}, unreleased" if name == UNRELEASED else heading
    if not body.strip():
        raise ValueError(f"CHANGELOG.md says nothing about version {version}: list what changes for users")
    return f"# Palmette {title}\n\n{_without_links(body.strip())}\n"


def _without_links(text: str) -> str:
    """Links to files of the repository become their words; addresses stay."""
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", text)
