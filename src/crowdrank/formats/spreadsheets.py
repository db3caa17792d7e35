"""Spreadsheets (.xlsx, .ods): the first sheet is a table of texts, as a .csv is. Needs the extra `spreadsheets`."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import polars as pl

from crowdrank.formats.compressed import most_bytes, too_large
from crowdrank.formats.source import Source
from crowdrank.formats.table import check_width
from crowdrank.settings import SettingError
from crowdrank.study import JudgmentError

NOT_INSTALLED = "spreadsheets need another package: pip install 'crowdrank[spreadsheets]', or save the file as .csv"
WHOLE = r"^(-?\d+)\.0$"  # how a whole number is written whose cell is a decimal number


def of_spreadsheet(path: Path, data: bytes) -> Source:
    """The first sheet of a file; its first row names the columns."""
    if not data:
        raise JudgmentError(f"{path}: is empty")
    _check_size(path, data)
    try:
        import fastexcel
    except ImportError:
        raise SettingError(f"{path}: {NOT_INSTALLED}") from None
    try:
        sheet = fastexcel.read_excel(data).load_sheet(0, dtypes="string")
        frame = sheet.to_polars()
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # the reader is not written in Python: its worst errors are no Exception
        reason = str(error).partition("\n")[0][:100]
        raise JudgmentError(f"{path}: is not a spreadsheet that can be read ({reason}); save it as .csv") from None
    check_width(path, frame.width)
    if not frame.width or not frame.height:
        raise JudgmentError(f"{path}: its first sheet is empty")
    named = [name for name in frame.columns if not re.fullmatch(r"__UNNAMED__\d+", name)]
    frame = frame.select(pl.col(name).cast(pl.String).str.replace(WHOLE, "$1") for name in named)
    row = frame.with_row_index().filter(pl.any_horizontal(pl.all().exclude("index").is_not_null()))
    lines = row["index"]
    return Source(str(path), named, row.get_column, lambda at: f"{path}: row {int(lines[at]) + 2}")


def _check_size(path: Path, data: bytes) -> None:
    """Refuse a file that is no archive, or one that would become too large."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(part.file_size for part in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise JudgmentError(
            f"{path}: is not a valid spreadsheet; it is damaged, incomplete, or of another kind"
        ) from None
    if size > most_bytes():
        raise JudgmentError(too_large(path, most_bytes()))


def spreadsheet_bytes(frame: pl.DataFrame) -> bytes:
    """A table as an .xlsx file. Texts are written as texts: none is computed as a formula."""
    try:
        import xlsxwriter
    except ImportError:
        raise SettingError(NOT_INSTALLED) from None
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(
        buffer, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    ) as book:
        frame.write_excel(book)
    return buffer.getvalue()
