"""What usage's routes need beside the database, made once at start."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends

from corral.api.callers import Caller
from corral.api.parts import using
from corral.store.database import Transaction
from corral.usage.samples.sampler import Samples

SeeWorkload = Callable[[Transaction, Caller, str], object]
"""Raises NotFound for a workload that the caller may not see; `corral.workloads` provides it."""


@dataclass(frozen=True, slots=True)
class UsageContext:
    samples: Samples
    see_workload: SeeWorkload


UsageHere = Annotated[UsageContext, Depends(using(UsageContext))]
