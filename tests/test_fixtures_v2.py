"""Model files of version 2 load and give what the release that made them gave."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stored_models import FILES, FOLDER, unpacked

from palmette import Classifier, LanguageModel, Parser, Tagger
from palmette.data import peek_task

TAGGED: dict[str, dict[str, Any]] = {
    "chain_order1": {"scores": True}, "latent": {"states": True}, "label_history": {"states": True},
    "crf": {"marginals": True}, "maxent": {"marginals": True}, "dplvm": {"decode": "marginal"},
    "calibrated": {"confidence": True},
}  # fmt: skip
NBEST = {"chain_order2": 2, "parser_merge": 2}
_NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+")


def tagged(name: str, model: Path, source: Path, target: Path) -> None:
    tagger = Tagger.load(model)
    if name in NBEST:
        tagger.nbest_file(source, target, NBEST[name])
    else:
        tagger.tag_file(source, target, **TAGGED.get(name, {}))


def parsed(name: str, model: Path, source: Path, target: Path) -> None:
    parser = Parser.load(model)
    if name in NBEST:
        parser.nbest_file(source, target, NBEST[name])
    else:
        parser.parse_file(source, target)


def classified(name: str, model: Path, source: Path, target: Path) -> None:
    Classifier.load(model).classify_file(source, target, structures=True)


def scored(name: str, model: Path, source: Path, target: Path) -> None:
    lines = source.read_text().splitlines()
    found = LanguageModel.load(model).sentence_scores(lines)
    columns = zip(found.logprob, found.tokens, found.unknown, lines, strict=True)
    target.write_text("".join(f"{p:.4f}\t{n}\t{unknown}\t{line}\n" for p, n, unknown, line in columns))


OUTPUTS: dict[str | None, Callable[[str, Path, Path, Path], None]] = {
    "chain": tagged, "parse": parsed, "classify": classified, "lm": scored,
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_output_is_what_it_was(name: str, tmp_path: Path) -> None:
    """Text exactly; numbers to the last digit but one, since processors differ in how they add."""
    model, target = unpacked(name, tmp_path), tmp_path / "out"
    OUTPUTS[peek_task(model)](name, model, FOLDER / f"{name}.input", target)
    found, expected = target.read_text(), (FOLDER / f"{name}.expected").read_text()
    assert _NUMBER.sub("N", found) == _NUMBER.sub("N", expected)
    numbers = [[float(number) for number in _NUMBER.findall(text)] for text in (found, expected)]
    assert numbers[0] == pytest.approx(numbers[1], rel=2e-5, abs=2e-6)


def test_every_file_is_in_the_index() -> None:
    assert {path.name.partition(".")[0] for path in FOLDER.iterdir()} == {*FILES, "index"}
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 500_000
    for name in FILES:
        assert b'"version":"2"' in gzip.decompress((FOLDER / f"{name}.palm.gz").read_bytes())
