"""The options of training and tagging, looking inside, and the smaller verbs."""

from __future__ import annotations

import json
import os
import signal
import tomllib
from pathlib import Path

import pytest
from cli_run import TEMPLATES, Cli, last_cells, leave_demo, leftovers, rows, spawn

from palmette import Tagger
from palmette.kernels.registry import KERNELS

STAR = "*0:%x[0,0]\nU1:%x[0,1]\nB\nT\n"
WAPITI = 'u:w=%x[0,0]\nu:s=%M[0,0,"..$"]\nu:c=%t[0,0,"^\\u"]\n*:p=%x[0,1]\nu:f=%x[@1,0]\nb\n'


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("options")
    leave_demo(folder)
    (folder / "star.txt").write_text(STAR, encoding="utf-8")
    Tagger("chunk", learner="perceptron", passes=4).fit_file(folder / "train.txt").save(folder / "chunk.palm")
    return folder


@pytest.fixture
def cli(demo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(demo, capsys, monkeypatch)


def trained(cli: Cli, options: str, data: str = "train.txt", output: str = "m.palm") -> dict:
    """What `train --json` tells."""
    return json.loads(cli.fine(f"train {data} -o {output} --json {options}"))


def tags(cli: Cli, model: str, data: str = "test.txt", options: str = "") -> list[list[str]]:
    return last_cells(cli.fine(f"tag {model} {data} {options}"))


def broken(sentences: list[list[str]]) -> int:
    """How often IOB2 is broken: an I without its B before."""
    pairs = [pair for sentence in sentences for pair in zip(["O", *sentence], sentence, strict=False)]
    return sum(b.startswith("I-") and a[2:] != b[2:] for a, b in pairs)


# --- training -----------------------------------------------------------------------------------------------


def test_the_same_seed_makes_the_same_file(cli: Cli) -> None:
    options = "--features chunk --passes 2 --dev dev.txt --checkpoint"
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        trained(cli, f"{options} --seed {seed}", output=f"{name}.palm")
    a, b, c = ((cli.folder / f"{name}.palm").read_bytes() for name in "abc")
    assert a == b
    assert a != c


@pytest.mark.parametrize(("templates", "order"), [("U0:%x[0,0]\n", 0), ("U0:%x[0,0]\nB\n", 1), (STAR, 2)])
def test_the_order_follows_from_the_templates(cli: Cli, templates: str, order: int) -> None:
    cli.write("t.txt", templates)
    assert trained(cli, "--template t.txt --passes 1")["order"] == order
    wrong = cli(f"train train.txt -o x.palm --template t.txt --order {(order + 1) % 3}")
    assert wrong.code == 2
    assert f"order {order} model" in wrong.err
    assert not (cli.folder / "x.palm").exists()


def test_wapiti_patterns(cli: Cli) -> None:
    cli.write("w.txt", WAPITI)
    assert "wapiti syntax, 6 templates, order 1" in cli.fine("features w.txt")
    trained(cli, "--template w.txt --passes 4")
    assert json.loads(cli.fine("eval m.palm test.txt --json"))["f1"] > 0.85
    assert any(row["attribute"].startswith("u:c=") for row in top(cli, "m.palm", "B-NP", 300))


def top(cli: Cli, model: str, label: str, n: int) -> list[dict]:
    return json.loads(cli.fine(f"inspect {model} --json --top {n} --show-label {label}"))["top"][label]


def test_rare_attributes_can_be_left_out(cli: Cli) -> None:
    everything = trained(cli, "--features chunk --passes 1")["attributes"]
    often = trained(cli, "--features chunk --passes 1 --min-count 3")["attributes"]
    assert 100 < often < everything / 2
    assert trained(cli, "--features chunk --passes 1 --max-attributes 100")["attributes"] == 100


def test_edge_features_seen_or_all(cli: Cli) -> None:
    every = trained(cli, "--template star.txt --passes 2", output="all.palm")
    seen = trained(cli, "--template star.txt --passes 2 --edge-features seen", output="seen.palm")
    assert every["attributes"] < seen["attributes"]  # dense rows that never moved are forgotten
    sizes = [Tagger.load(cli.folder / name).model_.chain.weights[2].w.nbytes for name in ("seen.palm", "all.palm")]
    assert sizes[0] < sizes[1] / 10
    about = json.loads(cli.fine("inspect seen.palm --json"))
    assert 0 < about["moved"]["triple"] < about["attributes"]["triple"]


def test_development_data_and_patience(cli: Cli) -> None:
    found = trained(cli, "--features chunk --dev dev.txt --patience 2")
    figures = [row["dev"] for row in found["history"]]
    assert found["dev"] == max(figures)
    assert figures.index(max(figures)) + 1 == found["best_pass"]
    assert len(figures) <= found["best_pass"] + 2
    share = trained(cli, "--features chunk --dev-share 0.2 --passes 2 --metric accuracy")
    assert all(row["dev"] is not None for row in share["history"])
    assert share["dev"] > 0.9


def test_the_progress_names_what_it_shows(cli: Cli) -> None:
    ran = cli("train train.txt -o m.palm --features chunk --dev dev.txt --passes 2")
    assert "430 sentences, 6,051 tokens, 17 labels" in ran.err
    assert len([line for line in ran.err.splitlines() if line.strip().startswith(("1 ", "2 "))]) == 2
    assert "saved m.palm" in ran.out
    quiet = cli("train train.txt -o m.palm --features chunk --dev dev.txt --passes 2 -q")
    assert (quiet.out, quiet.err) == ("", "")


def test_constraints_hold_at_every_order(cli: Cli) -> None:
    for order in (0, 1, 2):
        trained(cli, f"--features ner --columns 0 --passes 1 --order {order}")
        assert broken(tags(cli, "m.palm")) == 0
    trained(cli, "--features ner --columns 0 --passes 1 --order 0 --constraints none")
    assert broken(tags(cli, "m.palm")) > 0


def test_forbidden_pairs(cli: Cli) -> None:
    def pairs(found: list[list[str]]) -> set[tuple[str, str]]:
        return {pair for sentence in found for pair in zip(["<s>", *sentence], [*sentence, "</s>"], strict=True)}

    seen = pairs(last_cells(cli.read("train.txt")))
    free = pairs(tags(cli, "chunk.palm", "dev.txt") + tags(cli, "chunk.palm"))
    new = sorted(free - seen)  # what the model makes and the training data does not have
    assert new
    cli.write("forbid.txt", "# not seen\n" + "".join(f"{a} {b}\n" for a, b in new))
    trained(cli, "--features chunk --passes 4 --forbidden forbid.txt --checkpoint", output="f.palm")
    assert not pairs(tags(cli, "f.palm", "dev.txt") + tags(cli, "f.palm")) & set(new)
    trained(cli, "--resume f.palm --passes 1", output="g.palm")  # which stay forbidden
    assert not pairs(tags(cli, "g.palm", "dev.txt") + tags(cli, "g.palm")) & set(new)


def test_lexicons_and_clusters_travel_with_the_model(cli: Cli) -> None:
    cli.write("towns.txt", "Rome\nNew York\n")
    cli.write("brown.txt", "0110\tRome\t5\n0111\tParis\t3\n")
    trained(cli, "--features ner --passes 1 --lexicons town=towns.txt --clusters brown=brown.txt")
    before = tags(cli, "m.palm")
    (cli.folder / "towns.txt").unlink()
    (cli.folder / "brown.txt").unlink()
    assert tags(cli, "m.palm") == before
    about = json.loads(cli.fine("inspect m.palm --json"))
    assert (about["lexicons"], about["clusters"]) == (["town"], ["brown"])
    assert any("cluster:brown:4" in line for line in about["templates"])


# --- smaller models, more training --------------------------------------------------------------------------


@pytest.mark.parametrize("edges", ["all", "seen"])
def test_pruned_and_stripped_models_say_the_same(cli: Cli, edges: str) -> None:
    sizes, answers = {}, set()
    for options in ("", "--prune", "--strip", "--prune --strip"):
        made = trained(cli, f"--template star.txt --passes 3 --edge-features {edges} {options}")
        sizes[options] = made["bytes"]
        answers.add(cli.fine("tag m.palm test.txt --scores"))
    assert len(answers) == 1
    assert sizes["--strip"] < sizes[""]
    assert sizes["--prune --strip"] < sizes["--prune"]
    if edges == "seen":  # dense rows that never moved are not saved in the first place
        assert sizes["--prune"] < sizes[""]
        assert sizes["--prune --strip"] < sizes["--strip"]
    assert all(row["attribute"].startswith("#") for row in top(cli, "m.palm", "B-NP", 5))


def test_resumed_exactly(cli: Cli) -> None:
    trained(cli, "--features chunk --passes 2 --seed 7 --min-count 2 --checkpoint", output="two.palm")
    ran = cli("train train.txt -o four.palm --resume two.palm --passes 2")
    assert "resumed exactly" in ran.err
    trained(cli, "--features chunk --passes 4 --seed 7 --min-count 2", output="straight.palm")
    assert cli.fine("tag four.palm test.txt --scores") == cli.fine("tag straight.palm test.txt --scores")
    one, other = (json.loads(cli.fine(f"inspect {name}.palm --json")) for name in ("four", "straight"))
    for name in ("history", "top", "transitions", "nonzero_weights", "attributes"):
        assert one[name] == other[name]
    assert one["settings"] | {"passes": 4} == other["settings"]


def test_resumed_from_the_average_with_new_labels(cli: Cli) -> None:
    cli.write("more.txt", "Xanadu NNP B-NEW\nis VBZ B-VP\n\n" * 30)
    ran = cli("train more.txt -o more.palm --resume chunk.palm --passes 5")
    assert "resumed from the averaged weights" in ran.err
    assert tags(cli, "more.palm", "more.txt")[0] == ["B-NEW", "B-VP"]
    assert any(row["attribute"].endswith(":Xanadu") for row in top(cli, "more.palm", "B-NEW", 100))


def test_resuming_reads_as_the_model_did(cli: Cli) -> None:
    """The label's column and the features are the model's, unless they are given."""
    trained(cli, "--features pos --label 1 --columns 0 --passes 1", output="pos.palm")
    trained(cli, "--resume pos.palm --passes 1", output="pos2.palm")
    labels = json.loads(cli.fine("inspect pos2.palm --json"))["labels"]
    assert set(labels) == {cells[1] for s in rows(cli.read("train.txt")) for cells in s}


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_training_and_keeps_the_best_model(cli: Cli, signum: signal.Signals) -> None:
    cli.write("many.txt", cli.read("train.txt") * 20)
    command = "train many.txt -o cut.palm --template star.txt --passes 1000 --dev dev.txt"
    process = spawn(cli.folder, *command.split())
    assert process.stderr is not None
    for line in process.stderr:
        if line.strip().startswith(b"2 "):
            break
    os.kill(process.pid, signum)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signum, err
    assert b"interrupted" in out
    assert b"Traceback" not in err
    about = json.loads(cli.fine("inspect cut.palm --json"))
    assert 2 <= len(about["history"]) < 1000
    assert about["best_pass"] == max(about["history"], key=lambda row: (row["dev"], -row["number"]))["number"]
    assert len(tags(cli, "cut.palm")) == 80
    assert leftovers(cli.folder) == []


# --- tagging and scoring ------------------------------------------------------------------------------------


def test_a_bias_trades_precision_for_recall(cli: Cli) -> None:
    def outside(options: str) -> int:
        return sum(s.count("O") for s in tags(cli, "chunk.palm", options=options))

    assert outside("--bias O=-20") < outside("") < outside("--bias O=20")
    assert outside("--bias O=20 --bias B-NP=-20") > outside("--bias O=20")
    one = json.loads(cli.fine("eval chunk.palm test.txt --json --bias O=-20"))
    assert one["f1"] < json.loads(cli.fine("eval chunk.palm test.txt --json"))["f1"]


def test_a_tuned_bias_is_saved_and_used(cli: Cli) -> None:
    cli.write("few.txt", "\n\n".join(cli.read("train.txt").split("\n\n")[:40]) + "\n")
    trained(cli, "--features ner --learner perceptron --columns 0 --passes 2 --dev dev.txt --tune-bias", data="few.txt")
    bias = json.loads(cli.fine("inspect m.palm --json"))["bias"]["O"]
    assert bias != 0
    assert tags(cli, "m.palm") == tags(cli, "m.palm", options=f"--bias O={bias!r}")
    assert tags(cli, "m.palm") != tags(cli, "m.palm", options="--bias O=0")
    tuned, plain = (
        json.loads(cli.fine(f"eval m.palm dev.txt --json {options}"))["f1"] for options in ("", "--bias O=0")
    )
    assert tuned > plain


def test_the_styles_of_scores(cli: Cli) -> None:
    cli.fine("tag chunk.palm test.txt -o tagged.txt")
    text = cli.fine("eval --guess tagged.txt --style conlleval")
    assert text == cli.fine("eval chunk.palm test.txt --style conlleval")
    assert text.startswith("processed 1077 tokens with 609 phrases; found: ")
    assert "micro avg" in cli.fine("eval --guess tagged.txt --style seqeval")
    scores = json.loads(cli.fine("eval chunk.palm test.txt --style json --errors 3"))
    assert f"FB1: {100 * scores['f1']:6.2f}" in text
    assert len(scores["errors"]) == 3
    seen = {cells[0] for s in rows(cli.read("train.txt")) for cells in s}
    assert scores["unseen_tokens"] == sum(cells[0] not in seen for s in rows(cli.read("test.txt")) for cells in s)
    table = cli.fine("eval chunk.palm test.txt")
    for part in ("confusions (gold in rows, guess in columns)", "most frequent errors", "unseen words"):
        assert part in table


# --- the other verbs ----------------------------------------------------------------------------------------


def test_a_printed_set_is_the_set(cli: Cli) -> None:
    cli.write("mine.txt", cli.fine("features chunk"))
    trained(cli, "--template mine.txt --learner perceptron --passes 4")
    assert tags(cli, "m.palm") == tags(cli, "chunk.palm")
    for name in ("pos", "chunk", "ner", "char"):
        assert name in cli.fine("features")
        cli.write("set.txt", cli.fine(f"features {name} --order 2"))
        assert "order 2" in cli.fine("features set.txt")
    assert "suffix3" in cli.fine("features --atoms")
    cli.write("twice.txt", "U0:%x[0,0]\nU0:%x[0,0]\n")
    assert "twice.txt:2: duplicate" in cli.fine("features twice.txt")


def test_the_tag_scheme_of_a_file(cli: Cli) -> None:
    text = cli.fine("convert train.txt --to-scheme iobes -q")
    assert {label[0] for sentence in last_cells(text) for label in sentence} == set("BIESO")
    cli.write("iobes.txt", text)
    ran = cli("convert iobes.txt -o back.txt --to-scheme bio")
    assert (ran.code, cli.read("back.txt")) == (0, cli.read("train.txt"))
    assert "wrote back.txt" in ran.err
    cli.fine("convert train.txt -o ioe1.txt --to-scheme IOE1 --label -1 --separator space -q")
    assert cli("convert train.txt --to magic").code == 2
    assert "not a chunk label" in cli("convert train.txt --label 1 -q").err


def test_looking_inside(cli: Cli) -> None:
    text = cli.fine("inspect chunk.palm --top 3 --show-label B-NP --show-label O")
    assert "perceptron, avg weights" in text
    assert "17 labels (IOB2)" in text
    about = json.loads(cli.fine("inspect chunk.palm --json --top 3"))
    pair = about["transitions"][0]
    assert f"{pair['from']} > {pair['to']} {pair['weight']:+.2f}" in text
    assert all(len(about["top"][label]) == 3 for label in ("B-NP", "O"))
    strongest = about["top"]["B-NP"][0]
    assert f"{strongest['name']} {strongest['weight']:+.2f}" in text
    cli.write("b.txt", "B\n")
    trained(cli, "--template b.txt --passes 1")
    assert "0 label attributes" not in cli.fine("inspect m.palm")  # it has none at all, and no crash


def test_doctor_and_version(cli: Cli) -> None:
    from palmette import __version__

    about = json.loads(cli.fine("doctor --json"))
    assert about["palmette"] == __version__ == cli.fine("--version").strip()
    assert set(about["packages"]) == {"numpy", "msgspec", "rich"}
    assert about["kernels"] == "library"
    assert about["library"]["kernels"] == len(KERNELS)
    assert f"{len(KERNELS)} as machine code for {about['library']['level']}" in cli.fine("doctor")


def test_the_demo_leaves_what_it_tells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = Cli(tmp_path, capsys, monkeypatch)
    out = cli.fine("demo --corpus -q", "--text", "Dogs bark.")
    assert sorted(os.listdir(tmp_path)) == ["chunk.palm", "dev.txt", "pos.palm", "test.txt", "train.txt"]
    assert "Dogs" in out
    lines = out.replace(" \\\n", " ").splitlines()  # a command on several lines
    commands = [line[9:] for line in lines if line.startswith("palmette train ")]
    for line in commands:  # the commands it shows make the models it made
        name = line.split()[3]
        made = (tmp_path / name).read_bytes()
        cli.fine(line)
        assert (tmp_path / name).read_bytes() == made
    assert len(commands) == 2


def test_the_templates_of_the_benchmarks(cli: Cli) -> None:
    for path in sorted(TEMPLATES.glob("*.txt")):
        assert f"{path}: crfpp syntax" in cli.fine("features", str(path))


def test_a_model_card_tells_what_inspect_does(cli: Cli) -> None:
    about = json.loads(cli.fine("inspect chunk.palm --json"))
    card = cli.fine("inspect chunk.palm --card")
    assert card.startswith("# chunk\n")
    for label, strongest in about["top"].items():
        assert f"| `{label}` |" in card
        assert all(f"{row['weight']:+.2f}" in card for row in strongest[:5])
    assert f"{about['nonzero_weights']:,}" in card
    assert "To be filled in" in card
    tables = [line for line in card.splitlines() if line.startswith("|")]
    assert all(line.replace("\\|", "").count("|") == 3 for line in tables)
    assert "not both" in cli("inspect chunk.palm --card --json").err


# --- one file for a training ----------------------------------------------------------------------------------


def test_a_training_is_repeated_from_one_file(cli: Cli, demo: Path) -> None:
    cli.write("words.txt", "London\n")
    options = "--learner crf --l2 0.5 --iterations 7 --lexicons a=words.txt --lexicons b=words.txt --no-ends"
    cli.fine(f"train train.txt -o one.palm -q {options} --save-config t.toml")
    found = tomllib.loads((demo / "t.toml").read_text(encoding="utf-8"))
    assert found == {
        "data": ["train.txt"], "output": "one.palm", "quiet": True, "learner": "crf", "l2": 0.5, "iterations": 7,
        "lexicons": ["a=words.txt", "b=words.txt"], "ends": False,
    }  # fmt: skip
    cli.fine("train --config t.toml -o two.palm")  # the command line comes first
    assert (demo / "one.palm").read_bytes() == (demo / "two.palm").read_bytes()
    cli.fine("train --config t.toml -o three.palm --l2 2 --save-config again.toml")
    assert tomllib.loads((demo / "again.toml").read_text(encoding="utf-8")) == found | {"output": "three.palm", "l2": 2}
    assert (demo / "three.palm").read_bytes() != (demo / "one.palm").read_bytes()
    cli.fine("train train.txt --config one.palm -o like.palm")  # the options that a model remembers
    assert (demo / "like.palm").read_bytes() == (demo / "one.palm").read_bytes()
    cli.fine("train train.txt --config one.palm -o other.palm --l2 2")
    assert (demo / "other.palm").read_bytes() == (demo / "three.palm").read_bytes()
    assert "leave --as and --resume out" in cli("train train.txt --config one.palm -o x.palm --resume one.palm").err
    assert "another kind of model" in cli("classifier train train.txt --config one.palm -o x.palm").err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("lerner = 'crf'", "there is no option lerner; did you mean learner?"),
        ("quiet = 'yes'", "quiet = 'yes': expected true or false"),
        ("l2 = [1]", "l2 = [1]: expected a text or a number"),
        ("passes = 0", "--passes: 0 is not a whole number"),
        ("learner = ", "not a TOML file"),
        ("config = 'other.toml'", "there is no option config"),
    ],
)
def test_a_wrong_configuration_is_named(cli: Cli, demo: Path, text: str, problem: str) -> None:
    (demo / "wrong.toml").write_text(text + "\n", encoding="utf-8")
    code, _, err = cli("train train.txt -o wrong.palm --config wrong.toml")
    assert code == (2 if problem.startswith("--") else 1)  # the value, or the file
    assert problem in err
    assert not (demo / "wrong.palm").exists()
