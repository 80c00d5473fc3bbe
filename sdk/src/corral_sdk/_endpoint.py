"""Which Corral to talk to, and as whom: given, from the environment, on this machine, or a saved login."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from corral_sdk._problems import NotConfiguredError

__all__ = ["Endpoint", "SavedLogin", "find_endpoint", "forget_login", "save_login", "saved_logins"]


@dataclass(frozen=True)
class Endpoint:
    """An address, a token (None: not signed in) and, for people, where the two were found."""

    url: str
    token: str | None = field(repr=False)
    source: str
    ca_file: str | None = None  # trusted beside the machine's own authorities


@dataclass(frozen=True)
class SavedLogin:
    """A sign-in that `corral login` keeps for one address."""

    url: str
    name: str
    token_id: str
    token: str = field(repr=False)
    ca_file: str | None = None


def find_endpoint(
    url: str | None = None, token: str | None = None, environ: Mapping[str, str] | None = None
) -> Endpoint:
    """The first of: what is given; CORRAL_URL and CORRAL_TOKEN; the Corral whose data directory CORRAL_HOME
    names; the last saved login; the Corral that this user runs in the default data directory.

    A token is only ever sent to the address it belongs to. CORRAL_CA_FILE comes before the authority that is
    saved with a login, and before the certificate of a Corral on this machine.
    """
    environ = os.environ if environ is None else environ
    secret = token or environ.get("CORRAL_TOKEN")
    named = (url or environ.get("CORRAL_URL") or "").rstrip("/")
    if named and secret:
        found = Endpoint(named, secret, "")  # all is said: a workload may have no home to look into
    elif named:
        found = _known(named, environ)
    else:
        found = _last_or_local(environ)
        if secret:
            found = replace(found, token=secret, source=f"CORRAL_TOKEN, {found.source}")
    if named:
        found = replace(found, source="given" if url else "CORRAL_URL")
    return replace(found, ca_file=environ.get("CORRAL_CA_FILE") or found.ca_file)


def find_token(
    address: str, url: str | None = None, token: str | None = None, environ: Mapping[str, str] | None = None
) -> str | None:
    """The token for this address as it is known now: a Corral that starts again makes a new local one."""
    try:
        found = find_endpoint(url, token, environ)
    except NotConfiguredError:
        return None
    return found.token if found.url == address else None


def saved_logins(environ: Mapping[str, str] | None = None) -> list[SavedLogin]:
    """Every saved login, the last one first."""
    path = credentials_path(os.environ if environ is None else environ)
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["logins"]
        return [SavedLogin(**entry) for entry in entries]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotConfiguredError(
            f"The saved logins in {path} cannot be read.",
            f"{error}.",
            "Remove the file and run: corral login",
        ) from None


def save_login(login: SavedLogin, environ: Mapping[str, str] | None = None) -> Path:
    """Keeps a login as the last one, readable by this user alone."""
    environ = os.environ if environ is None else environ
    others = [each for each in saved_logins(environ) if each.url != login.url]
    return _write_logins([login, *others], environ)


def forget_login(url: str, environ: Mapping[str, str] | None = None) -> None:
    """Removes the saved login of an address, if there is one."""
    environ = os.environ if environ is None else environ
    kept = [each for each in saved_logins(environ) if each.url != url]
    _write_logins(kept, environ)


def credentials_path(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_CONFIG_HOME", "")
    root = Path(base) if base.startswith("/") else Path(environ.get("HOME") or Path.home()) / ".config"
    return root / "corral" / "credentials.json"


def _write_logins(logins: list[SavedLogin], environ: Mapping[str, str]) -> Path:
    path = credentials_path(environ)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump({"logins": [asdict(each) for each in logins]}, file, indent=2)
    new.replace(path)
    return path


def _known(url: str, environ: Mapping[str, str]) -> Endpoint:
    """What belongs to an address: its saved login, or the local token if that Corral runs here."""
    for login in saved_logins(environ):
        if login.url == url:
            return Endpoint(url, login.token, "", login.ca_file)
    home = _named_home(environ) or _default_home(environ)
    running = _endpoints(home)
    if running and url in (running["console"], _api_root(running)):
        return replace(_local(home), url=url)
    return Endpoint(url, None, "")


def _last_or_local(environ: Mapping[str, str]) -> Endpoint:
    home = _named_home(environ)
    if home is not None:
        return _local(home)
    last = next(iter(saved_logins(environ)), None)
    if last is not None:
        return Endpoint(last.url, last.token, f"saved login ({credentials_path(environ)})", last.ca_file)
    return _local(_default_home(environ))


def _local(home: Path) -> Endpoint:
    running = _endpoints(home)
    if running is None:
        raise NotConfiguredError(
            "No Corral is known here.",
            f"None runs in {home}.",
            "Start one (corral up), or sign in to one elsewhere (corral login --url https://…).",
        )
    return Endpoint(_api_root(running), _local_token(home), str(home), running.get("certificate"))


def _endpoints(home: Path) -> dict[str, Any] | None:
    try:
        endpoints = json.loads((home / "endpoints.json").read_text(encoding="utf-8"))
        if not isinstance(endpoints, dict) or not _is_alive(int(endpoints["pid"])):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return endpoints


def _api_root(endpoints: Mapping[str, Any]) -> str:
    return str(endpoints["api"]).removesuffix("/api/v1")


def _local_token(home: Path) -> str | None:
    try:
        return (home / "local-token").read_text(encoding="ascii").strip() or None
    except OSError:
        return None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _named_home(environ: Mapping[str, str]) -> Path | None:
    return Path(environ["CORRAL_HOME"]) if environ.get("CORRAL_HOME") else None


def _default_home(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_DATA_HOME", "")
    if base.startswith("/"):
        return Path(base) / "corral"
    return Path(environ.get("HOME") or Path.home()) / ".local" / "share" / "corral"
