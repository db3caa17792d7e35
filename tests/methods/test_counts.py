"""Rankings that stand for several equal ones: results equal those of the rankings written out."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crowdrank as cr

WEIGHING = ["borda", "median-rank", "rrf", "plackett-luce", "mallows", "condorcet", "bradley-terry", "thurstone",
            "majority-bradley-terry", "crowd-bt", "crowd-thurstone"]  # fmt: skip
OTHERS = ["crowdagg", "cps", "elo", "trueskill"]


def tables(orders, counts, ties):
    """The same rankings, counted and written out."""
    rows = [
        (number, item, max(place - tied, 0), count)
        for number, (order, count, tied) in enumerate(zip(orders, counts, ties, strict=True))
        for place, item in enumerate(order)
    ]
    counted = pl.DataFrame(rows, schema=["list", "item", "rank", "weight"], orient="row")
    copies = [counted.with_columns(copy=pl.lit(copy)).filter(pl.col("weight") > copy) for copy in range(max(counts))]
    written = pl.concat(copies).with_columns(list=pl.format("{} {}", "list", "copy")).drop("weight", "copy")
    return counted, written


@pytest.mark.parametrize("top_k", [False, True])
@pytest.mark.parametrize("name", WEIGHING + OTHERS)
def test_counted_and_written_out_are_the_same(name, top_k):
    orders = ["abcd", "badc", "dc", "cab", "dabc"]
    counted, written = tables(orders, [5, 1, 3, 2, 4], [0, 1, 0, 0, 2])
    one, other = (cr.fit(name, cr.judgments(table, top_k=top_k)) for table in (counted, written))
    tolerance = 0.05 if name in ("elo", "trueskill") else 1e-6
    if name not in ("elo", "trueskill"):  # which depend on the order of the votes
        assert one.score == pytest.approx(other.score, rel=tolerance, abs=tolerance)
        assert one.rank.tolist() == other.rank.tolist()
    assert one.annotators["judgments"].to_list() == other.annotators["judgments"].to_list()
    if one.low is not None and name not in ("elo", "trueskill"):
        assert one.low == pytest.approx(other.low, rel=1e-4, abs=1e-4)


@settings(max_examples=30, deadline=None)
@given(
    orders=st.lists(
        st.permutations("abcde").flatmap(lambda o: st.integers(2, 5).map(lambda n: o[:n])), min_size=1, max_size=6
    ),
    data=st.data(),
)
def test_closed_forms_are_the_same_for_any_counts(orders, data):
    counts = data.draw(st.lists(st.integers(1, 6), min_size=len(orders), max_size=len(orders)))
    ties = data.draw(st.lists(st.integers(0, 2), min_size=len(orders), max_size=len(orders)))
    counted, written = (cr.judgments(table) for table in tables(orders, counts, ties))
    for name in ("borda", "median-rank", "rrf", "mallows", "condorcet"):
        one, other = cr.fit(name, counted).score, cr.fit(name, written).score
        assert np.allclose(one, other, atol=1e-9, equal_nan=True), name


def test_an_election_of_a_million_costs_what_its_orders_cost():
    """Written out it would be ten million rows, more than crowdagg takes."""
    rng = np.random.default_rng(0)
    orders = [rng.permutation(20).tolist() for _ in range(250)]
    counted, _ = tables(orders, [1] * 250, [0] * 250)
    study = cr.judgments(counted.with_columns(weight=pl.lit(4000)))
    assert (study.counts["rankings"], len(study.rankings)) == (1_000_000, 5000)
    first = cr.fit("plackett-luce", study)
    assert first.fit.converged
    with pytest.raises(cr.JudgmentError, match="use one that counts equal rankings"):
        cr.fit("crowdagg", cr.judgments(counted.with_columns(weight=pl.lit(40_000))))


def test_the_bootstrap_draws_voters():
    counted, _ = tables(["abc", "bac"], [600, 400], [0, 0])
    result = cr.bootstrap(cr.Borda(), cr.judgments(counted), rounds=200, seed=0)
    # A voter gives a 1 or 1/2: the standard error is sqrt(.6 * .4 / 1000) / 2.
    assert result.high[0] - result.low[0] == pytest.approx(2 * 1.96 * np.sqrt(0.24 / 1000) / 2, rel=0.2)


@pytest.mark.parametrize(
    ("weight", "wrong"), [("1.5", "must be a whole number"), ("0", "must be above 0"), ("x", "finite")]
)
def test_what_is_no_count_is_refused(tmp_path, weight, wrong):
    (tmp_path / "r.csv").write_text(f"list,item,rank,weight\n1,a,1,{weight}\n1,b,2,{weight}\n")
    with pytest.raises(cr.JudgmentError, match=wrong):
        cr.read(tmp_path / "r.csv")


def test_rows_of_a_list_agree_on_its_count(tmp_path):
    (tmp_path / "r.csv").write_text("list,item,rank,weight\n1,a,1,2\n1,b,2,3\n")
    with pytest.raises(cr.JudgmentError, match=r"r.csv:\d: weight differs from another row of the same list"):
        cr.read(tmp_path / "r.csv")
