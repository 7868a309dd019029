"""`python -m bench against REVISION [--times 7] [--data FOLDER]`: this tree beside an older commit, in turn.

The commit is built into a temporary folder for this processor, as an editable install of this tree is. Commands run as
whole processes; calls from Python are timed within one. Both sides use the models of the older one. Figures are seconds
of CPU (calls: microseconds), medians of alternating runs.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from itertools import islice
from pathlib import Path

from bench.measure import data_folder, median, process
from bench.rival import stream

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 1.03  # a larger ratio is marked
SENTENCES = 3000  # of a training corpus

# Prints microseconds of CPU per sentence of the calls on lists of the sizes given; the model's features are the dicts'.
CALLS = """
import json, sys, time
from palmette import Tagger
rows = json.load(open("dicts.json"))
X, y = rows["X"], rows["y"]
tagger = Tagger.load("dicts.palm")
for size in map(int, sys.argv[1:]):
    lists = [X[k : k + size] for k in range(0, len(X) - size + 1, size)] or [X]
    best = 1e9
    for _ in range(15):
        begun, count = time.process_time(), 0
        while count < 1500:
            for each in lists:
                tagger.predict(each)
                count += len(each)
                if count >= 1500:
                    break
        best = min(best, (time.process_time() - begun) / count)
    print(size, 1e6 * best)
"""
LOAD = """
import time
from palmette import Tagger
for _ in range(40):
    Tagger.load("chain.palm")
"""
MAKE_DICTS = """
import json
from palmette import Tagger
rows = json.load(open("dicts.json"))
Tagger(learner="perceptron", passes=3, seed=1).fit(rows["X"], rows["y"]).save("dicts.palm")
"""
SIZES = ("1", "4", "20", "60", "200")


def main(arguments: list[str]) -> int:
    """Print a table of old and new figures with their ratios; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench against", description=__doc__)
    parser.add_argument("revision")
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--data", help="folder of the corpora")
    given = parser.parse_args(arguments)
    data = data_folder(given.data)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sides = {"old": _built(given.revision, folder / "old"), "new": str(ROOT / "src")}
        work = folder / "work"
        work.mkdir()
        os.chdir(work)
        _inputs(data)
        jobs = _jobs()
        for make in ("perceptron", "parser", "classifier", "pipeline"):
            _run(sides["old"], jobs[f"train: {make}"])
        _run(sides["old"], ["-c", MAKE_DICTS])
        found: dict[str, dict[str, list[float]]] = {}
        for turn in range(given.times):
            for what, words in jobs.items():
                for side, source in sides.items():
                    found.setdefault(what, {"old": [], "new": []})[side].append(_run(source, _elsewhere(what, words)))
            for side, source in sides.items():
                for size, figure in _calls(source):
                    name = f"predict lists of {size}, µs"
                    found.setdefault(name, {"old": [], "new": []})[side].append(figure)
            print(f"  turn {turn + 1} of {given.times}", file=sys.stderr, flush=True)
    print("\n".join(_rows(found)))
    return 0


def _built(revision: str, folder: Path) -> str:
    """Install a commit without its dependencies, with kernels for this processor; return its folder of packages."""
    packed = subprocess.run(["git", "-C", ROOT, "archive", revision], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder / "tree", filter="data")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder / "lib"),
               str(folder / "tree")]  # fmt: skip
    print(f"building {revision} ...", file=sys.stderr, flush=True)
    subprocess.run(command, check=True, env=os.environ | {"PALMETTE_BUILD_LEVELS": "native"})
    return str(folder / "lib")


def _inputs(data: Path) -> None:
    """Write the files of the jobs: a part of each corpus, so that a turn takes a minute or two."""
    import json

    from bench.newcomer import _token

    chunks = data / "conll2000"
    Path("test.txt").write_bytes((chunks / "test.txt").read_bytes())
    Path("one.txt").write_text("Time NN O\nflies VBZ O\n\n", encoding="utf-8")
    sentences = list(islice(stream(chunks / "train.txt"), SENTENCES))
    text = "\n\n".join("\n".join(" ".join(row) for row in sentence) for sentence in sentences)
    Path("train.txt").write_text(text + "\n", encoding="utf-8")
    treebank = (data / "ud-ewt" / "en_ewt-ud-dev.conllu").read_text(encoding="utf-8").strip().split("\n\n")
    Path("trees.conllu").write_text("\n\n".join(treebank[:1000]) + "\n\n", encoding="utf-8")
    Path("more.conllu").write_text("\n\n".join(treebank[1000:]) + "\n\n", encoding="utf-8")
    texts = [line[9:] for tree in treebank for line in tree.splitlines() if line.startswith("# text = ")]
    Path("text.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    lines = [f"{('good', 'bad')[len(s) % 2]}\t{' '.join(row[0] for row in s)}" for s in sentences[:600]]
    Path("classes.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = [line.split("\t")[1] for line in lines]
    Path("sentences.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    tested = list(islice(stream(chunks / "test.txt"), 600))
    dicts = {"X": [[_token(s, i) for i in range(len(s))] for s in tested], "y": [[row[2] for row in s] for s in tested]}
    Path("dicts.json").write_text(json.dumps(dicts), encoding="utf-8")


_MIRA = """
from palmette import Mira, Tagger
Tagger("chunk", learner=Mira(nbest=5), passes=5, seed=1).fit_file("train.txt", threads=1).save("x.palm")
"""


def _jobs() -> dict[str, list[str]]:
    """Name of each job and its command, behind `python`."""
    palmette = ["-m", "palmette"]
    train = [*palmette, "train", "train.txt", "-q", "--threads", "1", "--seed", "1", "--features", "chunk"]
    return {
        "train: perceptron": [*train, "-o", "chain.palm", "--learner", "perceptron", "--passes", "10"],
        "train: mira": ["-c", _MIRA],  # whose flags have other names in older commits
        "train: crf": [*train, "-o", "x.palm", "--learner", "crf", "--iterations", "15"],
        "train: order 2, beam": [*train, "-o", "x.palm", "--learner", "perceptron", "--order", "2", "--beam", "8",
                                 "--passes", "2"],
        "train: parser": [*palmette, "parser", "train", "trees.conllu", "-o", "parser.palm", "-q", "--passes", "2",
                          "--threads", "1", "--seed", "1"],
        "train: classifier": [*palmette, "classifier", "train", "classes.txt", "-o", "classes.palm", "-q", "--passes",
                              "3", "--threads", "1", "--seed", "1"],
        "train: pipeline": [*palmette, "pipeline", "train", "trees.conllu", "-o", "pipeline.palm", "-q", "--threads",
                            "1"],
        "tag": [*palmette, "tag", "chain.palm", "test.txt", "-o", "o.txt", "-q", "--threads", "1"],
        "tag one sentence": [*palmette, "tag", "chain.palm", "one.txt", "-o", "o.txt", "-q"],
        "parse": [*palmette, "parser", "parse", "parser.palm", "more.conllu", "-o", "o.txt", "-q", "--threads", "1"],
        "classify": [*palmette, "classifier", "classify", "classes.palm", "sentences.txt", "-o", "o.txt"],
        "pipeline run": [*palmette, "pipeline", "run", "pipeline.palm", "text.txt", "-o", "o.txt", "-q", "--threads",
                         "1"],
        "load a model, 40 times": ["-c", LOAD],
    }  # fmt: skip


def _elsewhere(what: str, words: list[str]) -> list[str]:
    """Let trainings of a measured turn write beside the models of the older side."""
    models = ("chain.palm", "parser.palm", "classes.palm", "pipeline.palm")
    return [f"again.{word}" if word in models and what.startswith("train") else word for word in words]


def _run(source: str, words: list[str]) -> float:
    os.environ["PYTHONPATH"] = source
    return process([sys.executable, *words])[1]


def _calls(source: str) -> list[tuple[str, float]]:
    ran = subprocess.run([sys.executable, "-c", CALLS, *SIZES], env=os.environ | {"PYTHONPATH": source},
                         capture_output=True, text=True, check=True)  # fmt: skip
    return [(size, float(figure)) for size, figure in (line.split() for line in ran.stdout.splitlines())]


def _rows(found: dict[str, dict[str, list[float]]]) -> list[str]:
    rows = [f"{'job':<28} {'old':>9} {'new':>9} {'ratio':>6}"]
    for what, sides in found.items():
        old, new = median(sides["old"]), median(sides["new"])
        rows.append(f"{what:<28} {old:>9.3f} {new:>9.3f} {new / old:>6.2f}{'  <--' if new / old > LIMIT else ''}")
    return rows
