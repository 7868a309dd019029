"""A pipeline from a small treebank: text in, parts of speech, lemmas and trees out.

python small_treebank.py [TRAIN.conllu]
"""

import sys

from palmette import Pipeline
from palmette.data import read_treebank
from palmette.datasets import load_trees

bank = read_treebank(sys.argv[1]) if len(sys.argv) > 1 else load_trees("train")
nlp = Pipeline().fit(bank)
for sentence in nlp("The old ferry crosses the lake. The cook bakes bread.").sentences:
    for word in sentence.words:
        head = sentence.words[word.head - 1].form if word.head else "ROOT"
        print(f"{word.form:8} {word.upos:6} {word.lemma:8} {word.deprel:6} <- {head}")
    print()
