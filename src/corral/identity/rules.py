"""Pure decisions about people: what a password may be, whose account one may steer, what a CSV says."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from corral.api.callers import Authority, Caller, held_on
from corral.api.models import is_mail
from corral.core.permissions import Permission
from corral.core.refusals import FieldError, Forbidden, Invalid
from corral.core.text import clean_name, hidden_character

USER_NAME = r"^[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*$"
USER_NAME_LENGTH = (2, 32)
# Names that other programs or pages could take for something of the system.
RESERVED_NAMES = frozenset({"corral", "root", "system", "nobody", "me", "api", "www", "localhost"})

PASSWORD_LENGTH = (10, 256)
PASSWORD_REMEDY = "Use 10 characters or more, not your name, not one pattern repeated; four words do well."  # noqa: S105

_KNOWN = {permission.value: permission for permission in Permission}

IMPORT_COLUMNS = ("name", "display_name", "mail", "priority")
IMPORT_ROWS = 5_000


def check_new_password(password: str, user_name: str, field: str = "body.new_password") -> None:
    """Refuses what is guessed first; length does the rest."""
    lowered = password.lower()
    if len(password) < PASSWORD_LENGTH[0]:
        raise Invalid.field(field, "The password is too short.", PASSWORD_REMEDY)
    if user_name in lowered and len(password) < len(user_name) + 8:
        raise Invalid.field(field, "The password is little more than the user name.", PASSWORD_REMEDY)
    if len(set(lowered)) < 5 or "password" in lowered or lowered.startswith(("1234567", "qwertyuiop")):
        raise Invalid.field(field, "The password is one of the first that is guessed.", PASSWORD_REMEDY)


def require_control(caller: Caller, target: Iterable[Authority], who: str) -> None:
    """Steering an account (disable, new login, roles) is having all it has: so one must hold all of it."""
    if caller.via == "system":
        return
    for authority in target:
        missing = authority.permissions - caller.permissions_on(authority.path)
        if missing:
            raise Forbidden(
                f"{who} holds permissions that you do not hold: {', '.join(sorted(missing))}.",
                "Ask someone who holds them all where that person does.",
            )


def controls(held: Sequence[Authority], target: Iterable[Authority]) -> bool:
    """Whether `held` amounts to all that `target` has, everywhere."""
    return all(one.permissions <= held_on(held, one.path) for one in target)


def effective(permissions: Iterable[str]) -> frozenset[Permission]:
    """The permissions of a stored role that this version knows."""
    return frozenset(_KNOWN[name] for name in permissions if name in _KNOWN)


@dataclass(frozen=True, slots=True)
class ImportRow:
    line: int
    name: str
    display_name: str
    mail: str | None
    priority: int
    problems: tuple[str, ...]


def read_people(text: str) -> list[ImportRow]:
    """The rows of a CSV with a header; each carries what is wrong with it."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    try:
        filled = ((reader.line_num, row) for row in reader if any(cell.strip() for cell in row))
        rows = list(islice(filled, IMPORT_ROWS + 1))
        beyond = sum(1 for _ in filled)
    except csv.Error as error:
        raise _bad_csv(f"Line {reader.line_num} is not CSV: {error}.") from error
    if not rows:
        raise _bad_csv("The file is empty.")
    header = [cell.strip().lower() for cell in rows[0][1]]
    unknown = [name for name in header if name not in IMPORT_COLUMNS]
    if "name" not in header or unknown or len(set(header)) != len(header):
        what = f"it has {', '.join(unknown)[:100]}" if unknown else "name is missing or a column is double"
        raise _bad_csv(f"The first line must name the columns; {what}.")
    if beyond:
        raise _bad_csv(f"{IMPORT_ROWS + beyond} people are more than the {IMPORT_ROWS} of one import.")
    seen: set[str] = set()
    return [_read_person(line, header, cells, seen) for line, cells in rows[1:]]


def _read_person(line: int, header: list[str], cells: list[str], seen: set[str]) -> ImportRow:
    values = dict(zip(header, (cell.strip() for cell in cells), strict=False))
    problems: list[str] = []
    if len(cells) > len(header):
        problems.append(f"{len(cells)} cells for {len(header)} columns")
    name = values.get("name", "").lower()
    shortest, longest = USER_NAME_LENGTH
    if not (shortest <= len(name) <= longest and re.match(USER_NAME, name)) or name in RESERVED_NAMES:
        problems.append("name: 2 to 32 lower-case letters, digits and single . _ - between them")
    elif name in seen:
        problems.append(f"name: {name} stands twice in this file")
    seen.add(name)
    mail = values.get("mail") or None
    if mail is not None and not is_mail(mail):
        problems.append("mail: not a mail address")
    priority = values.get("priority") or "1"
    if priority not in {"1", "2", "3", "4", "5"}:
        problems.append("priority: 1 to 5")
        priority = "1"
    display_name = clean_name(values.get("display_name", "")) or name
    if len(display_name) > 120 or hidden_character(values.get("display_name", "")):
        problems.append("display_name: at most 120 characters, none of them invisible")
    return ImportRow(line, name[:64], display_name[:120], mail, int(priority), tuple(problems))


def _bad_csv(message: str) -> Invalid:
    remedy = (
        f"Give a header and one person per line; columns: {', '.join(IMPORT_COLUMNS)}; only name is needed."
    )
    return Invalid(message, remedy, errors=[FieldError("body.csv", message, remedy)])
