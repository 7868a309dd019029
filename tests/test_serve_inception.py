"""INCEpTION's external recommender, with requests of the form of those that its example project publishes."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import pytest
from serve_cases import client, folder
from starlette.testclient import TestClient

from palmette import Tagger
from palmette.data.formats.raw import sentence_spans, token_spans
from palmette.data.labels.schemes import spans
from palmette.serve.registry import Source

NER = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
TEXT = "\U0001f600 They left the house. Time flies."
SPACES = {
    "xmi": "http://www.omg.org/XMI", "cas": "http:///uima/cas.ecore", "tcas": "http:///uima/tcas.ecore",
    "type4": "http:///de/tudarmstadt/ukp/dkpro/core/api/ner/type.ecore",
    "type5": "http:///de/tudarmstadt/ukp/dkpro/core/api/segmentation/type.ecore",
}  # fmt: skip
TYPES = f"""<?xml version="1.0" encoding="UTF-8"?>
<typeSystemDescription xmlns="http://uima.apache.org/resourceSpecifier"><types><typeDescription>
<name>{NER}</name><description/><supertypeName>uima.tcas.Annotation</supertypeName><features>
<featureDescription><name>value</name><rangeTypeName>uima.cas.String</rangeTypeName></featureDescription>
<featureDescription><name>value_score</name><rangeTypeName>uima.cas.Double</rangeTypeName></featureDescription>
</features></typeDescription></types></typeSystemDescription>"""


def units(text: str, character: int) -> int:
    """Places in UIMA count UTF-16 units."""
    return len(text[:character].encode("utf-16-le")) // 2


def xmi(text: str, entities: list[tuple[int, int, str]] = (), predicted: list[tuple[int, int, str]] = ()) -> str:
    elements, number = [], 10

    def add(kind: str, a: int, b: int, more: str = "") -> None:
        nonlocal number
        number += 1
        elements.append(f'<{kind} xmi:id="{number}" sofa="1" begin="{units(text, a)}" end="{units(text, b)}"{more}/>')

    for start, end in sentence_spans(text):
        for a, b in token_spans(text[start:end]):
            add("type5:Token", start + a, start + b, ' order="0"')
        add("type5:Sentence", start, end)
    for a, b, label in entities:
        add("type4:NamedEntity", a, b, f' value="{label}" inception_internal_predicted="false"')
    for a, b, label in predicted:
        add("type4:NamedEntity", a, b, f' value="{label}" inception_internal_predicted="true"')
    names = " ".join(f'xmlns:{short}="{full}"' for short, full in SPACES.items())
    members = " ".join(str(k) for k in range(11, number + 1))
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><xmi:XMI {names} xmi:version="2.0"><cas:NULL xmi:id="0"/>'
        f'{"".join(elements)}<cas:Sofa xmi:id="1" sofaNum="1" sofaID="_InitialView" mimeType="text" '
        f'sofaString={quoteattr(text)}/><cas:View sofa="1" members="{members}"/></xmi:XMI>'
    )


def request(document: str, **more: Any) -> dict[str, Any]:
    return {
        "typeSystem": TYPES,
        "document": {"xmi": document, "documentId": 838, "userId": "anna"},
        "metadata": {
            "layer": NER, "feature": "value", "projectId": 134, "anchoringMode": "tokens", "crossSentence": False,
            **more,
        },
    }  # fmt: skip


def training(document: str) -> dict[str, Any]:
    made = request(document)
    return {"typeSystem": TYPES, "metadata": made["metadata"], "documents": [made["document"]]}


def entities(document: str) -> list[dict[str, str]]:
    return [dict(one.attrib) for one in ElementTree.fromstring(document).iter(f"{{{SPACES['type4']}}}NamedEntity")]


@pytest.fixture
def c(tmp_path: Path) -> Any:
    home = folder()
    models = {"chunk": str(home / "chunk.palm"), "pos": str(home / "pos.palm")}
    with client(Source(models, {"pos": models["pos"]}, {}, str(tmp_path))) as made:
        yield made


def test_predictions_are_added_to_the_document(c: TestClient) -> None:
    answer = c.post("/models/chunk/inception/predict", json=request(xmi(TEXT, predicted=[(2, 6, "OLD")])))
    assert answer.status_code == 200, answer.text
    document = answer.json()["document"]
    found = entities(document)
    words = ["\U0001f600", "They", "left", "the", "house", "."]
    pos, chunk = (Tagger.load(folder() / f"{name}.palm") for name in ("pos", "chunk"))
    (labels,) = chunk.predict([list(zip(words, pos.predict([words])[0], strict=True))])
    places = token_spans(TEXT.partition(" Time")[0])
    expected = [(TEXT[places[one.start][0] : places[one.end - 1][1]], one.type) for one in spans(labels)]
    shown = [
        (TEXT.encode("utf-16-le")[2 * int(one["begin"]) : 2 * int(one["end"])].decode("utf-16-le"), one["value"])
        for one in found
    ]
    assert shown[: len(expected)] == expected
    assert all(one["inception_internal_predicted"] == "true" and 0 <= float(one["value_score"]) <= 1 for one in found)
    root = ElementTree.fromstring(document)
    (view,) = root.iter(f"{{{SPACES['cas']}}}View")
    ids = [one.get(f"{{{SPACES['xmi']}}}id") for one in root if one.get("sofa") and "View" not in one.tag]
    assert sorted(view.attrib["members"].split(), key=int) == sorted(ids, key=int)
    assert len(set(ids)) == len(ids)
    (sofa,) = root.iter(f"{{{SPACES['cas']}}}Sofa")
    assert sofa.attrib["sofaString"] == TEXT


def test_labels_of_tokens_and_no_score_where_the_type_has_none(c: TestClient) -> None:
    answer = c.post("/models/pos/inception/predict", json=request(xmi(TEXT)) | {"typeSystem": ""})
    found = entities(answer.json()["document"])
    assert len(found) == sum(1 for start, end in sentence_spans(TEXT) for _ in token_spans(TEXT[start:end]))
    assert not any("value_score" in one for one in found)


def test_annotated_sentences_are_kept_as_corrections(c: TestClient) -> None:
    start = TEXT.index("the house")
    for label in ("VP", "NP"):  # the second time in place of the first
        document = xmi(TEXT, [(start, start + 9, label)], predicted=[(2, 6, "NP")])
        assert c.post("/models/chunk/inception/train", json=training(document)).status_code == 204
    (kept,) = c.get("/models/chunk/corrections").json()["corrections"]
    assert [token[0] for token in kept["tokens"]] == ["\U0001f600", "They", "left", "the", "house", "."]
    assert kept["labels"] == ["O", "O", "O", "B-NP", "I-NP", "O"]
    assert kept["id"] == "inception-134-838-1"


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ("<a", "not well-formed"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', "document type or entities"),
        ("<a/>", "no cas:Sofa"),
        (xmi(TEXT, [(2, 5, "NP")]), "does not end with a token"),
        (xmi(TEXT, [(2, 6, "QQ")]), "no label 'B-QQ'"),
        (xmi(TEXT).replace('end="2"', 'end="2000"', 1), "not in the text"),
    ],
)
def test_documents_that_cannot_be_read(c: TestClient, document: str, told: str) -> None:
    answer = c.post("/models/chunk/inception/train", json=training(document))
    assert answer.status_code == 422
    assert told in answer.json()["error"]
    assert c.get("/models/chunk/corrections").json()["total"] == 0


def test_a_training_begins_where_there_is_data(tmp_path: Path) -> None:
    home = folder()
    (tmp_path / "chunk.palm").write_bytes((home / "chunk.palm").read_bytes())
    files = {"train": str(home / "small.txt")}
    source = Source({"chunk": str(tmp_path / "chunk.palm")}, {"pos": str(home / "pos.palm")}, files)
    with client(source) as c:
        document = xmi(TEXT, [(2, 6, "NP")])
        assert c.post("/models/chunk/inception/train", json=training(document)).status_code == 204
        assert c.get("/models/chunk/retrain").json()["state"] == "running"
        again = c.post("/models/chunk/inception/train", json=training(document))
        assert again.status_code == 429
        c.delete("/models/chunk/retrain")
