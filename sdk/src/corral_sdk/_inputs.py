"""What work of every kind may use: uploads and secrets."""

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from corral_sdk._decode import decode
from corral_sdk._packing import pack
from corral_sdk._resource import Resource
from corral_sdk._transport import API
from corral_sdk.models import Secret, Upload

__all__ = ["Secrets", "Uploads"]

_PIECE = 1024 * 1024
_GZIP = b"\x1f\x8b"


class Uploads(Resource):
    """The caller's uploaded working directories."""

    def list(self, *, sha256: str | None = None) -> Iterator[Upload]:
        return self._each(Upload, "uploads", query={"sha256": sha256})

    def send(self, archive: BinaryIO) -> Upload:
        """Uploads a tar archive, plain or gzipped; one that is there already is not sent again."""
        declared = "application/gzip" if archive.read(len(_GZIP)) == _GZIP else "application/x-tar"
        archive.seek(0)
        digest, size = hashlib.sha256(), 0
        while piece := archive.read(_PIECE):
            digest.update(piece)
            size += len(piece)
        for known in self.list(sha256=digest.hexdigest()):
            return known
        archive.seek(0)
        answer = self._transport.send(f"{API}/uploads", archive, size, declared)
        return decode(Upload, answer.json())

    def send_directory(self, directory: str | Path, *, most_bytes: int | None = None) -> Upload:
        """Packs a directory, without what its `.corralignore` or `.gitignore` leaves out, and uploads it."""
        with tempfile.TemporaryFile() as archive:
            pack(Path(directory), archive, most_bytes=most_bytes)
            archive.seek(0)
            return self.send(archive)

    def delete(self, upload_id: str) -> None:
        self._delete("uploads", upload_id)


class Secrets(Resource):
    """The caller's secrets. Their values are never shown."""

    def list(self) -> Iterator[Secret]:
        return self._each(Secret, "me", "secrets")

    def set(self, name: str, value: str) -> Secret:
        """Gives a secret its value; work that starts from now on gets it."""
        body = {"value": value}
        return self._change("PUT", Secret, "me", "secrets", name, body=body, generation=None)

    def delete(self, name: str) -> None:
        self._delete("me", "secrets", name)
