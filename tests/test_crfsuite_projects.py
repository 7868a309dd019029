"""Projects that call python-crfsuite, with the drop-in in its place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pycrfsuite
import pytest
import usaddress
from parserator import training

import palmette.crfsuite as ours

ADDRESSES = [
    "123 Main St. Suite 100 Chicago, IL", "Robie House, 5757 South Woodlawn Avenue, Chicago, IL 60637",
    "State & Lake, Chicago", "PO Box 1234 Springfield MA 01101-0001", "1 Rue de l'Église, Montréal",
]  # fmt: skip
LABELLED = [
    ("", [("123", "AddressNumber"), ("Main", "StreetName"), ("St.", "StreetNamePostType"), ("Chicago,", "PlaceName")]),
    ("", [("PO", "USPSBoxType"), ("Box", "USPSBoxType"), ("12", "USPSBoxID"), ("IL", "StateName")]),
]


def model_file() -> str:
    return str(Path(usaddress.__file__).parent / usaddress.MODEL_FILE)


def test_usaddress_tags_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [usaddress.parse(address) for address in ADDRESSES]
    tagger = ours.Tagger()
    tagger.open(model_file())
    monkeypatch.setattr(usaddress, "TAGGER", tagger)
    assert [usaddress.parse(address) for address in ADDRESSES] == expected


def test_the_shipped_model_is_read_as_it_is(tmp_path: Path) -> None:
    """It has an attribute with a line break, at which python-crfsuite's info fails."""
    taggers = ours.Tagger(), pycrfsuite.Tagger()
    for tagger in taggers:
        tagger.open(model_file())
    for tagger, name in zip(taggers, ("own", "theirs"), strict=True):
        tagger.dump(str(tmp_path / name))
    assert (tmp_path / "own").read_bytes() == (tmp_path / "theirs").read_bytes()
    assert any("\n" in attribute for attribute in taggers[0].info().attributes)
    for address in ADDRESSES:
        features = usaddress.tokens2features(usaddress.tokenize(address))
        tags = [tagger.tag(features) for tagger in taggers]
        assert tags[0] == tags[1]
        assert taggers[0].probability(tags[0]) == pytest.approx(taggers[1].probability(tags[1]), rel=1e-6)


def test_parserator_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(tmp_path / name) for name in ("theirs.crfsuite", "own.crfsuite")]
    for module, path in zip((pycrfsuite, ours), paths, strict=True):
        monkeypatch.setattr(training, "pycrfsuite", module)
        training.trainModel(LABELLED * 3, usaddress, path)
    found = []
    for path in paths:
        tagger = ours.Tagger()
        tagger.open(path)
        found.append([tagger.tag(usaddress.tokens2features([token for token, _ in words])) for _, words in LABELLED])
    assert found[0] == found[1] == [[label for _, label in words] for _, words in LABELLED]


def test_under_the_name_of_python_crfsuite() -> None:
    """As programs import it: `import pycrfsuite` and `from pycrfsuite import ...`."""
    program = (
        "import sys, palmette.crfsuite; sys.modules['pycrfsuite'] = palmette.crfsuite\n"
        "import usaddress, pycrfsuite; from pycrfsuite import Trainer, Tagger, ItemSequence, CRFSuiteError\n"
        "from pycrfsuite._pycrfsuite import ItemSequence as Other; assert Other is ItemSequence\n"
        "assert type(usaddress.TAGGER) is palmette.crfsuite.Tagger\n"
        "print(usaddress.tag('123 Main St.')[1])\n"
    )
    found: Any = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "Street Address\n"


def test_import_waits_for_nothing() -> None:
    """Names are imported on first use."""
    program = "import palmette.crfsuite, sys; print([m for m in ('numpy', 'numba', 'msgspec') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
