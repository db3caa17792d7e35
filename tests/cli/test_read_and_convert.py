"""`read` says what was understood; `convert` writes it as another kind of file; `rank --by` ranks categories too."""

import json

import polars as pl
import pytest

import annotation_exports
import crowdrank as cr
import exports


@pytest.fixture
def whole(folder):
    for name, content in exports.WHOLE.items():
        (folder / name).write_bytes(content)
    return folder


def given(name):
    return [word for role, column in exports.COLUMNS.get(name, {}).items() for word in ("--column", f"{role}={column}")]


@pytest.mark.parametrize("name", exports.WHOLE)
def test_read_and_rank_every_export(run, whole, name):
    done = run("read", name, *given(name))
    assert (done.code, done.err) == (0, "")
    assert name in done.out.splitlines()[0]
    method = {"pairs": "elo", "rankings": "borda", "grades": "mean"}[
        cr.read(name, columns=exports.COLUMNS.get(name)).kinds[0]
    ]
    assert run("rank", name, *given(name), "--method", method, "--out", "r.csv").code == 0


def test_read_as_json(run, whole):
    said = json.loads(run("read", "pairs.json", "--json").out)
    assert said["counts"]["pairs"] == 4
    assert said["first"]["pairs"][0]["winner"] == "gpt"
    assert any("cancelled" in note for note in said["notes"])


@pytest.mark.parametrize(
    ("source", "way"),
    [
        ("ties.toi", ["a.csv", "b.tsv", "c.jsonl", "d.parquet", "e.toi", "f.xlsx", "g.csv.gz"]),
        ("french.cat", ["a.csv", "b.parquet", "c.cat", "d.xlsx"]),
        ("battles.json", ["a.csv", "b.jsonl", "c.parquet", "d.tsv.zst", "e.xlsx"]),
    ],
)
def test_convert_there_and_back(run, whole, source, way):
    before = cr.read(source)
    for here, there in zip([source, *way], way, strict=False):
        done = run("convert", here, there)
        assert (done.code, done.err) == (0, "")
    after = cr.read(way[-1])
    assert after.counts == before.counts
    name = {"rankings": "borda", "grades": "mean", "pairs": "bradley-terry"}[before.kinds[0]]
    assert cr.fit(name, after).score == pytest.approx(cr.fit(name, before).score)


def test_convert_to_pairs_and_runs(run, whole):
    assert run("convert", "netflix.soc", "pairs.csv", "--kind", "pairs").code == 0
    assert cr.read("pairs.csv").pairs.weight.sum() == 3 * 515
    pl.DataFrame({"annotator": ["s", "s", "t"], "item": list("xyx"), "rank": [1, 2, 1]}).write_csv("lists.csv")
    assert run("convert", "lists.csv", "lists.run").code == 0
    assert cr.read("lists.run").counts["rankings"] == 2
    pl.DataFrame({"item": ["x", "y"], "grade": [2, 0]}).write_csv("g.csv")
    assert run("convert", "g.csv", "g.qrels").code == 0
    assert cr.read_gold("g.qrels").value.tolist() == [2, 0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "convert ties.toi t.soc",
            "t.soc: these rankings have ties, and not all items in every ranking; name the file t.toi",
        ),
        ("convert pairs.json t.soc", "t.soc: a PrefLib .soc file holds rankings"),
        ("convert netflix.soc t.run", "t.run: a TREC run holds one ranking for each task and annotator"),
        ("convert argilla.json t.csv", "this study has grades and rankings"),
        ("convert netflix.soc t.zzz", "t.zzz: unknown kind of file"),
        ("convert netflix.soc t.csv --kind votes", "kind is 'votes'; it must be one of grades, pairs, rankings"),
        ("convert french.cat t.qrels", "t.qrels: qrels hold one grade for each item"),
        ("rank battles.json --by tongue", "there is no column 'tongue'"),
        ("rank netflix.soc --by x", "a PrefLib file has no columns"),
        ("rank pairs.json --scale bad", "must be two or more different words"),
        ("rank netflix.soc --predictions p.json", "for JSON exports of Label Studio and Argilla only"),
    ],
)
def test_what_cannot_be_written_is_said(run, whole, words, message):
    before = sorted(whole.iterdir())
    done = run(*words.split())
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert sorted(whole.iterdir()) == before


def test_fields_of_the_two_items_are_named(run, whole):
    """`--left` and `--right` are short for `--column left=… --column right=…`."""
    vote = {"type": "pairwise", "from_name": "p", "value": {"selected": "left"}}
    task = {"id": 1, "data": {"first": "x", "second": "y", "third": "z"}, "annotations": [{"id": 5, "result": [vote]}]}
    (whole / "fields.json").write_text(json.dumps([task]))
    assert "--column left=" in run("read", "fields.json").err
    done = run("read", "fields.json", "--left", "data.third", "--right", "data.first", "--json")
    assert [(row["left"], row["right"], row["winner"]) for row in json.loads(done.out)["first"]["pairs"]] == [
        ("z", "x", "z")
    ]
    columns = ("--column", "left=data.third", "--column", "right=data.first")
    assert json.loads(run("read", "fields.json", *columns, "--json").out)["first"] == json.loads(done.out)["first"]


def test_a_ranking_for_each_category(run, whole):
    done = run("rank", "battles.json", "--by", "language", "--method", "bradley-terry", "--out", "r.csv")
    assert done.code == 0
    assert "top 3 of each language" in done.out
    table = pl.read_csv("r.csv")
    assert table["category"].unique(maintain_order=True).to_list() == [None, "English", "French"]
    # Four votes in all, one of them in French: each category is near the whole, and no score is far from the others.
    overall = table.filter(pl.col("category").is_null())["score"]
    for category in ("English", "French"):
        own = table.filter(category=category)
        assert own["score"].abs().max() < 3
        assert (own["low"] < 0).all()
        assert (own["high"] > 0).all()
    assert overall.abs().max() < 3
    said = json.loads(run("rank", "battles.json", "--by", "language", "--method", "elo", "--json").out)
    assert sorted(said["by"]) == ["English", "French"]


@pytest.mark.parametrize(
    ("name", "by", "sizes"),
    [
        ("pairs.json", "data.lang", {"en": 1, "fr": 3}),
        ("argilla.json", "metadata.lang", {"en": 7, "fr": 4}),
        ("ultra.jsonl", "source", {"flan": 3, "sharegpt": 2}),
        ("preferences.jsonl", "lang", {"en": 1, "fr": 1}),
        ("pool.tsv", "task_id", {"t1": 2, "t2": 1}),
    ],
)
def test_categories_of_other_exports(whole, name, by, sizes):
    found = {category: sum(part.counts.values()) for category, part in cr.read_by(name, by=by).items()}
    assert found == sizes


def test_predictions_for_label_studio(run, whole):
    assert run("rank", "ratings.json", "--method", "gda", "--predictions", "p.json").code == 0
    tasks = json.loads((whole / "p.json").read_text())
    assert [task["id"] for task in tasks] == [1, 2, 3]
    prediction = tasks[0]["predictions"][0]
    assert prediction["model_version"] == "crowdrank gda"
    assert 0 < prediction["score"] <= 1
    assert prediction["result"] == [
        {
            "from_name": "stars",
            "to_name": "doc",
            "type": "rating",
            "value": {"rating": prediction["result"][0]["value"]["rating"]},
        }
    ]
    # What was written is read again as the judgments of an annotator.
    (whole / "again.json").write_text(json.dumps([{**task, "annotations": []} for task in tasks]))
    assert cr.read("again.json").vocabulary.annotators.tolist() == ["crowdrank gda"]


def test_predictions_of_pairs_and_words(run, whole):
    assert run("rank", "pairs.json", "--method", "bradley-terry", "--predictions", "p.json").code == 0
    tasks = json.loads((whole / "p.json").read_text())
    score = dict(cr.fit("bradley-terry", cr.read("pairs.json")).ranking.select("item", "score").iter_rows())
    better = "left" if score["gpt"] > score["llama"] else "right"
    assert tasks[0]["predictions"][0]["result"][0]["value"] == {"selected": better}
    words = annotation_exports.choices({(1, 1): "Good", (1, 2): "Good", (2, 1): "Bad", (2, 2): "Bad"})
    (whole / "words.json").write_text(json.dumps(words))
    assert (
        run("rank", "words.json", "--scale", "Bad,Good", "--method", "majority-vote", "--predictions", "w.json").code
        == 0
    )
    found = [task["predictions"][0]["result"][0]["value"] for task in json.loads((whole / "w.json").read_text())]
    assert found == [{"choices": ["Good"]}, {"choices": ["Bad"]}]


def test_suggestions_for_argilla(run, whole):
    words = ["rank", "argilla.json", "--column", "grade=relevance", "--method", "gda", "--predictions", "p.json"]
    assert run(*words).code == 0
    records = json.loads((whole / "p.json").read_text())
    assert [record["id"] for record in records] == ["rec-1", "rec-2", "rec-3"]
    assert set(records[0]["suggestions"]) == {"relevance"}
    assert records[0]["suggestions"]["relevance"]["agent"] == "crowdrank gda"
    assert records[0]["suggestions"]["relevance"]["value"] in (4, 5)


def order_by(method, path):
    return cr.fit(method, cr.read(path)).ranking["item"].to_list()


def test_answers_to_earlier_versions(run, whole):
    """In the form of the file: a list of suggestions, and predictions beside the data."""
    assert run("rank", "argilla-1.json", "--method", "mean", "--predictions", "p.json").code == 0
    (record,) = json.loads((whole / "p.json").read_text())
    ours = [each for each in record["suggestions"] if each["agent"] == "crowdrank mean"]
    assert [each["question_name"] for each in ours] == ["rating"]
    assert run("rank", "studio-0.json", "--method", "bradley-terry", "--predictions", "q.json").code == 0
    (task,) = json.loads((whole / "q.json").read_text())
    assert task["predictions"][0]["result"][0]["value"] == {"selected": "left"}


def test_rankings_go_back_to_label_studio(run, whole):
    """As a list, or in the bucket that the annotators filled; with several buckets, cut where they cut on average."""
    lists = [["a", "b", "c"], ["a", "b", "c"], ["b", "a", "c"]]
    for name, wrapped in {"list": list, "bucket": lambda order: {"_": [], "rank": order}}.items():
        tasks = annotation_exports.ranker(None)
        result = tasks[0]["annotations"][0]["result"][0]
        tasks[0]["annotations"] = [
            {"id": user, "completed_by": user, "result": [{**result, "value": {"ranker": wrapped(order)}}]}
            for user, order in enumerate(lists)
        ]
        (whole / f"{name}.json").write_text(json.dumps(tasks))
        assert run("rank", f"{name}.json", "--method", "plackett-luce", "--predictions", "p.json").code == 0
        prediction = json.loads((whole / "p.json").read_text())[0]["predictions"][0]
        order = order_by("plackett-luce", f"{name}.json")
        assert order == ["a", "b", "c"]  # two of three put a first, all put c last
        wanted = order if name == "list" else {"rank": order}
        assert prediction["result"][0]["value"] == {"ranker": wanted}
        assert 0.5 <= prediction["score"] <= 1
    two = annotation_exports.ranker({"best": ["a"], "rest": ["c", "b"], "_": []})
    (whole / "two.json").write_text(json.dumps(two))
    assert run("rank", "two.json", "--method", "borda", "--predictions", "p.json").code == 0
    value = json.loads((whole / "p.json").read_text())[0]["predictions"][0]["result"][0]["value"]
    assert value == {"ranker": {"best": ["a"], "rest": ["c", "b"]}}


def test_rankings_and_pairs_go_back_to_argilla(run, whole):
    records = annotation_exports.argilla()
    for record in records:
        record["responses"]["better"] = [{"value": "A", "user_id": "user-0"}, {"value": "A", "user_id": "user-1"}]
        record["fields"] |= {"one": "gpt", "two": "llama"}
    (whole / "both.json").write_text(json.dumps(records))
    words = ["--column", "rank=order", "--method", "borda", "--predictions", "p.json"]
    assert run("rank", "both.json", *words).code == 0
    suggestions = json.loads((whole / "p.json").read_text())[0]["suggestions"]
    assert suggestions["order"] == {"value": ["b", "a", "c"], "score": None, "agent": "crowdrank borda"}
    assert suggestions["relevance"]["agent"] == "gpt-4o"
    for record in records:
        record["responses"] = {"better": record["responses"]["better"]}
        record["suggestions"] = {}
    (whole / "pairs_only.json").write_text(json.dumps(records))
    words = ["--column", "left=fields.one", "--column", "right=fields.two", "--method", "bradley-terry"]
    done = run("rank", "pairs_only.json", *words, "--predictions", "p.json")
    assert done.code == 0
    suggestion = json.loads((whole / "p.json").read_text())[0]["suggestions"]["better"]
    assert (suggestion["value"], 0.5 < suggestion["score"] < 1) == ("A", True)


def test_predictions_within_tasks_that_the_user_names(run, whole):
    words = ["rank", "ratings.json", "--column", "task=data.query", "--column", "item=data.doc", "--method", "mean"]
    assert run(*words, "--predictions", "p.json").code == 0
    results = [task["predictions"][0]["result"][0] for task in json.loads((whole / "p.json").read_text())]
    assert [result["value"]["rating"] > 2 for result in results] == [True, False, True]


def test_gold_inside_a_file(run, whole):
    done = run("compare", "pool.tsv", "--gold", "pool.tsv", "--method", "mean", "--measure", "acc")
    assert done.code == 0
    done = run("compare", "ratings.json", "--gold", "ratings.json", "--method", "mean", "--measure", "acc")
    assert done.code == 0


def test_sheets_keep_ids_as_they_are_written(run, whole):
    pl.DataFrame({"left": ["007", "1e5"], "right": ["7", "é"], "winner": ["007", "tie"]}).write_excel("v.xlsx")
    assert sorted(map(str, cr.read("v.xlsx").vocabulary.items)) == ["007", "1e5", "7", "é"]
    assert run("read", "v.xlsx").code == 0


def test_sheets_of_libreoffice(run, whole):
    """An .ods file as LibreOffice writes it: numbers with their type, repeated cells, ids as texts."""
    exports.write_ods(whole / "v.ods", [["annotator", "item", "grade"], ["ann", "007", 2], ["bob", "1e5", 0.5]])
    found = cr.read("v.ods")
    assert sorted(map(str, found.vocabulary.items)) == ["007", "1e5"]
    assert found.grades.grade.tolist() == [2, 0.5]
    assert run("rank", "v.ods", "--method", "mean", "--out", "r.csv").code == 0
    (whole / "broken.ods").write_bytes((whole / "v.ods").read_bytes()[:200])
    done = run("read", "broken.ods")
    assert (done.code, "not a valid spreadsheet" in done.err) == (2, True)
