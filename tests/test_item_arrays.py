"""Arrays, sparse rows and vectors in dicts: they mean what the same numbers in a dict mean, to the last bit."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fitting import epochs, flat_tagger, same_bits
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import few

from palmette import Tagger
from palmette.data import Corpus, LabelNumbers, corpus_from_items, item_blocks, take
from palmette.data.item_plain import NewNames
from palmette.errors import DataError

VALUES = [0.0, -0.0, 1.0, 1.0, 2.5, -0.75, 3e-60, 1e30]


@st.composite
def sentences_of_vectors(draw: st.DrawFn) -> list[np.ndarray]:
    """Matrices of one width and of several types."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    width, kind = draw(st.integers(0, 4)), draw(st.sampled_from([np.float64, np.float32, np.int8, np.bool_]))
    values = [v for v in VALUES if np.isfinite(np.float32(v))] if np.dtype(kind).kind == "f" else [0, 1, 1, 3]
    sizes = draw(st.lists(st.integers(0, 5), min_size=1, max_size=5))
    return [rng.choice(values, (n, width)).astype(kind) for n in sizes]


def as_dict(vector: Any, name: str = "x") -> dict[str, float]:
    """The definition: place k of a vector is the value of an attribute."""
    return {f"{name}[{k}]": float(value) for k, value in enumerate(vector)}


def as_dicts(X: list[Any]) -> list[list[dict[str, float]]]:
    return [[as_dict(vector) for vector in sentence] for sentence in X]


def with_duplicates(matrix: np.ndarray) -> Any:
    """A sparse matrix each entry of which is the sum of two, in no order."""
    rows, columns = np.nonzero(matrix)
    halves = matrix[rows, columns] / 2
    order = np.argsort(-columns, kind="stable")
    places = np.concatenate((rows, rows[order])), np.concatenate((columns, columns[order]))
    return sparse.coo_array((np.concatenate((halves, halves[order])), places), matrix.shape)


FORMS: dict[str, Any] = {
    "matrices": lambda m: m,
    "Fortran order": np.asfortranarray,
    "vectors": list,
    "lists of tuples of vectors": tuple,
    "sparse matrices": sparse.csr_matrix,
    "sparse arrays": sparse.csr_array,
    "other sparse arrays": sparse.csc_array,
    "sums": with_duplicates,
    "sparse rows": lambda m: [sparse.csr_matrix(row.reshape(1, -1)) for row in m],
    "sparse vectors": lambda m: [sparse.coo_array(row) for row in m],
    "both": lambda m: [sparse.csr_array(row.reshape(1, -1)) if k % 2 else row for k, row in enumerate(m)],
    "dicts": lambda m: [{"x": row} for row in m],
}


def assert_same(found: Corpus, expected: Corpus) -> None:
    """The same attributes with the same numbers."""
    assert found.offset.tolist() == expected.offset.tolist()
    if expected.attributes is None:
        assert found.attributes is None
        return
    one, two = found.attributes, expected.attributes
    assert one is not None
    assert one.ptr.tolist() == two.ptr.tolist()
    assert one.names.types == two.names.types
    assert one.names.ids.tolist() == two.names.ids.tolist()
    assert (one.ptr.dtype, one.names.ids.dtype, one.val.dtype) == (np.int64, np.int32, np.float32)
    assert one.val.tobytes() == two.val.tobytes()


@pytest.mark.parametrize("form", FORMS)
@few(0.5)
@given(sentences_of_vectors(), st.sampled_from([1, 3, 1024]))
def test_vectors_are_dicts_of_their_numbers(form: str, X: list[np.ndarray], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(item_blocks, "BLOCK", block)
        given_so = [FORMS[form](matrix.astype(np.float64) if form == "sums" else matrix) for matrix in X]
        found = corpus_from_items(given_so).corpus
    assert_same(found, corpus_from_items(as_dicts(X)).corpus)
    if found.n_tokens:
        assert found.vectors == {"x": X[0].shape[1]}


words = st.sampled_from(["a", "b", "c"])
vectors = st.lists(st.sampled_from([0.0, 1.0, 0.5, -2.0]), min_size=3, max_size=3).map(np.array)
mixed_tokens = st.one_of(
    st.fixed_dictionaries(
        {}, optional={"w": words, "v": vectors, "n": st.sampled_from([1, 2.5, True]), "a": vectors,
                      "z": st.dictionaries(words, st.just(1), max_size=2), "s": st.sets(words)}
    ),
    st.lists(words, max_size=2),
)  # fmt: skip


def expanded(token: Any) -> Any:
    """The same token without vectors: their numbers after all else, by name."""
    if not isinstance(token, dict):
        return token
    own = {key: value for key, value in token.items() if not isinstance(value, np.ndarray)}
    for key in sorted(token.keys() - own.keys()):
        own |= as_dict(token[key], key)
    return own


@few(2)
@given(st.lists(st.lists(mixed_tokens, max_size=4), max_size=4), st.sampled_from([1, 3, 1024]))
def test_vectors_beside_other_attributes(X: list[list[Any]], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(item_blocks, "BLOCK", block)
        found = corpus_from_items(X).corpus
    assert_same(found, corpus_from_items([[expanded(token) for token in s] for s in X]).corpus)


@few(1)
@given(sentences_of_vectors(), st.data())
def test_a_part_of_a_corpus_of_vectors(X: list[np.ndarray], data: st.DataObject) -> None:
    X = [matrix for matrix in X if len(matrix)]
    chosen = sorted(data.draw(st.sets(st.integers(0, len(X) - 1)))) if X else []
    corpus = corpus_from_items(X).corpus
    if chosen:
        part = take(corpus, np.array(chosen))
        assert_same(part, take(corpus_from_items(as_dicts(X)).corpus, np.array(chosen)))
        assert part.vectors == corpus.vectors


# --- models ---------------------------------------------------------------------------------------------------

LEARNERS: dict[str, dict[str, Any]] = {
    "perceptron": {},
    "latent": {"latent": 2},
    "beam": {"search": "beam", "beam": 3},
    "order 2": {"order": 2},
    "arow": {"learner": "arow"},
    "mira": {"learner": "mira", "nbest": 3},
    "pa": {"learner": "pa"},
    "crf": {"learner": "crf", "iterations": 3},
    "crf by sgd": {"learner": "crf", "optimiser": "sgd"},
    "crf with l1": {"learner": "crf", "l1": 0.1, "iterations": 3},
    "maxent": {"learner": "maxent", "iterations": 3},
}
WORDS = ["the", "a", "of"]


def points(seed: int = 0, n: int = 30, width: int = 6) -> tuple[list[np.ndarray], list[list[str]]]:
    """Sentences of points around a centre per label."""
    rng = np.random.default_rng(seed)
    centres = 3.0 * np.eye(4, width)
    y = [rng.integers(0, 4, rng.integers(1, 6)) for _ in range(n)]
    X = [(centres[own] + rng.normal(size=(own.size, width))).astype(np.float32) for own in y]
    return X, [[f"L{k}" for k in own] for own in y]


def mixed(X: list[np.ndarray]) -> list[Any]:
    return [[{"word": WORDS[i % 3], "size": i / 2, "vector": row} for i, row in enumerate(matrix)] for matrix in X]


@pytest.mark.parametrize("kind", LEARNERS)
def test_models_are_those_of_dicts(kind: str) -> None:
    X, y = points()
    train, test = slice(0, 20), slice(20, None)
    passes = {} if "iterations" in LEARNERS[kind] else {"passes": 3}
    for own, dicts in ((X, as_dicts(X)), (mixed(X), [[expanded(token) for token in s] for s in mixed(X)])):
        tagger, expected = (flat_tagger(**passes, **LEARNERS[kind]).fit(data[train], y[train]) for data in (own, dicts))
        assert same_bits(tagger.model_, expected.model_)
        labels, scores = expected.predict_scored(dicts[test])
        assert tagger.predict_scored(own[test]) == (labels, scores)
        assert expected.predict_scored(own[test]) == (labels, scores)
        assert [tagger.session().tag_scored(s) for s in own[test]] == list(zip(labels, scores, strict=True))
        assert [tagger.predict([s])[0] for s in own[test]] == labels
        assert tagger.score(own[test], y[test]) == expected.score(dicts[test], y[test]) > 0.6


def test_the_perceptron_of_order_0_is_the_textbook_one() -> None:
    X, y = points(1, n=40)
    rows = [matrix[:1] for matrix in X]
    options: dict[str, Any] = {"order": 0, "ends": False, "estimator": "last", "passes": 1, "constraints": "none"}
    tagger = Tagger(**options).fit(rows, [labels[:1] for labels in y])
    from palmette.training import shuffled

    labels = tagger.labels_
    w = np.zeros((len(labels), 6), np.float32)
    for s in shuffled(tagger.seed, 1, len(rows)):
        gold, guess = labels.index(y[s][0]), int(np.argmax(w @ rows[s][0]))
        if gold != guess:
            w[gold] += rows[s][0]
            w[guess] -= rows[s][0]
    scores = tagger.predict_scored(rows)[1]
    assert scores == pytest.approx([float((w @ row[0]).max()) for row in rows], abs=1e-3)


def test_the_crf_of_order_0_is_logistic_regression() -> None:
    from sklearn import linear_model

    X, y = points(2, n=60)
    tagger = flat_tagger(learner="crf", l2=0.5, order=0, ends=False, constraints="none").fit(X, y)
    rows, gold = np.concatenate(X), np.concatenate(y)
    expected = linear_model.LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8, max_iter=1000).fit(rows, gold)
    found = np.concatenate(tagger.predict_proba(X))
    order = [list(expected.classes_).index(label) for label in tagger.classes_]
    assert found == pytest.approx(expected.predict_proba(rows)[:, order], abs=2e-3)


@pytest.mark.parametrize("learner", ["perceptron", "arow", "mira", "pa", "crf"])
def test_points_far_apart_are_learnt(learner: str) -> None:
    rng = np.random.default_rng(3)
    y = [rng.integers(0, 3, 5) for _ in range(40)]
    X = [np.eye(3)[own] * 4 + rng.uniform(-0.5, 0.5, (5, 3)) for own in y]
    assert Tagger(**epochs(10, learner)).fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("form", ["matrices", "vectors", "sparse arrays", "sparse rows", "both", "dicts"])
def test_sessions_and_single_sentences(form: str) -> None:
    X, y = points(4)
    X[5][0, 2] = X[6][:, 1] = 0.0
    X[7][:] = 1.0
    tagger = Tagger(passes=3).fit(X, y)
    expected = Tagger(passes=3).fit(as_dicts(X), y).predict(as_dicts(X))
    if form == "dicts":
        tagger = Tagger(passes=3).fit([FORMS[form](m) for m in X], y)
    session, kept = tagger.session(), pickle.loads(pickle.dumps(tagger))
    for matrix, labels in zip(X, expected, strict=True):
        sentence = FORMS[form](matrix)
        assert session.quick(sentence) is not None
        assert session.tag(sentence) == tagger.predict([sentence])[0] == kept.predict([sentence])[0] == labels
    long = np.concatenate([X[k % 30] for k in range(600)])
    assert session.tag(FORMS[form](long)) == tagger.predict([as_dicts([long])[0]])[0]


@pytest.mark.parametrize("form", ["matrices", "sparse arrays", "dicts"])
def test_places_that_were_always_zero_are_not_known(form: str) -> None:
    X, y = points(8)
    zero = [matrix * [1, 1, 1, 0, 1, 0] for matrix in X]
    tagger = Tagger(passes=3).fit([FORMS[form](matrix) for matrix in zero], y)
    expected = Tagger(passes=3).fit(as_dicts(zero), y)
    labels, scores = expected.predict_scored(as_dicts(X))
    given_so = [FORMS[form](matrix) for matrix in X]
    assert tagger.predict_scored(given_so) == (labels, scores)
    assert [tagger.session().tag_scored(s) for s in given_so] == list(zip(labels, scores, strict=True))
    assert expected.predict(as_dicts(zero)) == labels


def test_arrays_of_all_dimensions_and_what_becomes_an_array() -> None:
    class Tensor:
        """A type of another library."""

        def __init__(self, data: np.ndarray) -> None:
            self.data = data

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return self.data

        def __iter__(self) -> Any:
            return iter(self.data)

    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(10, 4, 3)), rng.integers(0, 2, (10, 4))
    tagger, expected = Tagger(passes=2).fit(X, y), Tagger(passes=2).fit(as_dicts(list(X)), y)
    assert same_bits(tagger.model_, expected.model_)
    tensors = [Tensor(matrix) for matrix in X], [Tensor(labels) for labels in y]
    assert same_bits(Tagger(passes=2).fit(*tensors).model_, expected.model_)
    assert tagger.predict(tensors[0]) == tagger.predict(X) == [tagger.session().tag(own) for own in tensors[0]]


def test_widths_are_kept(tmp_path: Path) -> None:
    X, y = points(5)
    tagger = Tagger(passes=2).fit(X, y)
    tagger.save(tmp_path / "vectors.palm")
    loaded = Tagger.load(tmp_path / "vectors.palm")
    wide = np.zeros((2, 7))
    what = re.escape("X[0][0] has 7 numbers, and those that the model was trained on have 6")
    for own in (tagger, loaded):
        assert own.predict(X) == tagger.predict(X)
        for attempt in (
            lambda own=own: own.predict([wide]), lambda own=own: own.session().tag(wide),
            lambda own=own: own.predict([list(wide)]), lambda own=own: own.score([wide], [["L0", "L1"]]),
            lambda own=own: own.partial_fit([wide], [["L0", "L1"]]),
        ):  # fmt: skip
            with pytest.raises(DataError, match=what):
                attempt()
    with pytest.raises(DataError, match=what):
        Tagger().fit(X, y, dev=([wide], [["L0", "L1"]]))
    assert loaded.partial_fit(X, y).predict(X[:2]) == loaded.predict(X)[:2]


def test_development_data_and_weights() -> None:
    X, y = points(6)
    weight = [1.0, 2.0] * 15
    found = Tagger(passes=4).fit(X[:20], y[:20], dev=(X[20:], y[20:]), sample_weight=weight[:20])
    expected = Tagger(passes=4).fit(as_dicts(X[:20]), y[:20], dev=(as_dicts(X[20:]), y[20:]), sample_weight=weight[:20])
    assert same_bits(found.model_, expected.model_)
    held_out, same = (Tagger(passes=4, dev_share=0.2).fit(data, y) for data in (X, as_dicts(X)))
    assert same_bits(held_out.model_, same.model_)


def test_rare_attributes_are_dropped_from_a_copy() -> None:
    X, y = points(7)
    X[3][:, 4] = 0.0
    corpus = corpus_from_items(X, y).corpus
    before = [array.copy() for array in (corpus.attributes.ptr, corpus.attributes.names.ids, corpus.attributes.val)]  # type: ignore[union-attr]
    Tagger(passes=2, min_count=sum(map(len, X))).fit_corpus(corpus, None)
    assert corpus.attributes is not None
    after = corpus.attributes.ptr, corpus.attributes.names.ids, corpus.attributes.val
    assert all(np.array_equal(one, two) for one, two in zip(before, after, strict=True))


# --- strings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [
        [np.array(["a", "b"]), np.array(["c"])],
        [np.array(["a", "b"], object), np.array(["c"], object)],
        [[np.str_("a"), "b"], (np.str_("c"),)],
    ],
)
def test_arrays_of_words(X: Any) -> None:
    y = [np.array(["X", "Y"]), np.array(["X"], object)]
    corpus = corpus_from_items(X, y).corpus
    assert [corpus.sentence(s) for s in range(2)] == [[["a"], ["b"]], [["c"]]]
    assert corpus.labels is not None
    assert corpus.labels.cells() == ["X", "Y", "X"]
    assert {type(word) for word in corpus.columns[0].types} == {str}


@pytest.mark.heavy("pandas")
def test_series_and_data_frames() -> None:
    import pandas

    words = [["a", "b"], ["c"]]
    for X in (
        pandas.Series(words),
        list(map(pandas.Series, words)),
        pandas.Series([np.array(w, object) for w in words]),
    ):
        corpus = corpus_from_items(X, pandas.Series([[1, 2], [3]]), numbers=LabelNumbers(None)).corpus
        assert [corpus.sentence(s) for s in range(2)] == [[["a"], ["b"]], [["c"]]]
        assert corpus.labels is not None
        assert corpus.labels.cells() == ["1", "2", "3"]
    columns = pandas.DataFrame({"word": ["a", "b"], "tag": ["D", "N"]})
    assert corpus_from_items([columns]).corpus.sentence(0) == [["a", "D"], ["b", "N"]]
    numbers = np.array([[0.5, 2.0], [0.0, 1.0]])
    assert_same(corpus_from_items([pandas.DataFrame(numbers)]).corpus, corpus_from_items(as_dicts([numbers])).corpus)


def test_rows_of_strings_are_columns() -> None:
    rows = np.array([["a", "D"], ["b", "N"]])
    for sentence in (rows, rows.astype(object), list(rows), [("a", "D"), rows[1]]):
        assert corpus_from_items([sentence]).corpus.sentence(0) == [["a", "D"], ["b", "N"]]
    y = [["X", "Y"]]
    tagger = Tagger("chunk", passes=2).fit([rows], y)
    assert tagger.predict([rows]) == [tagger.session().tag(rows)] == tagger.predict([[("a", "D"), ("b", "N")]])


# --- what is refused ------------------------------------------------------------------------------------------

NAN = float("nan")
ONE = np.ones(2)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([ONE], "X[0][0] is of type float: a token is"),
        ([np.ones((1, 2)), np.array([[1.0, 2.0], [3.0, NAN]])], "X[1][1][1] is nan: a value is a finite number of 32"),
        ([np.array([[1.0, -np.inf]])], "X[0][0][1] is -inf"),
        ([np.array([[1.0, 1e39]])], "X[0][0][1] is 1e+39"),
        ([sparse.csr_array([[0.0, NAN]])], "X[0][0][1] is nan"),
        ([[ONE, np.array([NAN, 1])]], "X[0][1][0] is nan"),
        ([[{"a": "b"}, {"v": np.array([1, NAN])}]], "X[0][1]['v'][1] is nan"),
        ([np.ones((1, 2)), np.ones((1, 3))], "X[1][0] has 3 numbers, and those before it have 2"),
        ([[ONE, np.ones(1)]], "X[0][1] has 1 number, and those before it have 2"),
        ([[{"v": ONE}], [{"v": ONE}, {"v": np.ones(3)}]], "X[1][1]['v'] has 3 numbers, and those before it have 2"),
        ([[ONE, {"v": ONE}]], "X[0][1] is of type dict: a token is an array of numbers"),
        ([[ONE, [1.0, 2.0]]], "X[0][1] is of type list: a token is an array of numbers"),
        ([[ONE, None]], "X[0][1] is None"),
        ([[ONE, np.ones((2, 2))]], "X[0][1] is an array of 2 dimensions and of type float64: a token is"),
        ([[{"a": 1}, ONE]], "X[0][1] is an array of 1 dimension and of type float64: a token is a dict"),
        ([[{"a": 1}], np.ones((1, 2))], "X[1] is a matrix, and the sentences before it are not"),
        ([["a"], sparse.csr_array(np.ones((1, 2)))], "X[1] is a matrix, and the sentences before it are not"),
        ([np.ones((1, 2)), ["a"]], "X[1][0] is of type str: a token is an array of numbers"),
        ([np.ones((1, 2, 2))], "X[0] is an array of 3 dimensions"),
        ([np.ones((1, 2), complex)], "X[0] is an array of 2 dimensions and of type complex128"),
        ([np.array([[1, 2.5]], object)], "X[0] is an array of 2 dimensions and of type object"),
        ([sparse.csr_array(np.ones((1, 2), complex))], "X[0] is of type csr_array: numbers are expected"),
        ([sparse.coo_array(np.ones(2))], "X[0] is a sparse array of 1 dimension"),
        ([np.ma.masked_array(np.ones((1, 2)), [[0, 1]])], "X[0] is an array of 2 dimensions"),
        ([[{"v": np.ones((1, 2))}]], "X[0][0]['v'] is an array of 2 dimensions and of type float64: a value is"),
        ([[{"v": np.array(["a"])}]], "X[0][0]['v'] is an array of 1 dimension and of type <U1"),
        ([[{"v": {"w": ONE}}]], "X[0][0]['v:w'] is an array of 1 dimension"),
        ([[{3: ONE}]], "X[0][0] has an attribute of type int"),
        ([[[0.5, 1.0]]], "a vector of them is an array: np.array"),
        ([[{"v": [0.5, 1.0]}]], "a vector of them is an array: np.array"),
        ([np.array([b"a"])], "X[0][0] is of type bytes"),
        ([np.array(["2020-01-01"], "datetime64[D]")], "X[0] is an array of 1 dimension and of type datetime64[D]"),
    ],
)
def test_errors_name_the_place(X: Any, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        corpus_from_items(X)


@pytest.mark.parametrize("form", ["matrices", "vectors", "sparse arrays", "dicts"])
def test_places_in_later_blocks(form: str) -> None:
    X = [np.ones((700, 2)), np.ones((2500, 2)), np.ones((5, 2))]
    for s, i, k in ((1, 2400, 1), (2, 4, 0), (0, 699, 0)):
        wrong = [matrix.copy() for matrix in X]
        wrong[s][i, k] = NAN
        place = f"X[{s}][{i}]['x'][{k}]" if form == "dicts" else f"X[{s}][{i}][{k}]"
        with pytest.raises(DataError, match=re.escape(f"{place} is nan")):
            corpus_from_items([FORMS[form](matrix) for matrix in wrong])


def test_templates_do_not_read_vectors() -> None:
    for X in ([np.ones((1, 2))], [[ONE]]):
        with pytest.raises(DataError, match=re.escape("X[0][0] is ")):
            Tagger("pos").fit(X, [["A"]])
    tagger = Tagger("pos", passes=1).fit([["a", "b"]], [["A", "B"]])
    with pytest.raises(DataError, match="is a row of a matrix"):
        tagger.session().tag(np.ones((1, 2)))


@pytest.mark.parametrize("width", [5, item_blocks.WIDE, item_blocks.WIDE + 1, 2**31 - 1])
def test_wide_sparse_rows_take_room_for_what_they_hold(width: int) -> None:
    """As FeatureHasher makes them: the table of all places would have gigabytes."""
    draw = np.random.default_rng(width)
    places = draw.permutation([0, 1, 3, width - 1])
    vectors = item_blocks.Vectors(NewNames())
    names: list[str] = []
    for _ in range(3):
        columns = draw.choice(places, 6).astype(np.int32)
        rows = sparse.csr_array((np.full(6, 2.0), columns, np.arange(7)), shape=(6, width))
        vectors.check_widths("x", [rows], str)
        found = vectors.rows("x", rows, str)
        names += [f"x[{column}]" for column in columns]
        assert found.att.tolist() == [list(dict.fromkeys(names)).index(f"x[{column}]") for column in columns]
        assert found.sizes.tolist() == [1] * 6
    assert sum(table.nbytes for table in vectors.numbers.values()) <= 4 * item_blocks.WIDE


def test_numpy_matrices_are_arrays() -> None:
    """`np.matrix`, as `todense` of a sparse matrix gives it, has two dimensions whatever one asks for."""
    dense = [np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]]), np.array([[0.0, 3.0, 0.0]])]
    labels = [["A", "B"], ["B"]]
    plain, odd = (Tagger(passes=2).fit(X, labels) for X in (dense, [np.matrix(one) for one in dense]))
    for sentence in dense:
        assert odd.predict([np.matrix(sentence)]) == plain.predict([sentence])
        assert odd.session().tag(np.matrix(sentence)) == plain.session().tag(sentence)
    rows = [item_blocks.Vectors(NewNames(), {"x": 3}).rows("x", one, str) for one in (dense[0], np.matrix(dense[0]))]
    assert [part.tolist() for part in rows[0] if part is not None] == [p.tolist() for p in rows[1] if p is not None]
