"""`Parser`: learning, parsing, lists, scores, keeping; and what it says to bad input."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from palmette import Beam, Mira, Parser, PassiveAggressive, Perceptron, ProbPerc
from palmette.data import Treebank, model_file, treebank_from_sentences
from palmette.errors import DataError, ModelError, UsageError
from palmette.options import MOST_BEAM

SEA = [("We", "PRON", 2, "nsubj"), ("saw", "VERB", 0, "root"), ("the", "DET", 4, "det"), ("sea", "NOUN", 2, "obj")]
GO = [("Go", "VERB", 0, "root")]
BIG = [("They", "PRON", 2, "nsubj"), ("love", "VERB", 0, "root"), ("big", "ADJ", 4, "amod"), ("dogs", "NOUN", 2, "obj")]
WHAT = [
    ("What", "PRON", 6, "obj"), ("did", "AUX", 4, "aux"), ("you", "PRON", 4, "nsubj"), ("say", "VERB", 0, "root"),
    ("she", "PRON", 6, "nsubj"), ("saw", "VERB", 4, "ccomp"),
]  # fmt: skip
SENTENCES = [SEA, GO, BIG, WHAT, WHAT, WHAT]  # lifted arcs that come less often than three times are not put back


def bank(*sentences: list[tuple[str, str, int, str]]) -> Treebank:
    names = ("form", "upos", "head", "deprel")
    return treebank_from_sentences([[dict(zip(names, word, strict=True)) for word in words] for words in sentences])


def arcs(*sentences: list[tuple[str, str, int, str]]) -> list[list[tuple[int, str]]]:
    return [[(head, relation) for *_, head, relation in words] for words in sentences]


def quick(**options: Any) -> Parser:
    return Parser("basic", **{"passes": 5, "search": Beam(4), **options})


@pytest.fixture(scope="module")
def trained() -> Parser:
    return quick(passes=20, estimator="last").fit(bank(*SENTENCES))


# --- what it does -----------------------------------------------------------------------------------------------


def test_it_learns_its_sentences(trained: Parser) -> None:
    """The arcs of `What` cross: they are lifted for learning, and put back."""
    treebank = bank(*SENTENCES)
    assert trained.predict(treebank) == arcs(*SENTENCES)
    scores = trained.evaluate(treebank)
    assert (scores.las, scores.uas) == (1.0, 1.0)
    assert trained.parse(treebank).heads.tolist() == treebank.heads.tolist()
    assert trained.relations_ == ["amod", "aux", "det", "nsubj", "obj↑ccomp", "ccomp", "obj", "root"]


def test_words_of_any_kind_are_parsed(trained: Parser) -> None:
    given = [["Go"], [("We", "PRON"), ("saw", "VERB")], [{"form": "dogs", "upos": "NOUN"}]]
    assert trained.predict(given) == [[(0, "root")], [(2, "nsubj"), (0, "root")], [(0, "root")]]


def test_nothing_to_parse(trained: Parser) -> None:
    empty = treebank_from_sentences([])
    assert trained.predict(empty) == []
    assert trained.nbest(empty, 3) == []
    assert trained.parse(empty).n_tokens == 0


def test_one_word_is_the_root_of_anything(trained: Parser) -> None:
    assert trained.predict([["Stop"]]) == [[(0, "root")]]
    assert [len(trees) for trees in trained.nbest([["Stop"]], 5)] == [1]


def test_trees_without_arcs_teach_nothing() -> None:
    """A parser that can only shift would make every word a root."""
    with pytest.raises(DataError, match="no sentence has an arc between two words"):
        quick(passes=2).fit(bank(GO, GO))


def test_lists(trained: Parser) -> None:
    treebank = bank(SEA, GO)
    first, second = trained.nbest(treebank, 4)
    scores = [one.score for one in first]
    assert scores == sorted(scores, reverse=True)
    assert len({tuple(one.output) for one in first}) == len(first) > 1
    assert all(one.probability is None for one in first)
    assert [head for head, _ in first[0].output] == treebank.heads[:4].tolist()
    assert first[0].output == trained.predict(treebank)[0]
    assert second[0].output == [(0, "root")]
    assert len(second) == 1
    assert trained.model_.parse(treebank, 4, False).scores.tolist() == [first[0].score, second[0].score]


def test_laso_counts_how_often_gold_was_lost() -> None:
    rows = quick(passes=6).fit(bank(*SENTENCES)).training_log_
    assert rows[0]["updates"] > len(SENTENCES)  # several in a sentence
    assert all(row["wrong"] == row["updates"] for row in rows)
    assert rows[-1]["train_accuracy"] > rows[0]["train_accuracy"] > 0.2


def test_the_passes_that_dev_chooses() -> None:
    """Relations of dev that training has not are errors like any others."""
    odd = [("We", "PRON", 2, "strange"), ("saw", "VERB", 0, "root")]
    parser = quick().fit(bank(SEA, GO, BIG), dev=bank(odd, GO))
    rows = parser.training_log_
    assert rows[parser.outcome_.best_epoch - 1]["dev"] == max(row["dev"] for row in rows) == pytest.approx(2 / 3)
    assert parser.evaluate(bank(odd, GO)).uas == 1.0


def test_threads_change_nothing(trained: Parser) -> None:
    many = bank(*[SEA, GO, WHAT, BIG, SEA] * 7)
    one = trained.parse(many)
    for threads in (2, 3):
        other = trained.parse(many, threads=threads)
        assert other.heads.tolist() == one.heads.tolist()
        assert other.relations.cells() == one.relations.cells()


def test_a_seed_is_a_model(tmp_path: Path) -> None:
    """Bit for bit; another seed is another order."""
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        quick(seed=seed, passes=2, search=Beam(4, update="early")).fit(bank(SEA, GO, BIG, WHAT)).save(tmp_path / name)
    first, same, other = ((tmp_path / name).read_bytes() for name in "abc")
    assert first == same != other


def test_crossing_trees_may_be_left_out(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "palmette"):
        parser = quick(non_projective="skip").fit(bank(SEA, WHAT))
    assert caplog.messages == ["1 of 2 trees is not projective and is left out"]
    assert "ccomp" not in parser.relations_
    with pytest.raises(DataError, match="no tree of the training data is projective"):
        quick(non_projective="skip").fit(bank(WHAT))


def test_an_arrow_in_a_relation_is_no_mark_where_nothing_is_lifted() -> None:
    arrows = [("a", "DET", 2, "x↑y"), ("dog", "NOUN", 0, "root")]
    with pytest.raises(DataError, match="holds ↑"):
        quick().fit(bank(arrows))
    parser = quick(non_projective="skip").fit(bank(arrows), dev=bank(arrows))
    assert parser.predict(bank(arrows)) == arcs(arrows)
    assert [name for _, name in parser.nbest(bank(arrows), 1)[0][0].output] == ["x↑y", "root"]
    assert parser.training_log_[-1]["dev"] == 1.0


def test_a_file_is_parsed_into_another(trained: Parser, tmp_path: Path) -> None:
    lines = ["# a comment", "1\tWe\twe\tPRON\t_\t_\t_\t_\t_\tkept", "2\tsaw\tsee\tVERB\t_\t_\t_\t_\t_\t_", "", ""]
    (tmp_path / "in.conllu").write_text("\n".join(lines))
    assert trained.parse_file(tmp_path / "in.conllu", tmp_path / "out.conllu") == 2
    made = (tmp_path / "out.conllu").read_text().split("\n")
    assert made[0] == lines[0]
    assert made[1].split("\t")[6:] == ["2", "nsubj", "_", "kept"]
    assert made[2].split("\t")[6:8] == ["0", "root"]


# --- keeping ----------------------------------------------------------------------------------------------------


def test_a_saved_parser_is_the_same(trained: Parser, tmp_path: Path) -> None:
    trained.save(tmp_path / "model")
    loaded = Parser.load(tmp_path / "model")
    treebank = bank(*SENTENCES)
    assert repr(trained) == "Parser('basic', passes=20, search=Beam(4), estimator='last')"
    assert repr(loaded) == repr(trained)
    assert loaded.get_params() == trained.get_params() | {"learner": Perceptron()}
    assert loaded.predict(treebank) == trained.predict(treebank)
    assert [row["updates"] for row in loaded.training_log_] == [row["updates"] for row in trained.training_log_]
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def _beyond(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
    taken = np.flatnonzero(arrays["table"][::2])[0]
    arrays["table"][2 * taken + 1] += np.uint64(1 << 39)


def _unclaimed(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
    free = np.flatnonzero(arrays["table"][::2] == 0)[0]
    arrays["table"][2 * free + 1] = np.uint64((1 << 40) + 10**9)


def _full(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
    arrays["table"][::2] |= np.uint64(1)


def _nan(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
    arrays["entry"].view(np.float32)[1] = np.nan


def _action(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
    arrays["entry"][0] = 99


def _negative(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
    arrays["entry"][0] = -1


def _odd(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
    arrays["table"] = arrays["table"][:-2]


def _kind(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
    arrays["entry"] = arrays["entry"].astype(np.int64)


def _described(**changes: Any) -> Any:
    """A model whose description says something else; None: says nothing of it."""

    def damage(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
        meta.update(changes)
        for name in [name for name, value in changes.items() if value is None]:
            del meta[name]

    return damage


DAMAGES = [
    (_beyond, "beyond the end"), (_unclaimed, "without a feature"), (_full, "none is free"), (_nan, "not a number"),
    (_action, "does not exist"), (_negative, "does not exist"), (_odd, "power of two"), (_kind, "entry"),
    (_described(task="chain"), "not a parser"), (_described(actions=[[1, "a"]]), "one shift"),
    (_described(actions=[]), "one shift"), (_described(actions=[[0, ""], [1, "a"], [1, "a"]]), "one shift"),
    (_described(actions=[[0, ""], [5, "a"]]), "one shift"), (_described(actions=None), "actions"),
    (_described(root=3), "root"), (_described(root=None), "root"), (_described(templates={"name": "x"}), "text"),
    (_described(templates=None), "templates"), (_described(actions="shift"), "damaged"),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "said"), DAMAGES)
def test_damaged_models_are_refused(trained: Parser, tmp_path: Path, damage: Any, said: str) -> None:
    """What a kernel would follow is checked, however it got there: these files have right checksums."""
    trained.save(tmp_path / "model")
    loaded, meta = model_file.load(tmp_path / "model")
    arrays = {name: array.copy() for name, array in loaded.items()}
    damage(arrays, meta)
    model_file.save(tmp_path / "bad", arrays, meta)
    with pytest.raises(ModelError, match=said) as caught:
        Parser.load(tmp_path / "bad")
    assert str(tmp_path / "bad") in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"search": {"kind": "beam", "width": 0}}, "width"), ([1], "settings"), ({"learner": []}, "learner")],
)
def test_a_model_with_settings_that_do_not_exist(trained: Parser, tmp_path: Path, settings: Any, said: str) -> None:
    trained.save(tmp_path / "model")
    arrays, meta = model_file.load(tmp_path / "model")
    model_file.save(tmp_path / "bad", arrays, meta | {"settings": settings})
    with pytest.raises(ModelError, match=said) as caught:
        Parser.load(tmp_path / "bad")
    assert str(tmp_path / "bad") in str(caught.value)


# --- bad input --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"learner": "svm"}, "there is no 'svm'; choose one of perceptron, probperc, mira, pa"),
        ({"learner": "crf"}, "there is no 'crf'"), ({"search": "viterbi"}, "there is no 'viterbi'"),
        ({"passes": 0}, "passes"), ({"seed": -1}, "seed"), ({"estimator": "best"}, "estimator"),
        ({"non_projective": "yes"}, "non_projective"), ({"mavg_every": 0}, "mavg_every"), ({"patience": 0}, "patience"),
        ({"learner": "pa", "search": Beam(update="latest")}, "latest is for the perceptron"),
        ({"merge": True, "search": Beam(update="laso")}, "laso"),
        ({"merge": True, "search": Beam(update="laso-mean")}, "laso-mean continues from gold"),
        ({"patience": 2}, "patience: needs development data"),
    ],
)  # fmt: skip
def test_bad_settings(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Parser("basic", **options).fit(bank(SEA))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Beam(0), "beam|width"), (lambda: Beam(MOST_BEAM + 1), "4,096"), (lambda: Beam(2.5), "whole number"),
        (lambda: Beam(update="late"), "update"), (lambda: PassiveAggressive(pa_type="PA-III"), "pa_type"),
        (lambda: Mira(aggressiveness=0), "aggressiveness"), (lambda: ProbPerc(rate_schedule="up"), "rate_schedule"),
        (lambda: Perceptron(rate=0.1), "no parameter 'rate'"), (lambda: Parser(width=2), "search=Beam"),
        (lambda: Parser(rate=0.1), "option of probperc"), (lambda: Parser(nbest=2), "option of probperc and mira"),
    ],
)  # fmt: skip
def test_values_are_checked_when_they_are_made(made: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        made()


def test_sentences_with_trees_of_their_own() -> None:
    """`fit(sentences, trees)` is `fit(treebank)`, and dev may be a pair as well."""
    words = [[(form, upos) for form, upos, *_ in sentence] for sentence in (SEA, GO, BIG)]
    trees = arcs(SEA, GO, BIG)
    apart = quick().fit(words, trees, dev=(words, trees))
    together = quick().fit(bank(SEA, GO, BIG), dev=bank(SEA, GO, BIG))
    assert apart.predict(words) == together.predict(words)
    assert apart.score(words, trees) == together.score(bank(SEA, GO, BIG)) == together.evaluate(bank(SEA, GO, BIG)).las
    for tags in (["PRON", "VERB"], [2, 0], [("2", "nsubj", "x"), (0, "root")], [(None, "nsubj"), (0, "root")]):
        with pytest.raises(DataError, match=r"sentence 1, word 1: .* where a pair \(head, relation\) is expected"):
            Parser().fit([["We", "saw"]], [tags])
    with pytest.raises(DataError, match="3 sentences and 2 trees"):
        quick().fit(words, trees[:2])
    with pytest.raises(DataError, match="sentence 1 has 4 words and its tree 3"):
        quick().fit(words, [trees[0][:3], *trees[1:]])
    with pytest.raises(UsageError, match="has its own trees"):
        quick().fit(bank(SEA), trees[:1])


def test_bad_calls(trained: Parser) -> None:
    with pytest.raises(UsageError, match="not trained yet"):
        Parser().parse([["a"]])
    for n in (0, 1.5, True, "3"):
        with pytest.raises(UsageError, match="nbest"):
            trained.nbest([["a"]], n)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="4,096"):
        trained.nbest([["a"]], MOST_BEAM + 1)
    with pytest.raises(UsageError, match="width: 0"):
        trained.parse([["a"]], beam=0)
    with pytest.raises(UsageError, match="is neither a named set"):
        Parser("nothing").fit(bank(SEA))
    with pytest.raises(DataError, match="some sentence has none"):
        trained.evaluate([["a"]])
    with pytest.raises(DataError, match="this is a string"):
        trained.predict("a b")  # type: ignore[arg-type]


@pytest.mark.parametrize("words", [["Time", "flies"], [{"form": "Time"}, {"form": "flies"}]])
def test_one_sentence_is_not_a_list_of_them(trained: Parser, words: list[Any]) -> None:
    with pytest.raises(DataError, match="looks like one sentence"):
        trained.predict(words)
    assert len(trained.predict([words])[0]) == 2


def test_no_trees_to_learn_from() -> None:
    for given in ([], [["a", "b"]]):
        with pytest.raises(DataError, match="no trees"):
            quick().fit(given)
    with pytest.raises(DataError, match="no words"):
        quick().fit([[]])


def test_copies_and_pickles(trained: Parser) -> None:
    expected = trained.predict([["We", "saw", "dogs"]])
    for copied in (copy.copy, copy.deepcopy, lambda given: pickle.loads(pickle.dumps(given))):
        again = copied(trained)
        assert again.get_params() == trained.get_params()
        assert again.predict([["We", "saw", "dogs"]]) == expected
