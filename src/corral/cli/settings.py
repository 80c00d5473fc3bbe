"""`corral settings`: what an administrator changes while Corral runs."""

import sys
from typing import Annotated

import typer
from corral_sdk import encode
from corral_sdk.models import MailSettings

from corral.cli.connection import connect, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.names import find_organisation
from corral.cli.output import note, print_facts, print_json, print_table, say

app = new_app(help="Manage mail, sign-up and the first-day checklist.")
mail = new_app(help="Show, change and test the outgoing mail server.")
registration = new_app(help="Show and change whether people may sign up.")
app.add_typer(mail, name="mail")
app.add_typer(registration, name="registration")


@app.command()
def checklist(as_json: Json = False) -> None:
    """Show the first-day checklist."""
    found = connect().system.checklist()
    if as_json:
        print_json(encode(found))
        return
    rows = ((each.key.replace("_", " "), "done" if each.done else "open", each.count) for each in found.items)
    print_table(("Step", "State", "Count"), rows, empty="Nothing is left to do.")
    note(f"{found.done} of {found.total} done.")


@app.command()
def system(as_json: Json = False) -> None:
    """Show the installation: version, database, machine, GPUs."""
    found = connect().system.get()
    if as_json:
        print_json(encode(found))
        return
    machine = found.machine
    gpus = [f"{gpu.model}, {gpu.memory_mib} MiB" for gpu in machine.gpus]
    print_facts(
        {
            "Version": found.version,
            "Database": found.database,
            "Since": shown_time(found.started_at),
            "Machine": f"{machine.host_name}, {machine.operating_system}, {machine.architecture}",
            "CPU": f"{machine.cpu_count} x {machine.cpu_model}",
            "Memory": f"{machine.memory_mib / 1024:.1f} GiB",
            "GPUs": "\n".join(gpus) or "none: simulated",
            "GPU driver": machine.gpu_driver,
            "GPU note": machine.gpu_note,
        }
    )


@mail.command("show")
def show_mail(as_json: Json = False) -> None:
    """Show the mail server. Its password is never shown."""
    _print_mail(connect().settings.mail(), as_json)


def _print_mail(found: MailSettings, as_json: bool) -> None:
    if as_json:
        print_json(encode(found))
    elif found.host is None:
        say("No mail server is set: nothing is sent. Invitations work by link.")
    else:
        print_facts(
            {
                "Server": f"{found.host}, port {found.port}, {found.encryption}",
                "User name": found.user_name,
                "Password": "stored" if found.password_set else "none",
                "Sender": found.sender,
                "Last test": shown_time(found.tested_at) or "never",
            }
        )


@mail.command("edit")
def edit_mail(
    host: Annotated[str | None, typer.Option(help="Mail server; empty to send no mail.")] = None,
    port: Annotated[int | None, typer.Option(help="Its port.")] = None,
    encryption: Annotated[str | None, typer.Option(help="starttls, tls or none.")] = None,
    user_name: Annotated[str | None, typer.Option(help="Name to sign in with; empty for none.")] = None,
    sender: Annotated[str | None, typer.Option(help="Sender address.")] = None,
    password_stdin: Annotated[
        bool,
        typer.Option("--password-stdin", help="Read the password from standard input; empty removes it."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Change the mail server. Options you leave out stay as they are."""
    client = connect()
    now = client.settings.mail()
    changed = client.settings.set_mail(
        host=now.host if host is None else host or None,
        port=now.port if port is None else port,
        encryption=now.encryption if encryption is None else encryption,
        user_name=now.user_name if user_name is None else user_name or None,
        password=sys.stdin.readline().rstrip("\n") if password_stdin else None,
        sender=now.sender if sender is None else sender or None,
        generation=now.generation,
    )
    _print_mail(changed, as_json)


@mail.command("test")
def send_test_mail(
    to: Annotated[str, typer.Argument(metavar="ADDRESS", help="Where to send a test mail.")],
    as_json: Json = False,
) -> None:
    """Send a test mail now."""
    tested = connect().settings.test_mail(to)
    if as_json:
        print_json(encode(tested))
    else:
        say(f"The mail server took the test mail to {tested.to}.")


@registration.command("show")
def show_registration(as_json: Json = False) -> None:
    """Show whether people may sign up."""
    client = connect()
    found = client.settings.registration()
    if as_json:
        print_json(encode(found))
        return
    where = client.organisations.get(found.organisation_id).name
    say(
        f"People may sign up. They belong to {where} and wait for approval."
        if found.sign_up
        else "People cannot sign up; they are invited, imported or created."
    )


@registration.command("edit")
def edit_registration(
    sign_up: Annotated[
        bool, typer.Option("--sign-up/--no-sign-up", help="Show and change whether people may sign up.")
    ],
    org: Annotated[
        str | None, typer.Option(metavar="ORG", help="Organisation they join. [unchanged]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Allow or forbid sign-up. New accounts wait for approval: corral user enable."""
    client = connect()
    now = client.settings.registration()
    changed = client.settings.set_registration(
        sign_up=sign_up,
        organisation_id=find_organisation(client, org).id if org else now.organisation_id,
        generation=now.generation,
    )
    if as_json:
        print_json(encode(changed))
    else:
        say("People may sign up and wait for approval." if changed.sign_up else "People cannot sign up.")
