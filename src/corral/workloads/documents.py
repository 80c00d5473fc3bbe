"""Documents of workloads as they are stored, and as the rest of Corral reads them.

A stored document is resolved: nothing in it is looked up again. `StoredDocument.read` is the only reader. It
upgrades a document of an older version, one version at a time, and gives a frozen value of the kind's own
type; what is stored is rewritten only when queued work moves to another zone.

Version 2 keeps parameters of training as text, and always says why the zone was chosen.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from corral.core.workloads import DeviceRequest, Request
from corral.store.schema import JsonObject
from corral.zones.rules import LONGEST_GRACE_SECONDS, LONGEST_HOLD_SECONDS, MOST_REPLICAS, MOST_RETRIES

VERSION = 2
LARGEST = 2**31 - 1

Positive = Annotated[int, Field(ge=1, le=LARGEST)]
Percent = Annotated[int, Field(ge=0, le=100)]


class DamagedDocumentError(ValueError):
    """A stored document that nobody can read. The words name the place, never what is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRequest:
    """`count` whole GPUs; with one of the sizes, slices of that size on as many different ones."""

    count: Annotated[int, Field(ge=1, le=1024)]
    memory_mib: Positive | None
    fraction_milli: Annotated[int, Field(ge=1, le=999)] | None
    profile: str | None
    compute_percent: Percent
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRequest:
    """What one replica needs."""

    cpu_milli: Positive
    memory_mib: Positive
    gpu: GpuRequest | None

    def request(self) -> Request:
        """The scheduler's value."""
        gpu = self.gpu
        if gpu is None:
            return Request(self.cpu_milli, self.memory_mib)
        devices = DeviceRequest(
            gpu.count, gpu.memory_mib, gpu.fraction_milli, gpu.compute_percent, gpu.models, gpu.profile
        )
        return Request(self.cpu_milli, self.memory_mib, devices)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedUsage:
    cpu_milli: Positive | None
    memory_mib: Positive | None
    gpu_percent: Percent
    gpu_memory_mib: Positive | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """How work in a simulated zone takes its course; `duration` is in seconds."""

    duration: Positive
    exit_code: Annotated[int, Field(ge=0, le=255)]
    usage: SimulatedUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """On which the work listens."""

    name: str
    number: Annotated[int, Field(ge=1, le=65535)]
    protocol: Literal["tcp", "http"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """A port, with a path or without, or a text of the output."""

    port: Annotated[int, Field(ge=1, le=65535)] | None
    path: str | None
    output: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What the documents of all kinds share. A kind's own type adds what is its own."""

    name: str
    organisation_id: str
    flavor: str | None
    resources: ResourceRequest
    replicas: Annotated[int, Field(ge=1, le=MOST_REPLICAS)]
    priority: Annotated[int, Field(ge=1, le=5)]
    preemptible: bool
    zone: str | None  # as it was asked for; None leaves it to Corral
    zone_reason: str | None
    simulation: Simulation | None
    pools: tuple[str, ...]
    pool_ids: tuple[str, ...]
    time_limit_seconds: Positive | None
    grace_seconds: Annotated[int, Field(ge=0, le=LONGEST_GRACE_SECONDS)]
    retries: Annotated[int, Field(ge=0, le=MOST_RETRIES)]
    # Not in the first documents of version 2.
    ports: tuple[Port, ...] = ()
    readiness: Readiness | None = None
    hold_seconds: Annotated[int, Field(ge=0, le=LONGEST_HOLD_SECONDS)] = 0

    @staticmethod
    def upgrade(version: int, content: JsonObject) -> JsonObject:
        """A document of that version as the next one writes it; a kind's type adds its own part."""
        if version == 1:
            return {"zone": None, "zone_reason": None, "simulation": None} | content
        raise DamagedDocumentError(f"nothing reads version {version}")


D = TypeVar("D", bound=Document)


@dataclass(frozen=True, slots=True)
class StoredDocument:
    content: Any
    version: int = VERSION

    def read(self, form: type[D]) -> D:
        """Raises `DamagedDocumentError`."""
        try:
            return _read(form, self.upgraded(form))
        except ValidationError as error:
            raise DamagedDocumentError(_first_place(error)) from None

    def upgraded(self, form: type[Document] = Document) -> JsonObject:
        """The content as this version writes it. Raises `DamagedDocumentError`."""
        content: JsonObject = self.content
        if not isinstance(content, dict):
            raise DamagedDocumentError("it is no object")
        if self.version == VERSION:
            return content
        if self.version > VERSION:
            raise DamagedDocumentError(f"nothing reads version {self.version}")
        upgraded: JsonObject = content
        for version in range(self.version, VERSION):
            upgraded = form.upgrade(version, upgraded)
        return upgraded | {"version": VERSION}


def _read(form: type[D], content: JsonObject) -> D:
    if (reader := _READERS.get(form)) is None:
        reader = _READERS[form] = TypeAdapter(form)
    found: D = reader.validate_python(content)
    return found


_READERS: dict[type[Document], TypeAdapter[Any]] = {}


def _first_place(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'document'}: {first['type'].replace('_', ' ')}"
