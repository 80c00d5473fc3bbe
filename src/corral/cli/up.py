"""`corral up`: checks the settings, makes the data directory, and becomes the parent process."""

import os
import shlex
import shutil
import stat
import sys
from pathlib import Path
from typing import Annotated

import typer

from corral.cli.frame import new_app
from corral.cli.refusals import CommandError
from corral.server.handover import hand_over
from corral.server.settings_sources import default_home, load_settings

app = new_app()


def _flag(about: str, metavar: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(help=about, metavar=metavar, show_default=False)
    return option


@app.command()
def up(
    home: Annotated[str | None, _flag("Data directory.", "DIRECTORY")] = None,
    host: Annotated[str | None, _flag("Address to listen on (127.0.0.1).", "ADDRESS")] = None,
    port: Annotated[str | None, _flag("Port of console and API (8710).", "NUMBER")] = None,
    apps_port: Annotated[str | None, _flag("Port of apps (8711; 0: any free one).", "NUMBER")] = None,
    apps_domain: Annotated[str | None, _flag("Domain below which apps have names.", "NAME")] = None,
    config: Annotated[Path | None, _flag("Settings file instead of corral.toml in home.", "FILE")] = None,
    database_url: Annotated[str | None, _flag("PostgreSQL or SQLite; empty: SQLite in home.", "URL")] = None,
    tls_certificate: Annotated[str | None, _flag("Certificate chain, to serve HTTPS.", "FILE")] = None,
    tls_key: Annotated[str | None, _flag("Private key of the certificate.", "FILE")] = None,
    behind_proxy: Annotated[str | None, _flag("Public address when a proxy ends TLS.", "HTTPS-URL")] = None,
    trusted_proxies: Annotated[str | None, _flag("Whose X-Forwarded-* to believe.", "NETWORKS")] = None,
    host_names: Annotated[str | None, _flag("Further names browsers may use.", "NAMES")] = None,
    internal_url: Annotated[str | None, _flag("Where other hosts reach this one.", "URL")] = None,
    internal_ca: Annotated[str | None, _flag("Authority of the other hosts' certificates.", "FILE")] = None,
    log_level: Annotated[str | None, _flag("debug, info, warning or error.", "LEVEL")] = None,
    log_format: Annotated[str | None, _flag("text or json.", "FORMAT")] = None,
    log_to: Annotated[str | None, _flag("file (in the data directory) or terminal.", "PLACE")] = None,
    session_hours: Annotated[str | None, _flag("Longest life of a session.", "HOURS")] = None,
    session_idle_hours: Annotated[str | None, _flag("Longest rest of a session.", "HOURS")] = None,
    login_link_minutes: Annotated[str | None, _flag("Life of a login link.", "MINUTES")] = None,
    connections: Annotated[str | None, _flag("Most open connections (2000).", "NUMBER")] = None,
    connections_per_address: Annotated[
        str | None, _flag("The same from one address (500).", "NUMBER")
    ] = None,
    header_seconds: Annotated[str | None, _flag("Time to send a request's header (20).", "SECONDS")] = None,
    stalled_seconds: Annotated[str | None, _flag("Time in which nothing moves (30).", "SECONDS")] = None,
    token_max_days: Annotated[str | None, _flag("Longest life of an access token.", "DAYS")] = None,
    samples_raw_hours: Annotated[str | None, _flag("How long single samples are kept.", "HOURS")] = None,
    samples_minute_days: Annotated[str | None, _flag("The same of samples by the minute.", "DAYS")] = None,
    samples_hour_days: Annotated[str | None, _flag("The same of samples by the hour.", "DAYS")] = None,
    samples_day_days: Annotated[str | None, _flag("The same of samples by the day.", "DAYS")] = None,
    samples_workload_days: Annotated[str | None, _flag("The same of samples of a workload.", "DAYS")] = None,
    ended_work_days: Annotated[
        str | None, _flag("Ended work is deleted after so many days (365; 0: never).", "DAYS")
    ] = None,
    deleted_work_days: Annotated[
        str | None, _flag("Records of deleted work are kept so long (30).", "DAYS")
    ] = None,
    history_days: Annotated[
        str | None,
        _flag("Days that recorded history is kept (0: for ever).", "DAYS"),
    ] = None,
    max_workloads_per_user: Annotated[str | None, _flag("Most workloads of one person.", "NUMBER")] = None,
    max_tokens_per_user: Annotated[str | None, _flag("Most access tokens.", "NUMBER")] = None,
    max_ssh_keys_per_user: Annotated[str | None, _flag("Most SSH keys.", "NUMBER")] = None,
    max_sessions_per_user: Annotated[str | None, _flag("Most login sessions.", "NUMBER")] = None,
    max_open_invitations_per_user: Annotated[str | None, _flag("Most open invitations.", "NUMBER")] = None,
    max_changes_per_user_and_hour: Annotated[str | None, _flag("Most changes in an hour.", "NUMBER")] = None,
    max_kept_answers_per_user: Annotated[str | None, _flag("Most kept answers.", "NUMBER")] = None,
    max_uploads_per_user: Annotated[str | None, _flag("Most uploads.", "NUMBER")] = None,
    max_runtimes_per_user: Annotated[str | None, _flag("Most runtimes.", "NUMBER")] = None,
    max_secrets_per_user: Annotated[str | None, _flag("Most secrets.", "NUMBER")] = None,
    max_metric_series_per_user: Annotated[str | None, _flag("Most metric series.", "NUMBER")] = None,
    max_metric_points_per_user: Annotated[str | None, _flag("Most metric points.", "NUMBER")] = None,
    package_index: Annotated[str | None, _flag("Where runtimes are built from (PyPI).", "URL")] = None,
    zone_move_seconds: Annotated[
        str | None, _flag("Wait before queued work may change its zone (30; 0: never).", "SECONDS")
    ] = None,
    upload_mib: Annotated[str | None, _flag("Largest working directory, packed (512).", "MIB")] = None,
    home_mib: Annotated[str | None, _flag("How much a home may hold (51200).", "MIB")] = None,
    workspace_files: Annotated[str | None, _flag("Files in one workspace (1000000).", "NUMBER")] = None,
    person_mib: Annotated[str | None, _flag("All workspaces of a person (204800).", "MIB")] = None,
    person_files: Annotated[str | None, _flag("Files in them (5000000).", "NUMBER")] = None,
    first_uid: Annotated[str | None, _flag("The first uid of people's work (200000).", "UID")] = None,
    allowed_networks: Annotated[str | None, _flag("Private networks for work.", "NETWORKS")] = None,
    simulated_gpus: Annotated[str | None, _flag("GPUs to simulate, e.g. 8xH100-80GB.", "LIST")] = None,
    trusted: Annotated[str | None, _flag("Run work without isolation (true).", "BOOLEAN")] = None,
) -> None:
    """Start Corral on this machine: console, API and everything behind them.

    Every flag can also stand in corral.toml or in a CORRAL_* variable; corral config show lists them.
    """
    given = {key: value for key, value in locals().items() if value is not None and key != "config"}
    settings = load_settings(given, os.environ, config).settings
    # Whatever Corral writes is for the user who runs it alone.
    os.umask(0o077)
    _prepare_home(settings.home)
    descriptor = hand_over(settings, _in_another_terminal(settings.home))
    sys.stdout.flush()
    command = [sys.executable, "-I", "-m", "corral.server.parent", "--settings-fd", str(descriptor)]
    os.execv(sys.executable, command)  # noqa: S606 - our own interpreter and module


def _in_another_terminal(home: Path) -> str:
    """How to call this very command for this Corral from anywhere on the machine."""
    program = Path(sys.argv[0]).absolute()
    found = shutil.which("corral")
    words = (
        "corral"
        if found is not None and Path(found).resolve() == program.resolve()
        else shlex.quote(str(program))
    )
    is_usual = home == default_home(os.environ)
    return words if is_usual else f"CORRAL_HOME={shlex.quote(str(home))} {words}"


def _prepare_home(home: Path) -> None:
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise CommandError(f"{home} is no directory.", remedy="Choose another with --home.") from None
    except OSError as error:
        raise CommandError(
            f"The data directory {home} cannot be made: {error.strerror}.",
            remedy="Choose one that you can write with --home or CORRAL_HOME.",
        ) from None
    if not os.access(home, os.W_OK | os.X_OK):
        raise CommandError(
            f"You may not write into the data directory {home}.", remedy="Choose another with --home."
        )
    if home.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CommandError(
            f"Other users may write into the data directory {home}.",
            "It will hold passwords and keys.",
            f"Close it (chmod 700 {home}), or choose another with --home.",
        )
