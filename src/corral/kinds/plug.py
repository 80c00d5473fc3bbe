"""The plug: everything that Corral has to know of a kind of work, in one value.

Submission, planning, running, output, lists, stopping, deletion and purge are the same for all kinds and ask
the plug. A kind never imports another one; what several of them need lies in `inputs`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from fastapi import APIRouter, Depends

from corral.api.parts import using
from corral.engines.tasks import Task
from corral.identity.organisation_hooks import OrganisationHooks
from corral.identity.user_hooks import UserHook
from corral.inputs.secrets import SecretBox
from corral.store.database import Transaction
from corral.workloads.creation import Home
from corral.workloads.documents import Document
from corral.workloads.ownership import NOTHING_OWNED, Owned
from corral.workloads.readiness import ports_of, readiness_of
from corral.workloads.rows import ReplicaRow, WorkloadRow
from corral.workloads.spec import WorkSpec
from corral.workloads.zone_choice import ZoneChoice
from corral.zones.pool_hooks import PoolHook

S = TypeVar("S", bound=WorkSpec)
Chore = Callable[[Transaction, int], int]
"""Removes up to so many things that are past their time, and returns how many it did."""


@dataclass(frozen=True, slots=True)
class KindContext:
    """What every kind is given when the application is put together; `data` is the data directory."""

    secrets: SecretBox
    data: Path
    package_index: str = ""


KindHere = Annotated[KindContext, Depends(using(KindContext))]

Tasks = Callable[[KindContext, Transaction, WorkloadRow, Sequence[ReplicaRow]], Mapping[int, Task]]
Masks = Callable[[KindContext, Transaction, WorkloadRow], Sequence[bytes]]


def _as_given(transaction: Transaction, home: Home, spec: S, chosen: ZoneChoice) -> S:  # noqa: ARG001
    return spec


def _any_zone(transaction: Transaction, owner_id: str, spec: S) -> frozenset[str] | None: ...


def _nothing(transaction: Transaction, workload_id: str, spec: S) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Submission(Generic[S]):
    """How work of a kind comes in.

    `spec` is the document that people send. `resolve` checks what it names for the owner of the home, and
    fixes it: every attempt has the same. `created` writes what belongs to new work, in its transaction.
    `zones` are those that have what an owner's work is given; None if all do. Queued work may be given
    another zone, unless `may_move` says that it needs files of the one that it is in.
    """

    kind: str
    spec: type[S]
    resolve: Callable[[Transaction, Home, S, ZoneChoice], S] = _as_given
    created: Callable[[Transaction, str, S], None] = _nothing
    zones: Callable[[Transaction, str, S], frozenset[str] | None] = _any_zone
    may_move: Callable[[S], bool] = lambda _: True


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """`tasks` says what each replica executes and exposes; it refuses with a reason what cannot run any more.

    `owned` are its rows beside workloads. `folder` names a directory below the data directory with one entry
    for each workload, called by its id; entries of work that is gone are swept. Secrets that work was given
    are masked in its output anyway; `masks` adds to them. Ports and readiness of the document reach the
    engine by themselves; a kind that knows better says its own in its tasks.
    """

    submission: Submission[Any]
    tasks: Tasks
    routers: tuple[APIRouter, ...] = ()
    owned: Owned = NOTHING_OWNED
    folder: str | None = None
    chores: Callable[[KindContext], Sequence[Chore]] = lambda _: ()
    masks: Masks = lambda *_: ()
    user_hooks: tuple[UserHook, ...] = ()
    organisation_hooks: tuple[OrganisationHooks, ...] = ()
    pool_hooks: tuple[PoolHook, ...] = ()

    @property
    def name(self) -> str:
        return self.submission.kind


@dataclass(frozen=True, slots=True)
class OpenKind:
    """A kind with what it is given: what the loops and the log routes ask."""

    kind: Kind
    context: KindContext

    def tasks(
        self, transaction: Transaction, row: WorkloadRow, replicas: Sequence[ReplicaRow]
    ) -> Mapping[int, Task]:
        """What the kind says, with the ports and the readiness of the document where it says none."""
        tasks = self.kind.tasks(self.context, transaction, row, replicas)
        document = row.stored.read(Document)
        ports, readiness = ports_of(document), readiness_of(document)
        if not ports and readiness is None:
            return tasks
        return {
            number: replace(task, ports=task.ports or ports, readiness=task.readiness or readiness)
            for number, task in tasks.items()
        }

    def masks(self, transaction: Transaction, row: WorkloadRow) -> tuple[bytes, ...]:
        given = self.context.secrets.masks(transaction, row.id)
        return (*given, *self.kind.masks(self.context, transaction, row))


def open_kinds(kinds: Sequence[Kind], context: KindContext) -> dict[str, OpenKind]:
    opened = {kind.name: OpenKind(kind, context) for kind in kinds}
    assert len(opened) == len(kinds), "every kind has a name of its own"
    return opened


def masks_of(
    opened: Mapping[str, OpenKind], context: KindContext, transaction: Transaction, row: WorkloadRow
) -> tuple[bytes, ...]:
    """What the output of a workload must not show; secrets also of a kind that this Corral does not have."""
    kind = opened.get(row.kind)
    return context.secrets.masks(transaction, row.id) if kind is None else kind.masks(transaction, row)
