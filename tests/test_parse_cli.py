"""The parser on the command line: trained, used, scored, drawn and compared on the small treebank that ships."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cli_run import Cli
from udtools.udeval import evaluate, load_conllu

from palmette import Beam, Parser, Tagger
from palmette.data import FormatSpec
from palmette.datasets import example_files

TRAIN, TEST = "trees.conllu", "trees_test.conllu"


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The treebank, a parser, a tagger for each field, and what the parser makes of the test part."""
    folder = tmp_path_factory.mktemp("parse")
    for name, text in example_files("trees").items():
        (folder / name).write_text(text, encoding="utf-8")
    parser = Parser("basic", search=Beam(4), passes=4).fit_file(folder / TRAIN)
    parser.save(folder / "m.palm")
    parser.parse_file(folder / TEST, folder / "out.conllu")
    for field in ("upos", "xpos"):
        Tagger("pos", passes=2).fit_file(folder / TRAIN, spec=FormatSpec(label=field)).save(folder / f"{field}.palm")
    return folder


@pytest.fixture
def cli(material: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(material, capsys, monkeypatch)


def cells(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.split("\n")]


def official(gold: str, guess: str) -> dict:
    return evaluate(*(load_conllu(io.StringIO(text), "x", {}) for text in (gold, guess)))


def test_training_and_what_it_prints(cli: Cli) -> None:
    line = f"parser train {TRAIN} -o t.palm --dev {TEST} --features basic --beam 2 --passes 2 --seed 3"
    ran = cli(line)
    assert ran.code == 0
    assert "4 of 48 trees are not projective (8.3%); 4 of 365 arcs were lifted" in ran.err
    assert "dev LAS" in ran.err
    assert "bad  cut at" in ran.err
    assert "kept pass" in ran.out
    about = json.loads(cli.fine(f"{line} --json"))
    assert about["settings"]["search"] == {"kind": "beam", "width": 2, "update": None, "recombine": None}
    assert len(about["history"]) == 2
    assert about["lifted_relations"] == 0  # four arcs of three kinds: too rare to be learnt
    quiet = cli(f"{line} -q")
    assert (quiet.out, quiet.err) == ("", "")


def test_only_heads_and_relations_change(cli: Cli) -> None:
    made = cli.fine(f"parser parse m.palm {TEST}")
    assert made == cli.read("out.conllu")
    before, after = cells(cli.read(TEST)), cells(made)
    assert len(before) == len(after)
    changed = {k for a, b in zip(before, after, strict=True) for k in range(len(a)) if a[k] != b[k]}
    assert changed == {6, 7}
    assert [row for row in after if row[0] in ("5.1", "1-2", "2-3")] == [
        row for row in before if row[0] in ("5.1", "1-2", "2-3")
    ]


def test_a_model_and_files_score_the_same_and_as_the_official_scorer(cli: Cli) -> None:
    by_model = json.loads(cli.fine(f"parser eval m.palm {TEST} --json"))
    by_files = json.loads(cli.fine(f"parser eval {TEST} out.conllu --json"))
    assert by_model == by_files
    judged = official(cli.read(TEST), cli.read("out.conllu"))
    assert [by_files[name] for name in ("uas", "las", "clas")] == [judged[n].f1 for n in ("UAS", "LAS", "CLAS")]
    table = cli.fine(f"parser eval m.palm {TEST}")
    assert f"{100 * by_model['las']:.2f}" in table
    assert "without punctuation" in table
    assert "by length of the arc" in table


def test_errors_are_drawn_worst_first(cli: Cli) -> None:
    drawn = cli.fine(f"parser eval m.palm {TEST} --draw 2 --picture errors.svg")
    titles = [line for line in drawn.splitlines() if line.startswith("sentence ")]
    counts = [int(title.split(": ")[1].split()[0]) + int(title.split(", ")[1].split()[0]) for title in titles]
    assert len(titles) == 2
    assert counts == sorted(counts, reverse=True)
    assert drawn.count("✗") == sum(counts)
    root = ElementTree.fromstring(cli.read("errors.svg"))
    assert sum(g.get("class") == "missed" for g in root.iter("{http://www.w3.org/2000/svg}g")) == sum(counts)


def test_drawings_of_a_file(cli: Cli) -> None:
    drawn = cli.fine(f"parser parse m.palm {TEST} --draw --sentences 1,3-4")
    assert [line for line in drawn.splitlines() if line.startswith("sentence")] == [
        "sentence 1", "sentence 3", "sentence 4"
    ]  # fmt: skip
    assert "◀" in drawn
    both = cli.fine(f"parser parse m.palm {TEST} --draw --picture s.svg -o drawn.conllu")
    assert both.count("sentence ") == 12
    assert cli.read("drawn.conllu") == cli.read("out.conllu")
    assert cli.read("s.svg").startswith("<svg")


def test_lists_of_trees(cli: Cli) -> None:
    listed = cli.fine(f"parser parse m.palm {TEST} --nbest 3")
    blocks = listed.strip("\n").split("\n\n")
    ranks = [int(block.split("\n")[0].removeprefix("# nbest = ")) for block in blocks]
    scores = [float(block.split("\n")[1].removeprefix("# score = ")) for block in blocks]
    assert ranks.count(1) == 12
    assert max(ranks) == 3
    for k in range(1, len(blocks)):
        assert ranks[k] == 1 or (ranks[k] == ranks[k - 1] + 1 and scores[k] <= scores[k - 1])
    best = "\n\n".join("\n".join(block.split("\n")[2:]) for block, rank in zip(blocks, ranks, strict=True) if rank == 1)
    assert best.strip("\n") == cli.read("out.conllu").strip("\n")
    assert len(set(blocks)) == len(blocks)


def test_text_without_a_sentence_or_a_last_line_end(cli: Cli) -> None:
    for text in ("", "# only this\n\n"):
        cli.write("none.conllu", text)
        assert (
            cli.fine("parser parse m.palm none.conllu") == cli.fine("parser parse m.palm none.conllu --nbest 2") == text
        )
    cli.write("cut.conllu", cli.read(TEST).rstrip("\n"))
    assert cli.fine("parser parse m.palm cut.conllu") == cli.read("out.conllu").rstrip("\n")
    assert cli.fine("parser parse m.palm cut.conllu --nbest 2").rstrip("\n") == cli.fine(
        f"parser parse m.palm {TEST} --nbest 2"
    ).rstrip("\n")


def test_lists_have_the_line_ends_of_the_file(cli: Cli) -> None:
    (cli.folder / "dos.conllu").write_bytes(cli.read(TEST).replace("\n", "\r\n").encode())
    cli.fine("parser parse m.palm dos.conllu --nbest 2 -o dos.out -q")
    cli.fine(f"parser parse m.palm {TEST} --nbest 2 -o unix.out -q")
    found = (cli.folder / "dos.out").read_bytes()
    assert found.replace(b"\r\n", b"\n") == (cli.folder / "unix.out").read_bytes()
    assert found.count(b"\r\n") == found.count(b"\n")


def test_input_without_tags_is_told(cli: Cli) -> None:
    rows = [row if len(row) < 4 else [*row[:3], "_", "_", *row[5:]] for row in cells(cli.read(TEST))]
    cli.write("bare.conllu", "\n".join("\t".join(row) for row in rows))
    for line in ("parser parse m.palm bare.conllu", "parser eval m.palm bare.conllu"):
        assert cli(line).err.count("which the parser reads: give --with MODEL") == 1
    assert "the parser reads" not in cli(f"parser parse m.palm {TEST}").err
    assert "the parser reads" not in cli("parser parse m.palm bare.conllu --with upos.palm --with xpos.palm").err


def test_a_typed_sentence(cli: Cli) -> None:
    drawn = cli.fine("parser parse m.palm --with xpos.palm --text", "The old ferry sleeps.")
    assert drawn.splitlines()[0] == "The old ferry sleeps."
    assert [line.split()[1] for line in drawn.splitlines()[1:6]] == ["The", "old", "ferry", "sleeps", "."]
    ran = cli("parser parse m.palm --text", "The old ferry sleeps.")
    assert ran.code == 2
    assert "--with" in ran.err


def test_tags_by_a_model(cli: Cli) -> None:
    made = cells(cli.fine(f"parser parse m.palm {TEST} --with upos.palm --with xpos=xpos.palm"))
    tagged = cells(cli.fine(f"tag xpos.palm {TEST}"))
    assert [row[4] for row in made if len(row) == 10] == [row[4] for row in tagged if len(row) == 10]
    plain = json.loads(cli.fine(f"parser eval m.palm {TEST} --json"))
    guessed = json.loads(cli.fine(f"parser eval m.palm {TEST} --with xpos.palm --json"))
    assert plain["las"] > guessed["las"]


def test_jackknifed_tags_and_ignored_fields_are_remembered(cli: Cli) -> None:
    line = f"parser train {TRAIN} -o j.palm --dev {TEST} --features basic --passes 1"
    ran = cli(f"{line} --jackknife 2 --ignore lemma,feats")
    assert ran.code == 0
    assert "jackknife: upos, fold 2 of 2" in ran.err
    about = json.loads(cli.fine("parser inspect j.palm --json"))
    assert about["tags"] == {"upos": "jackknifed, 2 folds", "xpos": "jackknifed, 2 folds"}
    assert about["ignored"] == ["lemma", "feats"]
    assert "lemma, feats" in cli.fine("parser inspect j.palm")


def test_a_parser_that_ignores_lemmas_does_not_mind_them(cli: Cli) -> None:
    cli.write("lemmas.txt", "s0.m s1.m\ns0.m\ns0.t s1.t\n")
    cli.fine(f"parser train {TRAIN} -o i.palm --features lemmas.txt --ignore lemma --passes 2 -q")
    bare = [
        ["_" if k == 2 and row[0].isdigit() else cell for k, cell in enumerate(row)] for row in cells(cli.read(TEST))
    ]
    cli.write("bare.conllu", "\n".join("\t".join(row) for row in bare))
    with_lemmas, without = (
        cells(cli.fine(f"parser parse i.palm {TEST}")),
        cells(cli.fine("parser parse i.palm bare.conllu")),
    )
    assert [row[6:8] for row in with_lemmas] == [row[6:8] for row in without]


def test_inspect_tells_settings_and_history(cli: Cli) -> None:
    told = cli.fine("parser inspect m.palm --templates")
    assert "beam (width 4)" in told
    assert "29 (basic)" in told
    assert "bad updates, %" in told
    assert "s2.t s1.t s0.t" in told
    about = json.loads(cli.fine("parser inspect m.palm --json"))
    assert about["task"] == "parse"
    assert about["actions"] == 1 + len(about["left_arcs"]) + len(about["right_arcs"])


def test_parsers_side_by_side(cli: Cli) -> None:
    found = json.loads(cli.fine(f"parser compare m.palm out.conllu {TEST} --rounds 50 --json"))
    assert [system["scores"]["las"] for system in found["systems"]] == [found["systems"][0]["scores"]["las"]] * 2
    assert found["pairs"][0]["las"]["p"] == 1.0
    assert found["differing_sentences"] == 0
    cli.write("other.conllu", cli.read(TEST))
    table = cli.fine(f"parser compare out.conllu other.conllu {TEST} --rounds 50")
    assert "B - A  LAS" in table
    assert "100.00" in table
    assert "F1 of labelled arcs by relation" in table


def test_bad_trees_are_told_or_left_out(cli: Cli) -> None:
    cli.write("broken.conllu", cli.read(TRAIN).replace("\t0\troot\t0:root", "\t5\troot\t0:root", 1))
    ran = cli("parser train broken.conllu -o b.palm --passes 1 --features basic")
    assert ran.code == 1
    assert "broken.conllu:4: sentence 1: no word has head 0" in ran.err
    assert "--skip-bad" in ran.err
    ran = cli("parser train broken.conllu -o b.palm --passes 1 --features basic --skip-bad")
    assert ran.code == 0
    assert "1 of 48 sentences left out" in ran.err
    assert cli("parser eval m.palm broken.conllu").code == 1
    ran = cli("parser eval m.palm broken.conllu --skip-bad")
    assert ran.code == 0
    assert "1 of 48 sentences left out" in ran.err
    cli.write("nameless.conllu", cli.read(TRAIN).replace("\troot\t", "\t\t", 1))
    ran = cli("parser train nameless.conllu -o b.palm --passes 1 --features basic")
    assert "sentence 1: the relation is missing" in ran.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"parser train {TRAIN} -o x.palm --patience 2", "--patience needs"),
        (f"parser train {TRAIN} -o x.palm --ignore form", "cannot ignore 'form'"),
        (f"parser train {TRAIN} -o x.palm --jackknife 1", "--jackknife: 1 is not a whole number of at least 2"),
        (f"parser train {TRAIN} -o x.palm --features nosuch", "'nosuch' is neither a named set"),
        (f"parser parse m.palm {TEST} --sentences 3", "--sentences chooses"),
        (f"parser parse m.palm {TEST} --draw --sentences 3-99", "there are sentences 1 to 12"),
        (f"parser parse m.palm {TEST} --draw --sentences x", "numbers and ranges"),
        (f"parser parse m.palm {TEST} --nbest 2 --draw", "--nbest writes"),
        (f"parser parse m.palm {TEST} --with m.palm", "not a tagger"),
        (f"parser parse m.palm {TEST} --with xpos.palm --with xpos.palm", "two taggers write xpos"),
        (f"parser parse m.palm {TEST} --with lemma=upos.palm", "a tagger writes upos or xpos, not lemma"),
        (f"parser parse m.palm {TEST} --beam 0", "--beam: 0 is not a whole number"),
        (f"parser eval {TEST} out.conllu --skip-bad", "are for a model"),
        (f"parser eval {TEST} {TRAIN}", "words in gold"),
        (f"parser eval {TEST} out.conllu --beam 3", "are for a model"),
        (f"parser compare m.palm {TEST}", "two or more"),
        (f"parser compare {TEST} out.conllu m.palm", "gold file comes last"),
        ("parser features nosuch", "no set and no file"),
    ],
)
def test_what_is_wrong_is_said(cli: Cli, line: str, message: str) -> None:
    ran = cli(line)
    assert ran.code in (1, 2)
    assert message in ran.err


def test_template_sets_are_printed_and_checked(cli: Cli) -> None:
    cli.write("mine.txt", cli.fine("parser features basic"))
    assert "29 templates" in cli.fine("parser features mine.txt")
    assert "rich" in cli.fine("parser features")


def test_verbs_of_taggers_find_the_parser(cli: Cli) -> None:
    assert cli.fine(f"tag m.palm {TEST}") == cli.read("out.conllu")
    assert cli.fine(f"eval m.palm {TEST} --json") == cli.fine(f"parser eval m.palm {TEST} --json")
    assert cli.fine("inspect m.palm --json") == cli.fine("parser inspect m.palm --json")
    assert cli.fine(f"compare m.palm out.conllu {TEST} --rounds 10 --json").count("mcnemar") == 1
    ran = cli(f"explain m.palm {TEST}")
    assert ran.code == 2
    assert "m.palm is a parser, and `palmette explain` does not take one: `palmette page MODEL" in ran.err


def test_help_shows_the_options_of_the_chosen_learner(cli: Cli) -> None:
    about = cli.fine("parser train --learner mira --help")
    assert "Options of the learner mira" in about
    assert "Options of the learner pa" not in about
    assert "--beam N" in about
    assert "--search" not in about
    ran = cli(f"parser train {TRAIN} -o x.palm --rate 0.1")
    assert ran.code == 2
    assert "--rate: is an option of probperc; the learner is perceptron" in ran.err
