"""Serve a model over HTTP and ask it, in one program (needs the extra `serve`)."""

import json
import re
import subprocess
import sys
import urllib.request

from palmette import Tagger
from palmette.datasets import load_demo

X, y = load_demo("train")
words = [[word for word, _ in sentence] for sentence in X]
Tagger("ner").fit(words, y).save("chunk.palm")

command = [sys.executable, "-m", "palmette", "serve", "chunk.palm", "--port", "0"]
with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
    assert server.stdout is not None
    address = next(found[0] for line in server.stdout if (found := re.search(r"http://[\w.:]+", line)))
    body = json.dumps({"text": "The old ferry crosses the lake."}).encode()
    request = urllib.request.Request(f"{address}/models/chunk", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        for span in json.load(answer)["sentences"][0]["spans"]:
            print(span["start_char"], span["end_char"], span["label"], span["text"])
    server.terminate()
