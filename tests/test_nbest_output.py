"""N-best lists in Python and on the command line, in three formats."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from cli_run import Cli
from fitting import flat_tagger

from palmette import Tagger
from palmette.errors import DataError, UsageError

SENTENCES = [["the", "dog", "barks"], ["a", "cat", "sleeps", "here"], ["dogs", "sleep"]]
TAGS = [["D", "N", "V"], ["D", "N", "V", "A"], ["N", "V"]]
TRAINING = "".join(
    "".join(f"{w}\t{t}\n" for w, t in zip(words, tags, strict=True)) + "\n"
    for words, tags in zip(SENTENCES, TAGS, strict=True)
)
INPUT = "the\ndog\nsleeps\n\nbarks\n\n"


# --- Python -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger("pos", passes=3).fit(SENTENCES, TAGS)


def test_the_first_is_what_predict_says(tagger: Tagger) -> None:
    lists = tagger.nbest(SENTENCES, 4)
    labels, scores = tagger.predict_scored(SENTENCES)
    assert [found[0].output for found in lists] == labels
    assert [found[0].score for found in lists] == pytest.approx(scores)
    for found in lists:
        assert len({tuple(one.output) for one in found}) == 4
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
        assert all(one.probability is None for one in found)


def test_all_sequences_there_are(tagger: Tagger) -> None:
    (found,) = tagger.nbest([["dog"]], 100)
    assert sorted(one.output for one in found) == [["A"], ["D"], ["N"], ["V"]]


@pytest.mark.parametrize(("learner", "latent"), [("crf", 1), ("dplvm", 2)])
def test_the_probabilities_of_all_sequences_add_up_to_one(learner: str, latent: int) -> None:
    model = flat_tagger("pos", learner=learner, latent=latent, iterations=5, constraints="none").fit(SENTENCES, TAGS)
    (found, nothing) = model.nbest([["the", "dog"], []], 1000)
    assert len(found) == 16
    assert math.fsum(one.probability or 0.0 for one in found) == pytest.approx(1)
    assert nothing == [([], 0.0, 1.0)]


def test_what_is_known_is_kept(tagger: Tagger) -> None:
    (found,) = tagger.nbest([["the", "dog"]], 50, allowed=[["A", {"D", "N"}]])
    assert sorted(one.output for one in found) == [["A", "D"], ["A", "N"]]


def test_empty_sentences_have_an_empty_sequence(tagger: Tagger) -> None:
    found = tagger.nbest([[], ["dog"], []], 2)
    assert found[0] == found[2] == [([], 0.0, None)]
    assert len(found[1]) == 2
    assert tagger.nbest([], 2) == []


def test_slices_of_a_corpus_make_no_difference(tagger: Tagger, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = tagger.nbest(SENTENCES * 5, 3)
    monkeypatch.setattr("palmette.structures.chain.nbest.CELLS", 10)
    assert tagger.nbest(SENTENCES * 5, 3) == everything
    assert everything[:3] == everything[3:6]


@pytest.mark.parametrize("n", [0, -1, 1001, 2.0, True])
def test_a_wrong_number_is_told(tagger: Tagger, n: object) -> None:
    with pytest.raises(UsageError, match="between 1 and 1000"):
        tagger.nbest([["dog"]], n)  # type: ignore[arg-type]


def test_an_impossible_sentence_is_named(tagger: Tagger) -> None:
    strict = Tagger("pos", passes=1, forbidden=[("D", "D"), ("N", "D")]).fit(SENTENCES, TAGS)
    with pytest.raises(DataError, match="sentence 2: no label sequence"):
        strict.nbest([["dog"], ["the", "the"]], 2, allowed=[[None], ["D", "D"]])


# --- the command --------------------------------------------------------------------------------------------


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


@pytest.fixture
def trained(cli: Cli) -> Cli:
    cli.write("train.txt", TRAINING)
    cli.write("in.txt", INPUT)
    cli.fine("train train.txt -f pos -o m.palm -q --passes 3")
    cli.fine("train train.txt -f pos -o crf.palm -q --iterations 5 --learner crf")
    return cli


def blocks_of(text: str) -> list[tuple[str, float, list[list[str]]]]:
    """(rank, number, rows) of each block."""
    found = []
    for block in text.strip("\n").split("\n\n"):
        head, *rows = block.split("\n")
        hash_sign, rank, number = head.split()
        assert hash_sign == "#"
        found.append((rank, float(number), [row.split("\t") for row in rows]))
    return found


@pytest.mark.parametrize("model", ["m", "crf"])
def test_blocks_as_crfpp_writes_them(trained: Cli, model: str) -> None:
    found = blocks_of(trained.fine(f"tag {model}.palm in.txt --nbest 3 -q"))
    lists = Tagger.load(trained.folder / f"{model}.palm").nbest([["the", "dog", "sleeps"], ["barks"]], 3)
    assert [rank for rank, *_ in found] == ["0", "1", "2"] * 2
    assert [[row[0] for row in rows] for *_, rows in found] == [["the", "dog", "sleeps"]] * 3 + [["barks"]] * 3
    assert [[row[1] for row in rows] for *_, rows in found] == [one.output for own in lists for one in own]
    numbers = [one.score if one.probability is None else one.probability for own in lists for one in own]
    assert [number for _, number, _ in found] == pytest.approx(numbers, rel=1e-5)


def test_labels_side_by_side(trained: Cli) -> None:
    (one, two, _) = trained.fine("tag crf.palm in.txt --nbest 9 --to columns -q").split("\n\n")
    lists = Tagger.load(trained.folder / "crf.palm").nbest([["the", "dog", "sleeps"], ["barks"]], 9)
    scores, probabilities, *rows = one.split("\n")
    assert [float(number) for number in scores.split()[2:]] == pytest.approx([c.score for c in lists[0]], rel=1e-5)
    assert len(probabilities.split()) == 2 + 9
    columns = [row.split("\t") for row in rows]
    assert [list(column) for column in zip(*columns, strict=True)][1:] == [c.output for c in lists[0]]
    assert two.split("\n")[2].split("\t")[5:] == ["_"] * 5  # there are four labels


def test_objects_keep_what_they_had(trained: Cli) -> None:
    trained.write("in.jsonl", '{"id": 7, "tokens": ["the", "dog"], "tags": ["?", "?"]}\n\n{"tokens": []}\n')
    first, second = map(json.loads, trained.fine("tag crf.palm in.jsonl --nbest 2 -q").splitlines())
    assert (first["id"], first["tags"], len(first["nbest"])) == (7, first["nbest"][0]["tags"], 2)
    assert set(first["nbest"][1]) == {"tags", "score", "probability"}
    assert second["nbest"] == [{"tags": [], "score": 0.0, "probability": 1.0}]


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_of_input_make_no_difference(trained: Cli, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    trained.write("long.txt", INPUT * 300)
    whole = trained.fine("tag m.palm long.txt --nbest 2 -q")
    monkeypatch.setattr("palmette.structures.chain.files.SMALLEST_BLOCK", 100)
    monkeypatch.setattr("palmette.structures.chain.files.BLOCK", 100)
    assert trained.fine(f"tag m.palm long.txt --nbest 2 -q --threads {threads}") == whole
    assert whole.count("# 0 ") == 600


def test_raw_text_and_what_is_known(trained: Cli) -> None:
    trained.write("raw.txt", "The dog barks.\n")
    (first, *_) = map(json.loads, trained.fine("tag m.palm raw.txt --format text --to jsonl --nbest 2 -q").splitlines())
    assert (first["text"], first["tokens"], first["offsets"][1]) == (
        "The dog barks.",
        ["The", "dog", "barks", "."],
        [4, 7],
    )
    trained.write("some.txt", "the\tA\ndog\t?\n\n")
    found = blocks_of(trained.fine("tag m.palm some.txt --nbest 9 --known 1 -q"))
    assert [rows[0] for *_, rows in found] == [["the", "A", "A"]] * 4


def test_attributes_have_labels_alone(cli: Cli) -> None:
    cli.write("a.crfsuite", "B\tw=a\tv:2.5\nI\tw=b\n\nO\tw=c\nB\tw=a\n\n")
    cli.fine("train a.crfsuite -o a.palm --passes 3 -q")
    (first, second) = Tagger.load("a.palm").nbest([[{"w=a": 1.0, "v": 2.5}, {"w=b": 1.0}]], 2)[0]
    blocks = blocks_of(cli.fine("tag a.palm a.crfsuite --nbest 2 -q"))
    assert [rows for *_, rows in blocks[:2]] == [[[label] for label in one.output] for one in (first, second)]
    assert cli.fine("tag a.palm a.crfsuite --nbest 2 --to columns -q").split("\n")[1] == "\t".join(
        (first.output[0], second.output[0])
    )
    ran = cli("tag a.palm a.crfsuite --nbest 2 --to jsonl -q")
    assert (ran.code, "no tokens" in ran.err) == (2, True)


def test_conllu_gives_its_cells(cli: Cli) -> None:
    cli.write("u.conllu", "# a comment\n1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n2\tb\tb\tY\t_\t_\t1\tdep\t_\t_\n\n")
    cli.fine("train u.conllu -f pos -o u.palm -q --passes 2")
    blocks = blocks_of(cli.fine("tag u.palm u.conllu --nbest 2 -q"))
    assert blocks[0][2] == [["a", "X"], ["b", "Y"]]
    assert [row[0] for row in blocks[1][2]] == ["a", "b"]


def test_a_typed_sentence(trained: Cli) -> None:
    rows = [line.split() for line in trained.fine("tag crf.palm --nbest 3 --text", "the dog sleeps").splitlines()]
    assert [row[0] for row in rows] == ["score", "probability", "the", "dog", "sleeps"]
    assert {len(row) for row in rows} == {4}


@pytest.mark.parametrize("options", ["--scores", "--decode marginal", "--to conllu", "--nbest 0"])
def test_options_that_do_not_fit_are_refused(trained: Cli, options: str) -> None:
    ran = trained(f"tag m.palm in.txt --nbest 2 {options}".replace("--nbest 2 --nbest 0", "--nbest 0"))
    assert ran.code == 2
    assert "best" in ran.err
