"""Uploaded directories that arrived at another host are fetched before work here starts with them."""

from collections.abc import Sequence
from dataclasses import dataclass

from corral.core.refusals import NotFound
from corral.engines.interface import Start
from corral.hosts.content import RemoteContent
from corral.inputs.upload_files import UploadFiles


@dataclass(frozen=True, slots=True)
class UploadFetcher:
    files: UploadFiles
    remote: RemoteContent

    async def __call__(self, starts: Sequence[Start]) -> None:
        """What no host has any more is left to the engine, which refuses the start in its own words."""
        wanted = {start.task.upload for start in starts if start.task and start.task.upload}
        for content in sorted(wanted, key=lambda one: one.sha256):
            if self.files.path(content.sha256).exists():
                continue
            try:
                await self.remote.fetch(content.sha256, content.size_bytes)
            except NotFound:
                continue
