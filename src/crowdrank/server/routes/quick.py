"""Routes of most requests: FastAPI documents them, and says what is wrong with requests that do not fit."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from inspect import signature
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from crowdrank.server.context import known_caller


class QuickRoute(APIRoute):
    """A route of an annotator: its function takes a visit, and a body or parameters of the query.

    A request that fits the documentation goes to the function at once: FastAPI takes longer to find out what a
    function needs than these functions take. All other requests go FastAPI's way.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        call, usual = self.endpoint, super().get_route_handler()
        takes = {name: each for name, each in signature(call, eval_str=True).parameters.items() if name != "visit"}
        types = {name: TypeAdapter(each.annotation) for name, each in takes.items()}
        usually = {name: each.default for name, each in takes.items()}

        async def handle(request: Request) -> Response:
            try:
                sent = {"body": await _json(request)} if "body" in types else {**usually, **request.query_params}
                given = {name: kind.validate_python(sent[name]) for name, kind in types.items()}
            except ValueError:
                return await usual(request)
            visit = await known_caller(request, request.path_params["name"])
            response: Response = await call(visit=visit, **given)
            return response

        return handle


async def _json(request: Request) -> Any:
    if request.headers.get("content-type") != "application/json":
        raise ValueError
    return await request.json()
