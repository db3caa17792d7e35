"""What is wrong is said in a line, with exit status 2, before anything is written."""

from __future__ import annotations

import os

import pytest

WRONG = {
    "unknown method": ("rank votes.csv --method crowdbt", "no method 'crowdbt' (did you mean 'crowd-bt'?)"),
    "method of no likeness": ("rank votes.csv --method zzz", "no method 'zzz'; `crowdrank methods` lists them all"),
    "method by another name": ("rank votes.csv --method kemeny", "no method 'kemeny' (here it is 'mallows')"),
    "method by its letters": ("rank votes.csv --method BT", "no method 'BT' (here it is 'bradley-terry')"),
    "method in capitals": ("rank votes.csv --method Crowd_BT", "no method 'Crowd_BT' (here it is 'crowd-bt')"),
    "method that learns": ("rank votes.csv --method lambdarank", "here it is 'lambdamart', which learns from features"),
    "other name shown": ("methods copeland", "no method 'copeland' (here it is 'condorcet')"),
    "other name compared": ("compare votes.csv --gold gold.csv --method average", "(here it is 'mean')"),
    "neither yes nor no": ("rank votes.csv --set intervals=maybe", "intervals is 'maybe'; it must be true or false"),
    "unknown method shown": ("methods bordo", "did you mean 'borda'?"),
    "unknown method compared": ("compare votes.csv --gold gold.csv --method bordo", "did you mean 'borda'?"),
    "set without =": ("rank votes.csv --set prior", "--set prior: write it as name=value"),
    "set without value": ("rank votes.csv --set prior=", "--set prior=: write it as name=value"),
    "no number": ("rank votes.csv --set prior=abc", "prior is 'abc'; it must be a number"),
    "no whole number": ("rank votes.csv --set max_iter=1.5", "max_iter is '1.5'; it must be a whole number"),
    "not two numbers": ("rank votes.csv --set quality_prior=1", "it must be numbers with commas, like 2,1"),
    "no choice": ("rank votes.csv --set quality_per=life", "it must be one of study, task"),
    "below zero": ("rank votes.csv --set prior=-1", "prior is -1.0; it must be a number of at least 0"),
    "not finite": ("rank votes.csv --set prior=nan", "prior is nan; it must be a number of at least 0"),
    "unknown setting": ("rank votes.csv --set priors=1", "no setting 'priors' (did you mean 'prior'?); it has prior,"),
    "gold of no use": ("rank votes.csv --method bradley-terry --gold gold.csv", "does not use gold; these methods do"),
    "gold of no use by default": ("rank grades.parquet --gold gold.csv", "gda does not use gold"),
    "missing folder": ("rank votes.csv --out no/such/r.csv", "no/such/r.csv: there is no folder no/such"),
    "a folder": ("rank votes.csv --out folder.csv", "folder.csv: is a folder"),
    "unknown suffix": ("rank votes.csv --out r.xls", "r.xls: unknown kind of file '.xls'; it must be .csv"),
    "no suffix": ("rank votes.csv --out r", "r: unknown kind of file"),
    "out is an input": ("rank votes.csv --out votes.csv", "votes.csv: is named twice"),
    "out is the gold": ("rank votes.csv --gold gold.csv --out gold.csv", "gold.csv: is named twice"),
    "out is annotators": ("rank votes.csv --out r.csv --annotators ./r.csv", "r.csv: is named twice"),
    "missing file": ("rank nothing.csv", "nothing.csv: no such file"),
    "unknown role": ("rank votes.csv --column nobody=x", "no role 'nobody' for a column"),
    "unknown column": ("rank votes.csv --column left=lefd", "no column 'lefd' (did you mean 'left'?)"),
    "wrong kind": ("rank votes.csv --method mean", "mean needs grades; this study has only pairs"),
    "unknown measure": ("evaluate votes.csv gold.csv --measure ndgc", "votes.csv: needs item and one of"),
    "simulated share": ("simulate pairs --out v.csv --spammers 2", "spammers is 2.0; it must be a share"),
    "simulated scales": ("simulate grades --out v.csv --scales 2;5", "it must be whole numbers with commas"),
    "simulated labels": ("simulate grades --out v.csv --labels 99", "it must be at most the number of annotators"),
    "simulated quality": ("simulate pairs --out v.csv --quality good", "it must be two numbers with a comma"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_wrong_words_are_explained(run, folder, what):
    words, message = WRONG[what]
    (folder / "folder.csv").mkdir()
    before = sorted(folder.iterdir())
    done = run(*words.split())
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("rank", "votes.csv", "--methid", "borda"), "--method"),
        (("rank", "votes.csv", "--seed", "x"), "--seed"),
        (("rank",), "FILES"),
        (("compare", "votes.csv"), "--gold"),
        (("rang",), "rank"),
    ],
)
def test_wrong_options_are_explained(run, words, hint):
    """These are Typer's own words."""
    done = run(*words)
    assert (done.code, done.out) == (2, "")
    assert hint in done.err
    assert "Traceback" not in done.err


def test_wrong_rows_are_shown(run, folder):
    """Up to ten of them, with their lines, then a count."""
    rows = "".join(f"ann,a,b,{'x' if number % 2 else 'a'}\n" for number in range(30))
    (folder / "wrong.csv").write_text("annotator,left,right,winner\n" + rows)
    done = run("rank", "wrong.csv", "--out", "r.csv")
    lines = done.err.splitlines()
    assert done.code == 2
    assert lines[0] == "wrong.csv:3: winner 'x' is neither 'a' nor 'b'"
    assert lines[10] == "… and 5 more rows like these; where neither won, write 'tie'"
    assert len(lines) == 11
    assert not (folder / "r.csv").exists()


def test_only_a_header(run, folder):
    (folder / "empty.csv").write_text("annotator,left,right,winner\n")
    done = run("rank", "empty.csv")
    assert (done.code, done.err) == (2, "empty.csv: no judgments, only a header\n")


def test_a_folder_that_cannot_be_written(run, folder):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (folder / "locked").mkdir(mode=0o500)
    done = run("rank", "votes.csv", "--out", "locked/r.csv")
    assert done.code == 2
    assert "cannot be written" in done.err


def test_really(run_really):
    """The same in its own process: status, one line, no traceback."""
    done = run_really("rank", "votes.csv", "--method", "crowdbt")
    assert (done.code, done.out) == (2, "")
    assert done.err == "no method 'crowdbt' (did you mean 'crowd-bt'?); `crowdrank methods` lists them all\n"
