"""Everything as files, at any time; and earlier judgments from files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from crowdrank.server.content import task_name
from crowdrank.server.context import Owner, Served, Study
from crowdrank.server.errors import ApiError
from crowdrank.server.importing import imported
from crowdrank.server.results import Results
from crowdrank.server.times import as_date
from crowdrank.store import judgments, studies
from crowdrank.store.tables import Record

if TYPE_CHECKING:
    from crowdrank.consensus import Consensus
    from crowdrank.study import Judgments

router = APIRouter()
CsvSafe = Annotated[bool, Query(description="For spreadsheets: no text can be a formula")]
FileName = Annotated[str, Query(description="Its ending says what kind of file it is")]
WAIT = 60.0  # seconds for a fit
# A report has its scripts in it; in a sandbox, it is not a page of this site.
REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:; "
    "sandbox allow-scripts"
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@router.get("/export.json")
def export_json(study: Study, _: Owner, everything: bool = False) -> JSONResponse:
    """All judgments, also those of voided annotators; `everything` adds what was withdrawn, replaced or skipped."""
    found = [_record(row) for row in _rows(study, everything)]
    return JSONResponse(
        {"study": study.file.name, "kind": study.file.kind, "judgments": found}, headers=_as(study, "json")
    )


@router.get("/export.jsonl")
def export_lines(study: Study, _: Owner) -> StreamingResponse:
    """The judgments that count, one JSON object in each line."""
    rows = [row for row in _rows(study) if row.annotator_state == "active"]
    lines = (json.dumps(line, ensure_ascii=False) + "\n" for row in rows for line in _flat(study.file.kind, row))
    return StreamingResponse(lines, media_type="application/jsonl", headers=_as(study, "jsonl"))


@router.get("/export.csv")
def export_csv(study: Study, _: Owner, csv_safe: CsvSafe = False) -> StreamingResponse:
    """The judgments that count, as `crowdrank rank` reads them."""
    rows = [row for row in _rows(study) if row.annotator_state == "active"]
    return StreamingResponse(_csv(study, rows, csv_safe), media_type="text/csv", headers=_as(study, "csv"))


@router.get("/export.parquet")
def export_parquet(study: Study, _: Owner) -> Response:
    """The judgments that count."""
    import polars as pl

    rows = [row for row in _rows(study) if row.annotator_state == "active"]
    flat = [line for row in rows for line in _flat(study.file.kind, row)]
    schema = {name: _TYPES.get(name, pl.String) for name in _COLUMNS[study.file.kind]}
    file = io.BytesIO()
    pl.DataFrame(flat, schema=schema).write_parquet(file)
    return Response(file.getvalue(), media_type="application/vnd.apache.parquet", headers=_as(study, "parquet"))


@router.get("/export.qrels")
def export_qrels(study: Study, __: Owner) -> Response:
    """Grades: the consensus label of each item, as TREC qrels. Other kinds have no grades: best rank, highest value."""
    results = study.results.wait(_sequence(study), WAIT)
    consensus, _ = _fitted(results)
    lines = _labels(consensus) if study.file.kind == "grades" else _by_rank(results.ranking)
    text = "".join(f"{_word(task)} 0 {_word(item)} {grade}\n" for task, item, grade in lines)
    return Response(text, media_type="text/plain; charset=utf-8", headers=_as(study, "qrels"))


@router.get("/report.html")
def report(study: Study, _: Owner) -> Response:
    """The report of `crowdrank rank --report`: one page that needs nothing else."""
    consensus, data = _fitted(study.results.wait(_sequence(study), WAIT))
    try:
        from crowdrank.report import RankReport, rank_page

        page = rank_page(RankReport(consensus, data, title=study.file.title))
    except ModuleNotFoundError as error:
        raise ApiError(409, f"reports need {error.name}: pip install 'crowdrank[report]'", "extra_needed") from None
    headers = {**_as(study, "html"), "content-security-policy": REPORT_POLICY}
    return Response(page, media_type="text/html", headers=headers)


@router.post("/import", openapi_extra={"requestBody": {"content": {"application/octet-stream": {}}}})
async def import_file(study: Study, _: Owner, request: Request, file: FileName = "judgments.csv") -> dict[str, Any]:
    """Take in earlier judgments from a file of any kind that crowdrank reads, or from what `export.json` wrote."""
    from starlette.concurrency import run_in_threadpool

    body = await request.body()
    return await run_in_threadpool(_take_in, study, body, file)


def _take_in(study: Served, body: bytes, name: str) -> dict[str, Any]:
    found, notes = imported(study.file, body, name[-100:])
    with study.database.write() as connection:
        if studies.locked(connection, study.id).state == "frozen":
            raise ApiError(409, "the study is frozen; open or close it before you change anything", "frozen")
        wanted = {(each.task, item) for each in found for item in each.items}
        known = {(row.task, row.name) for row in studies.read_items(connection, study.id)}
        if unknown := sorted(wanted - known):
            names = ", ".join(repr(item) for _, item in unknown[:5])
            raise ApiError(422, f"{len(unknown):,} items of the file are not in the study: {names}", "unknown_items")
        new, before = judgments.take_in(connection, study.id, study.file.kind, found)
        studies.note(connection, study.id, "owner", "imported judgments", new=new, file=name[-100:])
    if before:
        notes = [*notes, f"already in the study, and not stored again: {before:,}"]
    return {"imported": new, "notes": notes}


def _rows(study: Served, everything: bool = False) -> Sequence[Record]:
    with study.database.read() as connection:
        return judgments.read_all(connection, study.id, everything=everything)


def _fitted(results: Results) -> tuple[Consensus, Judgments]:
    """The consensus and its judgments."""
    found = results.load()
    if found is None:
        raise ApiError(409, "there are no judgments yet", "no_judgments")
    return found


def _sequence(study: Served) -> int:
    with study.database.read() as connection:
        return int(studies.read_study(connection, study.id).sequence)


def _record(row: Record) -> dict[str, Any]:
    """A judgment as `export.json` has it."""
    status = "void" if row.status == "counted" and row.annotator_state == "void" else row.status
    return {
        "key": row.key,
        "annotator": row.annotator,
        "task": task_name(row.task),
        "kind": row.kind,
        "items": row.items,
        **row.answer,
        "seconds": row.seconds,
        "time": as_date(row.created),
        "check": row.passed is not None,
        "passed": row.passed,
        "status": status,
        "version": row.version,
        "sequence": row.sequence,
        "details": row.details,
    }


_ALL = ("key", "task", "annotator")
_END = ("seconds", "time", "check")
_COLUMNS = {
    "pairs": (*_ALL, "left", "right", "winner", *_END),
    "grades": (*_ALL, "item", "grade", *_END),
    "rankings": (*_ALL, "item", "rank", "list", *_END),
}
_TYPES: dict[str, Any] = {"grade": float, "rank": int, "list": int, "seconds": float, "check": bool}


def _flat(kind: str, row: Record) -> Iterator[dict[str, Any]]:
    """The lines of a judgment in a table: one, or one for each item of a ranking."""
    start = {"key": row.key, "task": row.task, "annotator": row.annotator}
    end = {"seconds": row.seconds, "time": as_date(row.created), "check": row.passed is not None}
    if kind == "pairs":
        left, right = row.items
        yield {**start, "left": left, "right": right, "winner": row.answer.get("winner", "tie"), **end}
    elif kind == "grades":
        yield {**start, "item": row.items[0], "grade": row.answer["grade"], **end}
    else:
        place = 1
        for tied in row.answer["ranking"]:
            for name in tied:
                yield {**start, "item": name, "rank": place, "list": row.id, **end}
            place += len(tied)


def _csv(study: Served, rows: Sequence[Record], safe: bool) -> Iterator[str]:
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS[study.file.kind], lineterminator="\n")
    writer.writeheader()
    tidy: Callable[[Any], Any] = _no_formula if safe else _as_it_is
    for row in rows:
        for line in _flat(study.file.kind, row):
            writer.writerow({key: tidy(value) for key, value in line.items()})
        yield text.getvalue()
        text.seek(0)
        text.truncate()
    yield text.getvalue()


def _as_it_is(value: Any) -> Any:
    return value


def _no_formula(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _labels(consensus: Any) -> Iterator[tuple[str, str, int]]:
    from crowdrank.grading import labels

    for row in labels(consensus).to_dicts():
        yield str(row["task"]), str(row["item"]), round(float(row["grade"]))


def _by_rank(ranking: list[dict[str, Any]]) -> Iterator[tuple[str, str, int]]:
    """Items of a task by rank: the last has 1, and those without judgments are left out."""
    ranked = [row for row in ranking if row["rank"] is not None]
    most: dict[str, int] = {}
    for row in ranked:
        most[row["task"]] = max(most.get(row["task"], 0), row["rank"])
    for row in ranked:
        yield row["task"], row["item"], most[row["task"]] - row["rank"] + 1


def _word(text: str) -> str:
    """A name; blanks separate columns in TREC files."""
    if len(text.split()) != 1:
        raise ApiError(409, f"{text!r} contains a blank, which separates columns in qrels; export CSV instead", "blank")
    return text


def _as(study: Served, ending: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{study.file.name}.{ending}"'}
