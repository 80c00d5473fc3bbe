"""What the command knows of one kind of work. Imports nothing: `corral --help` reads it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class KindCommand:
    """`module` is below `corral.cli`, and has the `app`; `about` is its line in `corral --help`."""

    module: str
    about: str


@dataclass(frozen=True, slots=True)
class KindPlug:
    """`kind` is as the API spells it; `applies`: its documents are submitted with `corral apply`."""

    kind: str
    commands: Mapping[str, KindCommand] = field(default_factory=dict)
    applies: bool = False
