"""Write a page that shows a model: searches, errors, confidence, weights. It is one file and works offline."""

from pathlib import Path

from palmette.cli import main
from palmette.datasets import demo_text

for part in ("train", "test"):
    Path(f"{part}.txt").write_text(demo_text(part), encoding="utf-8")
main(["train", "train.txt", "-o", "chunk.palm", "-q"])
main(["page", "chunk.palm", "--data", "test.txt", "-o", "chunk.html", "-q"])
print("wrote chunk.html" if Path("chunk.html").stat().st_size > 10_000 else "the page is empty")
