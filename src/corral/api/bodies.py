"""Bodies of requests: JSON is read with bounds, for every route."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from corral.core.json_text import BadJson, read_json


class _BoundedRequest(Request):
    async def json(self) -> Any:
        try:
            return read_json(await self.body())
        except BadJson as error:
            # What FastAPI expects of a body that is no JSON; it becomes a refusal of the body.
            raise json.JSONDecodeError(str(error), "", 0) from error


class BoundedRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def bounded(request: Request) -> Response:
            return await handle(_BoundedRequest(request.scope, request.receive, request._send))  # noqa: SLF001

        return bounded
