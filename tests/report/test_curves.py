import numpy as np
import pytest
from scipy.stats import norm

import crowdrank as cr
from crowdrank import report
from crowdrank.settings import InputError


@pytest.fixture(scope="module")
def study():
    return cr.simulate.grades(items=60, annotators=8, labels=5, scales=(3,), spammers=0.25, seed=3)


@pytest.fixture(scope="module")
def consensus(study):
    return cr.fit("gda", study.judgments)


def values(chart):
    """The rows of data of a chart."""
    return chart.data.to_dict()["values"]


def test_grades_of_an_annotator_are_all_there_is_at_every_relevance(consensus):
    chart = report.grade_curves(consensus, ["annotator2", "annotator5"])
    chance, density = (values(panel) for panel in chart.hconcat)
    for rows, expected in ((chance, lambda _: 1.0), (density, norm.pdf)):
        sums = {}
        for row in rows:
            key = row["annotator"], round(row["relevance"], 6)
            sums[key] = sums.get(key, 0.0) + row["value"]
        assert {name for name, _ in sums} == {"annotator2", "annotator5"}
        assert all(total == pytest.approx(expected(at), abs=2e-3) for (_, at), total in sums.items())


def test_without_names_the_most_and_the_least_informative_are_shown(consensus):
    shown = {row["annotator"] for row in values(report.grade_curves(consensus).hconcat[0])}
    people = consensus.annotators.sort("informativeness")
    assert {people["annotator"][0], people["annotator"][-1]} <= shown


def test_relevance_narrows_from_the_prior_to_the_posterior_of_the_fit(study, consensus):
    words = consensus.vocabulary
    items = [words.items[words.entry_item[entry]] for entry in (0, 7, 59)]
    rows = values(report.narrowing(consensus, study.judgments, items))
    for entry, item in zip((0, 7, 59), items, strict=True):
        own = sorted((row for row in rows if row["item"] == item), key=lambda row: row["grades"])
        assert len(own) == 5 + 1
        half = norm.ppf(0.75)
        assert (own[0]["mean"], own[0]["low"], own[0]["high"]) == pytest.approx((0, -half, half), abs=0.01)
        assert own[-1]["mean"] == pytest.approx(consensus.score[entry], abs=0.05)
        assert own[-1]["high"] - own[-1]["low"] < own[0]["high"] - own[0]["low"]


def test_curves_of_one_task_each_are_those_of_the_task_of_the_item():
    study = cr.simulate.grades(items=20, annotators=6, labels=4, tasks=2, seed=1)
    consensus = cr.fit("gda", study.judgments, quality_per="task")
    rows = values(report.narrowing(consensus, study.judgments, task="task2"))
    last = {row["item"]: row["mean"] for row in sorted(rows, key=lambda row: row["grades"])}
    words = consensus.vocabulary
    second = {
        words.items[words.entry_item[entry]]: consensus.score[entry] for entry in np.flatnonzero(words.entry_task == 1)
    }
    assert last == pytest.approx({item: second[item] for item in last}, abs=0.05)


def test_what_cannot_be_drawn_is_refused(study, consensus):
    with pytest.raises(InputError, match="mean does not estimate curves of grades"):
        report.grade_curves(cr.fit("mean", study.judgments))
    with pytest.raises(InputError, match="no annotator 'nobody'"):
        report.grade_curves(consensus, ["nobody"])
    with pytest.raises(InputError, match="no item 'nothing'"):
        report.narrowing(consensus, study.judgments, ["nothing"])


def test_a_chart_is_a_picture(consensus, tmp_path):
    report.grade_curves(consensus).save(tmp_path / "curves.svg")
    assert (tmp_path / "curves.svg").read_text().startswith("<svg")
