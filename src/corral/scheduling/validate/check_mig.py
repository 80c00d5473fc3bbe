"""Checks of MIG: geometries that can be, instances that lie apart, profiles that some device offers."""

from collections.abc import Iterator

from corral.core.devices import Device, DeviceMode, DeviceUse
from corral.core.mig import MigGeometry, MigInstance
from corral.core.refusals import FieldError
from corral.core.workloads import DeviceRequest
from corral.scheduling.validate.check_helpers import numbered, unique
from corral.scheduling.validate.snapshot import Snapshot

MOST_SLICES = 8


def check_device(place: str, device: Device) -> Iterator[FieldError]:
    """Of a device's geometry and of what it is cut into."""
    geometry = device.geometry
    if geometry is None:
        if device.mode is DeviceMode.MIG:
            yield FieldError(f"{place}.geometry", "A device in mode mig has none.", "Say how it can be cut.")
        if device.instances is not None:
            yield FieldError(f"{place}.instances", "Without a geometry there are none.", "Leave it out.")
        return
    yield from _geometry(f"{place}.geometry", geometry)
    if device.instances is None:
        return
    if device.mode is not DeviceMode.MIG:
        yield FieldError(
            f"{place}.instances", "Only mode mig has instances.", "Leave it out, or set the mode."
        )
    occupied = 0
    for at, instance in numbered(f"{place}.instances", device.instances):
        bits = _bits(geometry, instance.profile, instance.start)
        if bits is None:
            yield FieldError(at, *_no_such_place(instance.profile, instance.start))
        elif bits & occupied:
            yield FieldError(f"{at}.start", "It overlaps with another instance.", "Give each its own slices.")
        else:
            occupied |= bits


def _geometry(place: str, geometry: MigGeometry) -> Iterator[FieldError]:
    for field in ("memory_slices", "compute_slices"):
        if not 1 <= getattr(geometry, field) <= MOST_SLICES:
            yield FieldError(
                f"{place}.{field}", f"It is not between 1 and {MOST_SLICES}.", f"Use 1 to {MOST_SLICES}."
            )
    yield from unique(f"{place}.profiles", (profile.name for profile in geometry.profiles))
    for at, profile in numbered(f"{place}.profiles", geometry.profiles):
        for field in ("memory_slices", "compute_slices"):
            if not 1 <= getattr(profile, field) <= getattr(geometry, field):
                yield FieldError(f"{at}.{field}", "It is not between 1 and the device's.", "Correct it.")
        last = geometry.memory_slices - profile.memory_slices
        if not profile.starts or not all(0 <= start <= last for start in profile.starts):
            yield FieldError(
                f"{at}.starts", f"They are not between 0 and {last}.", "Name where an instance may begin."
            )


class MigChecker:
    """Checks requests for profiles, and what running replicas hold, against the devices."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._offered = {
            profile.name
            for node in snapshot.nodes
            for device in node.devices
            if device.geometry is not None and device.mode in (DeviceMode.ANY, DeviceMode.MIG)
            for profile in device.geometry.profiles
        }
        self._occupied: dict[tuple[str, str], int] = {}

    def check_request(self, place: str, wanted: DeviceRequest) -> Iterator[FieldError]:
        if wanted.profile is None:
            return
        if (wanted.memory_mib, wanted.fraction_milli, wanted.compute_percent) != (None, None, 0):
            yield FieldError(place, "A profile already says memory and compute.", "Leave the others out.")
        if wanted.profile not in self._offered:
            profiles = ", ".join(sorted(self._offered)) or "none is offered"
            yield FieldError(
                f"{place}.profile", f"No device offers {wanted.profile!r}.", f"Name a profile ({profiles})."
            )

    def check_use(
        self, place: str, use: DeviceUse, node: str, device: Device, wanted: str | None
    ) -> Iterator[FieldError]:
        """Of what a running replica holds, which asked for the profile `wanted`, if any."""
        if use.profile != wanted or (use.profile is None) != (use.start is None):
            yield FieldError(
                f"{place}.profile", "It is not the profile that was asked for, with its start.", "Name both."
            )
            return
        if use.profile is None or use.start is None:
            return
        geometry = device.geometry if device.mode in (DeviceMode.ANY, DeviceMode.MIG) else None
        bits = None if geometry is None else _bits(geometry, use.profile, use.start)
        made = device.instances is None or MigInstance(use.profile, use.start) in device.instances
        if bits is None or not made:
            yield FieldError(place, *_no_such_place(use.profile, use.start))
            return
        key = node, device.id
        if self._occupied.get(key, 0) & bits:
            yield FieldError(f"{place}.start", "Another replica holds these slices.", "Name its own.")
        self._occupied[key] = self._occupied.get(key, 0) | bits


def _bits(geometry: MigGeometry, profile: str, start: int) -> int | None:
    found = geometry.profile(profile)
    if found is None or start not in found.starts or start < 0:
        return None
    return ((1 << found.memory_slices) - 1) << start


def _no_such_place(profile: str, start: int) -> tuple[str, str]:
    return f"The device has no {profile!r} that begins at {start}.", "Name a profile and start it offers."
