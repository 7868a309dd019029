"""`palmette lm` as a user types it."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from cli_run import Cli

from palmette import LanguageModel


@pytest.fixture
def cli(tmp_path, capsys, monkeypatch) -> Cli:
    made = Cli(tmp_path, capsys, monkeypatch)
    made.write("a.txt", "the cat sat\nthe dog sat down\n\na cat saw the dog\n")
    return made


def test_from_text_to_scores_and_samples(cli: Cli) -> None:
    ran = cli("lm train a.txt -o m.palm")
    assert ran.code == 0
    assert "3 sentences, 12 tokens, 7 words" in ran.err
    assert "order 3: counts of counts are too few" in ran.err
    assert cli("lm train a.txt -o m.palm -q").err == ""
    out = cli.fine("lm score m.palm a.txt")
    assert "perplexity" in out
    rows = cli.fine("lm score m.palm a.txt --by-sentence").splitlines()
    model = LanguageModel.load("m.palm")
    assert rows[1].split("\t") == [f"{model.log_likelihood('the dog sat down'):.4f}", "4", "0", "the dog sat down"]
    found = json.loads(cli.fine("lm score m.palm a.txt --json"))
    assert found["perplexity"] == pytest.approx(
        model.perplexity(["the cat sat", "the dog sat down", "a cat saw the dog"])
    )
    assert [row["tokens"] for row in found["by_sentence"]] == [3, 4, 5]
    assert cli.fine("lm sample m.palm -n 4 --seed 7").splitlines() == [" ".join(s) for s in model.sample(4, seed=7)]


def test_samples_with_all_conditions(cli: Cli) -> None:
    cli.fine("lm train a.txt a.txt -o m.palm --order 2 -q")
    cli.write("like.txt", "the cat sat down\n" * 30 + "the dog\n" * 10)
    wishes = "--lengths like.txt --vocabulary like.txt --new --exclude like.txt --max-length 5"
    ran = cli(f"lm sample m.palm {wishes} -o s.txt --json")
    about = json.loads(ran.out)
    rows = cli.read("s.txt").splitlines()
    assert about["sentences"] == len(rows) == 40
    assert Counter(len(row.split()) for row in rows) == {4: 30, 2: 10}
    assert {word for row in rows for word in row.split()} <= {"the", "cat", "sat", "down", "dog"}
    assert not {"the cat sat down", "the dog", "the dog sat down"} & set(rows)
    assert sum(about["dropped"].values()) + 40 == about["draws"]
    assert "dropped: " in cli(f"lm sample m.palm {wishes} -o s.txt").err


def test_arpa_by_name_and_by_option(cli: Cli) -> None:
    cli.fine("lm train a.txt -o m.arpa -q")
    out = cli.fine("lm train a.txt -o - --arpa -q")
    assert out == cli.read("m.arpa")
    assert out.startswith("\\data\\\nngram 1=10\n")
    cli.fine("lm train a.txt -o m.palm -q")
    assert cli.fine("lm score m.arpa a.txt") == cli.fine("lm score m.palm a.txt")


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        ("lm train a.txt", 2, "output"),
        ("lm train none.txt -o m.palm", 1, "none.txt: cannot read: no such file"),
        ("lm train none.txt -o m.arpa --order 2.5", 2, "a mixture of two models, which an ARPA file cannot hold"),
        ("lm train a.txt -o m.palm --order 7", 2, "--order: 7 is not a number from 1 to 5"),
        ("lm train a.txt --nonsense -o m.palm", 2, "there is no option --nonsense"),
        ("lm train a.txt -o - --json --arpa", 2, "--json prints to standard output"),
        ("lm score a.txt a.txt", 1, "not a palmette model"),
        ("lm sample m.arpa --new", 2, "--exclude FILE"),
        ("lm sample m.arpa --json", 2, "-o FILE"),
        ("lm guess m.arpa", 2, "guess"),
    ],
)
def test_bad_commands_are_told(cli: Cli, line: str, code: int, told: str) -> None:
    cli.fine("lm train a.txt -o m.arpa -q")
    ran = cli(line)
    assert ran.code == code
    assert told in ran.err
