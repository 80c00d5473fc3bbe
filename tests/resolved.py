"""Documents as they are stored, without a server that resolves them."""

from typing import TypeVar

from corral.workloads.documents import Document, StoredDocument
from corral.workloads.spec import WorkSpec

D = TypeVar("D", bound=Document)


def resolved(spec: WorkSpec, form: type[D]) -> D:
    return stored(spec).read(form)


def stored(spec: WorkSpec) -> StoredDocument:
    """As if its numbers were given, in an organisation of its own and with the usual priority."""
    found = {"organisation_id": "o1", "priority": 3, "pool_ids": [], "zone_reason": "only"}
    return StoredDocument(spec.model_dump(mode="json") | found)
