"""Language pipelines beside UDPipe 1, trained on the same treebanks in the same run, on the same test text.

Both go from file to file, from raw text and from gold tokens, and the official scorer of the CoNLL 2018 shared task
judges both. UDPipe gets its authors' settings, for fewer passes (`udpipe_rival`); what is trained of it stays in
bench/out/udpipe and is used again. `udpipe-ours` trains and measures ours alone, beside the figures of UDPipe in the
record. English-EWT is a benchmark of its own, beside published figures of UDPipe; beside a trained one too if
`python -m bench.udpipe_rival ewt` has made it. `python -m bench report` writes the tables of the pages (`udpipe_page`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench import udpipe_rival
from bench.measure import keep, load, process
from bench.udpipe_page import OURS, RIVAL
from palmette import Pipeline
from palmette.data import read_treebank
from palmette.pipeline.split_text import gold_split

METRICS = ("Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas", "UAS", "LAS", "CLAS", "MLAS",
           "BLEX")  # fmt: skip
TITLES = {"vi": "Vietnamese-VTB", "tr": "Turkish-IMST", "ewt": "English-EWT"}
INPUTS = {"raw": "text", "gold tokens": "conllu"}
# UDPipe 1.2 with its model of UD 2.5 on EWT's test data, as others measured it.
PUBLISHED = {
    "raw": {"Tokens": 98.9, "Sentences": 86.9, "UPOS": 93.3, "UFeats": 94.3, "Lemmas": 95.5, "UAS": 81.8, "LAS": 78.6},
    "gold tokens": {"UPOS": 94.4, "UFeats": 95.4, "Lemmas": 96.4, "UAS": 84.4, "LAS": 81.1},
    "words_per_second": "1,800-2,300",
}
OUT = udpipe_rival.OUT
Side = dict[str, Any]
Runner = Callable[[Path, Path], None]


def bench_udpipe(name: str, data: Path, times: int) -> None:
    """Both sides of a treebank."""
    _treebank(name, data, times, lambda: _trained_rival(name, data))


def bench_udpipe_ours(data: Path, times: int) -> None:
    """Our side of Turkish and Vietnamese, beside the figures of UDPipe that the record has."""
    for name in ("tr", "vi"):
        _treebank(name, data, times, lambda: None)


def bench_udpipe_ewt(data: Path, times: int) -> None:
    _treebank("ewt", data, times, lambda: _trained_rival("ewt", data) if udpipe_rival.is_made("ewt") else None)


def _trained_rival(name: str, data: Path) -> tuple[Side, dict[str, Runner]]:
    return udpipe_rival.trained(name, data, udpipe_rival.LENGTHS[name]), _rival_runners(name)


def _treebank(name: str, data: Path, times: int, rival: Callable[[], tuple[Side, dict[str, Runner]] | None]) -> None:
    """Train ours, run both, print, and keep the figures beside those of other treebanks."""
    gold = data / f"{udpipe_rival.FILES[name]}-test.conllu"
    inputs = _inputs(name, gold)
    before = (load("udpipe") or {"result": {}})["result"]
    sides: dict[str, tuple[Side, dict[str, Runner]]] = {OURS: _ours(name, data)}
    if (other := rival()) is not None:
        sides[RIVAL] = other
    found = {key: side for key, side in before.get(TITLES[name], {}).items() if key == RIVAL}
    for side, (costs, works) in sides.items():
        found[side] = costs | {"date": time.strftime("%Y-%m-%d")}
        found[side] |= _measured(OUT / f"{name}-{side}", works, inputs, gold, times)
    found = {side: found[side] for side in (OURS, RIVAL) if side in found}
    if name == "ewt":
        found["published"] = PUBLISHED
    print_table(TITLES[name], found)
    if name == "ewt":
        print("published: UDPipe 1.2 with its model of UD 2.5, as others measured it")
    used = version("ufal.udpipe") if RIVAL in sides else before.get("udpipe", "")
    keep("udpipe", {**before, "udpipe": used, TITLES[name]: found})


def _inputs(name: str, gold: Path) -> dict[str, Path]:
    """The test data as raw text, and as words without annotations."""
    OUT.mkdir(parents=True, exist_ok=True)
    text, words = (OUT / f"{name}-test.{kind}" for kind in ("txt", "conllu"))
    text.write_text(gold_split(read_treebank(gold)).text, encoding="utf-8")
    blank = []
    for line in gold.read_text(encoding="utf-8").split("\n"):
        cells = line.split("\t")
        if len(cells) == 10 and "." in cells[0]:
            continue
        blank.append("\t".join((*cells[:2], *"_" * 7, cells[9])) if len(cells) == 10 else line)
    words.write_text("\n".join(blank), encoding="utf-8")
    return {"raw": text, "gold tokens": words}


def ewt_inputs(data: Path) -> dict[str, Path]:
    """The test data of English-EWT, as `_inputs` writes them."""
    return _inputs("ewt", data / f"{udpipe_rival.FILES['ewt']}-test.conllu")


def _ours(name: str, data: Path) -> tuple[Side, dict[str, Runner]]:
    """A pipeline trained by the command, in a process of its own."""
    model = OUT / f"{name}.palm"
    train, dev = (str(data / f"{udpipe_rival.FILES[name]}-{part}.conllu") for part in ("train", "dev"))
    print(f"training Palmette on {TITLES[name]}", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "palmette", "pipeline", "train", train, "--dev", dev, "-o", str(model), "-q"]
    took, cpu, peak = process(command)
    size = model.stat().st_size / 1e6
    return {"seconds": took, "cpu": cpu, "megabytes": peak, "model_megabytes": size}, _our_runners(model)


def _our_runners(model: Path) -> dict[str, Runner]:
    pipeline = Pipeline.load(model)

    def runner(input: str, beam: int | None) -> Runner:
        return lambda source, target: _ignored(pipeline.run_file(source, target, input=input, beam=beam))

    works = {name: runner(input, None) for name, input in INPUTS.items()}
    return works | {"raw, greedy": runner("text", 1)}


def _rival_runners(name: str) -> dict[str, Runner]:
    def runner(source: str) -> Runner:
        made = udpipe_rival.pipeline(name, source)

        def work(given: Path, target: Path) -> None:
            target.write_text(made.process(given.read_text(encoding="utf-8")), encoding="utf-8")

        return work

    return {"raw": runner("tokenize"), "gold tokens": runner("conllu")}


def _ignored(result: object) -> None:
    pass


def _measured(out: Path, works: dict[str, Runner], inputs: dict[str, Path], gold: Path, times: int) -> Side:
    """Scores of each kind of input, and words of gold a second of CPU: the best of all runs."""
    found: Side = {"words_per_second": {}}
    for what, work in works.items():
        source, target = inputs[what.removesuffix(", greedy")], Path(f"{out}-{what}.conllu")
        best = float("inf")
        for _ in range(times):
            begun = time.process_time()
            work(source, target)
            best = min(best, time.process_time() - begun)
        scores = official(gold, target)
        found[what] = {metric: 100 * scores[metric].f1 for metric in METRICS}
        found["words_per_second"][what] = scores["Words"].gold_total / best
    return found


def official(gold: Path, system: Path) -> dict[str, Any]:
    """The scores that the scorer of the shared task gives."""
    from udtools import udeval

    scores: dict[str, Any] = udeval.evaluate(*(udeval.load_conllu_file(str(path)) for path in (gold, system)))
    return scores


# The table


def print_table(title: str, found: dict[str, Side]) -> None:
    """F1 of every metric, from raw text and from gold tokens; then what it costs."""
    columns = [(what, side) for what in INPUTS for side in found]
    width = max(13, *(len(side) + 2 for side in found))
    print(f"\n{title}, test data: F1")
    print(f"{'':<12}" + "".join(f"{what:^{width * len(found)}}" for what in INPUTS))
    print(f"{'':<12}" + "".join(f"{side:>{width}}" for _, side in columns))
    for metric in METRICS:
        cells = [found[side].get(what, {}).get(metric) for what, side in columns]
        print(f"{metric:<12}" + "".join(f"{'' if cell is None else f'{cell:.2f}':>{width}}" for cell in cells))
    print(f"\n{'':<30}" + "".join(f"{side:>{width}}" for side in found))
    for label, figure in COSTS.items():
        print(f"{label:<30}" + "".join(f"{_cell(figure, side):>{width}}" for side in found.values()))


def _speed(what: str) -> Callable[[Side], float]:
    return lambda side: side["words_per_second"][what]


COSTS: dict[str, Callable[[Side], float]] = {
    "words a second, raw text": _speed("raw"),
    "words a second, gold tokens": _speed("gold tokens"),
    "words a second, raw, greedy": _speed("raw, greedy"),
    "training, seconds of CPU": lambda side: side["cpu"],
    "training, peak MB": lambda side: side["megabytes"],
    "model, MB": lambda side: side["model_megabytes"],
}


def _cell(figure: Callable[[Side], float], side: Side) -> str:
    if side is PUBLISHED:
        return str(side["words_per_second"]) if figure is COSTS["words a second, raw text"] else ""
    try:
        value = figure(side)
    except KeyError:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
