"""What the gateway asks the API, and gets: who may enter, what there is behind a name, a connection to it."""

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from corral.gateway.grants import Grant
from corral.gateway.heads import Header
from corral.gateway.names import AppName


class AppState(StrEnum):
    """How it is with a workload, as far as its visitors are concerned."""

    READY = "ready"
    STARTING = "starting"
    QUEUED = "queued"
    SUSPENDED = "suspended"
    STOPPED = "stopped"
    GONE = "gone"  # or it never was, or it is nobody's business


@dataclass(frozen=True, slots=True)
class Admission:
    """What a grant opens just now."""

    state: AppState
    title: str = ""  # the workload's name
    detail: str = ""  # what it waits for, in words
    run: str = ""
    port: int = 0
    read_only: bool = False
    headers: Sequence[Header] = ()  # for the workload alone, such as the token of a notebook server


class BrokerUnavailableError(Exception):
    """The API does not answer just now; it is started again by itself."""


class NotAdmittedError(Exception):
    """The ticket or the grant opens nothing, or no more."""


@dataclass(frozen=True, slots=True)
class Lent:
    """A connected socket whose bytes the engine goes on counting: `give_back` says that it was closed."""

    connected: socket.socket
    give_back: Callable[[], None]


class Broker(Protocol):
    async def redeem(self, ticket: str, name: AppName) -> Grant:
        """The grant for a ticket, which works once. Raises NotAdmittedError."""

    async def admit(self, grant: Grant) -> Admission:
        """Raises NotAdmittedError when the grant stands no more."""

    async def connect(self, grant: Grant, run: str, port: int) -> Lent:
        """A connection to the port, inside the workload. Raises ConnectionError."""

    async def standing(self, grants: list[Grant]) -> list[bool]:
        """Which of them still stand, in order."""
