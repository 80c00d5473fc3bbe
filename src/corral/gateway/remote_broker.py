"""The broker in the API's process, asked over its Unix socket. It is dialled again when it has gone."""

import asyncio
import os
import socket
from pathlib import Path
from typing import Any

from corral.gateway.broker import Admission, AppState, BrokerUnavailableError, Lent, NotAdmittedError
from corral.gateway.grants import Grant
from corral.gateway.names import AppName
from corral.net.channel import Caller, ChannelClosedError

SOCKET = "gateway.sock"  # in the data directory
_ANSWER_SECONDS = 15.0


class RemoteBroker:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._caller: Caller | None = None
        self._dialling = asyncio.Lock()

    async def key(self) -> bytes:
        """What the cookies of apps are sealed with: the same on every host."""
        answer, _ = await self._ask({"ask": "key"})
        return bytes.fromhex(answer["key"])

    async def redeem(self, ticket: str, name: AppName) -> Grant:
        answer, _ = await self._ask({"ask": "redeem", "ticket": ticket, **_name(name)})
        return Grant(answer["user_id"], answer["session_id"], name, int(answer["granted_at"]))

    async def admit(self, grant: Grant) -> Admission:
        answer, _ = await self._ask({"ask": "admit", **_grant(grant)})
        return Admission(
            AppState(answer["state"]),
            answer.get("title", ""),
            answer.get("detail", ""),
            run=answer.get("run", ""),
            port=int(answer.get("port", 0)),
            read_only=bool(answer.get("read_only", False)),
            headers=[(name.encode(), value.encode()) for name, value in answer.get("headers", ())],
        )

    async def connect(self, grant: Grant, run: str, port: int) -> Lent:
        answer, passed = await self._ask({"ask": "connect", **_grant(grant), "run": run, "to": port})
        if passed is None:
            raise ConnectionError(answer.get("why", "nothing was connected"))
        passed.setblocking(False)
        lender = self._caller

        def give_back() -> None:
            if lender is not None and lender.is_open:  # one that has gone counts nothing any more
                lender.tell({"tell": "closed", "lent": answer["lent"]})

        return Lent(passed, give_back)

    async def standing(self, grants: list[Grant]) -> list[bool]:
        """Which of them still stand, in order."""
        answer, _ = await self._ask({"ask": "standing", "grants": [_grant(each) for each in grants]})
        return [bool(each) for each in answer["stand"]]

    def close(self) -> None:
        if self._caller is not None:
            self._caller.close()

    async def _ask(self, message: dict[str, Any]) -> tuple[dict[str, Any], socket.socket | None]:
        caller = await self._dial()
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                answer, passed = await caller.ask(message)
        except (ChannelClosedError, TimeoutError) as error:
            raise BrokerUnavailableError from error
        if answer.get("refused"):
            if passed is not None:
                passed.close()
            raise NotAdmittedError(answer["refused"])
        return answer, passed

    async def _dial(self) -> Caller:
        async with self._dialling:
            if self._caller is None or not self._caller.is_open:
                self._caller = Caller(_dial(self._directory))
            return self._caller


def _dial(directory: Path) -> socket.socket:
    """By way of the directory's descriptor: paths of sockets are short, those of directories are not."""
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            connected.connect(f"/proc/self/fd/{folder}/{SOCKET}")
        finally:
            os.close(folder)
    except OSError as error:
        connected.close()
        raise BrokerUnavailableError(str(error)) from error
    return connected


def _name(name: AppName) -> dict[str, Any]:
    return {"workload_id": name.workload_id, "port": name.port}


def _grant(grant: Grant) -> dict[str, Any]:
    return {"user_id": grant.user_id, "session_id": grant.session_id, **_name(grant.name)}
