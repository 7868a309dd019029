"""Pairs of trainings that differ in one thing, from the study `notes`."""

from __future__ import annotations

from studies.common import Cell
from studies.verdicts.data import cells
from studies.verdicts.rule import Figures, Part, above

TASKS = {"upos": "UPOS", "chunks": "all chunks", "np": "NP", "jnlpba": "JNLPBA", "acronyms": "acronyms"}


def cell_of(pair: str, task: str) -> Cell | None:
    found = cells("notes", pair=pair, task=task)
    return found[0] if found else None


def sides(pair: str, task: str) -> tuple[Figures, Figures, float | None]:
    cell = cell_of(pair, task)
    if cell is None:
        return Figures(f"{pair} ({task})"), Figures(f"{pair} ({task})"), None
    first, second = (
        Figures(name, own, fixed=len(own) == 1) for name, own in zip(cell["names"], cell["scores"], strict=True)
    )
    return first, second, cell["p"]


def pair_above(pair: str, task: str, part: str = "") -> Part:
    first, second, p = sides(pair, task)
    return above(part or TASKS[task], first, second, p=p)
