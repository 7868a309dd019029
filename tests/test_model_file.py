"""The model file: what is saved is loaded, by us and by the safetensors library, and nothing else is."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import random
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from palmette.data.model_file import check_output, load, save
from palmette.data.model_header import HEADER_LIMIT
from palmette.errors import DataError, ModelError

DTYPES = ["?", "u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
ARRAYS: dict[str, Any] = {
    "weights": np.arange(12, dtype=np.float32).reshape(4, 3),
    "keys": np.array([1, 2**64 - 1], dtype=np.uint64),
    "text": np.frombuffer(b"B-NP\nI-NP", dtype=np.uint8),
    "mask": np.array([True, False, True]),
}
META = {"labels": ["B-NP", "I-NP"], "settings": {"passes": 10, "rate": 0.5}, "note": "é"}

arrays_of_any_kind = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.sampled_from(DTYPES).flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    ),
    max_size=6,
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
metas = st.dictionaries(st.text(st.characters(), max_size=5), json_values, max_size=4)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    save(tmp_path / "model", ARRAYS, META)
    return tmp_path / "model"


def same(left: dict[str, Any], right: dict[str, Any]) -> bool:
    return left.keys() == right.keys() and all(
        left[name].dtype == right[name].dtype
        and left[name].shape == right[name].shape
        and left[name].tobytes() == right[name].tobytes()
        for name in left
    )


def parts(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def packed(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def refuse(path: Path, content: bytes, match: str = "") -> str:
    """Assert that these bytes give a ModelError, soon, with little memory, whether verified or not."""
    path.write_bytes(content)
    for verify in (True, False):
        start = time.process_time()
        with pytest.raises(ModelError, match=match) as caught:
            load(path, verify=verify)
        assert time.process_time() - start < 2
        assert str(caught.value).startswith(str(path))
        assert len(str(caught.value)) < 600
    return str(caught.value)


# Round trips


@settings(max_examples=150, deadline=None)
@given(arrays_of_any_kind, metas)
def test_what_is_saved_is_loaded(arrays: dict[str, Any], meta: dict[str, Any]) -> None:
    arrays.pop("__metadata__", None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        save(path, arrays, meta)
        loaded, loaded_meta = load(path)
        assert same(loaded, arrays)
        assert loaded_meta == meta
        assert all(array.flags.aligned and array.flags.c_contiguous for array in loaded.values())
        assert same(safetensors.numpy.load_file(path), arrays)
        first = path.read_bytes()
        assert (8 + int.from_bytes(first[:8], "little")) % 64 == 0, "the data is aligned"
        save(path, dict(reversed(arrays.items())), dict(reversed(meta.items())))
        assert path.read_bytes() == first, "the order of the dictionaries does not matter"


@settings(max_examples=60, deadline=None)
@given(arrays_of_any_kind)
def test_a_copy_by_the_safetensors_library_is_a_model(arrays: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "ours", Path(folder) / "theirs"
        save(ours, arrays, META)
        with safetensors.safe_open(ours, framework="np") as file:
            metadata = file.metadata()
        assert (metadata["format"], metadata["version"]) == ("palmette", "2")
        assert json.loads(metadata["meta"]) == META
        safetensors.numpy.save_file(arrays, theirs, metadata=metadata)
        loaded, meta = load(theirs)  # with our checksum, so the data are the same byte for byte
        assert same(loaded, arrays)
        assert meta == META


def test_arrays_in_other_layouts(tmp_path: Path) -> None:
    plain = np.arange(12, dtype=np.int32).reshape(3, 4)
    saved: dict[str, Any] = {
        "turned": plain.T,
        "stepped": plain[:, ::2],
        "big": plain.astype(">i4"),
        "number": np.float64(2),
    }
    save(tmp_path / "model", saved, {"n": np.int64(3), "x": np.float32(0.5), "yes": np.True_})
    loaded, meta = load(tmp_path / "model")
    for name in saved:
        np.testing.assert_array_equal(loaded[name], saved[name])
    assert loaded["big"].dtype == np.dtype("i4")
    assert meta == {"n": 3, "x": 0.5, "yes": True}


def test_strange_numbers_do_not_lose_the_model(tmp_path: Path) -> None:
    save(tmp_path / "model", {}, {"loss": [float("inf"), float("-inf"), float("nan")]})
    assert str(load(tmp_path / "model")[1]) == "{'loss': [inf, -inf, nan]}"


def test_loaded_arrays_can_change_and_the_file_does_not(model: Path) -> None:
    before = model.read_bytes()
    arrays, _ = load(model)
    arrays["weights"] += 1
    assert arrays["weights"][0, 0] == 1
    assert model.read_bytes() == before
    assert load(model)[0]["weights"][0, 0] == 0


def test_a_model_outlives_its_replacement_and_may_replace_itself(model: Path) -> None:
    old, _ = load(model, verify=False)
    save(model, {"weights": np.zeros(100_000, np.float32)}, {})
    assert same(old, ARRAYS)
    assert load(model)[0]["weights"].shape == (100_000,)
    save(model, old, META)
    again, meta = load(model)
    assert same(again, ARRAYS)
    assert meta == META
    model.unlink()
    assert same(again, ARRAYS)


OVERWRITTEN = """
import sys
from palmette import Tagger
tagger = Tagger("pos", passes=1).fit([["a", "b"]], [["X", "Y"]])
tagger.save(sys.argv[1])
loaded = Tagger.load(sys.argv[1], copy=sys.argv[2] == "copy")
with open(sys.argv[1], "r+b") as file:
    file.truncate(0)
print(loaded.predict([["a", "b"]]) == tagger.predict([["a", "b"]]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="signals as on Linux")
def test_a_copied_model_outlives_a_change_in_place(tmp_path: Path) -> None:
    """A process that reads a mapped file that was cut is killed: that is what `copy` is for."""

    def run(how: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", OVERWRITTEN, str(tmp_path / "m.palm"), how]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert run("copy").stdout == "True\n"
    assert run("map").returncode == -signal.SIGBUS


@given(arrays_of_any_kind, metas)
def test_a_copy_holds_what_the_mapping_holds(arrays: dict[str, Any], meta: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        save(path, arrays, meta)
        mapped, copied = load(path), load(path, copy=True)
        assert mapped[1] == copied[1]
        assert mapped[0].keys() == copied[0].keys()
        for name, array in copied[0].items():
            assert array.dtype == mapped[0][name].dtype
            assert array.tobytes() == mapped[0][name].tobytes()
            assert array.shape == mapped[0][name].shape
            assert not array.size or array.flags.writeable
            assert array.flags.aligned


# Saving


@pytest.mark.parametrize(
    ("arrays", "meta", "error"),
    [
        ({"x": np.array(["text"])}, {}, TypeError),
        ({"x": np.array([1j])}, {}, TypeError),
        ({"x": np.array([None])}, {}, TypeError),
        ({"x": np.zeros(2, np.float16)}, {}, TypeError),
        ({"__metadata__": np.zeros(2)}, {}, ValueError),
        ({"\ud800": np.zeros(2)}, {}, ValueError),
        ({}, {"x": object()}, TypeError),
        ({}, {"x": np.zeros(2)}, TypeError),
        ({}, {"x": "y" * (HEADER_LIMIT + 1)}, ValueError),
    ],
)
def test_what_cannot_be_saved_leaves_the_old_model(
    model: Path, arrays: dict[str, Any], meta: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        save(model, arrays, meta)
    assert same(load(model)[0], ARRAYS)
    assert os.listdir(model.parent) == ["model"]


@pytest.mark.parametrize(("name", "message"), [("m.gz", "compressed"), ("", "folder"), ("none/m", "no folder")])
def test_places_where_no_model_can_be(tmp_path: Path, name: str, message: str) -> None:
    for attempt in (check_output, lambda path: save(path, {}, {})):
        with pytest.raises(DataError, match=message):
            attempt(tmp_path / name)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /dev/full")
def test_full_disk(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if os.geteuid() == 0:  # root could break the system's device, so it gets one of its own
        full = tmp_path / "full"
        try:
            os.mknod(full, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
            os.close(os.open(full, os.O_WRONLY))
        except OSError:
            pytest.skip("root, but no device can be made here")
    with pytest.raises(DataError, match="disk is full"):
        save(full, ARRAYS, META)


FULL = """
import resource, sys, numpy
from palmette.errors import DataError
from palmette.data.model_file import save
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    save(sys.argv[1], {"x": numpy.zeros(1_000_000)}, {})
except DataError as error:
    sys.stdout.write(str(error))
"""


@pytest.mark.skipif(os.name != "posix", reason="needs resource limits")
def test_a_disk_that_fills_up_leaves_the_old_model(model: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", FULL, str(model)], capture_output=True, timeout=60, check=True, text=True
    )
    assert "cannot write" in ended.stdout
    assert same(load(model)[0], ARRAYS)
    assert os.listdir(model.parent) == ["model"]


# Files that are no models


def test_other_kinds_of_files(tmp_path: Path) -> None:
    path = tmp_path / "x"
    refuse(path, b"", "is empty")
    refuse(path, b"a DT\n", "not a palmette model")
    refuse(path, b"the DT\ncat NN\n" * 50, "not a palmette model")
    refuse(path, b"lCRF" + bytes(100), "CRFsuite")
    binary = struct.pack("<IidIII", 100, 0, 1.0, 38, 2, 1024) + bytes(100)  # as CRF++ writes it
    refuse(path, binary, "binary model of CRF.*\n.*text form")
    refuse(path, gzip.compress(b"x" * 100), "gzip.*\n.*unpack")
    for protocol in range(6):
        refuse(path, pickle.dumps({"w": [1.0] * 20}, protocol), "pickle" if protocol > 1 else "not a palmette")
    with zipfile.ZipFile(tmp_path / "z", "w") as file:
        file.writestr("w.npy", "x" * 100)
    refuse(path, (tmp_path / "z").read_bytes(), "zip")
    refuse(path, packed({"x": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}, b"1"), "not a palmette")
    refuse(path, packed({"__metadata__": {"format": "pt"}}), "safetensors file, but not")


def test_places_without_a_model(tmp_path: Path) -> None:
    for path, message in [
        (str(tmp_path), "folder"),
        (str(tmp_path / "none"), "no such file"),
        ("-", "standard input"),
        ("", "plain file|no such file"),
        ("a\0b", "not a file name"),
    ]:
        with pytest.raises(ModelError, match=message):
            load(path)
    if os.name == "posix":
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ModelError, match="not a plain file"):
            load(tmp_path / "pipe")


def test_every_truncation_is_seen(model: Path) -> None:
    whole = model.read_bytes()
    for size in range(1, len(whole)):
        text = refuse(model, whole[:size], "truncated")
        assert f"it has {size} bytes" in text
    refuse(model, whole + b"\0", "1 bytes follow")


def test_versions(model: Path) -> None:
    header, data = parts(model.read_bytes())
    meta = header["__metadata__"]
    meta["version"] = "12"
    del meta["meta"]
    refuse(model, packed(header, data), r"newer palmette \(format 12, this one reads format 2\): upgrade")
    for version in ("", "0", "-1", "1.0", "x", "²", "9" * 5000, 2):
        refuse(model, packed(header | {"__metadata__": meta | {"version": version}}, data), "damaged")
    refuse(model, packed(header | {"__metadata__": meta | {"version": "2"}}, data), "no `meta`")
    old = refuse(model, packed(header | {"__metadata__": meta | {"version": "1"}}, data), r"older palmette \(format 1,")
    assert "load and save it with palmette 0.2.0" in old


def test_checksum(model: Path) -> None:
    whole = model.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    for place in (start, len(whole) - 9, whole.index(b"I-NP")):  # a weight, a letter, a label's name
        flipped = bytearray(whole)
        flipped[place] ^= 1
        model.write_bytes(flipped)
        with pytest.raises(ModelError, match="checksum"):
            load(model)
        assert load(model, verify=False)[0].keys() == ARRAYS.keys()
    header, data = parts(whole)
    del header["__metadata__"]["crc32"]
    model.write_bytes(packed(header, data))
    assert same(load(model)[0], ARRAYS), "a file by another tool may have none"


def test_truth_values_are_0_or_1(model: Path) -> None:
    whole = model.read_bytes()
    refuse(model, whole[:-1] + b"\2", "checksum|neither 0 nor 1")
    with pytest.raises(ModelError, match="'mask' has truth values"):
        load(model, verify=False)


HUGE = 2**62
ENTRIES: list[tuple[Any, str]] = [
    ({"dtype": "F32", "shape": [HUGE], "data_offsets": [0, HUGE * 4]}, "truncated"),
    ({"dtype": "F32", "shape": [2**33, 2**33], "data_offsets": [0, 4]}, "does not fit"),
    ({"dtype": "F32", "shape": [2**64 + 1], "data_offsets": [0, 4]}, "does not fit"),
    ({"dtype": "F32", "shape": [0, HUGE, HUGE], "data_offsets": [0, 0]}, "impossible shape|bytes follow"),
    ({"dtype": "F32", "shape": [10**4000], "data_offsets": [0, 4 * 10**4000]}, "truncated"),
    ({"dtype": "F32", "shape": [1] * 33, "data_offsets": [0, 4]}, "impossible shape"),
    ({"dtype": "F32", "shape": [10**9] * 500_000, "data_offsets": [0, 4]}, "impossible shape"),
    ({"dtype": "F32", "shape": [-1], "data_offsets": [0, -4]}, "impossible shape"),
    ({"dtype": "F32", "shape": [-1, -1], "data_offsets": [0, 4]}, "impossible shape"),
    ({"dtype": "F32", "shape": [1], "data_offsets": [-4, 0]}, "impossible shape"),
    ({"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}, "does not fit"),
    ({"dtype": "F32", "shape": [1], "data_offsets": [0]}, "impossible shape"),
    ({"dtype": "F32", "shape": [1], "data_offsets": [0, 4, 8]}, "impossible shape"),
    ({"dtype": "F32", "shape": [True], "data_offsets": [0, 4]}, "impossible shape"),
    ({"dtype": "F32", "shape": [1.0], "data_offsets": [0, 4]}, "impossible shape"),
    ({"dtype": "F32", "shape": 1, "data_offsets": [0, 4]}, "impossible shape"),
    ({"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}, "does not fit"),
    ({"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}, "after a hole"),
    ({"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}, "unknown dtype"),
    ({"dtype": ["F32"], "shape": [1], "data_offsets": [0, 4]}, "unknown dtype"),
    ({"dtype": "F32", "shape": [1]}, "not described"),
    ({"dtype": "F32", "shape": [1], "data_offsets": [0, 4], "code": "x"}, "not described"),
    (None, "not described"),
    ([], "not described"),
    ("x", "not described"),
]
GOOD = {"format": "palmette", "version": "2", "meta": "{}"}


@pytest.mark.parametrize(("entry", "message"), ENTRIES)
def test_hostile_entries(tmp_path: Path, entry: Any, message: str) -> None:
    refuse(tmp_path / "x", packed({"__metadata__": GOOD, "a": entry}, bytes(8)), message)


def test_no_items_but_dimensions_beyond_counting(tmp_path: Path) -> None:
    entry = {"dtype": "F64", "shape": [0, HUGE, HUGE], "data_offsets": [0, 0]}
    refuse(tmp_path / "x", packed({"__metadata__": GOOD, "a": entry}), "impossible shape")


def test_overlap_hole_and_alignment(tmp_path: Path) -> None:
    def entry(dtype: str, start: int, end: int) -> dict[str, Any]:
        return {"dtype": dtype, "shape": [(end - start) * 8 // int(dtype[1:])], "data_offsets": [start, end]}

    for second, message in [(entry("U8", 2, 8), "overlaps"), (entry("U8", 5, 8), "after a hole")]:
        header = {"__metadata__": GOOD, "a": entry("U32", 0, 4), "b": second}
        refuse(tmp_path / "x", packed(header, bytes(8)), message)
    header = {"__metadata__": GOOD, "a": entry("U8", 0, 2), "b": entry("U32", 2, 6)}
    refuse(tmp_path / "x", packed(header, bytes(6)), "not aligned")
    header = {"__metadata__": GOOD, "a": entry("U8", 0, 4), "b": entry("U8", 0, 4)}
    refuse(tmp_path / "x", packed(header, bytes(4)), "overlaps")


def test_hostile_json(tmp_path: Path) -> None:
    path = tmp_path / "x"
    good = json.dumps(GOOD)
    deep = "[" * 100_000
    entry = '"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'
    for text in (
        "{",
        "{}x",
        '{"a":' + deep,
        '{"a":' * 50_000,
        f'{{"__metadata__":{good},{entry},{entry}}}',
        f'{{"__metadata__":{good},"__metadata__":{good}}}',
        f'{{"__metadata__":{good},"a":{{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}}}}',
        f'{{"__metadata__":{good},"a":{"9" * 5000}}}',
        f'{{"__metadata__":{good},"a":NaN}}',
        f'{{"__metadata__":{good},"\\ud800":1}}',
    ):
        refuse(path, packed(text.encode()), "damaged")
    refuse(path, packed(b'{"\xff":1}'), "not UTF-8")
    for meta in ("", "[]", "1", "{", '{"a":1,"a":1}', deep, '{"a":' + deep):
        refuse(path, packed({"__metadata__": GOOD | {"meta": meta}}), "damaged")
    strangers: list[Any] = [None, [], "x", {}, {"format": ["palmette"]}]
    for metadata in strangers:
        refuse(path, packed({"__metadata__": metadata}), "not a palmette model")
    refuse(path, packed({"__metadata__": GOOD | {"meta": {}}}), "not strings")


@pytest.mark.parametrize("length", [0, 1, HEADER_LIMIT + 1, 2**40, 2**63, 2**64 - 1])
def test_impossible_header_lengths(tmp_path: Path, length: int) -> None:
    refuse(tmp_path / "x", length.to_bytes(8, "little") + b"{" + b" " * 100, "not a palmette model")


def test_claims_cost_no_memory(tmp_path: Path) -> None:
    entry = {"dtype": "U8", "shape": [2**50], "data_offsets": [0, 2**50]}
    path = tmp_path / "x"
    for content in (packed({"__metadata__": GOOD, "a": entry}), HEADER_LIMIT.to_bytes(8, "little") + b"{}"):
        path.write_bytes(content)
        tracemalloc.start()
        with pytest.raises(ModelError):
            load(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 200_000


def test_a_sparse_file_as_large_as_it_claims(tmp_path: Path) -> None:
    size = 2**43
    entry = {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}
    head = packed({"__metadata__": GOOD, "a": entry})
    with open(tmp_path / "x", "wb") as file:
        file.write(head)
        try:
            file.truncate(len(head) + size)
        except OSError:
            pytest.skip("the file system has no files of 8 TB")
    try:
        arrays, _ = load(tmp_path / "x")
    except ModelError as error:
        assert "cannot map" in str(error)  # noqa: PT017
    else:
        assert arrays["a"].nbytes == size


def test_random_flips_in_the_header(model: Path) -> None:
    whole = model.read_bytes()
    length = 8 + int.from_bytes(whole[:8], "little")
    chance = random.Random(1)
    refused = 0
    for _ in range(1500):
        flipped = bytearray(whole)
        for _ in range(chance.choice((1, 1, 2, 5))):
            flipped[chance.randrange(length)] = chance.randrange(256)
        model.write_bytes(flipped)
        try:
            arrays, meta = load(model)
        except ModelError:
            refused += 1
        else:  # a name, or a blank of the padding: the content is still what was saved
            assert meta == META
            assert sum(array.nbytes for array in arrays.values()) == len(whole) - length
    assert refused > 1000


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.booleans())
def test_random_bytes(content: bytes, framed: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(packed(b"{" + content) if framed else content)
        with pytest.raises(ModelError):
            load(path)
