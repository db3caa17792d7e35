"""Errors as the API gives them: {"error": a sentence, "code": a word for programs}."""

from __future__ import annotations

import logging

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from crowdrank.settings import InputError
from crowdrank.store.access import AccessError
from crowdrank.store.database import RefusalError, StoreError
from crowdrank.store.judgments import AnswerError

LOG = logging.getLogger("crowdrank.server")
CODES = {400: "bad_request", 404: "not_found", 405: "method_not_allowed", 413: "too_large"}
ACCESS = {"name_taken": 409, "not_listed": 403, "wrong_invitation": 403, "expired_invitation": 403}


class ApiError(RefusalError):
    """An error that a client can read."""

    def __init__(self, status: int, message: str, code: str) -> None:
        super().__init__(message, code)
        self.status = status


def failed(status: int, message: str, code: str) -> JSONResponse:
    """An answer that says what is wrong."""
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {"Retry-After": "2"} if status in (429, 503) else {}
    return JSONResponse({"error": message, "code": code}, status, headers=headers)


def install(app: FastAPI) -> None:
    """Give every error its form."""

    @app.exception_handler(ApiError)
    def known(_: Request, error: ApiError) -> JSONResponse:
        return failed(error.status, str(error), error.code)

    @app.exception_handler(AccessError)
    def access(_: Request, error: AccessError) -> JSONResponse:
        return failed(ACCESS.get(error.code, 401), str(error), error.code)

    @app.exception_handler(StoreError)
    def unavailable(_: Request, error: StoreError) -> JSONResponse:
        LOG.error("%s", error)
        return failed(503, f"{error}; nothing was stored: try again in a moment", "database_unavailable")

    @app.exception_handler(AnswerError)
    @app.exception_handler(InputError)
    def input_error(_: Request, error: Exception) -> JSONResponse:
        return failed(422, str(error), "not_valid")

    @app.exception_handler(RequestValidationError)
    def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return failed(422, "; ".join(_mistakes(error)[:5]), "not_valid")

    @app.exception_handler(HTTPException)
    def http(_: Request, error: HTTPException) -> JSONResponse:
        return failed(error.status_code, str(error.detail), CODES.get(error.status_code, "error"))

    @app.exception_handler(Exception)
    def unexpected(_: Request, error: Exception) -> JSONResponse:
        LOG.error("unexpected error", exc_info=error)
        return failed(500, "the server made a mistake; its log says more", "server_error")


def _mistakes(error: RequestValidationError) -> list[str]:
    """Where each mistake is, and what it is; of a body with several forms, those of the form that fits best."""
    found = [(tuple(each["loc"]), str(each["msg"])) for each in error.errors()]
    forms: dict[str, int] = {}  # the names of the forms stand after "body"
    for place, _ in found:
        if len(place) > 1 and "Body" in str(place[1]):
            forms[str(place[1])] = max(forms.get(str(place[1]), 0), len(place))
    best = max(forms, key=lambda form: forms[form], default="")
    kept = [(place, words) for place, words in found if len(place) < 2 or str(place[1]) in ("", best) or not forms]
    return [f"{'.'.join(str(part) for part in place if str(part) != best)}: {words}" for place, words in kept]
