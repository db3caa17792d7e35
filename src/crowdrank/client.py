"""A client of `crowdrank serve`, with nothing but Python's own library.

>>> from crowdrank.client import Client
>>> client = Client("http://127.0.0.1:8000", "my-study")          # doctest: +SKIP
>>> client.join(details={"model": "gpt-5", "prompt": "v2"})        # doctest: +SKIP
>>> for question in client.questions(count=5):                     # doctest: +SKIP
...     client.submit([{"question": question["id"], "winner": question["items"][0]["id"]}])
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable, Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

TRIES = 5  # of a request that the server could not answer
WAIT = 0.5  # seconds before the second try; twice as long before each further one
AGAIN = (429, 502, 503, 504)


class ClientError(Exception):
    """What the server refused: a sentence, its code and the HTTP status."""

    def __init__(self, message: str, code: str, status: int) -> None:
        super().__init__(message)
        self.code, self.status = code, status


class Client:
    """An annotator, or with the owner's token the owner, of one study."""

    def __init__(self, url: str, study: str, token: str | None = None, timeout: float = 30.0) -> None:
        self.address = f"{url.rstrip('/')}/api/v1/studies/{quote(study, safe='')}"
        self.token, self.timeout = token, timeout
        self.annotator: str | None = None

    def join(
        self, annotator: str | None = None, invite: str | None = None, details: Mapping[str, Any] | None = None
    ) -> str:
        """Become an annotator; the token is kept for all further requests. Returns the name."""
        body = {"annotator": annotator, "invite": invite, "details": dict(details or {})}
        joined = self.post("join", {key: value for key, value in body.items() if value is not None})
        self.annotator, self.token = joined["annotator"], joined["token"]
        return str(self.annotator)

    def questions(self, count: int = 5) -> list[dict[str, Any]]:
        """The questions of this annotator; none where there is nothing left to ask."""
        found: list[dict[str, Any]] = self.get("questions", count=count)["questions"]
        return found

    def submit(self, judgments: Iterable[Mapping[str, Any]]) -> list[str]:
        """Store judgments; the keys that are stored. Without a key a judgment gets one, so that a retry is harmless."""
        given = [{"key": secrets.token_urlsafe(12), **each} for each in judgments]
        stored: list[str] = self.post("judgments", given)["stored"]
        return stored

    def undo(self, key: str) -> None:
        """Take a judgment back."""
        self.request("DELETE", f"judgments/{quote(key, safe='')}")

    def edit(self, key: str, **answer: Any) -> None:
        """Answer the same question otherwise."""
        self.request("PUT", f"judgments/{quote(key, safe='')}", answer)

    def get(self, path: str, **query: Any) -> Any:
        """Any GET of the API, for example `get("consensus")`."""
        return self.request("GET", f"{path}?{urlencode(query)}" if query else path)

    def post(self, path: str, body: Any = None) -> Any:
        """Any POST of the API, for example `post("state", {"state": "paused"})`."""
        return self.request("POST", path, body)

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """One request; tried again while the server is away or busy, which is safe: judgments have keys."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        request = Request(f"{self.address}/{path}", data, headers, method=method)
        for attempt in range(TRIES):
            try:
                with urlopen(request, timeout=self.timeout) as answer:
                    return _content(answer.read(), answer.headers.get_content_type())
            except HTTPError as error:
                if error.code not in AGAIN or attempt == TRIES - 1:
                    raise _refused(error) from None
            except (URLError, ConnectionError, TimeoutError, HTTPException) as error:
                if attempt == TRIES - 1:
                    raise ClientError(f"the server cannot be reached: {error}", "unreachable", 0) from None
            time.sleep(WAIT * 2**attempt)
        raise AssertionError


def _content(data: bytes, kind: str) -> Any:
    return json.loads(data) if kind == "application/json" else data


def _refused(error: HTTPError) -> ClientError:
    try:
        said = json.loads(error.read())
        return ClientError(said["error"], said["code"], error.code)
    except (ValueError, KeyError, TypeError):
        return ClientError(f"the server answered {error.code}", "error", error.code)
