"""What studies and curious readers use: language models, files of hidden Markov models, synthetic data with known
bounds, shallow cues, and learners trained for a comparison. Nothing else rests on it."""
