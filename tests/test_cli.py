"""Every verb from end to end, as users write the commands, on the demo corpus and on real corpora."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from cli_run import TEMPLATES, Cli, last_cells, leave_demo, leftovers, rows, spawn

from palmette import Tagger

CONLLU = """\
# sent_id = 1
# text = Don't stop it.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\tMood=Imp\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\tSpaceAfter=No
3\tstop\tstop\tVERB\tVB\t_\t0\troot\t_\t_
3.1\tstop\tstop\tVERB\tVB\t_\t_\t_\t0:root\t_
4\tit\tit\tPRON\tPRP\t_\t3\tobj\t_\t_
5\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

# newpar
1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_
2\tstop\tstop\tVERB\tVBP\t_\t0\troot\t_\t_

"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo corpus with a part-of-speech tagger and a chunker."""
    folder = tmp_path_factory.mktemp("cli")
    leave_demo(folder)
    from palmette.data import FormatSpec

    Tagger("chunk", passes=4).fit_file(folder / "train.txt").save(folder / "chunk.palm")
    pos = Tagger("pos", passes=4).fit_file(folder / "train.txt", spec=FormatSpec(label="1", columns=("0",)))
    pos.save(folder / "pos.palm")
    return folder


@pytest.fixture
def cli(demo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(demo, capsys, monkeypatch)


def conllu_of(text: str) -> str:
    """A column file as CoNLL-U, with the part of speech as UPOS."""
    blocks = []
    for sentence in rows(text):
        lines = [f"{i}\t{word}\t_\t{pos}\t{pos}\t_\t0\t_\t_\t_" for i, (word, pos, _) in enumerate(sentence, 1)]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks) + "\n"


# --- the command lines that must work as written ------------------------------------------------------------


def commands_as_users_write_them(cli: Cli) -> dict[str, dict]:
    """Run them all; what the JSON ones printed."""
    cli.fine(
        "train train.txt -o chunk.palm --template crfpp.txt --learner perceptron --estimator avg --order 1 "
        "--passes 10 --seed 1"
    )
    cli.fine("train train.conllu -o pos.palm --features pos --label upos --dev dev.conllu --patience 3")
    cli.fine("train train.txt -o ner.palm --features ner --dev dev.txt")
    cli.fine("tag chunk.palm test.txt -o tagged.txt")
    scores = json.loads(cli.fine("eval chunk.palm test.txt --json"))
    table = cli.fine("eval --guess tagged.txt")
    guessed = json.loads(cli.fine("eval --guess tagged.txt --json"))
    about = json.loads(cli.fine("inspect chunk.palm --json"))
    assert f"{100 * scores['f1']:.2f}" in table
    for name in ("accuracy", "precision", "recall", "f1"):
        assert 0 < scores[name] <= 1
        assert guessed[name] == scores[name]
    given, tagged = cli.read("test.txt").splitlines(), cli.read("tagged.txt").splitlines()
    assert len(given) == len(tagged)
    for line, out in zip(given, tagged, strict=True):
        assert out.startswith(line)
        assert len(out.split()) == (len(line.split()) + 1 if line else 0)
    return {"scores": scores, "about": about}


def test_command_lines_that_stay_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_demo(tmp_path)
    cli = Cli(tmp_path, capsys, monkeypatch)
    cli.write("crfpp.txt", (TEMPLATES / "crfpp.txt").read_bytes())
    for part in ("train", "dev"):
        cli.write(f"{part}.conllu", conllu_of(cli.read(f"{part}.txt")))
    found = commands_as_users_write_them(cli)
    assert found["scores"]["f1"] > 0.9
    assert found["about"]["order"] == 1
    assert found["about"]["scheme"] == "IOB2"
    assert len(found["about"]["history"]) == 10
    assert found["about"]["templates"][0] == "U00:%x[-2,0]"
    assert leftovers(tmp_path) == []


def test_the_command_lines_on_real_corpora(
    corpora: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = Cli(tmp_path, capsys, monkeypatch)
    cli.write("crfpp.txt", (TEMPLATES / "crfpp.txt").read_bytes())
    for part, n in (("train", 1000), ("test", 300)):
        blocks = (corpora / "conll2000" / f"{part}.txt").read_text(encoding="utf-8").split("\n\n")[:n]
        cli.write(f"{part}.txt", "\n\n".join(blocks) + "\n")
    cli.write("dev.txt", cli.read("test.txt"))
    for part, n in (("train", 800), ("dev", 200)):
        text = (corpora / "ud-ewt" / f"en_ewt-ud-{part}.conllu").read_text(encoding="utf-8")
        cli.write(f"{part}.conllu", "\n\n".join(text.split("\n\n")[:n]) + "\n\n")
    found = commands_as_users_write_them(cli)
    assert found["scores"]["f1"] > 0.88
    about = json.loads(cli.fine("inspect pos.palm --json"))
    assert max(row["dev"] for row in about["history"]) > 0.88


# --- reading and writing ------------------------------------------------------------------------------------


def test_standard_input_and_output(cli: Cli) -> None:
    expected = cli.fine("tag chunk.palm test.txt")
    assert rows(expected)[0][0] == [*rows(cli.read("test.txt"))[0][0], last_cells(expected)[0][0]]
    given = (cli.folder / "test.txt").open("rb")
    process = spawn(cli.folder, "tag", "chunk.palm", "-", "-o", "-", "-q", stdin=given)
    out, err = process.communicate()
    assert (process.returncode, out.decode()) == (0, expected), err
    assert err == b""


def test_a_reader_that_has_seen_enough(cli: Cli) -> None:
    cli.write("long.txt", cli.read("train.txt") * 8)
    for arguments in (("tag", "chunk.palm", "long.txt", "-q"), ("inspect", "chunk.palm", "--json", "--top", "500")):
        process = spawn(cli.folder, *arguments)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_gzip_is_read_and_written(cli: Cli) -> None:
    cli.write("train.txt.gz", gzip.compress(cli.read("train.txt").encode()))
    cli.write("test.gz", gzip.compress(cli.read("test.txt").encode()))
    cli.fine("train train.txt.gz -o gz.palm --features chunk --passes 4")
    cli.fine("tag gz.palm test.gz -o out.gz")
    out = gzip.decompress((cli.folder / "out.gz").read_bytes()).decode()
    assert out == cli.fine("tag chunk.palm test.txt")


def test_threads_do_not_change_the_output(cli: Cli) -> None:
    cli.write("large.txt", cli.read("train.txt") * 30)  # more than two blocks
    for how, size in (("", 2_200_000), ("--nbest 2", 4_400_000)):
        for n in (1, 3):
            cli.fine(f"tag chunk.palm large.txt -o {n}.txt -q --threads {n} {how}")
        one, three = ((cli.folder / f"{n}.txt").read_bytes() for n in (1, 3))
        assert len(one) > size
        assert one == three
    shown = [cli.fine(f"eval chunk.palm large.txt -q --json --threads {n}") for n in (1, 3)]
    assert shown[0] == shown[1]


def test_models_with_other_atoms_read_all_blocks(cli: Cli) -> None:
    """A helper and the model that needs its column look at the same words through different atoms."""
    words = "".join("".join(f"{row[0]}\n" for row in sentence) + "\n" for sentence in rows(cli.read("test.txt")))
    copies = 1 + (2_200_000 // len(words))  # two blocks and more
    cli.write("words.txt", words)
    cli.write("many.txt", words * copies)
    once = cli.fine("tag chunk.palm words.txt --with pos=pos.palm -q")
    cli.fine("tag chunk.palm many.txt --with pos=pos.palm -q -o many.out --threads 2")
    assert cli.read("many.out") == once * copies


def test_conllu_keeps_every_byte_but_the_tags(cli: Cli) -> None:
    cli.write("a.conllu", CONLLU)
    for field, k in (("upos", 3), ("xpos", 4)):
        cli.fine("train", "a.conllu", "-o", "u.palm", "--label", field, "--features", "pos")
        blank = [line.split("\t") for line in CONLLU.split("\n")]
        for cells in blank:
            if len(cells) == 10 and cells[0].isdigit():
                cells[k] = "?"
        cli.write("b.conllu", "\n".join("\t".join(cells) for cells in blank))
        cli.fine("tag u.palm b.conllu -o c.conllu")
        assert cli.read("c.conllu") == CONLLU  # it has learnt two sentences by heart


def test_crfsuite_attributes(cli: Cli) -> None:
    def line(word: str, pos: str, chunk: str) -> str:
        return "\t".join([chunk, "w=" + word.replace(":", "\\:"), "p=" + pos.replace(":", "\\:"), "n:0.5"])

    for part in ("train", "test"):
        sentences = rows(cli.read(f"{part}.txt"))
        cli.write(f"{part}.crfsuite", "\n".join("\n".join(line(*c) for c in s) + "\n" for s in sentences))
    cli.fine("train train.crfsuite -o a.palm --passes 4")
    scores = json.loads(cli.fine("eval a.palm test.crfsuite --json"))
    assert scores["f1"] > 0.85
    labels = cli.fine("tag a.palm test.crfsuite").strip("\n").split("\n\n")
    gold = last_cells(cli.read("test.txt"))
    right = sum(a == b for s, t in zip(labels, gold, strict=True) for a, b in zip(s.split("\n"), t, strict=True))
    assert right / sum(map(len, gold)) == pytest.approx(scores["accuracy"])
    back = cli.fine("tag a.palm test.crfsuite --to attributes").splitlines()
    assert [x.partition("\t")[2] for x in back] == [
        x.partition("\t")[2] for x in cli.read("test.crfsuite").splitlines()
    ]


def test_json_lines(cli: Cli) -> None:
    for part in ("train", "test"):
        made = [
            {"id": k, "x": [None], "tokens": [c[0] for c in s], "pos": [c[1] for c in s], "tags": [c[2] for c in s]}
            for k, s in enumerate(rows(cli.read(f"{part}.txt")))
        ]  # fmt: skip
        cli.write(f"{part}.jsonl", "".join(json.dumps(row) + "\n" for row in made))
    cli.fine("train train.jsonl -o j.palm --columns tokens,pos --features chunk --passes 4")
    out = [json.loads(line) for line in cli.fine("tag j.palm test.jsonl --scores").splitlines()]
    given = [json.loads(line) for line in cli.read("test.jsonl").splitlines()]
    assert [row["tags"] for row in out] == last_cells(cli.fine("tag chunk.palm test.txt"))
    assert all(row["score"] > 0 for row in out)
    assert [{k: v for k, v in row.items() if k not in ("tags", "score")} for row in out] == [
        {k: v for k, v in row.items() if k != "tags"} for row in given
    ]


def test_numbered_tags_with_their_names(cli: Cli) -> None:
    cli.write("hf.jsonl", '{"tokens": ["Anna", "ran"], "ner_tags": [1, 0]}\n')
    cli.fine("train hf.jsonl -o hf.palm --tag-names O,B-PER")
    assert json.loads(cli.fine("tag hf.palm hf.jsonl"))["tags"] == ["B-PER", "O"]


def test_raw_text_with_a_column_made_by_another_model(cli: Cli) -> None:
    cli.write("raw.txt", "The train was late.\nShe left.\n")
    found = rows(cli.fine("tag chunk.palm raw.txt --format text --with pos=pos.palm"))
    assert [[cells[0] for cells in sentence] for sentence in found] == [
        ["The", "train", "was", "late", "."],
        ["She", "left", "."],
    ]
    assert found[0][0][1:] == ["DT", "B-NP"]
    typed = cli.fine("tag", "chunk.palm", "--with", "pos=pos.palm", "--text", "The train was late.")
    assert [line.split() for line in typed.splitlines()] == found[0]
    cli.write("plain.txt", "The train was\nlate. She left.\n")
    out = cli.fine("tag chunk.palm plain.txt --format plain --with pos=pos.palm --to jsonl")
    objects = [json.loads(line) for line in out.splitlines()]
    assert [row["tokens"] for row in objects] == [["The", "train", "was", "late", "."], ["She", "left", "."]]
    assert all([row["text"][a:b] for a, b in row["offsets"]] == row["tokens"] for row in objects)


def test_the_quotes_of_raw_text(cli: Cli) -> None:
    plain = cli.fine("tag", "pos.palm", "--text", 'She said "no".')
    penn = cli.fine("tag", "pos.palm", "--text", 'She said "no".', "--penn-quotes")
    assert [line.split()[0] for line in plain.splitlines()][2:5] == ['"', "no", '"']
    assert [line.split()[0] for line in penn.splitlines()][2:5] == ["``", "no", "''"]


def test_the_label_in_a_middle_column(cli: Cli) -> None:
    def middle(text: str) -> str:
        return "\n\n".join("\n".join(f"{w} {c} {p}" for w, p, c in s) for s in rows(text)) + "\n"

    cli.write("mid.txt", middle(cli.read("train.txt")))
    cli.write("midtest.txt", middle(cli.read("test.txt")))
    cli.fine("train mid.txt -o mid.palm --label 1 --features chunk --passes 4")
    expected = last_cells(cli.fine("tag chunk.palm test.txt"))
    assert last_cells(cli.fine("tag mid.palm midtest.txt")) == expected
    one = json.loads(cli.fine("eval mid.palm midtest.txt --json"))
    other = json.loads(cli.fine("eval chunk.palm midtest.txt --label 1 --columns 0,2 --json"))
    assert one["f1"] == other["f1"] > 0.9


def test_the_input_may_lack_the_label(cli: Cli) -> None:
    cli.write(
        "bare.txt", "\n\n".join("\n".join(f"{w} {p}" for w, p, _ in s) for s in rows(cli.read("test.txt"))) + "\n"
    )
    assert last_cells(cli.fine("tag chunk.palm bare.txt")) == last_cells(cli.fine("tag chunk.palm test.txt"))


def test_known_labels_are_kept(cli: Cli) -> None:
    known = [[w, p, c if k % 3 else "?"] for s in rows(cli.read("test.txt")) for k, (w, p, c) in enumerate([*s])]
    cli.write("known.txt", "\n".join(" ".join(cells) for cells in known) + "\n")
    out = [cells for s in rows(cli.fine("tag chunk.palm known.txt --known 2")) for cells in s]
    assert any(cells[2] == "?" for cells in out)
    assert all(cells[2] in ("?", cells[3]) for cells in out)


def test_a_typed_sentence_in_every_format(cli: Cli) -> None:
    words = "The train was late ."
    (found,) = map(json.loads, cli.fine("tag", "pos.palm", "--text", words, "--to", "jsonl").splitlines())
    assert cli.fine("tag", "pos.palm", words, "--to", "jsonl").splitlines() == [
        json.dumps(found, separators=(",", ":"))
    ]
    assert found["tokens"] == words.split()
    columns = cli.fine("tag", "pos.palm", "--text", words, "--to", "columns").splitlines()
    assert [line.split("\t") for line in columns[:-1]] == [
        [word, tag] for word, tag in zip(found["tokens"], found["tags"], strict=True)
    ]
    cli.fine("tag", "pos.palm", words, "-o", "typed.txt", "--scores", "-q")
    assert cli.read("typed.txt").startswith("# score ")
    assert cli.fine("tag", "pos.palm", words) == cli.fine("tag", "pos.palm", "--text", words)
    assert "no such file" in cli("tag", "pos.palm", "late.txt").err


def test_what_a_pipe_gets_is_not_wrapped(cli: Cli) -> None:
    shown = cli.fine("inspect", "chunk.palm")
    (labels,) = (line for line in shown.splitlines() if line.startswith("labels "))
    assert labels.count(",") + 1 == int(labels.split()[1])
    assert not any(line.endswith(" ") for line in shown.splitlines())
