"""Collins (2002) again: averaged against last weights, cut-off 0 against 5, in tagging and NP chunking.

`python -m studies.collins` trains on UD English-EWT (XPOS) and CoNLL-2000 (NP), writes the figures with command, seeds
and versions to docs/studies/collins.json, and the table and plot from them. The published figures are on the WSJ and
on the chunking data of Ramshaw and Marcus: the pattern is to be compared, not the numbers.

Passes are chosen on development data (EWT's dev file; a tenth of the NP training sentences, then training on all of
them for that number of passes); test is read once at the end, for seeds fixed in advance.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.measure import data_folder
from bench.quality import np_file
from palmette import Reading, Tagger
from palmette.text.read import read_corpus

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs" / "studies"
SEEDS = (1, 2, 3)
MOST_PASSES = {"tagging": 25, "chunking": 40}
# (error of tagging, F of chunking), each with its number of passes
PUBLISHED = {
    ("avg", 0): ((2.93, 10), (93.53, 13)),
    ("avg", 5): ((3.03, 6), (93.33, 9)),
    ("last", 0): ((3.68, 20), (93.04, 35)),
    ("last", 5): ((4.04, 17), (91.88, 39)),
}


def tagging(data: Path, estimator: str, cut: int, seed: int) -> dict[str, Any]:
    """Error on EWT test; the best pass on dev is kept."""
    files = {part: data / "ud-ewt" / f"en_ewt-ud-{part}.conllu" for part in ("train", "dev", "test")}
    reading = Reading(label="xpos")
    tagger = Tagger(
        template=HERE / "templates" / "ratnaparkhi.txt", estimator=estimator, min_count=max(1, cut), seed=seed,
        passes=MOST_PASSES["tagging"], patience=5,
    )  # fmt: skip
    begun = time.perf_counter()
    tagger.fit_file(files["train"], files["dev"], reading=reading)
    took = time.perf_counter() - begun
    found = tagger.evaluate(read_corpus(files["test"], reading))
    dev = [100 * (1 - row["dev"]) for row in tagger.history_]
    return {"error": 100 * (1 - found.accuracy), "passes": tagger.outcome_.best_pass, "seconds": took, "dev_error": dev}


def chunking(train: Path, test: Path, estimator: str, cut: int, seed: int) -> dict[str, Any]:
    """F on NP test: passes chosen on a held-out tenth, then trained on everything."""
    settings: dict[str, Any] = {
        "template": HERE / "templates" / "np21.txt", "estimator": estimator, "min_count": max(1, cut), "seed": seed,
    }  # fmt: skip
    begun = time.perf_counter()
    chooser = Tagger(**settings, passes=MOST_PASSES["chunking"], patience=10, dev_share=0.1).fit_file(train)
    passes = chooser.outcome_.best_pass
    tagger = Tagger(**settings, passes=passes).fit_file(train)
    took = time.perf_counter() - begun
    found = tagger.evaluate(read_corpus(test, Reading()))
    assert found.f1 is not None
    dev = [100 * row["dev"] for row in chooser.history_]
    return {"f1": 100 * found.f1, "passes": passes, "seconds": took, "dev_f1": dev}


def run(data: Path) -> dict[str, Any]:
    cells: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        train = np_file(data / "conll2000" / "train.txt", Path(folder, "train.txt"))
        test = np_file(data / "conll2000" / "test.txt", Path(folder, "test.txt"))
        for estimator, cut in PUBLISHED:
            for seed in SEEDS:
                cell = {"estimator": estimator, "cut": cut, "seed": seed}
                cell["tagging"] = tagging(data, estimator, cut, seed)
                cell["chunking"] = chunking(train, test, estimator, cut, seed)
                cells.append(cell)
                print(f"{estimator} cut-off {cut} seed {seed}: error {cell['tagging']['error']:.2f}, "
                      f"F {cell['chunking']['f1']:.2f}", file=sys.stderr, flush=True)  # fmt: skip
    return {"command": "python -m studies.collins", "seeds": SEEDS, "date": time.strftime("%Y-%m-%d"), "cells": cells}


def table(record: dict[str, Any]) -> str:
    """Markdown, from the record alone."""
    lines = [
        "| weights, cut-off | tagging error, EWT XPOS | passes | published, WSJ | NP chunking F | passes | published |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for (estimator, cut), (tag, chunk) in PUBLISHED.items():
        mine = [c for c in record["cells"] if (c["estimator"], c["cut"]) == (estimator, cut)]
        error, f1 = [c["tagging"]["error"] for c in mine], [c["chunking"]["f1"] for c in mine]
        passes = [statistics.median(c[task]["passes"] for c in mine) for task in ("tagging", "chunking")]
        lines.append(
            f"| {estimator}, {cut} | {_mean(error)} | {passes[0]:.0f} | {tag[0]} ({tag[1]}) "
            f"| {_mean(f1)} | {passes[1]:.0f} | {chunk[0]} ({chunk[1]}) |"
        )
    return "\n".join(lines)


def _mean(values: list[float]) -> str:
    return f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"


def plot(record: dict[str, Any], target: Path) -> None:
    """Development curves of the first seed: the average is better from early on and steady, the last weights swing."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.3))
    for axis, task, key, name in (
        (axes[0], "tagging", "dev_error", "error on dev, %"), (axes[1], "chunking", "dev_f1", "F on held-out tenth"),
    ):  # fmt: skip
        for cell in record["cells"]:
            if cell["seed"] == record["seeds"][0]:
                colour = "#2d6a4f" if cell["estimator"] == "avg" else "#bc6c25"
                curve = cell[task][key]
                axis.plot(range(1, len(curve) + 1), curve, "-" if cell["cut"] == 0 else "--", color=colour,
                          label=f"{cell['estimator']}, cut-off {cell['cut']}")  # fmt: skip
        axis.set_xlabel("pass")
        axis.set_ylabel(name)
        axis.set_title("tagging, EWT XPOS" if task == "tagging" else "NP chunking", fontsize=10)
        axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(target, dpi=130)


def write(record: dict[str, Any]) -> None:
    """The page, from the record alone."""
    text = f"""# Collins (2002): averaged against last weights

Made by `{record["command"]}` on {record["date"]}, seeds {", ".join(map(str, record["seeds"]))}: mean and spread over
them. Passes were chosen on development data; published figures (Collins 2002) are on other data, so the pattern is to
be compared: averaging beats the last weights in both tasks, and a cut-off does not help the averaged perceptron.

{table(record)}

![Development curves](collins.png)
"""
    (DOCS / "collins.md").write_text(text, encoding="utf-8")


def main() -> None:
    DOCS.mkdir(parents=True, exist_ok=True)
    record = run(data_folder())
    (DOCS / "collins.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    record = json.loads((DOCS / "collins.json").read_text(encoding="utf-8"))
    write(record)
    plot(record, DOCS / "collins.png")
    print(table(record))


if __name__ == "__main__":
    main()
