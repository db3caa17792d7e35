"""Exports that are tables: arenas, MT-bench, crowdsourcing, preferences, UltraFeedback, comparative judgement."""

import polars as pl
import pytest

import annotation_exports
import crowdrank as cr
import exports

VOTES = [
    ("arena_user_1", "gpt", "llama", "gpt"),
    ("arena_user_2", "llama", "mistral", "tie"),
    ("arena_user_3", "mistral", "gpt", "tie"),
]


@pytest.mark.parametrize("form", ["json", "jsonl", "parquet"])
def test_battles(read, rows, form):
    content = {
        "json": exports.BATTLES,
        "jsonl": exports.lines(exports.BATTLES),
        "parquet": annotation_exports.parquet(pl.DataFrame(exports.BATTLES)),
    }[form]
    study = read(f"battles.{form}", content)
    assert rows(study, "annotator", "left", "right", "winner") == VOTES
    assert study.pairs.time.tolist() == [1682351591, 1682351592.5, 1682351590]
    assert any("saw the names of the models (1)" in note for note in study.notes)
    assert study.vocabulary.tasks.tolist() == ["all"]


def test_methods_that_depend_on_order_take_votes_as_they_were_given(read):
    """Elo's last vote counts most: the file in another order gives the same."""
    records = [record for record in exports.BATTLES if record["anony"]]
    forward = cr.fit("elo", read("a.json", records)).score
    assert cr.fit("elo", read("b.json", records[::-1])).score == pytest.approx(forward, abs=0)


def test_the_question_may_be_the_task(read):
    study = read("battles.json", exports.BATTLES, columns={"task": "question_id"})
    assert study.vocabulary.tasks.tolist() == ["q1", "q2", "q4"]


def test_arena_parquet_and_its_nested_columns(tmp_path, read, rows):
    study = read("arena.parquet", exports.arena_140k())
    assert rows(study, "left", "right", "winner")[1:] == [("llama", "mistral", "tie"), ("gpt", "mistral", "mistral")]
    by = "category_tag.creative_writing_v0.1.creative_writing"
    parts = cr.read_by(tmp_path / "arena.parquet", by=by)
    assert {name: len(part.pairs) for name, part in parts.items()} == {"false": 1, "true": 2}


def test_times_of_arenas_by_either_name(read):
    votes = [{"question_id": 1, "model_a": "a", "model_b": "b", "winner": "model_a", "timestamp": 1700000000.5}]
    assert read("new.json", votes).pairs.time.tolist() == [1700000000.5]


def test_an_answer_in_a_crowd_form_needs_no_word(read, rows):
    """Two inputs that are sides, and one answer, which may name a side by its field."""
    header = "HITId,WorkerId,Input.image_a,Input.image_b,Answer.taskAnswers\n"
    lines = [
        f'H,{who},x,y,"[{{""better"":{{""label"":""{said}""}}}}]"\n' for who, said in (("u", "x"), ("v", "image_b"))
    ]
    found = rows(read("forms.csv", header + "".join(lines)), "annotator", "left", "right", "winner")
    assert found == [("u", "x", "y", "x"), ("v", "x", "y", "y")]


def test_winners_in_three_columns(read, rows):
    found = rows(read("arena.csv", exports.ARENA_55K), "left", "right", "winner")
    assert found == [("gpt", "llama", "gpt"), ("llama", "mistral", "tie"), ("gpt", "mistral", "mistral")]


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_bench(read, rows, form):
    study = read(f"bench.{form}", exports.BENCH if form == "json" else exports.lines(exports.BENCH))
    assert "MT-bench" in study.origin[0]
    assert rows(study, "annotator", "left", "right", "winner")[0] == ("gpt-4:pair-v2", "a", "b", "a")


def test_mechanical_turk(read, rows):
    with pytest.raises(cr.JudgmentError, match=r"--column item=Input.image_url --column grade=Answer.relevance"):
        read("batch.csv", exports.MTURK)
    study = read("batch.csv", exports.MTURK, columns={"item": "Input.image_url", "grade": "Answer.relevance"})
    assert rows(study, "annotator", "item", "grade") == [
        ("W1", "http://x/1.png", 4), ("W2", "http://x/1.png", 5), ("W2", "http://x/2.png", 2)
    ]  # fmt: skip
    assert study.grades.time[0] == 1547490090  # 10:21:30 in California is 18:21:30 UTC
    assert any("rejected assignments (1)" in note for note in study.notes)


def test_crowd_forms(read, rows):
    named = {"left": "image_a", "right": "image_b", "winner": "better"}
    found = rows(read("forms.csv", exports.mturk_forms(), columns=named), "annotator", "left", "right", "winner")
    assert found == [
        ("W0", "a.png", "b.png", "a.png"),
        ("W1", "b.png", "c.png", "c.png"),
        ("W0", "a.png", "c.png", "a.png"),
    ]


def test_toloka_and_its_gold(tmp_path, read, rows):
    study = read("pool.tsv", exports.TOLOKA)
    assert rows(study, "annotator", "item", "grade") == [("w1", "i1", 2), ("w1", "i2", 0), ("w2", "i1", 1)]
    gold = cr.read_gold(tmp_path / "pool.tsv")
    assert (gold.vocabulary.items.tolist(), gold.value.tolist()) == (["i1", "i3"], [2, 1])
    assert any("not finished (2)" in note for note in study.notes)


def test_preferences_between_models(read, rows):
    found = rows(read("p.jsonl", exports.lines(exports.PREFERENCES)), "left", "right", "winner")
    assert [[*sorted(row[:2]), row[2]] for row in found] == [["gpt", "llama", "gpt"], ["llama", "mistral", "mistral"]]
    texts = [{"prompt": "?", "chosen": "yes", "rejected": "no", "author": "a"}]
    with pytest.raises(cr.JudgmentError, match="chosen and rejected are texts: to rank models"):
        read("p.json", texts)


def test_ultrafeedback(read, rows):
    study = read("u.jsonl", exports.lines(exports.ultrafeedback()))
    assert study.vocabulary.tasks.tolist() == ["helpfulness", "honesty"]
    assert sorted(rows(study, "task", "item", "grade")) == [
        ("helpfulness", "gpt", 5), ("helpfulness", "llama", 2), ("helpfulness", "llama", 3), ("honesty", "gpt", 4),
        ("honesty", "llama", 1),
    ]  # fmt: skip
    one = read("u.jsonl", exports.lines(exports.ultrafeedback()), columns={"grade": "overall_score"})
    assert rows(one, "grade") == [(7.5,)] * 3
    nested = annotation_exports.parquet(pl.DataFrame(exports.ultrafeedback(), strict=False))
    assert len(read("u.parquet", nested).grades) == 5


@pytest.mark.parametrize(
    "header",
    [
        "judge,chosen,notChosen,timeTaken,createdAt,task",
        "Judge,candidate_chosen,candidate_not_chosen,s,Created At,task",
        "judge name,Won,Lost,seconds,date,task",
    ],
)
def test_comparative_judgement(read, rows, header):
    text = header + "\n" + exports.COMPARATIVE.partition("\n")[2]
    study = read("cj.csv", text)
    assert rows(study, "task", "annotator", "winner") == [
        ("Year 5", "Ann", "essay 1"), ("Year 5", "Bob", "essay 2"), ("Year 5", "Ann", "essay 1")
    ]  # fmt: skip
    assert study.pairs.time[1] - study.pairs.time[0] == 60


def test_buttons_of_mechanical_turk_are_one_answer(read, rows):
    """Crowd forms without JSON have a column for each button."""
    judgments = read("batch.csv", exports.BUTTONS)
    assert rows(judgments, "annotator", "item", "grade") == [("W", "x", 1.0), ("V", "y", 3.0)]
    assert "left out: assignments without an answer (1)" in " ".join(judgments.notes)


def test_arenas_that_hide_who_voted(read, rows):
    battle = {"question_id": "q", "model_a": "g", "model_b": "h", "winner": "model_a", "judge_hash": "d41d", "turn": 1}
    assert rows(read("battles.json", [battle]), "annotator", "winner") == [("d41d", "g")]


def test_how_long_judgments_took(read):
    batch = read("batch.csv", exports.MTURK, columns={"item": "Input.image_url", "grade": "Answer.relevance"})
    row = exports.MTURK.splitlines()[1].strip('"').split('","')
    assert set(batch.grades.seconds) == {float(row[exports.MTURK_COLUMNS.index("WorkTimeInSeconds")])}
    assert sorted(read("judging.csv", exports.COMPARATIVE).pairs.seconds) == [8.25, 12, 31.5]
    assert set(read("ls.json", annotation_exports.label_studio()).pairs.seconds) >= {3.5}
