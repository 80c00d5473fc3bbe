"""Idempotency-Key: a create that is sent twice happens once and answers the same.

The answer is stored in the creating transaction for 24 hours, encrypted under a key that needs both the key
file and the Idempotency-Key itself, since it may hold a secret that is shown only once.
"""

import hashlib
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Concatenate, ParamSpec, TypeVar, cast

from fastapi import Depends, Header, Request, Response
from pydantic import BaseModel
from sqlalchemy import delete, func, insert, select, tuple_

from corral.api.callers import ApiContext, Caller
from corral.api.parts import part_of
from corral.api.tables import idempotent_answer
from corral.core.refusals import Invalid, TooMany
from corral.store.database import Database, Transaction
from corral.store.keyring import Keyring

P = ParamSpec("P")
T = TypeVar("T", bound=BaseModel)

KEPT = timedelta(hours=24)


class Once:
    def __init__(
        self, database: Database, keyring: Keyring, route: str, key: str | None, body: bytes
    ) -> None:
        self._database = database
        self._keyring = keyring
        self._route = route[:120]
        self._key = key
        self._body_hash = hashlib.sha256(body).hexdigest()

    async def create(
        self,
        caller: Caller,
        work: Callable[Concatenate[Transaction, Caller, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Runs `work(transaction, caller, …)`, or answers as the first time; a replay is a ready response."""
        if self._key is None:
            return await self._database.write(work, caller, *args, **kwargs)
        key = self._key
        purpose = f"idempotency:{key}"

        def create_or_replay(transaction: Transaction) -> T | Response:
            stored = self._stored(transaction, caller, key)
            if stored is not None:
                return stored
            created = work(transaction, caller, *args, **kwargs)
            answer = self._keyring.encrypt(created.model_dump_json(), purpose)
            self._store(transaction, caller, key, answer)
            return created

        return cast("T", await self._database.write(create_or_replay))

    def _stored(self, transaction: Transaction, caller: Caller, key: str) -> Response | None:
        t = idempotent_answer.c
        row = transaction.first(
            select(t.body_hash, t.status, t.answer, t.created_at).where(
                t.principal_id == caller.user_id, t.route == self._route, t.key_hash == _hash(key)
            )
        )
        if row is None or row.created_at + KEPT <= transaction.now:
            return None
        if row.body_hash != self._body_hash:
            raise Invalid.field(
                "header.Idempotency-Key",
                "This key was used for another request.",
                "Use a fresh key for each thing that is created.",
            )
        answer = self._keyring.decrypt(row.answer, f"idempotency:{key}")
        return Response(answer, row.status, {"Idempotency-Replayed": "true"}, media_type="application/json")

    def _store(self, transaction: Transaction, caller: Caller, key: str, answer: str) -> None:
        t = idempotent_answer.c
        kept = select(func.count()).select_from(idempotent_answer).where(t.principal_id == caller.user_id)
        if transaction.scalar(kept) >= (most := transaction.bounds.kept_answers):
            raise TooMany(
                f"Corral keeps {most} answers to your creates with an Idempotency-Key, for a day each.",
                "Create fewer things at once, or leave the key out.",
            )
        transaction.run(
            delete(idempotent_answer).where(
                t.principal_id == caller.user_id, t.route == self._route, t.key_hash == _hash(key)
            )
        )
        transaction.run(
            insert(idempotent_answer).values(
                principal_id=caller.user_id,
                route=self._route,
                key_hash=_hash(key),
                body_hash=self._body_hash,
                status=201,
                answer=answer,
                created_at=transaction.now,
            )
        )


def forget_old_answers(transaction: Transaction, most: int) -> int:
    """Deletes up to `most` answers that are past their 24 hours."""
    t = idempotent_answer.c
    key = (t.principal_id, t.route, t.key_hash)
    old = select(*key).where(t.created_at <= transaction.now - KEPT).limit(most)
    return transaction.run(delete(idempotent_answer).where(tuple_(*key).in_(old)))


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


async def _once(
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(
            min_length=1,
            max_length=200,
            pattern=r"^[\x21-\x7e]+$",
            description="Any text; repeating a request with the same key does not create anything twice.",
        ),
    ] = None,
) -> Once:
    here = part_of(request, ApiContext)
    body = await request.body() if idempotency_key is not None else b""
    return Once(here.database, here.keyring, request.url.path, idempotency_key, body)


CreatedOnce = Annotated[Once, Depends(_once)]


async def _database(request: Request) -> Database:
    return part_of(request, ApiContext).database


Db = Annotated[Database, Depends(_database)]
