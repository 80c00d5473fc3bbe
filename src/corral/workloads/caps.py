"""How much of what others wait for new work asks for, and which pools allow it.

Work that runs or waits already is never measured again: a cap that is lowered holds for new work.
"""

from collections.abc import Sequence
from dataclasses import fields

from sqlalchemy import select

from corral.core.refusals import FieldError, Invalid
from corral.store.database import Transaction
from corral.workloads.documents import Document
from corral.workloads.spec import WorkSpec
from corral.zones.rules import Caps
from corral.zones.tables import pool

_UNITS = {"grace_seconds": " s", "hold_seconds": " s"}
_CAPS = tuple(pool.c[f"most_{one.name}"] for one in fields(Caps))


def pools_that_allow(
    transaction: Transaction, spec: WorkSpec, zone_id: str, pool_ids: list[str]
) -> list[str]:
    """Those of the pools that it may use; [] is still any, when every pool of the zone allows it."""
    requested = Caps(spec.grace_seconds, spec.retries, spec.replicas, spec.hold_seconds)
    rows = transaction.rows(
        select(pool.c.id, pool.c.name, *_CAPS).where(pool.c.zone_id == zone_id).order_by(pool.c.id)
    )
    caps_of = {pool_id: (name, Caps(*caps)) for pool_id, name, *caps in rows}
    usable = pool_ids or list(caps_of)
    allowing = [one for one in usable if not caps_of[one][1].exceeded(requested)]
    if not allowing:
        raise _refusal([caps_of[one] for one in usable], requested)
    return pool_ids if len(allowing) == len(usable) else allowing


def left_out_for_caps(transaction: Transaction, document: Document, zone_id: str) -> list[str]:
    """Of definite work: which of the pools that it named, or of all, it may not use, and why."""
    if not document.pool_ids:
        return []
    named = set(document.pools)
    requested = Caps(document.grace_seconds, document.retries, document.replicas, document.hold_seconds)
    rows = transaction.rows(
        select(pool.c.id, pool.c.name, *_CAPS).where(pool.c.zone_id == zone_id).order_by(pool.c.name)
    )
    return [
        f"The pool {name} is not used: it allows at most {_most(Caps(*caps), exceeded)}."
        for pool_id, name, *caps in rows
        if pool_id not in document.pool_ids
        and (not named or {pool_id, name} & named)
        and (exceeded := Caps(*caps).exceeded(requested))
    ]


def _most(caps: Caps, fields: Sequence[str]) -> str:
    return " and ".join(
        f"{getattr(caps, field)}{_UNITS[field]} of {field.partition('_')[0]}"
        if field in _UNITS
        else f"{getattr(caps, field)} {field}"
        for field in fields
    )


def _refusal(usable: list[tuple[str, Caps]], requested: Caps) -> Invalid:
    """In terms of the pool that comes nearest."""

    def distance(one: tuple[str, Caps]) -> tuple[int, tuple[int, ...]]:
        over = one[1].exceeded(requested)
        return len(over), tuple(-getattr(one[1], field) for field in over)

    name, caps = min(usable, key=distance)
    who = f"The pool {name}"
    if len(usable) > 1:
        who = f"No pool that it may use allows all that it asks for; {name}"
    errors = [
        FieldError(
            f"body.{field}",
            f"{who} allows at most {getattr(caps, field)}{_UNITS.get(field, '')}.",
            "Ask for less; whoever manages zones can raise it.",
        )
        for field in caps.exceeded(requested)
    ]
    return Invalid(errors[0].message, errors[0].remedy, errors=errors)
