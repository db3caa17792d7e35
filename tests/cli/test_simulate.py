"""`crowdrank simulate`."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import crowdrank as cr


def test_simulate(run):
    """The same seed writes the same files, and they can be ranked."""
    for name, seed in (("one", "5"), ("two", "5"), ("three", "6")):
        words = ("--out", f"{name}.csv", "--gold", f"{name}-gold.csv", "--quality-out", f"{name}-quality.csv")
        done = run("simulate", "pairs", *words, "--items", "10", "--annotators", "4", "--votes", "200", "--seed", seed)
        assert done.out.startswith("simulated 200 pairs by 4 annotators on 10 items in 1 task\nvotes written to ")
    for end in (".csv", "-gold.csv", "-quality.csv"):
        assert Path(f"one{end}").read_bytes() == Path(f"two{end}").read_bytes() != Path(f"three{end}").read_bytes()
    assert run("rank", "one.csv", "--out", "ranking.csv").code == 0
    assert run("evaluate", "ranking.csv", "one-gold.csv").code == 0


def test_simulate_grades(run):
    """The same with grades, on scales of different length."""
    for name in ("one", "two"):
        words = ("--out", f"{name}.csv", "--gold", f"{name}-gold.csv", "--quality-out", f"{name}-quality.csv")
        done = run(
            "simulate", "grades", *words, "--items", "10", "--annotators", "6", "--labels", "3", "--scales", "2,5"
        )
        assert done.out.startswith("simulated 30 grades by 6 annotators on 10 items in 1 task\ngrades written to ")
    for end in (".csv", "-gold.csv", "-quality.csv"):
        assert Path(f"one{end}").read_bytes() == Path(f"two{end}").read_bytes()
    crowd = pl.read_csv("one-quality.csv")
    assert crowd.columns == ["annotator", "quality", "kind", "scale", "bias", "noise"]
    assert crowd["scale"].to_list() == [2, 5] * 3
    assert run("simulate", "grades", "--out", "g.csv", "--gold", "gg.csv", "--gold-grades", "3").code == 0
    assert pl.read_csv("gg.csv").columns == ["task", "item", "grade"]
    assert run("rank", "g.csv", "--method", "dawid-skene", "--out", "ranking.csv").code == 0
    assert run("evaluate", "ranking.csv", "gg.csv", "--measure", "ndcg@10").code == 0


def test_added_spammers(run, folder):
    done = run("simulate", "spam", "votes.csv", "--share", "0.5", "--kind", "malicious", "--out", "spammed.csv")
    assert done.code == 0
    before, after = cr.read("votes.csv"), cr.read("spammed.csv")
    assert len(after.vocabulary.annotators) == round(1.5 * len(before.vocabulary.annotators))
    assert "malicious" in str(after.vocabulary.annotators[-1])


def test_added_spammers_of_several_kinds(run, folder):
    cr.write(pl.DataFrame({"annotator": ["a", "a", "b"], "item": ["x", "y", "x"], "grade": [1, 0, 1]}), "grades.csv")
    assert run("simulate", "spam", "votes.csv", "grades.csv", "--out", "spammed.csv.gz").code == 0
    assert not Path("spammed.csv.gz").exists()
    assert cr.read("spammed-pairs.csv.gz", "spammed-grades.csv.gz").kinds == ("grades", "pairs")


def test_an_unknown_kind_of_spam_is_refused(run, folder):
    done = run("simulate", "spam", "votes.csv", "--kind", "evil", "--out", "spammed.csv")
    assert done.code == 2
    assert "random, malicious" in done.err
    assert not Path("spammed.csv").exists()


def test_simulated_rankings(run):
    done = run(
        "simulate",
        "rankings",
        "--out",
        "made.csv",
        "--gold",
        "made-gold.csv",
        "--tasks",
        "4",
        "--cut",
        "3",
        "--theta=-1,0.2",
    )
    assert done.code == 0
    assert "simulated 40 rankings by 10 annotators on 10 items in 4 tasks" in done.out
    assert run("simulate", "rankings", "--out", "again.csv", "--truth", "made-gold.csv", "--swaps").code == 0
    assert run("simulate", "rankings", "--out", "bad.csv", "--theta", "x").code == 2
