"""`corral doctor`: what this machine has, what is missing, how to get it."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from corral.cli.check import Check
from corral.cli.checks import development_checks, machine_checks, settings_checks
from corral.cli.frame import Json, new_app
from corral.cli.output import print_json, print_table, say
from corral.cli.running_checks import running_checks
from corral.server.settings_sources import SettingsError, load_settings
from corral.store.database import Database, Transaction

app = new_app()

T = TypeVar("T")


@app.command()
def doctor(
    home: Annotated[str | None, typer.Option(metavar="DIRECTORY", help="Data directory.")] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="Settings file.")] = None,
    invariants: Annotated[
        bool, typer.Option("--invariants", help="Check the invariants of the database.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check this machine: what works, what is missing, how to fix it. Exit code 1 if Corral cannot run."""
    if invariants:
        _check_invariants({"home": home} if home else {}, config, as_json=as_json)
        return
    sections = {
        "This machine": list(machine_checks()),
        "Settings and files": _configured({"home": home} if home else {}, config),
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


def _check_invariants(flags: dict[str, str], config: Path | None, *, as_json: bool) -> None:
    from corral.control.invariants import check_invariants

    settings = load_settings(flags, os.environ, config).settings
    found = asyncio.run(_on_database(settings.database_url_resolved, check_invariants))
    broken = [one for one in found if one.broken]
    if as_json:
        print_json({"holds": not broken, "invariants": [asdict(one) for one in found]})
    else:
        rows = [(one.name, one.checked, "broken" if one.broken else "holds") for one in found]
        print_table(("Invariant", "Checked", "State"), rows, empty="")
        for one in broken:
            for sentence in one.broken:
                say(f"{one.name}: {sentence}")
    if broken:
        raise typer.Exit(1)


async def _on_database(url: str, work: Callable[[Transaction], T]) -> T:
    database = Database(url)
    try:
        return await database.scan(work)
    finally:
        await database.close()


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
    return [*settings_checks(settings), *running_checks(settings)]
