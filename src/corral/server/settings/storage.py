"""Where data and log lines go."""

import re
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from corral.server.settings.values import Group, absolute, setting, split_url

MASK = "********"
_SQLITE_SCHEMES = ("sqlite",)
_POSTGRESQL_SCHEMES = ("postgresql", "postgres", "postgresql+asyncpg")


class Storage(Group):
    home: Path = Field(
        description="The data directory: database, keys, local token, endpoints.json. Made with mode 0700.",
        json_schema_extra={"allowed": "a directory that this user can write"},
    )
    database_url: str = setting(
        "",
        "The database. Empty: SQLite in the data directory, where relative SQLite paths start, too. "
        "Put a password into corral.toml (mode 0600) or CORRAL_DATABASE_URL, never into a flag.",
        "empty, sqlite:///<path>, or postgresql://<user>:<password>@<host>:<port>/<database>",
        repr=False,
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "info", "The lowest log level that is written.", "debug, info, warning or error"
    )
    log_format: Literal["text", "json"] = setting(
        "text", "Log format: text for people, json for machines.", "text or json"
    )
    log_to: Literal["file", "terminal"] = setting(
        "file",
        "Where log lines go. file: logs/corral.log in the data directory, the newest 50 MiB; the terminal "
        "shows warnings and errors, in short. terminal: all of them to standard error, as in a container.",
        "file or terminal",
    )

    @field_validator("home")
    @classmethod
    def _absolute_home(cls, home: Path) -> Path:
        if "?" in str(home):
            raise PydanticCustomError("home", "a question mark in it would end the database's address")
        return absolute(home)

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, url: str) -> str:
        if not url:
            return url
        scheme, separator, rest = url.partition("://")
        if not separator or scheme not in _SQLITE_SCHEMES + _POSTGRESQL_SCHEMES:
            raise PydanticCustomError("database", "it does not start with sqlite:// or postgresql://")
        if scheme in _SQLITE_SCHEMES and (
            not rest.startswith("/") or rest in ("/", "/:memory:") or "?" in rest
        ):
            raise PydanticCustomError("database", "it names no database file")
        if scheme in _POSTGRESQL_SCHEMES:
            parts = split_url(url)
            if parts is None or not parts.path.strip("/") or not (parts.hostname or "host=" in parts.query):
                raise PydanticCustomError("database", "it names no host or no database")
        return url

    @property
    def database_kind(self) -> Literal["sqlite", "postgresql"]:
        return "postgresql" if self.database_url.startswith("postgres") else "sqlite"

    @property
    def database_url_resolved(self) -> str:
        """The URL for SQLAlchemy, driver named, SQLite path absolute. May hold a password."""
        if self.database_kind == "sqlite":
            path = self.home / "corral.db"
            if self.database_url:
                path = self.home / self.database_url.partition(":///")[2]
            return f"sqlite:///{path}"
        parts = urlsplit(self.database_url)
        # asyncpg calls libpq's sslmode `ssl`; people copy libpq URLs.
        query = [("ssl" if key == "sslmode" else key, value) for key, value in parse_qsl(parts.query)]
        return urlunsplit(("postgresql+asyncpg", parts.netloc, parts.path, urlencode(query), ""))

    @property
    def endpoints_path(self) -> Path:
        return self.home / "endpoints.json"

    @property
    def log_path(self) -> Path | None:
        """The file that log lines go to, if they do."""
        return self.home / "logs" / "corral.log" if self.log_to == "file" else None

    @property
    def local_token_path(self) -> Path:
        return self.home / "local-token"

    @property
    def admin_password_path(self) -> Path:
        return self.home / "admin-password"


def mask_database_url(url: str) -> str:
    """The URL with its password, if any, replaced."""
    masked = re.sub(r"(?i)([?&]password=)[^&]*", rf"\g<1>{MASK}", url)
    scheme, separator, rest = masked.partition("://")
    credentials, at, place = rest.rpartition("@")
    if not at or ":" not in credentials:
        return masked
    return f"{scheme}{separator}{credentials.partition(':')[0]}:{MASK}@{place}"
