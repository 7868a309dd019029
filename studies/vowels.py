"""Vowels in the plane of their first two formants: the data of docs/classify.md, and its picture.

    python -m studies.vowels            draws docs/images/vowels.png
    python -m studies.vowels --data     writes the data anew, the same for the same seed
    python -m studies.vowels --scale    what the scale of the values does

A vowel is a cloud around formant frequencies such as textbooks give for a system of five vowels. Speakers differ in the
length of their vocal tract, which moves both formants together, and each utterance a little in both.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "src" / "palmette" / "datasets" / "files" / "vowels.txt"
PICTURE = ROOT / "docs" / "images" / "vowels.png"
CENTRES = {"i": (280, 2250), "e": (460, 1900), "a": (720, 1300), "o": (480, 920), "u": (320, 800)}  # Hz
EACH = 60


def vowels(seed: int = 1) -> list[tuple[str, int, int]]:
    """(vowel, first formant, second formant), in random order."""
    rng = np.random.default_rng(seed)
    rows = []
    for vowel, centre in CENTRES.items():
        speaker = rng.normal(1.0, 0.08, (EACH, 1))
        utterance = rng.normal(1.0, 0.09, (EACH, 2))
        formants = np.array(centre) * speaker * utterance
        rows += [(vowel, round(f1), round(f2)) for f1, f2 in formants.tolist()]
    return [rows[k] for k in rng.permutation(len(rows))]


def draw() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.colors import ListedColormap

    from palmette import Crf, LinearClassifier
    from palmette.datasets import load_vowels

    X, y = load_vowels("train")
    X_test, y_test = load_vowels("test")
    names, colours = list(CENTRES), ["#4477aa", "#66ccee", "#ccbb44", "#ee6677", "#228833"]
    f1, f2 = np.meshgrid(np.linspace(0.15, 1.0, 220), np.linspace(0.45, 2.9, 220))
    grid = np.column_stack((f1.ravel(), f2.ravel()))
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
    titles = {"perceptron": "averaged perceptron", "crf": "logistic regression"}
    for ax, (learner, title) in zip(axes, titles.items(), strict=True):
        how = {"learner": Crf(l2=0.01)} if learner == "crf" else {"learner": learner, "passes": 100}
        model = LinearClassifier(**how).fit(X, y)
        regions = np.array([names.index(label) for label in model.predict(grid)]).reshape(f1.shape)
        ax.pcolormesh(f2, f1, regions, cmap=ListedColormap(colours), vmin=0, vmax=4, alpha=0.25, shading="nearest")
        for k, name in enumerate(names):
            own = np.array([row for row, label in zip(X, y, strict=True) if label == name])
            ax.scatter(own[:, 1], own[:, 0], s=12, color=colours[k], edgecolors="white", linewidths=0.3)
            ax.text(CENTRES[name][1] / 1000, CENTRES[name][0] / 1000, name, fontsize=16, weight="bold", ha="center",
                    va="center")  # fmt: skip
        right = np.mean([a == b for a, b in zip(model.predict(X_test), y_test, strict=True)])
        ax.set_title(f"{title}: {100 * right:.0f}% of held-out vowels right", fontsize=10)
        ax.set_xlabel("second formant, kHz")
    # As phoneticians draw it: front vowels to the left, close ones at the top.
    axes[0].set_ylabel("first formant, kHz")
    axes[0].invert_yaxis()
    for ax in axes:
        ax.invert_xaxis()
    figure.savefig(PICTURE, dpi=110, metadata={"Software": None})


def scales() -> None:
    from palmette import Crf, LinearClassifier
    from palmette.datasets import load_vowels

    (X, y), (X_test, y_test) = ((np.array(rows), labels) for rows, labels in map(load_vowels, ("train", "test")))
    hertz, kilohertz = (X * 1000, X_test * 1000), (X, X_test)
    standard = tuple((rows - X.mean(axis=0)) / X.std(axis=0) for rows in kilohertz)
    tries = [("hertz", hertz, LinearClassifier("perceptron", passes=n)) for n in (10, 10_000)]
    tries += [("kilohertz", kilohertz, LinearClassifier(Crf(l2=l2))) for l2 in (1.0, 0.01)]
    tries += [("standardised", standard, LinearClassifier(Crf(l2=1.0)))]
    for name, (train, test), classifier in tries:
        print(f"{name:13} {classifier!r:45} {100 * classifier.fit(train, y).score(test, y_test):.1f}")


def main() -> None:
    if "--scale" in sys.argv[1:]:
        scales()
        return
    if "--data" in sys.argv[1:]:
        DATA.write_text("".join(f"{v} {f1} {f2}\n" for v, f1, f2 in vowels()), encoding="utf-8")
        return
    draw()


if __name__ == "__main__":
    main()
