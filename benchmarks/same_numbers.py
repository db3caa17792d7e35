"""Did a rearrangement of the code change a result? Compute everything with the old code and with the new, and compare.

    python benchmarks/same_numbers.py take before/            # with the old code on the path (PYTHONPATH=old/src)
    python benchmarks/same_numbers.py take after/             # with the new code (`take after/ fits` takes one part)
    python benchmarks/same_numbers.py compare before/ after/  # names every difference; status 1 if there is one

Only public names and the command are used, so that the same script runs on both. `take` needs the data sets of
CROWDRANK_DATA, and writes one JSON file for each study and method. Errors of crowdrank are results too, by their class;
any other exception ends the run. Notes and what stands on the screen are compared as information only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from itertools import combinations, groupby
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from differences import compare

import crowdrank as cr

NO_RESULT = ("vocabulary", "grades", "frame")  # fields of what was put in
DATA_SETS = Path(os.environ.get("CROWDRANK_DATA", "CROWDRANK_DATA is not set"))
EXAMPLES = Path(__file__).parent.parent / "examples"
DATA: dict[str, tuple[str, dict[str, Any], str]] = {  # file, what is taken of it, why the rest is left out
    **dict.fromkeys(("country_population", "mirex2005_music", "readability_crowdbt"), ("pairwise.csv.gz", {}, "")),
    "rag_crowd25": ("pairwise.csv.gz", {}, ""),
    "preflib_truth": ("rankings.csv.gz", {}, ""),
    "wmt13_fr_en": ("rankings.csv.gz", {"tasks": 100, "columns": {"list": "hit"}}, "minutes for methods of pairs"),
    "letor_mq2008_agg": ("rankings.csv.gz", {"tasks": 60}, "minutes for methods of pairs"),
    "llmjudge24": ("grades.csv.gz", {"tasks": 3, "items": 30}, "whole tasks: over 20 s for each method of pairs"),
    "trec_rf10": ("grades.csv.gz", {"tasks": 8, "items": 60}, "whole tasks: over 20 s for each method of pairs"),
    "letor3_ohsumed": ("features.csv.gz", {"rows": 1000}, "minutes for learning"),
    "letor_mq2008": ("features.csv.gz", {"rows": 1000}, "minutes for learning"),
    # Of the contract tests, those of 100,000 tasks (here 1,500) and 300,000 votes (here 210,000 pairs): minutes.
}
SETTINGS: list[tuple[str, str, dict[str, Any]]] = [  # simulated study, methods, settings that are not the usual ones
    ("grades", "majority-vote", {"by_mean": False}),
    ("grades", "dawid-skene", {"ordinal": True, "prior": 1.0}),
    ("grades", "rasch", {"difficulty": False}),
    ("grades", "gda gda-pw", {"means": "ordered", "difficulty": True}),
    ("grades", "gda gda-pw crowd-bt crowd-thurstone crowdagg", {"quality_per": "task"}),
    ("rankings", "borda median-rank rrf plackett-luce mallows", {"weights": (("annotator1", 2.0),)}),
    ("rankings", "mallows", {"extended": True}),
    ("rankings", "mallows", {"exact": 3, "seed": 1}),
    ("rankings", "crowdagg", {"contest": "task", "measure": "rbp"}),
    ("rankings", "crowdagg", {"contest": "literal", "against": "all"}),
    ("pairs", "bradley-terry thurstone majority-bradley-terry variance-bt mpm em-elo", {"prior": 0.3}),
    ("pairs", "crowd-bt crowd-thurstone online-crowd-bt", {"prior": 0.5, "quality_prior": (4.0, 2.0)}),
    ("pairs", "crowd-bt", {"order_bias": True}),
]
MEASURES = "ndcg@5,trec-ndcg,letor-ndcg@5,p@5,recall@5,map,rbp.5,err,mrr,acc,tau,spearman"
SIDES = {
    "ltrma-s1": cr.Side(ranges=(cr.Range("annotator1", -2.0, -2.0),)),
    "ltrma-s2": cr.Side(ranges=(cr.Range("annotator1", -3.0, -0.1, 20.0),)),
    "ltrma-s3": cr.Side(orders=(cr.Better("annotator1"),)),
}
COMMANDS = f"""
simulate pairs --items 20 --ties 0.2 --spammers 0.1 --votes 900 --seed 3 --out s1.csv --gold g1.csv --quality-out q1.csv
simulate grades --tasks 3 --scales 2,5 --gold-grades 3 --seed 3 --out s2.csv --gold g2.csv --quality-out q2.csv
simulate rankings --tasks 12 --cut 6 --seed 3 --out s3.csv --gold g3.csv --quality-out q3.csv
simulate spam s1.csv --share 0.2 --kind malicious --seed 3 --out s4.csv
rank {EXAMPLES}/votes.csv --out r1.csv --annotators a1.csv --neighbours n1.csv --json
rank s1.csv --gold g1.csv --method crowd-thurstone --set prior=0.5 --out r2.csv --annotators a2.csv
rank s1.csv --method elo --bootstrap 20 --seed 1 --out r3.csv --annotators a3.csv --neighbours n3.csv --json
rank lists.csv --method borda --bootstrap 20 --bootstrap-over annotators --out r4.csv --neighbours n4.csv
rank lists.csv --method plackett-luce --out r5.run --annotators a5.csv --neighbours n5.csv --json
rank s2.csv --out r6.csv --annotators a6.csv --qrels l6.csv --qrels l6.qrels --json
rank lists.csv --method crf --train lists.csv --train-gold gold.csv --save m8.json --out r8.csv --annotators a8.csv
rank lists.csv --load m8.json --out r9.csv --json
compare {EXAMPLES}/votes.csv --gold {EXAMPLES}/gold.csv --out c1.csv --json
compare lists.csv --gold gold.csv --method borda,rrf,svd --folds 3 --measure ndcg@5,map --seed 1 --out c2.csv --json
evaluate r1.csv {EXAMPLES}/gold.csv --measure acc,tau --out e1.csv --json
evaluate r6.csv g2.csv --measure {MEASURES} --skip-empty --out e2.csv --json
train features.csv lists.csv --method ltrma-mle --seed 1 --out t1.json --annotators b1.csv --json
train features.csv lists.csv --method ltrma-s2 --side-information side.toml --out t2.json --annotators b2.csv
predict t1.json features.csv --out p1.csv --json
next s1.csv --annotator annotator03 --count 5 --budget 5000 --width 0.5 --top 3 --out x2.csv --json
next s2.csv --count 3 --out x3.csv --json
replay s1.csv --gold g1.csv --policy information-gain,random --budget 200 --every 100 --seed 0-1 --out y1.csv --json
"""


def simulated() -> dict[str, Any]:
    """Crowds with gold."""
    return {
        "pairs": cr.simulate.pairs(30, 20, 2500, spammers=0.1, malicious=0.1, ties=0.2, order_bias=0.3, seed=1),
        "neighbours": cr.simulate.pairs(60, 10, 3000, tasks=2, neighbours=2, seed=2),
        "grades": cr.simulate.grades(25, 12, tasks=4, scales=(2, 5), difficulty=0.5, gold_grades=4, seed=3),
        "rankings": cr.simulate.rankings(7, 9, tasks=20, theta=(-1.5, 0.2), share=0.8, seed=4),
        "top-k": cr.simulate.rankings(12, 9, tasks=10, top_k=4, seed=5),
    }


def table(kind: str, tasks: int = 3, items: int = 6, annotators: int = 5, noise: float = 0.6) -> pl.DataFrame:
    """What the contract tests begin with: everybody judges everything, each with more noise than the one before."""
    rng, names, rows = np.random.default_rng(0), [f"item{number:02}" for number in range(1, items + 1)], []
    for task, annotator in np.ndindex(tasks, annotators):
        who = (f"task{task}", f"annotator{annotator}")
        seen = -np.arange(items) + rng.normal(0, noise * (annotator + 1), items)
        if kind == "pairs":
            shown = (pair if sum(pair) % 2 else pair[::-1] for pair in combinations(range(items), 2))
            rows += [(*who, names[i], names[j], names[i] if seen[i] > seen[j] else names[j]) for i, j in shown]
        else:
            place = np.argsort(np.argsort(-seen)).tolist()
            rows += [(*who, names[i], 9 - place[i] if kind == "grades" else place[i] + 1) for i in range(items)]
    said = {"grades": ["item", "grade"], "pairs": ["left", "right", "winner"], "rankings": ["item", "rank"]}[kind]
    return pl.DataFrame(rows, schema=["task", "annotator", *said], orient="row")


def odd(kind: str) -> dict[str, pl.DataFrame]:
    """The odd studies of the contract tests, of one kind of judgment."""
    plain, small = table(kind), table(kind, tasks=1, items=3, annotators=2)
    last, tie = {"grades": ("grade", 3), "pairs": ("winner", "tie"), "rankings": ("rank", 1)}[kind]
    loser = pl.when(pl.col(last) == pl.nth(2)).then(pl.nth(3)).otherwise(pl.nth(2))  # of pairs: left and right
    other = pl.col([name for name in plain.columns if name in ("item", "left", "right", "winner")])
    other = other.replace({f"item{number:02}": f"new{9 - number}" for number in range(1, 7)})
    broken = pl.concat([small, small.with_columns(other, annotator="other " + pl.col("annotator"))])
    return {
        "plain": plain,
        "shuffled": plain[np.random.default_rng(1).permutation(len(plain))],
        "repeated": pl.concat([plain, plain]),
        "renamed": plain.with_columns(other),
        "mirrored": plain.with_columns((loser if kind == "pairs" else 9 - pl.col(last)).alias(last)),
        "tied": plain.with_columns(pl.lit(tie).alias(last)),
        "one-tied": plain.with_columns(pl.when(annotator="annotator1").then(pl.lit(tie)).otherwise(last).alias(last)),
        "apart": pl.concat([small, broken.with_columns(task=pl.lit("broken"))]),
        "least": plain[:1],
        "nothing": pl.DataFrame(schema=dict.fromkeys(plain.columns, pl.String)),
        "one-annotator": table(kind, tasks=1, annotators=1, noise=0.0),
        "few-items": table(kind, tasks=1, items=2 if kind == "pairs" else 1, annotators=3),
        "many-tasks": table(kind, tasks=1500, items=3, annotators=2),
    }


def studies() -> Iterator[tuple[str, cr.Judgments]]:
    """What every method is fitted to."""
    yield "example", cr.read(EXAMPLES / "votes.csv")
    for kind in ("grades", "pairs", "rankings"):
        yield from ((f"contract/{kind}-{name}", cr.judgments(frame)) for name, frame in odd(kind).items())
    yield "contract/mixed", cr.judgments(table("grades"), table("pairs"), table("rankings"))
    yield "contract/top-k", cr.judgments(table("rankings").filter(pl.col("rank") <= 3), top_k=True)
    row = pl.int_range(pl.len())
    yield "contract/weighed", cr.judgments(table("pairs").with_columns(weight=0.5 + row % 4, strength=1 + row % 3))
    yield "contract/many-votes", cr.simulate.pairs(1000, 50, 210_000, ties=0.1, seed=1).judgments
    yield from ((f"simulated/{name}", study.judgments) for name, study in simulated().items())
    yield "simulated/spoilt", cr.simulate.spam(simulated()["rankings"].judgments, 0.3, "malicious", seed=1)
    yield from ((f"data/{name}", some_of(name)) for name, (_, some, _) in DATA.items() if "rows" not in some)


def some_of(name: str) -> cr.Judgments:
    """The first tasks of a data set, and the first items of each; or all."""
    file, some, _ = DATA[name]
    if not some:
        return cr.read(DATA_SETS / name / file)
    rows = pl.read_csv(DATA_SETS / name / file, infer_schema=False)
    tasks = rows["task"].unique(maintain_order=True)[: some["tasks"]].to_list()
    kept = rows.filter(pl.col("task").is_in(tasks)).select("task", "item").unique(maintain_order=True)
    kept = kept.group_by("task", maintain_order=True).head(some.get("items", len(rows)))
    rows = rows.join(kept, on=["task", "item"], how="semi", maintain_order="left")
    return cr.judgments(rows, columns=some.get("columns"))


def plain(value: Any) -> Any:
    """A result as JSON has it; of what has fields, each."""
    if isinstance(value, pl.DataFrame):
        return value.to_dict(as_series=False)
    if is_dataclass(value):
        names = [each.name for each in fields(value) if each.name not in NO_RESULT]
        names += ["rank", "ranking", "annotators"] if isinstance(value, cr.Consensus) else []
        return {name: plain(getattr(value, name)) for name in names}
    if hasattr(value, "items"):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def tried(compute: Callable[..., Any], *given: Any, **settings: Any) -> Any:
    """What comes out, or the class of the error that crowdrank answers with."""
    try:
        return plain(compute(*given, **settings))
    except (cr.JudgmentError, cr.SettingError) as error:
        return {"error": type(error).__name__}


def content(path: Path) -> Any:
    """What a file holds: columns, JSON, or lines."""
    if path.suffix in (".csv", ".parquet"):
        return plain(pl.read_csv(path, infer_schema_length=None) if path.suffix == ".csv" else pl.read_parquet(path))
    return json.loads(path.read_bytes()) if path.suffix == ".json" else path.read_text().splitlines()


def written(write: Callable[[Path], None], suffix: str = ".json", read: Callable[[Path], Any] = content) -> Any:
    """What is written to a file, as it is read again."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder, f"file{suffix}"))
        return read(Path(folder, f"file{suffix}"))


def fits() -> Iterator[tuple[str, Any]]:
    """Every study as it is read, and every method on it; then unusual settings, and gold to start from."""
    for name, judgments in studies():
        if len(judgments) < 100_000:
            parts = {kind: judgments.only(kind) for kind in judgments.kinds}
            yield f"{name}/study", {kind: written(partial(cr.write, part), ".csv") for kind, part in parts.items()}
        yield from ((f"{name}/{method}", tried(cr.fit, method, judgments)) for method in cr.METHODS)
    made = simulated()
    for number, (name, methods, settings) in enumerate(SETTINGS):
        for method in methods.split():
            yield f"settings/{name}/{method}-{number}", tried(cr.fit, method, made[name].judgments, **settings)
    for name in ("pairs", "rankings"):
        fit = partial(cr.fit, judgments=made[name].judgments, gold=made[name].gold)
        yield from ((f"gold/{name}/{method}", tried(fit, method)) for method in cr.METHODS)


def learned(learn: Callable[[], Any], load: Callable[[Path], Any], rank: Callable[[Any], Any]) -> dict[str, Any]:
    """What the file of something learned holds, and how it ranks before and after it was saved."""
    model = learn()
    save = partial(cr.save, model)
    return {"saved": written(save), "ranks": rank(model), "loaded": rank(written(save, read=load))}


def trained() -> Iterator[tuple[str, Any]]:
    """Methods that learn from gold."""
    made = {name: (study.judgments, study.gold) for name, study in simulated().items()}
    made["letor_mq2008_agg"] = some_of("letor_mq2008_agg"), cr.read_gold(DATA_SETS / "letor_mq2008_agg" / "gold.csv.gz")
    for name, (judgments, gold) in made.items():
        for method in cr.SUPERVISED:
            learn = partial(cr.train, method, judgments, gold)
            yield f"trained/{name}/{method}", tried(learned, learn, cr.load, methodcaller("fit", judgments))


def features_and_gold(name: str) -> tuple[pl.DataFrame, cr.Gold]:
    """The first rows of a LETOR data set."""
    file, some, _ = DATA[name]
    rows = pl.read_csv(DATA_SETS / name / file, n_rows=some["rows"])
    return rows.drop("grade", "fold_part"), cr.gold(rows.select("task", "item", "grade"))


def rankers() -> Iterator[tuple[str, Any]]:
    """Rankers that learn from grades, lists, gold, and labels by other methods."""
    for name in ("letor3_ohsumed", "letor_mq2008"):
        frame, gold = features_and_gold(name)
        graded = cr.simulate.regrade(gold, annotators=6, labels=3, seed=1).judgments
        lists = cr.simulate.rankings(gold=gold, annotators=5, theta=(-1.5, 0.1), length=6, seed=1).judgments
        jobs: list[tuple[str, str, Any, dict[str, Any]]] = [("soft", "lambdamart", graded, {"soft": True})]
        jobs += [(label, "listmle", graded, {"labels": label}) for label in ("mean", "gda", "bradley-terry")]
        for kind, teaching in {"grades": graded, "lists": lists, "gold": gold}.items():
            jobs += [(kind, learner, teaching, {"side": SIDES.get(learner)}) for learner in cr.LEARNERS]
        for kind, learner, teaching, settings in jobs:
            learn = partial(cr.learn, learner, cr.features(frame), teaching, **settings)
            found = tried(learned, learn, cr.load_ranker, methodcaller("rank", cr.features(frame)))
            yield f"rankers/{name}/{learner}-{kind}", found


def collected() -> Iterator[tuple[str, Any]]:
    """What is believed, what to ask next, when to stop, and replays."""
    for name, study in simulated().items():
        judgments, begun = study.judgments, cr.State.start().update(study.judgments)
        states = {
            "begun": begun,
            "refitted": begun.refit(judgments),
            "answered": begun.answer("ann", "x", "y", "tie", task="task1"),
        }
        yield f"collect/{name}/states", {key: written(state.save) for key, state in states.items()}
        yield f"collect/{name}/beliefs", {key: state.consensus() for key, state in states.items()}
        yield f"collect/{name}/stopping", tried(cr.stopping, judgments, budget=5000, width=1.0, top_k=2)
        for policy in cr.POLICIES:
            found = {"replay": tried(cr.replay, judgments, study.gold, policy, budget=100, seeds=2)}
            for who in (None, "annotator01", ["annotator1", "annotator2"]):
                found[f"ask {who}"] = tried(cr.next_questions, judgments, who, 4, policy=policy, seed=1)
            yield f"collect/{name}/{policy}", found


def measured(method: str, judgments: cr.Judgments, gold: cr.Gold) -> dict[str, Any]:
    """Neighbours, labels and measures of a fit, and its intervals by resampling."""
    consensus = cr.fit(method, judgments)
    found = {part.__name__: tried(part, consensus) for part in (cr.neighbours, cr.labels)}
    for name, measures in {"usual": None, "measures": MEASURES.split(",")}.items():
        found[name] = tried(cr.evaluate, consensus, gold, measures)
    for over in ("judgments", "annotators"):
        found[over] = tried(cr.bootstrap, method, judgments, over=over, rounds=10, seed=1)
    return found


def evaluated() -> Iterator[tuple[str, Any]]:
    """Methods measured one by one, and compared."""
    for name, study in simulated().items():
        compared = cr.compare(study.judgments, study.gold, folds=2 if name == "rankings" else None)
        tables = {"table": compared.table, "tests": compared.tests, "per_task": compared.per_task}
        yield f"evaluate/{name}/compare", tables
        for method in cr.METHODS:
            yield f"evaluate/{name}/{method}", tried(measured, method, study.judgments, study.gold)


def commands() -> Iterator[tuple[str, Any]]:
    """What each command prints, and the files it writes."""
    features, gold = features_and_gold("letor_mq2008")
    lists = cr.simulate.rankings(gold=gold, annotators=5, theta=(-1.5, 0.1), seed=1).judgments
    environment = os.environ | {"PYTHONPATH": str(Path(cr.__file__).resolve().parents[1])}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, what in {"features": features, "gold": gold, "lists": lists}.items():
            cr.write(what, folder / f"{file}.csv")
        (folder / "side.toml").write_text("[theta]\nannotator1 = { low = -3, high = -0.1, confidence = 20 }\n")
        for number, line in enumerate(COMMANDS.split("\n")[1:-1]):
            before, command = set(folder.iterdir()), [sys.executable, "-m", "crowdrank", *line.split()]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"crowdrank {line}: status {done.returncode}: {done.stderr}")
            printed = {"json": json.loads(done.stdout)} if "--json" in line else {"screen": done.stdout}
            files = {path.name: content(path) for path in sorted(set(folder.iterdir()) - before)}
            yield f"command/{number:02}-{line.split()[0]}", {**printed, **files}


def take(folder: Path, names: list[str]) -> None:
    """Compute everything, or the parts of these names, and write it to a new folder."""
    folder.mkdir(parents=True)
    began = time.perf_counter()
    print("with", cr.__file__, flush=True)
    parts = (fits, trained, rankers, collected, evaluated, commands)
    for part in (each for each in parts if not names or each.__name__ in names):
        for study, results in groupby(part(), key=lambda each: each[0].rpartition("/")[0]):
            for name, found in results:
                path = folder / f"{name}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(plain(found)))
            print(f"{time.perf_counter() - began:6.1f} s  {study}", flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["take", folder, *parts]:
            take(Path(folder), parts)
        case ["compare", before, after]:
            sys.exit(compare(Path(before), Path(after)))
        case _:
            sys.exit(__doc__)
