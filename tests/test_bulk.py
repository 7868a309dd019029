"""Many files through one tagger: one output per input, whole or absent, restartable; batches of rows for engines."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ray_driver import address, ray_driver

from palmette import Tagger
from palmette.cli import main
from palmette.connect import bulk
from palmette.connect.batches import TagBatches
from palmette.connect.bulk import tag_files
from palmette.datasets import load_demo
from palmette.errors import DataError, UsageError

WORDS, TAGS = load_demo("train")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model") / "chunk.palm"
    Tagger("chunk", learner="perceptron", passes=2).fit(WORDS[:60], TAGS[:60]).save(path)
    return str(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five inputs, one of them compressed."""
    inputs = tmp_path / "in"
    inputs.mkdir()
    for k in range(5):
        text = "\n".join("".join(f"{w} {t}\n" for w, t in words) for words in WORDS[60 + 3 * k : 63 + 3 * k]) + "\n"
        if k == 4:
            (inputs / "f4.txt.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (inputs / f"f{k}.txt").write_text(text)
    return tmp_path


def outputs(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((folder / "out").glob("*.txt"))}


def alone(model: str, folder: Path) -> dict[str, str]:
    """What the tagger writes for each file by itself."""
    found = {}
    for path in sorted((folder / "in").iterdir()):
        Tagger.load(model).tag_file(path, folder / "one.txt")
        found[path.name.removesuffix(".gz")] = (folder / "one.txt").read_text()
    return found


@pytest.mark.parametrize("threads", [1, 3])
def test_every_input_has_its_output_and_what_is_done_is_not_done_again(model, folder, threads):
    found = tag_files(model, [folder / "in" / "*"], folder / "out", threads=threads)
    assert (found.done, found.there, found.failed) == (5, 0, [])
    assert found.tokens == sum(len(words) for words in WORDS[60:75])
    assert outputs(folder) == alone(model, folder)
    times = {path: path.stat().st_mtime_ns for path in (folder / "out").glob("*.txt")}
    again = tag_files(model, [folder / "in" / "*"], folder / "out", threads=threads)
    assert (again.done, again.there) == (0, 5)
    assert times == {path: path.stat().st_mtime_ns for path in (folder / "out").glob("*.txt")}


def test_changed_inputs_models_and_options_are_noticed(model, folder, tmp_path):
    tag_files(model, [folder / "in" / "*"], folder / "out")
    (folder / "in" / "f1.txt").write_text("Time NN\nflies VBZ\n\n")
    found = tag_files(model, [folder / "in" / "*"], folder / "out")
    assert (found.done, found.renewed, found.there) == (1, 1, 4)
    assert outputs(folder) == alone(model, folder)
    other = tmp_path / "other.palm"
    Tagger("chunk", learner="perceptron", passes=1).fit(WORDS[:20], TAGS[:20]).save(other)
    assert tag_files(other, [folder / "in" / "*"], folder / "out").renewed == 5
    assert outputs(folder) == alone(str(other), folder)
    assert tag_files(other, [folder / "in" / "*"], folder / "out", scores=True).renewed == 5


def test_an_interrupted_run_goes_on(model, folder, monkeypatch):
    """A process that ends between output and record, or in the middle of a file, leaves work that is done again."""
    done, write = [], bulk._write_record

    def fails_at_the_third(target, record):
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(target)
        write(target, record)

    monkeypatch.setattr(bulk, "_write_record", fails_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        tag_files(model, [folder / "in" / "*"], folder / "out")
    monkeypatch.undo()
    found = tag_files(model, [folder / "in" / "*"], folder / "out")
    assert (found.there, found.done) == (2, 3)
    assert outputs(folder) == alone(model, folder)


def test_a_bad_file_does_not_keep_the_others(model, folder):
    (folder / "in" / "f2.txt").write_bytes(b"\xff\xfe\xff\n")
    found = tag_files(model, [folder / "in" / "*"], folder / "out")
    assert found.done == 4
    assert found.failed[0].count("f2.txt") == 1
    assert "f2.txt" not in outputs(folder)


def test_files_of_others_are_not_overwritten(model, folder):
    (folder / "out").mkdir()
    (folder / "out" / "f3.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"f3.txt exists and was not written by this command"):
        tag_files(model, [folder / "in" / "*"], folder / "out")
    assert outputs(folder) == {"f3.txt": "mine"}
    with pytest.raises(UsageError, match="would be replaced"):
        tag_files(model, [folder / "in" / "f0.txt"], folder / "in")
    (folder / "in" / "f4.txt").write_text("Time NN\n\n")
    with pytest.raises(UsageError, match="would both be written"):
        tag_files(model, [folder / "in" / "f4*"], folder / "new")
    with pytest.raises(DataError, match="no such file"):
        tag_files(model, [folder / "nothing*"], folder / "new")


def test_the_command(model, folder, capsys):
    main(["tag", model, str(folder / "in" / "*"), "-o", f"{folder}/out/", "--threads", "2"])
    assert "5 files" in capsys.readouterr().out
    assert outputs(folder) == alone(model, folder)
    main(["tag", model, str(folder / "in" / "*"), "-o", f"{folder}/out/"])
    assert "0 files, 0 tokens" in capsys.readouterr().out


@pytest.fixture(scope="module")
def driver():
    yield from ray_driver(nodes=1)


def tagged_on_ray(model: str, folder: Path) -> tuple[int, int, list[list[str]]]:
    """Files done and failed, and the labels of some rows of Ray Data."""
    import ray

    found = tag_files(model, [folder / "in" / "*"], folder / "out", cluster=address())
    rows = ray.data.from_items([{"tokens": [list(pair) for pair in words]} for words in WORDS[60:64]])
    tagged = rows.map_batches(TagBatches(model)).take_all()
    return found.done, len(found.failed), sorted([str(v) for v in row["labels"]] for row in tagged)


def test_ray_writes_the_same_files(model, folder, driver):
    (folder / "in" / "bad.txt").write_bytes(b"\xff\xfe\xff\n")
    want = sorted(Tagger.load(model).predict(WORDS[60:64]))
    assert driver(tagged_on_ray, model, folder) == (5, 1, want)
    (folder / "in" / "bad.txt").unlink()
    assert outputs(folder) == alone(model, folder)


# Batches


@pytest.mark.heavy("pandas", "pyarrow")
def test_batches_of_every_kind_have_the_labels_of_predict(model):
    import pandas as pd
    import pyarrow as pa

    sentences = [[list(pair) for pair in words] for words in WORDS[60:64]]
    want = Tagger.load(model).predict(WORDS[60:64])
    tag = pickle.loads(pickle.dumps(TagBatches(model, labels="chunks")))
    assert len(pickle.dumps(tag)) < 1000
    column = np.empty(4, object)
    column[:] = [np.array(sentence, dtype=object) for sentence in sentences]
    assert tag({"tokens": column, "id": np.arange(4)})["chunks"].tolist() == want
    column[:] = [np.array(sentence[:1], dtype=object) for sentence in sentences]  # all of one length
    assert [len(labels) for labels in tag({"tokens": column})["chunks"]] == [1] * 4
    frame = tag(pd.DataFrame({"tokens": sentences, "id": range(4)}, index=[3, 1, 2, 0]))
    assert frame["chunks"].tolist() == want
    assert frame.index.tolist() == [3, 1, 2, 0]
    batch = pa.RecordBatch.from_pydict({"tokens": [*sentences, None]})
    assert tag(batch).column("chunks").to_pylist() == [*want, None]
    assert [b.column("chunks").to_pylist() for b in tag.in_arrow([batch.slice(0, 2), batch.slice(2, 2)])] == [
        want[:2],
        want[2:],
    ]
    assert [f["chunks"].tolist() for f in tag.in_pandas([pd.DataFrame({"tokens": sentences})])] == [want]
    with pytest.raises(DataError, match="no column 'tokens': there are words"):
        tag({"words": column})
    with pytest.raises(DataError, match="is a string, not a list of tokens"):
        tag({"tokens": np.array(["Time flies"], object)})


@pytest.mark.heavy("dask")
def test_dask_with_its_defaults(model, tmp_path):
    import dask
    import dask.dataframe as dd
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as parquet

    sentences = [[list(pair) for pair in words] for words in WORDS[60:66]]
    want = Tagger.load(model).predict(WORDS[60:66])
    tag = TagBatches(model)
    table = pa.table({"tokens": sentences, "id": list(range(6))})
    parquet.write_table(table, tmp_path / "in.parquet")
    kept = pd.DataFrame({"tokens": pd.Series(sentences, dtype=pd.ArrowDtype(table.schema.field("tokens").type))})
    for frame in (
        dd.read_parquet(tmp_path / "in.parquet", dtype_backend="pyarrow"),
        dd.read_parquet(tmp_path / "in.parquet"),
        dd.from_pandas(kept, npartitions=3),
    ):
        tagged = frame.map_partitions(tag, meta=tag.meta(frame))
        found = tagged.compute(scheduler="synchronous")
        assert [list(labels) for labels in found["labels"]] == want
        assert dict(tagged.dtypes) == dict(found.dtypes)
        if isinstance(frame.dtypes["tokens"], pd.ArrowDtype):
            tagged.to_parquet(tmp_path / "out", overwrite=True, compute_kwargs={"scheduler": "synchronous"})
            assert parquet.read_table(tmp_path / "out").column("labels").to_pylist() == want
    objects = pd.DataFrame({"tokens": sentences})
    with pytest.raises(DataError, match="'tokens' has strings, not lists of tokens") as told:
        tag.meta(dd.from_pandas(objects, npartitions=2))
    assert "convert-string" in str(told.value.hint)
    with dask.config.set({"dataframe.convert-string": False}):
        frame = dd.from_pandas(objects, npartitions=2)
        tagged = frame.map_partitions(tag, meta=tag.meta(frame))
        assert tagged.compute(scheduler="synchronous")["labels"].tolist() == want


@pytest.mark.heavy("polars", "pyarrow")
def test_polars_and_whatever_has_a_stream_of_arrow(model):
    import polars as pl
    import pyarrow as pa

    sentences = [[list(pair) for pair in words] for words in WORDS[60:64]]
    want = [*Tagger.load(model).predict(WORDS[60:64]), None]
    tag = TagBatches(model, labels="chunks")
    frame = pl.DataFrame({"tokens": [*sentences, None], "id": range(5)})
    found = tag(frame)
    assert isinstance(found, pl.DataFrame)
    assert found.columns == ["tokens", "id", "chunks"]
    assert found["chunks"].to_list() == want
    assert frame.lazy().map_batches(tag, schema=found.schema).collect()["chunks"].to_list() == want

    class Other:
        def __arrow_c_stream__(self, requested_schema=None):
            return frame.__arrow_c_stream__(requested_schema)

    made = tag(Other())
    assert isinstance(made, pa.Table)
    assert made.column("chunks").to_pylist() == want
    with pytest.raises(DataError, match="no column 'tokens': there are id"):
        tag(frame.select("id"))
    with pytest.raises(DataError, match="is a string, not a list"):
        tag(pl.DataFrame({"tokens": ["Time flies"]}))
    with pytest.raises(DataError, match="`__arrow_c_stream__`, not list"):
        tag([["Time"]])


@pytest.mark.heavy("pyarrow")
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_tables_in_and_out(model, tmp_path, ending):
    import pyarrow as pa
    import pyarrow.parquet as parquet

    table = pa.table({"id": [1, 2], "tokens": [[list(pair) for pair in words] for words in WORDS[60:62]]})
    source = tmp_path / f"in.{ending}"
    if ending == "parquet":
        parquet.write_table(table, source)
    else:
        with pa.OSFile(str(source), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    found = tag_files(model, [source], tmp_path / "out")
    assert found.failed == []
    assert found.tokens == sum(len(words) for words in WORDS[60:62])
    target = tmp_path / "out" / f"in.{ending}"
    made = parquet.read_table(target) if ending == "parquet" else pa.ipc.open_file(target.read_bytes()).read_all()
    assert made.column("labels").to_pylist() == Tagger.load(model).predict(WORDS[60:62])
    assert made.column("id").to_pylist() == [1, 2]


def test_the_light_install_never_imports_ray_or_arrow(model, folder):
    code = (
        "import sys; from palmette.cli import main; import palmette.connect.batches; "
        f"main(['tag', {model!r}, {str(folder / 'in' / '*')!r}, '-o', {str(folder / 'out') + os.sep!r}, '-q']); "
        "print([name for name in ('ray', 'pyarrow', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert json.loads((folder / "out" / ".palmette" / "f0.txt.json").read_text())["source"].endswith("f0.txt")
