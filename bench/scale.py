"""Cost against size: shares of JNLPBA, and numbers of labels on one corpus, as a table and a plot."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from bench.measure import HERE, TEMPLATES, keep, process
from palmette.reports import LIGHT

SHARES = (0.125, 0.25, 0.5, 1.0)
LABELS = (3, 22, 48, 128, 512, 2000)
PASSES = 5

# Trains in a process of its own, so that its peak memory is its own; prints seconds a pass.
PROGRAM = """
import sys, statistics
from palmette import Tagger
source, template, passes = sys.argv[1:4]
tagger = Tagger(template=template, learner="perceptron", passes=int(passes), constraints="none").fit_file(source)
open(sys.argv[4], "w").write(str(statistics.median(row.seconds for row in tagger.outcome_.training_log)))
"""


def _measured(source: Path, folder: Path) -> dict[str, float]:
    out = folder / "pass.txt"
    template = str(TEMPLATES / "crfpp.txt")
    took, _, peak = process([sys.executable, "-c", PROGRAM, str(source), template, str(PASSES), str(out)])
    return {"seconds": took, "seconds_a_pass": float(out.read_text()), "megabytes": peak}


def share_of(source: Path, share: float, target: Path) -> Path:
    sentences = source.read_text(encoding="utf-8").strip().split("\n\n")
    target.write_text("\n\n".join(sentences[: int(len(sentences) * share)]) + "\n", encoding="utf-8")
    return target


def with_labels(source: Path, n_labels: int, target: Path) -> Path:
    """The corpus with artificial labels: the POS tag with the length and the last letters of the word, put into
    n_labels classes at random. Only the cost is looked at."""
    rng = np.random.default_rng(0)
    classes: dict[tuple[str, int, str], str] = {}
    lines = []
    for line in source.read_text(encoding="utf-8").split("\n"):
        cells = line.split(" ")
        if len(cells) == 3:
            key = (cells[1], len(cells[0]) % 8, cells[0][-3:] if n_labels > 128 else "")
            cells[2] = classes.setdefault(key, f"L{int(rng.integers(n_labels))}")
        lines.append(" ".join(cells))
    target.write_text("\n".join(lines), encoding="utf-8")
    return target


def bench_scale(data: Path) -> None:
    """Training time and memory on parts of JNLPBA, and at 3 to 2,000 labels on CoNLL-2000."""
    sizes, labels = {}, {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _measured(share_of(data / "jnlpba" / "train.txt", 0.01, folder / "warm.txt"), folder)  # compile
        for share in SHARES:
            sizes[str(share)] = _measured(share_of(data / "jnlpba" / "train.txt", share, folder / "part.txt"), folder)
            print(f"JNLPBA, {share:.3g} of it: {_line(sizes[str(share)])}")
        for n in LABELS:
            labels[str(n)] = _measured(with_labels(data / "conll2000" / "train.txt", n, folder / "labels.txt"), folder)
            print(f"CoNLL-2000 with {n} labels: {_line(labels[str(n)])}")
    keep("scale", {"passes": PASSES, "shares": sizes, "labels": labels})
    plot_scale(sizes, labels, HERE.parent / "docs" / "images" / "scale.png")


def _line(row: dict[str, float]) -> str:
    return f"{row['seconds_a_pass']:.3f} s a pass, {row['seconds']:.2f} s and {row['megabytes']:.0f} MB in all"


def plot_scale(sizes: dict[str, dict[str, float]], labels: dict[str, dict[str, float]], target: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9, 5.2), sharex="col")
    figures = (("seconds_a_pass", "seconds a pass", LIGHT["blue"]), ("megabytes", "peak memory, MB", LIGHT["orange"]))
    for column, (rows, title) in enumerate(((sizes, "share of JNLPBA"), (labels, "labels (CoNLL-2000)"))):
        for row, (key, name, colour) in enumerate(figures):
            axis = axes[row][column]
            axis.plot([float(k) for k in rows], [found[key] for found in rows.values()], "o-", color=colour)
            axis.set_title(name, loc="left", fontsize=10, color=colour)
            axis.set_ylim(bottom=0)
            axis.set_xlim(left=0)
            axis.spines[["top", "right"]].set_visible(False)
        axes[1][column].set_xlabel(title)
    figure.tight_layout()
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=130)
