"""Host names of apps: every workload has one of its own, and so has each of its ports.

    <workload>.<domain>          what the workload opens by default
    <workload>--<port>.<domain>  one of its ports

A port is no boundary in a browser (cookies ignore it), a host name is.
"""

import re
from dataclasses import dataclass

from corral.core.ids import PATTERN

_LABEL = re.compile(rf"({PATTERN})(?:--([1-9][0-9]{{0,4}}))?")
_HIGHEST_PORT = 65535


@dataclass(frozen=True, slots=True)
class AppName:
    workload_id: str
    port: int | None = None  # None: the one that the workload opens by default

    def label(self) -> str:
        return self.workload_id if self.port is None else f"{self.workload_id}--{self.port}"


@dataclass(frozen=True, slots=True)
class AppNames:
    """How apps are addressed: `http` and `localhost:7681`, or `https` and `apps.example.org`."""

    scheme: str
    domain: str  # with a port, if it is not the scheme's own

    def origin(self, name: AppName) -> str:
        return f"{self.scheme}://{name.label()}.{self.domain}"

    @property
    def pattern(self) -> str:
        """All of them, as security policies write it."""
        return f"{self.scheme}://*.{self.domain}"

    def read(self, host: bytes) -> AppName | None:
        try:
            label, dot, domain = host.decode("ascii").lower().partition(".")
        except UnicodeDecodeError:
            return None
        if not dot or domain != self.domain:
            return None
        found = _LABEL.fullmatch(label)
        if found is None:
            return None
        port = None if found[2] is None else int(found[2])
        if port is not None and port > _HIGHEST_PORT:
            return None
        return AppName(found[1], port)
