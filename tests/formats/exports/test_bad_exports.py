"""Damaged and odd exports: each is refused with the file, the place and the reason; nothing is written."""

import copy
import json

import pytest

import annotation_exports
import crowdrank as cr
import exports

LS, ARGILLA, ULTRA = annotation_exports.label_studio(), annotation_exports.argilla(), exports.ultrafeedback()


def changed(records, path, value):
    """The records with the part at a path replaced; `...` removes it."""
    records = copy.deepcopy(records)
    part = records
    for key in path[:-1]:
        part = part[key]
    if value is ...:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return records


def js(records, *path, to):
    return json.dumps(changed(records, path, to), ensure_ascii=False)


RESULT = (0, "annotations", 0, "result", 0)
PL = "# DATA TYPE: soc\n# ALTERNATIVE NAME 1: x\n# ALTERNATIVE NAME 2: y\n"
FORM = exports.mturk_forms()
CJ = exports.COMPARATIVE

# what is wrong → (name of the file, its content, what the message holds)
BAD = {
    "list cut off": ("e.json", json.dumps(LS)[:-30], ["e.json: object 3: is not valid JSON"]),
    "list without end": ("e.json", json.dumps(LS)[:-1], ["e.json: ends within its list, after 3 objects"]),
    "text after the list": ("e.json", json.dumps(LS) + "x", ["e.json: has text after the end of its list"]),
    "two lists": ("e.json", json.dumps(LS) * 2, ["e.json: has text after the end of its list"]),
    "comma at the end": ("e.json", json.dumps(LS)[:-1] + ",]", ["object 3: is followed by a comma"]),
    "comma missing": ("e.json", json.dumps(LS).replace('}, {"id": 102', '} {"id": 102'), ["object 1: is not followed"]),
    "list of numbers": ("e.json", "[1, 2]", ["e.json"]),
    "numbers among objects": ("e.json", json.dumps([*LS, 5]), ["object 4: is not a JSON object"]),
    "empty list": ("e.json", "[]", ["e.json: holds an empty list"]),
    "empty json": ("e.json", "", ["e.json: is empty"]),
    "blank json": ("e.json", " \n ", ["e.json: is empty"]),
    "one pretty object": ("e.json", json.dumps({"a": LS}, indent=1), ["e.json:1: is not valid JSON"]),
    "json of UTF-16": ("e.json", json.dumps(LS).encode("utf-16"), ["e.json"]),
    "json not UTF-8": ("e.json", json.dumps(LS).encode()[:-3] + b"\xe9}]", ["e.json: byte 0xe9 is not UTF-8"]),
    "half a surrogate": ("e.json", json.dumps(LS).replace("Why?", "\\ud800"), ["object 2", "surrogate"]),
    "deep nesting": ("e.json", '[{"a": ' + "[" * 100_000 + "]" * 100_000 + "}]", ["e.json", "not valid JSON"]),
    "huge number": ("e.json", '[{"a": ' + "9" * 5000 + "}]", ["e.json", "a number is too long"]),
    "flat objects of no kind": ("e.json", '[{"a": 1}]', ["e.json: cannot tell the kind of judgment", "a"]),
    "unknown kind with nested": ("e.json", '[{"a": {"b": 1}}]', ["e.json: cannot tell the kind"]),
    # Label Studio
    "data missing": ("e.json", js(LS, 0, "data", to=...), ["object 1: data is missing; it must be an object"]),
    "data a text": ("e.json", js(LS, 1, "data", to="x"), ["object 2: data is a text"]),
    "annotations a text": ("e.json", js(LS, 0, "annotations", to="x"), ["object 1: annotations is a text"]),
    "annotation a number": ("e.json", js(LS, 0, "annotations", to=[5]), ["an annotation is a number"]),
    "result an object": ("e.json", js(LS, 0, "annotations", 0, "result", to={"a": 1}), ["result is an object"]),
    "result a text": ("e.json", js(LS, *RESULT, to="x"), ["a result is a text"]),
    "value missing": ("e.json", js(LS, *RESULT, "value", to=...), ["value of pw is missing"]),
    "side unknown": (
        "e.json",
        js(LS, *RESULT, "value", to={"selected": "up"}),
        ["selected is 'up'; it must be left or right"],
    ),
    "prediction a text": ("e.json", js(LS, 0, "predictions", to=["x"]), ["a prediction is a text"]),
    "predictions a number": ("e.json", js(LS, 0, "predictions", to=5), ["predictions is a number"]),
    "no field for an item": ("e.json", js(LS, 1, "data", to={"model_a": "x"}), ["has no", "right"]),
    "field is a list": (
        "e.json",
        js(LS, 0, "data", "model_a", to=[1]),
        ["object 1", "which fields name the two items"],
    ),
    "itself": ("e.json", js(LS, 0, "data", "model_a", to="llama"), ["object 1: 'llama' is compared with itself"]),
    "all cancelled": (
        "e.json",
        js([LS[0]], 0, "annotations", to=[{"was_cancelled": True}]).replace('"predictions"', '"p"'),
        ["no judgments in this Label Studio file; left out: cancelled annotations (1)"],
    ),
    "none annotated": (
        "e.json",
        json.dumps([LS[2]]),
        ["no judgments in this Label Studio file", "without annotation (1)"],
    ),
    "rating a text": (
        "e.json",
        js(annotation_exports.ratings(), *RESULT, "value", to={"rating": "much"}),
        ["rating is 'much'"],
    ),
    "rating infinite": (
        "e.json",
        json.dumps(changed(annotation_exports.ratings(), (*RESULT, "value"), {"rating": float("inf")})),
        ["rating is"],
    ),
    "several choices": (
        "e.json",
        js(annotation_exports.choices({(1, 1): "a"}), *RESULT, "value", to={"choices": ["a", "b"]}),
        ["2 choices at once"],
    ),
    "choices a text": (
        "e.json",
        js(annotation_exports.choices({(1, 1): "a"}), *RESULT, "value", to={"choices": "a"}),
        ["choices is a text"],
    ),
    "ranker a number": ("e.json", json.dumps(annotation_exports.ranker(5)), ["ranker is a number"]),
    "ranker with a hole": (
        "e.json",
        json.dumps(annotation_exports.ranker(["a", None])),
        ["an item of the ranker has no name"],
    ),
    "ranker twice": ("e.json", json.dumps(annotation_exports.ranker(["a", "a"])), ["the ranker has an item twice"]),
    "bucket a text": ("e.json", json.dumps(annotation_exports.ranker({"rank": "ab"})), ["bucket rank is a text"]),
    # Argilla
    "responses of numbers": (
        "e.json",
        js(ARGILLA, 0, "responses", to=[1]),
        ["object 1: a response is a number"],
    ),
    "responses a text": ("e.json", js(ARGILLA, 0, "responses", to="x"), ["object 1: responses is a text"]),
    "question a text": (
        "e.json",
        js(ARGILLA, 0, "responses", "relevance", to="x"),
        ["responses to relevance is a text"],
    ),
    "response a number": (
        "e.json",
        js(ARGILLA, 0, "responses", "relevance", to=[5]),
        ["a response to relevance is a number"],
    ),
    "value an object": (
        "e.json",
        js(ARGILLA, 0, "responses", "relevance", 0, "value", to={"a": 1}),
        ["neither a number, a text nor a list"],
    ),
    "a grade beyond all numbers": (
        "e.json",
        json.dumps([{**annotation_exports.ARGILLA_1[0], "suggestions": []}]).replace(
            '"value": 3', f'"value": {10**400}'
        ),
        ["is not a finite number"],
    ),
    "suggestion a number": (
        "e.json",
        js(ARGILLA, 0, "suggestions", "relevance", to=5),
        ["the suggestion for relevance is a number"],
    ),
    "no id": ("e.json", json.dumps([{**ARGILLA[0], "id": None, "_server_id": None}]), ["object 1: has no item"]),
    "ranking of lists": ("e.json", js(ARGILLA, 0, "responses", "order", 0, "value", to=[["a"]]), ["is no ranking"]),
    "ranking twice": (
        "e.json",
        js(ARGILLA, 0, "responses", "order", 0, "value", to=["a", "b", "a"]),
        ["'a' has another rank"],
    ),
    # UltraFeedback
    "completions a text": (
        "e.jsonl",
        exports.lines(changed(ULTRA, (0, "completions"), "x")),
        ["e.jsonl:1: completions is a text"],
    ),
    "completion a text": (
        "e.jsonl",
        exports.lines(changed(ULTRA, (1, "completions"), ["x"])),
        ["e.jsonl:2: a completion is a text"],
    ),
    "no model": (
        "e.jsonl",
        exports.lines(changed(ULTRA, (1, "completions", 0, "model"), ...)),
        ["e.jsonl:2: has no item"],
    ),
    "annotations a list": (
        "e.jsonl",
        exports.lines(changed(ULTRA, (1, "completions", 0, "annotations"), [1])),
        ["e.jsonl:2: annotations is a list"],
    ),
    "line cut off": ("e.jsonl", exports.lines(ULTRA)[:-20], ["e.jsonl:3: is not valid JSON"]),
    # PrefLib
    "graph of majorities": (
        "e.wmd",
        "# DATA TYPE: wmd\n# NUMBER EDGES: 1\n1,2,5\n",
        ["is a graph of majorities", ".soc"],
    ),
    "unknown type": ("e.soc", PL.replace("soc", "zzz") + "1: 1,2\n", ["DATA TYPE is 'zzz'"]),
    "no votes": ("e.soc", PL, ["e.soc: holds no votes"]),
    "no colon": ("e.soc", PL + "1,2\n", ["e.soc:4: '1,2' does not begin with a number of voters and ':'"]),
    "no number of voters": ("e.soc", PL + "many: 1,2\n", ["e.soc:4"]),
    "no voters": ("e.soc", PL + "0: 1,2\n", ["e.soc:4: a vote of 0 voters"]),
    "unknown alternative": ("e.soc", PL + "1: 1,3\n", ["e.soc:4: there is no alternative '3'"]),
    "alternative twice": ("e.soc", PL + "1: 1,1\n", ["e.soc:4: an alternative stands twice"]),
    "open brace": ("e.toc", PL + "1: {1,2\n", ["e.toc:4", "is no order"]),
    "header without colon": ("e.soc", PL + "# NOTHING\n1: 1,2\n", ["e.soc:4: a line of the header must be"]),
    "named twice": ("e.soc", PL.replace("NAME 2", "NAME 1") + "1: 1\n", ["alternative 1 is named twice"]),
    "fewer voters": ("e.soc", "# NUMBER VOTERS: 9\n" + PL + "1: 1,2\n", ["says NUMBER VOTERS 9, but has 1"]),
    "fewer orders": ("e.soc", "# NUMBER UNIQUE ORDERS: 2\n" + PL + "1: 1,2\n", ["says NUMBER UNIQUE ORDERS 2"]),
    "too many voters": ("e.soc", PL + "999999999999: 1,2\n", ["at most 500,000,000"]),
    "too many groups": (
        "e.cat",
        exports.CAT.replace("{2,3}, {}", "2, 3, {}"),
        ["has 4 groups, but there are 3 categories"],
    ),
    "too many grades": ("e.cat", exports.CAT.replace("3: 1,", "99999999: 1,"), ["at most 20,000,000"]),
    "old without votes": ("e.soi", "3\n1,a\n", ["ends before the votes"]),
    "old without counts": ("e.soi", "1\n1,a\nx\n1,1\n", ["e.soi:3: is not the line of counts"]),
    "old without names": ("e.soi", "2\na\nb\n1,1,1\n1,1\n", ["e.soi:2: is not an alternative"]),
    "old without number": ("e.soi", "a,b\n", ["e.soi:1: is not the number of alternatives"]),
    # tables
    "two winners": ("e.csv", exports.ARENA_55K.replace(",1,0,0", ",1,1,0"), ["e.csv:2: one of winner_model_a"]),
    "no winner": ("e.csv", exports.ARENA_55K.replace(",0,1,0", ",0,0,0"), ["e.csv:5: one of winner_model_a"]),
    "winner much": ("e.csv", exports.ARENA_55K.replace(",0,1,0", ",x,1,0"), ["e.csv:5: one of winner_model_a"]),
    "winner unknown": ("e.json", js(exports.BATTLES, 0, "winner", to="both"), ["object 1: winner 'both' is neither"]),
    "winner gone": ("e.json", js(exports.BATTLES, 3, "winner", to=None), ["object 4: winner is missing"]),
    "model gone": ("e.json", js(exports.BATTLES, 0, "model_b", to=None), ["object 1: model_b is missing"]),
    "judge gone": ("e.json", js(exports.BATTLES, 0, "judge", to=None), ["object 1: judge is missing"]),
    "form is no JSON": ("e.csv", FORM.replace("[{", "[", 1), ["e.csv:2: Answer.taskAnswers is not valid JSON"]),
    "form is a list of texts": (
        "e.csv",
        FORM.partition("\n")[0] + '\nH,A,W,Approved,a,b,"[""x""]"\n',
        ["must be a list with an object"],
    ),
    "nothing chosen": ("e.csv", CJ.replace("essay 1,", ",", 1), ["e.csv:2: chosen is missing"]),
    "chosen twice": ("e.csv", CJ.replace("essay 2", "essay 1", 1), ["e.csv:2: 'essay 1' is compared with itself"]),
    "no judge": ("e.csv", CJ.replace("Bob", ""), ["e.csv:3: judge is missing"]),
    "preferences cut off": ("e.jsonl", exports.lines(exports.PREFERENCES)[:-9], ["e.jsonl:2: is not valid JSON"]),
    "preference of nobody": (
        "e.jsonl",
        exports.lines(changed(exports.PREFERENCES, (1, "chosen_model"), None)),
        ["e.jsonl:2: chosen_model is missing"],
    ),
    "users and responses differ": (
        "e.parquet",
        annotation_exports.argilla_table(users=1),
        ["e.parquet:1: relevance has 2 responses by 1 users"],
    ),
    "no spreadsheet": ("e.xlsx", "a,b\n", ["e.xlsx: is not a valid spreadsheet"]),
    "cut spreadsheet": ("e.xlsx", b"PK\x03\x04" + bytes(60), ["e.xlsx: is not a valid spreadsheet"]),
}


@pytest.mark.parametrize("what", BAD)
def test_refused_with_place_and_reason(tmp_path, monkeypatch, what):
    name, content, wanted = BAD[what]
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    given = {"left": "image_a", "right": "image_b", "winner": "better"} if "Input.image_a" in str(content) else None
    with pytest.raises(cr.JudgmentError) as error:
        cr.read(name, columns=given)
    message = str(error.value)
    assert message.startswith(name)
    assert all(part in message for part in wanted), message
    assert "Traceback" not in message


def test_they_are_many():
    assert len(BAD) >= 60


@pytest.mark.parametrize(
    ("file", "columns", "message"),
    [
        ("pairs.json", {"left": "data.model_x", "right": "data.model_b"}, "has no data.model_x, which names the left"),
        ("pairs.json", {"winer": "x"}, "--column names task, item"),
        ("pairs.json", {"task": "data.nothing"}, "nothing stands at 'data.nothing'"),
        ("ratings.json", {"grade": "star"}, "there is no question 'star' (did you mean 'stars'?)"),
        ("netflix.soc", {"item": "x"}, "a PrefLib file has no columns"),
        ("pool.tsv", {"item": "imag"}, "there is no column 'imag'"),
        ("battles.json", {"anotator": "judge"}, "no role 'anotator' for a column (did you mean 'annotator'?)"),
        ("batch.csv", {"item": "image_url"}, "say what they mean, for example --column item=Input.image_url"),
    ],
)
def test_wrong_columns_are_explained(tmp_path, monkeypatch, file, columns, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / file).write_bytes(exports.WHOLE[file])
    with pytest.raises(cr.JudgmentError) as error:
        cr.read(file, columns=columns)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "what", ["list cut off", "side unknown", "unknown alternative", "two winners", "no spreadsheet"]
)
def test_the_command_refuses_and_writes_nothing(tmp_path, monkeypatch, capsys, what):
    from crowdrank import cli

    name, content, wanted = BAD[what]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "_prepare_process", lambda: None)
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    for words in (["rank", name, "--out", "out.csv"], ["read", name], ["convert", name, "out.csv"]):
        monkeypatch.setattr("sys.argv", ["crowdrank", *words])
        with pytest.raises(SystemExit) as leave:
            cli.main()
        said = capsys.readouterr()
        assert (leave.value.code, said.out) == (2, "")
        assert all(part in said.err for part in wanted)
        assert [path.name for path in tmp_path.iterdir()] == [name]
