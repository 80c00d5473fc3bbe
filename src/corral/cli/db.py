"""`corral db`: backup, restore and upgrade of the database, on the machine that has it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy import delete

from corral.cli.database_errors import explained
from corral.cli.frame import Json, Yes, confirm, new_app
from corral.cli.output import print_json, say
from corral.cli.refusals import CommandError
from corral.identity.tables import login_link, session
from corral.server.lock import HomeInUseError, lock_home
from corral.server.settings import Settings
from corral.server.settings_sources import load_settings
from corral.store import backup as backups
from corral.store.fingerprint import key_fingerprint
from corral.store.migrate import HEAD, SchemaError, with_connection
from corral.store.migrate import upgrade as upgrade_schema

app = new_app(help="Back up, restore and upgrade the database.")

# Who was signed out, or used a link, after the backup must not be able to go on as if it had not happened.
_END_SESSIONS = (str(delete(session)), str(delete(login_link)))

_Home = Annotated[str | None, typer.Option(metavar="DIRECTORY", help="Data directory.")]
_Config = Annotated[Path | None, typer.Option(metavar="FILE", help="Settings file.")]


@app.command()
def backup(
    destination: Annotated[
        Path | None,
        typer.Argument(help="File or folder to write to. [backups/ in the data directory]"),
    ] = None,
    home: _Home = None,
    config: _Config = None,
    as_json: Json = False,
) -> None:
    """Back up the database and its keys to one file. Corral can keep running."""
    settings = _settings(home, config)
    if destination is None:
        destination = settings.home / "backups"
        destination.mkdir(mode=0o700, exist_ok=True)
    with _explained(settings):
        made = backups.backup(settings.database_url_resolved, settings.home, destination.expanduser())
    size = made.stat().st_size
    if as_json:
        print_json({"file": str(made), "bytes": size})
    else:
        say(f"Wrote {made} ({size} bytes). It holds all data and the keys: keep it as safe as they are.")


@app.command()
def restore(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="Backup file.")],
    yes: Yes = False,
    home: _Home = None,
    config: _Config = None,
    as_json: Json = False,
) -> None:
    """Replace the database with a backup. Stop Corral first; the old database is kept.

    All sessions end. Tokens are as they were at the backup: one revoked since then works again.
    """
    settings = _settings(home, config, make=True)
    confirm(f"Replace the database of {settings.home} by {source}?", yes)
    with _locked(settings.home), _explained(settings):
        restored = backups.restore(
            settings.database_url_resolved, settings.home, source.expanduser(), first=_END_SESSIONS
        )
    manifest = restored.manifest
    if as_json:
        print_json(
            {
                "created_at": manifest.created_at,
                "version": manifest.version,
                "schema_revision": manifest.schema_revision,
                "upgrade_needed": restored.upgrade_needed,
                "kept": restored.kept,
                "sessions_ended": True,
            }
        )
        return
    say(f"Restored the backup of {manifest.created_at}, made by Corral {manifest.version}.")
    say("All sessions and login links have ended: everybody has to sign in again.")
    say(
        "The rest is as it was then: tokens, invitations and join codes that were revoked since, people who "
        "were disabled and roles that were taken away are valid again. Go through them."
    )
    if restored.kept:
        say(f"The old database is kept: {restored.kept}")
    if restored.upgrade_needed:
        say("Its schema is older; the next corral up or corral db upgrade brings it up to date.")


@app.command()
def upgrade(home: _Home = None, config: _Config = None, as_json: Json = False) -> None:
    """Back up the database and upgrade it to this version. corral up does the same."""
    settings = _settings(home, config, make=True)
    url = settings.database_url_resolved
    with _locked(settings.home), _explained(settings):
        saved = backups.backup_before_upgrade(url, settings.home)
        before = upgrade_schema(url)
        backups.forget_old_upgrades(settings.home)
    if as_json:
        print_json({"from": before, "to": HEAD, "backup": str(saved) if saved else None})
    elif before == HEAD:
        say(f"The database already has the schema of this version ({HEAD}).")
    else:
        say(f"Upgraded the database from {before or 'nothing'} to {HEAD}.")
        if saved:
            say(f"Backup of the old database: {saved}")


@app.command()
def forget_keys(yes: Yes = False, home: _Home = None, config: _Config = None, as_json: Json = False) -> None:
    """Let the next start use the keys that it finds, if those of the database are lost for good.

    What the lost keys sealed stays unreadable: secrets and the mail password have to be set again.
    """
    settings = _settings(home, config)
    confirm("Start with other keys, and give up what the old ones sealed?", yes)
    with _locked(settings.home), _explained(settings):
        with_connection(settings.database_url_resolved, lambda one: one.execute(delete(key_fingerprint)))
    if as_json:
        print_json({"forgotten": True})
    else:
        say("The next corral up uses the keys in the data directory, or makes new ones.")


def _settings(home: str | None, config: Path | None, *, make: bool = False) -> Settings:
    settings = load_settings({"home": home} if home else {}, os.environ, config).settings
    os.umask(0o077)
    if make:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not settings.home.is_dir():
        raise CommandError(
            f"There is no data directory {settings.home}.", remedy="Name it with --home or CORRAL_HOME."
        )
    return settings


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    try:
        descriptor = lock_home(home)
    except HomeInUseError as error:
        raise CommandError(
            f"Corral runs in {home}" + (f" (process {error.pid})." if error.pid else "."),
            remedy="Stop it first: " + (f"kill {error.pid}" if error.pid else "Ctrl-C in its terminal."),
        ) from None
    try:
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _explained(settings: Settings) -> Iterator[None]:
    try:
        with explained(settings):
            yield
    except backups.BackupError as error:
        raise CommandError(error.detail, remedy=error.remedy) from None
    except SchemaError as error:
        raise CommandError("The database cannot be upgraded.", f"{error}.") from None
