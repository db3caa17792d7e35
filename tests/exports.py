"""Small exports as other tools write them, with what real ones have: skipped tasks, several users, odd values.

Label Studio and Argilla are in annotation_exports.py.
"""

from __future__ import annotations

import json
import zipfile
from html import escape
from pathlib import Path
from typing import Any

import polars as pl

from annotation_exports import ARGILLA_1, ARGILLA_HUB, STUDIO_0, argilla, argilla_table, label_studio, parquet, ratings

SOC = """# FILE NAME: 00004-00000001.soc
# TITLE: Netflix Prize Data
# DESCRIPTION:
# DATA TYPE: soc
# MODIFICATION TYPE: induced
# RELATES TO:
# RELATED FILES:
# PUBLICATION DATE: 2013-08-17
# MODIFICATION DATE: 2022-09-16
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 515
# NUMBER UNIQUE ORDERS: 3
# ALTERNATIVE NAME 1: The X-Files: Season 2
# ALTERNATIVE NAME 2: Épisode «2»
# ALTERNATIVE NAME 3: Troy
263: 2,1,3
200: 1, 2, 3
52: 3,2,1
"""
TOI = """# DATA TYPE: toi
# NUMBER ALTERNATIVES: 4
# NUMBER VOTERS: 10
# NUMBER UNIQUE ORDERS: 3
# ALTERNATIVE NAME 1: a
# ALTERNATIVE NAME 2: b
# ALTERNATIVE NAME 3: c
# ALTERNATIVE NAME 4: d
6: {1, 4},2
3: 3
1: 2,{1,3,4}
"""
CAT = """# FILE NAME: 00026-00000001.cat
# DATA TYPE: cat
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 4
# NUMBER UNIQUE ORDERS: 2
# NUMBER CATEGORIES: 3
# CATEGORY NAME 1: Yes
# CATEGORY NAME 2: Maybe
# CATEGORY NAME 3: No
# ALTERNATIVE NAME 1: Megret
# ALTERNATIVE NAME 2: Lepage
# ALTERNATIVE NAME 3: Gluckstein
3: 1, {2,3}, {}
1: {}, {}, {1,2,3}
"""
OLD_SOI = """3
1,a
2,b
3,c, the third
5,5,2
3,2,1
2,1,{2,3}
"""


BUTTONS = """HITId,WorkerId,AssignmentStatus,Input.doc,Answer.rating.1,Answer.rating.2,Answer.rating.3
1,W,Approved,x,true,false,false
2,V,Approved,y,false,false,true
3,V,Approved,z,false,false,false
"""


def _battle(number: int, left: str, right: str, winner: str, user: int, language: str, time: float) -> dict[str, Any]:
    return {
        "question_id": f"q{number}",
        "model_a": left,
        "model_b": right,
        "winner": winner,
        "judge": f"arena_user_{user}",
        "conversation_a": [{"role": "user", "content": "hi"}] * (number % 2),
        "turn": 1,
        "anony": number != 3,
        "language": language,
        "tstamp": time,
    }


BATTLES = [
    _battle(1, "gpt", "llama", "model_a", 1, "English", 1682351591.0),
    _battle(2, "llama", "mistral", "tie (bothbad)", 2, "French", 1682351592.5),
    _battle(3, "gpt", "mistral", "model_b", 1, "English", 1682351593.0),
    _battle(4, "mistral", "gpt", "tie", 3, "English", 1682351590.0),
]
ARENA_55K = """id,model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie
30192,gpt,llama,"[""Is it, or not?""]","[""yes""]","[""no""]",1,0,0
53567,llama,mistral,"[""Line
break""]","[""a""]","[""b""]",0,0,1
65089,gpt,mistral,"[""x""]","[""a""]","[""b""]",0,1,0
"""
BENCH = [
    {"question_id": 81, "model_a": "a", "model_b": "b", "winner": "model_a", "judge": ["gpt-4", "pair-v2"], "turn": 1},
    {"question_id": 81, "model_a": "b", "model_b": "c", "winner": "tie", "judge": ["gpt-4", "pair-v2"], "turn": 2},
    {"question_id": 82, "model_a": "c", "model_b": "a", "winner": "model_b", "judge": ["gpt-4", "pair-v2"], "turn": 1},
]


def arena_140k() -> bytes:
    return parquet(
        pl.DataFrame(
            {
                "id": ["1", "2", "3"],
                "model_a": ["gpt", "llama", "gpt"],
                "model_b": ["llama", "mistral", "mistral"],
                "winner": ["model_a", "both_bad", "model_b"],
                "evaluation_session_id": ["s1", "s1", "s2"],
                "evaluation_order": [1, 2, 1],
                "conversation_a": [[{"role": "user", "content": "hi"}]] * 3,
                "conv_metadata": [{"sum_assistant_a_tokens": n, "header_count_a": {"h1": n}} for n in (10, 20, 30)],
                "category_tag": [{"creative_writing_v0.1": {"creative_writing": flag}} for flag in (True, False, True)],
                "is_code": [True, False, False],
            }
        )
    )


MTURK_COLUMNS = (
    "HITId", "HITTypeId", "Title", "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime", "SubmitTime",
    "WorkTimeInSeconds", "Input.image_url", "Input.query", "Answer.relevance", "Approve", "Reject",
)  # fmt: skip
MTURK_ROWS = [
    ("H1", "A1", "W1", "Approved", "21", "1.png", "4"),
    ("H1", "A2", "W2", "Submitted", "22", "1.png", "5"),
    ("H2", "A3", "W1", "Rejected", "23", "2.png", "1"),
    ("H2", "A4", "W2", "Approved", "24", "2.png", "2"),
    ("H2", "A5", "W3", "Approved", "25", "2.png", ""),
]
MTURK = "\n".join(
    ",".join(f'"{cell}"' for cell in row)
    for row in (
        MTURK_COLUMNS,
        *(
            (hit, "T", "Rate, please", assignment, worker, status, "Mon Jan 14 10:20:30 PST 2019",
             f"Mon Jan 14 10:{minute}:30 PST 2019", "60", f"http://x/{image}", "cats", grade, "x", "")
            for hit, assignment, worker, status, minute, image, grade in MTURK_ROWS
        ),
    )
)  # fmt: skip


def mturk_forms() -> str:
    """Pairs, answered in a crowd form."""
    rows = [("a.png", "b.png", "A"), ("b.png", "c.png", "B"), ("a.png", "c.png", "A")]
    header = "HITId,AssignmentId,WorkerId,AssignmentStatus,Input.image_a,Input.image_b,Answer.taskAnswers\n"
    lines = []
    for number, (left, right, side) in enumerate(rows):
        answer = json.dumps([{"better": {"A": side == "A", "B": side == "B"}, "comment": "none"}])
        quoted = answer.replace('"', '""')
        lines.append(f'H{number},A{number},W{number % 2},Approved,{left},{right},"{quoted}"\n')
    return header + "".join(lines)


TOLOKA = "\t".join(
    ("INPUT:image", "OUTPUT:result", "GOLDEN:result", "HINT:text", "ASSIGNMENT:link", "ASSIGNMENT:assignment_id",
     "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "ASSIGNMENT:submitted")
) + "\n" + "".join(
    "\t".join(row) + "\n"
    for row in (
        ("i1", "2", "2", "", "l", "a1", "t1", "w1", "APPROVED", "2021-03-01T10:00:00.123"),
        ("i2", "0", "", "", "l", "a1", "t2", "w1", "APPROVED", "2021-03-01T10:00:00.123"),
        ("",) * 10,
        ("i1", "1", "2", "", "l", "a2", "t1", "w2", "APPROVED", "2021-03-01T11:00:00.5"),
        ("i2", "1", "", "", "l", "a2", "t2", "w2", "REJECTED", "2021-03-01T11:00:00.5"),
        ("i3", "", "", "", "l", "a3", "t3", "w3", "SKIPPED", ""),
        ("i3", "1", "1", "", "", "", "t3", "", "", ""),
    )
)  # fmt: skip


def _preference(prompt: str, chosen: str, rejected: str, lang: str) -> dict[str, Any]:
    return {
        "prompt": prompt,
        "chosen": [{"role": "assistant", "content": f"{prompt} yes"}],
        "rejected": [{"role": "assistant", "content": ""}],
        "chosen_model": chosen,
        "rejected_model": rejected,
        "score_chosen": 8.0,
        "score_rejected": 3.5,
        "lang": lang,
    }


PREFERENCES = [_preference("Why?", "gpt", "llama", "en"), _preference("Où?", "mistral", "llama", "fr")]


def ultrafeedback() -> list[dict[str, Any]]:
    def rated(model: str, **ratings: str) -> dict[str, Any]:
        annotations = {aspect: {"Rating": rating, "Rationale": "so"} for aspect, rating in ratings.items()}
        return {"model": model, "response": "…", "annotations": annotations, "overall_score": 7.5}

    return [
        {"source": "flan", "instruction": "Do it", "models": ["gpt", "llama"],
         "completions": [rated("gpt", helpfulness="5", honesty="4"), rated("llama", helpfulness="2", honesty="N/A")]},
        {"source": "sharegpt", "instruction": "Say it", "models": ["llama"],
         "completions": [rated("llama", helpfulness="3", honesty="1")]},
        {"source": "sharegpt", "instruction": "None", "models": [], "completions": []},
    ]  # fmt: skip


COMPARATIVE = """judge,chosen,notChosen,timeTaken,createdAt,task
Ann,essay 1,essay 2,31.5,2023-01-05T09:00:00.000Z,Year 5
Bob,essay 2,essay 3,12.0,2023-01-05T09:01:00.000Z,Year 5
Ann,essay 1,essay 3,8.25,2023-01-05T09:02:00.000Z,Year 5
"""


def lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


# name of the file → its content: one of each kind that is read as it is
WHOLE: dict[str, bytes] = {
    "netflix.soc": SOC.encode(),
    "ties.toi": TOI.encode(),
    "french.cat": CAT.encode(),
    "old.soi": OLD_SOI.encode(),
    "pairs.json": json.dumps(label_studio()).encode(),
    "ratings.json": json.dumps(ratings()).encode(),
    "argilla.json": json.dumps(argilla()).encode(),
    "argilla.parquet": argilla_table(),
    "argilla-1.json": json.dumps(ARGILLA_1).encode(),
    "argilla-hub.jsonl": lines(ARGILLA_HUB).encode(),
    "studio-0.json": json.dumps(STUDIO_0).encode(),
    "battles.json": json.dumps(BATTLES).encode(),
    "battles.jsonl": lines(BATTLES).encode(),
    "arena.parquet": arena_140k(),
    "arena.csv": ARENA_55K.encode(),
    "bench.jsonl": lines(BENCH).encode(),
    "batch.csv": MTURK.encode(),
    "forms.csv": mturk_forms().encode(),
    "buttons.csv": BUTTONS.encode(),
    "pool.tsv": TOLOKA.encode(),
    "preferences.jsonl": lines(PREFERENCES).encode(),
    "ultra.jsonl": lines(ultrafeedback()).encode(),
    "judging.csv": COMPARATIVE.encode(),
}
# what the user must say, where the file cannot
COLUMNS = {
    "batch.csv": {"item": "image_url", "grade": "relevance"},
    "forms.csv": {"left": "image_a", "right": "image_b", "winner": "better"},
}


def write_ods(path: Path, rows: list[list[Any]]) -> None:
    """A sheet as LibreOffice writes it."""

    def cell(value: Any) -> str:
        kind = 'string"' if isinstance(value, str) else f'float" office:value="{value}"'
        return f'<table:table-cell office:value-type="{kind}><text:p>{escape(str(value))}</text:p></table:table-cell>'

    names = "".join(
        f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    lines = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content{names} office:version="1.3"><office:body>'
        f'<office:spreadsheet><table:table table:name="Sheet1">{lines}</table:table></office:spreadsheet>'
        "</office:body></office:document-content>"
    )
    mime = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", mime)
        archive.writestr("content.xml", content)
        archive.writestr(
            "META-INF/manifest.xml",
            f'<manifest:manifest xmlns:manifest="{manifest}"><manifest:file-entry manifest:full-path="/" '
            f'manifest:media-type="{mime}"/></manifest:manifest>',
        )
