"""What the routes of apps need."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends

from corral.api.parts import using
from corral.gateway.names import AppNames


@dataclass(frozen=True, slots=True)
class AppContext:
    names: AppNames | None  # None: browsers cannot reach apps here


AppsHere = Annotated[AppContext, Depends(using(AppContext))]
