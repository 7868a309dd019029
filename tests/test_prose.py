"""Words and constructions that docs, help texts and messages do without. Each has what to write instead."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from palmette.cli import COMMANDS, load_command

ROOT = Path(__file__).resolve().parents[1]

PATTERNS = {
    r"whoever|who names": "if you",
    r"nobody": "no one, or 'unknown'",
    r"likewise": "also, 'the same'",
    r"mend(?:s|ed|ing)?": "fix",
    r"tells?|told": "show, print, report",
    r"learnt from": "train on, trained on",
    r"so many|so much(?! as)": "this many",
    r"without a word": "silently",
    r"go(?:es)? on|went on|going on": "continue",
    r"(?:pages?|spans?|phrases?|names?|kinds?) of (?:its|their|one's|his) own": "separate, own",
    r"(?<!there )(?:is|are) no (?!more|longer|less|such|other)\w+s?": "'is not a', 'are not'",
    r"(?:is|are) none(?! of)": "does not exist",
    r"(?:can|cannot|could) be had|is to be had|are to be had": "is available",
    r"programs of others|that others (?:made|trained|measured)": "third-party, published",
    r"hence": "so",
    r"but for": "except for",
    r"(?:tokens?|words?|sentences?|lines?|requests?) an? (?:second|line|token|sentence|pass|core|minute)": "per",
    r"a (?:token|word|sentence|row|label) a (?:line|token|row)": "one token per line",
    r"beside": "next to, compared with",
    r"(?:says?|said)(?! otherwise)": "print, state, report",
    r"gold goes up|the guess goes down": "who does what",
}
# Phrases in which a word has its usual meaning
ALLOWED = (
    "besides", "side by side", "that is to say", "as the name says", "said to be", "\"says\"", "go on to",
)  # fmt: skip
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])


def prose_of(markdown: str) -> str:
    """A page without code, links and tables of figures."""
    text = re.sub(r"^( *)```.*?^\1```$", "", markdown, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(?: {4,}[^ -].*\n)+", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"`[^`\n]*`", "CODE", re.sub(r"\]\([^)]*\)", "]", text))
    return re.sub(r"\n(?!\n)\s*", " ", text)


def faults(text: str) -> list[str]:
    for phrase in ALLOWED:
        text = text.replace(phrase, "")
    found = []
    for pattern, instead in PATTERNS.items():
        for match in re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE):
            about = text[max(0, match.start() - 40) : match.end() + 30].replace("\n", " ")
            found.append(f"'{match[0]}' (write: {instead}) in '...{about}...'")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_pages_are_in_plain_words(page: Path) -> None:
    found = faults(prose_of(page.read_text(encoding="utf-8")))
    assert not found, "\n".join(found)


def test_help_is_in_plain_words() -> None:
    found: list[str] = []
    for name, (_, about) in COMMANDS.items():
        command = load_command(name)
        texts = {about, command.__doc__ or ""}
        for flag in command.flags():
            texts.add(flag.option.help)
            choices = flag.option.choices
            texts |= {*choices.values()} if isinstance(choices, dict) else set()
        found += [f"palmette {name}: {fault}" for text in sorted(texts) for fault in faults(text)]
    assert not found, "\n".join(sorted(set(found)))


def messages(tree: ast.AST) -> Iterator[str]:
    """Strings of a module with several words that are no docstrings; of f-strings what is fixed."""
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "X".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.value


def test_messages_are_in_plain_words() -> None:
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for text in messages(ast.parse(path.read_text(encoding="utf-8"))):
            if text.count(" ") >= 3:
                found += [f"{path.relative_to(ROOT)}: {fault}" for fault in faults(text)]
    assert not found, "\n".join(sorted(set(found)))


def test_patterns_find_what_they_are_for() -> None:
    wrong = "Whoever comes here is told that names are no spans, and goes on at 500 tokens a second."
    assert len(faults(wrong)) == 5
    assert faults("If you come here, a message reports that names are not spans.") == []
