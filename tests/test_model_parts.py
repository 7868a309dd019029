"""Models as arrays and metadata without a file: what files and pickles of them hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from palmette import Parser, Tagger
from palmette.data import model_file
from palmette.datasets import load_demo, load_trees
from palmette.errors import ModelError
from palmette.parsing import serialise as tree
from palmette.structures.chain import serialise as chain


def test_the_parts_of_a_tagger_are_those_of_its_file(tmp_path: Path) -> None:
    X, y = load_demo("dev")
    tagger = Tagger("chunk", passes=1).fit(X[:20], y[:20])
    tagger.save(tmp_path / "own.palm")
    model_file.save(tmp_path / "parts.palm", *chain.chain_parts(tagger.model_))
    assert (tmp_path / "parts.palm").read_bytes() == (tmp_path / "own.palm").read_bytes()
    again = chain.chain_from_parts(*chain.chain_parts(tagger.model_), "memory")
    again.save(str(tmp_path / "again.palm"))
    assert (tmp_path / "again.palm").read_bytes() == (tmp_path / "own.palm").read_bytes()


def test_the_parts_of_a_parser_are_those_of_its_file(tmp_path: Path) -> None:
    parser = Parser(passes=1).fit(load_trees("test"))
    parser.save(tmp_path / "own.palm")
    arrays, meta = tree.parser_parts(parser.model_)
    model_file.save(tmp_path / "parts.palm", arrays, meta)
    assert (tmp_path / "parts.palm").read_bytes() == (tmp_path / "own.palm").read_bytes()
    tree.parser_from_parts(arrays, meta, "memory").save(str(tmp_path / "again.palm"))
    assert (tmp_path / "again.palm").read_bytes() == (tmp_path / "own.palm").read_bytes()


def test_parts_are_checked_as_files_are() -> None:
    arrays, meta = tree.parser_parts(Parser(passes=1).fit(load_trees("test")).model_)
    with pytest.raises(ModelError, match=r"elsewhere: .*power of two"):
        tree.parser_from_parts(arrays | {"table": np.ones(6, np.uint64)}, meta, "elsewhere")
    with pytest.raises(ModelError, match="elsewhere: a tagger, not a parser"):
        tree.parser_from_parts(arrays, meta | {"task": "chain"}, "elsewhere")
