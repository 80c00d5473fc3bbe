"""Uploads, secrets and previews, as the API describes them."""

from dataclasses import dataclass
from datetime import datetime

__all__ = [
    "Preview",
    "ReplicaPreview",
    "Runtime",
    "RuntimePreset",
    "RuntimeUse",
    "Runtimes",
    "Secret",
    "Upload",
]


@dataclass(frozen=True)
class Upload:
    """A working directory that was uploaded."""

    id: str
    sha256: str
    size_bytes: int
    unpacked_bytes: int
    entries: int
    created_at: datetime


@dataclass(frozen=True)
class Secret:
    """Everything of a secret but its value."""

    name: str
    created_at: datetime
    changed_at: datetime


@dataclass(frozen=True)
class ReplicaPreview:
    """What differs from one replica to the next."""

    number: int
    environment: dict[str, str]


@dataclass(frozen=True)
class Preview:
    """What every replica will execute; secrets are masked."""

    command: tuple[str, ...]
    environment: dict[str, str]
    replicas: tuple[ReplicaPreview, ...]
    set_at_start: tuple[str, ...]


@dataclass(frozen=True)
class RuntimeUse:
    """Work that is not over and was submitted with the runtime."""

    id: str
    name: str


@dataclass(frozen=True)
class Runtime:
    """One version of a Python environment: defined, building, ready or failed."""

    id: str
    name: str
    version: int
    requirements: tuple[str, ...]
    state: str
    workload_id: str | None
    created_at: datetime
    used_at: datetime
    used_by: tuple[RuntimeUse, ...]


@dataclass(frozen=True)
class RuntimePreset:
    """What can be made by its name alone."""

    name: str
    about: str
    requirements: tuple[str, ...]


@dataclass(frozen=True)
class Runtimes:
    items: tuple[Runtime, ...]
    presets: tuple[RuntimePreset, ...]
