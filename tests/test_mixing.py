"""Iterative parameter mixing against its definition, for every learner that mixes; threads change nothing; resuming
continues exactly; what is not mixed is refused."""

from __future__ import annotations

import numpy as np
import pytest
from fitting import TEMPLATES
from hypothesis import given
from hypothesis import strategies as st
from naive_mixing import Twin, dense
from strategies import few

from palmette import Tagger
from palmette.data import corpus_from_items
from palmette.datasets import load_demo
from palmette.errors import UsageError
from palmette.features import parse
from palmette.options import ChainOptions, ChainSettings, OptionError, assemble
from palmette.training import Averaging, EpochLog, Interrupt, Monitor, TrainRequest, prepared, train_epochs
from palmette.training.chain.learning import LAST
from palmette.training.chain.mixing import mix_shards, shard_sentences
from palmette.training.chain.train import start_learning

LEARNERS = [
    {"learner": "perceptron"},
    {"learner": "mira", "nbest": 3},
    {"learner": "probperc"},
    {"learner": "pa"},
    {"learner": "perceptron", "latent": 2},
    {"learner": "perceptron", "beam": 2},
    {"learner": "perceptron", "state_features": "seen", "edge_features": "seen"},
    {"learner": "crf", "optimiser": "sgd", "l2": 0.0, "estimator": "avg"},
]


def problem_of(seed: int, order: int, **flat):
    """A small noisy task."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 9)
    words = [[(f"w{rng.integers(6)}", f"c{rng.integers(2)}") for _ in range(n)] for n in sizes]
    tags = [[f"t{(int(w[1:]) + int(rng.integers(2))) % 3}" for w, _ in sentence] for sentence in words]
    settings = ChainSettings(**assemble(ChainOptions, {"constraints": "none", "seed": seed, **flat}))
    corpus = corpus_from_items(words, tags, mode="columns").corpus
    return prepared(corpus, TrainRequest(parse(TEMPLATES[order]), settings))


@few(0.5)
@given(
    seed=st.integers(0, 10_000), shards=st.integers(1, 4), order=st.integers(0, 2), passes=st.integers(1, 4),
    flat=st.sampled_from(LEARNERS), every=st.sampled_from([None, 2]), mixing=st.sampled_from(["uniform", "updates"]),
)  # fmt: skip
def test_mixed_weights_and_their_mean_are_those_of_the_definition(seed, shards, order, passes, flat, every, mixing):
    problem = problem_of(seed, order, **flat)
    averaging = Averaging("avg" if every is None else "mavg", every)
    head, _ = start_learning(problem, averaging, None)
    learning = mix_shards(head, shards, seed, 2, mixing)
    parts = shard_sentences(problem.data.offset, shards)
    twin = Twin(lambda: start_learning(problem, LAST, None)[0], parts, seed, every, mixing == "updates")
    want = twin.run(passes)
    for number in range(1, passes + 1):
        learning.begin_epoch(number)
        learning.learn(np.zeros(0, np.int64))
    learning.cluster.close()
    for found, expected in zip(dense(head.chain), want, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-4)
    assert head.clock == len(twin.vectors)
    for t, mean in zip(head.chain.transitions, twin.mean(), strict=False):
        np.testing.assert_allclose(t.w - t.a / head.clock, mean, atol=1e-4)
    for r, mean in zip(head.chain.weights, twin.mean()[3:], strict=True):
        rows = r.slot if r.slot.size and not r.first.size else slice(None)
        np.testing.assert_allclose((r.w - r.a / head.clock)[rows], mean, atol=1e-4)


@pytest.mark.parametrize("flat", [*LEARNERS, {"learner": "arow"}, {"learner": "crf", "optimiser": "adagrad"}])
def test_the_number_of_threads_changes_nothing(flat):
    found = []
    for threads in (1, 2, 3):
        problem = problem_of(3, 1, **flat)
        head, _ = start_learning(problem, Averaging("avg"), None)
        learning = mix_shards(head, 3, 3, threads, "uniform")
        result = train_epochs(learning, 3, 3, EpochLog())
        learning.cluster.close()
        found.append((dense(result.best), [(row.updates, row.wrong) for row in result.training_log]))
    for weights, log in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(weights, found[0][0], strict=True))
        assert log == found[0][1]


def test_learner_state_is_mixed_as_weights_are():
    problem = problem_of(5, 1, learner="arow")
    head, _ = start_learning(problem, LAST, None)
    learning = mix_shards(head, 2, 5, 1, "uniform")
    learning.begin_epoch(1)
    learning.learn(np.zeros(0, np.int64))
    states = []
    for k, examples in enumerate(shard_sentences(problem.data.offset, 2)):
        own, _ = start_learning(problem, LAST, None)
        own.learn(examples[np.random.default_rng([5, 1, k]).permutation(examples.size)])
        states.append(own.chain.transitions[1].state.astype(np.float64))
    np.testing.assert_allclose(head.chain.transitions[1].state, np.mean(states, axis=0), rtol=1e-6)
    assert head.chain.transitions[1].state.any()


@given(st.lists(st.integers(1, 30), min_size=1, max_size=30), st.integers(1, 30))
def test_shards_hold_every_sentence_once_and_none_is_empty(sizes, shards):
    offset = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    if shards > len(sizes):
        with pytest.raises(UsageError, match=f"at most {len(sizes)}"):
            shard_sentences(offset, shards)
        return
    found = shard_sentences(offset, shards)
    assert np.concatenate(found).tolist() == list(range(len(sizes)))
    assert len(found) == shards
    assert all(part.size for part in found)


def test_a_resumed_training_continues_exactly(tmp_path):
    words, tags = load_demo("train")
    words, tags = words[:60], tags[:60]
    corpus = corpus_from_items(words, tags, mode="columns").corpus
    whole = Tagger("chunk", learner="perceptron", shards=3, passes=4).fit_corpus(corpus, None, checkpoint=True)
    half = Tagger("chunk", learner="perceptron", shards=3, passes=2).fit_corpus(corpus, None, checkpoint=True)
    half.save(tmp_path / "half.palm")
    again = Tagger.load(tmp_path / "half.palm")
    again.fit_corpus(corpus, None, resume=again.model_, checkpoint=True)
    for one, other in zip(dense(whole.model_.chain), dense(again.model_.chain), strict=True):
        assert np.array_equal(np.sort(one, axis=0), np.sort(other, axis=0))
    assert whole.predict(words) == again.predict(words)


def test_an_interrupted_pass_is_mixed_as_far_as_it_went():
    problem = problem_of(7, 1, learner="perceptron")
    head, _ = start_learning(problem, Averaging("avg"), None)
    learning = mix_shards(head, 2, 7, 1, "uniform")
    learning.begin_epoch(1)
    interrupt = Interrupt()
    interrupt.signal = 2
    learning.train(np.zeros(0, np.int64), Monitor(interrupt))
    assert 1.0 <= head.clock <= 10.0
    assert head.clock < 10.0 or any(block.any() for block in dense(head.snapshot()))
    learning.cluster.close()


def test_what_is_not_mixed_is_refused():
    words, tags = [["a", "b"], ["b"]], [["x", "y"], ["y"]]
    with pytest.raises(UsageError, match="lbfgs sums over all sentences"):
        Tagger(learner="crf", shards=2).fit(words, tags)
    with pytest.raises(UsageError, match="3 shards of 2 sentences"):
        Tagger(learner="perceptron", shards=3).fit(words, tags)
    with pytest.raises(OptionError, match="applies to shards"):
        Tagger(mixing="updates")._settings()
    with pytest.raises(UsageError, match="templates that read earlier labels"):
        Tagger(learner="perceptron", search="beam", template=parse("U0:%x[0,0]\nU1:%y[-3]"), shards=2).fit(words, tags)
