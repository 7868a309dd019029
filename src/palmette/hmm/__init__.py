"""The hidden Markov model: counted or given as tables, and turned into a linear chain that searches for it.

words       which words a model knows, and the classes of those that it does not
counts      probabilities from labelled text, with their smoothing
tables      the probabilities, from dictionaries or from counts; joint probability of words and labels
linear      the same model as weights and features: as two vectors, and as a ChainModel
model       HMM, in the scikit-learn manner
train       `--learner hmm`: from a corpus to a chain model
"""

from __future__ import annotations

from palmette.hmm.model import HMM

__all__ = ["HMM"]
