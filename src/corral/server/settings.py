"""What an installation can be told before it starts: one frozen object, every value described and bounded.

Where the values come from (defaults, corral.toml, CORRAL_*, flags) is the business of `settings_sources`.
"""

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from corral.accelerators.simulated import parse as parse_simulated
from corral.core.refusals import Invalid
from corral.engines.local.addresses import read_allowed

__all__ = ["Settings", "mask_database_url"]

MASK = "********"
_SQLITE_SCHEMES = ("sqlite",)
_POSTGRESQL_SCHEMES = ("postgresql", "postgres", "postgresql+asyncpg")
_HOST_NAME = re.compile(
    r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*", re.IGNORECASE
)


def _refuse_bool(value: object) -> object:
    # Pydantic reads true as 1; in a file `port = true` is a mistake, not a port.
    if isinstance(value, bool):
        raise PydanticCustomError("not_a_number", "it is a boolean, not a number")
    return value


def _split_commas(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _empty_is_none(value: object) -> object:
    return None if value == "" else value


WholeNumber = Annotated[int, BeforeValidator(_refuse_bool)]
Names = Annotated[tuple[str, ...], BeforeValidator(_split_commas)]
OptionalPath = Annotated[Path | None, BeforeValidator(_empty_is_none)]


def _setting(default: object, about: str, allowed: str, **bounds: Any) -> Any:
    return Field(default, description=about, json_schema_extra={"allowed": allowed}, **bounds)


class Settings(BaseModel):
    """What holds from start to stop. What an administrator changes while it runs is in the database."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", str_strip_whitespace=True, hide_input_in_errors=True
    )

    home: Path = Field(
        description="The data directory: database, keys, local token, endpoints.json. Made with mode 0700.",
        json_schema_extra={"allowed": "a directory that this user can write"},
    )
    host: str = _setting(
        "127.0.0.1",
        "The address to listen on. Anything but loopback needs TLS: an own certificate, or behind_proxy.",
        "an IP address or host name of this machine",
        min_length=1,
        max_length=253,
    )
    port: WholeNumber = _setting(
        8710, "The port of console and API.", "a whole number from 1 to 65535", ge=1, le=65535
    )
    database_url: str = _setting(
        "",
        "The database. Empty: SQLite in the data directory, where relative SQLite paths start, too. "
        "A password belongs into corral.toml (mode 0600) or CORRAL_DATABASE_URL, never into a flag.",
        "empty, sqlite:///<path>, or postgresql://<user>:<password>@<host>:<port>/<database>",
        repr=False,
    )
    tls_certificate: OptionalPath = _setting(
        None,
        "Certificate chain (PEM), when Corral serves HTTPS itself. Needs tls_key. Both are read at start: "
        "start Corral again after a renewal.",
        "empty, or the path of a readable PEM file",
    )
    tls_key: OptionalPath = _setting(
        None, "Private key (PEM) of tls_certificate.", "empty, or the path of a readable PEM file"
    )
    behind_proxy: str = _setting(
        "",
        "The public https:// address, when a proxy in front of Corral ends TLS. It must pass Host and append "
        "the caller's address to X-Forwarded-For.",
        "empty, or https://<name> or https://<name>:<port>, without a path",
    )
    trusted_proxies: Names = _setting(
        ("127.0.0.1", "::1"),
        "Addresses or networks whose X-Forwarded-* headers are believed while behind_proxy is set.",
        "IP addresses or networks, separated by commas",
    )
    host_names: Names = _setting(
        (),
        "Further names under which browsers reach Corral; the first is used in links. Needed when Corral "
        "serves HTTPS itself on all interfaces. A request that names another host is refused.",
        "host names without port, separated by commas",
    )
    log_level: Literal["debug", "info", "warning", "error"] = _setting(
        "info", "The least severe log line that is written.", "debug, info, warning or error"
    )
    log_format: Literal["text", "json"] = _setting(
        "text", "Log lines for people (text) or for machines (json).", "text or json"
    )
    log_to: Literal["file", "terminal"] = _setting(
        "file",
        "Where log lines go. file: logs/corral.log in the data directory, the newest 50 MiB; the terminal "
        "shows warnings and errors, in short. terminal: all of them to standard error, as in a container.",
        "file or terminal",
    )
    session_hours: WholeNumber = _setting(
        168,
        "A login session ends after this many hours, used or not.",
        "a whole number from 1 to 8760",
        ge=1,
        le=8760,
    )
    session_idle_hours: WholeNumber = _setting(
        24,
        "A login session ends after this many hours without a request.",
        "a whole number from 1 to 8760, not more than session_hours",
        ge=1,
        le=8760,
    )
    login_link_minutes: WholeNumber = _setting(
        15,
        "A one-time login link works for this many minutes.",
        "a whole number from 1 to 1440",
        ge=1,
        le=1440,
    )
    connections: WholeNumber = _setting(
        2000,
        "Connections that are open at a time; at most half of the open files that the system allows. When "
        "all are taken, the one that has waited longest without a request is closed.",
        "a whole number from 64 to 30000",
        ge=64,
        le=30000,
    )
    connections_per_address: WholeNumber = _setting(
        500,
        "Of these, how many may come from one address. This machine and trusted_proxies have as many as "
        "there are.",
        "a whole number from 8 to 30000",
        ge=8,
        le=30000,
    )
    header_seconds: WholeNumber = _setting(
        20,
        "How long a client may take to agree on TLS, and to send the header of a request, which has at most "
        "64 KiB.",
        "a whole number from 1 to 600",
        ge=1,
        le=600,
    )
    stalled_seconds: WholeNumber = _setting(
        30,
        "A client that sends nothing of the body that it announced, or reads nothing of what it is sent, is "
        "dropped after this many seconds. A body may come at 1 KiB/s, no slower.",
        "a whole number from 1 to 600",
        ge=1,
        le=600,
    )
    token_max_days: WholeNumber = _setting(
        365,
        "The longest life of a personal access token, in days.",
        "a whole number from 1 to 3650",
        ge=1,
        le=3650,
    )
    samples_raw_hours: WholeNumber = _setting(
        24,
        "Single samples of nodes, devices and workloads are kept for this many hours.",
        "a whole number from 2 to 168",
        ge=2,
        le=168,
    )
    samples_minute_days: WholeNumber = _setting(
        14,
        "Samples rolled up to minutes are kept for this many days.",
        "a whole number from 1 to 365, longer than samples_raw_hours",
        ge=1,
        le=365,
    )
    samples_hour_days: WholeNumber = _setting(
        180,
        "Samples rolled up to hours are kept for this many days.",
        "a whole number from 2 to 3650, not less than samples_minute_days",
        ge=2,
        le=3650,
    )
    samples_day_days: WholeNumber = _setting(
        1095,
        "Samples rolled up to days are kept for this many days.",
        "a whole number from 2 to 36500, not less than samples_hour_days",
        ge=2,
        le=36500,
    )
    samples_workload_days: WholeNumber = _setting(
        30,
        "Samples of a workload are kept for this many days after the last one.",
        "a whole number from 1 to 3650",
        ge=1,
        le=3650,
    )
    ended_work_days: WholeNumber = _setting(
        365,
        "Work that ended is deleted with its output and files after this many days; 0 keeps it until a "
        "person deletes it.",
        "a whole number from 0 to 36500",
        ge=0,
        le=36500,
    )
    deleted_work_days: WholeNumber = _setting(
        30,
        "Records of deleted work are kept for this many days after its files are gone. The usage ledger "
        "and the audit log keep theirs.",
        "a whole number from 1 to 3650",
        ge=1,
        le=3650,
    )
    simulated_gpus: str = _setting(
        "",
        "GPUs that this machine is said to have: they are scheduled and metered, code computes on the CPU. "
        "Empty: the real ones, or a few simulated ones where there are none.",
        "empty, none, or a list such as 8xH100-80GB,2xT4-16GB",
        max_length=400,
    )
    trusted: bool = _setting(
        False,
        "Runs work also where it cannot be isolated or limited. Only for one person on their own machine: "
        "while others have accounts here, such work is refused.",
        "true or false",
    )

    @field_validator("simulated_gpus")
    @classmethod
    def _known_gpus(cls, text: str) -> str:
        if text not in {"", "none"}:
            try:
                parse_simulated(text)
            except Invalid as error:
                raise PydanticCustomError("simulated_gpus", "{why}", {"why": error.detail}) from None
        return text

    package_index: str = _setting(
        "",
        "The package index that runtimes are built from. Empty: PyPI. It must be reachable for work.",
        "empty, or https://<host>/<path>/simple",
        max_length=500,
    )
    upload_mib: WholeNumber = _setting(
        512,
        "The largest working directory that can be uploaded with work, packed, in MiB.",
        "a whole number from 1 to 65536",
        ge=1,
        le=65536,
    )

    home_mib: WholeNumber = _setting(
        51200,
        "How much a person's home on this machine may hold, in MiB. It is found by looking: work that has "
        "the home open while it grows beyond this is ended. 0 sets no bound.",
        "a whole number from 0 to 1073741824",
        ge=0,
        le=2**30,
    )
    workspace_files: WholeNumber = _setting(
        1_000_000,
        "How many files and directories the workspace of a workload may hold, and a person's home. 0 sets no "
        "bound.",
        "a whole number from 0 to 1073741824",
        ge=0,
        le=2**30,
    )
    person_mib: WholeNumber = _setting(
        204_800,
        "How much all workspaces of one person on this machine may hold together, in MiB. Over it no new "
        "work of that person begins, and work that adds to it is ended. 0 sets no bound.",
        "a whole number from 0 to 1073741824",
        ge=0,
        le=2**30,
    )
    person_files: WholeNumber = _setting(
        5_000_000,
        "The same for files and directories. 0 sets no bound.",
        "a whole number from 0 to 1073741824",
        ge=0,
        le=2**30,
    )
    first_uid: WholeNumber = _setting(
        200_000,
        "As root, the work of every person runs under a uid of its own: the first of 65536 that nobody else "
        "uses on this machine. Who has one keeps it.",
        "a whole number from 1000 to 2000000000",
        ge=1000,
        le=2_000_000_000,
    )
    allowed_networks: Names = _setting(
        (),
        "Private networks, and names that lead into them, which work may reach. Public addresses it reaches "
        "anyway; loopback, link-local and this machine's own addresses never.",
        "networks such as 10.1.0.0/16 and names such as mirror.lab or .lab, separated by commas",
    )

    @field_validator("allowed_networks")
    @classmethod
    def _networks_or_names(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        try:
            names = read_allowed(entries).names
        except ValueError as error:
            raise PydanticCustomError("network", "{why}", {"why": str(error)}) from None
        for name in names:
            if not _HOST_NAME.fullmatch(name.removeprefix(".")):
                raise PydanticCustomError("host", "{what} is no network and no name", {"what": name})
        return entries

    @field_validator("home")
    @classmethod
    def _absolute_home(cls, home: Path) -> Path:
        if "?" in str(home):
            raise PydanticCustomError("home", "a question mark in it would end the database's address")
        return _absolute(home)

    @field_validator("host")
    @classmethod
    def _known_host_form(cls, host: str) -> str:
        if _address(host) is None and not _HOST_NAME.fullmatch(host):
            raise PydanticCustomError("host", "it is neither an IP address nor a host name")
        return host.lower()

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
            parts = _split_url(url)
            if parts is None or not parts.path.strip("/") or not (parts.hostname or "host=" in parts.query):
                raise PydanticCustomError("database", "it names no host or no database")
        return url

    @field_validator("tls_certificate", "tls_key")
    @classmethod
    def _readable_file(cls, path: Path | None) -> Path | None:
        if path is None:
            return None
        path = _absolute(path)
        try:
            with path.open("rb"):
                return path
        except OSError as error:
            raise PydanticCustomError(
                "file", "it cannot be read: {why}", {"why": error.strerror or "?"}
            ) from None

    @field_validator("behind_proxy")
    @classmethod
    def _https_origin(cls, url: str) -> str:
        if not url:
            return url
        parts = _split_url(url)
        if parts is None or parts.scheme != "https" or not parts.hostname:
            raise PydanticCustomError("proxy", "it is not an https:// address")
        if parts.path.strip("/") or parts.query or parts.fragment or parts.username is not None:
            raise PydanticCustomError("proxy", "only name and port may follow https://")
        # Browsers leave the usual port out of Origin, and it is compared with this.
        return f"https://{parts.netloc.lower().removesuffix(':443')}"

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, networks: tuple[str, ...]) -> tuple[str, ...]:
        for network in networks:
            try:
                ipaddress.ip_network(network)
            except ValueError:
                raise PydanticCustomError(
                    "network", "{what} is no address or network", {"what": network}
                ) from None
        return networks

    @field_validator("host_names")
    @classmethod
    def _plain_host_names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if _address(name) is None and not _HOST_NAME.fullmatch(name):
                raise PydanticCustomError("host", "{what} is no host name", {"what": name})
        return tuple(name.lower() for name in names)

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.session_idle_hours > self.session_hours:
            raise _conflict("session_idle_hours", f"it is more than session_hours ({self.session_hours})")
        if self.samples_minute_days * 24 <= self.samples_raw_hours:
            raise _conflict("samples_minute_days", f"it is not longer than {self.samples_raw_hours} hours")
        if self.samples_hour_days < self.samples_minute_days:
            raise _conflict("samples_hour_days", f"it is less than {self.samples_minute_days}")
        if self.samples_day_days < self.samples_hour_days:
            raise _conflict("samples_day_days", f"it is less than {self.samples_hour_days}")
        if self.tls_certificate and not self.tls_key:
            raise _conflict("tls_key", "tls_certificate is set, and a certificate needs its private key")
        if self.tls_key and not self.tls_certificate:
            raise _conflict("tls_certificate", "tls_key is set, and a key needs its certificate")
        if not self.is_loopback and not self.is_tls:
            raise _conflict("host", _PUBLIC_WITHOUT_TLS.format(port=self.port))
        if self.serves_tls and self._is_wildcard and not (self.host_names or self.behind_proxy):
            raise _conflict("host_names", "Corral listens on all interfaces and cannot know its name")
        return self

    @property
    def _is_wildcard(self) -> bool:
        address = _address(self.host)
        return address is not None and address.is_unspecified

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the port."""
        address = _address(self.host)
        if address is not None:
            return address.is_loopback
        return self.host == "localhost" or self.host.endswith(".localhost")

    @property
    def serves_tls(self) -> bool:
        """Whether Corral itself ends TLS, with its own certificate."""
        return self.tls_certificate is not None

    @property
    def is_tls(self) -> bool:
        """Whether browsers reach Corral over https: decides cookie names and flags."""
        return self.serves_tls or bool(self.behind_proxy)

    @property
    def public_url(self) -> str:
        """The address people open, without a trailing slash."""
        if self.behind_proxy:
            return self.behind_proxy
        if self.serves_tls:
            port = "" if self.port == 443 else f":{self.port}"
            return f"https://{_in_url(self.host_names[0] if self.host_names else self.host)}{port}"
        return f"http://{_in_url(self.host)}:{self.port}"

    @property
    def local_url(self) -> str:
        """The address for programs on this machine, past any proxy."""
        if self.serves_tls:
            return self.public_url
        host = "127.0.0.1" if self._is_wildcard else self.host
        return f"http://{_in_url(host)}:{self.port}"

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        """Names a request's Host header may carry (without port), lower case; all else is refused."""
        names = ["localhost", "127.0.0.1", "::1"]
        if not self._is_wildcard:
            names.append(self.host)
        if self.behind_proxy:
            names.append(urlsplit(self.behind_proxy).hostname or "")
        return tuple(dict.fromkeys([*names, *self.host_names]))

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

    def shown(self, key: str) -> object:
        """The value as it may be shown: JSON-ready, secrets masked."""
        value = getattr(self, key)
        if key == "database_url":
            return mask_database_url(value)
        if isinstance(value, Path):
            return str(value)
        return list(value) if isinstance(value, tuple) else value


_PUBLIC_WITHOUT_TLS = (
    "other machines could reach this address, and without TLS they could read passwords on the way. "
    "Give tls_certificate and tls_key, or behind_proxy = https://<name> when a proxy ends TLS. "
    "Without either, stay on 127.0.0.1 and use an SSH tunnel from the other machine: "
    "ssh -L {port}:127.0.0.1:{port} <user>@<this machine>, then open http://127.0.0.1:{port} there"
)


def mask_database_url(url: str) -> str:
    """The URL with its password, if any, replaced."""
    masked = re.sub(r"(?i)([?&]password=)[^&]*", rf"\g<1>{MASK}", url)
    scheme, separator, rest = masked.partition("://")
    credentials, at, place = rest.rpartition("@")
    if not at or ":" not in credentials:
        return masked
    return f"{scheme}{separator}{credentials.partition(':')[0]}:{MASK}@{place}"


def _conflict(field: str, why: str) -> PydanticCustomError:
    return PydanticCustomError("conflict", "{why}", {"why": why, "field": field})


def _absolute(path: Path) -> Path:
    return Path.cwd() / path.expanduser()


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _split_url(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it is what checks it
    except ValueError:
        return None
    return parts
