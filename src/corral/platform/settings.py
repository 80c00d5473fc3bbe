"""Settings in the database: read with their defaults, written with audit entry and event."""

from datetime import datetime
from typing import Any

from sqlalchemy import insert, select, update

from corral.api.callers import Caller
from corral.api.versions import Expected
from corral.audit.record import Subject, record
from corral.core.permissions import Permission
from corral.core.refusals import Invalid
from corral.events.record import publish
from corral.identity.lookups import find_node, root_of
from corral.identity.tables import organisation
from corral.platform.models import (
    MailSettings,
    NewMailSettings,
    NewRegistrationSettings,
    RegistrationSettings,
)
from corral.platform.tables import setting
from corral.store.database import Transaction
from corral.store.keyring import Keyring
from corral.store.schema import JsonObject

MAIL = "mail"
REGISTRATION = "registration"
PASSWORD_PURPOSE = "setting:mail.password"  # noqa: S105

_MAIL_DEFAULTS: JsonObject = {
    "host": None,
    "port": 587,
    "encryption": "starttls",
    "user_name": None,
    "password": None,
    "sender": None,
    "tested_at": None,
}


def read_mail(transaction: Transaction) -> MailSettings:
    value, generation = _stored(transaction, MAIL, _MAIL_DEFAULTS)
    return MailSettings.model_validate(
        {**value, "password_set": value["password"] is not None, "generation": generation}
    )


def mail_password(transaction: Transaction, keyring: Keyring) -> str | None:
    value, _ = _stored(transaction, MAIL, _MAIL_DEFAULTS)
    sealed = value["password"]
    return None if sealed is None else keyring.decrypt(sealed, PASSWORD_PURPOSE)


def require_manager(transaction: Transaction, caller: Caller) -> None:
    """That the caller may change the installation's settings; holding it further down is not enough."""
    _require(transaction, caller, Permission.SETTINGS_MANAGE)


def get_mail(transaction: Transaction, caller: Caller) -> MailSettings:
    _require(transaction, caller, Permission.SETTINGS_READ)
    return read_mail(transaction)


def write_mail(
    transaction: Transaction, caller: Caller, new: NewMailSettings, expected: Expected, keyring: Keyring
) -> MailSettings:
    _require(transaction, caller, Permission.SETTINGS_MANAGE)
    if new.host is not None and new.sender is None:
        raise Invalid.field("body.sender", "Mail needs a sender address.", "Give a sender address.")
    if new.password and new.user_name is None:
        raise Invalid.field("body.user_name", "A password needs a user name.", "Give both, or neither.")
    before, generation = _stored(transaction, MAIL, _MAIL_DEFAULTS)
    expected.check(generation)
    sealed = _sealed_password(new, before, keyring)
    if sealed is not None and new.encryption == "none":
        raise Invalid.field(
            "body.encryption",
            "The password would be sent unencrypted.",
            "Use starttls or tls, or forget the password.",
        )
    after = {**new.model_dump(), "password": sealed, "tested_at": None}
    _write(transaction, caller, MAIL, before, after, generation)
    return read_mail(transaction)


def _sealed_password(new: NewMailSettings, before: JsonObject, keyring: Keyring) -> str | None:
    if new.password:
        return keyring.encrypt(new.password, PASSWORD_PURPOSE)
    kept: str | None = before["password"]
    if new.password == "" or new.user_name is None or kept is None:
        return None
    if new.host != before["host"]:
        # Changing the settings must not reveal the password, not even to a mail server of one's own.
        raise Invalid.field(
            "body.password",
            "The stored password is for another mail server.",
            "Type the password for this one, or forget the stored one.",
        )
    return kept


def mark_mail_tested(transaction: Transaction, caller: Caller, to: str) -> datetime:
    value, generation = _stored(transaction, MAIL, _MAIL_DEFAULTS)
    tested = {**value, "tested_at": transaction.now.isoformat()}
    _store(transaction, MAIL, tested, generation)
    record(transaction, caller, "mail.test", _subject(transaction, MAIL), after={"to": to})
    return transaction.now


def read_registration(transaction: Transaction) -> RegistrationSettings:
    """As stored; off where the organisation that people would belong to is gone."""
    defaults = {"sign_up": False, "organisation_id": root_of(transaction).id}
    value, generation = _stored(transaction, REGISTRATION, defaults)
    place = organisation.c.id == value["organisation_id"]
    if transaction.scalar(select(organisation.c.id).where(place)) is None:
        value = defaults
    return RegistrationSettings.model_validate({**value, "generation": generation})


def get_registration(transaction: Transaction, caller: Caller) -> RegistrationSettings:
    _require(transaction, caller, Permission.SETTINGS_READ)
    return read_registration(transaction)


def write_registration(
    transaction: Transaction, caller: Caller, new: NewRegistrationSettings, expected: Expected
) -> RegistrationSettings:
    _require(transaction, caller, Permission.SETTINGS_MANAGE)
    find_node(transaction, caller, new.organisation_id, Permission.ORGANISATIONS_READ)
    before = read_registration(transaction)
    expected.check(before.generation)
    told = before.model_dump(exclude={"generation"})
    _write(transaction, caller, REGISTRATION, told, new.model_dump(), before.generation)
    return read_registration(transaction)


def _stored(transaction: Transaction, key: str, defaults: JsonObject) -> tuple[JsonObject, int]:
    row = transaction.first(select(setting.c.value, setting.c.generation).where(setting.c.key == key))
    return (dict(defaults), 0) if row is None else ({**defaults, **row.value}, row.generation)


def _write(
    transaction: Transaction, caller: Caller, key: str, before: Any, after: JsonObject, generation: int
) -> None:
    _store(transaction, key, after, generation)
    record(transaction, caller, "setting.change", _subject(transaction, key), before=before, after=after)


def _store(transaction: Transaction, key: str, value: JsonObject, generation: int) -> None:
    values = {"value": value, "generation": generation + 1, "updated_at": transaction.now}
    if generation == 0:
        transaction.run(insert(setting).values(key=key, **values))
    else:
        transaction.run(update(setting).where(setting.c.key == key).values(**values))
    root = root_of(transaction)
    publish(transaction, "setting", root.id, generation + 1, scope=root.path)


def _subject(transaction: Transaction, key: str) -> Subject:
    root = root_of(transaction)
    return Subject("setting", root.id, key, root.path)


def _require(transaction: Transaction, caller: Caller, permission: Permission) -> None:
    root = root_of(transaction)
    caller.require(permission, root.path, root.name)
