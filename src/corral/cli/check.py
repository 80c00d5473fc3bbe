"""One thing that `corral doctor` looked at."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warn", "missing"]


@dataclass(frozen=True)
class Check:
    """One thing looked at. `missing` keeps Corral from running; `warn` limits what it can do."""

    name: str
    state: State
    found: str
    remedy: str = ""
