"""Which column is which: the names users already have, and any name by option."""

import shlex

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.study import LEFT, RIGHT, TIE


def pairs(study) -> list[tuple]:
    words, rows = study.vocabulary, study.pairs
    item = words.items[words.entry_item]
    return list(
        zip(words.annotators[rows.annotator], item[rows.left], item[rows.right], rows.outcome.tolist(), strict=True)
    )


def grades(study) -> list[tuple]:
    words, rows = study.vocabulary, study.grades
    task, item = words.tasks[words.entry_task], words.items[words.entry_item]
    return list(
        zip(words.annotators[rows.annotator], task[rows.entry], item[rows.entry], rows.grade.tolist(), strict=True)
    )


def lists(study) -> list[tuple]:
    words, rows = study.vocabulary, study.rankings
    who, item = words.annotators[rows.list_annotator[rows.row_list]], words.items[words.entry_item[rows.entry]]
    return list(zip(rows.row_list.tolist(), who, item, rows.position.tolist(), strict=True))


def test_crowd_kit_labels_are_grades_of_its_task():
    study = cr.judgments({"worker": ["w", "v"], "task": ["x", "y"], "label": [1, 0]})
    assert grades(study) == [("w", "all", "x", 1.0), ("v", "all", "y", 0.0)]


def test_crowd_kit_pairs():
    study = cr.judgments({"worker": ["w", "v"], "left": ["x", "y"], "right": ["y", "x"], "label": ["x", "x"]})
    assert pairs(study) == [("w", "x", "y", LEFT), ("v", "y", "x", RIGHT)]


@pytest.mark.parametrize("names", [("model_a", "model_b"), ("Model_A", "MODEL_B"), (" model_a", "model_b ")])
def test_arena(names):
    said = ["model_a", "model_b", "tie", "both_bad", "tie (bothbad)", "gpt"]
    study = cr.judgments({names[0]: ["gpt"] * 6, names[1]: ["llama"] * 6, "winner": said, "judge": ["j"] * 6})
    assert study.pairs.outcome.tolist() == [LEFT, RIGHT, TIE, TIE, TIE, LEFT]
    assert list(study.vocabulary.items) == ["gpt", "llama"]
    assert list(study.vocabulary.annotators) == ["j"]


def test_winner_may_be_the_side_by_our_name_or_by_the_name_of_its_column():
    columns = {"left": "first", "right": "second"}
    study = cr.judgments(
        {"first": ["x"] * 4, "second": ["y"] * 4, "winner": ["left", "right", "first", "second"]}, columns=columns
    )
    assert study.pairs.outcome.tolist() == [LEFT, RIGHT, LEFT, RIGHT]


def test_an_item_called_like_a_column_is_the_item():
    study = cr.judgments({"left": ["x", "left"], "right": ["left", "x"], "winner": ["left", "left"]})
    assert study.pairs.outcome.tolist() == [RIGHT, LEFT]
    with pytest.raises(cr.JudgmentError, match="row 1: winner 'left' is neither 'x' nor 'y'"):
        cr.judgments({"left": ["x", "x"], "right": ["left", "y"], "winner": ["left", "left"]})


def test_winner_and_loser_are_not_always_left_and_right():
    rng = np.random.default_rng(0)
    winner, loser = rng.permuted(np.tile(np.arange(50), (2000, 1)), axis=1)[:, :2].T
    study = cr.judgments({"winner": winner, "loser": loser})
    assert 0.45 < (study.pairs.outcome == LEFT).mean() < 0.55
    won = np.where(study.pairs.outcome == LEFT, study.pairs.left, study.pairs.right)
    assert study.vocabulary.items[study.vocabulary.entry_item[won]].tolist() == winner.tolist()


def test_an_item_called_tie_is_fine_where_nothing_can_tie(tmp_path):
    study = cr.judgments({"winner": ["tie"], "loser": ["x"]})
    assert list(study.vocabulary.items) == ["tie", "x"]
    with pytest.raises(cr.JudgmentError, match="an item is called 'tie'"):  # the file could not be read again
        cr.write(study, tmp_path / "votes.csv")


def test_item_a_and_item_b():
    assert pairs(cr.judgments({"item_a": [1], "item_b": [2], "winner": ["item_b"]})) == [("anonymous", 1, 2, RIGHT)]


@pytest.mark.parametrize("change", [str, str.upper, str.title, lambda name: f" {name} "])
def test_query_document_relevance_in_any_case(change):
    frame = {"query_id": ["q"], "doc_id": ["d"], "assessor": ["a"], "relevance": [3]}
    assert grades(cr.judgments({change(name): values for name, values in frame.items()})) == [("a", "q", "d", 3.0)]


def test_columns_by_option_come_first():
    frame = {"user": ["u"], "annotator": ["bot"], "thing": ["x"], "stars": [4], "rank": [1]}
    study = cr.judgments(frame, columns={"annotator": "user", "item": "thing", "grade": "stars"})
    assert grades(study) == [("u", "all", "x", 4.0)]


@pytest.mark.parametrize("role", ["grade", "rank"])
def test_grade_or_rank_is_chosen_by_option(role):
    study = cr.judgments({"item": ["x"], "grade": [3], "rank": [1]}, columns={role: role})
    assert study.kinds == ({"grade": "grades", "rank": "rankings"}[role],)


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [
        ({"annotator": "usr"}, r"no column 'usr' \(did you mean 'user'\?\); the columns are user, item, grade"),
        ({"worker": "user"}, "there is no role 'worker' for a column; the roles are task, annotator, item"),
    ],
)
def test_wrong_options(columns, wanted):
    with pytest.raises(cr.JudgmentError, match=wanted):
        cr.judgments({"user": ["u"], "item": ["x"], "grade": [1]}, columns=columns)


@pytest.mark.parametrize("near", ["anotator", "annotater", "annotators", "annotator_ids", "wroker"])
def test_a_misspelt_annotator_is_not_ignored(near):
    with pytest.raises(cr.JudgmentError, match=f"unknown column '{near}'; did you mean 'annotator'"):
        cr.judgments({near: ["ann"], "item": ["x"], "grade": [1]})


@pytest.mark.parametrize("name", ["annotator_id", "Worker_ID", "judge_id"])
def test_a_name_may_end_in_id(name):
    frame = {"task_id": [7], name: ["ann"], "item_id": ["x"], "label": [1]}
    assert grades(cr.judgments(frame)) == [("ann", 7, "x", 1.0)]
    assert grades(cr.judgments({"annotator": ["bob"], **frame}))[0][0] == "bob"  # the plain name comes first


def test_scores_of_judges_are_grades():
    frame = {"model": ["m1", "m2"], "judge": ["gpt", "gpt"], "score": [7.5, 3.0]}
    assert grades(cr.judgments(frame)) == [("gpt", "all", "m1", 7.5), ("gpt", "all", "m2", 3.0)]
    assert cr.judgments({**frame, "rank": [1, 2]}).kinds == ("rankings",)
    with pytest.raises(cr.JudgmentError, match="cannot tell the kind"):  # whose scores they are is not known
        cr.judgments({"model": ["m1"], "score": [7.5]})


@pytest.mark.parametrize(
    "other", ["id", "tags", "mask", "turn", "language", "timestamp", "note", "title", "question_id"]
)
def test_other_columns_are_ignored(other):
    assert len(cr.judgments({other: ["?"], "annotator": ["ann"], "item": ["x"], "grade": [1]})) == 1


def test_without_a_task_there_is_one():
    study = cr.judgments({"annotator": ["ann"], "item": ["x"], "grade": [1]})
    assert list(study.vocabulary.tasks) == ["all"]
    assert study.notes == ()


def test_without_an_annotator_there_is_one_and_a_note():
    study = cr.judgments({"item": ["x", "y"], "grade": [1, 2]})
    assert list(study.vocabulary.annotators) == ["anonymous"]
    assert study.notes == (
        (
            "the data frame has no annotator column: all its judgments count as those of one annotator; "
            "if a column says who judged, name it with --column annotator=NAME"
        ),
    )


def test_a_list_column_tells_lists_of_one_annotator_apart():
    frame = {"annotator": ["ann"] * 4, "list": [1, 1, 2, 2], "item": ["x", "y", "y", "x"], "rank": [1, 2, 1, 2]}
    assert lists(cr.judgments(frame)) == [
        (0, "ann", "x", 1.0),
        (0, "ann", "y", 2.0),
        (1, "ann", "y", 1.0),
        (1, "ann", "x", 2.0),
    ]
    with pytest.raises(cr.JudgmentError, match="row 3: 'x' has another rank in the same list"):
        cr.judgments({name: values for name, values in frame.items() if name != "list"})


def test_what_tells_lists_apart_is_named():
    rows = {
        "annotator": ["ann"] * 4,
        "row": [1, 2, 3, 4],
        "hit": [1, 1, 2, 2],
        "item": ["x", "y", "y", "x"],
        "rank": [1, 2, 1, 2],
    }
    with pytest.raises(
        cr.JudgmentError, match=r"a list is the rows of one annotator; .* name it with --column list=hit$"
    ):
        cr.judgments(rows)
    assert len(cr.judgments(rows, columns={"list": "hit"}).rankings.list_annotator) == 2
    with pytest.raises(cr.JudgmentError, match=r"--column list=NAME$"):
        cr.judgments({name: rows[name] for name in ("annotator", "item", "rank")})
    with pytest.raises(cr.JudgmentError, match=r"a list is the rows of one annotator and list$"):
        cr.judgments({**rows, "list": [1] * 4})


def test_votes_of_an_election():
    frame = {"Voter": ["v", "v", "w", "w"], "Candidate": ["x", "y", "y", "x"], "Place": [1, 2, 1, 2]}
    assert lists(cr.judgments(frame)) == [
        (0, "v", "x", 1.0),
        (0, "v", "y", 2.0),
        (1, "w", "y", 1.0),
        (1, "w", "x", 2.0),
    ]
    ballots = {"ballot": [1, 1, 2, 2], "candidate": frame["Candidate"], "place": frame["Place"]}
    assert [row[0] for row in lists(cr.judgments(ballots))] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("frame", "typed"),
    [
        (["Who", "Name", "Place"], "for example --column item=Name$"),
        (["Who", "First name", "Stars"], "for example --column 'item=First name' --column grade=Stars$"),
        (["item", "stars"], "for example --column grade=stars$"),
        (["left", "right", "best"], "for example --column winner=best$"),
        (
            ["who", "option A", "option B", "preferred", "when"],
            "for example --column 'left=option A' --column 'right=option B' --column winner=preferred$",
        ),
        (["img1", "img2", "said"], "for example --column left=img1 --column right=img2 --column winner=said$"),
        (["rank"], "rankings need item, rank$"),
    ],
)
def test_what_to_type_for_columns_of_other_names(frame, typed):
    with pytest.raises(cr.JudgmentError, match=typed) as error:
        cr.judgments({name: ["1"] for name in frame})
    assert "did you mean" not in str(error.value)
    if "--column" in typed:
        words = shlex.split(str(error.value).partition("for example ")[2])
        columns = dict(word.split("=") for word in words if word != "--column")
        right = columns.get("right", "right")
        cr.judgments({name: ["1"] if name != right else ["2"] for name in frame}, columns=columns)


UNLISTED = (
    "items that a list does not name are treated as not compared with those it names; "
    "if they rank below, use --top-k (top_k=True); if not, "
)


def ballots(*texts: str) -> dict[str, list]:
    rows = [(who, item, rank) for who, text in enumerate(texts) for rank, item in enumerate(text, 1)]
    return dict(zip(("annotator", "item", "rank"), map(list, zip(*rows, strict=True)), strict=True))


def test_lists_that_leave_out_much_are_noted():
    """A typical list of 'ab', 'cd', 'ef' and 'abcdef' names 2 of 6 items."""
    notes = (f"a typical list names 2 of the 6 items on the lists of its task: {UNLISTED}--no-top-k",)
    assert cr.judgments(ballots("ab", "cd", "ef", "abcdef")).notes == notes
    assert cr.judgments(ballots("ab", "cd", "ef", "abcdef"), top_k=True).notes == ()
    assert cr.judgments(ballots("ab", "cd", "ef", "abcdef"), top_k=False).notes == ()
    assert cr.judgments(ballots("abc", "def", "abcdef")).notes == ()  # half of them


def test_ballots_of_one_name_are_noted():
    notes = (f"most lists name a single item, which compares nothing: {UNLISTED}--no-top-k",)
    assert cr.judgments(ballots("a", "b", "a")).notes == notes
    assert cr.judgments(ballots("a", "a")).notes == ()  # there is nothing else
    won = cr.fit("borda", cr.judgments(ballots("a", "b", "a"), top_k=True)).ranking
    assert won["item"].to_list() == ["a", "b"]


def test_what_other_files_and_tasks_name_counts():
    first, second = ballots("ab", "ab", "ab"), ballots("cdefg", "cdefg")
    assert len(cr.judgments(first, second).notes) == 1
    both = [{**frame, "task": [name] * len(frame["rank"])} for name, frame in (("s", first), ("t", second))]
    assert cr.judgments(*both).notes == ()


def test_rankings_are_counted_as_lists():
    assert repr(cr.judgments(ballots("ab", "ba"))) == "Judgments(2 rankings; 1 tasks, 2 items, 2 annotators)"


def test_a_repeated_row_of_a_list_is_dropped_with_a_note():
    study = cr.judgments({"annotator": ["ann"] * 3, "item": ["x", "y", "x"], "rank": [1, 2, 1]})
    assert lists(study) == [(0, "ann", "x", 1.0), (0, "ann", "y", 2.0)]
    assert study.notes == ("the data frame: 1 rows that repeat an item of their list were dropped",)


@pytest.mark.parametrize("top_k", [False, True])
def test_top_k_puts_unlisted_items_below(top_k):
    frame = {"annotator": ["ann", "ann", "bob"], "item": ["x", "y", "z"], "rank": [1, 2, 1]}
    assert cr.judgments(frame, top_k=top_k).rankings.unlisted_below.tolist() == [top_k, top_k]
