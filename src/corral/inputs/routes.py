"""Uploads and secrets over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from corral.api.callers import AccountOwner, AccountReader, Caller, Requires
from corral.api.models import Id
from corral.api.once import Db
from corral.core.permissions import Permission
from corral.inputs import secrets, uploads
from corral.inputs.archives import declared
from corral.inputs.context import InputsHere
from corral.inputs.models import InputName, NewSecret, Secret, Secrets, Upload, Uploads

uploads_router = APIRouter(prefix="/uploads", tags=["training"])
secrets_router = APIRouter(prefix="/me/secrets", tags=["account"])

Runner = Annotated[Caller, Requires(Permission.WORKLOADS_RUN)]
_ARCHIVE = {"schema": {"type": "string", "format": "binary"}}


@uploads_router.post(
    "",
    status_code=201,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/x-tar": _ARCHIVE, "application/gzip": _ARCHIVE},
        }
    },
)
async def upload_directory(database: Db, caller: Runner, here: InputsHere, request: Request) -> Upload:
    """Takes a working directory as a tar archive: `Content-Type: application/x-tar`, or `application/gzip` if
    it is gzipped. The same content is the same upload."""
    form = declared(request.headers.get("content-type"))
    await database.read(uploads.check_room, caller, here.uploads.most_bytes)
    arrived = await here.uploads.receive(caller.user_id, form, request.stream())
    return await database.write(uploads.add, caller, arrived, here.uploads.most_bytes)


@uploads_router.get("")
async def list_my_uploads(
    database: Db,
    caller: Runner,
    here: InputsHere,
    sha256: Annotated[
        str | None,
        Query(
            pattern="^[0-9a-f]{64}$",
            description="Only the one with this content, if it need not be sent again.",
        ),
    ] = None,
) -> Uploads:
    """Your uploads, newest first."""
    if sha256 is not None and not here.uploads.path(sha256).exists():
        return Uploads(items=[])  # its file went with a restored backup or a lost disk
    return await database.read(uploads.list_uploads, caller, sha256)


@uploads_router.delete("/{upload_id}", status_code=204)
async def delete_upload(database: Db, caller: Runner, upload_id: Id) -> None:
    """Deletes an upload that no work of yours has."""
    await database.write(uploads.delete_upload, caller, upload_id)


@secrets_router.get("")
async def list_my_secrets(database: Db, caller: AccountReader) -> Secrets:
    """The names of your secrets; their values are never shown."""
    return await database.read(secrets.list_secrets, caller)


@secrets_router.put("/{name}")
async def set_secret(
    database: Db,
    caller: AccountOwner,
    here: InputsHere,
    name: InputName,
    new: NewSecret,
) -> Secret:
    """Gives a secret its value; work that starts from now on gets it."""
    return await database.write(here.secrets.set, caller, name, new.value)


@secrets_router.delete("/{name}", status_code=204)
async def delete_secret(database: Db, caller: AccountOwner, name: InputName) -> None:
    """Deletes a secret; work that starts later and names it is refused."""
    await database.write(secrets.delete_secret, caller, name)
