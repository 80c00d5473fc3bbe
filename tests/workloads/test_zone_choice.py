"""Which zone new work goes to."""

from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest

from corral.workloads.verdicts import Verdict
from corral.workloads.zone_choice import ChoiceReason, Offer, ZoneChoice, choose
from corral.zones.rules import ZoneKind
from corral.zones.zones import Zone
from tests.campus import Campus, made, refused

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
A, B, C = (Zone(name, name, ZoneKind.LOCAL, name) for name in "abc")


def says(
    zone: Zone, result: Literal["fits", "waits", "never"], starts_in_minutes: int | None = None
) -> Offer:
    starts = None if starts_in_minutes is None else NOW + timedelta(minutes=starts_in_minutes)
    verdict = Verdict(
        result=result,
        sentence="",
        nodes=[],
        details=[],
        reason=None,
        helps=[],
        takes_from=[],
        starts_at=starts,
        at=NOW,
    )
    return Offer(zone, verdict)


@pytest.mark.parametrize(
    ("offers", "zone", "reason"),
    [
        ([says(A, "never")], A, ChoiceReason.ONLY),
        ([says(A, "waits", 1), says(B, "fits"), says(C, "fits")], B, ChoiceReason.FITS),
        ([says(A, "waits", 9), says(B, "waits", 3), says(C, "waits")], B, ChoiceReason.EARLIEST),
        ([says(A, "waits", 3), says(B, "waits", 3)], A, ChoiceReason.EARLIEST),
        ([says(A, "never"), says(B, "waits"), says(C, "waits")], B, ChoiceReason.POSSIBLE),
        ([says(A, "never"), says(B, "never")], A, ChoiceReason.FIRST),
    ],
)
def test_first_that_fits_then_the_soonest_then_the_first_that_ever_could(
    offers: list[Offer], zone: Zone, reason: ChoiceReason
) -> None:
    assert choose(offers) == ZoneChoice(zone, reason)


async def test_unknown_zone_is_refused_with_the_names_of_those_there_are(campus: Campus) -> None:
    document = {"name": "a", "command": ["true"], "resources": {"cpu": 1, "memory": "1Gi"}, "zone": "moon"}
    problem = refused(await campus.admin.post("/training", document), 422)
    assert problem["errors"][0]["field"] == "body.zone"
    assert problem["errors"][0]["remedy"] == "Use one of: local."


async def test_simulation_is_refused_where_work_is_real_and_needed_where_it_is_not(campus: Campus) -> None:
    document = {"name": "a", "command": ["true"], "resources": {"cpu": 1, "memory": "1Gi"}}
    simulated = document | {"simulation": {"duration": "1min"}}
    problem = refused(await campus.admin.post("/training", simulated), 422)
    assert problem["errors"][0]["message"] == "There is no simulated zone."
    problem = refused(await campus.admin.post("/training", simulated | {"zone": "local"}), 422)
    assert problem["errors"][0]["message"] == "The zone local runs real work."
    made(await campus.admin.post("/zones", {"name": "lab", "nodes": "4x8xH100-80GB"}))
    problem = refused(await campus.admin.post("/training", document | {"zone": "lab"}), 422)
    assert problem["errors"][0]["field"] == "body.simulation"
    work = made(await campus.admin.post("/training", simulated))
    assert work["zone_name"] == "lab"
