"""`palmette demo`: a ready model on three sentences, then a tagger and a chunker trained in seconds."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from contextlib import nullcontext
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
    "pos": "2. Train a part-of-speech tagger: words to Penn tags",
    "chunk": "3. Train a chunker: words and tags to phrases",
}
ENGLISH = "en"
TEXT = (
    "Mary Wollstonecraft moved from London to Paris in 1792. Her daughter grew up in Scotland and wrote near "
    "Lake Geneva. The University of Oxford keeps most of its pages."
)
DRAWN = 1  # the sentence of TEXT whose tree is shown
FOLDER = "palmette-demo"
WEIGHED = 6  # contributions of an explanation


class Demo(ForceOptions, Command):
    """Show the English model on three sentences, then train and show a tagger and a chunker on a small corpus."""

    folder: str | None = option(
        default=None, flag="output", short="o", metavar="FOLDER", path="folder",
        help="Where to write the corpus and the two model files, pos.palm and chunk.palm (default: a new folder "
        f"{FOLDER}; with --corpus or --dataset here).",
    )  # fmt: skip
    text: str | None = option(default=None, help="A sentence to tag at the end; on a terminal you are asked for one.")
    verbose: bool = option(default=False, help="Show the training log.")
    corpus: bool | None = option(
        default=None, group="data", help="Write the corpus: train.txt, dev.txt and test.txt (default: yes)."
    )
    dataset: str | None = option(
        default=None, choices=DATA, group="data",
        help="Only write other data there, as NAME.txt and NAME_test.txt (trees: .conllu), for the examples in docs.",
    )  # fmt: skip

    def run(self) -> None:
        if self.dataset is not None:
            if self.text is not None:
                raise UsageError("--dataset only writes files: leave --text out")
            _write_data(self.dataset, self.folder or ".", self.force)
            return
        from palmette.data import model_file
        from palmette.reports.tables import OutputConsole

        folder = self.folder or ("." if self.corpus else FOLDER)
        if self.folder is None:
            os.makedirs(folder, exist_ok=True)
        targets = {name: os.path.join(folder, f"{name}.palm") for name in ("pos", "chunk")}
        for path in targets.values():
            model_file.check_output(path)
            check_replaced(self, path)
        if self.corpus is not False:
            _write_corpus(folder, self.force)
        console = OutputConsole(80)
        _show_english(console)
        if folder != ".":
            console.print(f"\n[dim]The commands below run in the folder that the demo makes: cd {folder}[/dim]")
        _compile_first()
        with as_file(files("palmette") / "datasets" / "files") as shipped:
            with nullcontext() if self.verbose else library_muted():
                pos, chunk = (
                    _train(console, kind, shipped, targets[kind], self.quiet or not self.verbose) for kind in targets
                )
            _show_scores(console, pos, chunk, shipped)
        _show_learnt(console, pos, chunk)
        _show_sentences(console, pos, chunk, self.text)
        _what_next(console, targets)


def _show_english(console: Console) -> None:
    """The sentences of TEXT with entities and tags, and a tree, if the English model is installed."""
    from palmette.data.formats.conllu_light import tree_of
    from palmette.lazy import loaded
    from palmette.reports.sentence import draw_chunks

    if ENGLISH not in loaded("models:installed")():
        return
    console.print("[bold]1. A model that is ready: text to words, tags, entities, trees[/bold]")
    document = loaded("models:load")(ENGLISH)(TEXT)
    _print_command(console, f'palmette tag {ENGLISH} "{document.sentences[DRAWN].text}" --draw')
    labels = document.treebank.entities.cells()
    for sentence in document.sentences:
        words = sentence.words
        console.print(draw_chunks([[word.form, word.upos] for word in words], [labels[word.index] for word in words]))
    console.print(loaded("parsing.drawing:draw_tree")(tree_of(document.treebank, DRAWN)))


def _compile_first() -> None:
    """Compile on two sentences, so that the seconds shown later are those of training."""
    from palmette import Tagger
    from palmette.datasets import load_demo

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
    from palmette import Tagger
    from palmette.data import FormatSpec
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
    from palmette.data import FormatSpec
    from palmette.data.formats.registry import read_corpus
    from palmette.evaluation.scores import by_name
    from palmette.reports.tables import part_table

    console.print("\n[bold]4. How good are they on 80 sentences that they have never seen?[/bold]")
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


def _show_learnt(console: Console, pos: Tagger, chunk: Tagger) -> None:
    from rich.markup import escape

    from palmette.reports.inspection import top_attributes
    from palmette.reports.sentence import print_explanation

    console.print("[bold]5. What did the chunker learn?[/bold] [dim](palmette inspect chunk.palm)[/dim]")
    for label in ("B-NP", "I-NP", "B-VP", "B-PP"):
        rows = top_attributes(chunk.model_, label, 4)
        console.print(f"{label:6}" + "  ".join(f"{escape(r['name'])} [dim]{r['weight']:+.1f}[/dim]" for r in rows))
    words = ["Time", "flies", "like", "an", "arrow", "."]
    console.print(f"\n[bold]6. Why these phrases?[/bold] {' '.join(words)}")
    _print_command(console, 'palmette explain chunk.palm "Time flies like an arrow." --with pos=pos.palm')
    (tags,) = pos.predict([words])
    print_explanation(chunk.explain(list(zip(words, tags, strict=True))), WEIGHED, console)


def _show_sentences(console: Console, pos: Tagger, chunk: Tagger, text: str | None) -> None:
    from palmette.reports.sentence import draw_chunks, tag_sentence

    console.print("\n[bold]7. And on a sentence of yours?[/bold]")
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
