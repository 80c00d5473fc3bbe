"""Which zone new work goes to: the one it names, or the one that Corral chooses."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from corral.core.refusals import Conflict, Invalid
from corral.store.database import Transaction
from corral.workloads.spec import WorkSpec
from corral.workloads.verdicts import Verdict
from corral.zones.rules import ZoneKind
from corral.zones.zones import Zone, all_zones, unknown_zone


class ChoiceReason(StrEnum):
    NAMED = "named"  # the document says so
    ONLY = "only"  # there is no other for such work
    FITS = "fits"  # it can start there now
    EARLIEST = "earliest"  # it starts there soonest, as far as anybody can tell
    POSSIBLE = "possible"  # it can run there at all
    FIRST = "first"  # it can run nowhere; it waits in the first one
    MOVED = "moved"  # it waited in another one, and could start here at once


@dataclass(frozen=True, slots=True)
class ZoneChoice:
    zone: Zone
    reason: ChoiceReason


@dataclass(frozen=True, slots=True)
class Offer:
    """What a zone's planner says of new work."""

    zone: Zone
    verdict: Verdict


def candidates(
    transaction: Transaction, spec: WorkSpec, among: frozenset[str] | None = None
) -> tuple[Zone, ...]:
    """The zones that the work may go to: simulated work to simulated zones, all other work to real ones.

    Left to Corral, it goes to one of `among`, unless that is None.
    """
    known = all_zones(transaction)
    simulated = spec.simulation is not None
    if spec.zone is not None:
        named = [one for one in known if spec.zone in {one.name, one.id}]
        if not named:
            raise unknown_zone("body.zone", spec.zone, known)
        _check_kind(named[0], simulated=simulated)
        return (named[0],)
    fitting = tuple(
        one
        for one in known
        if (one.kind is ZoneKind.SIMULATED) == simulated and (among is None or one.id in among)
    )
    if fitting:
        return fitting
    if simulated:
        raise Invalid.field(
            "body.simulation",
            "There is no simulated zone.",
            "Add one: corral zone add lab --simulated 4x8xH100-80GB.",
        )
    raise Conflict("There is no zone that runs work.", "Start Corral on a machine: corral up.")


def choose(offers: Sequence[Offer]) -> ZoneChoice:
    """The first that fits now, else the one that starts soonest, else the first that ever could."""
    if len(offers) == 1:
        return ZoneChoice(offers[0].zone, ChoiceReason.ONLY)
    for offer in offers:
        if offer.verdict.result == "fits":
            return ZoneChoice(offer.zone, ChoiceReason.FITS)
    known: list[tuple[datetime, int]] = [
        (offer.verdict.starts_at, number)
        for number, offer in enumerate(offers)
        if offer.verdict.result == "waits" and offer.verdict.starts_at is not None
    ]
    if known:
        return ZoneChoice(offers[min(known)[1]].zone, ChoiceReason.EARLIEST)
    for offer in offers:
        if offer.verdict.result == "waits":
            return ZoneChoice(offer.zone, ChoiceReason.POSSIBLE)
    return ZoneChoice(offers[0].zone, ChoiceReason.FIRST)


def _check_kind(zone: Zone, *, simulated: bool) -> None:
    if simulated and zone.kind is not ZoneKind.SIMULATED:
        raise Invalid.field(
            "body.simulation",
            f"The zone {zone.name} runs real work.",
            "Leave the simulation out, or choose a simulated zone.",
        )
    if not simulated and zone.kind is ZoneKind.SIMULATED:
        raise Invalid.field(
            "body.simulation",
            f"The zone {zone.name} is simulated: nothing runs there, so work says how long it takes.",
            "Add a simulation, such as {duration: 60s}, or choose another zone.",
        )
