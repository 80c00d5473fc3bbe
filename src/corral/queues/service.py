"""Queues come into being: one for each organisation, and on demand one for each person in it."""

from sqlalchemy import insert, select

from corral.core.ids import Kind, new_id
from corral.core.queues import QueuePolicy
from corral.core.scopes import ancestors
from corral.events.record import publish
from corral.identity.tables import organisation
from corral.queues.history import note_queues
from corral.queues.rules import COLOURS, colour_among
from corral.queues.tables import queue
from corral.store.database import Transaction
from corral.zones import journal
from corral.zones.journal import JournalKind

QUEUE = "queue"


def ensure_queue(transaction: Transaction, organisation_id: str, user_id: str | None = None) -> str:
    """The id of the queue of an organisation, or of a person's work in it; made, with all above it, if new.

    Work is always in a person's queue: those are the leaves of the tree.
    """
    found = find_queue(transaction, organisation_id, user_id)
    if found is not None:
        return found
    path = transaction.scalar(select(organisation.c.path).where(organisation.c.id == organisation_id))
    assert path is not None, f"the organisation {organisation_id} is gone"
    chain = ancestors(path)
    for parent_id, node_id in zip([None, *chain[:-1]], chain, strict=True):
        if find_queue(transaction, node_id) is None:
            _add(transaction, node_id, None, parent_id)
    if user_id is not None:
        _add(transaction, organisation_id, user_id, organisation_id)
    made = find_queue(transaction, organisation_id, user_id)
    assert made is not None
    return made


def find_queue(transaction: Transaction, organisation_id: str, user_id: str | None = None) -> str | None:
    found: str | None = transaction.scalar(
        select(queue.c.id).where(
            queue.c.organisation_id == organisation_id, queue.c.user_id.is_not_distinct_from(user_id)
        )
    )
    return found


def may_use_numbers(transaction: Transaction, organisation_id: str, user_id: str) -> bool:
    """Whether a person's work there may ask for numbers instead of a flavor: what the nearest queue says."""
    path = transaction.scalar(select(organisation.c.path).where(organisation.c.id == organisation_id))
    assert path is not None, f"the organisation {organisation_id} is gone"
    chain = ancestors(path)
    said = {
        (row.organisation_id, row.user_id): row.custom_numbers
        for row in transaction.rows(
            select(queue.c.organisation_id, queue.c.user_id, queue.c.custom_numbers).where(
                queue.c.organisation_id.in_(chain), queue.c.custom_numbers.is_not(None)
            )
        )
    }
    own = (organisation_id, user_id)
    upwards = [own, *((node_id, None) for node_id in reversed(chain))]
    return next((said[place] for place in upwards if place in said), True)


def ensure_organisation_queues(transaction: Transaction) -> None:
    """Every organisation has a queue; made at start for those that were there before queues were."""
    missing = (
        select(organisation.c.id)
        .outerjoin(queue, (queue.c.organisation_id == organisation.c.id) & queue.c.user_id.is_(None))
        .where(queue.c.id.is_(None))
        .order_by(organisation.c.path)
    )
    for (organisation_id,) in transaction.rows(missing):
        ensure_queue(transaction, organisation_id)


def queue_changed(
    transaction: Transaction, queue_id: str, generation: int, scope: str, user_id: str | None
) -> None:
    """Tells scheduling and whoever looks at the queue."""
    journal.append_everywhere(transaction, JournalKind.QUEUE, queue_id)
    note_queues(transaction, queue_id)
    publish(transaction, QUEUE, queue_id, generation, scope=scope, user_id=user_id)


def _add(transaction: Transaction, organisation_id: str, user_id: str | None, parent_id: str | None) -> None:
    """`parent_id` is the organisation whose queue is above it."""
    queue_id = new_id(Kind.QUEUE, transaction.now)
    transaction.run(
        insert(queue).values(
            id=queue_id,
            organisation_id=organisation_id,
            user_id=user_id,
            priority=0,
            policy=QueuePolicy.ELASTIC,
            colour=COLOURS if parent_id is None else _free_colour(transaction, parent_id),
            created_at=transaction.now,
            generation=1,
        )
    )
    journal.append_everywhere(transaction, JournalKind.QUEUE, queue_id)
    note_queues(transaction, queue_id)
    if user_id is not None:  # that of an organisation comes with it, and so does its event
        path = transaction.scalar(select(organisation.c.path).where(organisation.c.id == organisation_id))
        publish(transaction, QUEUE, queue_id, 1, scope=path, user_id=user_id)


def _free_colour(transaction: Transaction, parent_id: str) -> int:
    """One that none below the same queue has: neither a person of that organisation nor one below it."""
    siblings = select(queue.c.colour).join(organisation, organisation.c.id == queue.c.organisation_id)
    people = siblings.where(queue.c.organisation_id == parent_id, queue.c.user_id.is_not(None))
    below = siblings.where(organisation.c.parent_id == parent_id, queue.c.user_id.is_(None))
    return colour_among({colour for (colour,) in transaction.rows(people.union(below))})
