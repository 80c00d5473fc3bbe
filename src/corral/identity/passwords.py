"""Argon2, always in a thread: a verification costs a tenth of a second of CPU and 64 MiB."""

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pwdlib import PasswordHash
from pwdlib.exceptions import UnknownHashError
from pwdlib.hashers.argon2 import Argon2Hasher

T = TypeVar("T")


class Passwords:
    """Hashes and verifies, two at a time, so that a flood of logins cannot take all memory."""

    def __init__(self, *, time_cost: int = 3, memory_kib: int = 65_536) -> None:
        self._hasher = PasswordHash([Argon2Hasher(time_cost=time_cost, memory_cost=memory_kib)])
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="corral-argon2")
        self._decoy: str | None = None
        self.verifications = 0

    async def hash(self, password: str) -> str:
        return await self._in_thread(self._hasher.hash, password)

    async def verify(self, password: str, stored: str | None) -> bool:
        """Does the same work whether there is a stored hash or not, so that an answer tells nothing."""
        self.verifications += 1
        if stored is None:
            if self._decoy is None:
                self._decoy = await self.hash(secrets.token_urlsafe())
            await self._in_thread(self._hasher.verify, password, self._decoy)
            return False
        try:
            return await self._in_thread(self._hasher.verify, password, stored)
        except UnknownHashError:
            return False

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)

    async def _in_thread(self, function: Callable[..., T], *args: str) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *args)
