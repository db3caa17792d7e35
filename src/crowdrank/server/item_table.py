"""Tables of items and of gold, from files beside the study."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from crowdrank.settings import InputError, did_you_mean
from crowdrank.store.studies import NewItem

ONE_TASK = "all"  # the task of items that name none
JOINERS = {0x200C: None, 0x200D: None}  # Persian words and many emoji have them inside
COLUMNS = ("id", "title", "text", "markdown", "image", "html", "task", "owner", "place")
IMAGES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".svg": "image/svg+xml",
}
LONGEST_ID = 200
LONGEST_TASK = 400
LONGEST_TEXT = 200_000


def read_rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a table as texts, each with its place in the file; CSV is read without heavy imports."""
    rows = _csv(path) if path.suffix.lower() in (".csv", ".tsv") else _other(path)
    for number, (place, row) in enumerate(rows):
        if number == 0:
            for column in needed:
                if column not in row:
                    has = ", ".join(row)
                    raise InputError(f"{path}: has no column {column!r}{did_you_mean(column, row)}; it has {has}")
        yield place, row


def _csv(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    csv.field_size_limit(10_000_000)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header = file.readline()
            file.seek(0)
            reader = csv.DictReader(file, delimiter=_delimiter(path, header), strict=True)
            for row in reader:
                if None in row or None in row.values():
                    raise InputError(f"{path}:{reader.line_num}: does not have as many values as there are columns")
                yield f"{path}:{reader.line_num}", {str(key).strip(): value.strip() for key, value in row.items()}
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not a text in UTF-8") from None
    except csv.Error as error:
        raise InputError(f"{path}: is not a table in CSV: {error}") from None


def _delimiter(path: Path, header: str) -> str:
    """That of the file's name; if the header does not have it, what spreadsheets of other countries write."""
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    return next((mark for mark in (usual, ";", "\t", "|") if mark in header), usual)


def _other(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Parquet, JSON lines and whatever else crowdrank reads."""
    from crowdrank.formats.files import of_file

    source = of_file(path)
    columns = {name: source.load(name).to_list() for name in source.columns}
    for number in range(len(next(iter(columns.values()), []))):
        values = {name: "" if column[number] is None else str(column[number]) for name, column in columns.items()}
        yield f"{path}: row {number + 1}", values


def read_table(path: Path) -> Iterator[NewItem]:
    """The items of a table."""
    seen: dict[tuple[str, str], str] = {}
    for place, row in read_rows(path, ()):
        if "id" not in row and "item" in row:
            row = {"id": row.pop("item"), **row}
        for column in row:
            hint = "" if column in COLUMNS else did_you_mean(column, COLUMNS, cutoff=0.75)
            if hint:  # columns with other names are the user's own
                raise InputError(f"{path}: unknown column {column!r}{hint}; items may have {', '.join(COLUMNS)}")
        if "id" not in row:
            raise InputError(f"{path}: has no column 'id'; it has {', '.join(row)}")
        item = new_item(row, place)
        if item.content.get("image"):
            _check_image(path, place, item.content["image"])
        before = seen.setdefault((item.task, item.name), place)
        if before is not place:
            raise InputError(f"{place}: item {item.name!r} stands in the table twice; it is also at {before}")
        yield item


def new_item(row: Mapping[str, Any], place: str) -> NewItem:
    """An item from a row of a table, or from what a client sends."""
    name = str(row.get("id") or "").strip()
    if not name or len(name) > LONGEST_ID or not name.translate(JOINERS).isprintable():
        raise InputError(f"{place}: the id of an item must be 1 to {LONGEST_ID} characters that can be printed")
    content = {key: str(row[key]) for key in ("text", "markdown", "image", "html", "place") if row.get(key)}
    for key, value in content.items():
        if key != "image" and len(value) > LONGEST_TEXT:
            raise InputError(f"{place}: {key} of item {name!r} has more than {LONGEST_TEXT:,} characters")
    title, task = str(row.get("title") or name)[:1000], str(row.get("task") or ONE_TASK)
    if len(task) > LONGEST_TASK or "\0" in task:
        raise InputError(
            f"{place}: the task of item {name!r} must have at most {LONGEST_TASK} characters; use a short id"
        )
    return NewItem(name, title, task, content, row.get("owner") or None)


def _check_image(path: Path, place: str, image: str) -> None:
    """An image is a file below the folder of the table, or a data: address; nothing is loaded from elsewhere."""
    if is_embedded(image):
        return
    if "://" in image or image.startswith(("data:", "//")):
        raise InputError(f"{place}: image {image[:80]!r} is elsewhere; put the file beside the table and name it")
    file = (path.parent / image).resolve()
    if not file.is_relative_to(path.parent.resolve()) or not file.is_file():
        raise InputError(f"{place}: there is no image {image!r} in {path.parent}")
    if file.suffix.lower() not in IMAGES:
        raise InputError(f"{place}: image {image!r} must be one of {', '.join(IMAGES)}")


def is_embedded(image: str) -> bool:
    """Whether an image is written out in the table."""
    return image.startswith(tuple(f"data:{kind};base64," for kind in IMAGES.values()))
