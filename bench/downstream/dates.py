"""GROBID's date columns with its template, on the command line: every tenth sequence is held out.

Fields are runs of a label that `I-` begins, as GROBID counts them; `F1` has all fields, also `<other>`. Wapiti's F1 on
the same split is a quotation, and Wapiti is measured too if it is installed. python-crfsuite gets the attributes that
the template makes. All have Wapiti's default penalties, and processes are measured whole.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.measure import median, process

PACKAGES = ("pycrfsuite",)
L1, L2 = 0.5, 0.00005
RHO2 = 2 * L2  # Wapiti's penalty is half of it for each square
QUOTED = 98.26  # Wapiti's F1 on this split
Rows = list[list[str]]
_MACRO = re.compile(r"%x\[(-?\d+),(\d+)\]")


def files(data: Path) -> tuple[Path, ...]:
    return tuple(data / "downstream" / f"grobid-date.{kind}" for kind in ("txt", "template"))


def compare(data: Path, times: int) -> dict[str, Any]:
    """Seconds of CPU of training and tagging, and F1 of fields."""
    text, template = files(data)
    sequences = read(text)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "train", [rows for k, rows in enumerate(sequences) if k % 10])
        gold = sequences[::10]
        write(folder / "test", gold)
        write(folder / "bare", [[row[:-1] for row in rows] for rows in gold])
        found: dict[str, Any] = {"sequences": len(sequences), "held out": len(gold), "Wapiti, quoted": QUOTED}
        for _ in range(times):
            for side, (train, tag) in _commands(folder, template).items():
                own = found.setdefault(side, {"train": [], "tag": []})
                own["train"].append(process(train)[1])
                own["tag"].append(process(tag)[1])
                guess = [[row[-1] for row in rows] for rows in read(folder / "out")]
                own |= scores([[row[-1] for row in rows] for rows in gold], guess)
    return found


def _commands(folder: Path, template: Path) -> dict[str, tuple[list[str], list[str]]]:
    """How each side trains and tags."""
    train, test, bare, out = (str(folder / name) for name in ("train", "test", "bare", "out"))
    model = str(folder / "model")
    mine = [sys.executable, "-m", "palmette"]
    penalties = ["--l1", str(L1), "--l2", str(L2)]
    rival = [sys.executable, "-m", "bench.downstream.dates"]
    sides = {
        "palmette": (
            [*mine, "train", train, "-o", model + ".palm", "-t", str(template), "--learner", "crf", *penalties, "-q"],
            [*mine, "tag", model + ".palm", bare, "-o", out, "-q"],
        ),
        "python-crfsuite": (
            [*rival, "train", train, str(template), model],
            [*rival, "tag", test, str(template), model, out],
        ),
    }
    wapiti = shutil.which("wapiti")
    if wapiti:
        sides["Wapiti"] = (
            [wapiti, "train", "-p", str(template), "-1", str(L1), "-2", str(RHO2), train, model + ".wapiti"],
            [wapiti, "label", "-m", model + ".wapiti", bare, out],
        )
    return sides


def rows(found: dict[str, Any]) -> list[tuple[str, ...]]:
    """Rows of the table: what, palmette, original, ratio."""
    other = "Wapiti" if "Wapiti" in found else "python-crfsuite"
    mine, theirs = found["palmette"], found[other]
    split = f"{found['sequences'] - found['held out']} dates, {found['held out']} held out"
    shown = []
    for name in ("train", "tag"):
        a, b = median(mine[name]), median(theirs[name])
        shown.append((f"{name}, whole process ({split})", f"{a:.2f} s", f"{b:.2f} s ({other})", f"{b / a:.1f}x"))
    for name in ("F1", "F1 without <other>"):
        quoted = f"; Wapiti {found['Wapiti, quoted']:.2f}" if name == "F1" else ""
        shown.append((f"fields, {name}", f"{100 * mine[name]:.2f}", f"{100 * theirs[name]:.2f} ({other}){quoted}", ""))
    return shown


def read(path: Path) -> list[Rows]:
    """Sequences of rows of cells; what is between two of them may have spaces."""
    sequences: list[Rows] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            sequences[-1].append(line.split())
        elif sequences[-1]:
            sequences.append([])
    return [rows for rows in sequences if rows]


def write(path: Path, sequences: list[Rows]) -> None:
    path.write_text("\n".join("".join(" ".join(row) + "\n" for row in rows) for rows in sequences), encoding="utf-8")


def fields(labels: list[str]) -> set[tuple[int, int, str]]:
    """(begin, end, type) of each field: `I-` begins one, and so does another type."""
    found, begin, kind = set(), 0, ""
    for k, label in enumerate([*labels, "I-"]):
        bare = label.removeprefix("I-")
        if label != bare or bare != kind:
            if kind:
                found.add((begin, k, kind))
            begin, kind = k, bare
    return found


def scores(gold: list[list[str]], guess: list[list[str]]) -> dict[str, float]:
    both = [{(s, *one) for s, labels in enumerate(side) for one in fields(labels)} for side in (gold, guess)]
    found = {}
    for name, left_out in (("F1", ""), ("F1 without <other>", "<other>")):
        a, b = ({one for one in side if one[-1] != left_out} for side in both)
        found[name] = 2 * len(a & b) / (len(a) + len(b))
    return found


class Template:
    """What a template of CRF++'s makes of each token, a string per line of it."""

    def __init__(self, path: Path) -> None:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("U")]
        self.lines = [_MACRO.split(line) for line in lines]  # text, row, column, text, ..., text

    def attributes(self, sequence: Rows) -> list[list[str]]:
        n = len(sequence)

        def cell(k: int, column: int) -> str:
            return sequence[k][column] if 0 <= k < n else f"_B{k}" if k < 0 else f"_B+{k - n + 1}"

        def made(parts: list[str], k: int) -> str:
            macros = zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
            return parts[0] + "".join(cell(k + int(row), int(column)) + text for row, column, text in macros)

        return [[made(parts, k) for parts in self.lines] for k in range(n)]


def rival(work: str, data: Path, template: Path, model: str, out: str = "") -> None:
    """Train or tag with python-crfsuite."""
    import pycrfsuite

    sequences, attributes = read(data), Template(template).attributes
    if work == "train":
        trainer = pycrfsuite.Trainer(verbose=False, params={"c1": L1, "c2": L2})
        for sequence in sequences:
            trainer.append(attributes(sequence), [row[-1] for row in sequence])
        trainer.train(model)
        return
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    tagged = []
    for sequence in sequences:
        labels = tagger.tag(attributes(sequence))
        tagged.append([[*row[:-1], label] for row, label in zip(sequence, labels, strict=True)])
    write(Path(out), tagged)


if __name__ == "__main__":
    rival(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), *sys.argv[4:])
