"""Errors on the terminal: what is wrong, why, and what to do; as JSON when the command was asked for JSON."""

import json
import sys
from collections.abc import Sequence
from typing import Any

__all__ = ["CommandError", "explain"]


class CommandError(Exception):
    """A command cannot do what was asked. `remedy` says what would help."""

    def __init__(self, title: str, detail: str = "", remedy: str = "") -> None:
        super().__init__(title)
        self.title = title
        self.detail = detail
        self.remedy = remedy


def explain(error: Exception, *, as_json: bool) -> bool:
    """Prints an error that a person can act on; False when it is none of those and must be raised on."""
    described = _describe(error)
    if described is None:
        return False
    if as_json:
        print(json.dumps(described, indent=2, ensure_ascii=False), file=sys.stderr)
    else:
        print("\n".join(_lines(described)), file=sys.stderr)
    return True


def _describe(error: Exception) -> dict[str, Any] | None:
    if isinstance(error, CommandError):
        return _described(error.title, error.detail, error.remedy)
    # By name, so that a failing command does not import what it did not use.
    kind = type(error).__module__, type(error).__name__
    if kind == ("corral.server.settings_sources", "SettingsError"):
        return _settings(error)
    if kind[0].startswith("corral_sdk."):
        return _from_api(error)
    return None


def _described(title: str, detail: str, remedy: str, errors: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    return {"title": title, "detail": detail, "remedy": remedy, "errors": list(errors)}


def _settings(error: Any) -> dict[str, Any]:
    errors = [
        {
            "field": problem.key,
            "value": problem.value,
            "origin": problem.origin,
            "message": str(problem),
            "remedy": f"Allowed: {problem.allowed}." if problem.allowed else "",
        }
        for problem in error.problems
    ]
    return _described(
        "The settings cannot be used.", "", "docs/configuration.md describes every setting.", errors
    )


def _from_api(error: Any) -> dict[str, Any] | None:
    if not hasattr(error, "remedy"):
        return None
    if hasattr(error, "document"):
        return {"errors": [], **error.document}
    return _described(error.title, error.detail, error.remedy)


def _lines(described: dict[str, Any]) -> list[str]:
    red, reset = ("\033[1;31m", "\033[0m") if sys.stderr.isatty() else ("", "")
    lines = [f"{red}{described['title']}{reset}"]
    if described["detail"]:
        lines.append(f"  {described['detail']}")
    said = {described["detail"], described["remedy"]}
    for each in described["errors"]:
        field = each["field"].removeprefix("body.").removeprefix("query.")
        where = "" if each["message"].startswith(each["field"]) else f"{field}: "
        if each["message"] not in said:
            lines.append(f"  {where}{each['message']}")
        if each.get("remedy") and each["remedy"] not in said and each["remedy"] not in each["message"]:
            lines.append(f"    {each['remedy']}")
    if described["remedy"]:
        lines.append(f"  {described['remedy']}")
    if "tries_left" in described:
        lines.append(f"  Tries left: {described['tries_left']}.")
    if described.get("status", 0) >= 500 and described.get("request_id"):
        lines.append(f"  Request id: {described['request_id']}")
    return lines
