"""Every error is sent as application/problem+json: what is wrong, which field, what to do, the request id."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.exc import OperationalError
from starlette.exceptions import HTTPException

from corral.api.field_words import field_errors
from corral.core.refusals import Conflict, FieldError, Invalid, Refusal, Unavailable

MEDIA_TYPE = "application/problem+json"

log = structlog.get_logger(__name__)


class ProblemField(BaseModel):
    field: str = Field(description="Where in the request, e.g. `body.name` or `query.limit`.")
    message: str
    remedy: str


class Problem(BaseModel):
    """What every refusal looks like (RFC 9457), with the remedy and the fields at fault."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["/problems/conflict"])
    title: str = Field(examples=["This conflicts with what exists"])
    status: int = Field(examples=[409])
    detail: str = Field(examples=["There is already an organisation called Robotics here."])
    remedy: str = Field(examples=["Choose another name."])
    request_id: str = Field(examples=["5f0c2b7e9d1a4c66"])
    errors: list[ProblemField] = []


def problem_response(
    request_id: str,
    *,
    slug: str,
    title: str,
    status: int,
    detail: str,
    remedy: str,
    errors: Sequence[FieldError] = (),
    facts: Mapping[str, int | str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    content: dict[str, Any] = {
        "type": f"/problems/{slug}",
        "title": title,
        "status": status,
        "detail": detail,
        "remedy": remedy,
        "request_id": request_id,
        "errors": [{"field": e.field, "message": e.message, "remedy": e.remedy} for e in errors],
        **(facts or {}),
    }
    return JSONResponse(content, status, headers, media_type=MEDIA_TYPE)


def refusal_response(refusal: Refusal, request_id: str) -> Response:
    return problem_response(
        request_id,
        slug=refusal.slug,
        title=refusal.title,
        status=refusal.status,
        detail=refusal.detail,
        remedy=refusal.remedy,
        errors=refusal.errors,
        facts=refusal.facts,
        headers=refusal.headers,
    )


def conflict(field: str, message: str, remedy: str) -> Conflict:
    return Conflict(message, remedy, errors=[FieldError(field, message, remedy)])


def install_problem_handlers(app: FastAPI) -> None:
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(OperationalError, _database_away)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return refusal_response(error, _request_id(request))


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = field_errors(error.errors()[:20])
    fields = ", ".join(dict.fromkeys(item.field for item in errors))
    refusal = Invalid(
        f"Not valid: {fields}.", "Correct these fields and send the request again.", errors=errors
    )
    return refusal_response(refusal, _request_id(request))


_HTTP_REMEDIES = {
    404: "Check the address; the API is described at /api/v1/openapi.json.",
    405: "Use a method from the Allow header.",
}


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    title = HTTPStatus(error.status_code).phrase
    return problem_response(
        _request_id(request),
        slug=title.lower().replace(" ", "-"),
        title=title,
        status=error.status_code,
        detail=str(error.detail) + ".",
        remedy=_HTTP_REMEDIES.get(error.status_code, "See the API description."),
        headers=error.headers,
    )


async def _database_away(request: Request, error: Exception) -> Response:
    log.error("database does not answer", error=str(error))
    refusal = Unavailable(
        "The database does not answer. Nothing was changed.",
        "Try again in a few seconds; administrators find the cause in the server's log.",
        headers={"Retry-After": "5"},
    )
    return refusal_response(refusal, _request_id(request))


def internal_error_response(request_id: str) -> Response:
    return problem_response(
        request_id,
        slug="internal",
        title="An error in Corral",
        status=500,
        detail="Something went wrong inside Corral. Nothing was changed.",
        remedy="Tell an administrator the request id; the server's log has the details under it.",
    )


def _request_id(request: Request) -> str:
    return str(request.state.origin.request_id)
