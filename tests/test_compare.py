"""`palmette compare`: models, outputs and learners side by side, against what `eval`, `tag` and `train` say."""

from __future__ import annotations

import gzip
import json
import math
import statistics
from pathlib import Path

import numpy as np
import pytest
from cli_run import Cli, last_cells, leave_demo, rows

from palmette import Tagger
from palmette.data import FormatSpec
from palmette.errors import UsageError
from palmette.evaluation import CompareOptions, SystemOutputs, compare, label_rivals
from palmette.lab.ablation import parse_learners
from palmette.reports.comparison import letters, p_text


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo corpus, two chunkers, one that sees words alone, a tagger, and an output."""
    folder = tmp_path_factory.mktemp("compare")
    leave_demo(folder)
    Tagger("chunk", passes=4).fit_file(folder / "train.txt").save(folder / "avg.palm")
    last = Tagger("chunk", passes=2, estimator="last").fit_file(folder / "train.txt")
    last.save(folder / "last.palm")
    last.tag_file(folder / "test.txt", folder / "last.txt")
    words = FormatSpec(columns=("0",))
    Tagger("pos", passes=3).fit_file(folder / "train.txt", spec=words).save(folder / "words.palm")
    for name, passes in (("pos", 4), ("pos1", 1)):
        tagger = Tagger("pos", passes=passes).fit_file(folder / "train.txt", spec=FormatSpec(label="1", columns=("0",)))
        tagger.save(folder / f"{name}.palm")
    return folder


@pytest.fixture
def cli(demo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(demo, capsys, monkeypatch)


def compared(cli: Cli, line: str) -> dict:
    return json.loads(cli.fine(f"compare {line} --rounds 500 --json -q"))


def refused(cli: Cli, line: str, code: int) -> str:
    ran = cli(f"compare {line}")
    assert ran.code == code, ran.err
    assert ran.out == ""
    return ran.err


def gold_and_guesses(cli: Cli, *models: str) -> tuple[list[list[str]], list[list[list[str]]]]:
    return last_cells(cli.read("test.txt")), [last_cells(cli.fine(f"tag {model} test.txt -q")) for model in models]


# --- models and outputs -------------------------------------------------------------------------------------


def test_a_model_of_another_tool_is_compared_as_its_own_output_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = Cli(tmp_path, capsys, monkeypatch)
    cli.write("data.txt", "D\tw=the\nN\tw=cat\n\nD\tw=a\nN\tw=dog\nV\tw=barks\n\nN\tw=the\n")
    options = "--format attributes --learner crf --no-ends --constraints none -q"
    cli.fine(f"train data.txt -o one.palm {options} --l2 9")
    cli.fine(f"train data.txt -o two.palm {options} --l2 0.01")
    cli.fine("convert two.palm -o two.crfsuite -q")
    found = compared(cli, "one.palm two.crfsuite data.txt")
    own = compared(cli, "one.palm two.palm data.txt")
    assert [system["scores"] for system in found["systems"]] == [system["scores"] for system in own["systems"]]
    assert found["systems"][1]["name"] == "two.crfsuite"


def test_scores_are_those_of_eval(cli: Cli) -> None:
    found = compared(cli, "avg.palm last.palm words.palm test.txt")
    assert [system["name"] for system in found["systems"]] == ["avg.palm", "last.palm", "words.palm"]
    for system in found["systems"]:
        told = json.loads(cli.fine(f"eval {system['name']} test.txt --json"))
        assert (system["accuracy"], system["f1"]) == (told["accuracy"], told["f1"])
        assert system["scores"]["by_type"] == told["by_type"]
        for metric in ("accuracy", "f1"):
            assert system[f"{metric}_interval"]["low"] < system[metric] < system[f"{metric}_interval"]["high"]


def test_pairs_agree_with_counts_by_hand(cli: Cli) -> None:
    names = ("avg.palm", "last.palm", "words.palm")
    found = compared(cli, f"{' '.join(names)} test.txt")
    gold, guesses = gold_and_guesses(cli, *names)
    flat = [[label for sentence in labels for label in sentence] for labels in (gold, *guesses)]
    right = {
        name: [a == b for a, b in zip(flat[0], guess, strict=True)] for name, guess in zip(names, flat[1:], strict=True)
    }
    assert [(pair["first"], pair["second"]) for pair in found["pairs"]] == [
        (names[0], names[1]), (names[0], names[2]), (names[1], names[2]),
    ]  # fmt: skip
    score = {system["name"]: system for system in found["systems"]}
    for pair in found["pairs"]:
        first, second = right[pair["first"]], right[pair["second"]]
        assert pair["mcnemar"]["only_first"] == sum(a and not b for a, b in zip(first, second, strict=True))
        assert pair["mcnemar"]["only_second"] == sum(b and not a for a, b in zip(first, second, strict=True))
        for metric in ("accuracy", "f1"):
            difference = score[pair["second"]][metric] - score[pair["first"]][metric]
            assert pair[metric]["value"] == pytest.approx(difference)
            assert pair[metric]["interval"]["low"] <= difference <= pair[metric]["interval"]["high"]
            assert pair[metric]["p"] <= pair[metric]["p_holm"] <= 1
    worse = found["pairs"][1]
    assert worse["f1"]["value"] < -0.05
    assert worse["f1"]["p"] == pytest.approx(1 / 501)
    assert worse["mcnemar"]["exact"] < 0.001


def test_an_output_stands_for_its_model(cli: Cli) -> None:
    model, output = (compared(cli, f"avg.palm {system} test.txt") for system in ("last.palm", "last.txt"))
    for found in (model, output):
        found.pop("files")
        found["systems"][1].pop("name")
        found["pairs"][0].pop("second")
    for one, other in zip(model.pop("where"), output.pop("where"), strict=True):
        assert one["scores"] == other["scores"]
    for found in (model, output):
        found["systems"][1]["scores"].pop("confusions")  # ties are told by the labels' numbers, which differ
        found["systems"][1]["scores"]["by_label"] = dict(sorted(found["systems"][1]["scores"]["by_label"].items()))
    assert model == output


def test_content_tells_a_model_and_gzip_is_read(cli: Cli) -> None:
    cli.write("model.txt", (cli.folder / "avg.palm").read_bytes())
    cli.write("output.palm", (cli.folder / "last.txt").read_bytes())
    cli.write("output.gz", gzip.compress((cli.folder / "last.txt").read_bytes()))
    plain = compared(cli, "avg.palm last.txt test.txt")
    for other in ("output.palm", "output.gz"):
        found = compared(cli, f"model.txt {other} --gold test.txt")
        assert [system["f1"] for system in found["systems"]] == [system["f1"] for system in plain["systems"]]


def test_outputs_alone_need_no_model(cli: Cli) -> None:
    cli.fine("tag avg.palm test.txt -o avg.txt -q")
    found = compared(cli, "avg.txt last.txt test.txt")
    with_models = compared(cli, "avg.palm last.palm test.txt")
    assert found["pairs"][0]["f1"] == with_models["pairs"][0]["f1"]
    assert found["unseen_for"] is None
    assert not [row for row in found["where"] if row["kind"] == "words"]


def test_who_wins_where(cli: Cli) -> None:
    found = compared(cli, "avg.palm words.palm test.txt")
    rows = {row["name"]: row for row in found["where"] if row["kind"] == "type"}
    assert [row["gold"] for row in rows.values()] == sorted((row["gold"] for row in rows.values()), reverse=True)
    for name, row in rows.items():
        told = [system["scores"]["by_type"].get(name, {"f1": 0.0})["f1"] for system in found["systems"]]
        assert row["scores"] == told
        assert row["best"] == [n for n, f in zip(("avg.palm", "words.palm"), told, strict=True) if f == max(told)]
    seen, unseen = (row for row in found["where"] if row["kind"] == "words")
    assert (seen["name"], unseen["name"], found["unseen_for"]) == ("seen", "unseen", "avg.palm")
    assert seen["gold"] + unseen["gold"] == found["tokens"]
    system = found["systems"][1]
    assert unseen["scores"][1] == system["scores"]["unseen_accuracy"]
    both = (seen["gold"] * seen["scores"][1] + unseen["gold"] * unseen["scores"][1]) / found["tokens"]
    assert both == pytest.approx(system["accuracy"])


def test_sentences_that_differ(cli: Cli) -> None:
    gold, (one, other) = gold_and_guesses(cli, "avg.palm", "last.palm")
    words = [[cells[0] for cells in sentence] for sentence in rows(cli.read("test.txt"))]
    expected = {
        s: [(i, words[s][i], gold[s][i], [a, b]) for i, (a, b) in enumerate(zip(*pair, strict=True)) if a != b]
        for s, pair in enumerate(zip(one, other, strict=True))
        if pair[0] != pair[1]
    }
    found = compared(cli, "avg.palm last.palm test.txt --differences 1000")
    assert found["differing_sentences"] == len(expected)
    order = sorted(expected, key=lambda s: (-len(expected[s]), s))
    assert [sentence["sentence"] for sentence in found["differences"]] == order
    lines = cli.read("test.txt").split("\n")
    for sentence in found["differences"]:
        tokens = [(t["token"], t["word"], t["gold"], t["guesses"]) for t in sentence["tokens"]]
        assert tokens == expected[sentence["sentence"]]
        assert lines[sentence["line"] - 1].split()[0] == sentence["text"][0]
    few = compared(cli, "avg.palm last.palm test.txt --differences 2")
    assert few["differences"] == found["differences"][:2]


def test_labels_that_are_no_chunks(cli: Cli) -> None:
    found = compared(cli, "pos.palm pos1.palm test.txt")
    assert found["chunk_rules"] is None
    assert [system["f1"] for system in found["systems"]] == [None, None]
    assert found["pairs"][0]["f1"] is None
    assert {row["kind"] for row in found["where"]} == {"label", "words"}
    text = cli.fine("compare pos.palm pos1.palm test.txt")
    assert "F1 by label" in text
    assert "accuracy" in text


def test_the_table(cli: Cli) -> None:
    text = cli.fine("compare avg.palm last.palm words.palm test.txt --differences 1")
    found = json.loads(cli.fine("compare avg.palm last.palm words.palm test.txt --json"))
    assert max(map(len, text.split("\n"))) <= 100
    a, b, c = (f"{100 * system['f1']:.2f}" for system in found["systems"])
    lines = [line.split() for line in text.split("\n")]
    assert [line[:2] for line in lines if a in line or b in line or c in line][:3] == [
        ["A", "avg.palm"], ["B", "last.palm"], ["C", "words.palm"],
    ]  # fmt: skip
    assert "B - A" in text
    assert "C - A" in text
    assert "C - B" not in text
    assert p_text(found["pairs"][0]["mcnemar"]["exact"]) in text
    assert text.count("sentence ") == 1
    same = cli.fine("compare last.palm last.txt test.txt")
    assert "the systems agree on every token" in same
    assert "1.0000" in same


def test_what_is_not_known_counts_nowhere() -> None:
    """Two sentences; gold is not known at one token of the second."""
    labels = ["B-X", "O", "B-Y"]
    gold, one, two = (np.array(ids, np.int32) for ids in ([0, 1, 2, 0, 1], [0, 1, 2, 1, 2], [2, 1, 2, 0, 1]))
    known = np.array([1, 1, 1, 0, 1], bool)
    contest = SystemOutputs(["a", "b"], gold, [one, two], np.array([0, 3, 5]), labels, [], known=known)
    found = compare(label_rivals(contest), CompareOptions(rounds=50))
    assert (found.units, found.sentences) == (4, 2)
    assert [system.to_dict()["accuracy"] for system in found.systems] == [0.75, 0.75]
    assert [system.to_dict()["f1"] for system in found.systems] == [1.0, 0.5]
    (pair,) = found.pairs
    assert pair.mcnemar is not None
    assert (pair.mcnemar.only_first, pair.mcnemar.only_second) == (1, 1)
    assert pair.to_dict()["f1"]["value"] == -0.5
    assert [len(sentence.tokens) for sentence in found.differences] == [2, 1]


def test_outputs_are_read_as_the_model_reads_gold(cli: Cli) -> None:
    """Columns in another order, and a label that is not the last column."""
    turned = "\n".join(" ".join(reversed(line.split())) for line in cli.read("test.txt").split("\n"))
    cli.write("turned.txt", turned)
    for seed in (1, 2):
        tagger = Tagger("pos", passes=1, seed=seed)
        tagger.fit_file(cli.folder / "turned.txt", spec=FormatSpec(label="0", columns=("2", "1"))).save(f"t{seed}.palm")
    cli.fine("tag t2.palm turned.txt -o t2.txt -q")
    models, output = (compared(cli, f"t1.palm {second} turned.txt") for second in ("t2.palm", "t2.txt"))
    assert models["pairs"][0]["f1"] == output["pairs"][0]["f1"]
    assert output["differences"] == models["differences"]


def test_the_same_seed_gives_the_same_figures(cli: Cli) -> None:
    line = "avg.palm last.palm test.txt"
    assert compared(cli, line) == compared(cli, line)
    assert compared(cli, line)["pairs"] != compared(cli, f"{line} --seed 2")["pairs"]


def test_a_column_made_by_another_model(cli: Cli) -> None:
    bare = "\n".join(" ".join(line.split()[0::2]) for line in cli.read("test.txt").split("\n"))
    cli.write("bare.txt", bare)
    found = compared(cli, "words.palm avg.palm bare.txt --with pos=pos.palm")
    told = json.loads(cli.fine("eval avg.palm bare.txt --with pos=pos.palm --json"))
    assert found["systems"][1]["f1"] == told["f1"]
    assert "--with" in refused(cli, "avg.palm last.palm test.txt --with pos=pos.palm", 2)


def test_conllu_and_json_lines(cli: Cli) -> None:
    sentences = rows(cli.read("test.txt"))
    conllu, lines = "", ""
    for sentence in sentences:
        rows_of = (f"{i}\t{w}\t_\t{p}\t_\t_\t0\t_\t_\t_\n" for i, (w, p, _) in enumerate(sentence, 1))
        conllu += "".join(rows_of) + "\n"
        lines += json.dumps({"tokens": [w for w, _, _ in sentence], "tags": [p for _, p, _ in sentence]}) + "\n"
    expected = compared(cli, "pos.palm pos1.palm test.txt")
    for name, text in (("gold.conllu", conllu), ("gold.jsonl", lines)):
        cli.write(name, text)
        output = f"out.{name}"
        cli.fine(f"tag pos1.palm {name} -o {output} -q")
        for system in ("pos1.palm", output):
            found = compared(cli, f"pos.palm {system} {name}")
            assert found["pairs"][0]["accuracy"] == expected["pairs"][0]["accuracy"]


# --- what cannot be compared --------------------------------------------------------------------------------


def test_outputs_must_be_aligned(cli: Cli) -> None:
    lines = cli.read("last.txt").split("\n")
    first_end = lines.index("")
    changed = {
        "word": (["x" + lines[0], *lines[1:]], "bad.txt:1: the word is 'x"),
        "joined": (lines[:first_end] + lines[first_end + 1 :], f"bad.txt:{first_end + 1}: no sentence begins here"),
        "cut": ([*lines[:2], "", *lines[2:]], "bad.txt:4: a sentence begins here, and none in test.txt:3"),
        "short": (lines[:first_end], f"test.txt:{first_end + 2} is beyond the end of bad.txt"),
        "long": ([*lines, "more NN O O", ""], f"bad.txt:{len(lines) + 1} is beyond the end of test.txt"),
        "no chunk": ([lines[0], " ".join([*lines[1].split()[:-1], "Q"]), *lines[2:]], "bad.txt:2: 'Q' is not a chunk"),
    }
    for name, (new, message) in changed.items():
        cli.write("bad.txt", "\n".join(new))
        assert message in refused(cli, "avg.palm bad.txt test.txt", 1), name


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("", 2, "two or more"),
        ("avg.palm test.txt", 2, "two or more"),
        ("test.txt avg.palm last.palm", 2, "last.palm is a model: the gold file comes last"),
        ("avg.palm avg.palm test.txt", 2, "avg.palm is given twice"),
        ("avg.palm - test.txt", 2, "not standard input"),
        ("avg.palm missing.palm test.txt", 1, "missing.palm: cannot read: no such file"),
        ("pos.palm avg.palm test.txt", 2, "another column"),
        ("avg.palm pos.palm test.txt --label 2 --columns 0,1", 1, "pos.palm: "),
        ("avg.palm last.palm test.txt --seeds 2", 2, "--train"),
        ("avg.palm last.palm test.txt --rounds 0", 2, "--rounds"),
        ("avg.palm --train train.txt --gold test.txt --learners perceptron", 2, "no other files"),
        ("--train train.txt --learners perceptron,latent", 2, "--gold"),
        ("--train train.txt --gold test.txt --learners perceptron", 2, "two or more"),
        ("--train train.txt --gold test.txt --learners perceptron,perceptron", 2, "twice"),
        ("--train train.txt --gold test.txt --learners perceptron,nonsense", 2, "nonsense"),
        ("--train train.txt --gold test.txt --learners perceptron,perceptron:nonsense=1", 2, "no option 'nonsense'"),
        ("--train train.txt --gold test.txt --learners perceptron,latent --seeds 0", 2, "--seeds"),
        ("--train train.txt --gold test.txt --learners perceptron,latent --differences 3", 2, "--differences"),
        ("--train train.txt --gold test.txt --learners perceptron,latent --dev dev.txt --dev-share 0.1", 2, "not both"),
    ],
)
def test_wrong_usage(cli: Cli, line: str, code: int, message: str) -> None:
    assert message in refused(cli, line, code)


# --- learners -----------------------------------------------------------------------------------------------


def test_learner_specifications() -> None:
    found = parse_learners(["perceptron,perceptron:estimator=last,passes=5,tune_bias=true latent:3", "latent"])
    assert [learner.name for learner in found] == [
        "perceptron", "perceptron:estimator=last,passes=5,tune_bias=true", "latent:3", "latent",
    ]  # fmt: skip
    assert [learner.params for learner in found] == [
        {"learner": "perceptron"},
        {"learner": "perceptron", "estimator": "last", "passes": 5, "tune_bias": True},
        {"learner": "perceptron", "latent": 3},
        {"learner": "perceptron", "latent": 2},
    ]
    (one,) = parse_learners(["perceptron:init-size=0.5,latent=B-NP=2+O=3,constraints=none"])
    assert one.params == {
        "learner": "perceptron",
        "init_size": 0.5,
        "latent": {"B-NP": 2, "O": 3},
        "constraints": "none",
    }
    (short,) = parse_learners(["latent:4,estimator=last"])
    assert short.params == {"learner": "perceptron", "latent": 4, "estimator": "last"}


def test_spaces_around_commas_between_learners_do_not_matter() -> None:
    plain = parse_learners(["perceptron,mira:nbest=5,cost=span,latent"])
    for text in ("perceptron, mira:nbest=5, cost=span, latent", "perceptron ,mira:nbest=5 , cost=span ,\tlatent"):
        assert parse_learners([text]) == plain


@pytest.mark.parametrize(
    "text", ["perceptron:", ":x=1", "order=2", "perceptron:5", "perceptron:order=", "perceptron:seed=3", "a,,b"]
)
def test_wrong_learner_specifications(text: str) -> None:
    with pytest.raises(UsageError, match="--learners"):
        parse_learners([text])


def ablation(cli: Cli, options: str = "") -> dict:
    line = (
        "--train train.txt --gold test.txt --features chunk --passes 3 --learners perceptron,perceptron:estimator=last"
    )
    return compared(cli, f"{line},perceptron:order=0 {options}")


def test_runs_are_what_train_and_eval_give(cli: Cli) -> None:
    found = ablation(cli, "--seeds 2 --dev dev.txt")
    wanted = {"perceptron": "", "perceptron:estimator=last": "--estimator last", "perceptron:order=0": "--order 0"}
    wanted = {name: f"--learner perceptron {options}" for name, options in wanted.items()}
    assert [learner["name"] for learner in found["learners"]] == list(wanted)
    for learner in found["learners"]:
        assert [run["seed"] for run in learner["runs"]] == [1, 2]
        for run in learner["runs"]:
            options = f"--features chunk --passes 3 --dev dev.txt --seed {run['seed']} {wanted[learner['name']]}"
            trained = json.loads(cli.fine(f"train train.txt -o run.palm --json {options}"))
            told = json.loads(cli.fine("eval run.palm test.txt --json"))
            assert (run["best_pass"], run["dev"]) == (trained["best_pass"], trained["dev"])
            assert (run["accuracy"], run["f1"]) == pytest.approx((told["accuracy"], told["f1"]))
            assert run["seconds"] > 0
        for metric in ("accuracy", "f1", "seconds"):
            values = [run[metric] for run in learner["runs"]]
            assert learner[metric]["mean"] == pytest.approx(statistics.mean(values))
            assert learner[metric]["sd"] == pytest.approx(statistics.stdev(values))


def test_learners_are_tested_over_their_seeds(cli: Cli) -> None:
    found = ablation(cli, "--seeds 3")
    means = {learner["name"]: learner["f1"]["mean"] for learner in found["learners"]}
    assert len(found["pairs"]) == 3
    for pair in found["pairs"]:
        assert pair["f1"]["value"] == pytest.approx(means[pair["second"]] - means[pair["first"]])
        assert pair["f1"]["interval"]["low"] < pair["f1"]["value"] < pair["f1"]["interval"]["high"]
        assert 1 / 501 <= pair["f1"]["p"] <= 1
        assert pair["mcnemar"] is None
    again = ablation(cli, "--seeds 3")
    assert again["pairs"] == found["pairs"]


def test_one_seed_is_a_comparison_of_two_models(cli: Cli) -> None:
    found = ablation(cli, "--seeds 1")
    for name, options in (("one", ""), ("two", "--estimator last")):
        cli.fine(f"train train.txt -o {name}.palm --learner perceptron --features chunk --passes 3 -q {options}")
    models = compared(cli, "one.palm two.palm test.txt")
    for metric in ("accuracy", "f1"):
        ours, theirs = found["pairs"][0][metric], models["pairs"][0][metric]
        assert math.isclose(ours["value"], theirs["value"])
        assert ours["p"] == theirs["p"]
        assert ours["interval"] == theirs["interval"]
    assert found["learners"][0]["f1"]["sd"] is None


def test_the_table_of_learners(cli: Cli) -> None:
    line = "compare --train train.txt --gold test.txt --features pos --passes 2 --label 1 --columns 0 --seeds 2"
    ran = cli(f"{line} --learners perceptron,perceptron:order=0 --dev-share 0.1")
    assert ran.code == 0, ran.err
    assert "learner             " in ran.out
    assert "accuracy - first" in ran.out
    assert "F1" not in ran.out
    rows = [row for row in ran.out.split("\n") if row.startswith(("learner", "perceptron"))]
    assert max(map(len, rows)) <= 100
    assert "a share of 0.1 of the training sentences selected" in ran.out
    assert "test.txt was used for scores only" in " ".join(ran.out.split())
    assert "perceptron:order=0, seed 2: accuracy" in ran.err
    quiet = cli(f"{line} --learners perceptron,perceptron:order=0 -q")
    assert quiet.err == ""
    assert "no development data" in quiet.out


def test_short_names() -> None:
    assert letters(3) == ["A", "B", "C"]
    assert len(set(letters(60))) == 60
    assert [p_text(p) for p in (0.04123, 1.0, 0.00001)] == ["0.0412", "1.0000", "<0.0001"]
