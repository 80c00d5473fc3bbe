"""Reads the settings (defaults, corral.toml, CORRAL_*, flags) and remembers where each came from."""

import difflib
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from corral.server.settings import Settings, mask_database_url

__all__ = ["LoadedSettings", "Origin", "SettingProblem", "SettingsError", "default_home", "load_settings"]

FILE_NAME = "corral.toml"
_PATH_KEYS = ("home", "tls_certificate", "tls_key", "internal_ca")

# Names with our prefix that are no settings: the client's, the file's place, the test suite's, and what
# Kubernetes puts into every container that lives beside a service named `corral`.
_OTHER_VARIABLES = re.compile(r"CORRAL_(URL|TOKEN|CA_FILE|CACHE|CONFIG|TEST_.*|SERVICE_.*|PORT_\d.*)")


@dataclass(frozen=True)
class Origin:
    """Where a value came from: kind is default, file, environment or flag; text is for people."""

    kind: str
    text: str


_DEFAULT = Origin("default", "the default")


@dataclass(frozen=True)
class LoadedSettings:
    settings: Settings
    origins: Mapping[str, Origin]
    file: Path | None


@dataclass(frozen=True)
class SettingProblem:
    """One value that cannot be used, with all that is needed to put it right."""

    key: str
    value: str | None
    origin: str
    reason: str
    allowed: str

    def __str__(self) -> str:
        shown = "" if self.value is None else f" = {self.value!r}"
        allowed = f" Allowed: {self.allowed}." if self.allowed else ""
        return f"{self.key}{shown} (from {self.origin}): {self.reason}.{allowed}"


class SettingsError(Exception):
    """The settings cannot be used; every problem found is in `problems`."""

    def __init__(self, problems: tuple[SettingProblem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


@dataclass(frozen=True)
class _Given:
    value: object
    origin: Origin


def default_home(environ: Mapping[str, str]) -> Path:
    """The data directory when nothing names one."""
    base = environ.get("XDG_DATA_HOME", "")
    # The XDG rules say that a relative value is to be ignored.
    if base.startswith("/"):
        return Path(base) / "corral"
    return Path(environ.get("HOME") or Path.home()) / ".local" / "share" / "corral"


def load_settings(
    flags: Mapping[str, str], environ: Mapping[str, str], config: Path | None = None
) -> LoadedSettings:
    """Reads and checks all sources. `flags` maps setting keys to what was given; `config` is --config."""
    from_flags = _flags(flags)
    from_environment = _environment(environ)
    if config is None and environ.get("CORRAL_CONFIG"):
        config = Path(environ["CORRAL_CONFIG"])
    named_home = from_flags.get("home") or from_environment.get("home")
    home = named_home or _Given(default_home(environ), _DEFAULT)

    if config is not None:
        file = config.expanduser().absolute()
        from_file = _file(file, required=True)
    else:
        file = Path(str(home.value)).expanduser().absolute() / FILE_NAME
        from_file = _file(file, required=False)
        if "home" in from_file:
            reason = "this file was found in the data directory, so it cannot move it"
            raise SettingsError((_problem("home", from_file["home"], reason),))
    given = {"home": home, **from_file, **from_environment, **from_flags}
    settings = _validated(given)
    origins = dict.fromkeys(Settings.model_fields, _DEFAULT) | {
        key: each.origin for key, each in given.items()
    }
    return LoadedSettings(settings, origins, file if file.exists() else None)


def flag_name(key: str) -> str:
    return "--" + key.replace("_", "-")


def variable_name(key: str) -> str:
    return "CORRAL_" + key.upper()


def allowed_values(key: str) -> str:
    extra = Settings.model_fields[key].json_schema_extra
    return str(extra["allowed"]) if isinstance(extra, dict) else ""


def _flags(flags: Mapping[str, str]) -> dict[str, _Given]:
    for key in flags:
        if key not in Settings.model_fields:
            raise SettingsError((_unknown(key, flags[key], f"the flag {flag_name(key)}"),))
    given = {key: _Given(value, Origin("flag", f"the flag {flag_name(key)}")) for key, value in flags.items()}
    url = flags.get("database_url", "")
    if mask_database_url(url) != url:
        reason = (
            "a password in a flag is visible to every user of this machine: "
            "put it into corral.toml (mode 0600) or CORRAL_DATABASE_URL"
        )
        raise SettingsError((_problem("database_url", given["database_url"], reason),))
    return given


def _environment(environ: Mapping[str, str]) -> dict[str, _Given]:
    keys = {variable_name(key): key for key in Settings.model_fields}
    given: dict[str, _Given] = {}
    problems: list[SettingProblem] = []
    for name, value in sorted(environ.items()):
        if name in keys:
            # An empty variable means "not set", except where empty is a value of its own.
            if value or not Settings.model_fields[keys[name]].default:
                given[keys[name]] = _Given(value, Origin("environment", name))
        elif name.startswith("CORRAL_") and not _OTHER_VARIABLES.fullmatch(name):
            problems.append(_unknown(name, None, "the environment", list(keys)))
    if problems:
        raise SettingsError(tuple(problems))
    return given


def _file(path: Path, *, required: bool) -> dict[str, _Given]:
    found_by = "--config or CORRAL_CONFIG" if required else "the data directory"
    try:
        text = path.read_text(encoding="utf-8")
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        if not required:
            return {}
        raise _file_problem(path, found_by, "there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise _file_problem(path, found_by, f"it cannot be read: {error}") from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _file_problem(path, found_by, f"it is not valid TOML: {error}") from None

    given: dict[str, _Given] = {}
    problems: list[SettingProblem] = []
    for key, value in values.items():
        line = _line_of(text, key)
        origin = Origin("file", f"{path}, line {line}" if line else str(path))
        if key not in Settings.model_fields:
            problems.append(_unknown(key, value, origin.text))
            continue
        if key in _PATH_KEYS and isinstance(value, str) and value:
            value = str(path.parent / Path(value).expanduser())
        given[key] = _Given(value, origin)
    if problems:
        raise SettingsError(tuple(problems))
    url = str(given["database_url"].value) if "database_url" in given else ""
    if mask_database_url(url) != url and mode & (stat.S_IRWXG | stat.S_IRWXO):
        reason = f"other users can read the password in this file: chmod 600 {path}"
        raise SettingsError((_problem("database_url", given["database_url"], reason),))
    return given


def _line_of(text: str, key: str) -> int | None:
    pattern = re.compile(rf"""\s*(\[\s*)?["']?{re.escape(key)}["']?\s*[=.\]]""")
    return next((number for number, line in enumerate(text.splitlines(), 1) if pattern.match(line)), None)


def _validated(given: Mapping[str, _Given]) -> Settings:
    values: dict[str, Any] = {key: value.value for key, value in given.items()}
    try:
        return Settings(**values)
    except ValidationError as error:
        problems = tuple(_from_pydantic(detail, given) for detail in error.errors())
    raise SettingsError(problems)


def _from_pydantic(detail: ErrorDetails, given: Mapping[str, _Given]) -> SettingProblem:
    context = detail.get("ctx", {})
    key = str(context["field"] if detail["type"] == "conflict" else detail["loc"][0])
    own_words = {"conflict", "not_a_number", "home", "host", "database", "file", "proxy", "network"}
    reason = detail["msg"] if detail["type"] in own_words else "it is not allowed"
    default = _Given(Settings.model_fields[key].default, _DEFAULT)
    value = given.get(key, default)
    if key == "port" and str(value.value).startswith("tcp://"):
        reason = (
            "Kubernetes set it because a service is named corral: rename the service, "
            "or set enableServiceLinks: false on the pod"
        )
    return _problem(key, value, reason)


def _problem(key: str, given: _Given, reason: str) -> SettingProblem:
    value = None if given.value is None else str(given.value)
    if value is not None and key == "database_url":
        value = mask_database_url(value)
    return SettingProblem(key, value, given.origin.text, reason, allowed_values(key))


def _unknown(key: str, value: object, origin: str, names: list[str] | None = None) -> SettingProblem:
    names = names or list(Settings.model_fields)
    close = difflib.get_close_matches(key, names, n=1, cutoff=0.6)
    hint = f" (did you mean {close[0]})" if close else ""
    shown = None if value is None or isinstance(value, dict | list) else mask_database_url(str(value))
    return SettingProblem(
        key, shown, origin, f"there is no such setting{hint}", "" if close else ", ".join(names)
    )


def _file_problem(path: Path, origin: str, reason: str) -> SettingsError:
    return SettingsError((SettingProblem("config", str(path), origin, reason, ""),))
