"""The pages, and the images and pages of items."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from crowdrank.server.context import Study
from crowdrank.server.errors import ApiError
from crowdrank.server.item_table import IMAGES, is_embedded
from crowdrank.store import studies

PAGES = Path(__file__).parents[1] / "pages"
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".png": "image/png"}
# A page of an item: no scripts, nothing from elsewhere, only in a frame of our own page.
ITEM_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'; sandbox"
)

router = APIRouter(include_in_schema=False)
media = APIRouter(include_in_schema=False)


@router.get("/")
def start(request: Request) -> Response:
    """The only study, or nothing: studies are not listed."""
    names = list(request.app.state.studies)
    if len(names) == 1:
        return RedirectResponse(f"{request.scope.get('root_path', '')}/s/{names[0]}", 307)
    return HTMLResponse("<!doctype html><title>crowdrank</title><p>Open the link of your study.</p>")


@router.get("/s/{name}")
def annotate(_: Study) -> Response:
    """The page of annotators."""
    return _file(PAGES / "annotate.html", "text/html; charset=utf-8")


@router.get("/s/{name}/dashboard")
def dashboard(_: Study) -> Response:
    """The page of the owner."""
    return _file(PAGES / "dashboard.html", "text/html; charset=utf-8")


@router.get("/static/{file}")
def static(file: str) -> Response:
    """A script or a style of the pages."""
    path = PAGES / file
    if path.parent != PAGES or path.suffix not in TYPES or not path.is_file():
        raise ApiError(404, "there is no such file", "not_found")
    return _file(path, TYPES[path.suffix])


def _file(path: Path, kind: str) -> Response:
    if not path.is_file():
        raise ApiError(404, "this page does not exist", "not_found")
    return FileResponse(path, media_type=kind, headers={"cache-control": "no-cache"})


@media.get("/media/{address}")
def content(study: Study, address: str) -> Response:
    """The image or the page of an item; its address cannot be guessed."""
    secret, _, ending = address.partition(".")
    with study.database.read() as connection:
        row = studies.media_of(connection, study.id, secret[:100])
    headers = {"content-security-policy": ITEM_POLICY, "x-frame-options": "SAMEORIGIN", "cache-control": "private"}
    if row is not None and ending == "html" and "html" in row.content:
        return HTMLResponse(row.content["html"], headers=headers)
    image = "" if row is None or ending else row.content.get("image", "")
    path = (study.file.media / image).resolve()
    inside = path.is_relative_to(study.file.media.resolve()) and path.suffix.lower() in IMAGES
    if not image or is_embedded(image) or not inside or not path.is_file():
        raise ApiError(404, "there is no such image", "not_found")
    return FileResponse(path, media_type=IMAGES[path.suffix.lower()], headers=headers)
