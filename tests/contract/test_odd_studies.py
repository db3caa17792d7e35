"""Studies at the edges: empty, tiny, tied, disconnected, mixed, huge, with names nobody expects."""

from __future__ import annotations

import time

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.study import KINDS

ODD_NAMES = ['say "hi"', "a,b", "two\nlines", "🦊 emoji", "two  spaces", "tab\there", "'", "Ünïcödé", "[b]x[/b]", "-1"]
SLOW = ("mpm", "variance-bt", "crowd-thurstone")  # they learn many parameters of annotators


def check_quality(consensus):
    quality = consensus.annotators["quality"]
    assert quality.drop_nulls().is_between(0, 1).all()
    assert not quality.is_nan().any()


def test_empty_study(case, studies):
    """No judgments: no ranking, and no error."""
    consensus = case.fit(studies.nothing(case.kind))
    assert consensus.ranking.is_empty()
    assert consensus.annotators.is_empty()
    assert consensus.ranking.columns[:6] == ["task", "item", "rank", "score", "low", "high"]


def test_one_judgment(case, studies):
    """One task, one annotator, one judgment."""
    consensus = case.fit(studies.study(studies.least(case.kind)))
    assert consensus.annotators["judgments"].to_list() == [1]
    assert len(consensus.ranking) == (2 if case.kind == "pairs" else 1)
    check_quality(consensus)


def test_one_item(case, studies):
    """A single item is the best, or has nothing to be compared with."""
    if case.kind == "pairs":
        pytest.skip("a pair has two items")
    consensus = case.fit(studies.study(studies.table(case.kind, tasks=1, items=1, annotators=3)))
    assert consensus.ranking["rank"].to_list() in ([1], [None])
    check_quality(consensus)


def test_one_annotator(case, studies):
    """One annotator without contradictions is believed."""
    consensus = case.fit(studies.study(studies.table(case.kind, tasks=1, annotators=1, noise=0.0)))
    assert consensus.ranking["item"].to_list() == sorted(consensus.ranking["item"])
    assert consensus.ranking["rank"].to_list() == [1, 2, 3, 4, 5, 6]
    assert len(consensus.annotators) == 1


def test_all_ties(case, studies):
    """Where everything is a tie, everything shares the first rank."""
    consensus = case.fit(studies.study(studies.tied(case.kind, studies.table(case.kind))))
    assert set(consensus.ranking["rank"]) == {1}
    check_quality(consensus)


def test_annotator_who_only_tied(case, studies):
    """Ties say nothing about who gave them; the others decide."""
    table = studies.tied(case.kind, studies.table(case.kind, noise=0.0), annotator="annotator1")
    consensus = case.fit(studies.study(table))
    assert consensus.ranking.filter(pl.col("task") == "task0")["item"].to_list() == [f"item{i:02}" for i in range(1, 7)]
    check_quality(consensus)
    verdict = dict(consensus.annotators.select("annotator", "verdict").iter_rows())
    assert verdict["annotator1"] in ("unclear", "one-sided", "random")


def test_disconnected_tasks_get_a_note(case, studies):
    """Methods that compare items note which tasks are disconnected, and their parts; grades need no comparison."""
    consensus = case.fit(studies.study(studies.apart(case.kind)))
    notes = [note for note in consensus.notes if "do not connect" in note]
    if "rankings" in case.method.description.takes:
        assert consensus.disconnected == {"broken": 2}
        assert len(notes) == 1
        assert "broken (2 parts)" in notes[0]
    else:
        assert consensus.disconnected == {}
    connected = case.fit(studies.study(studies.table(case.kind)))
    assert connected.disconnected == {}


def test_many_small_tasks(main_case, studies):
    """Thousands of tasks of three items are fitted in time; a note says if not converged."""
    tasks = 1_000 if main_case.name in SLOW else 2_000
    main_case.fit(studies.many_tasks(main_case.kind, tasks=10))  # compiles
    judgments = studies.many_tasks(main_case.kind, tasks)
    start = time.perf_counter()
    consensus = main_case.fit(judgments)
    assert len(consensus.ranking) == 3 * tasks
    assert time.perf_counter() - start < 60
    assert consensus.fit.converged or any("not converged" in note for note in consensus.notes)


@pytest.mark.parametrize("suffix", ["csv", "tsv.gz", "jsonl", "parquet"])
def test_odd_names_survive(main_case, studies, tmp_path, suffix):
    """Quotes, commas, line breaks and emoji go from file to file unharmed."""
    table = studies.table(main_case.kind, tasks=1, items=len(ODD_NAMES))
    new = dict(
        zip(sorted({*table.get("item", []), *table.get("left", []), *table.get("right", [])}), ODD_NAMES, strict=True)
    )
    table = {name: [new.get(v, v) for v in values] for name, values in table.items()}
    table["annotator"] = [f'"{name}",\n🦉' for name in table["annotator"]]
    cr.write(pl.DataFrame(table), tmp_path / f"votes.{suffix}")
    consensus = main_case.fit(cr.read(tmp_path / f"votes.{suffix}"))
    cr.write(consensus, tmp_path / f"ranking.{suffix}")
    again = cr.read_ranking(tmp_path / f"ranking.{suffix}")
    assert studies.scores(again) == pytest.approx(studies.scores(consensus))
    assert {item for _, item in studies.scores(again)} == set(ODD_NAMES)
    assert consensus.annotators["annotator"].to_list() == sorted(set(table["annotator"]))


def test_mixed_study(main_case, studies):
    """Grades, pairs and rankings at once: what the method cannot use is not used, and a note says so."""
    consensus = main_case.fit(studies.mixed())
    assert not np.isnan(consensus.score).any()
    for kind in KINDS:
        notes = [note for note in consensus.notes if f" {kind} not used" in note]
        assert len(notes) == (0 if kind in main_case.method.description.takes else 1)


def test_wrong_kind_is_refused(wrong_case, studies):
    """The error says what the method needs and what the study has."""
    judgments = studies.study(studies.table(wrong_case.kind))
    with pytest.raises(cr.JudgmentError, match=f"{wrong_case.name} needs .*only {wrong_case.kind}") as error:
        wrong_case.fit(judgments)
    assert all(kind in str(error.value) for kind in wrong_case.method.description.takes)
