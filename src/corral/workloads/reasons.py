"""Why a workload is in its state: a kind, the facts that go with it, and the sentence they make.

Facts are stored, sentences are made from them: so the command and the console can say them in their own
language, and a search finds all that were preempted for the same workload.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from corral.core.plans import Action, Entitlement, Infeasible, Lack, LackKind, Reason, ReasonKind
from corral.core.resources import Resource
from corral.scheduling.explaining.wording import never


class StateCause(StrEnum):
    SUBMITTED = "submitted"
    INFEASIBLE = "infeasible"
    FEASIBLE = "feasible"
    MOVED = "moved"
    PLACED = "placed"
    ALL_RUN = "all_run"
    ASKED_TO_STOP = "asked_to_stop"
    ASKED_TO_SUSPEND = "asked_to_suspend"
    ASKED_TO_RESUME = "asked_to_resume"
    TAKEN = "taken"
    KEPT = "kept"
    MEMBER_ENDED = "member_ended"
    ENDED_WELL = "ended_well"
    SAID_DONE = "said_done"
    EXITED = "exited"
    KILLED = "killed"
    OUT_OF_MEMORY = "out_of_memory"
    TIME_LIMIT = "time_limit"
    LOST = "lost"
    REFUSED = "refused"
    TRIES_AGAIN = "tries_again"
    DELETED = "deleted"


_TAKEN_BY = {
    Action.RECLAIM: "{for_name} takes its queue's fair share",
    Action.PREEMPT: "{for_name} has a higher priority",
    Action.CONSOLIDATE: "it moves to make room for {for_name}",
    Action.EVICT_STALE_GANGS: "too few of its replicas were left for too long",
}
_RECLAIMS = {
    Entitlement.GUARANTEE: "{for_name} takes back its queue's guarantee",
    Entitlement.SURPLUS: "{for_name} takes its queue's fair share of what is left over",
}
_SENTENCES = {
    StateCause.SUBMITTED: "Submitted.",
    StateCause.FEASIBLE: "It can run now, and waits for its turn.",
    StateCause.MOVED: "Moved from {from_name} to {to_name}: it starts there now.",
    StateCause.PLACED: "Placed on {nodes}.",
    StateCause.ALL_RUN: "It runs.",
    StateCause.ASKED_TO_STOP: "{by_name} stopped it.",
    StateCause.ASKED_TO_SUSPEND: "{by_name} suspended it.",
    StateCause.ASKED_TO_RESUME: "{by_name} resumed it.",
    StateCause.KEPT: "It stays: {for_name} no longer needs its place.",
    StateCause.MEMBER_ENDED: "{what} The other replicas are ended too.",
    StateCause.ENDED_WELL: "It ended with exit code 0.",
    StateCause.SAID_DONE: "It said that it is done.",
    StateCause.EXITED: "{who} ended with exit code {exit_code}.",
    StateCause.KILLED: "{who} was ended by signal {signal}.",
    StateCause.OUT_OF_MEMORY: "{who} ran out of memory at its limit of {memory_mib} MiB.",
    StateCause.TIME_LIMIT: "{who} reached its time limit of {time_limit_seconds} s.",
    StateCause.LOST: "{who} was lost with its node or its supervisor.",
    StateCause.REFUSED: "It could not be started: {detail}.",
    StateCause.DELETED: "{by_name} deleted it.",
}


@dataclass(frozen=True, slots=True)
class StateReason:
    why: StateCause
    facts: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {"why": self.why.value, **self.facts}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "StateReason":
        facts = dict(stored)
        return cls(StateCause(facts.pop("why")), facts)

    def sentence(self) -> str:
        match self.why:
            case StateCause.TAKEN:
                return f"Suspended: {self._taken_by().format(**self._named())}."
            case StateCause.INFEASIBLE:
                return f"Can never run because {_never(self.facts)}."
            case StateCause.TRIES_AGAIN:
                what = StateReason.from_dict(self.facts["after"]).sentence()
                return f"{what} It is tried again ({self.facts['number']} of {self.facts['most']})."
            case StateCause.MEMBER_ENDED if "after" in self.facts:
                what = StateReason.from_dict(self.facts["after"]).sentence()
                return _SENTENCES[self.why].format(what=what)
            case StateCause.EXITED | StateCause.KILLED | StateCause.LOST if self.facts.get("detail"):
                named = self._named()
                return f"{_SENTENCES[self.why].format(**named)[:-1]}: {named['detail']}."
            case _:
                return _SENTENCES[self.why].format(**self._named())

    def _taken_by(self) -> str:
        entitlement = self.facts.get("entitlement")
        return _RECLAIMS[Entitlement(entitlement)] if entitlement else _TAKEN_BY[Action(self.facts["rule"])]

    def _named(self) -> dict[str, Any]:
        who = f"Replica {self.facts.get('replica')}" if self.facts.get("of", 1) > 1 else "It"
        names = {"by_name": "Corral", "for_name": "other work", "who": who}
        facts = {name: value for name, value in self.facts.items() if value is not None}
        if isinstance(detail := facts.get("detail"), str):
            facts["detail"] = detail.rstrip(".")  # it ends a sentence of ours
        return names | facts


def infeasible_facts(infeasible: Infeasible, queue_id: str) -> dict[str, Any]:
    """What is kept of it. Names of queues change and are not for everybody: whether it is its own."""
    reason, lack = infeasible.reason, infeasible.lack
    facts: dict[str, Any] = {"rule": reason.kind.value, "asked": reason.asked}
    if lack is not None:
        return facts | {"lack": asdict(lack) | {"kind": lack.kind.value, "names": list(lack.names)}}
    facts |= {"used": reason.used, "bound": reason.bound, "level": reason.level}
    resource = None if reason.resource is None else reason.resource.value
    own = None if reason.queue is None else reason.queue == queue_id
    return facts | {"resource": resource, "own_queue": own}


def _never(facts: Mapping[str, Any]) -> str:
    lack = facts.get("lack")
    resource = facts.get("resource")
    return never(
        Reason(
            ReasonKind(facts["rule"]),
            facts.get("used", 0),
            facts["asked"],
            facts.get("bound", 0),
            "its queue" if facts.get("own_queue") else "a queue above its own",
            None if resource is None else Resource(resource),
            level=facts.get("level"),
        ),
        lack
        and Lack(
            LackKind(lack["kind"]),
            lack["asked"],
            lack["most"],
            tuple(lack["names"]),
            restricted=lack.get("restricted", False),
        ),
    )
