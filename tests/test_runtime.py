"""The runtime in C: the same atoms, labels and scores as in Python; what it refuses; files that were changed."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from ctypes import create_string_buffer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from palmette import Beam, Crf, LabelHistory, Latent, MaxEnt, Tagger
from palmette.data import model_file
from palmette.datasets import load_demo
from palmette.features.atoms import atom_function
from palmette.features.templates import parse
from palmette.features.wordforms import WORD_ATOMS
from palmette.runtime import native
from palmette.runtime.build import HEADERS, HERE, PARTS, sources_hash
from palmette.runtime.native import DAMAGED, INPUT, UNSUPPORTED, RuntimeFailure, RuntimeModel

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "examples" / "runtime"
pytestmark = pytest.mark.skipif(not Path(native.library_path()).exists(), reason="built without the runtime")
needs_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

ATOMS = [*WORD_ATOMS, "lower.normal", "lower.suffix3", "short_shape.lower", "capital.lower", "skeleton.prefix2"]
WORDS = [
    "", "May", "may.", "Sept.", "Dec...", "12:30pm", "1990s", "\u201990s", "12/10/1999", "1999-1-2", "1,234,567",
    "1\u202f234", "-1,234.5", "3rd", "1,000th", "$5", "US$5", "5\u20ac", "10\u201312", "1-1/2", "MCMXC", "IIII",
    "NF-kappa-B", "NF-kappaB", "\u0391\u03a3", "\u03a3", "\u0391\u03a3.\u0391", "\u0391\u03a3'", "\u0130stanbul",
    "McDonald's-99", "U.S.", "B2", "evlerinde", "\u0439\u0419", "\u6771\u4eac\u90fd", "x\u00b2", "_a-b_", "\u017ft",
]  # fmt: skip
LETTERS = (
    "0123456789.,-+/:%$\u20ac\u00bdsthndrSTampAM'\u2019\u2013\u2212 \u00a0\u00ba\u2030"
    "\u017fK\u0130\u0131IVXLCDM\u03c3\u03c2\u03a3\u00df\u03b1\u00b2_"
)


def made_by_runtime(atom: str, word: str) -> str | None:
    out, data = create_string_buffer(400), word.encode()
    length = native.library().palmette_atom(atom.encode(), data, len(data), out, len(out))
    assert length >= -1
    return None if length < 0 else out.raw[:length].decode()


def test_atoms_are_those_of_python() -> None:
    rng = random.Random(3)
    drawn = ["".join(rng.choices(LETTERS, k=rng.randrange(9))) for _ in range(1500)]
    codes = [*range(0x250), *range(0x250, 0x3000, 7), *range(0x3000, 0x110000, 997)]
    characters = [chr(code) for code in codes if not 0xD800 <= code < 0xE000]
    for atom in ATOMS:
        function = atom_function(atom)
        for word in (*WORDS, *drawn, *characters):
            assert made_by_runtime(atom, word) == function(word), (atom, word)


@pytest.fixture(scope="module")
def demo() -> Any:
    train, labels = load_demo("train")
    test, _ = load_demo("test")
    return train[:150], labels[:150], test[:60]


def attributes(sentence: Any) -> list[dict[str, Any]]:
    return [{"w": word.lower(), tag: 0.5, "long": len(word) > 6} for word, tag in sentence]


def rows_of(sentence: Any) -> list[list[Any]]:
    """What the runtime is given: cells, or attributes as Python names them."""
    made: list[list[Any]] = []
    for token in sentence:
        if isinstance(token, dict):
            named = [(f"{name}:{value}", 1.0) if isinstance(value, str) else (name, float(value))
                     for name, value in token.items() if value is not False]  # fmt: skip
            made.append([(name.encode(), value) for name, value in named])
        else:
            made.append([cell.encode() for cell in token])
    return made


BARE = "U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nU2:%x[0,0,lower.suffix3]\nU3"
CASES: dict[str, Callable[[], Tagger]] = {
    "chunks": lambda: Tagger("chunk", passes=2),
    "entities, compact": lambda: Tagger("ner", passes=2),
    "order 0": lambda: Tagger(template=parse(BARE), passes=2, constraints="none"),
    "order 2": lambda: Tagger(template=parse(f"{BARE}\nB\nT"), passes=2),
    "crf": lambda: Tagger(template=parse(f"{BARE}\nB"), learner=Crf(iterations=5)),
    "attributes": lambda: Tagger(passes=2),
    "attributes, compact": lambda: Tagger(passes=2),
    "to resume": lambda: Tagger(template=parse(f"{BARE}\nB"), passes=2),
}


@pytest.mark.parametrize("name", CASES)
def test_labels_and_scores_are_those_of_python(name: str, demo: Any, tmp_path: Path) -> None:
    train, labels, test = demo
    if name.startswith("attributes"):
        train, test = [list(map(attributes, part)) for part in (train, test)]
    tagger = CASES[name]()
    (tagger.partial_fit if name == "to resume" else tagger.fit)(train, labels)
    if name.endswith("compact"):
        tagger.compact()
    tagger.save(tmp_path / "m.palm")
    runtime = RuntimeModel(str(tmp_path / "m.palm"))
    long = [token for sentence in test for token in sentence][:150]
    for sentence in (*test, long, test[0][:1]):
        found = runtime.lists(rows_of(sentence), 4)
        wanted = tagger.nbest([sentence], 4)[0]
        assert [own for own, _ in found] == [list(one.output) for one in wanted]
        assert [score for _, score in found] == pytest.approx([one.score for one in wanted], rel=1e-5, abs=1e-4)
        assert runtime.lists(rows_of(sentence))[0][0] == tagger.predict([sentence])[0]
    runtime.close()


def test_composed_and_decomposed_letters_are_the_same_word(tmp_path: Path) -> None:
    words = ["caf\u00e9", "\u1e69\u0323", "\uac01", "\u0958", "x\u0315\u0300"]
    tagger = Tagger(template=parse("U0:%x[0,0]"), passes=2).fit([words], [list("ABCDE")])
    tagger.save(tmp_path / "m.palm")
    runtime = RuntimeModel(str(tmp_path / "m.palm"))
    for form in ("NFC", "NFD"):
        rows = [[unicodedata.normalize(form, word).encode()] for word in words]
        assert runtime.lists(rows)[0][0] == list("ABCDE")
    runtime.close()


def test_normal_form_is_that_of_python(tmp_path: Path) -> None:
    rng = random.Random(1)
    codes = (
        0x41, 0x65, 0x301, 0x323, 0x307, 0x1E0A, 0x1100, 0x1161, 0x11A8, 0xAC00, 0x958, 0x93C, 0x928, 0x344, 0x3B1,
        0x345, 0x1F82, 0x2126, 0xFB2C, 0x1D15F,
    )  # fmt: skip
    pool = list(map(chr, codes))
    words = sorted({unicodedata.normalize("NFC", "".join(rng.choices(pool, k=rng.randint(1, 6)))) for _ in range(300)})
    tagger = Tagger(template=parse("U0:%x[0,0]"), passes=1).fit(
        [words], [["A", "B"] * (len(words) // 2) + ["A"] * (len(words) % 2)]
    )
    tagger.save(tmp_path / "m.palm")
    runtime = RuntimeModel(str(tmp_path / "m.palm"))
    names = tagger.model_.names[1]
    known = {names[k] for k in range(len(names))}
    assert len(known) > 100
    for word in words:
        for form in ("NFD", "NFC"):
            runtime.lists([[unicodedata.normalize(form, word).encode()]])
            active = native.library().palmette_active(runtime._sentence, 0)
            assert active == (f"U0:{word}" in known), (word, form)
    runtime.close()


def refused(path: Path) -> tuple[int, str]:
    with pytest.raises(RuntimeFailure) as caught:
        RuntimeModel(str(path))
    return caught.value.code, str(caught.value)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"states": Latent(2)}, "hidden states"),
        ({"states": LabelHistory("run:O:2")}, "remember earlier"),
        ({"search": Beam(2)}, "beam"),
        ({"learner": MaxEnt(iterations=2), "passes": None}, "maxent"),
        ({"template": parse("U0:%x[0,0]\nB1:%x[0,0]")}, "label pairs"),
        ({"template": parse('uX:%m[0,0,"^."]\nb', syntax="wapiti")}, "Wapiti"),
        ({"template": parse("U0:%x[0,0,match:^.]")}, "an atom of a file"),
    ],
)
def test_what_needs_python_is_refused_with_the_reason(options: Any, reason: str, tmp_path: Path) -> None:
    settings = {"template": parse("U0:%x[0,0]\nB"), "passes": 1} | options
    Tagger(**settings).fit([["a", "b"]], [["B-X", "O"]]).save(tmp_path / "m.palm")
    code, message = refused(tmp_path / "m.palm")
    assert code == UNSUPPORTED
    assert reason in message


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runtime") / "m.palm"
    Tagger(template=parse(f"{BARE}\nB"), passes=2).fit([[("a", "b"), ("c", "d")]], [["B-X", "O"]]).save(path)
    return path


def test_other_files_are_refused(small: Path, tmp_path: Path) -> None:
    path, data = tmp_path / "x.palm", small.read_bytes()
    assert refused(tmp_path / "none") == (native.FILE, "cannot read the file, or it is empty")
    for content, reason in (
        (b"x" * 100, "not a palmette model"), (data[:-10], "damaged"), (data[:-1] + b"\xff", "checksum"),
    ):  # fmt: skip
        path.write_bytes(content)
        code, message = refused(path)
        assert code == DAMAGED
        assert reason in message


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("label.bucket", lambda a: a.__setitem__(1, 4_000_000_000)),
        ("label.low", lambda a: a.__setitem__(slice(None), 7)),
        ("label.state", lambda a: a.__setitem__(0, 200)),
        ("label.count", lambda a: a.__setitem__(0, 255)),
        ("label.value", lambda a: a.__setitem__(0, np.nan)),
        ("label.rows", lambda a: a.__setitem__((0, 0), np.inf)),
        ("bare.pair", lambda a: a.__setitem__((0, 0), np.nan)),
    ],
)
def test_arrays_that_are_not_as_declared_are_refused(
    name: str, change: Callable[[np.ndarray], None], demo: Any, tmp_path: Path
) -> None:
    template = f"{BARE}\nB" if name != "label.rows" else "U0"
    tagger = Tagger(template=parse(template), passes=2).fit(demo[0][:20], demo[1][:20])
    tagger.save(tmp_path / "m.palm")
    arrays, meta = model_file.load(tmp_path / "m.palm", copy=True)
    if name not in arrays:
        pytest.fail(f"{name} is not among {sorted(arrays)}")
    change(arrays[name])
    model_file.save(tmp_path / "m.palm", arrays, meta)
    assert refused(tmp_path / "m.palm")[0] == DAMAGED


def test_tokens_that_a_model_cannot_take_are_errors(small: Path) -> None:
    runtime = RuntimeModel(str(small))
    for row, reason in (
        ([b"a"], "token 1 has 1 cells, the model reads 2"),
        ([b"a", b"b", b"c"], "token 1 has 3 cells"),
        ([b"\xff", b"b"], "token 1: a cell is not UTF-8"),
        ([b"a", (b"b", float("nan"))], "not finite"),
    ):
        with pytest.raises(RuntimeFailure, match=reason) as caught:
            runtime.lists([row])
        assert caught.value.code == INPUT
    assert runtime.lists([]) == []
    assert runtime.lists([[b"a", b"b"], [b"c", b"d"]])[0][0] == ["B-X", "O"]
    runtime.close()


def test_the_library_was_built_from_these_sources() -> None:
    assert native.library().palmette_sources().decode() == sources_hash()


def test_the_wasm_was_built_from_these_sources() -> None:
    from hashlib import sha256

    about = json.loads((HERE / "palmette.wasm.json").read_text())
    assert about["sources"] == sources_hash(), "run `python -m palmette.runtime.build`"
    assert about["sha256"] == sha256((HERE / "palmette.wasm").read_bytes()).hexdigest()
    assert (HERE / "palmette.wasm").stat().st_size < 200_000


@needs_compiler
def test_the_example_in_c_prints_the_labels_of_python(small: Path, tmp_path: Path) -> None:
    program, folder = tmp_path / "tag", Path(native.library_path()).parent
    words = ["gcc", "-Wall", "-Werror", f"-I{HERE}", str(EXAMPLES / "tag.c"), "-o", str(program),
             f"-L{folder}", "-lpalmette", f"-Wl,-rpath,{folder}"]  # fmt: skip
    subprocess.run(words, check=True)
    ran = subprocess.run([program, small], input="a b\nc d\n", capture_output=True, text=True, check=True)
    wanted = Tagger.load(small).nbest([[("a", "b"), ("c", "d")]], 3)[0]
    assert [line.split()[1:] for line in ran.stdout.splitlines()] == [list(one.output) for one in wanted]
    assert subprocess.run([program, tmp_path / "none"], input="", capture_output=True, check=False).returncode == 1


THREADS = """
import sys, threading
from palmette.runtime import native
from ctypes import byref, c_void_p
library, model = native.library(), c_void_p()
assert library.palmette_open(sys.argv[1].encode(), byref(model), None, 0) == 0
wrong = []
def work(k):
    sentence = library.palmette_sentence_new(model)
    for _ in range(200):
        library.palmette_clear(sentence)
        for i in range(k):
            library.palmette_token(sentence)
            for cell in (b"a", b"b") if i % 2 == 0 else (b"c", b"d"):
                library.palmette_cell(sentence, cell, 1, 1.0)
        library.palmette_tag(sentence, 2)
        path = library.palmette_path(sentence, 0)
        if [library.palmette_label(model, path[i]) for i in range(2)] != [b"B-X", b"O"]:
            wrong.append(k)
    library.palmette_sentence_free(sentence)
threads = [threading.Thread(target=work, args=(k,)) for k in (2, 3, 4, 6)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
library.palmette_close(model)
assert not wrong and "numpy" not in sys.modules
"""


def test_threads_share_a_model(small: Path) -> None:
    subprocess.run([sys.executable, "-c", THREADS, str(small)], check=True)


@needs_compiler
def test_changed_models_do_no_harm(demo: Any, tmp_path: Path) -> None:
    """Under the address sanitizer; `python -m bench fuzz --runtime` does many more."""
    sys.path.insert(0, str(ROOT))
    from bench.fuzz.models import Model
    from bench.fuzz.mutate import WAYS
    from bench.fuzz.runtime import build_checked, run_checked

    Tagger(template=parse(f"{BARE}\nB"), passes=2).fit(demo[0][:10], demo[1][:10]).save(tmp_path / "m.palm")
    arrays, meta = model_file.load(tmp_path / "m.palm", copy=True)
    model = Model("chunks", "chain", (tmp_path / "m.palm").read_bytes(), arrays, meta)
    program = build_checked(tmp_path)
    assert run_checked(program, tmp_path, model.data) == 0
    for number, (_, change) in enumerate(WAYS.values()):
        data = change(model, np.random.default_rng([7, number]), model)
        assert run_checked(program, tmp_path, data) in (0, 1)


def test_sources_name_every_part() -> None:
    assert {path.name for path in HERE.glob("*.[ch]")} == {*PARTS, *HEADERS}
