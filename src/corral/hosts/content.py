"""Content that another host keeps, fetched by its digest: nothing but these very bytes gets a place here."""

import asyncio
import contextlib
import hashlib
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import structlog

from corral.core.refusals import NotFound, Refusal, Unavailable
from corral.hosts.links import HostLinks
from corral.hosts.service import Host, other_hosts
from corral.store.database import Database

log = structlog.get_logger(__name__)

# From one piece to the next.
_SILENCE_SECONDS = 30.0


class BadContent(Exception):
    """What a host sent is not what was asked for; in words."""


# Gives a whole, checked file its place under this digest.
Place = Callable[[Path, str], None]


class RemoteContent:
    """Fetches into `folder`; `place` puts a checked file where it belongs.

    Whoever asks for the same content meanwhile waits for the same fetch, which goes on when one of them stops
    waiting: a large directory over a slow line may take longer than a turn of a loop.
    """

    def __init__(
        self, database: Database, host_id: str, links: HostLinks, folder: Path, place: Place, most_bytes: int
    ) -> None:
        self._database = database
        self._host_id = host_id
        self._links = links
        self._folder = folder
        self._place = place
        self._most_bytes = most_bytes
        self._under_way: dict[str, asyncio.Task[None]] = {}

    async def fetch(self, digest: str, size: int) -> None:
        """From whichever host has it; `NotFound` if none has.

        `Unavailable` if one that may have it cannot be asked now, or sent something else.
        """
        task = self._under_way.get(digest)
        if task is None:
            task = asyncio.create_task(self._fetch(digest, size), name=f"fetch {digest[:12]}")
            self._under_way[digest] = task
            task.add_done_callback(lambda done: self._over(digest, done))
        await asyncio.shield(task)

    async def close(self) -> None:
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _over(self, digest: str, task: "asyncio.Task[None]") -> None:
        del self._under_way[digest]
        if not task.cancelled():
            task.exception()  # whoever waits for it is told

    async def _fetch(self, digest: str, size: int) -> None:
        if size > self._most_bytes:
            raise NotFound(
                f"The content {digest[:12]}… is larger than upload_mib allows on this host.",
                "Raise upload_mib here, or let the work run where it was uploaded.",
            )
        failures: list[str] = []
        for host in await self._database.read(other_hosts, self._host_id):
            try:
                await self._fetch_from(host, digest, size)
            except NotFound:
                continue
            except (Refusal, BadContent, OSError) as error:
                detail = error.detail if isinstance(error, Refusal) else f"{host.name}: {error}"
                log.warning("content could not be fetched", host=host.name, digest=digest, error=detail)
                failures.append(detail)
                continue
            log.info("fetched content from another host", host=host.name, digest=digest, bytes=size)
            return
        if failures:
            raise Unavailable(
                f"Its uploaded directory is not on this host: {' '.join(failures)}", "It is tried again."
            )
        raise NotFound("No host has its uploaded directory any more.", "Upload it and submit the work again.")

    async def _fetch_from(self, host: Host, digest: str, size: int) -> None:
        link = await self._links.open(host)
        try:
            head = await link.ask({"call": "content", "digest": digest})
            if head.get("size") != size:
                raise BadContent(f"it has {head.get('size')} bytes of {digest[:12]}… instead of {size}")
            self._folder.mkdir(mode=0o700, exist_ok=True, parents=True)
            with tempfile.NamedTemporaryFile(prefix=".new-", dir=self._folder, delete=False) as file:
                draft = Path(file.name)
                try:
                    await _take(link.receive_bytes, file.write, digest, size)
                    await asyncio.to_thread(file.flush)
                    await asyncio.to_thread(self._place, draft, digest)
                finally:
                    await asyncio.to_thread(draft.unlink, missing_ok=True)
        finally:
            with contextlib.suppress(OSError):
                await link.close()


async def _take(
    receive: Callable[[], Awaitable[bytes]], write: Callable[[bytes], int], digest: str, size: int
) -> None:
    """Not one byte more than announced, and nothing with another digest."""
    seen, left = hashlib.sha256(), size
    while left:
        try:
            async with asyncio.timeout(_SILENCE_SECONDS):
                piece = await receive()
        except TimeoutError:
            raise BadContent(f"nothing came for {_SILENCE_SECONDS:g} s") from None
        if not piece or len(piece) > left:
            raise BadContent("it sends more or less than it announced")
        left -= len(piece)

        def keep(data: bytes = piece) -> None:
            seen.update(data)
            write(data)

        await asyncio.to_thread(keep)
    if seen.hexdigest() != digest:
        raise BadContent(f"what it sent is not {digest[:12]}…")
