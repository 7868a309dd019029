"""Pipelines from the small treebank that ships: trained, used, kept, scored, from Python and from the command line."""

from __future__ import annotations

import gzip
import io
import json
import signal
import time
from collections.abc import Iterable
from itertools import compress, product
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from cli_run import Cli
from udtools.udeval import evaluate, load_conllu

from palmette import Parser, Pipeline, Tagger
from palmette.data import parse_treebank, read_treebank, treebank_bytes
from palmette.data.treebank import NOTHING
from palmette.datasets import example_files, load_trees
from palmette.errors import DataError, ModelError, UsageError
from palmette.pipeline import gold_split, tags
from palmette.pipeline import train as training
from palmette.pipeline.display import inspect_pipeline

TRAIN, TEST = "trees.conllu", "trees_test.conllu"
TEXT = "The old ferry crosses the lake. It rains.\n\nShe baked bread for her brother.\n"
QUICK = {"passes": 3, "folds": 2, "beam": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The treebank, a text, and a pipeline."""
    made = tmp_path_factory.mktemp("pipeline")
    for name, text in example_files("trees").items():
        (made / name).write_text(text, encoding="utf-8")
    (made / "text.txt").write_text(TEXT, encoding="utf-8")
    Pipeline(**QUICK).fit_file(made / TRAIN, made / TEST).save(made / "en.palm")
    return made


@pytest.fixture
def cli(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(folder, capsys, monkeypatch)


@pytest.fixture
def nlp(folder: Path) -> Pipeline:
    return Pipeline.load(folder / "en.palm")


# Training


def test_seeds_and_threads(folder: Path, tmp_path: Path) -> None:
    trees = read_treebank(folder / TRAIN), read_treebank(folder / TEST)
    Pipeline(**QUICK).fit(*trees, threads=1).save(tmp_path / "again.palm")
    assert (tmp_path / "again.palm").read_bytes() == (folder / "en.palm").read_bytes()


def test_training_tells_what_it_does(cli: Cli) -> None:
    ran = cli(f"pipeline train {TRAIN} --dev {TEST} -o told.palm --passes 1 --folds 2 --beam 1")
    assert ran.code == 0, ran.err
    steps = [line.split("  ")[0] for line in ran.err.splitlines()]
    assert set(steps) == {"fold 1 of 2", "fold 2 of 2", "tok", "tag", "lemma", "parse", "dev scores"}
    assert steps[-2:] == ["parse", "dev scores"]
    assert "saved told.palm" in ran.out
    about = json.loads(cli.fine("pipeline inspect told.palm --json"))
    assert about["settings"]["passes"] == 1
    assert about["trained_on"] == {"sentences": 48, "words": 365, "dev_sentences": 12, "dev_words": 101}
    assert set(about["components"]["parse"]["dev"]) == {"UAS", "LAS", "CLAS"}


def test_some_components(cli: Cli) -> None:
    line = f"pipeline train {TRAIN} -o some.palm --components tag,tok --passes 1 --json"
    about = json.loads(cli.fine(line))
    assert list(about["components"]) == ["tok", "tag"]
    assert set(about["seconds_by_step"]) == {"tok", "tag"}
    out = cli.fine("pipeline run some.palm text.txt")
    assert {row[2] for row in rows(out)} == {NOTHING}
    assert {row[6] for row in rows(out)} == {NOTHING}
    assert NOTHING not in {row[3] for row in rows(out)}
    assert "choose from tok, tag, lemma, parse" in cli(f"pipeline train {TRAIN} -o x.palm --components tagger").err
    ran = cli("pipeline run some.palm text.txt --components parse --format conllu")
    assert ran.code == 2
    assert "the pipeline has no component 'parse'; it has tok, tag" in ran.err


def test_what_the_treebank_lacks_is_left_out(folder: Path, logged: list[str]) -> None:
    bank = load_trees("test")
    for field in ("lemma", "xpos"):
        bank = bank.with_column(field, parse_treebank(b"1\tx\t_\tX\t_\t_\t0\troot\t_\t_\n\n" * 101, "x").column("xpos"))
    made = Pipeline(**QUICK).fit(bank)
    assert made.components_ == ("tok", "tag", "parse")
    assert any("nothing to learn for lemma" in message for message in logged)
    assert made("We sing.").words[0].xpos == NOTHING
    assert "XPOS" not in inspect_pipeline(made).about["components"]["tag"]["finds"]


def test_a_treebank_without_heads_can_do_without_the_parser(folder: Path, cli: Cli) -> None:
    rows = [line.split("\t") for line in (folder / TEST).read_text(encoding="utf-8").splitlines()]
    text = "".join("\t".join([*row[:6], "_", "_", *row[8:]] if len(row) == 10 else row) + "\n" for row in rows)
    (folder / "heads.conllu").write_text(text, encoding="utf-8")
    ran = cli("pipeline train heads.conllu -o x.palm")
    assert ran.code == 1
    assert "heads.conllu: no word has a head: there is nothing to parse" in ran.err
    assert "leave the parser out: --components tok,tag,lemma" in ran.err
    with pytest.raises(DataError, match=r"components=\('tag', 'lemma'\)"):
        Pipeline(components=("tag", "lemma", "parse")).fit_file(folder / "heads.conllu")
    with pytest.raises(DataError, match=r"nothing to parse$"):
        Pipeline(components=("parse",)).fit_file(folder / "heads.conllu")


def test_a_treebank_without_text_is_reported(folder: Path, logged: list[str]) -> None:
    lines = (folder / TEST).read_text(encoding="utf-8").splitlines(keepends=True)
    bank = parse_treebank("".join(line for line in lines if not line.startswith("#")).encode(), "bare.conllu")
    Pipeline(components=("tok",), passes=1).fit(bank)
    assert any("bare.conllu" in message and "have no `# text`" in message for message in logged)


def test_jackknifed_columns_are_predicted_ones(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser sees no gold tag: with tags that nothing predicts it would learn from them."""
    seen = []
    monkeypatch.setattr(training.Trees, "fit", lambda self, bank, dev=None, **rest: seen.append((bank, dev)) or self)
    monkeypatch.setattr(training.Trees, "compact", lambda self, dev, loss, **rest: None)
    gold = load_trees("test")
    for jackknife, components in ((True, ("tag", "parse")), (False, ("tag", "parse")), (True, ("parse",))):
        Pipeline(passes=1, folds=3, jackknife=jackknife, components=components).fit(gold)
    predicted, same, alone = (bank for bank, _ in seen)
    assert predicted.column("upos").cells() != gold.column("upos").cells()
    assert predicted.column("lemma").types == same.column("lemma").types == [NOTHING]  # nothing will find lemmas
    assert same.column("upos").cells() == alone.column("upos").cells() == gold.column("upos").cells()
    assert alone.column("lemma").cells() == gold.column("lemma").cells()
    assert predicted.heads.tolist() == gold.heads.tolist()


FIELDS = {"lemma": 2, "xpos": 4, "feats": 5, "head": 6}


def with_columns(text: str, there: Iterable[str], sentences: int = 12) -> str:
    """The first sentences of a treebank, of FIELDS only with those that are there."""
    empty = [number for name, number in FIELDS.items() if name not in there]
    empty += [7] if 6 in empty else []
    made = []
    for line in "\n\n".join(text.split("\n\n")[:sentences]).splitlines():
        cells = line.split("\t")
        made.append("\t".join("_" if k in empty else cell for k, cell in enumerate(cells)) if cells[1:] else line)
    return "\n".join(made) + "\n\n"


@pytest.mark.parametrize("dev", [True, False], ids=["dev", "no dev"])
@pytest.mark.parametrize("there", [tuple(compress(FIELDS, row)) for row in product([1, 0], repeat=4)], ids=" ".join)
def test_treebanks_that_lack_columns(cli: Cli, there: tuple[str, ...], dev: bool) -> None:
    for name in (TRAIN, TEST):
        cli.write(f"some-{name}", with_columns(cli.read(name), there))
    components = ["tok", "tag", *(name for name, field in (("lemma", "lemma"), ("parse", "head")) if field in there)]
    line = f"pipeline train some-{TRAIN} -o lacks.palm --passes 1 --folds 2 --beam 1 --json"
    line += f" --dev some-{TEST}" * dev + " --components tok,tag,lemma" * ("head" not in there)
    about = json.loads(cli.fine(line))["components"]
    assert list(about) == components
    assert about["tag"]["finds"] == ", ".join(
        ["UPOS", *(field.upper() for field in ("xpos", "feats") if field in there)]
    )
    found = json.loads(cli.fine(f"pipeline eval lacks.palm some-{TEST} --format gold-tokens --json"))
    lacking = {
        "XPOS": "xpos", "UFeats": "feats", "Lemmas": "lemma", "UAS": "head", "LAS": "head", "CLAS": "head",
        "MLAS": "head", "BLEX": "head" if "head" not in there else "lemma",
    }  # fmt: skip
    shown = {row.split()[0]: row.split()[1:] for row in cli.fine(f"eval lacks.palm some-{TEST}").splitlines()[2:]}
    for metric, score in found.items():
        is_there = lacking.get(metric) in (None, *there)
        assert (score["f1"] is not None) == (score["correct"] is not None) == is_there, metric
        assert (shown[metric].count("-") == 0) == is_there
        for own in about.values():
            if metric in own["dev"]:
                assert (own["dev"][metric] is not None) == is_there
    assert bool(about["tag"]["dev"]) == dev
    if dev:
        table = cli.fine("pipeline inspect lacks.palm")
        assert ("XPOS -" in table) == ("xpos" not in there)


def test_the_loss_of_a_smaller_model_is_measured_where_there_are_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    monkeypatch.setattr(tags, "compacted", lambda model, dev, most_loss: given.append(dev) or model)
    dev = load_trees("test")
    bare = treebank_bytes(dev.without(["upos", "xpos"]), fields=("upos", "xpos"))
    for bank in (dev, parse_treebank(bare, "bare.conllu")):
        made = Pipeline(components=("tag",), passes=1).fit(load_trees("train"), bank)
    assert [one is None for one in given] == [False, True]
    about = inspect_pipeline(made).about["components"]["tag"]
    assert about["dev"] == {"UPOS": None, "XPOS": None, "UFeats": ANY}


def test_a_component_that_fails_leaves_what_is_finished(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: training.Trees, *given: object, **named: object) -> None:
        raise DataError("these are no trees", file=TRAIN)

    monkeypatch.setattr(training.Trees, "fit", failing)
    line = f"pipeline train {TRAIN} --dev {TEST} -o part.palm --components parse,tok --no-jackknife --passes 1"
    for threads in (1, 2):
        (cli.folder / "part.palm").unlink(missing_ok=True)
        ran = cli(f"{line} --threads {threads}")
        assert ran.code == 1
        assert f"{TRAIN}: these are no trees" in ran.err
        assert "failed: parse; " in ran.out
        assert Pipeline.load(cli.folder / "part.palm").components_ == ("tok",)
    assert json.loads(cli(f"{line} --json").out)["failed"] == {"parse": f"{TRAIN}: these are no trees"}
    made = Pipeline(components=("tok", "parse"), **QUICK)
    with pytest.raises(DataError, match="no trees"):
        made.fit_file(cli.folder / TRAIN)
    assert made.components_ == ("tok",)
    ran = cli(f"pipeline train {TRAIN} -o none.palm --components parse --passes 1")
    assert ran.code == 1
    assert not (cli.folder / "none.palm").exists()


def test_ctrl_c_leaves_what_is_finished(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: training.Trees, *given: object, progress: Any, **named: object) -> None:
        signal.raise_signal(signal.SIGINT)
        for _ in range(3000):  # half a minute of passes
            progress(1, 0, 1, None)  # ends the training when the signal has been seen
            time.sleep(0.01)

    monkeypatch.setattr(training.Trees, "fit", interrupted)
    ran = cli(f"pipeline train {TRAIN} -o cut.palm --components tok,parse --no-jackknife --threads 1")
    assert ran.code == 130
    assert "interrupted" in ran.out
    assert Pipeline.load(cli.folder / "cut.palm").components_ == ("tok",)


# Using


def rows(conllu: str) -> list[list[str]]:
    return [line.split("\t") for line in conllu.splitlines() if line and not line.startswith("#")]


def test_a_text_becomes_a_document(nlp: Pipeline) -> None:
    doc = nlp(TEXT)
    assert doc.text == TEXT
    sentences = ["The old ferry crosses the lake.", "It rains.", "She baked bread for her brother."]
    assert [sentence.text for sentence in doc] == sentences
    assert [TEXT[token.start : token.end] for token in doc.tokens] == [token.text for token in doc.tokens]
    assert doc.sentences[0].words[0].lemma == "the"
    assert all(sentence.root is not None for sentence in doc)
    assert len(nlp("")) == len(nlp(" \n")) == 0
    with pytest.raises(DataError, match="a text is a string, and this is list"):
        nlp(["one", "two"])  # type: ignore[arg-type]


def test_many_texts(nlp: Pipeline) -> None:
    texts = [TEXT, "", "It rains.", " \n", "\n\nShe baked bread.\n\nNow. ", "No end", "e\u0301a"] * 3
    alone = [nlp(text) for text in texts]
    for threads in (1, 3):
        found = list(nlp.pipe(iter(texts), threads=threads))
        assert [doc.text for doc in found] == texts
        assert [doc.to_dict() for doc in found] == [doc.to_dict() for doc in alone]
        assert [doc.to_conllu() for doc in found] == [doc.to_conllu() for doc in alone]
        for doc in found:
            doc.split.check()
    with pytest.raises(DataError, match="call the pipeline"):
        list(nlp.pipe("a text"))
    with pytest.raises(DataError, match="a text is a string, and this is int"):
        list(nlp.pipe(["one", 2]))  # type: ignore[list-item]


def test_known_words(nlp: Pipeline, folder: Path) -> None:
    gold = read_treebank(folder / TEST)
    found = nlp.annotate(gold)
    assert found.forms.cells() == gold.forms.cells()
    assert found.heads.tolist() == nlp.annotate(gold, threads=3).heads.tolist()
    only = nlp.annotate(gold, components=["lemma"])
    assert only.column("upos").cells() == gold.column("upos").cells()
    assert only.heads.tolist() == gold.heads.tolist()
    assert nlp.annotate([["It", "rains", "."]]).n_tokens == 3


def test_files_are_run_as_texts_are(cli: Cli, nlp: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli.fine("pipeline run en.palm text.txt") == nlp(TEXT).to_conllu()
    cli.fine("pipeline run en.palm text.txt -o out.conllu --threads 2 -q")
    assert cli.read("out.conllu") == nlp(TEXT).to_conllu()
    (cli.folder / "text.gz").write_bytes(gzip.compress(TEXT.encode()))
    assert cli.fine("pipeline run en.palm text.gz") == nlp(TEXT).to_conllu()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert cli.fine("pipeline run en.palm -") == nlp(TEXT).to_conllu()
    assert cli.fine("pipeline run en.palm --text", TEXT) == nlp(TEXT).to_conllu()
    assert cli.fine("pipeline run en.palm --beam 1 --text", TEXT) == nlp(TEXT, beam=1).to_conllu()


def test_parts_of_a_long_text_are_numbered_on(cli: Cli, nlp: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palmette.pipeline.run.text_pieces", lambda source, spec: [TEXT * 3, TEXT * 2])
    assert cli.fine("pipeline run en.palm any.txt --threads 2") == nlp(TEXT * 5).to_conllu()
    found = [json.loads(line) for line in cli.fine("pipeline run en.palm any.txt --to jsonl").splitlines()]
    assert found == nlp(TEXT * 5).to_dict()["sentences"]


def test_formats(cli: Cli, nlp: Pipeline) -> None:
    found = [json.loads(line) for line in cli.fine("pipeline run en.palm text.txt --to jsonl").splitlines()]
    assert found == nlp(TEXT).to_dict()["sentences"]
    columns = cli.fine("pipeline run en.palm text.txt --to columns").split("\n\n")
    words = [line.split("\t") for line in columns[0].splitlines()]
    assert [word[0] for word in words] == [word.form for word in nlp(TEXT).sentences[0]]
    assert [int(word[5]) for word in words] == [word.head for word in nlp(TEXT).sentences[0]]
    cli.write("words.txt", "It rains .\n\nShe  sings .\n")
    out = cli.fine("pipeline run en.palm words.txt --format tokens")
    assert [row[1] for row in rows(out)] == ["It", "rains", ".", "She", "sings", "."]
    assert gold_split(parse_treebank(out.encode(), "out")).text == "It rains .\n\nShe  sings .\n"


def test_conllu_keeps_its_lines(cli: Cli, nlp: Pipeline) -> None:
    before, after = cli.read(TEST).splitlines(), cli.fine(f"pipeline run en.palm {TEST} --format conllu").splitlines()
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        if old.startswith("#") or not old or "-" in old.split("\t")[0]:
            assert new == old
        else:
            assert [new.split("\t")[k] for k in (0, 1, 8, 9)] == [old.split("\t")[k] for k in (0, 1, 8, 9)]
    gold = cli.fine(f"pipeline run en.palm {TEST} --format conllu --components parse")
    assert [row[:6] for row in rows(gold)] == [row[:6] for row in rows(cli.read(TEST))]
    objects = cli.fine(f"pipeline run en.palm {TEST} --format conllu --to jsonl").splitlines()
    text = gold_split(read_treebank(cli.folder / TEST)).text
    for line in objects:
        sentence = json.loads(line)
        assert text[sentence["start"] : sentence["end"]] == sentence["text"]


def test_drawing(cli: Cli) -> None:
    out = cli.fine("pipeline run en.palm text.txt --draw --picture trees.svg --sentences 2 -q")
    assert out.startswith("sentence 2\n1  It ")
    assert "# text" not in out
    assert cli.read("trees.svg").startswith("<svg")
    assert "The" in cli.fine("pipeline run en.palm text.txt --draw -o drawn.conllu -q")
    assert "# text" in cli.read("drawn.conllu")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("run en.palm text.txt --sentences 2", "--draw"),
        ("run en.palm text.txt -o jsonl", "--to jsonl"),
        ("run en.palm text.txt --text words", "leave the file"),
        ("run en.palm text.txt --components tag", "plain text is split by the component tok"),
        ("run en.palm text.txt --components tok,tag --beam 2", "beam"),
        ("run en.palm text.txt --components tok --draw", "without the component parse"),
        ("run en.palm none.txt", "none.txt: cannot read: no such file"),
        ("run trees.conllu text.txt", "not a palmette model"),
        ("eval en.palm text.txt", "text.txt"),
        ("train none.conllu -o x.palm", "none.conllu: cannot read: no such file"),
        ("train trees.conllu -o nowhere/x.palm", "no folder"),
        ("extract en.palm nothing -o x.palm", "there is no 'nothing' to take out"),
        ("replace en.palm tree=x.palm -o y.palm", "there is no component 'tree'"),
        ("replace en.palm parse -o x.palm", "write NAME=FILE"),
    ],
)  # fmt: skip
def test_wrong_uses_say_what_to_do(cli: Cli, line: str, what: str) -> None:
    ran = cli(f"pipeline {line}")
    assert ran.code in (1, 2)
    assert what in ran.err


def test_other_commands_say_what_to_use(cli: Cli) -> None:
    assert cli.fine("tag en.palm text.txt") == cli.fine("pipeline run en.palm text.txt")
    assert cli.fine("inspect en.palm") == cli.fine("pipeline inspect en.palm")
    assert cli.fine(f"eval en.palm {TEST}") == cli.fine(f"pipeline eval en.palm {TEST}")
    assert "palmette pipeline run" in cli(f"parser parse en.palm {TEST}").err
    assert "palmette pipeline extract" in cli("compact en.palm -o x.palm").err


@pytest.mark.parametrize(
    "verb", ["run {} text.txt", "eval {} trees_test.conllu", "inspect {}", "extract {} upos -o x.palm"]
)
def test_files_that_are_no_pipelines_say_what_makes_one(cli: Cli, verb: str) -> None:
    no_model, parser, tagger = cli.folder / "text.txt", cli.folder / "a_parser.palm", cli.folder / "a_tagger.palm"
    if not parser.exists():
        cli.fine("pipeline extract en.palm parse -o a_parser.palm -q")
        cli.fine("pipeline extract en.palm upos -o a_tagger.palm -q")
    told = {path: cli("pipeline " + verb.format(path.name)) for path in (no_model, parser, tagger)}
    assert {ran.code for ran in told.values()} == {1}
    assert told[no_model].err == (
        "palmette: text.txt: not a palmette model\n  make one with `palmette pipeline train`\n"
    )
    assert "a_parser.palm: a parser, not a pipeline\n  use it with `palmette parser parse`" in told[parser].err
    assert "a_tagger.palm: a tagger, not a pipeline\n  use it with `palmette tag`" in told[tagger].err
    assert "`palmette pipeline replace PIPELINE upos=MODEL`" in told[tagger].err


def test_components_of_the_wrong_kind(cli: Cli) -> None:
    cli.fine("pipeline extract en.palm upos -o wrong.palm -q")
    assert "wrong.palm: a tagger, not a parser" in cli("pipeline replace en.palm parse=wrong.palm -o x.palm").err
    assert "wrong.palm: a tagger, not a pipeline" in cli("pipeline replace en.palm tag=wrong.palm -o x.palm").err
    assert "en.palm: a pipeline, not a tagger" in cli("pipeline replace en.palm upos=en.palm -o x.palm").err
    with pytest.raises(ModelError, match=r"(?s)a pipeline, not a parser.*load it with Pipeline\.load"):
        Parser.load(cli.folder / "en.palm")


# Scores


def test_scores_are_those_of_the_official_scorer(cli: Cli) -> None:
    gold = cli.read(TEST)
    text = gold_split(read_treebank(cli.folder / TEST)).text
    cli.write("gold.txt", text)
    guesses = {
        "text": cli.fine("pipeline run en.palm gold.txt"),
        "gold-tokens": cli.fine(f"pipeline run en.palm {TEST} --format conllu"),
    }
    for source, guess in guesses.items():
        found = json.loads(cli.fine(f"pipeline eval en.palm {TEST} --format {source} --json --threads 2"))
        right = evaluate(*(load_conllu(io.StringIO(made), "x", {}) for made in (gold, guess)))
        for metric, score in found.items():
            assert score["f1"] == pytest.approx(right[metric].f1), metric


def test_gold_annotations_are_not_read(nlp: Pipeline, folder: Path) -> None:
    bank = load_trees("test")
    empty = bank.with_column("feats", bank.with_column("feats", bank.forms).column("feats"))
    assert nlp.evaluate(empty, input="gold-tokens")["UFeats"].correct != bank.n_tokens
    only = Pipeline.load(folder / "en.palm")
    only.model_ = only.model_.only(["tok", "tag"])
    found = only.evaluate(folder / TEST, input="gold-tokens")
    assert found["UPOS"].correct == nlp.evaluate(folder / TEST, input="gold-tokens")["UPOS"].correct
    assert found["Lemmas"].correct == 0
    assert "LAS" not in list(found)
    only.model_ = nlp.model_.only(["parse"])
    alone = nlp.component("parse").parser.evaluate(bank)
    assert only.evaluate(bank, input="gold-tokens")["LAS"].f1 == pytest.approx(alone.las)
    assert only.evaluate(bank, input="gold-tokens")["UPOS"].correct == 0
    with pytest.raises(UsageError, match="none of text, gold-tokens"):
        nlp.evaluate(bank, input="words")


# Components by themselves


def test_a_parser_comes_out_and_goes_in(cli: Cli, nlp: Pipeline) -> None:
    assert "a parser" in cli.fine("pipeline extract en.palm parse -o parser.palm")
    ready = nlp.annotate(read_treebank(cli.folder / TEST), components=["tag", "lemma"])
    parser = Parser.load(cli.folder / "parser.palm")
    assert parser.parse(ready).heads.tolist() == nlp.annotate(ready).heads.tolist()
    cli.fine("pipeline replace en.palm parse=parser.palm -o same.palm")
    assert Pipeline.load(cli.folder / "same.palm")(TEXT).to_conllu() == nlp(TEXT).to_conllu()
    assert "from parser.palm" in cli.fine("pipeline inspect same.palm")


def test_a_tagger_comes_out_and_goes_in(cli: Cli, nlp: Pipeline) -> None:
    cli.fine("pipeline extract en.palm upos -o upos.palm -q")
    words = [[word.form for word in sentence] for sentence in nlp(TEXT)]
    upos = [[word.upos for word in sentence] for sentence in nlp(TEXT)]
    assert Tagger.load(cli.folder / "upos.palm").predict(words) == upos
    cli.fine("pipeline extract en.palm parse -o its_parser.palm -q")
    cli.fine(f"parser parse its_parser.palm {TEST} --with upos.palm -o retagged.conllu -q")
    cli.fine(f"train {TRAIN} --label upos --features pos -o own.palm --passes 1 -q")
    cli.fine("pipeline replace en.palm upos=own.palm -o own_tags.palm")
    own = Tagger.load(cli.folder / "own.palm").predict(words)
    found = Pipeline.load(cli.folder / "own_tags.palm")(TEXT)
    assert [[word.upos for word in sentence] for sentence in found] == own
    cli.fine(f"train {TRAIN} --label upos --columns form,lemma --features chunk -o two.palm --passes 1 -q")
    assert "reads more than the words" in cli("pipeline replace en.palm upos=two.palm -o x.palm").err


def test_smaller_pipelines(cli: Cli, nlp: Pipeline) -> None:
    assert "a pipeline of tok, tag" in cli.fine("pipeline extract en.palm tag,tok -o small.palm")
    small = Pipeline.load(cli.folder / "small.palm")
    assert [word.upos for word in small(TEXT).words] == [word.upos for word in nlp(TEXT).words]
    cli.fine("pipeline replace small.palm lemma=en.palm parse=en.palm -o whole.palm")
    assert Pipeline.load(cli.folder / "whole.palm")(TEXT).to_conllu() == nlp(TEXT).to_conllu()
