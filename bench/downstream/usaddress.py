"""usaddress and parserator as they come from PyPI, with python-crfsuite and with `palmette.crfsuite` under its name.

parserator trains on nine tenths of usaddress' own data, with its own parameters; every tenth address is held out.
`parse` and `tag` are called for all addresses, one by one, with the model that usaddress ships; that model is also read
and written again. The packages come without tests: that all outputs are equal stands for them.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.downstream.side import ORIGINAL, PALMETTE, SIDES, run
from bench.measure import median

PACKAGES = ("usaddress", "parserator", "pycrfsuite")
FILE = Path("downstream", "usaddress-labeled.xml")
ROUNDS = 3  # over all addresses; the fastest counts


def files(data: Path) -> tuple[Path, ...]:
    return (data / FILE,)


def compare(data: Path, times: int) -> dict[str, Any]:
    """All figures of all turns, and whether outputs and models are equal."""
    found: dict[str, Any] = {side: [] for side in SIDES}
    for _ in range(times):
        for side in SIDES:
            found[side].append(run("usaddress", side, data))
    first = {side: found[side][0] for side in SIDES}
    for name in ("parse outputs", "tag outputs"):
        found[name] = first[PALMETTE][name] == first[ORIGINAL][name]
    found["model"] = _written_again()
    return found


def _written_again() -> str:
    """Whether the model that usaddress ships is the same after palmette has read and written it: for python-crfsuite,
    whose dump shows labels, attributes and weights, if not byte for byte."""
    import pycrfsuite
    from usaddress import MODEL_PATH

    from palmette.connect.crfsuite_models import crfsuite_bytes, read_crfsuite

    before = Path(MODEL_PATH).read_bytes()
    after = crfsuite_bytes(read_crfsuite(before, MODEL_PATH))
    if before == after:
        return "equal bytes"
    shown = []
    with tempfile.TemporaryDirectory() as folder:
        for model in (before, after):
            tagger = pycrfsuite.Tagger()
            tagger.open_inmemory(model)
            tagger.dump(str(Path(folder, "dump")))
            _, _, rest = Path(folder, "dump").read_text(encoding="utf-8").partition("LABELS")  # without the header
            shown.append(sorted(rest.splitlines()))
    return "equal dump" if shown[0] == shown[1] else "DIFFERENT"


def rows(found: dict[str, Any]) -> list[tuple[str, ...]]:
    """Rows of the table: what, palmette, original, ratio."""

    def both(name: str) -> tuple[float, float]:
        mine, theirs = (median([one[name] for one in found[side]]) for side in (PALMETTE, ORIGINAL))
        return mine, theirs

    n = found[ORIGINAL][0]["addresses"]
    a, b = both("train")
    shown = [(f"train on nine tenths of {n:,} addresses, CPU", f"{a:.2f} s", f"{b:.2f} s", f"{b / a:.1f}x")]
    for name, what in (("tokens", "held-out tokens right"), ("whole", "held-out addresses right")):
        a, b = both(name)
        shown.append((what, f"{100 * a:.2f}%", f"{100 * b:.2f}%", ""))
    for name in ("parse", "tag"):
        a, b = both(name)
        shown.append((f"usaddress.{name}, a call, CPU", f"{a:.0f} µs", f"{b:.0f} µs", f"{b / a:.1f}x"))
        same = "equal" if found[f"{name} outputs"] else "DIFFERENT"
        shown.append((f"usaddress.{name}, outputs on all addresses", same, "", ""))
    return [*shown, ("its model, read and written again", found["model"], "", "")]


def measure(side: str, data: Path) -> dict[str, Any]:
    if side == PALMETTE:
        import palmette.crfsuite

        sys.modules["pycrfsuite"] = palmette.crfsuite
    import parserator.training
    import pycrfsuite
    import usaddress

    addresses = list(parserator.training.readTrainingData([data / FILE], usaddress.GROUP_LABEL))
    texts = [text for text, _ in addresses]
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder, "new.crfsuite"))
        begun = time.process_time()
        parserator.training.trainModel([one for k, one in enumerate(addresses) if k % 10], usaddress, model)
        found: dict[str, Any] = {"train": time.process_time() - begun}
        held_out = [parts for k, (_, parts) in enumerate(addresses) if k % 10 == 0]
        found |= _accuracy(pycrfsuite, usaddress, model, held_out)
    for name, call in (("parse", usaddress.parse), ("tag", usaddress.tag)):
        found[name], outputs = _calls(call, texts)
        found[f"{name} outputs"] = hashlib.sha256(repr(outputs).encode()).hexdigest()
    return found | {"addresses": len(texts)}


def _accuracy(pycrfsuite: Any, usaddress: Any, model: str, held_out: list[Any]) -> dict[str, float]:
    """Of a new model: the shares of tokens and of addresses that are right."""
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    right = []
    for parts in held_out:
        tokens, gold = zip(*parts, strict=True)
        guess = tagger.tag(usaddress.tokens2features(tokens))
        right.append([a == b for a, b in zip(guess, gold, strict=True)])
    tokens_right = [one for row in right for one in row]
    return {"tokens": sum(tokens_right) / len(tokens_right), "whole": sum(map(all, right)) / len(right)}


def _calls(call: Any, texts: list[str]) -> tuple[float, list[Any]]:
    """Microseconds of CPU of a call, and what the calls returned."""
    outputs: list[Any] = []
    best = float("inf")
    for _ in range(ROUNDS):
        outputs = []
        begun = time.process_time()
        for text in texts:
            try:
                outputs.append(call(text))
            except Exception as error:  # labels that come twice are an error of usaddress' own, on both sides
                outputs.append(type(error).__name__)
        best = min(best, time.process_time() - begun)
    return 1e6 * best / len(texts), outputs
