"""How much an archive may be, and what it is."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Form(StrEnum):
    """What the sender says it is."""

    TAR = "tar"
    GZIP = "gzip"


@dataclass(frozen=True, slots=True)
class Archive:
    """A file, and what it was declared to be."""

    path: Path
    form: Form


@dataclass(frozen=True, slots=True)
class Contents:
    """What an archive amounts to."""

    entries: int
    unpacked_bytes: int


@dataclass(frozen=True, slots=True)
class Limits:
    """`entries` counts directories too that are only implied. A gzipped archive may unpack to `free_bytes`,
    and beyond that to `ratio` times what was sent. `header_bytes` bounds what belongs to one entry's name."""

    entries: int = 100_000
    unpacked_bytes: int = 10 * 1024**3
    ratio: int = 100
    free_bytes: int = 128 * 1024**2
    path_bytes: int = 1024
    name_bytes: int = 255
    depth: int = 64
    header_bytes: int = 64 * 1024
    memory_bytes: int = 512 * 1024**2
    cpu_seconds: int = 300
    wall_seconds: int = 900


USUAL = Limits()


class BadArchive(Exception):
    """An archive that is not taken, in words for whoever sent it: a whole sentence."""


class UnreadableArchive(BadArchive):
    """What was sent is no archive of the kind that it was said to be."""
