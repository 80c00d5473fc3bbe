"""Errors on the terminal: what is wrong, why, and what to do; as JSON when the command was asked for JSON."""

import sys
from collections.abc import Sequence
from typing import Any

from corral.cli.option_names import shown_field
from corral.cli.visible import json_text, plain

__all__ = ["CommandError", "UnclearError", "explain"]


# How the API begins a list of fields, which follow one by one.
INVALID = "Not valid: "


class CommandError(Exception):
    """A command cannot do what was asked. `remedy` says what would help."""

    code = 1

    def __init__(self, title: str, detail: str = "", remedy: str = "") -> None:
        super().__init__(title)
        self.title = title
        self.detail = detail
        self.remedy = remedy


class UnclearError(CommandError):
    """A name fits several things: they are listed, and none is chosen."""

    code = 2

    def __init__(self, kind: str, text: str, candidates: Sequence[str]) -> None:
        super().__init__(f"{text!r} fits more than one {kind}:", remedy="Use the id.")
        self.candidates = candidates


def explain(error: Exception, *, as_json: bool, parameters: Sequence[Any] = ()) -> bool:
    """Prints an error that a person can act on; False when it is none of those and must be raised on."""
    described = _describe(error)
    if described is None:
        return False
    if as_json:
        sys.stderr.write(json_text(_for_programs(described, parameters)) + "\n")
    else:
        sys.stderr.write("\n".join(_lines(described, parameters)) + "\n")
    return True


def _describe(error: Exception) -> dict[str, Any] | None:
    if isinstance(error, UnclearError):
        return {**_described(error.title, "", error.remedy), "candidates": list(error.candidates)}
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


def _for_programs(described: dict[str, Any], parameters: Sequence[Any]) -> dict[str, Any]:
    """The same with the option beside the API's `field`, and with options in the sentence that lists them."""
    errors = [{**each, "option": _where(each, parameters)} for each in described["errors"]]
    if not errors or not described["detail"].startswith(INVALID):
        return {**described, "errors": errors}
    options = ", ".join(dict.fromkeys(each["option"] for each in errors))
    return {
        **described,
        "detail": f"{INVALID}{options}.",
        "remedy": f"Correct {options} and run the command again.",
        "errors": errors,
    }


def _lines(described: dict[str, Any], parameters: Sequence[Any]) -> list[str]:
    red, reset = ("\033[1;31m", "\033[0m") if sys.stderr.isatty() else ("", "")
    if described["errors"] and described["detail"].startswith(INVALID):
        return _field_lines(described["errors"], parameters, red, reset)
    lines = [f"{red}{_text(described['title'])}{reset}"]
    if described["detail"]:
        lines.append(f"  {_text(described['detail'])}")
    lines += [f"    {plain(each)}" for each in described.get("candidates", ())]
    said = {described["detail"], described["remedy"]}
    for each in described["errors"]:
        where = "" if each["message"].startswith(each["field"]) else f"{_where(each, parameters)}: "
        if each["message"] not in said:
            lines.append(_text(f"  {where}{each['message']}"))
        if each.get("remedy") and each["remedy"] not in said and each["remedy"] not in each["message"]:
            lines.append(_text(f"    {each['remedy']}"))
    if described["remedy"]:
        lines.append(f"  {_text(described['remedy'])}")
    if "tries_left" in described:
        lines.append(_text(f"  Tries left: {described['tries_left']}."))
    if described.get("status", 0) >= 500 and described.get("request_id"):
        lines.append(_text(f"  Request id: {described['request_id']}"))
    return lines


def _field_lines(errors: Sequence[Any], parameters: Sequence[Any], red: str, reset: str) -> list[str]:
    """What was typed wrong, option by option."""
    said = []
    for each in errors:
        line = f"{red}{plain(_where(each, parameters))}{reset}: {_text(each['message'])}"
        if each.get("remedy") and each["remedy"] not in each["message"]:
            line += f"\n  {_text(each['remedy'])}"
        said.append(line)
    return list(dict.fromkeys(said))  # of a list, several may have the same fault


def _where(error: Any, parameters: Sequence[Any]) -> str:
    return shown_field(error["field"], parameters) if "." in error["field"] else str(error["field"])


def _text(text: object) -> str:
    """Several lines stay below their first, so that none looks like one of ours."""
    return plain(str(text), lines=True).replace("\n", "\n    ")
