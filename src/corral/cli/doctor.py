"""`corral doctor`: what this machine has, what is missing, how to get it."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from corral.cli.checks import Check, development_checks, machine_checks, settings_checks
from corral.cli.frame import Json, new_app
from corral.cli.output import print_json, print_table, say
from corral.server.settings_sources import SettingsError, load_settings

app = new_app()


@app.command()
def doctor(
    home: Annotated[str | None, typer.Option(metavar="DIRECTORY", help="Data directory.")] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="Settings file.")] = None,
    as_json: Json = False,
) -> None:
    """Check what this machine has, what is missing, and how to get it. Exit code 1 if Corral cannot run."""
    sections = {
        "This machine": list(machine_checks()),
        "Settings and places": _configured({"home": home} if home else {}, config),
        "Only for building and testing Corral": list(development_checks()),
    }
    missing = [each.name for listed in sections.values() for each in listed if each.state == "missing"]
    if as_json:
        checks = [{"section": title, **asdict(each)} for title, listed in sections.items() for each in listed]
        print_json({"can_run": not missing, "checks": checks})
    else:
        for title, listed in sections.items():
            _print_section(title, listed)
        say(f"Corral cannot run: {', '.join(missing)}." if missing else "Corral can run on this machine.")
    if missing:
        raise typer.Exit(1)


def _print_section(title: str, checks: list[Check]) -> None:
    say(title)
    columns: tuple[str, ...] = ("  Check", "State", "Found", "Remedy")
    if not any(check.remedy for check in checks):
        columns = columns[:-1]
    rows = [(f"  {check.name}", check.state, check.found, check.remedy)[: len(columns)] for check in checks]
    print_table(columns, rows, empty="")
    say("")


def _configured(flags: dict[str, str], config: Path | None) -> list[Check]:
    try:
        settings = load_settings(flags, os.environ, config).settings
    except SettingsError as error:
        remedy = "docs/configuration.md describes every setting."
        return [Check("Settings", "missing", str(problem), remedy) for problem in error.problems]
    return list(settings_checks(settings))
