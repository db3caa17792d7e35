"""`--report` of the commands, `rank --chart`, and `crowdrank report`."""

from __future__ import annotations

from pathlib import Path

import pytest


def headings(path: str) -> list[str]:
    import re

    return re.findall(r"<h2>(.*?)</h2>", Path(path).read_text(encoding="utf-8").partition("<script>")[0])


def test_rank_writes_a_report_with_the_command_to_repeat_it(run):
    words = ("rank", "votes.csv", "--method", "bradley-terry", "--report", "r.html", "--report-gold", "gold.csv")
    done = run(*words)
    assert done.code == 0, done.err
    assert "report written to r.html" in done.out
    assert "Against gold" in headings("r.html")
    assert "crowdrank rank votes.csv --method bradley-terry" in Path("r.html").read_text(encoding="utf-8")


def test_a_saved_ranking_gives_nearly_the_same_report(run):
    run("rank", "votes.csv", "--method", "bradley-terry", "--out", "ranking.csv", "--annotators", "annotators.csv")
    done = run(
        "report", "ranking.csv", "--annotators", "annotators.csv", "--judgments", "votes.csv", "--gold", "gold.csv",
        "--out", "saved.html", "--title", "Our study",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert headings("saved.html") == [
        "Ranking", "Close calls", "Annotators", "Disputed items", "Reliability", "Against gold", "Data and fit",
        "How it was computed",
    ]  # fmt: skip
    assert "<h1>Our study</h1>" in Path("saved.html").read_text(encoding="utf-8")


def test_a_report_of_printed_json(run):
    Path("result.json").write_text(run("rank", "topics.csv", "--json").out, encoding="utf-8")
    done = run("report", "result.json", "--out", "saved.html")
    assert done.code == 0, done.err
    assert "crowd-bt" in Path("saved.html").read_text(encoding="utf-8")
    assert "Annotators" in headings("saved.html")


@pytest.mark.parametrize(("name", "content"), [("x.json", "{}"), ("x.json", "nothing"), ("x.csv", "a,b\n1,2\n")])
def test_files_without_a_ranking_are_refused(run, name, content):
    Path(name).write_text(content)
    done = run("report", name, "--out", "saved.html")
    assert done.code == 2
    assert done.err.startswith(name)
    assert not Path("saved.html").exists()


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1", "has no ranking"),
        ('{"left": "x", "winner": "x"}', "has no items to show; a report is of a ranking, as `crowdrank rank FILES"),
        ('{"item": "x", "score": "much"}', "row 0: score 'much' is not a finite number"),
    ],
)
def test_a_wrong_row_is_named_with_its_file(run, row, reason):
    Path("edited.json").write_text(f'{{"ranking": [{row}]}}', encoding="utf-8")
    done = run("report", "edited.json", "--out", "r.html")
    assert done.code == 2
    assert done.err.startswith(f"edited.json: {reason}")


@pytest.mark.parametrize("name", ["chart.svg", "chart.html", "chart.png"])
def test_rank_draws_a_chart(run, name):
    done = run("rank", "votes.csv", "--method", "bradley-terry", "--chart", name)
    assert done.code == 0, done.err
    assert Path(name).stat().st_size > 1000


def test_other_commands_write_reports(run):
    assert run("describe", "votes.csv", "--report", "d.html").code == 0
    done = run("replay", "votes.csv", "--gold", "gold.csv", "--budget", "60", "--report", "p.html")
    assert done.code == 0, done.err
    assert headings("d.html")[:1] == ["Warnings"] or "Counts" in headings("d.html")
    assert "Curves" in headings("p.html")


def test_comparisons_have_a_report(run):
    done = run("compare", "votes.csv", "--gold", "gold.csv", "--method", "elo,bradley-terry", "--report", "c.html")
    assert done.code == 0, done.err
    assert headings("c.html") == ["Scores", "Where methods agree", "Notes", "To repeat it"]


def test_a_chosen_method_is_explained(run):
    assert "note: crowd-bt was chosen because it is the usual method for pairs" in run("rank", "votes.csv").out


@pytest.mark.parametrize(("method", "caption"), [("listmle", "Weights: how much"), ("lambdamart", "Share of each")])
def test_training_and_prediction_have_reports(run, features_and_lists, method, caption):
    done = run("train", "features.csv", "lists.csv", "--method", method, "--out", "m.json", "--report", "t.html")
    assert done.code == 0, done.err
    assert "Settings" in headings("t.html")
    assert caption in Path("t.html").read_text(encoding="utf-8")
    done = run("predict", "m.json", "features.csv", "--report", "p.html")
    assert done.code == 0, done.err
    assert "Ranking" in headings("p.html")
    assert "--bootstrap" not in Path("p.html").read_text(encoding="utf-8")  # rankers cannot be bootstrapped
