"""Mutated files: every reader and loader reads them, or refuses them with an error of ours; within a few seconds.

`python tests/fuzz.py` tries 10,000 mutants of each kind of file in a process of its own, so that a crash is seen too;
`--mutants 100 csv state` fewer, of some kinds. tests/test_fuzz.py tries a few in every run of the tests.
"""

from __future__ import annotations

import argparse
import faulthandler
import gzip
import json
import multiprocessing
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import annotation_exports
import crowdrank as cr
import exports
from crowdrank.report.saved_results import saved_consensus
from crowdrank.scale.checkpoint import Checkpoint
from crowdrank.server import importing
from crowdrank.server.item_table import read_table
from crowdrank.server.study_file import read_study
from crowdrank.settings import InputError

SECONDS = 20  # for one mutant
PIECES = [
    b"", b"\0", b"\xff", b'"', b",", b"\n", b"\r", b"{", b"}", b"[", b"]", b":", b"=", b"-", b"nan", b"1e999", b"-1",
    b"0", b"99999999999999999999", b"\xed\xa0\x80", b"null", b"true", b"tie", b" ", b"\t", b"#", b"\xc3", b"0.5",
]  # fmt: skip

VOTES = {
    "annotator": list("aabbc"),
    "left": list("xyzxy"),
    "right": list("yzxzx"),
    "winner": ["x", "tie", "z", "x", "x"],
}
LISTS = {"task": ["1"] * 6, "annotator": list("aaabbb"), "item": list("xyzzyx"), "rank": [1, 2, 3, 1, 2, 3]}
RUN = "".join(f"{task} Q0 d{item} {item} {9 - item}.5 tag\n" for task in (1, 2) for item in range(1, 5))
QRELS = "".join(f"{task} 0 d{item} {item % 3}\n" for task in (1, 2) for item in range(1, 5))
LETOR = "".join(f"{item % 3} qid:1 1:{item} 2:NULL 3:{5 - item} #docid = d{item}\n" for item in range(1, 5))
FEATURES = "".join(f"{item % 3} qid:1 1:0.{item} 2:1.5 #docid = d{item}\n" for item in range(1, 5))
SIDE = '[theta]\na = -0.5\nb = { low = -3, high = -1, confidence = 20 }\n[[better]]\nannotator = "a"\nthan = ["b"]\n'
ITEMS = "id,title,text,x\nx,An item,some text,1\ny,Another,more text,2\nz,Third,text,3\n"
STUDY = """[study]
name = "fuzz"
title = "A study"
kind = "pairs"
items = "items.csv"
ties = true

[collection]
policy = "random"
budget = 20
caps = { annotator = 9 }
stopping = { width = 0.5 }
"""
JUDGED = {"key": "k1", "annotator": "a", "task": "", "items": ["x", "y"], "winner": "x", "seconds": 2.5}
EXPORT = json.dumps(
    {"judgments": [JUDGED, {**JUDGED, "key": "k2", "time": "2026-05-01T10:00:00", "status": "counted"}]}
)


@dataclass(frozen=True)
class Kind:
    """A kind of file: its name, a whole one, and what is done with it."""

    name: str
    whole: Callable[[Path], None]
    use: Callable[[Path], Any]
    structure: bool = False  # JSON, of which parts are mutated too
    may_abort: bool = False  # polars ends the process for a few damaged files, which docs/security.md says


def text(content: str) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(content.encode())


def table(columns: dict[str, list[Any]]) -> Callable[[Path], None]:
    import polars as pl

    return lambda path: cr.write(pl.DataFrame(columns), path)


def rank(path: Path) -> None:
    """Read, and fit what is quick."""
    judgments = cr.read(path)
    if len(judgments):
        name = {"pairs": "elo", "rankings": "rrf", "grades": "mean"}[judgments.kinds[0]]
        str(cr.fit(name, judgments).ranking)


def read_export(path: Path) -> None:
    """Read an export as its sample is read, with its gold and its categories; fit what is quick."""
    columns = exports.COLUMNS.get(path.name)
    judgments = cr.read(path, columns=columns)
    for kind in judgments.kinds:
        name = {"pairs": "elo", "rankings": "borda", "grades": "mean"}[kind]
        str(cr.fit(name, judgments.only(kind)).ranking)


def study() -> Any:
    return cr.simulate.grades(items=6, annotators=3, labels=3, tasks=12, gold_grades=3, seed=1)


def save_trained(name: str, **settings: Any) -> Callable[[Path], None]:
    return lambda path: cr.save(cr.train(name, study().judgments, study().gold, **settings), path)


def use_trained(path: Path) -> None:
    str(cr.load(path).fit(study().judgments).ranking)


def features() -> Any:
    vocabulary = study().judgments.vocabulary
    names = {"task": vocabulary.tasks[vocabulary.entry_task], "item": vocabulary.items[vocabulary.entry_item]}
    x, y = np.random.default_rng(0).normal(size=(2, vocabulary.n_entries))
    return cr.features({**{key: list(each) for key, each in names.items()}, "x": x, "y": y})


def save_ranker(name: str, **settings: Any) -> Callable[[Path], None]:
    return lambda path: cr.save(cr.learn(name, features(), study().judgments, **settings), path)


def use_ranker(path: Path) -> None:
    ranker = cr.load_ranker(path)
    str(ranker.annotators)
    str(ranker.rank(features()).ranking)


def save_state(path: Path) -> None:
    cr.State.start().answer("ann", "x", "y", "x").answer("bob", "y", "z", "tie").save(path)


def use_state(path: Path) -> None:
    state = cr.State.load(path).answer("ann", "x", "z", "x", task="all")
    str(state.consensus().ranking)
    str(state.consensus().annotators)


def save_result(path: Path) -> None:
    """What `rank --json` prints."""
    command = [sys.executable, "-m", "crowdrank", "rank", str(path.with_suffix(".csv")), "--method", "bradley-terry"]
    table(VOTES)(path.with_suffix(".csv"))
    path.write_bytes(subprocess.run([*command, "--json"], check=True, capture_output=True).stdout)


def use_result(path: Path) -> None:
    consensus = saved_consensus(path)
    str(consensus.ranking)
    str(consensus.annotators)


def save_step(path: Path) -> None:
    checkpoint = Checkpoint(path.parent / "steps")
    checkpoint.step(["sums", 1.5], lambda: (np.arange(9.0), 2.5))
    (path.parent / "steps" / "step-000001.npz").replace(path)


def use_step(path: Path) -> None:
    (path.parent / "steps" / "step-000001.npz").write_bytes(path.read_bytes())
    Checkpoint(path.parent / "steps").step(["sums", 1.5], lambda: (np.arange(9.0), 2.5))


def served_study(path: Path) -> Path:
    """A study of the server: its file, with the table of items beside it."""
    (path.parent / "items.csv").write_bytes(ITEMS.encode())
    (path.parent / "study.toml").write_bytes(STUDY.encode())
    return path.parent / "study.toml"


def use_import(path: Path) -> None:
    importing.imported(read_study(served_study(path)), path.read_bytes(), path.name)


KINDS = [
    Kind("votes.csv", table(VOTES), rank),
    Kind("lists.tsv", table(LISTS), rank),
    Kind("votes.jsonl", table(VOTES), rank),
    Kind("votes.parquet", table(VOTES), rank, may_abort=True),
    Kind("votes.csv.gz", table(VOTES), rank),
    Kind("votes.csv.zst", table(VOTES), rank),
    Kind("run.txt", text(RUN), rank),
    Kind("ranks.txt", text(LETOR), rank),
    Kind("gold.qrels", text(QRELS), cr.read_gold),
    Kind("gold.csv", table({"item": list("xyz"), "grade": [2, 1, 0]}), cr.read_gold),
    Kind("ranking.csv", table({"item": list("xyz"), "score": [2.5, 1.0, 0.1]}), cr.read_ranking),
    Kind("folds.csv", table({"task": list("12"), "fold": list("ab")}), cr.read_folds),
    Kind("features.csv", table({"item": list("xyz"), "age": [2.5, 1.0, 0.1]}), cr.read_features),
    Kind("features.txt", text(FEATURES), cr.read_features),
    Kind("side.toml", text(SIDE), cr.read_side),
    *(
        Kind(name, partial(Path.write_bytes, data=whole), read_export, name.endswith("json"), name.endswith("parquet"))
        for name, whole in exports.WHOLE.items()
    ),
    Kind(
        "known.json",
        partial(Path.write_bytes, data=json.dumps(annotation_exports.ratings()).encode()),
        cr.read_gold,
        True,
    ),
    Kind("known.tsv", partial(Path.write_bytes, data=exports.TOLOKA.encode()), cr.read_gold),
    Kind("votes.xlsx", table(VOTES), rank),
    Kind("state.json", save_state, use_state, structure=True),
    Kind("crf.json", save_trained("crf", max_iter=3), use_trained, structure=True),
    Kind("boosted.json", save_trained("boosted", rounds=2, models=1), use_trained, structure=True),
    Kind("ensemble.json", save_trained("ensemble", rounds=2, max_iter=3), use_trained, structure=True),
    Kind("listmle.json", save_ranker("listmle"), use_ranker, structure=True),
    Kind("result.json", save_result, use_result, structure=True),
    Kind("result.csv", table({"item": list("xyz"), "score": [2.5, 1.0, 0.1], "low": [2.0, 0.5, -1.0]}), use_result),
    *(
        Kind(f"limited.{kind}", table(VOTES), partial(cr.fit, "elo", memory="9GB"), may_abort=kind == "parquet")
        for kind in ("csv", "jsonl", "parquet")
    ),
    Kind("step.npz", save_step, use_step),
    Kind("study.toml", served_study, read_study),
    Kind("items.csv", text(ITEMS), lambda path: list(read_table(path))),
    Kind("import.csv", table(VOTES), use_import),
    Kind("import.json", text(EXPORT), use_import, structure=True),
    Kind("lambdamart.json", save_ranker("lambdamart", rounds=2), use_ranker, structure=True),
]


def mutant(whole: bytes, rng: np.random.Generator) -> bytes:
    """One or a few random changes, anywhere: bytes, pieces, cuts, repetitions."""
    data = bytearray(whole)
    for _ in range(int(rng.geometric(0.5))):
        start = int(rng.integers(len(data) + 1))
        end = start + int(rng.integers(1, 4) if rng.random() < 0.5 else rng.integers(40))
        kind = rng.integers(5)
        if kind == 0 and data:
            data[min(start, len(data) - 1)] = int(rng.integers(32, 127) if rng.random() < 0.5 else rng.integers(256))
        elif kind == 1:
            data[start:start] = PIECES[rng.integers(len(PIECES))]
        elif kind == 2:
            del data[start:end]
        elif kind == 3:
            data[start:start] = data[start:end] * int(rng.integers(1, 4))
        else:
            data[start:end] = PIECES[rng.integers(len(PIECES))]
    return bytes(data[: int(rng.integers(len(data) + 1))]) if rng.random() < 0.1 else bytes(data)


VALUES: list[Any] = [
    None, True, -1, 0, 1, 2**40, 10**400, -0.5, 1e308, float("nan"), float("inf"), "", "x", "1", [], [[]], {}, [0],
]  # fmt: skip


def changed_part(content: Any, rng: np.random.Generator) -> Any:
    """JSON with one part replaced, removed, repeated, or with its text mutated."""
    if isinstance(content, dict) and content and rng.random() < 0.9:
        name = list(content)[rng.integers(len(content))]
        if rng.random() < 0.05:
            return {key: value for key, value in content.items() if key != name}
        return {**content, name: changed_part(content[name], rng)}
    if isinstance(content, list) and content and rng.random() < 0.8:
        at = int(rng.integers(len(content)))
        if rng.random() < 0.2:
            return [*content[:at], *content[at + 1 :]] if rng.random() < 0.5 else [*content, content[at]]
        return [*content[:at], changed_part(content[at], rng), *content[at + 1 :]]
    if isinstance(content, str) and content and rng.random() < 0.8:
        return mutant(content.encode(), rng).decode(errors="replace")
    return VALUES[rng.integers(len(VALUES))]


def mutate(kind: Kind, whole: bytes, rng: np.random.Generator) -> bytes:
    """A mutant of a file. The checksum of JSON is left out half of the time, and the content of .gz mutated."""
    if kind.structure and rng.random() < 0.7:
        content = json.loads(whole)
        if isinstance(content, dict):
            content.pop("checksum", None)
        return json.dumps(changed_part(content, rng)).encode()
    if kind.structure and rng.random() < 0.5:
        return mutant(whole.replace(b'"checksum"', b'"other"'), rng)
    if kind.name.endswith(".gz") and rng.random() < 0.3:
        return gzip.compress(mutant(gzip.decompress(whole), rng))
    return mutant(whole, rng)


def try_mutants(kind: Kind, count: int, seed: int = 0, *, note: Callable[[bytes], None] = lambda _: None) -> int:
    """How many mutants could be read; any error that is not ours is raised."""
    rng, read = np.random.default_rng(seed), 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / kind.name
        kind.whole(path)
        kind.use(path)
        whole = path.read_bytes()
        for _ in range(count):
            data = mutate(kind, whole, rng)
            path.write_bytes(data)
            note(data)
            try:
                kind.use(path)
                read += 1
            except InputError:
                pass
    return read


def run(kind: Kind, count: int, seed: int, last: Path) -> None:
    """Try mutants in this process; the last one is kept in a file, and the process ends if one takes too long."""

    def note(data: bytes) -> None:
        last.write_bytes(data)
        faulthandler.dump_traceback_later(SECONDS, exit=True)

    began = time.monotonic()
    read = try_mutants(kind, count, seed, note=note)
    faulthandler.cancel_dump_traceback_later()
    sys.stdout.write(f"{kind.name}: {count:,} mutants, {read:,} read, {time.monotonic() - began:.0f} s\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help="names of kinds of file; default: all")
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    failed = []
    for kind in KINDS:
        if given.kinds and not any(word in kind.name for word in given.kinds):
            continue
        last = Path(tempfile.gettempdir()) / f"mutant-{kind.name}"
        context = multiprocessing.get_context("spawn")
        child = context.Process(target=run_named, args=(kind.name, given.mutants, given.seed, last))
        child.start()
        child.join()
        if child.exitcode == -signal.SIGABRT and kind.may_abort:
            sys.stdout.write(f"{kind.name}: polars ended the process, as it may; the mutant is {last}\n")
        elif child.exitcode:
            failed.append(f"{kind.name} (exit {child.exitcode}; the mutant is {last})")
        else:
            last.unlink(missing_ok=True)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


def run_named(name: str, count: int, seed: int, last: Path) -> None:
    run(next(kind for kind in KINDS if kind.name == name), count, seed, last)


if __name__ == "__main__":
    main()
