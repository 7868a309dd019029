"""Train on GROBID's date data with GROBID's template, and score by five-fold cross-validation.

python grobid_dates.py TRAIN TEMPLATE
"""

import sys
from pathlib import Path

from palmette import Tagger

data, template = sys.argv[1:]
blocks = [block.split("\n") for block in Path(data).read_text(encoding="utf-8").split("\n\n") if block.strip()]
rows = [[line.split() for line in block if line.strip()] for block in blocks]
X = [[tuple(row[:-1]) for row in sentence] for sentence in rows]
y = [[row[-1] for row in sentence] for sentence in rows]
for fold in range(5):
    kept = [k for k in range(len(X)) if k % 5 != fold]
    held = [k for k in range(len(X)) if k % 5 == fold]
    tagger = Tagger(template=template).fit([X[k] for k in kept], [y[k] for k in kept])
    print(f"fold {fold + 1}: F1 {tagger.score([X[k] for k in held], [y[k] for k in held]):.2f}")
