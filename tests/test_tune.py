"""`palmette tune` and `tune`: the search, its record, Ctrl-C, and that its command gives the score that it found."""

from __future__ import annotations

import json
import math
import shlex
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from cli_run import Cli, leave_demo, spawn
from ray_driver import RayDriver, ray_driver

from palmette import Tagger
from palmette.data import FormatSpec, read_corpus
from palmette.datasets import load_demo
from palmette.errors import UsageError
from palmette.options.learners import ITERATIONS
from palmette.tuning import TuneResult, tune
from palmette.tuning.options import TuningOptions
from palmette.tuning.run import tune_corpus
from palmette.tuning.search import DEARER, TuningSearch, best_of, cost, levels, survivors
from palmette.tuning.space import Space
from palmette.tuning.trial import FULL, Level, Material, Trial, TrialTask, TrialThreads, run_trial

SPACE = {"learner": ["perceptron", "mira"], "min_count": [1, 2], "nbest": [1, 3]}
QUICK = "--try learner=perceptron,mira --try min_count=1,2 --try nbest=1,3 --passes 3 --features chunk"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A part of the demo corpus: the tests train some 150 models."""
    folder = tmp_path_factory.mktemp("tune")
    leave_demo(folder)
    for name, n in (("train", 120), ("dev", 25)):
        path = folder / f"{name}.txt"
        path.write_text("\n\n".join(path.read_text(encoding="utf-8").split("\n\n")[:n]) + "\n\n", encoding="utf-8")
    return folder


@pytest.fixture
def cli(demo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    for record in demo.glob("*.jsonl"):
        record.unlink()
    return Cli(demo, capsys, monkeypatch)


def corpora(folder: Path) -> tuple:
    return tuple(read_corpus(folder / f"{name}.txt", FormatSpec()) for name in ("train", "dev"))


def found(folder: Path, watcher: object = None, space: dict = SPACE, **options: object) -> TuneResult:
    made = TuningOptions(**{"trials": 6, "threads": 2} | options)
    return tune_corpus(*corpora(folder), Tagger("chunk", passes=3), space, made, watcher)  # type: ignore[arg-type]


def plain(result: TuneResult) -> list[tuple]:
    return [(t.number, t.settings, t.level, t.passes, t.score, t.best_pass) for t in result.trials]


# --- the command --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scored_on", "given"), [("--dev dev.txt", ""), ("--dev-share 0.2 --seed 3", "--label 2 --no-ends"), ("", "")]
)
def test_the_command_gives_the_score_that_was_found(cli: Cli, scored_on: str, given: str) -> None:
    about = json.loads(cli.fine(f"tune train.txt {scored_on} {given} {QUICK} --trials 4 --json"))
    assert about["best"]["score"] == max(trial["score"] for trial in about["trials"] if trial["level"]["effort"] == 1)
    program, *words = shlex.split(about["command"])
    assert program == "palmette"
    trained = json.loads(cli.fine(shlex.join(words), "--json"))
    assert trained["dev"] == about["best"]["score"]
    assert trained["best_pass"] == about["best"]["best_pass"]


def test_the_winner_is_the_first_row_and_never_below_the_tagger_as_given(cli: Cli) -> None:
    about = json.loads(cli.fine(f"tune train.txt --dev dev.txt {QUICK} --trials 6 --json"))
    first, given = about["trials"][0], next(trial for trial in about["trials"] if not trial["number"])
    assert first == about["best"]
    assert first["score"] >= given["score"]
    assert first["level"] == {"share": 1.0, "effort": 1.0}
    assert first["interval"]["low"] <= first["score"] <= first["interval"]["high"]


def test_without_json_there_is_a_table_and_the_command_on_a_line_of_its_own(cli: Cli) -> None:
    ran = cli(f"tune train.txt --dev dev.txt {QUICK} --trials 3")
    assert ran.code == 0
    assert ran.out.splitlines()[-1].startswith("palmette train train.txt -o best.palm --dev dev.txt --passes 3")
    assert "3 settings tried in 5 trainings" in ran.out
    assert ran.err.count("trial ") == 5  # 3 with a pass, 1 of them with all passes, and the tagger as it is
    assert cli(f"tune train.txt --dev dev.txt {QUICK} --trials 3 -q").err == ""


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("tune train.txt --try learner", "--try learner: write NAME=VALUE,VALUE or NAME=LOW..HIGH"),
        ("tune train.txt --try learner=perceptrn", "--learner: there is no 'perceptrn'; choose one of auto,"),
        ("tune train.txt --try min-count=0,1", "--min-count: 0 is not a whole number of at least 1"),
        ("tune train.txt --try l2=10..0.1", "--l2: 10..0.1 is not a range from a smaller to a larger number"),
        ("tune train.txt --try sede=1", "--sede: no such option to try"),
        ("tune train.txt --try seed=1,2", "--seed: cannot be tried: one seed is for the whole search"),
        ("tune train.txt --order 2 --try order=1,2", "order cannot be tried: --order is given too"),
        ("tune train.txt -f ner --try template=a.tpl", "template cannot be tried: --features is given too"),
        ("tune train.txt --try order=1 --try order=2", "order is given twice"),
        ("tune train.txt --try order=1,1", "--order: 1 is there twice"),
        ("tune train.txt --try lexicons=a=b", "--lexicons: cannot be tried"),
        ("tune train.txt --learner crf --try estimator=avg,last", "crf by lbfgs has one result"),
        ("tune - --dev dev.txt", "tune reads files, not standard input"),
        ("tune train.txt --dev dev.txt --dev-share 0.1", "give --dev or --dev-share, not both"),
        ("tune train.txt --dev-share 0", "a search needs development data"),
        ("tune train.txt --dev dev.txt --minutes 0.00001", "the time was too short"),
        ("tune train.txt --dev dev.txt --minutes 0", "--minutes: 0.0 is not a number above 0"),
        ("tune train.txt --dev dev.txt --template nowhere.tpl --try order=1", "no training was possible: nowhere.tpl"),
    ],
)  # fmt: skip
def test_wrong_wishes_are_refused_with_the_words_of_the_options(cli: Cli, line: str, problem: str) -> None:
    ran = cli(line)
    assert ran.code == 2
    assert problem in " ".join(ran.err.split())


def test_settings_that_fail_are_named_and_the_others_win(cli: Cli) -> None:
    cli.write("own.tpl", "U00:%x[0,0]\nU01:%x[0,1]\nB\n")
    cli.write("bad.tpl", "U00:%x[0,7]\n")
    line = "tune train.txt --dev dev.txt --passes 2 --try template=own.tpl,bad.tpl --try features=chunk --try order=2"
    about = json.loads(cli.fine(f"{line} --json"))
    by_template = {trial["settings"].get("template"): trial for trial in about["trials"] if trial["number"]}
    assert "bad.tpl" in by_template["bad.tpl"]["error"]
    assert by_template["bad.tpl"]["score"] is None
    assert "order" not in by_template["own.tpl"]["settings"]  # a file of templates has an order of its own
    assert "order" in by_template[None]["settings"]
    assert about["best"]["score"] is not None


# --- the search ---------------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_search_on_any_number_of_threads(demo: Path) -> None:
    one, two = found(demo, threads=1), found(demo, threads=2)
    assert plain(one) == plain(two)
    assert one.best_params == two.best_params


def test_a_trial_is_what_fit_gives(demo: Path) -> None:
    train, dev = corpora(demo)
    for trial in found(demo, trials=3).trials:
        space = Space(SPACE, Tagger("chunk", passes=3))
        own = Tagger(**space.params(trial.settings)).set_params(passes=trial.passes).fit_corpus(train, dev)
        assert own.outcome_.kept is not None
        assert own.outcome_.kept.dev == trial.score


def test_the_best_third_goes_on_and_the_tagger_as_given_is_trained_in_full(demo: Path) -> None:
    result = found(demo, trials=6)
    short = [trial for trial in result.trials if trial.level.effort < 1]
    full = {trial.number: trial for trial in result.trials if trial.level == FULL}
    assert {trial.number for trial in short} == {1, 2, 3, 4, 5, 6}
    best_two = sorted(short, key=lambda trial: (-trial.score, trial.number))[:2]
    assert set(full) == {0, *(trial.number for trial in best_two)}
    assert result.given == full[0]
    assert result.best.score == max(trial.score for trial in full.values())
    assert result.trials[0] == result.best
    everything = found(demo, trials=6, halving=False)
    assert all(trial.level == FULL for trial in everything.trials)
    assert len(everything.trials) == 7


def test_levels_of_small_and_large_data() -> None:
    assert levels(2, 10**6) == [FULL]
    assert levels(27, 500) == [Level(1.0, 1 / 3), FULL]
    assert levels(9, 10**6) == [Level(1 / 3, 1 / 3), Level(1.0, 1 / 3), FULL]
    assert levels(27, 10**6) == [Level(1 / 9, 1 / 3), Level(1 / 3, 1 / 3), Level(1.0, 1 / 3), FULL]
    assert levels(27, 3_000) == [Level(1 / 3, 1 / 3), Level(1.0, 1 / 3), FULL]


def test_survivors_are_the_best_third_and_failures_never_are() -> None:
    scores = [0.5, None, 0.7, 0.7, 0.9, 0.1]
    trials = [Trial(k, {}, FULL, 1, score) for k, score in enumerate(scores)]
    assert [trial.number for trial in survivors(trials)] == [4, 2]
    part = Trial(9, {}, Level(1 / 3, 1.0), 1, 0.99)
    assert best_of([*trials, part]) == trials[4]  # a score on a part of the data is nothing that a command gives
    hurried = Trial(10, {}, Level(1.0, 1 / 3), 1, 0.99)  # and a few passes are not what its options give
    assert best_of([part, hurried, trials[1]]) is None


def test_a_share_of_the_data_learns_from_that_many_sentences(demo: Path) -> None:
    train, dev = corpora(demo)
    material = Material(train, dev, Space({}, Tagger("chunk", passes=1)))
    part = run_trial(material, TrialTask(1, {}, Level(0.2, 1.0)), lambda: False)
    whole = run_trial(material, TrialTask(1, {}, FULL), lambda: False)
    assert part.score is not None
    assert whole.score is not None
    assert part.score < whole.score
    assert not part.in_full


def test_minutes_limit_a_search_that_has_no_end(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the tagger as it is brackets follow each other until the time is over, here in the second of them."""
    now, brackets = [0.0], []

    class Watch(Counting):
        def begins(self, level: int, n_levels: int, tasks: Sequence[TrialTask]) -> None:
            if level == 1:
                brackets.append([task.number for task in tasks])

        def ended(self, trial: Trial, known: bool) -> None:
            now[0] = 61.0 if len(brackets) == 3 else 1.0

    monkeypatch.setattr("palmette.tuning.search.time.monotonic", lambda: now[0])
    space = {"aggressiveness": "0.01..1", "learner": ["mira", "pa"]}
    result = found(demo, Watch(), space=space, trials=None, minutes=1.0, threads=1)
    assert brackets[0] == [0]
    assert [number for bracket in brackets[1:] for number in bracket] == list(range(1, 1 + sum(map(len, brackets[1:]))))
    assert len(brackets) == 3
    assert not result.interrupted


@pytest.mark.parametrize(("seconds", "n"), [(1.0, 27), (10.0, 18), (100.0, 2)])
def test_a_bracket_is_as_large_as_the_time_that_is_left_allows(
    monkeypatch: pytest.MonkeyPatch, seconds: float, n: int
) -> None:
    """Two minutes of CPU are six trainings of 20 s, which 18 settings take: 18 of a ninth, 6 of a third, and 2."""

    class Workers:
        size = 2

    monkeypatch.setattr("palmette.tuning.search.time.monotonic", lambda: 0.0)
    search = TuningSearch(Workers(), None, None, TuningOptions(minutes=1.0))  # type: ignore[arg-type]
    search.trials.append(Trial(0, {}, FULL, 1, 0.5, seconds=seconds))
    assert search._size(8_000) == n
    assert n <= 2 or cost(n, levels(n, 8_000)) * DEARER * seconds <= 60 * Workers.size


def test_each_level_has_an_equal_part_of_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("palmette.tuning.search.time.monotonic", lambda: now[0])
    search = TuningSearch(None, None, None, TuningOptions(minutes=1.0))  # type: ignore[arg-type]
    ends = []
    for left in (3, 2, 1):
        ends.append(search._until(left))
        now[0] = ends[-1] or 0.0
    assert ends == [20.0, 40.0, 60.0]


def test_passes_that_are_given_are_for_the_learners_that_have_them(cli: Cli) -> None:
    line = "tune train.txt --dev dev.txt --passes 2 --try learner=crf --try tolerance=0.1"
    about = json.loads(cli.fine(f"{line} --json"))
    passes = {trial["number"]: trial["passes"] for trial in about["trials"]}
    assert passes == {0: 2, 1: ITERATIONS}
    assert ("--passes" in about["command"]) == (about["best"]["number"] == 0)
    trained = json.loads(cli.fine(shlex.join(shlex.split(about["command"])[1:]), "--json"))
    assert trained["dev"] == about["best"]["score"]


class Counting:
    """Counts trainings, and presses Ctrl-C after some of them."""

    def __init__(self, until: float = math.inf) -> None:
        self.until = until
        self.known, self.new = 0, 0

    def begins(self, level: int, n_levels: int, tasks: Sequence[TrialTask]) -> None: ...
    def epoch(self, task: TrialTask, epoch: object) -> None: ...

    def ended(self, trial: Trial, known: bool) -> None:
        self.known, self.new = self.known + known, self.new + (not known)
        if self.new >= self.until:
            raise KeyboardInterrupt


# --- the record ---------------------------------------------------------------------------------------------


def test_an_interrupted_search_goes_on_from_its_record(demo: Path, tmp_path: Path) -> None:
    record = str(tmp_path / "record.jsonl")
    whole = found(demo)
    first = found(demo, Counting(until=4), record=record)
    assert first.interrupted
    kept = len(Path(record).read_text().splitlines())
    assert kept == 4
    second = found(demo, watcher := Counting(), record=record)
    assert not second.interrupted
    assert (watcher.known, watcher.new) == (kept, len(whole.trials) - kept)
    assert plain(second) == plain(whole)
    third = found(demo, watcher := Counting(), record=record, trials=3)  # fewer: the first of them
    assert watcher.known >= 4
    assert {trial.number for trial in third.trials} == {0, 1, 2, 3}


def test_a_record_is_for_its_data_and_its_options(demo: Path, tmp_path: Path) -> None:
    record = str(tmp_path / "record.jsonl")
    found(demo, record=record, trials=2)
    train, dev = corpora(demo)
    watcher, options = Counting(), TuningOptions(trials=2, threads=2, record=record)
    tune_corpus(train, dev, Tagger("chunk", passes=2), SPACE, options, watcher)
    tune_corpus(dev, train, Tagger("chunk", passes=3), SPACE, options, watcher)
    assert watcher.known == 0
    found(demo, watcher, record=record, trials=2)
    assert watcher.known == 3


def test_a_file_that_is_no_record_is_refused(cli: Cli) -> None:
    cli.write("notes.txt", "remember the milk\n")
    ran = cli(f"tune train.txt --dev dev.txt {QUICK} --record notes.txt")
    assert ran.code == 1
    assert "notes.txt:1: not a line of a record of `palmette tune`" in ran.err
    assert cli.read("notes.txt") == "remember the milk\n"


def test_ctrl_c_prints_the_best_so_far(demo: Path, tmp_path: Path) -> None:
    process = spawn(
        tmp_path, "tune", str(demo / "train.txt"), "--dev", str(demo / "dev.txt"), "--try", "l2=0.01..10",
        "--learner", "crf", "--optimiser", "adagrad", "--trials", "2000",
    )  # fmt: skip
    assert process.stderr is not None
    lines = iter(process.stderr.readline, b"")
    next(line for line in lines if b"trial 0:" in line)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert b"interrupted; scores" in out
    assert b"palmette train " in out
    assert b"Traceback" not in err
    assert (tmp_path / "train.tune.jsonl").exists()


# --- Python -------------------------------------------------------------------------------------------------


def test_tune_on_python_data() -> None:
    X, y = load_demo("train")
    dev = load_demo("dev")
    X, y = X[:150], y[:150]
    result = tune(X, y, dev=dev, tagger=Tagger(passes=3), space={"features": ["chunk", "ner"], "order": [0, 1]})
    assert result.metric == "f1"
    tagger = result.tagger().fit(X, y, dev=dev)
    assert tagger.outcome_.kept is not None
    assert tagger.outcome_.kept.dev == result.best.score
    assert {row["trial"] for row in result.table} == {0, 1, 2, 3, 4}
    assert {"features", "order", "score", "passes"} <= set(result.table[0] | result.table[1])
    assert "best" in result._repr_html_()


def test_tune_on_dictionaries_with_what_usually_matters() -> None:
    X, y = load_demo("train")
    features = [[{"word": word.lower(), "tag": tag} for word, tag in sentence] for sentence in X[:80]]
    result = tune(features, y[:80], tagger=Tagger(passes=2), trials=3)
    assert result.best_params["dev_share"] == 0.1
    assert all("features" not in trial.settings for trial in result.trials)
    tagger = result.tagger().fit(features, y[:80])
    assert tagger.outcome_.kept is not None
    assert tagger.outcome_.kept.dev == result.best.score


def test_options_of_a_search_are_checked_by_their_declarations() -> None:
    X, y = [["a"]], [["x"]]
    with pytest.raises(UsageError, match="trials: 0 is not a whole number of at least 1"):
        tune(X, y, trials=0)
    with pytest.raises(UsageError, match="has no parameter 'trails'"):
        tune(X, y, trails=3)
    with pytest.raises(UsageError, match=r"learner cannot be tried: learner is given too"):
        tune(X * 20, y * 20, tagger=Tagger(learner="crf"), space={"learner": ["mira"]})


# --- Ray ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def driver():
    yield from ray_driver(nodes=0)


def material_and_tasks(demo: Path) -> tuple[Material, list[TrialTask]]:
    material = Material(*corpora(demo), Space(SPACE, Tagger("chunk", passes=3)))
    return material, [TrialTask(k, settings, FULL) for k, settings in enumerate(material.space.draws(1), 1)]


def scores_on_ray(demo: Path) -> tuple[dict[int, float | None], int, bool]:
    """The scores of trainings of which one is killed, the number of workers, and whether the connection was left."""
    import ray

    from palmette.connect.ray_cluster import RayWorkers

    material, tasks = material_and_tasks(demo)
    scores: dict[int, float | None] = {}
    with RayWorkers(material, "local", 2) as workers:
        for trial in workers.run(tasks, None, lambda task, epoch: None):
            if not scores:
                ray.kill(next(iter(workers._busy.values())), no_restart=False)
            scores[trial.number] = trial.score
        size = workers.size
    return scores, size, not ray.is_initialized()


def test_a_cluster_gives_the_same_also_when_a_process_dies(demo: Path, driver: RayDriver) -> None:
    material, tasks = material_and_tasks(demo)
    with TrialThreads(material, 2) as threads:
        wanted = {t.number: t.score for t in threads.run(tasks, None, lambda task, epoch: None)}
    assert driver(scores_on_ray, demo) == (wanted, 2, True)
