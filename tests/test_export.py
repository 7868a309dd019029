"""`palmette export`: the same labels, spans, words and scores in Node and in a browser as in Python."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from palmette import Latent, Tagger
from palmette.cli import main as run
from palmette.data import FormatSpec
from palmette.data.formats.raw import character_spans, token_spans
from palmette.data.labels.schemes import spans
from palmette.datasets import load_demo
from palmette.errors import ModelError, UsageError
from palmette.features.templates import parse
from palmette.runtime import native
from palmette.runtime.export import export_model, package_json

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(not Path(native.library_path()).exists(), reason="built without the runtime")
needs_node = pytest.mark.skipif(NODE is None, reason="needs Node")
TEXTS = [
    "Mr. O'Neil can't pay $1,000.50 (or 3/4) to e.g. AT&T's boss!",
    "cannot we'll 'tis '90s -5 10:30 ... -- ``so''",
    "See http://a.b/c(d), www.x.org. or me@x.co.uk; @you #tag -LRB- U.S. J. Smith I.",
    "caf\u00e9 \u6771\u4eac\u3002 \U0001f600\U0001f3fd x\u00b2",
    "",
    "  \u00a0 ",
    "a\\/b rock-'n'-roll it's.",
    "x",
]
SCRIPT = """
import { load } from "./palmette.mjs";
import { readFileSync } from "node:fs";
const { sentences, texts, n } = JSON.parse(readFileSync(0, "utf8"));
const tagger = await load();
console.log(JSON.stringify({ about: [tagger.labels, tagger.scheme, tagger.columns],
  lists: sentences.map((one) => tagger.nbest(one, n)), texts: texts.map((one) => tagger.tag(one)),
  explained: tagger.explain(sentences[0]) }));
tagger.close();
"""


def in_node(folder: Path, **given: Any) -> Any:
    (folder / "run.mjs").write_text(SCRIPT)
    words = [str(NODE), str(folder / "run.mjs")]
    ran = subprocess.run(words, input=json.dumps({"texts": [], "n": 1} | given), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tagger of words, its package beside it."""
    train, _ = load_demo("train")
    path = tmp_path_factory.mktemp("export") / "Tags of words.palm"
    given = [[word for word, _ in sentence] for sentence in train[:150]]
    Tagger("pos", passes=2).fit(given, [[tag for _, tag in sentence] for sentence in train[:150]]).save(path)
    export_model(str(path), str(path.parent / "js"))
    return path


@needs_node
def test_chunks_of_columns(tmp_path: Path) -> None:
    train, labels = load_demo("train")
    test = load_demo("test")[0][:40]
    tagger = Tagger("chunk", passes=2).fit(train[:150], labels[:150])
    tagger.compact()
    tagger.save(tmp_path / "m.palm")
    export_model(str(tmp_path / "m.palm"), str(tmp_path / "js"))
    found = in_node(tmp_path / "js", sentences=test, n=3)
    assert found["about"] == [tagger.labels_, "IOB2", 2]
    for one, wanted in zip(found["lists"], tagger.nbest(test, 3), strict=True):
        assert [each["labels"] for each in one] == [each.output for each in wanted]
        assert [each["score"] for each in one] == pytest.approx([each.score for each in wanted], rel=1e-5, abs=1e-4)
        for each in one:
            assert [(s["type"], s["start"], s["end"]) for s in each["spans"]] == spans(each["labels"])
    explained = found["explained"]["explained"]
    assert len(explained) == len(test[0])
    names = tagger.model_.names[1]
    known = {names[k] for k in range(len(names))}
    assert {one["name"] for token in explained for one in token["attributes"]} <= known
    for token in explained[1:-1]:  # at the ends of a sentence there are weights of these too
        for label, score in enumerate(token["scores"]):
            assert sum(one["weights"][label] for one in token["attributes"]) == pytest.approx(score, abs=1e-3)


@needs_node
def test_texts_are_cut_into_the_words_of_python(words: Path) -> None:
    texts = [*TEXTS, "We sing. They don't."]
    found = in_node(words.parent / "js", sentences=[["We", "sing"]], texts=texts)
    tagger = Tagger.load(words)
    for text, one in zip(texts, found["texts"], strict=True):
        cut = [text[a:b] for a, b in token_spans(text)]
        assert one["tokens"] == cut
        units = [len(text[:k].encode("utf-16-le")) // 2 for k in range(len(text) + 1)]
        assert one["offsets"] == [[units[a], units[b]] for a, b in token_spans(text)]
        assert one["labels"] == (tagger.predict([cut])[0] if cut else [])


@needs_node
def test_attributes_and_characters(tmp_path: Path) -> None:
    data = [[{"w": "a", "long": True, "x": 0.5}, {"w": "b", "long": False}], [{"w": "b"}, {"w": "a", "x": 2}]]
    Tagger(passes=3).fit(data, [["A", "B"], ["B", "A"]]).save(tmp_path / "m.palm")
    export_model(str(tmp_path / "m.palm"), str(tmp_path / "js"))
    found = in_node(tmp_path / "js", sentences=data)
    assert [one[0]["labels"] for one in found["lists"]] == [["A", "B"], ["B", "A"]]
    text = "ab \U0001f600 c"
    (tmp_path / "train.txt").write_text("a\tB\nb\tI\n\nc\tB\n", encoding="utf-8")
    spec = FormatSpec(format="columns", unit="char")
    Tagger(template=parse("U0:%x[0,0]"), passes=2).fit_file(tmp_path / "train.txt", spec=spec).save(tmp_path / "c.palm")
    export_model(str(tmp_path / "c.palm"), str(tmp_path / "chars"))
    one = in_node(tmp_path / "chars", sentences=[["a"]], texts=[text])["texts"][0]
    assert one["tokens"] == [text[a:b] for a, b in character_spans(text)]


def test_the_package(words: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = words.parent / "js"
    about = json.loads((folder / "package.json").read_text())
    assert about["name"] == "tags-of-words"
    names = {"palmette.wasm", "palmette.mjs", "palmette.d.mts", "index.html", "model.palm"}
    assert set(about["files"]) == names
    assert sum((folder / name).stat().st_size for name in names - {"model.palm"}) < 300_000
    assert (folder / "model.palm").read_bytes() == words.read_bytes()
    run(["export", str(words), "-o", str(words.parent / "again")])
    assert "a model of" in capfd.readouterr().out
    assert json.loads(package_json("\u00e9"))["name"] == "model"


def test_what_cannot_be_exported_is_refused(words: Path, tmp_path: Path) -> None:
    path = tmp_path / "latent.palm"
    Tagger(template=parse("U0:%x[0,0]"), states=Latent(2), passes=1).fit([["a"]], [["X"]]).save(path)
    with pytest.raises(ModelError, match="hidden states"):
        export_model(str(path), str(tmp_path / "js"))
    assert not (tmp_path / "js").exists()
    with pytest.raises(UsageError, match="not an empty folder"):
        export_model(str(words), str(words.parent))


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.mark.heavy("playwright")
def test_the_page_in_a_browser(words: Path) -> None:
    from browser import chromium, quiet_page

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(words.parent / "js")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with chromium() as browser, quiet_page(browser) as page:
            page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
            page.fill("textarea", "We sing the song.")
            page.wait_for_selector(".token")
            shown = page.locator(".token small").all_inner_texts()
            assert shown == Tagger.load(words).predict([["We", "sing", "the", "song", "."]])[0]
    finally:
        server.shutdown()
        server.server_close()
