"""Every published claim of five papers with its verdict, from the records of the studies and benchmarks.

`python -m studies findings` writes docs/studies/findings.md, the page for readers, and docs/studies/claims.json, which
has every claim with all comparisons and figures behind it. Nothing is trained: claims and comparisons are in
studies/verdicts/, one module or more per paper, and the rule by which they are judged in studies/verdicts/rule.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from studies.verdicts import inexact, latent, latent_chunks, latent_costs, latent_tasks, notes, probperc, views
from studies.verdicts.rule import Claim, Judged, Outcome, judged

Sections = list[tuple[str, list[Claim]]]
LATENT = (latent, latent_tasks, latent_chunks, latent_costs)


class Paper(NamedTuple):
    """A paper: its short name, its claims, and the letter of their numbers."""

    title: str
    sections: Callable[[], Sections]
    letter: str


PAPERS = (
    Paper("Sun et al. 2009", lambda: [part for own in LATENT for part in own.claims()], "S"),
    Paper("Sun n. d.", probperc.claims, "P"),
    Paper("Clifton et al. 2013", views.claims, "C"),
    Paper("Huang 2013", inexact.claims, "H"),
    Paper("Wu 2013", notes.claims, "W"),
)


class Row(NamedTuple):
    """A judged claim with its number and section."""

    paper: Paper
    number: str
    section: str
    judged: Judged

    def data(self) -> dict[str, Any]:
        """All that there is, as plain data."""
        claim = self.judged.claim
        pooled = {rival: _rounded(answer.p) for rival, answer in self.judged.pooled.items()}
        found: dict[str, Any] = {
            "number": self.number, "paper": self.paper.title, "section": self.section, "claim": claim.claim,
            "published": claim.published, "verdict": self.judged.verdict, "note": claim.note,
            "shortcut": claim.shortcut, "pooled": pooled,
            "comparisons": [_data(outcome) for outcome in self.judged.outcomes],
        }  # fmt: skip
        return {name: value for name, value in found.items() if value not in ("", None, {})}


def _data(outcome: Outcome) -> dict[str, Any]:
    values = outcome._asdict() | {
        "difference": _rounded(outcome.difference), "p": _rounded(outcome.p), "power": _rounded(outcome.power),
    }  # fmt: skip
    return {name: value for name, value in values.items() if value not in ("", None)}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


@cache
def rows() -> dict[str, Row]:
    """All claims by number."""
    found: dict[str, Row] = {}
    for paper in PAPERS:
        claims = [(section, claim) for section, own in paper.sections() for claim in own]
        for k, (section, claim) in enumerate(claims, 1):
            found[f"{paper.letter}{k}"] = Row(paper, f"{paper.letter}{k}", section, judged(claim))
    return found


def as_json() -> str:
    """The appendix: one line per claim."""
    return "[\n" + ",\n".join(json.dumps(row.data(), ensure_ascii=False) for row in rows().values()) + "\n]\n"
