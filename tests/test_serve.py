"""Asking models over HTTP: every kind answers what the library finds; limits and rules are kept; several requests are
decoded together."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serve_cases import PLAIN, client, folder
from starlette.testclient import TestClient

from palmette import Classifier, Parser, Pipeline, Tagger
from palmette.data import corpus_from_items, spans
from palmette.datasets import load_demo
from palmette.errors import UsageError
from palmette.serve import Limits, Source, create_app
from palmette.serve.batcher import Batcher, InFlight
from palmette.serve.cells import corpus_of_cells
from palmette.serve.failure import Failure
from palmette.serve.registry import named_models
from palmette.serve.training import TrainingLog

ROWS = [[["We", "PRP"], ["will", "MD"], ["meet", "VB"], ["them", "PRP"]], [["On", "IN"], ["Monday", "NNP"]]]
TEXT = "We will meet at the station.  On Monday, then!"


def served(*names: str, **files: str) -> Source:
    home = folder()
    models = {name: str(next(home.glob(f"{name}.*"))) for name in names}
    return Source(models, {"pos": str(home / "pos.palm")}, files)


def ask(c: TestClient, name: str, **request: Any) -> list[dict[str, Any]]:
    answer = c.post(f"/models/{name}", json=request)
    assert answer.status_code == 200, answer.text
    return answer.json()["sentences"]


# Taggers


def test_labels_confidences_lists_and_explanations_are_those_of_the_library() -> None:
    tagger = Tagger.load(folder() / "chunk.palm")
    wanted = {"confidence": True, "marginals": True, "nbest": 3, "explain": True, "spans": True}
    with client() as c:
        found = ask(c, "chunk", sentences=ROWS, **wanted)
    labels, scores = tagger.predict_scored(ROWS)
    assert [one["labels"] for one in found] == labels
    assert [one["score"] for one in found] == pytest.approx(scores)
    sure = tagger.predict_confidence(ROWS)
    marginals, lists = tagger.predict_marginals(ROWS), tagger.nbest(ROWS, 3)
    for s, one in enumerate(found):
        assert one["token_confidence"] == pytest.approx(sure[s]["token_confidence"])
        assert one["confidence"] == pytest.approx(sure[s]["confidence"])
        assert [(x["label"], x["start"], x["end"]) for x in one["spans"]] == [tuple(x) for x in spans(labels[s])]
        assert [x["confidence"] for x in one["spans"]] == pytest.approx(
            [x["confidence"] for x in sure[s]["span_confidence"]]
        )
        assert one["marginals"] == [pytest.approx(row) for row in marginals[s]]
        assert [x["labels"] for x in one["nbest"]] == [x.output for x in lists[s]]
        assert [x["score"] for x in one["nbest"]] == pytest.approx([x.score for x in lists[s]])
        assert one["explanation"] == json.loads(json.dumps(tagger.explain(ROWS[s]).to_dict()))


def test_text_has_places_and_the_columns_of_helpers() -> None:
    pos = Tagger.load(folder() / "pos.palm")
    with client() as c:
        found = ask(c, "chunk", text=TEXT)
        assert ask(c, "chunk", texts=["Nothing.", TEXT])[1]["input"] == 1
        whole = ask(c, "chunk", text=TEXT, split=False)
    assert len(found) == 2
    assert len(whole) == 1
    for one in found:
        words = [TEXT[a:b] for a, b in one["offsets"]]
        assert one["tokens"] == words
        assert [row[1] for row in one["columns"]] == pos.predict([words])[0]
        for span in one["spans"]:
            assert TEXT[span["start_char"] : span["end_char"]] == span["text"]
            assert span["text"].split() == words[span["start"] : span["end"]]


def test_allowed_labels_hold() -> None:
    with client() as c:
        one = ask(c, "chunk", tokens=ROWS[0], allowed=[[None, ["B-PP", "B-ADVP"], None, "O"]])[0]
        bad = c.post("/models/chunk", json={"tokens": ROWS[0], "allowed": [[None, "X", None, None]]})
    assert one["labels"][1] in ("B-PP", "B-ADVP")
    assert one["labels"][3] == "O"
    assert bad.status_code == 422
    assert "'X'" in bad.json()["error"]


def test_empty_sentences_and_texts() -> None:
    with client() as c:
        assert ask(c, "chunk", text="  ") == []
        assert ask(c, "chunk", sentences=[]) == []
        found = ask(c, "chunk", sentences=[[], ROWS[0]])
    assert found[0]["labels"] == []
    assert len(found[1]["labels"]) == 4


CELL = st.text(st.characters(exclude_categories=["Cs"]), max_size=4) | st.sampled_from(
    ["a", "é", "e\u0301", "#", "", " "]
)


@given(st.integers(1, 3).flatmap(lambda width: st.lists(st.lists(
    st.tuples(*[CELL] * width), min_size=1, max_size=4), min_size=1, max_size=4)))  # fmt: skip
def test_cells_are_numbered_as_by_the_general_way(rows: list[Any]) -> None:
    expected = corpus_from_items(rows, mode="columns").corpus
    found = corpus_of_cells(rows)
    if any("\n" in cell for sentence in rows for row in sentence for cell in row):
        assert found is None
        return
    assert found is not None
    assert found.offset.tolist() == expected.offset.tolist()
    for own, other in zip(found.columns, expected.columns, strict=True):
        assert own.ids.tolist() == other.ids.tolist()
        assert own.types == other.types
        assert own.hash.tolist() == other.hash.tolist()
        assert own.power.tolist() == other.power.tolist()


@pytest.mark.parametrize(
    "strange", [[], [[]], [["a"], []], [["a", ["b"]]], [[["a"], ["b", "c"]]], [[{"a": 1}]], [[[]]]]
)
def test_other_sentences_take_the_general_way(strange: list[Any]) -> None:
    assert corpus_of_cells(strange) is None


def test_few_and_many_sentences_have_the_labels_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    tagger, (rows, _) = Tagger.load(folder() / "chunk.palm"), load_demo("dev")
    X = [[list(row) for row in sentence] for sentence in rows]
    expected = tagger.predict(X)
    for few in (0, 1_000_000):  # all together; one by one
        monkeypatch.setattr("palmette.structures.chain.python_data.FEW", few)
        with client() as c:
            assert [one["labels"] for one in ask(c, "chunk", sentences=X)] == expected


# Other kinds


def test_a_parser_a_classifier_and_a_pipeline_answer_as_the_library() -> None:
    home = folder()
    words = [["The", "cook", "bakes", "bread"], ["We", "go"]]
    tagged = [[["The", "DET", "DT"], ["cook", "NOUN", "NN"], ["bakes", "VERB", "VBZ"]]]
    with client(served("parser", "class", "en")) as c:
        parsed = ask(c, "parser", sentences=tagged, nbest=2)
        classes = ask(c, "class", sentences=words, explain=True)
        annotated = ask(c, "en", text="The cook bakes bread. We go.")
        from_words = ask(c, "en", sentences=words)
        kinds = {row["name"]: row["kind"] for row in c.get("/models").json()["models"]}
    assert kinds == {"parser": "parser", "class": "classifier", "en": "pipeline"}
    parser, classifier, pipeline = (
        Parser.load(home / "parser.palm"),
        Classifier.load(home / "class.palm"),
        Pipeline.load(home / "en.palm"),
    )
    assert list(zip(parsed[0]["heads"], parsed[0]["relations"], strict=True)) == parser.predict(tagged)[0]
    best = parser.nbest(tagged, 2)[0]
    assert [list(zip(x["heads"], x["relations"], strict=True)) for x in parsed[0]["nbest"]] == [x.output for x in best]
    assert [one["class"] for one in classes] == classifier.predict(words).tolist()
    assert [one["score"] for one in classes] == pytest.approx(classifier.decision_function(words).tolist())
    assert [one["structures"] for one in classes] == classifier.structures(words)
    document = pipeline("The cook bakes bread. We go.").to_dict()["sentences"]
    assert [{k: v for k, v in one.items() if k != "input"} for one in annotated] == document
    assert [word["form"] for word in from_words[1]["words"]] == words[1]


def test_what_a_kind_does_not_have_is_said() -> None:
    with client(served("class", "theirs")) as c:
        assert c.post("/models/class", json={"text": "a", "nbest": 2}).status_code == 422
        text = c.post("/models/theirs", json={"text": "a"})
    assert text.status_code == 422
    assert "attributes" in text.json()["error"]


def test_models_of_other_tools(corpora: Path) -> None:
    import pycrfsuite

    theirs = pycrfsuite.Tagger()
    theirs.open(str(folder() / "theirs.crfsuite"))
    attributes = [["w=We"], ["w=go"], ["w=there"]]
    crfpp = corpora / "downstream" / "crfpp.model.txt.gz"
    lines = (corpora / "downstream" / "crfpp-input.txt").read_text(encoding="utf-8").split("\n\n")[0].splitlines()
    columns = [line.split()[:2] for line in lines]
    source = Source({"theirs": str(folder() / "theirs.crfsuite"), "crfpp": str(crfpp)})
    with client(source) as c:
        assert ask(c, "theirs", tokens=attributes)[0]["labels"] == theirs.tag(attributes)
        found = ask(c, "crfpp", tokens=columns, nbest=2)[0]
        as_text = c.post("/models/crfpp/columns", content="\n".join(map("\t".join, columns)) + "\n", headers=PLAIN)
    assert found["labels"] == Tagger.load(crfpp).predict([columns])[0]
    assert found["nbest"][0]["probability"] is not None
    assert [line.split()[-1] for line in as_text.text.strip().split("\n")] == found["labels"]


def test_columns_are_those_that_tag_writes(tmp_path: Path) -> None:
    text = "We PRP\nwill MD\n\nOn IN\nMonday NNP\n"
    (tmp_path / "in.txt").write_text(text)
    Tagger.load(folder() / "chunk.palm").tag_file(tmp_path / "in.txt", tmp_path / "out.txt")
    with client() as c:
        first = c.post("/columns", content=text, headers=PLAIN)
        named = c.post("/columns?model=chunk", content=text, headers=PLAIN)
        words = c.post("/models/chunk/columns", content="We\nwill\n", headers=PLAIN)
        bad = c.post("/columns", content=b"\xff\xfe", headers=PLAIN)
    assert first.text == named.text == (tmp_path / "out.txt").read_text()
    assert words.text.splitlines()[0].startswith("We\tB-")
    assert bad.status_code == 422


# Rules and limits


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"content": b"{", "headers": {"content-type": "application/json"}}, 400),
        ({"json": {}}, 400),
        ({"json": {"text": "a", "tokens": ["a"]}}, 400),
        ({"json": {"text": "a", "colour": 1}}, 400),
        ({"json": {"tokens": [1]}}, 400),
        ({"json": {"text": "a", "nbest": 101}}, 400),
        ({"content": b'{"text": "\\ud800"}', "headers": {"content-type": "application/json"}}, 400),
        ({"content": b'{"text": "a"}', "headers": PLAIN}, 415),
        ({"json": {"tokens": ["a", ["b", "c"]]}}, 422),
        ({"json": {"tokens": [{"a": 1}]}}, 422),
        ({"json": {"tokens": ["a"], "beam": 2}}, 422),
        ({"json": {"text": "a " * 3000, "split": False}}, 413),
        ({"json": {"text": "a. " * 5000, "nbest": 100}}, 413),
        ({"json": {"text": "x" * 200_000}}, 413),
    ],
)
def test_bad_requests_have_clear_answers(request_: dict[str, Any], status: int) -> None:
    with client(limits=Limits(body=100_000, tokens=20_000, sentence=2000, cells=500_000)) as c:
        answer = c.post("/models/chunk", **request_)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]


def test_addresses_and_methods() -> None:
    with client() as c:
        assert c.get("/models/nobody").status_code == 404
        assert c.get("/nothing").status_code == 404
        assert c.put("/models/chunk").status_code == 405
        assert c.get("/static/../../etc/passwd").status_code == 404
        assert c.get("/static/%2e%2e/%2e%2e/pyproject.toml").status_code == 404
        assert c.post("/models/chunk/view/nothing", json={}).status_code == 404
        assert c.post("/models/chunk/view/errors", json={"file": "/etc/passwd"}).status_code == 404


def test_headers_of_every_answer() -> None:
    with client() as c:
        for answer in (c.get("/health"), c.get("/nothing"), c.post("/models/chunk", content=b"x")):
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"


def test_other_sites_and_names_are_refused() -> None:
    with client() as c:
        assert c.get("/models", headers={"host": "evil.example"}).status_code == 403
        assert c.get("/models", headers={"origin": "http://evil.example"}).status_code == 403
        assert c.get("/models", headers={"origin": "null"}).status_code == 403
        assert c.get("/models", headers={"origin": "http://localhost"}).status_code == 200
        for address in ("192.168.1.7:8080", "[fe80::1]:8080", "127.0.0.1", "LOCALHOST"):  # no name can be rebound
            assert c.get("/models", headers={"host": address}).status_code == 200
        for name in (
            "",
            "1.evil.example",
            "[evil.example]",
            "127.0.0.1.evil.example",
            "0x7f.1",
            "[::1].evil.example",
            "1.2.3.4%evil.example",
        ):
            assert c.get("/models", headers={"host": name}).status_code == 403
    with client(hosts=None) as c:
        assert c.get("/models", headers={"host": "any.example"}).status_code == 200
    for wrong in ("", " ", "a.example:80", "http://a.example"):  # an unset variable, or no name
        with pytest.raises(UsageError, match="allowed host"), client(hosts=("localhost", wrong)):
            pass


def test_a_token_is_asked_for() -> None:
    with client(token="sesame") as c:
        assert c.get("/health").status_code == 200
        assert c.get("/models").status_code == 401
        assert c.get("/models", headers={"authorization": "Bearer sesam"}).status_code == 401
        assert c.get("/models", headers={"authorization": "Basic sesame"}).status_code == 401
        assert c.get("/models", headers={"authorization": "bearer sesame"}).status_code == 200


def test_an_empty_token_is_refused_and_a_line_end_is_not_a_part_of_it() -> None:
    for empty in ("", " \n"):
        with pytest.raises(UsageError, match="the token is empty"):
            create_app(token=empty)
    with client(token="sesame\n") as c:
        assert c.get("/models", headers={"authorization": "Bearer sesame"}).status_code == 200


def test_an_unexpected_error_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def broken(model: Any, request: Any) -> Any:
        raise ZeroDivisionError("a view")

    with client() as c:
        c.app.service.views = {"broken": broken}  # type: ignore[attr-defined]
        answer = c.post("/models/chunk/view/broken", json={})
    assert answer.status_code == 500
    assert "/models/chunk/view/broken" in caplog.text
    assert "ZeroDivisionError: a view" in caplog.text


def test_a_request_that_takes_too_long_is_answered_and_its_work_ends() -> None:
    with client(limits=Limits(seconds=0.3)) as c:
        service = c.app.service  # type: ignore[attr-defined]
        ended = threading.Event()

        def slow(model: Any, request: Any) -> Any:
            time.sleep(0.6)
            ended.set()
            return {}

        service.views = {"slow": slow}
        answer = c.post("/models/chunk/view/slow", json={})
        assert answer.status_code == 408
        assert ended.wait(5)


def test_too_many_requests_are_sent_away() -> None:
    async def run() -> list[Any]:
        with ThreadPoolExecutor(1) as pool:
            gate = threading.Event()

            def decode(sentences: list[Any], text: bool) -> list[Any]:
                gate.wait(5)
                return sentences

            batcher = Batcher(decode, lambda found, a, b: found[a:b], pool, threads=1, most_waiting=2)
            tasks = [asyncio.create_task(batcher.submit([[k]], False, 1)) for k in range(1)]
            await asyncio.sleep(0.05)  # the first one has a thread
            tasks += [asyncio.create_task(batcher.submit([[k]], False, 1)) for k in range(1, 4)]
            await asyncio.sleep(0.05)
            gate.set()
            return await asyncio.gather(*tasks, return_exceptions=True)

    found = asyncio.run(run())
    assert found[:3] == [[[0]], [[1]], [[2]]]
    assert isinstance(found[3], Failure)
    assert found[3].status == 429


def test_a_request_that_is_alone_is_decoded_at_once_and_others_wait_for_each_other() -> None:
    sizes: list[int] = []

    def decode(sentences: list[Any], text: bool) -> list[Any]:
        sizes.append(len(sentences))
        return sentences

    async def run() -> None:
        in_flight = InFlight()
        with ThreadPoolExecutor(1) as pool:
            batcher = Batcher(
                decode, lambda found, a, b: found[a:b], pool, threads=1, most_waiting=9, in_flight=in_flight
            )
            await batcher.submit([[0]], False, 1)  # it measures how long a token takes
            in_flight.tasks = ["one"]
            coroutine = batcher.submit([[1]], False, 1)
            with pytest.raises(StopIteration):  # there is nothing that it waits for
                coroutine.send(None)
            in_flight.tasks = ["one", "two", "three"]
            found = await asyncio.gather(*(batcher.submit([[k]], False, 1) for k in range(3)))
            assert found == [[[0]], [[1]], [[2]]]

    asyncio.run(run())
    assert sizes == [1, 1, 3]


def test_requests_that_arrive_together_are_decoded_together_and_one_bad_one_spoils_none() -> None:
    async def run() -> tuple[list[int], Any]:
        app = create_app(source=served("chunk"))
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as c:
            bodies: list[Any] = [{"tokens": ROWS[k % 2]} for k in range(20)]
            bodies[7] = {"tokens": [["only"]]}
            answers = await asyncio.gather(*(c.post("/models/chunk", json=body) for body in bodies))
        batcher = app.service.batchers["chunk"]
        assert batcher.batched == 20
        assert batcher.batches < 20
        labels = [one.json()["sentences"][0]["labels"] for k, one in enumerate(answers) if k != 7]
        app.service.close()
        return [one.status_code for one in answers], labels

    statuses, labels = asyncio.run(run())
    assert statuses == [200] * 7 + [422] + [200] * 12
    expected = Tagger.load(folder() / "chunk.palm").predict([ROWS[k % 2] for k in range(20) if k != 7])
    assert labels == expected


# Looking at the server


def test_the_description_names_every_address_and_its_types() -> None:
    with client() as c:
        found = c.get("/openapi.json").json()
        overview = c.get("/models").json()
    assert found["openapi"].startswith("3.1")
    post = found["paths"]["/models/{name}"]["post"]
    assert post["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/Request")
    assert set(found["components"]["schemas"]["Request"]["properties"]) >= {"text", "tokens", "nbest", "explain"}
    refs = {ref for ref in json.dumps(found).split('"') if ref.startswith("#/components/schemas/")}
    assert {ref.rpartition("/")[2] for ref in refs} <= set(found["components"]["schemas"])
    assert overview["models"][0]["labels"]
    assert overview["models"][0]["helpers"] == ["pos"]


def test_metrics_count() -> None:
    with client() as c:
        ask(c, "chunk", sentences=ROWS)
        c.get("/nothing")
        text = c.get("/metrics").text
    assert 'palmette_requests_total{address="/models/{name}",status="200"} 1' in text
    assert 'palmette_requests_total{address="other",status="404"} 1' in text
    assert 'palmette_tokens_total{model="chunk"} 6' in text
    assert 'palmette_request_seconds_count{address="/models/{name}"} 1' in text


def test_views_get_the_model_and_the_files_of_the_server() -> None:
    with client(served("chunk", test=str(folder() / "test.txt"))) as c:
        answer = c.post("/models/chunk/view/trellis", json={"text": "We go."})
        errors = c.post("/models/chunk/view/errors", json={"file": "test"})
        long = c.post("/models/chunk/view/trellis", json={"tokens": ["a"] * 3000})
        wrong = c.post("/models/chunk/view/trellis", json={"text": 1})
    assert answer.status_code == 200, answer.text
    assert errors.status_code == 200, errors.text
    assert errors.json()["scores"]["tokens"] > 1000
    assert long.status_code == 413
    assert wrong.status_code == 422


def test_the_log_of_a_training() -> None:
    log = TrainingLog({"model": "x"})
    log.append({"pass": 1})
    app = create_app(training=log)
    with TestClient(app, base_url="http://localhost") as c:
        assert c.get("/training").json() == {
            "records": [{"pass": 1}], "next": 1, "finished": False, "outcome": None, "about": {"model": "x"},
        }  # fmt: skip
        log.append({"pass": 2})
        assert c.get("/training?after=1").json()["records"] == [{"pass": 2}]
        assert c.get("/training?after=x").status_code == 400
        log.finish({"best": 2})
        events = c.get("/training/events").text
    assert [line for line in events.splitlines() if line.startswith("event")] == [
        "event: about", "event: record", "event: record", "event: finished",
    ]  # fmt: skip


def test_names_of_models(tmp_path: Path) -> None:
    assert named_models(["a/chunk.palm", "other=b.palm"]) == {"chunk": "a/chunk.palm", "other": "b.palm"}
    with pytest.raises(ValueError, match="two models"):
        named_models(["a/x.palm", "b/x.palm"])
    with pytest.raises(ValueError, match="cannot be a name"):
        named_models(["a b.palm"])


# Label Studio

CONFIG = '<View><Labels name="ner" toName="doc"><Label value="NP"/></Labels><Text name="doc" value="$body"/></View>'


def test_label_studio_gets_spans_as_regions() -> None:
    with client() as c:
        assert c.post("/setup", json={"project": "1", "schema": CONFIG}).json() == {"model_version": "chunk-1"}
        tasks = [{"id": 1, "data": {"body": TEXT}}, {"id": 2, "data": {"body": "We go."}}]
        answer = c.post("/predict", json={"tasks": tasks, "label_config": CONFIG, "project": "1.2", "params": {}})
        found = answer.json()["results"]
        spans = [span for one in ask(c, "chunk", text=TEXT) for span in one["spans"]]
        lost = c.post("/predict", json={"tasks": [{"data": {"x": 1}}]})
    assert len(found) == 2
    assert [(r["value"]["start"], r["value"]["end"], r["value"]["labels"]) for r in found[0]["result"]] == [
        (span["start_char"], span["end_char"], [span["label"]]) for span in spans
    ]
    first = found[0]["result"][0]
    assert (first["from_name"], first["to_name"], first["type"]) == ("ner", "doc", "labels")
    assert 0 < first["score"] <= 1
    assert lost.status_code == 422


def test_label_studios_annotations_become_corrections(tmp_path: Path) -> None:
    regions = [
        {"value": {"start": 0, "end": 2, "labels": ["NP"]}},
        {"value": {"start": 3, "end": 12, "labels": ["VP"]}},
    ]
    event = {
        "action": "ANNOTATION_CREATED",
        "task": {"id": 5, "data": {"text": TEXT}},
        "annotation": {"result": regions},
    }
    source = served("chunk")._replace(corrections=str(tmp_path))
    with client(source) as c:
        answer = c.post("/webhook", json=event)
        assert answer.status_code == 201, answer.text
        assert c.post("/webhook", json={"action": "PROJECT_UPDATED"}).json()["status"] == "ignored"
        assert c.post("/train", json={"event": "START_TRAINING"}).status_code == 409  # no training data
        found = c.get("/models/chunk/corrections").json()["corrections"]
    assert [one["id"] for one in found] == ["labelstudio-5-1", "labelstudio-5-2"]
    assert found[0]["labels"] == ["B-NP", "B-VP", "I-VP", "O", "O", "O", "O"]


def studio_event(text: str, *values: dict[str, Any], task: int = 5) -> dict[str, Any]:
    regions = [{"from_name": "label", "to_name": "text", "type": "labels", "value": value} for value in values]
    return {
        "action": "ANNOTATION_UPDATED", "task": {"id": task, "data": {"text": text}}, "annotation": {"result": regions}
    }  # fmt: skip


@pytest.mark.parametrize("with_text", [True, False])
@pytest.mark.parametrize("unit", ["characters", "utf16"])
def test_regions_after_an_emoji_are_placed_by_their_text(tmp_path: Path, unit: str, with_text: bool) -> None:
    """Label Studio counts code points since 2022, and counted UTF-16 units before. The text of a region shows which of
    the two it is; without one, code points are meant."""
    text = "\U0001f4a9\U0001f600 A B C"
    start = 3 + 2 * (unit == "utf16")
    value: dict[str, Any] = {"start": start, "end": start + 1, "labels": ["NP"]}
    if with_text:
        value["text"] = "A"
    with client(served("chunk")._replace(corrections=str(tmp_path))) as c:
        answer = c.post("/webhook", json=studio_event(text, value))
        assert answer.status_code == 201, answer.text
        (found,) = c.get("/models/chunk/corrections").json()["corrections"]
    labels = {token[0]: label for token, label in zip(found["tokens"], found["labels"], strict=True)}
    named = "A" if with_text or unit == "characters" else "B"
    assert {word for word, label in labels.items() if label != "O"} == {named}


@pytest.mark.parametrize("address", ["/webhook", "/train"])
@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"start": 100, "end": 104, "text": "meet"}, "offsets"),
        ({"start": 40, "end": 400}, "offsets"),
        ({"start": -3, "end": 2}, "offsets"),
        ({"start": 7, "end": 3}, "offsets"),
        ({"start": 3, "end": 3}, "empty"),
        ({"start": 2, "end": 3}, "empty"),
        ({"start": 3, "end": 7, "text": "meet"}, "another text"),
        ({"start": 0, "end": 7, "text": "We will"}, "longer one"),
        ({"start": "3", "end": 7}, "not a whole number"),
        ({"start": 3, "end": 7, "labels": []}, "without a label"),
        ({"start": 3, "end": 7, "labels": ["XX"]}, "'B-XX'"),
        (None, "value of region 2"),
    ],
)
def test_a_region_that_cannot_be_placed_is_refused(tmp_path: Path, address: str, value: Any, told: str) -> None:
    event = studio_event(TEXT, {"start": 0, "end": 12, "labels": ["NP"]} if told == "longer one" else {
        "start": 0, "end": 2, "text": "We", "labels": ["NP"]}, value and {"labels": ["VP"], **value})  # fmt: skip
    with client(served("chunk")._replace(corrections=str(tmp_path))) as c:
        answer = c.post(address, json=event)
        assert answer.status_code == 422, answer.text
        assert told in answer.json()["error"]
        assert c.get("/models/chunk/corrections").json()["total"] == 0


@pytest.mark.parametrize("annotation", [None, {}, {"result": None}, {"id": 3}])
def test_an_event_without_a_result_is_no_annotation_without_spans(tmp_path: Path, annotation: Any) -> None:
    with client(served("chunk")._replace(corrections=str(tmp_path))) as c:
        answer = c.post("/webhook", json={**studio_event(TEXT), "annotation": annotation})
        assert answer.status_code == 422, answer.text
        assert "no annotation with a result" in answer.json()["error"]
        assert c.get("/models/chunk/corrections").json()["total"] == 0


def test_the_configuration_of_the_project_shows_which_text_is_meant(tmp_path: Path) -> None:
    """As Label Studio reports annotations: the configuration is that of the project."""
    config = """<View><Text name="question" value="$q"/><Text name="doc" value="$body"/>
        <Labels name="ner" toName="doc"><Label value="NP"/></Labels><Text name="more" value="$more"/></View>"""
    region = {"from_name": "ner", "type": "labels", "value": {"start": 0, "end": 2, "text": "We", "labels": ["NP"]}}
    other = {**region, "to_name": "question", "value": {"start": 0, "end": 3, "text": "Who", "labels": ["NP"]}}
    event = {
        "action": "ANNOTATION_CREATED",
        "task": {
            "id": {"odd": 1},
            "data": {"text": "not this", "q": "Who goes?", "body": "We go.", "more": "They go."},
        },
        "annotation": {"result": [other, {**region, "to_name": "doc"}]},
        "project": {"id": 2, "label_config": config},
    }
    with client(served("chunk")._replace(corrections=str(tmp_path))) as c:
        answer = c.post("/webhook", json=event)
        assert answer.status_code == 201, answer.text
        (found,) = c.get("/models/chunk/corrections").json()["corrections"]
    assert [token[0] for token in found["tokens"]] == ["We", "go", "."]
    assert found["labels"] == ["B-NP", "O", "O"]


def test_several_annotations_are_reported_in_one_event(tmp_path: Path) -> None:
    region = {"type": "labels", "value": {"start": 0, "end": 2, "text": "We", "labels": ["NP"]}}
    event = {
        "action": "ANNOTATIONS_CREATED",
        "task": [{"id": 1, "data": {"text": "They stay."}}, {"id": 2, "data": {"text": "We go."}}],
        "annotation": [
            {"task": 2, "result": [region]},
            {"task": 1, "result": []},
            {"task": 3, "result": [], "was_cancelled": True},
        ],
    }  # fmt: skip
    with client(served("chunk")._replace(corrections=str(tmp_path))) as c:
        assert c.post("/webhook", json=event).json()["ids"] == ["labelstudio-2-1", "labelstudio-1-1"]
        event["annotation"][1]["task"] = 4  # type: ignore[index]
        assert c.post("/webhook", json=event).status_code == 422
        assert c.get("/models/chunk/corrections").json()["total"] == 2


def test_an_annotation_that_joins_sentences_replaces_the_earlier_ones(tmp_path: Path) -> None:
    with client(served("chunk")._replace(corrections=str(tmp_path))) as c:
        c.post("/webhook", json=studio_event(TEXT, {"start": 0, "end": 2, "labels": ["NP"]}))
        c.post("/webhook", json=studio_event(TEXT, {"start": 0, "end": 2, "labels": ["NP"]}, task=51))
        assert c.get("/models/chunk/corrections").json()["total"] == 4
        start = TEXT.index("station")
        c.post("/webhook", json=studio_event(TEXT, {"start": start, "end": TEXT.index(","), "labels": ["NP"]}))
        ids = [one["id"] for one in c.get("/models/chunk/corrections").json()["corrections"]]
    assert sorted(ids) == ["labelstudio-5-1", "labelstudio-51-1", "labelstudio-51-2"]
