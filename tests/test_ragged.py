"""Lines with a cell too many or too few: `--ragged pad` keeps the label, says so, and changes nothing else."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from cli_run import Cli
from hypothesis import given
from hypothesis import strategies as st

from palmette import Tagger
from palmette.data import Corpus, FormatSpec, convert_file, read_corpus, read_guesses, stream_corpus
from palmette.data.formats.columns import ColumnParser
from palmette.errors import DataError, UsageError
from palmette.structures import spec_for

PAD = FormatSpec(format="columns", ragged="pad")
cells = st.text("abc", min_size=1, max_size=2)


def parsed(text: str, **spec: object) -> Corpus:
    return ColumnParser(PAD.replace(**spec).resolved("x"), "x")(text.encode(), 1)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@st.composite
def damaged(draw: st.DrawFn) -> tuple[list[list[str]], list[list[str]]]:
    """Rows of one width (word, others, label) and the same with cells before the label dropped or added in a minority
    of them."""
    width = draw(st.integers(3, 5))
    rows = draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=5, max_size=12))
    made = [list(row) for row in rows]
    for n in draw(st.sets(st.integers(0, len(rows) - 1), max_size=(len(rows) - 1) // 2)):
        if draw(st.booleans()):
            kept = draw(st.integers(1, width - 2))
            made[n] = made[n][:kept] + made[n][-1:]
        else:
            made[n][-1:-1] = draw(st.lists(cells, min_size=1, max_size=3))
    return rows, made


@given(damaged(), st.sampled_from(["\t", " ", ","]))
def test_words_and_labels_stay(case: tuple[list[list[str]], list[list[str]]], between: str) -> None:
    """What was dropped right before the label is `_`, what was added there is gone; so all else is as it was."""
    rows, made = case
    width = len(rows[0])
    text = "".join(between.join(row) + "\n" for row in made)
    corpus = parsed(text, separator="comma" if between == "," else "auto")
    assert corpus.labels is not None
    assert corpus.labels.cells() == [row[-1] for row in rows]
    found = list(zip(*(column.cells() for column in corpus.columns), strict=True))
    for row, old, new in zip(rows, made, found, strict=True):
        lost = max(0, width - len(old))
        assert list(new) == row[: width - 1 - lost] + ["_"] * lost


@pytest.mark.parametrize(
    ("row", "label", "expected"),
    [
        ("w\tL", "-1", "w\t_\t_\tL"),
        ("w\ta\tb\tc\tL", "-1", "w\ta\tb\tL"),
        ("w\ta\tb\tL\t", "-1", "w\ta\tb\tL"),  # a separator at the end of the line is no label
        ("w\tL", "3", "w\t_\t_\tL"),  # the last column by its number
        ("w\tL\tg", "-2", "w\t_\tL\tg"),
        ("w\tL\ta", "1", "w\tL\ta\t_"),  # counted from the start: the end is changed
        ("w\tL\ta\tb\tc", "1", "w\tL\ta\tb"),
        ("L", "0", "L\t_\t_\t_"),
        ("L\ta", "-4", "L\ta\t_\t_"),
    ],
)
def test_the_rule_by_place_of_the_label(row: str, label: str, expected: str) -> None:
    full = "w\tx\ty\tz\n"
    corpus = parsed(full + full + row + "\n", label=label)
    assert corpus.lines is not None
    assert corpus.lines.data.tobytes().decode() == full + full + expected + "\n"


def test_without_labels_the_end_changes() -> None:
    corpus = parsed("a b\r\nc\r\n\r\nd e f\r\ng h\r\n", has_label=False)
    assert corpus.lines is not None
    assert corpus.lines.data.tobytes() == b"a b\r\nc _\r\n\r\nd e\r\ng h\r\n"


def test_most_lines_decide_and_not_the_first() -> None:
    corpus = parsed("a X\nb n X\nc n X\n")
    assert [column.cells() for column in corpus.columns] == [["a", "b", "c"], ["_", "n", "n"]]


def test_a_line_without_room_for_a_label_is_an_error() -> None:
    with pytest.raises(DataError, match=r"x:3: 1 column where 3 are expected: it is not known whether the label"):
        parsed("a n X\nb n X\nc\n")


def test_the_default_is_an_error_that_names_the_option(tmp_path: Path) -> None:
    path = written(tmp_path / "a.txt", "a X\nb n X\n")
    with pytest.raises(DataError, match=r"a.txt:2: 3 columns where 2 are expected(.|\n)*ragged='pad'"):
        read_corpus(path)


def test_one_warning_per_file_counts_all_blocks(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = "".join("a n X\n\n" * 50 + "b X\n\n" + "c n m X\n\n" for _ in range(20))
    path = written(tmp_path / "a.txt", text)
    with caplog.at_level(logging.WARNING):
        blocks = list(stream_corpus(path, PAD, 500))
    assert len(blocks) > 5
    assert {block.lines.n_columns for block in blocks if block.lines is not None} == {3}
    (message,) = [record.getMessage() for record in caplog.records]
    assert message.startswith(
        f"{path}:101: 2 columns where 3 are expected; 40 such lines: 20 padded with `_` and 20 cut"
    )


def test_an_even_file_is_read_as_ever(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path / "a.txt", "a n X\nb n X\n\n")
    corpus = read_corpus(path, PAD)
    assert corpus.lines is not None
    assert corpus.lines.data.tobytes() == path.read_bytes()
    assert not caplog.records


def test_other_formats_and_models_do_not_have_it(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", '{"tokens": ["a"], "tags": ["X"]}\n')
    with pytest.raises(UsageError, match="ragged does not apply to the format jsonl"):
        read_corpus(path, FormatSpec(ragged="pad"))
    columns = written(tmp_path / "a.txt", "a n X\nb Y\nc n X\n\n")
    tagger = Tagger("pos", passes=1).fit_file(columns, spec=PAD)
    assert "ragged" not in tagger.model_.meta["reading"]
    with pytest.raises(DataError, match=r"a.txt:2"):
        tagger.tag_file(columns, tmp_path / "out.txt")
    tagger.tag_file(columns, tmp_path / "out.txt", spec=spec_for(tagger.model_, columns, PAD))
    rows = (tmp_path / "out.txt").read_text(encoding="utf-8").splitlines()
    assert [len(row.split()) for row in rows] == [4, 4, 4, 0]


def test_conversion_writes_even_lines(tmp_path: Path) -> None:
    path = written(tmp_path / "a.txt", "a n B-X\nb I-X\nc n O\n\n")
    convert_file(path, tmp_path / "b.txt", "iobes", spec=PAD)
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == "a n B-X\nb _ E-X\nc n O\n\n"


def test_gold_and_guess_stay_the_last_two(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path / "a.txt", "a n X Y\nb X X\nc n m Y Y\nd n X X\n\n")
    with pytest.raises(DataError, match=r"a.txt:2: 3 columns where 4 are expected"):
        read_guesses(path)
    found = read_guesses(path, ragged="pad")
    assert [found.labels[k] for k in found.gold] == ["X", "X", "Y", "X"]
    assert [found.labels[k] for k in found.guess] == ["Y", "X", "Y", "X"]
    assert found.words == ["a", "b", "c", "d"]
    assert "2 such lines: 1 padded with `_` and 1 cut" in caplog.text
    short = written(tmp_path / "b.txt", "a n X Y\nb X\nd n X X\n\n")
    with pytest.raises(DataError, match=r"b.txt:2: 2 columns where 4"):
        read_guesses(short, ragged="pad")


def test_commands_take_it(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    cli = Cli(tmp_path, capsys, monkeypatch)
    cli.write("a.txt", "a n B-X\nb I-X\nc n O\n\n" * 3)
    done = cli("train a.txt -o m.palm --ragged pad --features pos --passes 2")
    assert done.code == 0
    assert "3 such lines" in done.err
    assert cli("eval m.palm a.txt -q").code == 1
    cli.fine("eval m.palm a.txt --ragged pad -q")
    assert cli.fine("convert a.txt --ragged pad -q").splitlines()[1] == "b _ E-X"
    done = cli("tag m.palm a.txt --ragged cut")
    assert done.code == 2
    assert "choose one of error, pad" in done.err
