"""Make a model of `recipes.py` from its corpora: train the pipeline, make it small, write the file and its card.

python models/build.py en --data ../shared/data             # train, write the model and its card
python models/build.py en --data ../shared/data --check     # train, and compare with the model that is there
python models/build.py en --data ../shared/data --test      # score the model that is there on test data
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from recipes import RECIPES, Recipe

from palmette import Pipeline, __version__
from palmette.data import Treebank, read_treebank
from palmette.models import CARD, MODEL
from palmette.models.card import NOTICE, README, card_text, notice_text
from palmette.pipeline.model import PipelineModel, StoredComponent

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ROOT / "src" / "palmette" / "models"
LOSS = 0.5  # points of F1 of entities on the data that they are trained on


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", choices=RECIPES)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="the corpora")
    parser.add_argument("--packages", type=Path, metavar="FOLDER", help="where packages with word lists are kept")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="where to write (default: into the package)")
    parser.add_argument("--threads", type=int, default=2, help="components that learn at the same time")
    parser.add_argument("--test", action="store_true", help="only score the model on test data, for its card")
    parser.add_argument("--check", action="store_true", help="write nothing; compare with the checksum in the card")
    given = parser.parse_args()
    recipe = RECIPES[given.language]
    folder = given.output or SHIPPED / given.language
    if given.test:
        about = json.loads((folder / CARD).read_text(encoding="utf-8"))
        about["scores"]["test"] = scores(folder / MODEL, recipe, given.data, given.threads)
        write_card(folder, about)
        return
    with tempfile.TemporaryDirectory() as scratch:
        begun = time.process_time()
        model = built(recipe, given.data, given.packages, Path(scratch), given.threads)
        seconds = time.process_time() - begun
        path = Path(scratch) / MODEL
        model.save(path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if given.check:
            known = json.loads((folder / CARD).read_text(encoding="utf-8"))["sha256"]
            print("the same" if known == digest else f"another file: {digest}, the card has {known}")
            raise SystemExit(known != digest)
        about = card(given.language, recipe, path, digest, seconds)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MODEL).write_bytes(path.read_bytes())
    write_card(folder, about)


def built(recipe: Recipe, data: Path, packages: Path | None, scratch: Path, threads: int) -> PipelineModel:
    """The small pipeline."""
    train, dev = (data / recipe.treebank.format(part=part) for part in ("train", "dev"))
    pipeline = Pipeline(components=("tok", "tag", "lemma", "parse"), most_loss=recipe.most_loss)
    model = pipeline.fit_file(train, dev, threads=threads).model_
    if not recipe.entities:
        return model
    from entities import train as train_entities

    made, known = train_entities(model.component("tag"), data / "ner-en", train, scratch, packages or scratch)
    made.compact(known, LOSS)
    components = {name: model.component(name) for name in model.names} | {"entities": made}
    meta = msgspec.structs.replace(model.meta, components=model.meta.components | {"entities": StoredComponent({})})
    return PipelineModel(components, meta)


# The card


def card(name: str, recipe: Recipe, path: Path, digest: str, seconds: float) -> dict[str, Any]:
    """What is known of a model but its scores on test data."""
    model = PipelineModel.load(path)
    dev = {metric: value for stored in model.meta.components.values() for metric, value in stored.dev.items()}
    return {
        "name": name, "language": recipe.language, "version": __version__, "licence": recipe.licence,
        "about": recipe.about, "components": list(model.names), "bytes": path.stat().st_size, "sha256": digest,
        "training_seconds": round(seconds), "scores": {"dev": dev},
        "limits": list(recipe.limits), "sources": [source._asdict() for source in recipe.sources],
    }  # fmt: skip


def scores(path: Path, recipe: Recipe, data: Path, threads: int) -> dict[str, Any]:
    """F1 on test data by the names of the CoNLL 2018 scorer, from raw text and from gold words, and of entities."""
    pipeline = Pipeline.load(path)
    gold = read_treebank(data / recipe.treebank.format(part="test"))
    found: dict[str, Any] = {}
    for source in ("text", "gold-tokens"):
        measured = pipeline.evaluate(gold, input=source, threads=threads)
        shares = {metric: measured[metric].f1 for metric in measured.metrics}
        found[source] = {metric: round(100 * share, 2) for metric, share in shares.items() if share is not None}
    if recipe.entity_test is not None:
        from entities import as_treebank, mapped, read_labelled

        known = as_treebank([mapped(one) for one in read_labelled(data / recipe.entity_test)], "test")
        found["entities"] = entity_scores(known, pipeline.annotate(known.with_entities(None), threads=threads))
    return found


def entity_scores(gold: Treebank, found: Treebank) -> dict[str, float]:
    """Precision, recall and F1 of entities, and F1 by type."""
    from palmette.evaluation.scores import score

    assert gold.entities is not None
    assert found.entities is not None
    labels = sorted({*gold.entities.types, *found.entities.types})
    number = {label: k for k, label in enumerate(labels)}
    ids = [np.array([number[cell] for cell in column.cells()]) for column in (gold.entities, found.entities)]
    made = score(ids[0], ids[1], gold.offset, labels)
    figures = {"precision": made.precision, "recall": made.recall, "F1": made.f1}
    figures |= {name: row.f1 for name, row in made.by_type.items()}
    return {name: round(100 * share, 2) for name, share in figures.items() if share is not None}


def write_card(folder: Path, about: dict[str, Any]) -> None:
    """Write the card as JSON and for people, and the notice of the licence."""
    (folder / CARD).write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / README).write_text(card_text(about), encoding="utf-8")
    (folder / NOTICE).write_text(notice_text(about), encoding="utf-8")


if __name__ == "__main__":
    main()
