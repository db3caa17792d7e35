"""What every request and answer passes: sizes, rates, the origin, and headers."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crowdrank.server.errors import ApiError, failed
from crowdrank.server.limits import RateLimits

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
PAGE_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
API_HEADERS = [*PAGE_HEADERS, (b"cache-control", b"no-store")]
MOST_BYTES = 2_000_000
MOST_IMPORT = 50_000_000


class Guard:
    """Refuses requests that are too many, too large or from other sites; adds headers to all answers."""

    def __init__(self, app: ASGIApp, limits: RateLimits, public_url: str) -> None:
        self.app, self.limits, self.origin = app, limits, _origin(public_url)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        most = MOST_IMPORT if scope["path"].endswith("/import") else MOST_BYTES
        body = _Counted(receive, most)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = API_HEADERS if scope["path"].startswith("/api/") else PAGE_HEADERS
                given = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(each for each in own if each[0] not in given)]
            await send(message)

        try:
            self._check(scope, most)
        except ApiError as error:
            await failed(error.status, str(error), error.code)(scope, receive, with_headers)
            return
        await self.app(scope, body, with_headers)

    def _check(self, scope: Scope, most: int) -> None:
        headers = Headers(scope=scope)
        self.limits.check_address(scope["client"][0] if scope["client"] else "unknown")
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length) > most:
            raise ApiError(413, f"the request is larger than {most:,} bytes", "too_large")
        origin = headers.get("origin")
        if origin is not None and scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            own = {self.origin, f"{scope['scheme']}://{headers.get('host', '')}"}
            if _origin(origin) not in own:
                raise ApiError(403, "this request comes from a page of another site", "other_origin")


class _Counted:
    """A body that ends with an error when it is too large, also without the header that says so."""

    def __init__(self, receive: Receive, most: int) -> None:
        self.receive, self.left = receive, most

    async def __call__(self) -> Message:
        message = await self.receive()
        self.left -= len(message.get("body", b""))
        if self.left < 0:
            raise HTTPException(413, "the request is too large")  # FastAPI would hide an error of our own
        return message


def _origin(url: str) -> str:
    """Scheme, host and port of an address."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()
