"""What annotators see of an item. Nothing in it can run, or load anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from crowdrank.server.item_table import ONE_TASK, is_embedded
from crowdrank.store.studies import NewItem, items_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


class Contents:
    """The items that were shown: their content does not change while a study is served."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Any] = {}

    def of(self, connection: Connection, study_id: int, entries: Iterable[tuple[str, str]]) -> dict[Any, Any]:
        """The rows of some items, by task and name."""
        wanted = set(entries)
        if new := {entry for entry in wanted if entry not in self._known}:
            self._known.update(items_of(connection, study_id, new))
        return {entry: self._known[entry] for entry in wanted if entry in self._known}


@cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Raw HTML is shown as text. Images are left out: the policy of the page would not load them anyway.
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


def rendered(markdown: str) -> str:
    r"""Markdown as HTML; HTML in it is shown as it is written.

    >>> rendered("*a* <script>")
    '<p><em>a</em> &lt;script&gt;</p>\n'
    """
    return str(_renderer().render(markdown))


def shown_item(row: Any, media: str) -> dict[str, Any]:
    """An item of the store as questions have it; `media` is the address of images and pages."""
    content, shown = row.content, {"id": row.name, "title": row.title}
    for key in ("text", "place"):
        if key in content:
            shown[key] = content[key]
    if "markdown" in content:
        shown["html"] = rendered(content["markdown"])
    if "image" in content:
        shown["image"] = content["image"] if is_embedded(content["image"]) else f"{media}/{row.media}"
    if "html" in content:
        shown["frame"] = f"{media}/{row.media}.html"
    return shown


def practice_item(item: NewItem) -> dict[str, Any]:
    """An item for practice; it is in no store, and has neither files nor pages."""
    shown = {"id": item.name, "title": item.title}
    shown.update({key: item.content[key] for key in ("text", "place") if key in item.content})
    if "markdown" in item.content:
        shown["html"] = rendered(item.content["markdown"])
    if is_embedded(item.content.get("image", "")):
        shown["image"] = item.content["image"]
    return shown


def task_name(task: str) -> str | None:
    """The task as the API names it: nothing where a study has no tasks."""
    return None if task == ONE_TASK else task
