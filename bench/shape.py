"""`python -m bench shape [--check] [--record]`: the size and shape of the sources, beside the recorded bars.

`--check` exits with 1 if a counted bar is above its record (`results/shape.json`); `--record` writes the record anew,
which a commit that raises a bar does by hand, with the reason in its message.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bench.measure import RESULTS

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "palmette"
RECORD = RESULTS / "shape.json"
# Folders that the core does not need: kinds of structures, and what is built on models
ROOMS = ("classification", "connect", "crfsuite", "lab", "models", "parsing", "pipeline", "runtime", "serve", "tuning")
MANY = 10  # parameters

# Counts the frames between `main` and the first kernel of a command, and what ran on the way.
TRACE = """
import sys
from pathlib import Path
from palmette.kernels.core import native
deepest, functions = [0], set()
def look(frame, event, argument):
    if event == "call":
        code = frame.f_code
        if "palmette" in code.co_filename and code.co_flags & 1:  # a function, not the body of a module or class
            functions.add((code.co_filename, code.co_qualname))
            if code.co_qualname in ("NativeKernel.__call__", "NativeKernel.prepare"):
                frames, above = 0, frame
                while above is not None and above.f_code.co_name != "main":
                    frames, above = frames + 1, above.f_back
                name = getattr(frame.f_locals["self"], "__name__", "")
                if name.startswith(("train", "decode", "encode_sentence")):
                    deepest[0] = max(deepest[0], frames)
sys.setprofile(look)
from palmette.cli import main
sys.argv = ["palmette", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
finally:
    sys.setprofile(None)
    print(deepest[0], len(functions), len({file for file, _ in functions}), file=sys.__stdout__)
"""


def measured() -> dict[str, int]:
    """Count every bar in the working tree."""
    files = sorted(SOURCES.rglob("*.py"))
    nodes = [node for file in files for node in _nodes(file)]
    core = [file for file in files if file.relative_to(SOURCES).parts[0] not in ROOMS]
    classes = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    return {
        "core: lines": sum(map(_lines, core)),
        "core: files": len(core),
        "src: lines": sum(map(_lines, files)),
        "src: files": len(files),
        "class names used more than once": sum(count > 1 for count in classes.values()),
        f"functions with {MANY} or more parameters": sum(_is_wide(node) for node in nodes),
        "tests: imports of private paths": sum(map(_private_imports, (ROOT / "tests").rglob("*.py"))),
        "ARCHITECTURE.md: words": len((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split()),
        "commands listed by --help": _commands(),
        **_estimator(),
        **_runs(),
    }  # fmt: skip


def _lines(file: Path) -> int:
    return len(file.read_text(encoding="utf-8").splitlines())


def _nodes(file: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))


def _is_wide(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs) >= MANY


def _private_imports(file: Path) -> int:
    """Count names imported from below the folders of the package, whose doors are `palmette` and `palmette.FOLDER`."""
    found = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    imports = [
        node for node in found if isinstance(node, ast.ImportFrom) and re.match(r"palmette\.\w+\.", node.module or "")
    ]
    return sum(len(node.names) for node in imports)


def _python(program: str, *arguments: str, folder: str | None = None) -> str:
    ran = subprocess.run([sys.executable, "-c", program, *arguments], cwd=folder, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"a measured program failed:\n{ran.stderr}")
    return ran.stdout


def _commands() -> int:
    shown = _python("import sys; sys.argv = ['palmette', '--help']; from palmette.cli import main; main()")
    return len(re.findall(r"^  +[a-z][\w -]*?(?:  |$)", shown, re.MULTILINE))


def _estimator() -> dict[str, int]:
    program = """
import sys
from palmette import Tagger
options = set(Tagger.__options__)
print(len([n for n in dir(Tagger) if not n.startswith('_') and n not in options]))
print(sum(c.__module__.startswith('palmette') for c in Tagger.__mro__))
files = [m.__file__ for n, m in sys.modules.items() if n.startswith('palmette') and getattr(m, '__file__', None)]
print(sum(len(open(f, encoding='utf-8').readlines()) for f in files if f.endswith('.py')))
"""
    names, classes, lines = map(int, _python(program).split())
    return {"Tagger: public names besides options": names, "Tagger: own classes in its MRO": classes,
            "import Tagger: lines loaded": lines}  # fmt: skip


def _runs() -> dict[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "d.txt").write_text("The DT B\ncat NN I\n\nA DT B\ndog NN I\nruns VB O\n\n" * 20, encoding="utf-8")
        train = _python(TRACE, "train", "d.txt", "-o", "m.palm", "-q", "--threads", "1", folder=folder)
        tag = _python(TRACE, "tag", "m.palm", "d.txt", "-o", "out.txt", "-q", folder=folder)
    frames, functions, files = map(int, train.splitlines()[-1].split())
    return {"train: frames from main to a kernel": frames, "train: functions run": functions, "train: files run": files,
            "tag: frames from main to a kernel": int(tag.splitlines()[-1].split()[0])}  # fmt: skip


def _rows(now: dict[str, int], record: dict[str, int]) -> Iterator[str]:
    yield f"{'bar':<44} {'record':>8} {'now':>8}"
    for name, count in now.items():
        kept = record.get(name)
        grown = "  <-- above the record" if kept is not None and count > kept else ""
        yield f"{name:<44} {'-' if kept is None else format(kept, ',d'):>8} {count:>8,d}{grown}"


def main(arguments: list[str]) -> int:
    """Print the bars; the exit code."""
    record: dict[str, int] = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    now = measured()
    print("\n".join(_rows(now, record)))
    if "--record" in arguments:
        RECORD.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
        return 0
    grown = [name for name, count in now.items() if count > record.get(name, count)]
    if "--check" in arguments and grown:
        how = "`python -m bench shape --record`, with the reason in the commit message"
        print(f"grown beyond the record: {', '.join(grown)}. Make it smaller, or use {how}.", file=sys.stderr)
        return 1
    return 0
