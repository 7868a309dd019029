"""What states cost: a pass of NP chunking with 1, 2, 3 and 5 states per label, orders 1 and 2."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from bench.measure import TEMPLATES, keep
from bench.quality import np_file
from palmette import Latent, Tagger

STATES = (1, 2, 3, 5)
PASSES = 4  # the first one is left out: it makes the rows


def bench_latent(data: Path) -> None:
    """Seconds a pass; observations on state pairs (and triples) for the label combinations seen in training."""
    result: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        train = np_file(data / "conll2000" / "train.txt", Path(folder, "train.txt"))
        for order, name in ((1, "np.txt"), (2, "np2.txt")):
            for states in STATES:
                tagger = Tagger(
                    template=TEMPLATES / name, passes=PASSES, states=Latent(states), edge_features="seen",
                    constraints="none", ends=False,
                ).fit_file(train)  # fmt: skip
                seconds = statistics.median(row["seconds"] for row in tagger.training_log_[1:])
                result.setdefault(f"order {order}", {})[str(states)] = seconds
                ratio = seconds / result[f"order {order}"]["1"]
                print(f"NP chunking, order {order}, {states} states per label: {seconds:.2f} s per pass ({ratio:.1f}x)")
    keep("latent", result)


def table(result: dict[str, dict[str, float]]) -> str:
    """Markdown: seconds a pass and the ratio to the plain model, beside what it is at most."""
    head = ["states per label", "order 1", "ratio", "m²", "order 2", "ratio", "m³"]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    for m in STATES:
        cells = [str(m)]
        for power, order in ((2, "order 1"), (3, "order 2")):
            seconds = result[order][str(m)]
            cells += [f"{seconds:.2f} s", f"{seconds / result[order]['1']:.1f}", str(m**power)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
