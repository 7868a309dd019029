"""The records of the page against the library: same paths, same contributions, same confidences, same scores."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from page_models import ROWS, TEXT, WORDS, classifier, gold_trees, labelled_text, models, parser, pipeline, taggers

from palmette import Parser, Tagger
from palmette.cli import main
from palmette.data import parse_treebank
from palmette.datasets import load_demo
from palmette.errors import DataError, UsageError
from palmette.serve import ASSETS, INDEX, VIEWS
from palmette.serve.page.bundle import script
from palmette.structures import explain, items_of
from palmette.structures.chain.python_data import mask_of

CHUNKERS = ["crf", "latent", "beam", "order2"]
TUPLES = [tuple(row) for row in ROWS]


def ask(name: str, view: str, **request: object) -> dict:
    """A view of a model, through JSON as a browser gets it."""
    return json.loads(json.dumps(VIEWS[view](models()[name], request), allow_nan=False))


@pytest.mark.parametrize("name", CHUNKERS)
def test_the_best_path_is_that_of_the_library_whatever_is_fixed(name: str) -> None:
    tagger = taggers()[name]
    exact = tagger.model_.changed(beam=0)
    fixed: list[dict[str, str]] = [{}, {"3": "B-NP"}, {"0": "O", "5": "B-VP"}]
    for allowed in fixed:
        record = ask(name, "trellis", rows=ROWS, allowed=allowed)
        row = [allowed.get(str(i)) for i in range(len(WORDS))]
        corpus = items_of(tagger.model_, [TUPLES]).corpus
        mask = mask_of(tagger.model_, [row], items_of(tagger.model_, [TUPLES]))
        labels, scores = exact.tag(corpus, None, mask)
        assert [record["label_of"][h] for h in record["best"]] == labels.tolist()
        assert record["score"] == pytest.approx(float(scores[0]), rel=1e-5)
        assert record["paths"][0]["states"] == record["best"]
        for i, h in enumerate(record["best"]):
            assert record["behind"][i][h] == pytest.approx(0.0, abs=1e-4)
    per = len(record["states"]) // len(record["labels"])
    assert record["behind"][5][record["labels"].index("B-NP") * per] is None


def test_predecessors_follow_from_scores_and_transitions() -> None:
    record = ask("crf", "trellis", rows=ROWS)
    path, states = [record["best"][-1]], record["back"]
    for i in range(len(WORDS) - 1, 0, -1):
        path.insert(0, states[i - 1][path[0]])
    assert path == record["best"]
    pairs = {tuple(pair) for pair in record["forbidden"]}
    names = record["labels"]
    assert (names.index("O"), names.index("I-NP")) in pairs
    assert all((record["edges"][0][a][b] is None) == ((a, b) in pairs) for a in range(3) for b in range(len(names)))


def test_a_narrower_beam_keeps_less() -> None:
    kept = [ask("crf", "trellis", rows=ROWS, beam=width)["beam"] for width in (1, 4)]
    assert [max(map(len, one["kept"])) for one in kept] == [1, 4]
    assert ask("beam", "trellis", rows=ROWS)["beam"]["width"] == 2
    assert ask("beam", "trellis", rows=ROWS, beam=0)["beam"] is None


@pytest.mark.parametrize("name", CHUNKERS)
def test_explanations_are_those_of_the_library_and_add_up(name: str) -> None:
    tagger = taggers()[name]
    found, record = (
        explain(tagger.model_, items_of(tagger.model_, [TUPLES]).corpus),
        ask(name, "explanation", rows=ROWS),
    )
    assert record["difference"] == found.difference
    assert [c["amount"] for c in record["contributions"]] == [c.amount for c in found.contributions]
    assert record["first"]["labels"] == found.first.output
    for token in (0, 3):
        one = ask(name, "explanation", rows=ROWS, token=token)
        assert one["first"]["labels"][token] != one["second"]["labels"][token]
        total = math.fsum(c["amount"] for c in one["contributions"])
        assert abs(total - one["difference"]) < 1e-12
        assert abs(one["difference"] - (one["first"]["score"] - one["second"]["score"])) < 1e-12
        chosen = ask(name, "explanation", rows=ROWS, token=token, label="B-ADVP")
        assert chosen["second"]["labels"][token] == "B-ADVP"
        assert chosen["difference"] >= one["difference"] - 1e-4
        flips, amounts = one["flips"], [c["amount"] for c in one["contributions"]]
        assert all(one["difference"] - amounts[k] <= 0 for k in flips["alone"])
        if not flips["alone"]:
            assert one["difference"] - math.fsum(amounts[k] for k in flips["together"]) <= 1e-9
            assert one["difference"] - math.fsum(amounts[k] for k in flips["together"][:-1]) > 0


@pytest.mark.parametrize("name", ["crf", "latent"])
def test_confidences_and_lists_are_those_of_the_library(name: str) -> None:
    tagger, record = taggers()[name], ask(name, "marginals", rows=ROWS)
    (expected,) = tagger.predict_marginals([TUPLES])
    assert record["marginals"] == [[row[label] for label in record["labels"]] for row in expected]
    (sure,) = tagger.predict_confidence([TUPLES])
    assert record["confidence"] == pytest.approx(sure["token_confidence"], abs=1e-6)
    assert record["sentence"] == pytest.approx(sure["confidence"], abs=1e-6)
    assert [s["confidence"] for s in record["spans"]] == pytest.approx(
        [s["confidence"] for s in sure["span_confidence"]], abs=1e-6
    )
    best = tagger.nbest([TUPLES], 4)[0]
    found = ask(name, "nbest", rows=ROWS, n=4)["sequences"]
    assert [one["labels"] for one in found] == [one.output for one in best]
    assert [one["probability"] for one in found] == [one.probability for one in best]


def test_text_tokens_and_rows_are_the_same_sentence() -> None:
    records = [ask("crf", "trellis", **one) for one in ({"text": TEXT}, {"tokens": WORDS})]
    assert records[0] == records[1]
    assert records[0]["tokens"] == WORDS


def test_errors_are_scored_as_by_the_library() -> None:
    tagger, record = taggers()["crf"], ask("crf", "errors", data=labelled_text())
    X, y = load_demo("test")
    scores = tagger.evaluate(X, y)
    assert record["scores"]["f1"] == scores.f1
    assert sum(count for *_, count in record["confusion"]) == scores.tokens
    wrong = sum(g != p for s in record["sentences"] for g, p in zip(s["gold"], s["guess"], strict=True))
    assert wrong == round((1 - scores.accuracy) * scores.tokens)
    assert sum(gold != guess for gold, guess, count in record["confusion"] for _ in range(count)) == wrong
    compared = ask("crf", "compare", data=labelled_text(), other="latent", rounds=200)
    assert compared["names"] == ["crf", "latent"]
    assert compared["systems"][0]["f1"] == scores.f1
    assert 0 <= compared["pairs"][0]["f1"]["p"] <= 1


def test_errors_of_trees() -> None:
    record = ask("parser", "errors", data=gold_trees())
    bank = parse_treebank(gold_trees().encode(), "trees")
    assert record["scores"]["las"] == parser().evaluate(bank).las
    assert all(len(one["tokens"]) == len(one["gold_heads"]) for one in record["sentences"])


def test_a_film_ends_with_the_tree_of_the_parser() -> None:
    words = [["The", "DET"], ["cook", "NOUN"], ["bakes", "VERB"], ["bread", "NOUN"], [".", "PUNCT"]]
    record = ask("parser", "tree", words=words)
    expected = parser().predict([[tuple(word) for word in words]])[0]
    assert list(zip(record["heads"], record["relations"], strict=True)) == expected
    film = record["film"]
    assert len(film) == 2 * len(words)
    heads = {f["winner"]["arc"]["child"]: f["winner"]["arc"]["head"] + 1 for f in film if f["winner"]["arc"]}
    assert [heads.get(k, 0) for k in range(len(words))] == record["heads"]
    for before, after in pairwise(film):  # arc-standard, from the definition
        last, now = before["winner"], after["winner"]
        assert now["from"] == last["id"]
        if now["action"] == "shift":
            assert (now["stack"], now["next"]) == ([*last["stack"], last["next"]], last["next"] + 1)
        else:
            *rest, second, top = last["stack"]
            assert now["stack"] == [*rest, top if now["action"] == "left" else second]
        scores = [item["score"] for item in after["items"]]
        assert scores == sorted(scores, reverse=True)
        assert {item["from"] for item in after["items"]} <= {item["id"] for item in before["items"]}


def test_a_pipeline_shows_the_tree_that_it_finds() -> None:
    record, doc = ask("pipeline", "tree", text=TEXT), pipeline()(TEXT)
    assert record["tokens"] == [word.form for word in doc.words]
    assert record["relations"] == [word.deprel for word in doc.words]
    assert record["film"][-1]["winner"]["next"] == len(record["tokens"])


def test_a_classifier_shows_its_class_and_tags() -> None:
    tagged = list(zip(WORDS, taggers()["pos"].predict([WORDS])[0], strict=True))
    record = ask("classifier", "class", tokens=WORDS)
    assert record["score"] == classifier().decision_function([tagged])[0]
    assert record["classes"][record["class"]] == classifier().predict([tagged])[0]
    assert record["structures"] == classifier().structures([tagged])[0]
    top = ask("classifier", "weights")["top"]
    name = next(iter(top.values()))[0]["attribute"]
    assert name in [one["attribute"] for one in ask("classifier", "weights", search=name)["attributes"]]


@pytest.mark.parametrize("compact", [False, True])
def test_why_of_each_action_adds_up_to_the_scores_of_the_search(compact: bool) -> None:
    own = Parser.from_model(parser().model_)
    if compact:
        own.compact()
    record = VIEWS["tree"](own, {"words": [["The", "DET"], ["cook", "NOUN"], ["bakes", "VERB"], ["bread", "NOUN"]]})
    film, told = record["film"], record["why"]
    assert len(told) == len(film)
    for before, after, why in zip(film, film[1:], told[1:], strict=False):
        if why is not None:  # another action was possible
            gained = after["winner"]["score"] - before["winner"]["score"]
            assert why["score"] == pytest.approx(gained, rel=1e-4, abs=1e-4)
            assert abs(math.fsum(part["amount"] for part in why["parts"]) - why["difference"]) < 1e-12
    assert any("s0.u=NOUN" in part["attribute"] for why in told if why for part in why["parts"])


def test_weights_are_found_by_a_text() -> None:
    model = taggers()["crf"].model_
    found = ask("crf", "weights", search="house", top=5)
    assert found["matches"] >= len(found["attributes"]) > 0
    for one in found["attributes"]:
        assert "house" in one["attribute"].lower()
        number = next(k for k in range(len(model.names[1])) if model.names[1][k] == one["attribute"])
        from palmette.structures.chain.explain import weight_of

        for row in one["weights"]:
            state = (model.labels.index(row["label"]),)
            assert row["weight"] == pytest.approx(weight_of(model.chain, number, state))
    assert ask("crf", "weights", search="no such text at all")["attributes"] == []


def test_transitions_and_curves() -> None:
    found = ask("crf", "transitions")
    model = taggers()["crf"].model_
    names = found["states"]
    assert found["weights"][names.index("O")][names.index("I-NP")] is None
    assert found["weights"][0][0] == pytest.approx(float(model.chain.transitions[1].w[0, 0]))
    log = ask("latent", "curves")
    assert [row["dev"] for row in log["rows"]] == [row["dev"] for row in taggers()["latent"].training_log_]


@pytest.mark.parametrize(
    ("view", "request_"),
    [
        ("trellis", {}), ("trellis", {"text": 5}), ("trellis", {"text": "  "}), ("trellis", {"tokens": []}),
        ("trellis", {"rows": [["a"], ["b", "c"]]}), ("trellis", {"rows": ROWS, "allowed": {"99": "O"}}),
        ("trellis", {"rows": ROWS, "allowed": {"0": "XX"}}), ("trellis", {"rows": ROWS, "allowed": [1]}),
        ("trellis", {"rows": ROWS, "beam": -1}), ("explanation", {"rows": ROWS, "token": 1.5}),
        ("explanation", {"rows": ROWS, "token": 0, "label": "XX"}), ("nbest", {"rows": ROWS, "n": 10**9}),
        ("errors", {}), ("errors", {"data": ""}), ("compare", {"data": "a b", "other": "nobody"}),
        ("tree", {"text": "a b"}), ("weights", {"search": 7}), ("weights", {"top": 0}),
    ],
)  # fmt: skip
def test_a_wrong_request_is_an_error_that_says_so(view: str, request_: dict) -> None:
    with pytest.raises((DataError, UsageError)):
        ask("crf", view, **request_)


def test_labels_that_contradict_each_other() -> None:
    allowed = {"0": "O", "1": "I-NP"}
    with pytest.raises(DataError):
        ask("crf", "marginals", rows=ROWS, allowed=allowed)
    assert ask("crf", "marginals", rows=ROWS, allowed=allowed, lenient=True) == {"possible": False}


def test_the_files_of_the_page() -> None:
    assert INDEX in ASSETS
    for name in ASSETS:
        text = ASSETS[name].data.decode()
        assert not re.search(r"https?://(?!www\.w3\.org)", text), name
        if name.endswith(".js"):
            for module in re.findall(r'from "\./([\w.]+)"', text):
                assert module in ASSETS
    page = ASSETS[INDEX].data.decode()
    assert "<script>" not in page
    assert "<style" not in page
    assert all(name in ASSETS for name in re.findall(r'"static/([\w.]+)"', page))
    whole = script()
    assert not re.search(r"^(import|export) ", whole, re.MULTILINE)
    assert "</script" not in whole


def test_the_command_writes_one_file(tmp_path: Path) -> None:
    model, data, out = tmp_path / "crf.palm", tmp_path / "test.txt", tmp_path / "report.html"
    taggers()["crf"].save(model)
    data.write_text(labelled_text())
    main(["page", str(model), "--data", str(data), "-o", str(out), "--sentences", "3", "-q"])
    page = out.read_text()
    records = json.loads(page.partition('id="palmette-records">')[2].partition("</script>")[0])
    assert records["models"] == [{"name": "crf", "kind": "tagger"}]
    own = records["views"]["crf"]
    assert len(own["sentences"]) == 3
    assert own["errors"]["scores"]["tokens"] == 1077
    one = own["sentences"][0]
    best = np.take_along_axis(np.array(one["marginals"]["marginals"]), np.array(one["marginals"]["best"])[:, None], 1)
    assert np.allclose(one["marginals"]["confidence"], best[:, 0])
    assert f"explanation@{len(one['trellis']['tokens']) - 1}" in one
    with pytest.raises(SystemExit):
        main(["page", str(data), "-o", str(out), "-q"])


# Sentences that are given line by line


def test_attributes_and_columns_line_by_line() -> None:
    X, y = load_demo("train")
    items = [[[f"w={word}", f"t={tag}"] for word, tag in sentence] for sentence in X[:60]]
    tagger = Tagger(learner="perceptron", passes=2).fit(items, y[:60])
    sentence = [[f"w={word}", f"t={tag}"] for word, tag in ROWS]
    for request in ({"lines": "\n".join("\t".join(row) for row in sentence)}, {"items": sentence}):
        record = VIEWS["trellis"](tagger, request)
        assert [record["states"][k] for k in record["best"]] == tagger.predict([sentence])[0]
        assert record["tokens"] == [row[0] for row in sentence]
    about = VIEWS["about"](tagger, {})
    assert (about["text"], about["columns"]) == (False, None)
    example = VIEWS["nbest"](tagger, {"lines": about["example"], "n": 1})
    assert len(example["tokens"]) == len(about["example"].splitlines())
    with pytest.raises(UsageError, match="typed sentence is not enough"):
        VIEWS["trellis"](tagger, {"text": TEXT})
    with pytest.raises(DataError, match="not a number"):
        VIEWS["trellis"](tagger, {"lines": "w:x"})
    chunker = taggers()["crf"]
    record = VIEWS["trellis"](chunker, {"lines": "\n".join(" ".join(row) for row in ROWS)})
    assert [record["states"][k] for k in record["best"]] == chunker.predict([[tuple(row) for row in ROWS]])[0]
    with pytest.raises(DataError, match="line 2 has 1 column, and the model reads 2"):
        VIEWS["trellis"](chunker, {"lines": "We PRP\nwill"})


def test_tables_of_order_two_give_the_score_of_the_path() -> None:
    record = VIEWS["trellis"](models()["order2"], {"text": TEXT})
    path, (pairs,), (triples,) = record["best"], record["edges"], record["triples"]
    total = sum(record["own"][i][state] for i, state in enumerate(path))
    total += sum(pairs[g][h] for g, h in pairwise(path))
    total += sum(triples[f][g][h] for f, g, h in zip(path, path[1:], path[2:], strict=False))
    assert total == pytest.approx(record["score"], rel=1e-5)


def test_a_parser_tells_which_tags_a_typed_sentence_lacks() -> None:
    assert VIEWS["tree"](models()["parser"], {"text": TEXT})["lacks"] == ["upos"]
    words = [{"form": word, "upos": "NOUN"} for word in ("dogs", "bark")]
    assert VIEWS["tree"](models()["parser"], {"words": words})["lacks"] == []
