"""`palmette demo`: train a tagger and a chunker and tag a sentence, in half a minute."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from palmette.cli.command import Command, ForceOptions, check_replaced
from palmette.cli.output import library_muted
from palmette.errors import UsageError, counted
from palmette.options.declare import option

if TYPE_CHECKING:
    from rich.console import Console

    from palmette.estimators.tagger import Tagger

SENTENCE = "The old ferry had not left the harbour when the first guests arrived with their heavy bags."


DATA = ("vowels", "acronyms", "sentences", "grammaticality", "trees")  # of `datasets.example_files`
TITLES = {
    "pos": "1. A part-of-speech tagger: words to Penn tags",
    "chunk": "2. A chunker: words and tags to phrases",
}


class Demo(ForceOptions, Command):
    """Train and show a tagger and a chunker on a small corpus that ships with palmette."""

    folder: str = option(
        default=".", flag="output", short="o", metavar="FOLDER", path="folder",
        help="Where to write the corpus and the two model files, pos.palm and chunk.palm.",
    )  # fmt: skip
    text: str | None = option(default=None, help="A sentence to tag at the end; on a terminal you are asked for one.")
    corpus: bool = option(default=True, group="data", help="Write the corpus: train.txt, dev.txt and test.txt.")
    data: str | None = option(
        default=None, choices=DATA, group="data",
        help="Only write other data there, as NAME.txt and NAME_test.txt (trees: .conllu), for the examples in docs.",
    )  # fmt: skip

    def run(self) -> None:
        if self.data is not None:
            if self.text is not None:
                raise UsageError("--data only writes files: leave --text out")
            _write_data(self.data, self.folder, self.force)
            return
        from palmette.data import model_file
        from palmette.reports.tables import OutputConsole

        targets = {name: os.path.join(self.folder, f"{name}.palm") for name in ("pos", "chunk")}
        for path in targets.values():
            model_file.check_output(path)
            check_replaced(self, path)
        if self.corpus:
            _write_corpus(self.folder, self.force)
        console = OutputConsole(80)
        _compile_first()
        with as_file(files("palmette") / "datasets" / "files") as shipped:
            pos, chunk = (_train(console, kind, shipped, targets[kind], self.quiet) for kind in targets)
            _show_scores(console, pos, chunk, shipped)
        _show_learnt(console, chunk)
        _show_sentences(console, pos, chunk, self.text)
        _what_next(console, targets)


def _compile_first() -> None:
    """Compile on two sentences, so that the seconds shown later are those of training."""
    from palmette import Tagger, load_demo

    X, y = load_demo("dev")
    with library_muted():
        tagger = Tagger(passes=1).fit(X[:2], y[:2])
    tagger.predict(X[:1])


def _write_corpus(folder: str, force: bool) -> None:
    from palmette.datasets import PARTS, demo_text

    _write_texts({f"{part}.txt": demo_text(part) for part in PARTS}, folder, force, ", or --no-corpus")


def _write_data(name: str, folder: str, force: bool) -> None:
    from palmette.datasets import example_files

    _write_texts(example_files(name), folder, force)


def _write_texts(texts: Mapping[str, str], folder: str, force: bool, otherwise: str = "") -> None:
    """Write files, and replace files with other content only if `force` is set."""
    from palmette.data.files import write_whole

    made = {os.path.join(folder, name): text.encode() for name, text in texts.items()}
    for path, text in made.items():
        if not force and os.path.exists(path) and Path(path).read_bytes() != text:
            raise UsageError(
                f"{path} is another file: choose a folder with --output{otherwise}, or replace it with --force"
            )
    for path, text in made.items():
        with write_whole(path) as out:
            out.write(text)


def _train(console: Console, kind: str, data: Path, target: str, quiet: bool) -> Tagger:
    from palmette import FormatSpec, Tagger
    from palmette.reports.progress import TrainingDisplay

    console.print(f"\n[bold]{TITLES[kind]}[/bold]")
    spec = FormatSpec(label="1", columns=("0",)) if kind == "pos" else FormatSpec()
    tagger = Tagger()
    command = f"palmette train train.txt -o {kind}.palm" + (" --label 1 --columns 0" if kind == "pos" else "")
    _print_command(console, command)
    sys.stdout.flush()
    with TrainingDisplay(tagger._settings().n_passes(), None, quiet) as display:
        tagger.fit_file(data / "train.txt", spec=spec, progress=display)
    tagger.save(target)
    history = tagger.outcome_.training_log
    seconds = sum(p.seconds for p in history)
    model = tagger.model_
    n = sum(feature_index.size for feature_index in model.feature_indexes.values())
    console.print(
        f"{counted(len(model.labels), 'label')}, {counted(n, 'attribute')}, "
        f"{counted(len(history), 'pass', 'passes')} in {seconds:.2f} s: {target}"
    )
    return tagger


def _show_scores(console: Console, pos: Tagger, chunk: Tagger, data: Path) -> None:
    from palmette import FormatSpec
    from palmette.data.formats.registry import read_corpus
    from palmette.evaluation.scores import by_name
    from palmette.reports.tables import part_table

    console.print("\n[bold]3. How good are they on 80 sentences that they have never seen?[/bold]")
    tags = pos.evaluate(read_corpus(data / "test.txt", FormatSpec(label="1", columns=("0",))))
    spans = chunk.evaluate(read_corpus(data / "test.txt", FormatSpec()))
    assert tags.unseen_accuracy is not None
    assert spans.f1 is not None
    console.print(
        f"tags   {100 * tags.accuracy:.1f}% right ({100 * tags.unseen_accuracy:.1f}% on the "
        f"{tags.unseen_tokens} words that were not in the training data)"
    )
    console.print(f"chunks F1 {100 * spans.f1:.1f}, tokens {100 * spans.accuracy:.1f}% right")
    console.print(part_table(by_name("", spans.by_type, 6)))


def _show_learnt(console: Console, chunk: Tagger) -> None:
    from rich.markup import escape

    from palmette.reports.inspection import top_attributes

    console.print("[bold]4. What did the chunker learn?[/bold] [dim](palmette inspect chunk.palm)[/dim]")
    for label in ("B-NP", "I-NP", "B-VP", "B-PP"):
        rows = top_attributes(chunk.model_, label, 4)
        console.print(f"{label:6}" + "  ".join(f"{escape(r['name'])} [dim]{r['weight']:+.1f}[/dim]" for r in rows))


def _show_sentences(console: Console, pos: Tagger, chunk: Tagger, text: str | None) -> None:
    from palmette.reports.sentence import draw_chunks, tag_sentence

    console.print("\n[bold]5. And on a sentence of yours?[/bold]")
    if text is None and sys.stdin.isatty() and sys.stdout.isatty():
        console.print("[dim]Type one and press Enter (just Enter for ours):[/dim]")
        text = sys.stdin.readline()
    text = text.strip() if text and text.strip() else SENTENCE
    corpus, labels = tag_sentence(chunk, [pos], text)
    console.print(draw_chunks(corpus.sentence(0), labels))


def _what_next(console: Console, targets: dict[str, str]) -> None:
    pos, chunk = targets["pos"], targets["chunk"]
    console.print("\n[bold]Next[/bold]")
    for command in (
        f'palmette tag {chunk} --with pos={pos} --text "Your own sentence here."',
        f"palmette inspect {chunk}",
        f'palmette explain {chunk} "Time flies like an arrow." --with pos={pos}',
        "palmette train your-file.txt -o my.palm",
    ):
        _print_command(console, command, "  ")


def _print_command(console: Console, command: str, indent: str = "") -> None:
    """A command that can be copied, on several lines if the terminal is narrow: broken before options only."""
    parts = re.split(r" (?=--?[a-z])", command)
    lines = [parts[0]]
    for part in parts[1:]:
        if len(indent) + len(lines[-1]) + len(part) + 3 <= console.width:
            lines[-1] += f" {part}"
        else:
            lines.append(f"    {part}")
    shown = " \\\n".join(indent + line for line in lines)
    console.print(shown, style="dim", markup=False, soft_wrap=True)
