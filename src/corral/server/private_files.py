"""Files that only their owner may read."""

import os
import secrets
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Replaces a file that only its owner may read, whole or not at all."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
