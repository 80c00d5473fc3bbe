"""A plan holds only for work as it was when it was planned."""

from typing import Any

import pytest

from corral.scheduling.live.live_planner import MakePlan
from tests.campus import made
from tests.control.ground import Ground


async def test_entry_of_a_plan_is_refused_when_its_revision_moved_on(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin, planner = ground.campus.admin, ground.zone.scheduler.planner
    changed = await ground.submit(admin, "changed")
    other = await ground.submit(admin, "other")
    await ground.reconcile()
    ask, plans = planner.ask, []

    async def change_before_the_commit(question: Any) -> Any:
        answer = await ask(question)
        if isinstance(question, MakePlan):
            plans.append({each.workload for each in answer.placements})
            if len(plans) == 1:
                # Queued again, as it was planned, and yet another one.
                made(await admin.post(f"/workloads/{changed}/suspend"))
                made(await admin.post(f"/workloads/{changed}/resume"))
        return answer

    monkeypatch.setattr(planner, "ask", change_before_the_commit)
    await ground.schedule()
    assert plans == [{changed, other}]
    seen = await ground.get(changed)
    assert (seen["state"], seen["attempt"]) == ("queued", 0)
    assert await ground.state(other) != "queued"
    await ground.settle()
    assert "queued" not in await ground.states(changed, other)
