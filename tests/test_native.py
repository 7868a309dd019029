"""Kernels as machine code in a library: the registry, the boundary between Python and the library, and what happens
where no library fits."""

from __future__ import annotations

import ast
import gc
import json
import os
import platform
import resource
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import palmette
from palmette.kernels.chain.forward_backward import log_partitions
from palmette.kernels.chain.label_context import table_of
from palmette.kernels.core import compile as compiling
from palmette.kernels.core import native, sources
from palmette.kernels.core.hashing import add_all, find_all, hash_pieces, mixed_all
from palmette.kernels.core.types import ArrayType, leaves, n_words, signature_of
from palmette.kernels.io.items import FINE, FOUND, ODD, SIZE, STATUS, TOKENS, make_item_room, read_items
from palmette.kernels.registry import KERNELS, find_kernel, module_of

in_library = pytest.mark.skipif(compiling.MODE != compiling.LIBRARY, reason="kernels do not come from the library")


# --- the registry -------------------------------------------------------------------------------------------


def decorated() -> dict[str, str]:
    """Every `@kernel` of the sources, and its module."""
    found = {}
    for path in sources.kernel_files():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [getattr(d, "id", "") for d in getattr(node, "decorator_list", [])]
            if isinstance(node, ast.FunctionDef) and "kernel" in names:
                found[node.name] = ".".join(path.relative_to(sources.PACKAGE).with_suffix("").parts)
    return found


def test_the_registry_lists_every_kernel() -> None:
    assert decorated() == {name: module_of(name) for name in KERNELS}


@pytest.mark.parametrize("name", KERNELS)
def test_every_argument_has_one_type(name: str) -> None:
    kernel = find_kernel(name)
    signature = signature_of(getattr(kernel, "py_func", kernel))
    kinds = [kind for _, own in signature.arguments for _, kind in leaves(own)]
    assert kinds
    assert all(isinstance(kind, ArrayType) or kind in ("int", "float", "bool") for kind in kinds)


def test_words_of_a_signature() -> None:
    """An array is a pointer and its lengths, a scalar a word."""
    kernel: Any = log_partitions
    chain, data, _, log_z, restricted = (kind for _, kind in signature_of(getattr(kernel, "py_func", kernel)).arguments)
    paths = [path for path, _ in leaves(chain)]
    assert paths[:3] == ["order", "plain", "states_per_label"]
    assert "weights.2.slot" in paths
    assert n_words(log_z) == 2
    assert n_words(restricted) == 1
    assert n_words(data) == sum(1 + kind.ndim for _, kind in leaves(data))


# --- the boundary -------------------------------------------------------------------------------------------


def pieces(*texts: bytes) -> tuple[np.ndarray, np.ndarray]:
    offset = np.cumsum([0, *map(len, texts)]).astype(np.int64)
    return np.frombuffer(b"".join(texts), np.uint8), offset


WRONG: dict[str, tuple[tuple[Any, ...], str]] = {
    "an element type": (
        (np.zeros(2, np.int32), np.zeros(1, np.int64)),
        r"data.*uint8\[:\] is expected, not int32\[:\]",
    ),
    "dimensions": ((np.zeros((1, 2), np.uint8), np.zeros(1, np.int64)), r"not uint8\[:, :\]"),
    "gaps": ((np.zeros(4, np.uint8)[::2], np.zeros(1, np.int64)), "not contiguous"),
    "a list": (([1, 2], np.zeros(1, np.int64)), "not list"),
    "too few": ((np.zeros(4, np.uint8),), "takes 2 arguments, not 1"),
}


@in_library
@pytest.mark.parametrize("what", WRONG)
def test_other_types_are_refused(what: str) -> None:
    """Machine code could not tell."""
    arguments, message = WRONG[what]
    with pytest.raises(TypeError, match=message):
        hash_pieces(*arguments)


@in_library
def test_what_a_kernel_writes_to_must_be_writable() -> None:
    hashes = np.zeros(3, np.uint64)
    hashes.flags.writeable = False
    with pytest.raises(TypeError, match="read-only"):
        mixed_all(hashes)
    hash_pieces(*pieces(b"ab", b"c"))  # bytes are declared as read only


@in_library
def test_numbers_of_another_kind_are_refused() -> None:
    keys, numbers = np.zeros(16, np.uint64), np.full(16, -1, np.int32)
    with pytest.raises(TypeError, match="add_all"):
        add_all(keys, numbers, 0.5, np.ones(1, np.uint64))
    with pytest.raises(TypeError, match="add_all"):
        add_all(keys, numbers, None, np.ones(1, np.uint64))


@pytest.fixture(scope="module")
def model() -> Any:
    return palmette.Tagger("pos", passes=2).fit([["a", "b"], ["b", "a", "a"]], [["X", "Y"], ["Y", "X", "X"]]).model_


@in_library
def test_structs_are_checked_once_and_keep_their_words(model: Any) -> None:
    with pytest.raises(TypeError, match="Chain is expected, not tuple"):
        log_partitions((1, 2), (3,), (4,), np.zeros(1), False)
    chain = model.chain
    kind = signature_of(log_partitions.py_func).arguments[0][1]  # type: ignore[attr-defined]
    words = native.bound(kind, chain, "chain")
    assert native.bound(kind, chain, "chain") is words
    other = chain._replace(order=chain.order)
    assert native.bound(kind, other, "chain")[1] != words[1]  # a copy has its own
    with pytest.raises(TypeError, match=r"chain\.bias: float32\[:\] is expected, not float64"):
        native.bound(kind, chain._replace(bias=chain.bias.astype(np.float64)), "chain")
    with pytest.raises(TypeError, match=r"chain\.plain: bool is expected, not str"):
        native.bound(kind, chain._replace(plain="no"), "chain")
    with pytest.raises(TypeError, match="chain: required argument is not an integer"):
        native.bound(kind, chain._replace(order=0.5), "chain")
    wrong = (chain.weights[0], chain.weights[1]._replace(slot=chain.bias), chain.weights[2])
    with pytest.raises(TypeError, match=r"chain\.weights\.1\.slot"):
        native.bound(kind, chain._replace(weights=wrong), "chain")


@in_library
def test_arrays_that_a_kernel_made_are_released() -> None:
    """A gigabyte in all, with a few megabytes at a time."""
    data, offset = pieces(*[b"x"] * 100_000)
    hash_pieces(data, offset)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(600):
        hash_pieces(data, offset)
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


@in_library
def test_a_result_outlives_the_call() -> None:
    found = [hash_pieces(*pieces(b"a", b"b", b"a")) for _ in range(50)]
    gc.collect()
    for hashes, powers in found:
        assert hashes[0] == hashes[2] != hashes[1]
        assert powers[0] == powers[1]
        assert hashes.flags.writeable


@in_library
def test_an_argument_that_comes_back_is_the_same_array() -> None:
    """The feature index, when a text has no new attributes."""
    keys, numbers = np.zeros(64, np.uint64), np.full(64, -1, np.int32)
    kind = signature_of(find_all.py_func).result  # type: ignore[attr-defined]
    words = iter([0, numbers.__array_interface__["data"][0], 64])
    assert native._made_array(kind, words, (keys, (numbers,))) is numbers


@in_library
def test_no_memory_is_an_error_and_not_a_crash() -> None:
    with pytest.raises(MemoryError, match="table_of"):
        table_of(np.zeros(1, np.int32), np.zeros(1, np.int64), 0, 1 << 58)


# --- what is in the library ---------------------------------------------------------------------------------


def undefined(library: Path) -> set[str]:
    """The names that an ELF library expects from others."""
    data = library.read_bytes()
    (section_table,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, section_table + size * k) for k in range(count)]
    dynamic = next(section for section in sections if section[1] == 11)  # SHT_DYNSYM
    names = sections[dynamic[6]][4]
    found = set()
    for at in range(dynamic[4], dynamic[4] + dynamic[5], 24):
        name, _, _, section = struct.unpack_from("<IBBH", data, at)
        if section == 0 and name:
            found.add(data[names + name : data.index(b"\0", names + name)].decode())
    return found


@in_library
@pytest.mark.skipif(sys.platform != "linux", reason="ELF only")
def test_the_library_needs_the_c_library_and_nothing_else() -> None:
    for file in native.about()["levels"].values():
        names = undefined(Path(native.FOLDER) / file["file"])
        assert {"malloc", "free"} <= names
        assert not [name for name in names if name.startswith(("Py", "_Py", "numba", "NRT_"))]
        mathematics = {"exp", "log", "pow", "expf", "logf"}
        assert names <= {"malloc", "free", "memcpy", "memset", "memmove", "sched_yield"} | mathematics


@in_library
def test_what_was_built_is_recorded() -> None:
    about = native.about()
    assert set(about["kernels"]) == set(KERNELS)
    assert about["versions"]["numba"]
    assert native.level() in about["levels"]


# --- other ways to run --------------------------------------------------------------------------------------


def in_package(folder: Path, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code with a copy of the package that has no library, and with Numba out of reach."""
    source = Path(palmette.__file__).parent
    copy = folder / "copy"
    if not copy.exists():
        shutil.copytree(source, copy / "palmette", ignore=shutil.ignore_patterns("_library", "__pycache__"))
    blocked = "import sys; sys.modules['numba'] = None\n"
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PALMETTE_", "NUMBA_"))}
    env = kept | {"PYTHONPATH": str(copy)} | variables
    command = [sys.executable, "-c", blocked + code]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


SMALL = "a X\nb Y\n\nb Y\na X\n\n"


def test_tagging_works_without_library_and_compiler(tmp_path: Path) -> None:
    tagger = palmette.Tagger("pos", passes=2).fit([["a", "b"], ["b", "a"]], [["X", "Y"], ["Y", "X"]])
    tagger.save(tmp_path / "m.palm")
    code = "import palmette; print(palmette.Tagger.load('m.palm').predict([['a', 'b']]))"
    ran = in_package(tmp_path, code)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stdout.strip() == "[['X', 'Y']]"
    assert ran.stderr.count("RuntimeWarning") == 1
    assert "kernels run as plain Python" in ran.stderr


def test_training_asks_for_a_compiler(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(SMALL, encoding="utf-8")
    code = "from palmette.cli import main; main(['train', 'x.txt', '-o', 'm.palm', '--features', 'pos'])"
    ran = in_package(tmp_path, code)
    assert ran.returncode == 2
    assert "training needs compiled kernels" in ran.stderr
    assert "palmette[jit]" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_plain_python_learns_the_same_model(tmp_path: Path) -> None:
    """Bit for bit: machine code does what its source says. The steps of a perceptron are whole numbers, which no
    compiler rounds otherwise."""
    (tmp_path / "x.txt").write_text(SMALL, encoding="utf-8")
    options = "'--features', 'pos', '--learner', 'perceptron', '--passes', '3', '--seed', '2', '-q'"
    code = f"from palmette.cli import main; main(['train', 'x.txt', '-o', 'p.palm', {options}])"
    ran = in_package(tmp_path, code, PALMETTE_KERNELS="python")
    assert ran.returncode == 0, ran.stderr[-2000:]
    words = [sys.executable, "-m", "palmette", "train", "x.txt", "-o", "m.palm", *eval(f"[{options}]")]
    subprocess.run(words, cwd=tmp_path, check=True)
    assert (tmp_path / "m.palm").read_bytes() == (tmp_path / "p.palm").read_bytes()


def test_the_mode_can_be_asked_for(tmp_path: Path) -> None:
    ran = in_package(tmp_path, "import palmette.kernels.core.compile as c; print(c.MODE)", PALMETTE_KERNELS="python")
    assert (ran.stdout.strip(), ran.stderr) == ("python", "")
    for wanted, message in (("fast", "PALMETTE_KERNELS is 'fast'"), ("jit", "Numba has wheels for Python 3")):
        ran = in_package(tmp_path, "import palmette.kernels.core.compile", PALMETTE_KERNELS=wanted)
        assert message in ran.stderr


CACHES = (native.level, native.is_stale, native._opened, native._load, native.processor_flags)


@pytest.fixture
def fresh() -> Iterator[None]:
    """What was found about the library is looked for again, before the test and after it."""
    for function in CACHES:
        function.cache_clear()
    yield
    for function in CACHES:
        function.cache_clear()


def changed(**changes: Any) -> dict[str, Any]:
    about = json.loads(json.dumps(native.about()))
    for file in about["levels"].values():
        file.update({key: changes[key] for key in ("size", "file", "flags") if key in changes})
    return about | {key: value for key, value in changes.items() if key not in ("size", "file", "flags")}


UNUSABLE: dict[str, tuple[dict[str, Any], str]] = {
    "another machine": ({"machine": "pdp11"}, "are for pdp11"),
    "another processor": ({"flags": ["avx9000"]}, "are for"),
    "older than the sources": ({"editable": True, "sources": "0"}, "older than their sources"),
    "cut off": ({"size": 4096}, "expected 4096"),
    "gone": ({"file": "gone.so"}, "cannot be loaded: "),
}


@in_library
@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("what", UNUSABLE)
def test_a_library_that_does_not_fit_is_not_used(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changes, message = UNUSABLE[what]
    about = changed(**changes)
    monkeypatch.setattr(native, "about", lambda: about)
    assert not native.is_usable()
    assert message in native.why_not()
    assert "palmette[jit]" in native.why_not()


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("text", ["", "[]", "{}", '{"abi": 0}', '{"abi": 1, "levels": null, "kernels": {}}'])
def test_a_damaged_description_counts_as_none(text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "library.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr(native, "FOLDER", tmp_path)
    native.about.cache_clear()
    try:
        assert native.about() == {}
        assert not native.is_usable()
        assert "has no compiled kernels" in native.why_not()
    finally:
        monkeypatch.undo()
        native.about.cache_clear()


@in_library
@pytest.mark.usefixtures("fresh")
def test_the_level_is_what_the_processor_has(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = {"x86-64-v3": {"flags": ["avx2", "fma"]}, "x86-64": {"flags": []}}
    monkeypatch.setattr(native, "about", lambda: {"machine": platform.machine(), "levels": levels})
    for flags, level in (({"avx2", "fma", "sse"}, "x86-64-v3"), ({"sse", "fma"}, "x86-64")):
        native.level.cache_clear()
        monkeypatch.setattr(native, "processor_flags", lambda flags=flags: frozenset(flags))
        assert native.level() == level
    monkeypatch.setattr(native, "processor_flags", lambda: frozenset({"avx2", "fma"}))
    for hidden, level in (("", "x86-64-v3"), ("sse", "x86-64-v3"), ("avx2", "x86-64"), ("sse,fma", "x86-64")):
        native.level.cache_clear()
        monkeypatch.setenv("PALMETTE_HIDE_FLAGS", hidden)
        assert native.level() == level


def processor(**words: int) -> native.Callable[[int, int], tuple[int, ...]]:
    """CPUID of a made-up processor: words by leaf, subleaf and register; others are 0."""
    numbers = "eax", "ebx", "ecx", "edx"

    def cpuid(leaf: int, subleaf: int) -> tuple[int, ...]:
        return tuple(words.get(f"{name}_{leaf:x}_{subleaf}", 0) for name in numbers)

    return cpuid


def test_instruction_sets_count_if_the_system_keeps_their_registers() -> None:
    """Bits as in Intel's manual, volume 2A, table 3-8: leaf 1 ecx 12 is FMA, 27 OSXSAVE; leaf 7 ebx 3 BMI1, 5 AVX2, 16
    AVX512F; leaf 80000001h ecx 5 LZCNT."""
    words = {"eax_0_0": 7, "ecx_1_0": 1 << 12 | 1 << 22, "ebx_7_0": 1 << 3 | 1 << 5 | 1 << 16, "ecx_80000001_0": 1 << 5}
    plain = {"movbe", "bmi1", "abm"}
    assert native.flags_from(processor(**words), lambda: 0xFF) == plain  # XCR0 must not be read
    words["ecx_1_0"] |= 1 << 27
    assert native.flags_from(processor(**words), lambda: 0x1) == plain
    assert native.flags_from(processor(**words), lambda: 0x7) == plain | {"fma", "avx2"}
    assert native.flags_from(processor(**words), lambda: 0xE7) == plain | {"fma", "avx2", "avx512f"}
    assert native.flags_from(processor(**words | {"eax_0_0": 1}), lambda: 0xE7) == {"movbe", "abm", "fma"}


@in_library
@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="/proc/cpuinfo of x86-64")
def test_the_library_finds_the_instruction_sets_that_the_system_names() -> None:
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        line = next(line for line in file if line.startswith("flags"))
    known = {name for bits in native.CPUID.values() for name in bits}
    assert native.processor_flags() == known.intersection(line.partition(":")[2].split())


@in_library
def test_threads_share_the_words_of_a_struct(model: Any) -> None:
    """Whoever comes second uses what the first has made."""
    kind = signature_of(log_partitions.py_func).arguments[0][1]  # type: ignore[attr-defined]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(50):
            chain = model.chain._replace(order=model.chain.order)
            with ThreadPoolExecutor(4) as pool:
                found = list(pool.map(lambda _, chain=chain: native.bound(kind, chain, "chain"), range(8)))
            assert len({id(words) for words in found}) == 1
    finally:
        sys.setswitchinterval(interval)


# --- prepared calls -----------------------------------------------------------------------------------------


def test_a_prepared_call_sees_arrays_as_they_are_now() -> None:
    data, room = np.frombuffer(bytearray(b"\x91\x91\x91\xa1a"), np.uint8), make_item_room(2, 2, spans=False)
    call = compiling.prepared(read_items, data, room)
    for size, status, found in ((5, FINE, 1), (4, ODD, 0), (5, FINE, 1)):
        room.counts[SIZE] = size
        call()
        assert room.counts[STATUS] == status
        assert room.counts[FOUND] == found
    first = room.hash[0]
    data[4] = ord("b")
    call()
    assert room.hash[0] != first


def test_a_prepared_call_keeps_its_arrays() -> None:
    def made() -> Any:
        room = make_item_room(4, 4, spans=False)
        room.counts[SIZE] = 5
        return compiling.prepared(read_items, np.frombuffer(b"\x91\x91\x91\xa1a", np.uint8), room), room.counts

    calls = [made() for _ in range(50)]
    gc.collect()
    for call, counts in calls:
        call()
        assert (counts[TOKENS], counts[FOUND]) == (1, 1)


@in_library
def test_what_cannot_be_prepared() -> None:
    with pytest.raises(TypeError, match="returns a value"):
        compiling.prepared(mixed_all, np.zeros(1, np.uint64))
    with pytest.raises(TypeError, match="uint8"):
        compiling.prepared(read_items, np.zeros(1), make_item_room(1, 1, spans=False))
    with pytest.raises(TypeError, match="takes 2 arguments"):
        compiling.prepared(read_items, np.zeros(1, np.uint8))
