"""`python -m bench [NAME ...] [--data FOLDER] [--times 5]`: run benchmarks; without names, all of them.
`python -m bench fuzz [--cases 5000] [--seed 0] ...`: mutate model files and inputs.
`python -m bench recheck NAME ... --why "..."`: note why records of earlier code are kept; without names, list
the records that are older than the code.
`python -m bench against REVISION [--times 7]`: this tree beside an older commit, in turn.
`python -m bench shape [--check] [--record]`: the size of the sources beside the recorded one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from bench import (
    against,
    classify,
    cluster,
    crf,
    decode,
    defaults,
    dial,
    english,
    equal,
    http,
    latent,
    lm,
    nbest,
    newcomer,
    outcore,
    parse,
    pick,
    pipeline,
    quality,
    raw_text,
    reading,
    runtime,
    scale,
    serve,
    shape,
    size,
    sparse,
    speed,
    staleness,
    start,
    threads,
    udpipe,
)
from bench.downstream.command import bench_downstream
from bench.downstream.grobid import bench_grobid
from bench.fuzz import command as fuzz
from bench.measure import data_folder
from bench.report import write_report

BENCHMARKS: dict[str, Callable[[Path, int], None]] = {
    "train": speed.bench_train,
    "tag": speed.bench_tag,
    "start": start.bench_start,
    "runtime": runtime.bench_runtime,
    "newcomer": newcomer.bench_newcomer,
    "serve": serve.bench_serve,
    "http": http.bench_http,
    "spacy": pipeline.bench_spacy,
    "chunking": lambda data, times: quality.bench_chunking(data),
    "np": lambda data, times: quality.bench_np(data),
    "ewt": lambda data, times: quality.bench_ewt(data),
    "jnlpba": lambda data, times: quality.bench_jnlpba(data),
    "crf": crf.bench_crf,
    "decode": decode.bench_decode,
    "size": size.bench_size,
    "sparse": lambda data, times: sparse.bench_sparse(data),
    "grobid": bench_grobid,
    "latent": lambda data, times: latent.bench_latent(data),
    "nbest": nbest.bench_nbest,
    "parse": parse.bench_parse,
    "cluster": cluster.bench_cluster,
    "mixing": lambda data, times: cluster.bench_mixing(data),
    "classify": lambda data, times: classify.bench_classify(data),
    "lm": lm.bench_lm,
    "dial": lambda data, times: dial.bench_dial(data),
    "defaults": lambda data, times: defaults.bench_defaults(data),
    "pick": lambda data, times: pick.bench_pick(data),
    "downstream": bench_downstream,
    "threads": threads.bench_threads,
    "equal": equal.bench_equal,
    "batches": lambda data, times: threads.bench_batches(data),
    "reading": reading.bench_reading,
    "growth": lambda data, times: scale.bench_scale(data),
    "outcore": lambda data, times: outcore.bench_outcore(data),
    "raw": raw_text.bench_raw,
    "udpipe-tr": lambda data, times: udpipe.bench_udpipe("tr", data, times),
    "udpipe-vi": lambda data, times: udpipe.bench_udpipe("vi", data, times),
    "udpipe-ewt": udpipe.bench_udpipe_ewt,
    "english": english.bench_english,
    "report": lambda data, times: write_report(),
}
ALONE = {"udpipe-ours": udpipe.bench_udpipe_ours}  # parts of other benchmarks, which are run if they are named

GROUPS = {  # names for several
    "scale": ("growth", "threads", "reading", "batches", "equal", "outcore", "cluster", "mixing"),
    "udpipe": ("udpipe-tr", "udpipe-vi"),
    "readme": (
        "train",
        "tag",
        "start",
        "newcomer",
        "serve",
        "crf",
        "size",
        "chunking",
        "np",
        "ewt",
        "jnlpba",
        "parse",
        "report",
    ),
}


def main() -> None:
    if sys.argv[1:2] == ["fuzz"]:
        sys.exit(fuzz.main(sys.argv[2:]))
    if sys.argv[1:2] == ["against"]:
        sys.exit(against.main(sys.argv[2:]))
    if sys.argv[1:2] == ["shape"]:
        sys.exit(shape.main(sys.argv[2:]))
    if sys.argv[1:2] == ["recheck"]:
        sys.exit(_recheck(sys.argv[2:]))
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    known = BENCHMARKS | ALONE
    parser.add_argument("names", nargs="*", choices=[[], *known, *GROUPS], metavar="NAME", help=_names())
    parser.add_argument("--data", help="folder of the corpora (default ../shared/data)")
    parser.add_argument("--times", type=int, default=5, help="runs of each side")
    given = parser.parse_args()
    data = data_folder(given.data) if given.names != ["report"] else Path()
    for name in [own for asked in given.names or BENCHMARKS for own in GROUPS.get(asked, (asked,))]:
        print(f"== {name}", flush=True)
        known[name](data, given.times)


def _recheck(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench recheck")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--why", help="what was looked at")
    given = parser.parse_args(arguments)
    old = staleness.stale()
    if not given.names:
        print("\n".join(f"{name}: {of}" for name, of in old.items()) or "all records are of this code")
        return int(bool(old))
    if not given.why or not set(given.names) <= set(old):
        parser.error(f"give --why, and names among the records that are older than the code: {', '.join(old)}")
    staleness.recheck(given.names, given.why)
    return 0


def _names() -> str:
    groups = "; ".join(f"{name}: {', '.join(own)}" for name, own in GROUPS.items())
    return f"{', '.join(BENCHMARKS)} (default: all); {', '.join(ALONE)}; {groups}"


main()
