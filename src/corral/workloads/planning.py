"""The planner as routes see it."""

from typing import Annotated, cast

from fastapi import Depends, Request

from corral.core.refusals import Conflict
from corral.workloads.verdicts import Prober


async def _prober(request: Request) -> Prober:
    prober = request.app.state.prober
    if prober is None:
        raise Conflict(
            "This Corral runs no work, so nobody can say what would become of it.",
            "Submit it all the same; it waits until a zone is there.",
        )
    return cast("Prober", prober)


Planning = Annotated[Prober, Depends(_prober)]
