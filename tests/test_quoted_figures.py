"""Figures that pages quote from studies and benchmarks are those of the records: no two pages contradict each other.

A quotation is a piece of a page with the figures filled in from the record. Whoever makes a record again learns here
which sentences of which page have to follow.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import english, raw_text, udpipe_page

ROOT = Path(__file__).resolve().parents[1]


def cells(study: str, **what: Any) -> list[dict[str, Any]]:
    found = json.loads((ROOT / "docs" / "studies" / f"{study}.json").read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if what.items() <= cell.items()]


def bench(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "bench" / "results" / f"{name}.json").read_text(encoding="utf-8"))["result"]


def mean(values: list[float]) -> str:
    return f"{statistics.mean(values):.2f}"


# --- what is quoted -----------------------------------------------------------------------------------------


def tagging_beams() -> list[str]:
    own: dict[str, Any] = {"task": "tagging", "weights": "avg"}
    best = [
        mean([max(c["dev"]) for c in cells("inexact", beam=beam, recombine=recombine, update=update, **own)])
        for update, beam, recombine in (("max-violation", 2, True), ("max-violation", 2, False), ("exact", 0, False))
    ]
    return [f"{best[0]} on XPOS; {best[1]} without recombination, {best[2]} exact"]


def parser_figures(digits: int = 2) -> tuple[str, str]:
    laso = cells("parsing", stage="main", update="laso")
    uas, las = (statistics.mean(c[name] for c in laso) for name in ("test_uas", "test_las"))
    return f"{uas:.{digits}f}", f"{las:.{digits}f}"


def parsing() -> list[str]:
    uas, las = parser_figures()
    (own,) = cells("parsing", stage="predicted")
    tagged = f"{own['test_uas']:.2f} and {own['test_las']:.2f}"
    return [f"reach UAS {uas} and LAS {las} on test, with tags of our own tagger {tagged}"]


def quality() -> list[str]:
    uas, las = parser_figures(1)
    upos, xpos = (mean([100 * value for value in bench("ewt")[tags]["accuracy"]]) for tags in ("upos", "xpos"))
    return [
        f"UAS {uas}, LAS {las} on test",
        f"all chunks, the 19 CRF++ templates | F1 {mean([100 * f for f in bench('chunking')['f1']])} |",
        f"observations on pairs and triples, 12 passes | F1 {mean([100 * f for f in bench('np')['order 2']['f1']])} |",
        f"accuracy {upos} / {xpos} |",
        f"five entity types, `--features ner` | F1 {mean([100 * f for f in bench('jnlpba')['f1']])} |",
    ]


def sequence_limits() -> list[str]:
    eight, twenty = (
        statistics.mean(c["sequences_right"] for c in cells("synthetic", stage="sequence limit", length=length))
        for length in (8, 20)
    )
    return [f"at P = 0.9 it is {eight:.0f}% at length 8 and {twenty:.0f}% at length 20"]


def doses() -> list[str]:
    half = 1e-9  # 91.15 is 91.2 on the page
    return [
        f"| {order} | {own['perplexity']:.0f} | {100 * own['words']:.1f} | {100 * own['brown'] + half:.1f} | "
        for order, own in bench("dial")["orders"].items()
    ]


def views() -> list[str]:
    rows = bench("classify")["rows"]
    by_part = {c["method"]: c["reviews"] for c in cells("grammaticality", stage="test", kind="part", start="zero")}
    gains = [by_part[m] - by_part["n-grams"] for m in ("online", "cotrain", "add, 4 types")]
    return [
        *(f"| {name} | {own['seconds']:.1f} | " for name, own in rows.items()),
        f"one view gains {gains[0]:.1f} points, co-training {gains[1]:.1f}, "
        f"and five views with four types {gains[2]:.1f}",
    ]


def acronyms() -> list[str]:
    (own,) = cells("notes", task="acronyms")
    run, plain = (f"{scores[0]:.1f}" for scores in own["scores"])
    return [f"| `run:O:4` | 98.7 | {run} |", f"| order 1 | 98.5 | {plain} |"]


def functions() -> list[str]:
    both = [
        statistics.mean(cells("probperc", stage="test", task="jnlpba", method=f"probPerc, n = 5{more}")[0]["scores"])
        for more in (", linear", "")
    ]
    return [f"linear is above softmax, on JNLPBA by {both[0] - both[1]:.1f}"]


def probabilistic(study: str, row: str) -> Callable[[], list[str]]:
    """CRF and DPLVM have their figures in one study, and others quote them."""
    names = {
        "np_latent": ("np", ("DPLVM, L-BFGS", "DPLVM, SGD", "CRF, L-BFGS")),
        "bio_latent": ("bio15", ("CRF, L-BFGS",)),
    }
    data, methods = names[study]
    return lambda: [
        row.format(method) + mean([c["score"] for c in cells("likelihood", stage="test", data=data, method=method)])
        for method in methods
    ]


def pipelines() -> list[str]:
    return [udpipe_page.page(bench("udpipe"))]


def english_pipeline() -> list[str]:
    return [udpipe_page.sentence(bench("udpipe"))]


def english_model() -> list[str]:
    return [english.table(bench("english"))]


def from_raw_text() -> list[str]:
    return [raw_text.table(bench("raw"))]


QUOTED: dict[str, tuple[str, Callable[[], list[str]]]] = {
    "beams in tagging": ("docs/beam.md", tagging_beams),
    "parser": ("docs/parsing.md", parsing),
    "quality": ("docs/benchmarks.md", quality),
    "sequence limit": ("docs/synth.md", sequence_limits),
    "doses": ("docs/benchmarks.md", doses),
    "views": ("docs/benchmarks.md", views),
    "acronyms": ("docs/history.md", acronyms),
    "probability functions": ("docs/learners.md", functions),
    "pipelines": ("docs/pipeline.md", pipelines),
    "English model": ("docs/ready_models.md", english_model),
    "raw text": ("docs/raw_text.md", from_raw_text),
    "pipeline of EWT": ("docs/benchmarks.md", english_pipeline),
    "NP, probabilistic": ("docs/studies/np_latent.md", probabilistic("np_latent", "| {} | ")),
    "entities, probabilistic": ("docs/studies/bio_latent.md", probabilistic("bio_latent", "order 1: {} | ")),
}


@pytest.mark.parametrize("name", QUOTED)
def test_a_page_quotes_the_record(name: str) -> None:
    page, expected = QUOTED[name]
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    quotations = [" ".join(quotation.split()) for quotation in expected()]
    assert quotations
    for quotation in quotations:
        assert quotation in text, f"{page} should have: {quotation}"


# --- one method, one setting, one figure --------------------------------------------------------------------


def test_pages_name_papers_not_documents() -> None:
    """Papers by author and year."""
    for page in (ROOT / "docs" / "studies").glob("*.md"):
        found = re.findall(r"[Tt]he document(?:'s)?\b", page.read_text(encoding="utf-8"))
        assert not found, f"{page.name}: {found}"
