"""Study files: what they say, and messages that name the file and the key."""

from __future__ import annotations

from pathlib import Path

import pytest

import crowdrank as cr
from crowdrank.server.study_file import POLICIES, read_study
from crowdrank.settings import InputError


@pytest.fixture
def read(tmp_path):
    """Reads a study from the text of its file; `items.csv` is there, others by name."""

    def study(text: str, **files: str):
        table = files.pop("items", "id,title\na,A\nb,B\nc,C\n")
        (tmp_path / "items.csv").write_text(table)
        for name, content in files.items():
            (tmp_path / f"{name}.csv").write_text(content)
        (tmp_path / "study.toml").write_text(text)
        return read_study(tmp_path / "study.toml")

    return study


STUDY = '[study]\nname = "s"\nitems = "items.csv"\n'


def test_everything_that_a_file_can_say(read):
    study = read(
        '[study]\nname = "s"\ntitle = "T"\nquestion = "Q?"\ninstructions = "I"\nkind = "grades"\nitems = "items.csv"\n'
        'scale = ["bad", "good"]\nlanguage = "de"\npractice = "practice.csv"\n'
        '[access]\nmode = "listed"\nannotators = ["ann"]\ndays = 3\n'
        '[collection]\npolicy = "grades"\nbudget = 100\ncaps = { annotator = 5, item = 7 }\nlease = 60\n'
        'gold = "gold.csv"\ngold_share = 0.2\nstopping = { width = 0.5, top_k = 2 }\ncost = 0.1\ncurrency = "EUR"\n',
        practice="id\np\n",
        gold="item,grade\na,good\nb,0\n",
    )
    assert (study.title, study.question, study.kind, study.language) == ("T", "Q?", "grades", "de")
    assert study.scale == ((0.0, "bad"), (1.0, "good"))
    assert [item.name for item in study.items] == ["a", "b", "c"]
    assert (study.access.mode, study.access.annotators, study.access.days) == ("listed", ("ann",), 3)
    caps = study.collection.caps
    assert (caps.budget, caps.annotator, caps.item, caps.seconds) == (100, 5, 7, 60)
    assert [each.expected for each in study.collection.gold] == [{"grade": 1.0}, {"grade": 0.0}]
    assert study.collection.stopping == {"width": 0.5, "top_k": 2}


def test_a_short_file_is_enough(read):
    study = read(STUDY)
    assert (study.kind, study.ties, study.access.mode, study.collection.policy) == (
        "pairs",
        True,
        "open",
        "mutual-information",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "[study] must be a table"),
        ("[study", "is not TOML"),
        ("a = " + "[" * 9000, "is not TOML"),
        ("a = " + "1" * 9000, "is not TOML"),
        ('[study]\nitems = "items.csv"', "name is missing in [study]"),
        ('[study]\nname = "a b"\nitems = "items.csv"', "name in [study]"),
        ('[study]\nname = "s"\nitems = "none.csv"', "does not exist"),
        ('[study]\nname = "s"\nitems = "items.csv"\nkind = "pears"', "did you mean 'pairs'"),
        (STUDY + "ties = 3", "ties in [study] is 3; it must be true or false"),
        (STUDY + 'titel = "x"', "unknown key 'titel' in [study] (did you mean 'title'?)"),
        (STUDY + "[acces]", "unknown key 'acces'"),
        (STUDY + '[access]\nmode = "closed"', "mode in [access]"),
        (STUDY + '[access]\nmode = "listed"', "annotators in [access] is missing"),
        (STUDY + '[collection]\npolicy = "best"', "policy in [collection]"),
        (STUDY + "[collection]\nbudget = 0", "budget in [collection] is 0"),
        (STUDY + "[collection]\nbudget = 1.5", "whole number"),
        (STUDY + "[collection]\nbudget = inf", "budget in [collection] is inf; it must be a number"),
        (STUDY + f"[collection]\nbudget = {10**400}", "it must be a number from 1 to"),
        (STUDY + "[collection]\nbudget = nan", "it must be a number"),
        (STUDY + "[collection]\ncaps = { itm = 3 }", "unknown key 'itm' in [collection.caps]"),
        (STUDY + '[collection]\npolicy = "grades"', "kind grades"),
        (STUDY + "[collection]\nsettings = { gama = 1 }", "settings in [collection] cannot be used: "),
        (STUDY + 'scale = ["a", "b"]', "kind grades"),
        ('[study]\nname = "s"\nitems = "items.csv"\nkind = "grades"\nscale = ["a"]', "scale in [study]"),
    ],
)
def test_mistakes_are_named(read, text, said):
    with pytest.raises(InputError) as refused:
        read(text)
    assert said in str(refused.value)
    assert "study.toml" in str(refused.value)


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ("title\nA\n", "items.csv: has no column 'id'"),
        ("id\na\na\n", "items.csv:3: item 'a' stands in the table twice; it is also at"),
        ("id,imge\na,x\nb,y\n", "did you mean 'image'"),
        ("id,image\na,x.png\nb,\n", "items.csv:2: there is no image 'x.png'"),
        ("id,image\na,https://x.org/x.png\nb,\n", "is elsewhere"),
        ("id,image\na,../../etc/passwd\nb,\n", "there is no image"),
        ("id\na\n", "at least 2 items"),
        ("id\n", "has no items"),
        ("id,title\na,b,c\n", "items.csv:2: does not have as many values"),
        ("id\ntie\nb\n", "is a tie"),
        ("id\n" + "x" * 300 + "\n", "1 to 200 characters"),
    ],
)
def test_mistakes_in_tables_are_named(read, items, said):
    with pytest.raises(InputError) as refused:
        read(STUDY, items=items)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("left,right\na,b\n", "no column 'winner'"),
        ("left,right,winner\na,z,a\n", "gold.csv:2: item 'z' is not in the table of items"),
        ("left,right,winner\na,b,c\n", "gold.csv:2: winner 'c' is neither 'a' nor 'b'"),
    ],
)
def test_mistakes_in_gold_are_named(read, gold, said):
    with pytest.raises(InputError) as refused:
        read(STUDY + '[collection]\ngold = "gold.csv"', gold=gold)
    assert said in str(refused.value)


def test_other_tables_than_csv(tmp_path):
    (tmp_path / "items.jsonl").write_text('{"id": "a", "title": "A"}\n{"id": "b", "title": null}\n')
    (tmp_path / "s.toml").write_text('[study]\nname = "s"\nitems = "items.jsonl"\n')
    assert [(item.name, item.title) for item in read_study(tmp_path / "s.toml").items] == [("a", "A"), ("b", "b")]


@pytest.mark.parametrize("path", ["examples/essays.toml", "src/crowdrank/server/demo_study/study.toml"])
def test_the_studies_of_the_project_are_right(path):
    study = read_study(Path(__file__).parents[2] / path)
    assert len(study.items) >= 8
    assert study.collection.gold


@pytest.mark.parametrize(
    "table", ["id;title\r\na;Äpfel, rot\r\nb;Birnen\r\n", "\ufeffid|title\na|Äpfel, rot\nb|Birnen\n"]
)
def test_tables_with_other_separators(read, table):
    """Spreadsheets write semicolons where the comma is the decimal sign."""
    assert [(item.name, item.title) for item in read(STUDY, items=table).items] == [
        ("a", "Äpfel, rot"),
        ("b", "Birnen"),
    ]


def test_policies_are_those_of_the_library():
    assert set(POLICIES) == set(cr.POLICIES)


@pytest.mark.parametrize(("word", "kind"), [("pair", "pairs"), ("grade", "grades"), ("ranking", "rankings")])
def test_a_kind_may_be_singular(read, word, kind):
    assert read(f'{STUDY}kind = "{word}"').kind == kind


def test_the_usual_question_and_scale_are_in_the_language_of_the_study(read):
    study = read(STUDY.replace("items =", 'kind = "grades"\nlanguage = "de-AT"\nitems ='))
    assert (study.question, [label for _, label in study.scale]) == (
        "Wie gut ist das?",
        ["schlecht", "mittel", "gut", "sehr gut"],
    )
    assert read(STUDY + 'language = "sv"').question == "Which is better?"


def test_joiners_inside_ids_and_long_tasks(read):
    """Persian words and emoji are joined by characters that cannot be printed alone."""
    names = ["می\u200cخواهم", "👩\u200d🚀"]
    assert [item.name for item in read(STUDY, items="id\n" + "\n".join(names)).items] == names
    with pytest.raises(InputError, match="the task of item 'a' must have at most 400 characters"):
        read(STUDY, items=f"id,task\na,{'t' * 401}\nb,{'t' * 401}\n")
