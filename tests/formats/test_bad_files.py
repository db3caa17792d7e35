"""Files that cannot be used: each is refused with a message that says where and why, and nothing is left behind."""

import gzip
import io
import subprocess
import sys

import polars as pl
import pytest
import zstandard

import crowdrank as cr

HEADER = b"annotator,left,right,winner\n"
GOOD = HEADER + b"ann,a,b,a\nbob,b,c,c\n"
GRADES = b"annotator,item,grade\nann,x,1\n"
RANKS = b"annotator,item,rank\nann,x,1\n"
JSON = b'{"left":"a","right":"b","winner":"a"}\n'
LONG = b"a" * 10**6


def parquet(csv: bytes) -> bytes:
    buffer = io.BytesIO()
    pl.read_csv(csv).write_parquet(buffer)
    return buffer.getvalue()


PARQUET = parquet(GOOD)

# name, file, content, what the message holds
BAD = [
    ("empty", "v.csv", b"", ["v.csv: is empty"]),
    ("empty tsv", "v.tsv", b"", ["v.tsv: is empty"]),
    ("empty jsonl", "v.jsonl", b"", ["v.jsonl: is empty"]),
    ("empty parquet", "v.parquet", b"", ["v.parquet: is empty"]),
    ("empty gz", "v.csv.gz", b"", ["v.csv.gz: is empty"]),
    ("empty zst", "v.csv.zst", b"", ["v.csv.zst: is empty"]),
    ("byte order mark alone", "v.csv", b"\xef\xbb\xbf", ["v.csv: is empty"]),
    ("only blanks", "v.csv", b" \n\n\t \n", ["v.csv: is empty"]),
    ("only blanks jsonl", "v.jsonl", b" \n\n", ["v.jsonl: is empty"]),
    (
        "missing columns",
        "v.csv",
        b"annotator,left\nann,a\n",
        ["v.csv", "annotator, left;", "pairs need left, right, winner"],
    ),
    (
        "misspelt columns",
        "v.csv",
        b"lft,right,winer\na,b,a\n",
        ["lft (did you mean 'left'?)", "winer (did you mean 'winner'?)"],
    ),
    (
        "misspelt annotator",
        "v.csv",
        GOOD.replace(b"nn", b"n", 1),
        ["v.csv: unknown column 'anotator'", "'annotator'", "--column"],
    ),
    (
        "misspelt task",
        "v.csv",
        b"taks,left,right,winner\nt,a,b,a\n",
        ["v.csv: unknown column 'taks'", "'task'", "--column task=taks"],
    ),
    ("winner is neither", "v.csv", GOOD + b"x,a,b,q\n", ["v.csv:4: winner 'q' is neither 'a' nor 'b'"]),
    ("winner missing", "v.csv", GOOD + b"x,a,b,\n", ["v.csv:4: winner is missing"]),
    ("winner quoted empty", "v.csv", GOOD + b'x,a,b,""\n', ["v.csv:4: winner is missing"]),
    ("id missing", "v.csv", GOOD + b"x,,b,b\n", ["v.csv:4: left is missing"]),
    ("id of blanks", "v.csv", GOOD + b"x,  ,b,b\n", ["v.csv:4: left is missing"]),
    ("annotator missing", "v.csv", GOOD + b",a,b,b\n", ["v.csv:4: annotator is missing"]),
    ("annotator of blanks", "v.csv", GOOD + b"\t,a,b,b\n", ["v.csv:4: annotator is missing"]),
    ("loser missing", "v.csv", b"winner,loser\na,b\na,\n", ["v.csv:3: loser is missing"]),
    ("itself", "v.csv", GOOD + b"x,a,a,a\n", ["v.csv:4: 'a' is compared with itself"]),
    ("item called tie", "v.csv", GOOD + b"x,a,tie,a\n", ["v.csv:4: an item is called 'tie'", "rename the item"]),
    ("too many fields", "v.csv", GOOD + b"x,a,b,a,extra\n", ["v.csv:4: this line has 5 fields, but the header has 4"]),
    ("too few fields", "v.csv", GOOD + b"x,a,b\n", ["v.csv:4: winner is missing"]),
    ("unclosed quote", "v.csv", GOOD + b'x,"a,b,a\ny,a,b,a\n', ["v.csv:4: an opening quotation mark is never closed"]),
    (
        "unclosed quote in header",
        "v.csv",
        b'left,"right,winner\na,b,a\n',
        ["v.csv:1: an opening quotation mark is never closed"],
    ),
    ("text after quote", "v.csv", GOOD + b'x,"a"b,b,b\n', ["v.csv:4: text follows a closing quotation mark"]),
    ("column twice", "v.csv", b"left,left,right,winner\na,a,b,a\n", ["v.csv: two columns are called 'left'"]),
    (
        "column twice by case",
        "v.csv",
        b"left,LEFT,right,winner\na,a,b,a\n",
        ["v.csv: the column names 'left' and 'LEFT' differ only by case"],
    ),
    ("no header", "v.csv", b"ann,a,b,a\nann,b,c,c\n", ["v.csv: two columns", "the first line must name the columns"]),
    (
        "after sep=",
        "v.csv",
        b"sep=;\r\n" + GOOD.replace(b",", b";") + b"x;a;b;q\n",
        ["v.csv:5: winner 'q' is neither 'a' nor 'b'"],
    ),
    ("wrong sep=", "v.csv", b"sep=;\n" + GOOD, ["v.csv: cannot tell the kind of judgment"]),
    ("nameless column", "v.csv", b"item,grade,,\nx,1,,\ny,1,5,\n", ["v.csv:3: '5' is in a column without a name"]),
    ("letters with semicolons", "v.csv", b"item;grade\nx;1,a\n", ["v.csv:2: grade '1,a' is not a finite number"]),
    ("UTF-16", "v.csv", GOOD.decode().encode("utf-16"), ["v.csv: is UTF-16; save it as UTF-8"]),
    ("UTF-16 without mark", "v.csv", GOOD.decode().encode("utf-16-le"), ["v.csv: is UTF-16; save it as UTF-8"]),
    ("Latin-1", "v.csv", GOOD + b"x,a,b\xe9,a\n", ["v.csv:4: byte 0xe9 is not UTF-8"]),
    ("Latin-1 jsonl", "v.jsonl", JSON + JSON.replace(b"b", b"\xe9"), ["v.jsonl:2: byte 0xe9 is not UTF-8"]),
    ("NUL", "v.csv", GOOD + b"x,a,b\0,a\n", ["v.csv:4: contains a NUL byte"]),
    ("binary", "v.csv", bytes(range(256)) * 10, ["v.csv:2: byte 0x80 is not UTF-8"]),
    ("cut gz", "v.csv.gz", gzip.compress(GOOD, mtime=0)[:-9], ["v.csv.gz: is not a valid .gz file"]),
    ("damaged gz", "v.csv.gz", gzip.compress(GOOD, mtime=0)[:12] + b"\xff" * 40, ["v.csv.gz: is not a valid .gz file"]),
    ("not gz", "v.csv.gz", GOOD, ["v.csv.gz: is not a valid .gz file"]),
    ("cut zst", "v.csv.zst", zstandard.compress(GOOD)[:-5], ["v.csv.zst: is not a valid .zst file"]),
    (
        "cut second frame",
        "v.csv.zst",
        zstandard.compress(GOOD) + zstandard.compress(GOOD)[:-5],
        ["is not a valid .zst file"],
    ),
    ("not zst", "v.csv.zst", GOOD, ["v.csv.zst: is not a valid .zst file"]),
    ("cut parquet", "v.parquet", PARQUET[:-30], ["v.parquet: is not a valid Parquet file"]),
    (
        "damaged parquet",
        "v.parquet",
        PARQUET[:4] + bytes(60) + PARQUET[64:],
        ["v.parquet: is not a valid Parquet file"],
    ),
    ("junk parquet", "v.parquet", b"PAR1 junk and more junk PAR1", ["v.parquet: is not a valid Parquet file"]),
    ("not parquet", "v.parquet", GOOD, ["v.parquet: is not a valid Parquet file"]),
    (
        "cut parquet gz",
        "v.parquet.gz",
        gzip.compress(PARQUET[:-30], mtime=0),
        ["v.parquet.gz: is not a valid Parquet file"],
    ),
    ("winner in parquet", "v.parquet", parquet(GOOD + b"x,a,b,q\n"), ["v.parquet:3: winner 'q' is neither"]),
    ("suffix", "v.xls", GOOD, ["v.xls: unknown kind of file '.xls'", ".csv, .tsv, .jsonl, .parquet or .xlsx"]),
    ("zip", "v.zip", b"PK\3\4" + GOOD, ["v.zip: unknown kind of file '.zip'; unpack it first"]),
    ("no suffix", "votes", GOOD, ["votes: unknown kind of file 'votes'"]),
    ("gz of nothing", "v.gz", gzip.compress(GOOD, mtime=0), ["v.gz: unknown kind of file"]),
    ("grade is text", "v.csv", GRADES + b"ann,y,good\n", ["v.csv:3: grade 'good' is not a finite number"]),
    ("grade with comma", "v.csv", GRADES + b'ann,y,"1,5"\n', ["v.csv:3: grade '1,5' is not a finite number"]),
    ("grade NaN", "v.csv", GRADES + b"ann,y,NaN\n", ["v.csv:3: grade 'NaN' is not a finite number"]),
    ("grade inf", "v.csv", GRADES + b"ann,y,-inf\n", ["v.csv:3: grade '-inf' is not a finite number"]),
    ("grade too large", "v.csv", GRADES + b"ann,y,1e999\n", ["v.csv:3: grade '1e999' is not a finite number"]),
    ("grade missing", "v.csv", GRADES + b"ann,y,\n", ["v.csv:3: grade is missing"]),
    ("grade of blanks", "v.csv", GRADES + b"ann,y, \n", ["v.csv:3: grade is missing"]),
    ("item missing", "v.csv", GRADES + b"ann,,2\n", ["v.csv:3: item is missing"]),
    ("rank negative", "v.csv", RANKS + b"ann,y,-1\n", ["v.csv:3: rank -1 is below 0"]),
    ("rank missing", "v.csv", RANKS + b"ann,y,\n", ["v.csv:3: rank is missing"]),
    ("rank is text", "v.csv", RANKS + b"ann,y,first\n", ["v.csv:3: rank 'first' is not a finite number"]),
    (
        "item twice in a list",
        "v.csv",
        RANKS + b"ann,y,2\nann,x,3\n",
        ["v.csv:4: 'x' has another rank in the same list"],
    ),
    (
        "grade and rank",
        "v.csv",
        b"item,rank,grade\nx,1,1\n",
        ["v.csv: the columns 'grade' and 'rank' both", "--column grade=grade"],
    ),
    ("JSON broken", "v.jsonl", JSON + b'{"left":"a",\n', ["v.jsonl:2: is not valid JSON", "character 13"]),
    ("JSON array", "v.jsonl", JSON + b'["a","b"]\n', ["v.jsonl:2: is not a JSON object"]),
    ("JSON number", "v.jsonl", b"\n3\n", ["v.jsonl:2: is not a JSON object"]),
    ("JSON null", "v.jsonl", b"null\n", ["v.jsonl:1: is not a JSON object"]),
    ("JSON list without end", "v.jsonl", b"[\n" + JSON, ["v.jsonl: ends within its list, after 1 objects"]),
    ("JSON two on a line", "v.jsonl", JSON.strip() + JSON, ["v.jsonl:1: is not valid JSON"]),
    ("JSON nested deep", "v.jsonl", b"[" * 100_000, ["v.jsonl:1: is not valid JSON"]),
    ("JSON without winner", "v.jsonl", JSON + b'\n{"left":"a","right":"b"}\n', ["v.jsonl:3: winner is missing"]),
    ("JSON without keys", "v.jsonl", b"{}\n", ["v.jsonl: cannot tell the kind", "(none)"]),
    ("JSON grade NaN", "v.jsonl", b'{"item":"a","grade":NaN}\n', ["v.jsonl:1: grade 'NaN' is not a finite number"]),
    ("JSON grade list", "v.jsonl", b'{"item":"a","grade":[1]}\n', ["v.jsonl:1: grade '[1]' is not a finite number"]),
    ("JSON grade mixed", "v.jsonl", b'{"item":1,"grade":2}\n{"item":"a","grade":"two"}\n', ["v.jsonl:2: grade 'two'"]),
    ("after quoted line breaks", "v.csv", HEADER + b'x,"a\nb\r\nc",b,b\nx,a,b,q\n', ["v.csv:5: winner 'q'"]),
    ("after blank lines", "v.csv", b"\n\r\n" + HEADER + b"x,a,b,b\n\n\nx,a,b,q\n", ["v.csv:7: winner 'q'"]),
    ("after a row of commas", "v.csv", HEADER + b",,,\nx,a,b,q\n", ["v.csv:3: winner 'q'"]),
    ("old Mac lines", "v.csv", (GOOD + b"x,a,b,q\n").replace(b"\n", b"\r"), ["v.csv:4: winner 'q'"]),
    ("long id", "v.csv", HEADER + b"x," + LONG + b",b,q\n", ["v.csv:2: winner 'q'", "aaa… (1,000,000 characters)'"]),
    ("long header", "v.csv", LONG + b",b\n1,2\n", ["v.csv: cannot tell", "aaa… (1,000,000 characters)"]),
    ("many columns", "v.csv", ",".join(f"c{i}" for i in range(500)).encode(), ["c19, … and 480 more"]),
]


@pytest.mark.parametrize(("file", "content", "wanted"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_refused_with_a_message_that_helps(tmp_path, file, content, wanted):
    path = tmp_path / file
    path.write_bytes(content)
    with pytest.raises(cr.JudgmentError) as error:
        cr.read(path)
    message = str(error.value)
    assert message.startswith(str(path))
    assert all(part in message for part in wanted), message
    assert len(message) < 2000  # whatever is in the file


def test_ten_rows_are_shown_then_a_count(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_bytes(HEADER + b"x,a,b,q\n" * 1234)
    with pytest.raises(cr.JudgmentError) as error:
        cr.read(path)
    lines = str(error.value).splitlines()
    assert [line.split(":")[-2] for line in lines[:10]] == [str(line) for line in range(2, 12)]
    assert lines[10:] == ["… and 1,224 more rows like these; where neither won, write 'tie'"]


@pytest.mark.parametrize("file", ["v.csv", "v.tsv", "v.csv.gz"])
def test_header_alone_is_an_empty_study(tmp_path, file):
    path = tmp_path / file
    header = HEADER.replace(b",", b"\t") if ".tsv" in file else HEADER
    path.write_bytes(gzip.compress(header, mtime=0) if file.endswith("gz") else header)
    study = cr.read(path)
    assert len(study) == len(study.vocabulary.items) == 0


@pytest.mark.parametrize(
    ("file", "content", "items"),
    [
        ("long.csv", HEADER + b"x," + LONG + b",b,b\n", [LONG.decode(), "b"]),
        ("quote-within.csv", HEADER + b'x,5" disk,b,b\ny,b,"c ""d""",b\n', ['5" disk', "b", 'c "d"']),
        ("windows.csv", GOOD.replace(b"\n", b"\r\n"), ["a", "b", "c"]),
        ("mac.csv", GOOD.replace(b"\n", b"\r"), ["a", "b", "c"]),
        ("marked.csv", b"\xef\xbb\xbf" + GOOD, ["a", "b", "c"]),
        ("marked.jsonl", b"\xef\xbb\xbf" + JSON, ["a", "b"]),
        (
            "mixed.jsonl",
            b'{"left":"a","right":1,"winner":"a"}\n{"left":1,"right":true,"winner":1}\n',
            ["1", "a", "true"],
        ),
        ("two-frames.csv.zst", zstandard.compress(HEADER) + zstandard.compress(b"x,a,b,a\n"), ["a", "b"]),
        ("two-members.csv.gz", gzip.compress(HEADER, mtime=0) + gzip.compress(b"x,a,b,a\n", mtime=0), ["a", "b"]),
        ("V.CSV", GOOD, ["a", "b", "c"]),
        ("id.csv", b"id,left,right,winner\n1,a,b,a\n", ["a", "b"]),  # not a misspelt qid
    ],
)
def test_odd_but_readable(tmp_path, file, content, items):
    path = tmp_path / file
    path.write_bytes(content)
    assert list(cr.read(path).vocabulary.items) == items


def test_paths_that_are_no_files(tmp_path):
    for path, wanted in [
        (tmp_path / "none.csv", "no such file"),
        (tmp_path / "none.parquet", "no such file"),
        (tmp_path / f"{'x' * 300}.csv", "name too long"),
        (tmp_path / "none" / "v.csv", "no such file"),
    ]:
        with pytest.raises(cr.JudgmentError, match=wanted):
            cr.read(path)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(cr.JudgmentError, match=r"folder\.csv: is a folder; give the names of the files in it"):
        cr.read(tmp_path / "folder.csv")
    with pytest.raises(cr.JudgmentError, match="no file"):
        cr.read()
    with pytest.raises(cr.JudgmentError, match="no file"):
        cr.read_gold()


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"item,grade\nx,1\ny,2\nx,3\n", "v.csv:2: 'x' has another value in another row"),
        (b"item,grade\nx,NaN\n", "v.csv:2: grade 'NaN' is not a finite number"),
        (b"item,score\nx,\n", "v.csv:2: score is missing"),
        (
            b"item,annotator\nx,ann\n",
            "v.csv: needs item and one of grade, score, rank, or left, right and winner; the columns are item, anno",
        ),
        (b"itm,grade\nx,1\n", "itm (did you mean 'item'?)"),
        (b"taks,item,grade\nt,x,1\n", "v.csv: unknown column 'taks'; did you mean 'task'?"),
        (b"item,rank\n,1\n", "v.csv:2: item is missing"),
    ],
)
def test_bad_gold(tmp_path, content, wanted):
    path = tmp_path / "v.csv"
    path.write_bytes(content)
    with pytest.raises(cr.JudgmentError) as error:
        cr.read_gold(path)
    assert wanted in str(error.value)


def test_gold_of_two_kinds(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"item,grade\nx,1\n")
    (tmp_path / "b.csv").write_bytes(b"item,rank\nx,1\n")
    with pytest.raises(cr.JudgmentError, match="grade and rank are mixed"):
        cr.read_gold(tmp_path / "a.csv", tmp_path / "b.csv")


def command(*arguments: object) -> subprocess.CompletedProcess:
    start = "from crowdrank.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", start, *map(str, arguments)], capture_output=True, text=True, check=False
    )


# A representative few: each run starts a Python of its own.
RUN = {"empty", "misspelt annotator", "winner is neither", "too many fields", "unclosed quote", "Latin-1", "cut zst"}
RUN |= {"damaged parquet", "suffix", "item twice in a list", "JSON broken", "long id"}
TO_RUN = [case for case in BAD if case[0] in RUN]


@pytest.mark.parametrize(("file", "content", "wanted"), [case[1:] for case in TO_RUN], ids=[case[0] for case in TO_RUN])
def test_command_refuses_and_leaves_nothing_behind(tmp_path, file, content, wanted):
    (tmp_path / file).write_bytes(content)
    done = command("rank", tmp_path / file, "--out", tmp_path / "out.csv", "--annotators", tmp_path / "annotators.csv")
    assert done.returncode == 2
    assert all(part in done.stderr for part in wanted), done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == [file]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ([], "votes.csv: no judgments, only a header"),
        (
            ["--column", "annotator=user"],
            "votes.csv: there is no column 'user'; the columns are annotator, left, right, winner",
        ),
        (
            ["--column", "anotator=left"],
            "there is no role 'anotator' for a column (did you mean 'annotator'?); the roles are task, annotator",
        ),
    ],
)
def test_command_on_a_header_and_wrong_columns(tmp_path, options, wanted):
    (tmp_path / "votes.csv").write_bytes(HEADER)
    done = command("rank", tmp_path / "votes.csv", "--out", tmp_path / "out.csv", *options)
    assert done.returncode == 2
    assert wanted in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["votes.csv"]
