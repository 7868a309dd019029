"""Language pipelines: from a treebank to plain text in, trees out."""
