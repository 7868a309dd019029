"""UDPipe 1 as its authors trained it: the settings that they published with the models of UD 2.5, treebank by treebank.

They learn for fewer passes than the authors' (LENGTHS), for about forty minutes of CPU in all. `python -m
bench.udpipe_rival vi tr ewt` trains them ahead of `python -m bench udpipe`; `--epochs 100 --iterations 30` is as long
as the authors did, and takes hours. A part in bench/out/udpipe that learnt for as many passes, or more, is used again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import HERE, data_folder, process
from bench.word_vectors import skip_gram, write_vectors

OUT = HERE / "out" / "udpipe"
FILES = {"vi": "ud-vi/vi_vtb-ud", "tr": "ud-tr/tr_imst-ud", "ewt": "ud-ewt/en_ewt-ud"}
PARTS = ("tagger", "parser", "tokenizer")  # the parser learns from what the tagger finds
EPOCHS, ITERATIONS = 100, 30  # of tokenizer and parser
NONE = "none"
# What differs between treebanks; the rest is in `options`.
TOKENIZER = {
    "vi": "dimension=64;segment_size=200;initialization_range=0.2;learning_rate=0.005;dropout=0.3",
    "tr": "dimension=24;segment_size=50;initialization_range=0.1;learning_rate=0.002;dropout=0.1",
    "ewt": "dimension=64;segment_size=200;initialization_range=0.2;learning_rate=0.005;dropout=0.3",
}
TAGGER = {
    "vi": {"rules": (8, 8), "enrich": (6, 4), "lemma": 1, "tags": 1, "prune": 0},
    "tr": {"rules": (8, 8), "enrich": (6, 4), "lemma": 1, "tags": 0, "prune": 1},
    "ewt": {"rules": (10, 6), "enrich": (6, 4), "lemma": 0, "tags": 0, "prune": 0},
}
PARSER = {"vi": "l2=0.3;structured_interval=10", "tr": "l2=0.5;structured_interval=8",
          "ewt": "l2=0.3;structured_interval=10"}  # fmt: skip


class Length(NamedTuple):
    """How long UDPipe learns: passes of the tokenizer and of the parser. The default is its authors'."""

    epochs: int = EPOCHS
    iterations: int = ITERATIONS


WHOLE = Length()
# Most of what there is to learn is learnt by then. An epoch of the Vietnamese tokenizer, whose tokens contain blanks,
# takes a minute and a half.
LENGTHS = {"vi": Length(10, 8), "tr": Length(25, 8), "ewt": WHOLE}


def options(name: str, vectors: Path, length: Length = WHOLE) -> dict[str, str]:
    """Settings of each of PARTS: `models-ud-2.5/params_*` of the authors."""
    t: Any = TAGGER[name]
    tokenizer = f"{TOKENIZER[name]};epochs={length.epochs};batch_size=50;learning_rate_final=0;early_stopping=1"
    tagger = (
        f"models=2;templates_1=tagger;guesser_suffix_rules_1={t['rules'][0]};guesser_enrich_dictionary_1={t['enrich'][0]};"
        f"guesser_prefixes_max_1=0;use_lemma_1={t['lemma']};use_xpostag_1=1;use_feats_1=1;provide_lemma_1=0;"
        f"provide_xpostag_1=1;provide_feats_1=1;prune_features_1=0;"
        f"templates_2=lemmatizer;guesser_suffix_rules_2={t['rules'][1]};guesser_enrich_dictionary_2={t['enrich'][1]};"
        f"guesser_prefixes_max_2=4;use_lemma_2=1;use_xpostag_2={t['tags']};use_feats_2={t['tags']};provide_lemma_2=1;"
        f"provide_xpostag_2=0;provide_feats_2=0;prune_features_2={t['prune']}"
    )
    parser = (
        f"iterations={length.iterations};embedding_upostag=20;embedding_feats=20;embedding_xpostag=0;embedding_form=50;"
        f"embedding_form_file={vectors};embedding_lemma=0;embedding_deprel=20;learning_rate=0.01;"
        f"learning_rate_final=0.001;hidden_layer=200;batch_size=10;transition_system=projective;"
        f"transition_oracle=dynamic;{PARSER[name]}"
    )
    return {"tagger": tagger, "parser": parser, "tokenizer": tokenizer}


def trained(name: str, data: Path, length: Length = WHOLE) -> dict[str, Any]:
    """The record of a model, whose parts are trained unless they are there already."""
    found = {part: trained_part(name, part, data, length) for part in PARTS}
    _joined(name)
    return {
        "parts": found,
        "cpu": sum(part["cpu"] for part in found.values()),
        "megabytes": max(part["megabytes"] for part in found.values()),
        "model_megabytes": _file(name).stat().st_size / 1e6,
    }


def is_made(name: str) -> bool:
    """Whether all parts have been trained."""
    return all(_file(name, part, "json").exists() for part in PARTS)


def trained_part(name: str, part: str, data: Path, length: Length = WHOLE) -> dict[str, float]:
    """The record of one of PARTS, which is trained in a process of its own unless it has learnt as long before."""
    OUT.mkdir(parents=True, exist_ok=True)
    record = _file(name, part, "json")
    passes = {"tokenizer": length.epochs, "parser": length.iterations}.get(part, 0)
    if record.exists():
        found: dict[str, float] = json.loads(record.read_text(encoding="utf-8"))
        if found.get("passes", 0) >= passes:
            return found
    print(f"training UDPipe: {name}, {part}; its log is {_file(name, part, 'log')}", file=sys.stderr, flush=True)
    told = [sys.executable, "-m", "bench.udpipe_rival", "train", part, name, str(data), *map(str, length)]
    took, cpu, peak = process(told)
    figures = {"seconds": took, "cpu": cpu, "megabytes": peak} | ({"passes": passes} if passes else {})
    record.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return figures


def _file(name: str, part: str = "", kind: str = "udpipe") -> Path:
    return OUT / f"{name}{part and '-'}{part}.{kind}"


def train(part: str, name: str, data: Path, length: Length) -> None:
    """Files to a saved model with one component, the parser's with the tagger; the program reports to a log."""
    log = os.open(_file(name, part, "log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(log, sys.stderr.fileno())
    learnt, heldout = (_sentences(data / f"{FILES[name]}-{half}.conllu") for half in ("train", "dev"))
    vectors = _file(name, "forms", "vectors")
    if part == "parser" and not vectors.exists():
        forms = [[word.form.replace(" ", "\u00a0") for word in list(s.words)[1:]] for s in learnt]
        write_vectors(vectors, *skip_gram(forms))
    chosen = dict.fromkeys(PARTS, NONE) | {part: options(name, vectors, length)[part]}
    if part == "parser":
        chosen["tagger"] = f"from_model=file:{_file(name, 'tagger')}"
    _save(_file(name, part), learnt, heldout, chosen)


def _joined(name: str) -> None:
    """One model of all parts."""
    _save(_file(name), None, None, {part: f"from_model=file:{_file(name, part)}" for part in PARTS})


def _save(path: Path, learnt: Any, heldout: Any, settings: dict[str, str]) -> None:
    from ufal import udpipe

    learnt, heldout = learnt or udpipe.Sentences(), heldout or udpipe.Sentences()
    complaint = udpipe.ProcessingError()
    told = (settings[part] for part in ("tokenizer", "tagger", "parser"))
    model = udpipe.Trainer.train("morphodita_parsito", learnt, heldout, *told, complaint)
    if complaint.occurred():
        sys.exit(complaint.message)
    path.write_bytes(model)


def _sentences(path: Path) -> Any:
    from ufal import udpipe

    read, reader, sentence = udpipe.Sentences(), udpipe.InputFormat.newConlluInputFormat(), udpipe.Sentence()
    reader.setText(path.read_text(encoding="utf-8"))
    complaint = udpipe.ProcessingError()
    while reader.nextSentence(sentence, complaint):
        read.append(sentence)
        sentence = udpipe.Sentence()
    if complaint.occurred():
        sys.exit(f"{path}: {complaint.message}")
    return read


def pipeline(name: str, source: str) -> Any:
    """Plain text (source "tokenize") or CoNLL-U (source "conllu") to CoNLL-U."""
    from ufal import udpipe

    model = udpipe.Model.load(str(OUT / f"{name}.udpipe"))
    made = udpipe.Pipeline(model, source, udpipe.Pipeline.DEFAULT, udpipe.Pipeline.DEFAULT, "conllu")
    made.model = model  # it is not kept by the pipeline itself
    return made


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.udpipe_rival", description=__doc__)
    parser.add_argument("names", nargs="+", choices=list(FILES))
    parser.add_argument("--data", help="folder of the corpora (default ../shared/data)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="(default: all)")
    parser.add_argument("--epochs", type=int, help="of the tokenizer (default: as the benchmark; its authors: 100)")
    parser.add_argument("--iterations", type=int, help="of the parser (default: as the benchmark; its authors: 30)")
    given = parser.parse_args()
    data = data_folder(given.data)
    for name in given.names:
        usual = LENGTHS[name]
        length = Length(given.epochs or usual.epochs, given.iterations or usual.iterations)
        for part in given.parts:
            print(name, part, trained_part(name, part, data, length), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["train"]:
        train(sys.argv[2], sys.argv[3], Path(sys.argv[4]), Length(*map(int, sys.argv[5:7])))
    else:
        main()
