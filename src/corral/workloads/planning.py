"""The planners of all zones as routes see them."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends

from corral.api.callers import Caller
from corral.api.once import Db
from corral.core.refusals import Invalid
from corral.store.database import Database
from corral.workloads import visibility
from corral.workloads.context import WorkloadsHere, Zones
from corral.workloads.spec import WorkSpec
from corral.workloads.verdicts import Verdict, ZoneVerdict
from corral.workloads.zone_choice import ChoiceReason, Offer, ZoneChoice, candidates, choose


@dataclass(frozen=True, slots=True)
class Planning:
    """Questions to the planners, whichever zone they are of."""

    database: Database
    zones: Zones

    async def choose(self, caller: Caller, spec: WorkSpec, among: frozenset[str] | None = None) -> ZoneChoice:
        """The zone that new work goes to. Planners are asked only where there is a choice.

        `among` are the zones that have what it needs; all have if None.
        """
        possible = await self.database.read(candidates, spec, among)
        if spec.zone is not None:
            return ZoneChoice(possible[0], ChoiceReason.NAMED)
        if len(possible) == 1:
            return ZoneChoice(possible[0], ChoiceReason.ONLY)
        return choose(await self._offers(caller, spec, among))

    async def probe(self, caller: Caller, spec: WorkSpec, among: frozenset[str] | None = None) -> Verdict:
        """What would become of new work in the zone that it would go to, and what every zone says."""
        offers = await self._offers(caller, spec, among)
        chosen = choose(offers)
        reason = ChoiceReason.NAMED if spec.zone is not None else chosen.reason
        verdict = next(one.verdict for one in offers if one.zone.id == chosen.zone.id)
        return verdict.model_copy(
            update={
                "zone_id": chosen.zone.id,
                "zone_name": chosen.zone.name,
                "zone_reason": reason.value,
                "zones": [
                    ZoneVerdict(
                        zone_id=one.zone.id,
                        zone_name=one.zone.name,
                        result=one.verdict.result,
                        sentence=one.verdict.sentence,
                        nodes=one.verdict.nodes,
                        reason=one.verdict.reason,
                        lack=one.verdict.lack,
                        takes_from=one.verdict.takes_from,
                        starts_at=one.verdict.starts_at,
                    )
                    for one in offers
                ],
            }
        )

    async def explain(self, caller: Caller, workload_id: str) -> Verdict:
        """Why a workload waits."""
        found = await self.database.read(visibility.find, caller, workload_id)
        prober = await self.zones.prober(found.row.zone_id)
        return await prober.explain(caller, workload_id)

    async def _offers(self, caller: Caller, spec: WorkSpec, among: frozenset[str] | None) -> list[Offer]:
        """What the zones say that can take it at all; refused where none can, in the words of the first."""
        offers, refusals = [], []
        for zone in await self.database.read(candidates, spec, among):
            prober = await self.zones.prober(zone.id)
            try:
                offers.append(Offer(zone, await prober.probe(caller, spec)))
            except Invalid as refusal:  # a pool that this zone does not have, say
                refusals.append(refusal)
        if not offers:
            raise refusals[0]
        return offers


async def _planning(database: Db, here: WorkloadsHere) -> Planning:
    return Planning(database, here.zones)


Planners = Annotated[Planning, Depends(_planning)]
