"""What the routes of zones need beside the database, made once at start."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends

from corral.api.parts import using
from corral.zones.pool_hooks import PoolHook
from corral.zones.zones import WorkInZone


@dataclass(frozen=True, slots=True)
class ZoneContext:
    work_in_zone: WorkInZone
    pool_hooks: tuple[PoolHook, ...] = ()


ZonesHere = Annotated[ZoneContext, Depends(using(ZoneContext))]
