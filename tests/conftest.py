"""Shared by all tests: where the corpora are, and how many tests used one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

CORPORA = Path(__file__).resolve().parents[2] / "shared" / "data"

# Kernels compile on the first example, which takes longer than any deadline.
settings.register_profile("palmette", deadline=None)
settings.load_profile("palmette")

_ran: list[str] = []


@pytest.fixture
def corpora(request: pytest.FixtureRequest) -> Path:
    """The folder of the corpora; the test is skipped where it is missing."""
    if not CORPORA.is_dir():
        pytest.skip(f"no corpora: looked for {CORPORA}")
    _ran.append(request.node.nodeid)
    return CORPORA


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"corpus tests: {len(_ran)} ran")
