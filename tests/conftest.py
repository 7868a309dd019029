"""Shared by all tests: where the corpora are, how many tests used one, and which tests need heavy packages."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would the programs that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]
CORPORA = ROOT.parent / "shared" / "data"
sys.path.append(str(ROOT))  # the benchmarks, which are not part of the package, have tests too

# Kernels compile on the first example, which takes longer than any deadline. On a build server the examples are the
# same in every run; everywhere else they are new ones.
settings.register_profile("palmette", deadline=None, derandomize="CI" in os.environ, max_examples=60)
settings.load_profile("palmette")


@pytest.fixture(autouse=True)
def messages() -> Iterator[None]:
    """The command line takes over the messages of the library: give them back after each test."""
    yield
    logger = logging.getLogger("palmette")
    logger.handlers, logger.propagate = [], True
    logger.setLevel(logging.NOTSET)
    posteriors = sys.modules.get("palmette.structures.chain.posteriors")
    if posteriors is not None:
        posteriors.told.clear()  # what is told once per process is told once per test


@pytest.fixture
def corpora(request: pytest.FixtureRequest) -> Path:
    """The folder of the corpora; the test is skipped where it is missing."""
    if not CORPORA.is_dir():
        pytest.skip(f"no corpora: looked for {CORPORA}")
    request.node.user_properties.append(("corpus", True))  # comes back from a worker process with the report
    return CORPORA


class _Kept(logging.Handler):
    """Appends messages to a list."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__()
        self.messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """The messages that the library logs during the test."""
    messages: list[str] = []
    logger, handler = logging.getLogger("palmette"), _Kept(messages)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield messages
    logger.removeHandler(handler)
    logger.setLevel(level)


HEAVY = {"driver": "ray", "browser": "playwright", "hub": "datasets"}  # fixtures and the packages that they need
LONGEST = ("test_the_core_with_every_index_checked",)  # these begin first, so that no process waits for them at the end


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: getattr(item, "originalname", item.name) not in LONGEST)
    for item in items:
        for fixture in HEAVY.keys() & getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.heavy(HEAVY[fixture]))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    needed = {name for mark in item.iter_markers("heavy") for name in mark.args}
    if missing := sorted(name for name in needed if importlib.util.find_spec(name) is None):
        pytest.skip(f"needs {', '.join(missing)}: pip install '.[test-heavy]'")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    called = [report for report in reports if getattr(report, "when", None) == "call"]
    ran = sum(any(name == "corpus" for name, _ in report.user_properties) for report in called)
    terminalreporter.write_line(f"corpus tests: {ran} ran")
    ran = sum("heavy" in report.keywords for report in called)
    lacking = sum("[test-heavy]" in str(report.longrepr) for report in terminalreporter.getreports("skipped"))
    hint = ": pip install '.[test-heavy]'" if lacking else ""
    terminalreporter.write_line(f"heavy tests: {ran} ran, {lacking} skipped for want of packages{hint}")
