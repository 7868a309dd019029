"""Tables of the README and the docs, and a chart, made from the figures that the benchmarks left in bench/results."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from bench import english, latent, newcomer, raw_text, serve, udpipe_page
from bench.downstream import command as downstream
from bench.measure import HERE, load, median

SIDES = ("palmette", "python-crfsuite")
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
SERVE = "<!-- serve: begin -->", "<!-- serve: end -->"
DOWNSTREAM = "<!-- downstream: begin -->", "<!-- downstream: end -->"


def _result(name: str) -> dict[str, Any]:
    found = load(name)
    if found is None:
        raise SystemExit(f"bench/results/{name}.json is missing: run `python -m bench {name}` first")
    result: dict[str, Any] = found["result"]
    return result


def speed_rows() -> list[tuple[str, str, str, str]]:
    """(work, palmette, python-crfsuite, ratio)"""
    train, tag = _result("train"), _result("tag")
    rows = []
    for what, found in (("train: file to saved model, warm", train), ("tag: file to file, warm", tag)):
        rows.append(_speed_row(what, median(found["warm"]["palmette"]), median(found["warm"]["python-crfsuite"])))
    start = _result("start")
    for what, name in (
        ("tag one sentence, whole process, CPU", "one sentence"),
        ("tag a test file of 47,000 tokens, whole process, CPU", "the test file"),
        ("tag ten of them, whole process, CPU", "ten test files"),
        ("train, whole process, CPU", "training"),
    ):
        rows.append(_speed_row(what, *(median(start[name][side]["cpu"]) for side in SIDES)))
    for what, name in (("tag one sentence, peak memory", "one sentence"), ("train, peak memory", "training")):
        rows.append(_memory_row(what, *(max(start[name][side]["megabytes"]) for side in SIDES)))
    return rows + _python_rows(_result("serve")) + crf_rows()


def crf_rows() -> list[tuple[str, str, str, str]]:
    """As `speed_rows`, of the batch learner; features as in CRFsuite's default, and a weight for all."""
    crf, rows = _result("crf"), []
    for what, name in (("seen features", "seen"), ("all features", "equal")):
        seconds = (median(crf["iteration"][name][side]) for side in SIDES)
        rows.append(_speed_row(f"CRF, {what}: an iteration of L-BFGS", *seconds))
    for what, name in (("seen features", "seen"), ("all features", "equal")):
        rows.append(
            _memory_row(f"CRF, {what}: train, peak memory", *(crf["training"][name][s]["megabytes"] for s in SIDES))
        )
    addresses = (median(crf["addresses"][name]["cpu"]) for name in ("palmette", "python-crfsuite, same function"))
    rows.append(_speed_row("CRF, L1 and L2 to the end: 1,200 addresses, a dict per token", *addresses))
    return rows


def _python_rows(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """One sentence, a list of sentences and training from Python, of the forms of data that a user of python-crfsuite
    has; bench/serve.py has all of them."""
    rows = []
    names = (
        ("dicts", "dicts of 19 features"),
        ("short dicts", "dicts of 8 features"),
        ("lists", "lists"),
        ("columns, features ready", "columns (theirs: features ready-made)"),
    )
    for name, words in names:
        mine, theirs = (found["single"][name][side]["cpu"] for side in ("predict", SIDES[1]))
        what = f"one sentence of {found['length']} tokens from Python, {words}"
        rows.append((what, f"{mine:.0f} µs", f"{theirs:.0f} µs", _ratio(theirs / mine)))
    for name in ("dicts", "lists"):
        mine, theirs = (1e6 / found["batch"][name][side] for side in ("predict", SIDES[1]))
        what = f"a list of sentences from Python, {name}, a token"
        rows.append((what, f"{mine:.1f} µs", f"{theirs:.1f} µs", _ratio(theirs / mine)))
    fit = found["fit"]["dicts"]
    rows.append(_speed_row("train from dicts in Python, CPU", *(fit[side]["all"] for side in ("predict", SIDES[1]))))
    return rows


def size_rows() -> list[tuple[str, str, str, str]]:
    """(model, full, compact, python-crfsuite), each in MB with its score on test"""
    cell = lambda row: "" if row is None else f"{row['megabytes']:.1f} MB ({row['score']:.2f})"  # noqa: E731
    rows = [
        (what, *(cell(found.get(name)) for name in ("full", "compact", SIDES[1])))
        for what, found in _result("size").items()
    ]
    parse = _result("parse")
    parser = [
        cell({"megabytes": parse["model_megabytes"][name], "score": parse["las"][f"{name}, test"]})
        for name in ("rich", "rich, compact")
    ]
    return [*rows, ("EWT parser, LAS", *parser, "")]


def memory_rows() -> list[tuple[str, str, str, str]]:
    """(model, tagging with it, with its compact form, training), the peak memory of a process."""
    cell = lambda row: f"{row['memory']:.0f} MB" if row is not None and "memory" in row else ""  # noqa: E731
    rows = [(what, *(cell(found.get(name)) for name in ("full", "compact", "training")))
            for what, found in _result("size").items()]  # fmt: skip
    return [row for row in rows if any(row[1:])]


def _speed_row(what: str, mine: float, theirs: float) -> tuple[str, str, str, str]:
    return what, f"{mine:.2f} s", f"{theirs:.2f} s", _ratio(theirs / mine)


def _memory_row(what: str, mine: float, theirs: float) -> tuple[str, str, str, str]:
    return what, f"{mine:.0f} MB", f"{theirs:.0f} MB", _ratio(theirs / mine)


def _ratio(times: float) -> str:
    """Only a win is bold."""
    return f"**{times:.1f}x**" if times >= 1.05 else f"{times:.1f}x"


def quality_rows() -> list[tuple[str, str]]:
    chunking, np, ewt, jnlpba = (_result(name) for name in ("chunking", "np", "ewt", "jnlpba"))
    percent = lambda values: f"{100 * statistics.mean(values):.2f}"  # noqa: E731
    return [
        ("CoNLL-2000, all chunks, the 19 CRF++ templates", f"F1 {percent(chunking['f1'])}"),
        ("CoNLL-2000, NP, order 2 with observations on pairs and triples, 12 passes",
         f"F1 {percent(np['order 2']['f1'])}"),
        ("UD English-EWT, UPOS / XPOS, `--features pos --order 2`",
         f"accuracy {percent(ewt['upos']['accuracy'])} / {percent(ewt['xpos']['accuracy'])}"),
        ("JNLPBA, five entity types, `--features ner`", f"F1 {percent(jnlpba['f1'])}"),
    ]  # fmt: skip


def newcomer_rows() -> list[str]:
    """The plain default commands beside those of the rivals, whole processes."""
    return [
        "| the default command of each | | score on test | train, CPU | memory | model | tag test, CPU | memory |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
        *(f"| {' | '.join(row)} |" for row in newcomer.rows(_result("newcomer"))),
        "",
    ]


def table() -> str:
    lines = [
        *newcomer_rows(),
        "| CoNLL-2000, averaged perceptron, 10 passes, one core | palmette | python-crfsuite | |",
        "|---|--:|--:|--:|",
    ]
    lines += [f"| {' | '.join(row)} |" for row in speed_rows()]
    lines += ["", "| size of the model file (score on test) | full | compact | python-crfsuite |", "|---|--:|--:|--:|"]
    lines += [f"| {' | '.join(row)} |" for row in size_rows()]
    if memory_rows():
        lines += [
            "",
            "| peak memory of a process | tag a sentence | with the compact model | train |",
            "|---|--:|--:|--:|",
        ]
        lines += [f"| {' | '.join(row)} |" for row in memory_rows()]
    lines += ["", "| quality on test, mean over fixed seeds | |", "|---|---|"]
    lines += [f"| {a} | {b} |" for a, b in quality_rows()]
    return "\n".join(lines)


def readme_table() -> str:
    """The rows of README: the default commands first, then what the same work costs, and where the rival is ahead."""
    both, size, start = _result("newcomer"), _result("size"), _result("start")
    chunks, tags = both["chunks"], both["tags"]
    pipeline = _result("udpipe")[udpipe_page.ENGLISH]
    las = [pipeline[side]["raw"]["LAS"] for side in (udpipe_page.OURS, udpipe_page.PUBLISHED)]
    train, tag = ([median(_result(name)["warm"][side]) for side in SIDES] for name in ("train", "tag"))
    model = next(iter(size.values()))
    one = [median(start["one sentence"][side]["cpu"]) for side in SIDES]
    scored = lambda row: f"{row['score']:.1f} in {row['train']['cpu']:.0f} s"  # noqa: E731
    rows = [
        ("CoNLL-2000 chunks, the default command: F1, training CPU", scored(chunks["palmette"]),
         f"python-crfsuite: {scored(chunks[SIDES[1]])}"),
        ("English parts of speech (EWT), the default command: accuracy, training CPU", scored(tags["palmette"]),
         f"NLTK: {scored(tags['NLTK'])}"),
        ("English text to trees (EWT), the default command: LAS from raw text", f"{las[0]:.1f}",
         f"UDPipe 1.2, published: {las[1]:.1f}"),
        ("Size of the model of chunks, the default command", f"{chunks['palmette']['model megabytes']:.1f} MB",
         f"python-crfsuite: {chunks[SIDES[1]]['model megabytes']:.1f} MB"),
        ("The same features and learner: train / tag 474,000 tokens, one core", f"{train[0]:.2f} s / {tag[0]:.2f} s",
         f"python-crfsuite: {train[1]:.2f} s / {tag[1]:.2f} s"),
        ("Size of that model, compact, F1 on test",
         f"{model['compact']['megabytes']:.1f} MB, {model['compact']['score']:.1f}",
         f"python-crfsuite: {model[SIDES[1]]['megabytes']:.1f} MB, {model[SIDES[1]]['score']:.1f}"),
        ("Start a program and tag one sentence, CPU", f"{one[0]:.2f} s", f"python-crfsuite: {one[1]:.2f} s"),
    ]  # fmt: skip
    return "\n".join(["| | Palmette | others |", "|---|--:|--:|", *(f"| {' | '.join(row)} |" for row in rows)])


def fill(page: Path, made: str, marks: tuple[str, str] = (BEGIN, END)) -> None:
    """Put a table between the marks of a page."""
    begin, end = marks
    text = page.read_text(encoding="utf-8")
    head, _, rest = text.partition(begin)
    _, _, tail = rest.partition(end)
    page.write_text(f"{head}{begin}\n{made}\n{end}{tail}", encoding="utf-8")


def write_report() -> None:
    """Put the tables between the marks of the pages, and draw the chart."""
    fill(HERE.parent / "README.md", readme_table())
    fill(HERE.parent / "docs" / "benchmarks.md", table())
    fill(HERE.parent / "docs" / "latent.md", latent.table(_result("latent")))
    fill(HERE.parent / "docs" / "benchmarks.md", "\n".join(serve.table(_result("serve"))), SERVE)
    fill(HERE.parent / "docs" / "sklearn_crfsuite.md", downstream.page(_result("downstream")), DOWNSTREAM)
    fill(HERE.parent / "docs" / "pipeline.md", udpipe_page.page(_result("udpipe")), udpipe_page.MARKS)
    fill(HERE.parent / "docs" / "benchmarks.md", udpipe_page.sentence(_result("udpipe")), udpipe_page.SENTENCE)
    fill(HERE.parent / "docs" / "ready_models.md", english.table(_result("english")), english.MARKS)
    fill(HERE.parent / "docs" / "raw_text.md", raw_text.table(_result("raw")), raw_text.MARKS)
    draw(HERE.parent / "docs" / "images" / "bench.png")
    print(table())


def draw(target: Path) -> None:
    """Seconds of both sides as bars."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    train, tag = _result("train"), _result("tag")
    names = ("train on CoNLL-2000\n(file to saved model)", "tag 474,000 tokens\n(file to file)")
    mine = [median(found["warm"]["palmette"]) for found in (train, tag)]
    theirs = [median(found["warm"]["python-crfsuite"]) for found in (train, tag)]
    figure, axis = plt.subplots(figsize=(8, 2.6))
    for k in range(2):
        y = 1 - k
        axis.barh(y + 0.19, mine[k], 0.34, color="#2d6a4f")
        axis.barh(y - 0.19, theirs[k], 0.34, color="#c9c9c9")
        axis.text(mine[k] + 0.08, y + 0.19, f"palmette  {mine[k]:.2f} s", va="center", fontweight="bold", fontsize=10)
        label = f"python-crfsuite  {theirs[k]:.2f} s  ({theirs[k] / mine[k]:.0f}x)"
        axis.text(theirs[k] + 0.08, y - 0.19, label, va="center", fontsize=10)
    axis.set_yticks([1, 0], names)
    axis.set_xlim(0, max(theirs) * 1.45)
    axis.set_xlabel("seconds, one core, same features (19 templates), averaged perceptron")
    axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=140)
