"""The page: what a model does with a sentence, why, how sure it is, where it errs and what it learnt; in a browser."""
