"""Compare three learners on chunks, with one split into training and test data."""

from palmette import Crf, Mira, Tagger
from palmette.datasets import load_demo

train, test = load_demo("train"), load_demo("test")
for learner in ("perceptron", Mira(nbest=5), Crf(l2=0.3)):
    tagger = Tagger("chunk", learner=learner).fit(*train)
    print(f"{tagger.score(*test):.3f}  {learner}")
