"""The files around the project agree with it: workflows, image, recipe, and what a release says of itself."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from palmette.cli import main

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from release.notes import notes  # noqa: E402
from release.parts import bill  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
YAML = [
    ".pre-commit-config.yaml",
    "conda/recipe.yaml",
    *(str(p.relative_to(ROOT)) for p in ROOT.glob(".github/**/*.yml")),
]


def loaded(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def has_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The whole help of a command of ours."""
    assert not main([*words, "--help", "all"])
    return capsys.readouterr().out


@pytest.mark.parametrize("name", YAML)
def test_yaml_is_yaml(name: str) -> None:
    assert isinstance(loaded(name), dict)


# --- workflows ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [path.name for path in (ROOT / ".github" / "workflows").iterdir()])
def test_workflows_call_what_exists(name: str) -> None:
    """Every step runs a script of the repository or a module of it, and may only read."""
    workflow = loaded(f".github/workflows/{name}")
    assert workflow["permissions"] == {"contents": "read"}
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    assert commands
    for command in commands:
        for script in re.findall(r"(?:^|\s)(\.[\w./-]+/run)", command):
            assert os.access(ROOT / script, os.X_OK)
        for module in re.findall(r"python -m (\w+)", command):
            assert (ROOT / module / "__main__.py").exists()
        for extra in re.findall(r"'\.\[(.+)\]'", command):
            assert set(extra.split(",")) <= set(PROJECT["project"]["optional-dependencies"])


def test_the_tests_of_a_hosted_runner_have_every_python_that_is_promised() -> None:
    (job,) = loaded(".github/workflows/tests.yml")["jobs"].values()
    (setup,) = (step for step in job["steps"] if step.get("uses", "").startswith("actions/setup-python"))
    promised = [line.rsplit(" ", 1)[1] for line in PROJECT["project"]["classifiers"] if "Python :: 3." in line]
    versions = setup["with"]["python-version"].split()
    assert sorted(versions) == sorted(promised)
    assert versions[-1] == min(promised)  # the last one becomes `python3`, which runs everything


def test_hooks_before_commits_are_the_linters_of_ci() -> None:
    entries = {
        hook["entry"].split()[0] for repo in loaded(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]
    }
    lint = re.search(r"^lint\(\) \{\n(.*?)^\}", (ROOT / ".ci" / "run").read_text(), re.MULTILINE | re.DOTALL)
    assert entries == {"ruff", "mypy", "lint-imports"}
    assert entries <= set(lint[1].split())


# --- image, container, recipe -------------------------------------------------------------------------------


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def test_the_image_starts_a_command_that_exists(capsys: pytest.CaptureFixture[str]) -> None:
    found = dict(instructions())  # the last of each
    words = json.loads(found["ENTRYPOINT"])
    assert words[:2] == ["palmette", "serve"]
    about = has_command(["serve"], capsys)
    for flag in (word for word in words if word.startswith("--")):
        assert flag in about
    assert found["EXPOSE"] == words[words.index("--port") + 1]
    (name,) = json.loads(found["CMD"])
    assert (ROOT / "src" / "palmette" / "models" / name / "card.json").exists()


def test_the_image_runs_as_an_ordinary_user_and_answers_whether_it_is_well() -> None:
    pytest.importorskip("starlette")
    from palmette.serve import guard

    made = instructions()
    names = [word for word, _ in made]
    user = dict(made)["USER"]
    assert user not in ("root", "0")
    assert any("useradd" in rest and user in rest for word, rest in made if word == "RUN")
    assert names.index("USER") < names.index("ENTRYPOINT")
    path = re.search(r"http://127\.0\.0\.1:\d+(/\w+)", dict(made)["HEALTHCHECK"])[1]
    assert path in guard.OPEN  # without a token


def test_the_image_is_built_from_what_it_copies() -> None:
    """A Python that is promised, an extra that exists, and all that the build needs is not ignored."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    promised = [line.rsplit(" ", 1)[1] for line in PROJECT["project"]["classifiers"] if "Python :: 3." in line]
    assert set(re.findall(r"^FROM python:([\d.]+)-slim", text, re.MULTILINE)) <= set(promised)
    assert set(re.findall(r"\.whl\)\[(\w+)\]", text)) <= set(PROJECT["project"]["optional-dependencies"])
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    hook = PROJECT["tool"]["hatch"]["build"]["hooks"]["custom"]["path"]
    needed = {"pyproject.toml", "src", hook, PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]}
    assert needed <= kept
    assert re.search(r"PIP_CONSTRAINT=(\S+)", text)[1] in kept


def test_the_container_for_development_installs_what_exists() -> None:
    about = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    extra = re.search(r"pip install .* '\.\[(\w+)\]'", about["postCreateCommand"])[1]
    assert extra in PROJECT["project"]["optional-dependencies"]


def test_the_recipe_asks_for_what_the_project_asks_for(capsys: pytest.CaptureFixture[str]) -> None:
    recipe = loaded("conda/recipe.yaml")
    project = PROJECT["project"]
    assert recipe["context"]["version"] == project["version"]
    assert recipe["build"]["python"]["entry_points"] == [f"{k} = {v}" for k, v in project["scripts"].items()]
    assert recipe["about"]["summary"] == project["description"]

    def packages(kind: str) -> set[str]:
        return {text.replace(" ", "") for text in recipe["requirements"][kind]} - {"pip"}

    python = f"python{project['requires-python']}"
    assert packages("run") == {python, *project["dependencies"]}
    assert packages("host") == {python, *PROJECT["build-system"]["requires"]}
    for command in recipe["tests"][1]["script"]:
        words = shlex.split(command)
        assert words[0] == "palmette"
        has_command([words[1]], capsys)


# --- what a release says ------------------------------------------------------------------------------------

CHANGES = """# Changelog

## 1.1 (2026-01-02)

- New: [a page](docs/a.md), [a site](https://example.org).

## 1.0

- First.
"""


def test_notes_are_a_section_of_the_changelog() -> None:
    assert notes(CHANGES, "1.1") == "# Palmette 1.1 (2026-01-02)\n\n- New: a page, [a site](https://example.org).\n"
    assert notes(CHANGES, "1.0") == "# Palmette 1.0\n\n- First.\n"
    with pytest.raises(ValueError, match=r"no section of version 1\.2"):
        notes(CHANGES, "1.2")
    with pytest.raises(ValueError, match=r"says nothing about version 1\.2"):
        notes(CHANGES.replace("## 1.1", "## 1.2\n\n## 1.1"), "1.2")
    assert (
        notes(CHANGES.replace("## 1.1", "## Unreleased\n\n- Soon.\n\n## 1.1"), "1.1")
        == "# Palmette after 1.1, unreleased\n\n- Soon.\n"
    )


def test_there_are_notes_of_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert len(notes(text, PROJECT["project"]["version"]).splitlines()) > 5


def test_the_list_of_parts_has_what_is_needed_and_what_was_made(tmp_path: Path) -> None:
    wheel = tmp_path / "palmette-1-py3-none-any.whl"
    wheel.write_bytes(b"abc")
    about = json.loads(bill(ROOT, [wheel]))
    assert (about["bomFormat"], about["specVersion"]) == ("CycloneDX", "1.5")
    parts = {part["bom-ref"]: part for part in about["components"]}
    assert len(parts) == len(about["components"])
    for text in PROJECT["project"]["dependencies"]:
        name, low = text.split(">=")
        assert parts[f"pkg:pypi/{name}"]["properties"] == [{"name": "versions", "value": f">={low}"}]
    (own,) = about["dependencies"]
    assert set(own["dependsOn"]) <= set(parts)
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of FIPS 180-2, for "abc"
    assert parts[f"file:{wheel.name}"]["hashes"] == [{"alg": "SHA-256", "content": digest}]
    assert parts["model:en"]["licenses"] == [{"license": {"id": "CC-BY-SA-4.0"}}]
    assert {part["name"] for part in about["metadata"]["tools"]["components"]} >= {"numba", "llvmlite", "numpy"}
    assert bill(ROOT, [wheel]) == json.dumps(about, indent=1) + "\n"
    wheel.write_bytes(b"abd")
    assert json.loads(bill(ROOT, [wheel]))["serialNumber"] != about["serialNumber"]
