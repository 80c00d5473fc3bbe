"""Uploaded working directories: whose they are, which work has them, when they go."""

from datetime import timedelta

from sqlalchemy import ColumnElement, delete, func, insert, select, update

from corral.api.callers import Caller
from corral.audit.record import record
from corral.core.ids import Kind, new_id
from corral.core.refusals import Conflict, Invalid, NotFound
from corral.engines.archives.limits import Form
from corral.engines.contents import Content
from corral.identity.lookups import user_subject
from corral.inputs.models import Upload, Uploads
from corral.inputs.tables import upload, upload_use
from corral.inputs.upload_files import Arrived
from corral.store.database import AnyRow, Transaction
from corral.workloads.states import State
from corral.workloads.tables import workload

# An upload that no work has is there for so long: time to submit, and to submit again.
KEPT = timedelta(hours=24)
# In sum, a person keeps as much as so many uploads of the largest size.
MOST_AT_THE_BOUND = 20


def check_room(transaction: Transaction, caller: Caller, most_bytes: int) -> None:
    """Before anything is sent: whether the caller may keep one more, of which each has up to `most_bytes`."""
    owned = transaction.first(
        select(func.count(), func.coalesce(func.sum(upload.c.size_bytes), 0)).where(
            upload.c.user_id == caller.user_id
        )
    )
    assert owned is not None
    remedy = "Delete work that you no longer need; its uploads go with it."
    if owned[0] >= (most := transaction.bounds.uploads):
        raise Conflict(f"You already have {most} uploads.", remedy)
    if owned[1] >= MOST_AT_THE_BOUND * most_bytes:
        raise Conflict(f"Your uploads have {owned[1] // 1024**2} MiB already.", remedy)


def add(transaction: Transaction, caller: Caller, arrived: Arrived, most_bytes: int) -> Upload:
    """Makes an archive the caller's; one that they sent before stays the same upload."""
    known = _find(transaction, caller.user_id, upload.c.sha256 == arrived.sha256)
    if known is not None:
        transaction.run(update(upload).where(upload.c.id == known.id).values(used_at=transaction.now))
        return _shown(known)
    check_room(transaction, caller, most_bytes)  # others may have arrived meanwhile
    row = transaction.first(
        insert(upload)
        .values(
            id=new_id(Kind.UPLOAD, transaction.now),
            user_id=caller.user_id,
            sha256=arrived.sha256,
            form=arrived.form,
            size_bytes=arrived.size_bytes,
            unpacked_bytes=arrived.contents.unpacked_bytes,
            entries=arrived.contents.entries,
            created_at=transaction.now,
            used_at=transaction.now,
        )
        .returning(*upload.c)
    )
    assert row is not None
    told = {"upload": row.id, "sha256": row.sha256, "size_bytes": row.size_bytes, "entries": row.entries}
    record(
        transaction,
        caller,
        "upload.create",
        user_subject(transaction, caller.user_id, caller.name),
        after=told,
    )
    return _shown(row)


def list_uploads(transaction: Transaction, caller: Caller, sha256: str | None) -> Uploads:
    """The caller's own, newest first; with `sha256`, the one with this content, if it lasts a while."""
    wanted = select(upload).where(upload.c.user_id == caller.user_id)
    if sha256 is not None:
        # Whoever asks this wants to submit work with it soon; one that is about to go is sent again.
        wanted = wanted.where(upload.c.sha256 == sha256, upload.c.used_at > transaction.now - KEPT / 2)
    rows = transaction.rows(wanted.order_by(upload.c.id.desc()))
    return Uploads(items=[_shown(row) for row in rows])


def delete_upload(transaction: Transaction, caller: Caller, upload_id: str) -> None:
    row = _find(transaction, caller.user_id, upload.c.id == upload_id)
    if row is None:
        raise NotFound("There is no such upload of yours.", "List your uploads to find its id.")
    if transaction.first(select(upload_use).where(upload_use.c.upload_id == upload_id)) is not None:
        raise Conflict("Work of yours has this upload.", "Delete the work first; the upload goes with it.")
    transaction.run(delete(upload).where(upload.c.id == upload_id))
    subject = user_subject(transaction, caller.user_id, caller.name)
    record(transaction, caller, "upload.delete", subject, before={"upload": row.id, "sha256": row.sha256})


def check(transaction: Transaction, owner_id: str, upload_id: str) -> AnyRow:
    """The upload that new work names; refuses one that is not its owner's."""
    row = _find(transaction, owner_id, upload.c.id == upload_id)
    if row is None:
        raise Invalid.field(
            "body.upload_id",
            "There is no such upload of yours.",
            "Upload the working directory first; an upload that no work has is kept for a day.",
        )
    return row


def use(transaction: Transaction, workload_id: str, upload_id: str) -> None:
    """The upload stays as long as the workload is there."""
    transaction.run(insert(upload_use).values(workload_id=workload_id, upload_id=upload_id))
    transaction.run(update(upload).where(upload.c.id == upload_id).values(used_at=transaction.now))


def content_of(transaction: Transaction, upload_id: str) -> Content:
    """What an upload that work has consists of."""
    columns = (upload.c.sha256, upload.c.size_bytes, upload.c.form)
    row = transaction.first(select(*columns).where(upload.c.id == upload_id))
    if row is None:
        raise NotFound("Its upload is no longer there.", "Upload the directory and submit the work again.")
    return Content(row.sha256, row.size_bytes, None if row.form is None else Form(row.form))


def forget_unused(transaction: Transaction, most: int) -> int:
    """Removes uploads that no work has any more; their files are swept afterwards."""
    gone = select(upload_use.c.workload_id).join(workload, workload.c.id == upload_use.c.workload_id)
    gone = gone.where(workload.c.state == State.DELETED).limit(most)
    transaction.run(delete(upload_use).where(upload_use.c.workload_id.in_(gone)))
    unused = (
        select(upload.c.id)
        .where(
            upload.c.used_at <= transaction.now - KEPT,
            ~select(upload_use.c.upload_id).where(upload_use.c.upload_id == upload.c.id).exists(),
        )
        .limit(most)
    )
    return transaction.run(delete(upload).where(upload.c.id.in_(unused)))


def known_contents(transaction: Transaction) -> set[str]:
    return {sha256 for (sha256,) in transaction.rows(select(upload.c.sha256).distinct())}


def _find(transaction: Transaction, user_id: str, condition: ColumnElement[bool]) -> AnyRow | None:
    return transaction.first(select(upload).where(upload.c.user_id == user_id, condition))


def _shown(row: AnyRow) -> Upload:
    return Upload(
        id=row.id,
        sha256=row.sha256,
        size_bytes=row.size_bytes,
        unpacked_bytes=row.unpacked_bytes,
        entries=row.entries,
        created_at=row.created_at,
    )
