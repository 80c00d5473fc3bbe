"""`corral flavor`: bundles that work can choose from."""

from typing import Annotated, Any

import typer
from corral_sdk import Client, encode
from corral_sdk.models import Flavor

from corral.cli.connection import ask_name, connect
from corral.cli.frame import Json, Yes, new_app, require_change
from corral.cli.names import find_organisation, one_of
from corral.cli.output import print_facts, print_json, print_table, say, warn
from corral.cli.quantities import shown, shown_gpu
from corral.cli.refusals import CommandError

app = new_app(help="Manage flavors: bundles of CPU, memory and GPUs that work chooses from.")

_Flavor = Annotated[str, typer.Argument(metavar="FLAVOR", help="Name or id of the flavor.")]
_Gpu = Annotated[
    str | None,
    typer.Option(metavar="GPU", help="2 for whole GPUs; a slice: 8Gi, 0.5, 1g.10gb; 2x8Gi; 0 for none."),
]
_Models = Annotated[
    list[str] | None, typer.Option("--gpu-model", metavar="MODEL", help="Only this model; repeatable.")
]
_Orgs = Annotated[
    list[str] | None,
    typer.Option("--org", metavar="ORG", help="Who may use it, with everything below; repeatable."),
]
_Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", metavar="KIND", help="Only for this kind of work; repeatable; 'all' for all."),
]


@app.command("list")
def list_flavors(
    org: Annotated[
        str | None, typer.Option(metavar="ORG", help="Only flavors that work of this organisation may use.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="Only flavors that are offered for this kind of work.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the flavors you can see."""
    client = connect()
    place = find_organisation(client, org).id if org else None
    flavors = list(client.flavors.list(organisation=place, kind=kind))
    if as_json:
        print_json(encode(flavors))
        return
    rows = (
        (
            each.name,
            shown(each.cpu_milli, "cpu_milli"),
            shown(each.memory_mib, "memory_mib"),
            shown_gpu(each.gpu),
            ", ".join(place.name for place in each.organisations),
            ", ".join(each.kinds) or "all",
            "yes" if each.enabled else "no",
            each.description,
        )
        for each in flavors
    )
    columns = ("Name", "CPUs", "Memory", "GPUs", "For", "Kinds", "Enabled", "Description")
    print_table(columns, rows, empty="There are no flavors. Create one: corral flavor create --help")
    for each in flavors:
        _warn_of_lack(each)


@app.command()
def show(flavor: _Flavor, as_json: Json = False) -> None:
    """Show one flavor."""
    found = find_flavor(connect(), flavor)
    if as_json:
        print_json(encode(found))
        return
    print_facts(
        {
            "Name": found.name,
            "Id": found.id,
            "Description": found.description,
            "CPUs": shown(found.cpu_milli, "cpu_milli"),
            "Memory": shown(found.memory_mib, "memory_mib"),
            "GPUs": shown_gpu(found.gpu),
            "For": ", ".join(place.name for place in found.organisations),
            "Kinds": ", ".join(found.kinds) or "all",
            "Enabled": "yes" if found.enabled else "no",
            "Fits": found.lack.sentence if found.lack else None,
        }
    )


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the new flavor, such as gpu-8g.")],
    cpu: Annotated[str, typer.Option(metavar="COUNT", help="CPUs: 4 or 500m.")],
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Memory: 16Gi or 512Mi.")],
    gpu: _Gpu = None,
    gpu_model: _Models = None,
    org: _Orgs = None,
    kind: _Kinds = None,
    description: Annotated[str, typer.Option(help="What it is for.")] = "",
    as_json: Json = False,
) -> None:
    """Create a flavor. Without --org, everyone may use it."""
    client = connect()
    made = client.flavors.create(
        name,
        cpu=cpu,
        memory=memory,
        gpu=_gpu(gpu, gpu_model) if gpu is not None else None,
        organisation_ids=_places(client, org),
        description=description,
        kinds=_kinds(kind),
    )
    if as_json:
        print_json(encode(made))
    else:
        say(f"Created the flavor {made.name} ({made.id}).")
    _warn_of_lack(made)


@app.command()
def edit(
    flavor: _Flavor,
    name: Annotated[str | None, typer.Option(help="New name.")] = None,
    cpu: Annotated[str | None, typer.Option(metavar="COUNT", help="CPUs: 4 or 500m.")] = None,
    memory: Annotated[str | None, typer.Option(metavar="SIZE", help="Memory: 16Gi or 512Mi.")] = None,
    gpu: _Gpu = None,
    gpu_model: _Models = None,
    org: _Orgs = None,
    kind: _Kinds = None,
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    enabled: Annotated[
        bool | None, typer.Option("--enable/--disable", help="Whether new work may use it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Change a flavor. Work that was submitted with it stays as it is."""
    require_change(
        *(name, cpu, memory, gpu, gpu_model, org, kind, description, enabled),
        options="--name, --cpu, --memory, --gpu, --org, --kind, --description, --enable, --disable",
    )
    client = connect()
    found = find_flavor(client, flavor)
    asked: dict[str, Any] = {"name": name, "description": description, "enabled": enabled}
    asked |= {"cpu": cpu, "memory": memory}
    wanted = {key: value for key, value in asked.items() if value is not None}
    if gpu is not None:
        wanted["gpu"] = _gpu(gpu, gpu_model)
    elif gpu_model:
        raise CommandError("--gpu-model needs --gpu.", remedy="Give --gpu as well.")
    if org:
        wanted["organisation_ids"] = _places(client, org)
    if kind:
        wanted["kinds"] = _kinds(kind)
    changed = client.flavors.update(found.id, generation=found.generation, **wanted)
    if as_json:
        print_json(encode(changed))
    else:
        say(f"Changed the flavor {changed.name}.")
    _warn_of_lack(changed)


@app.command()
def delete(flavor: _Flavor, yes: Yes = False, as_json: Json = False) -> None:
    """Delete a flavor. Work that was submitted with it stays as it is."""
    client = connect()
    found = find_flavor(client, flavor)
    ask_name("the flavor", found.name, yes)
    client.flavors.delete(found.id, generation=found.generation)
    if as_json:
        print_json(encode(found))
    else:
        say(f"Deleted the flavor {found.name}.")


def find_flavor(client: Client, text: str) -> Flavor:
    """By name or id."""
    return one_of(client.flavors.list(), "flavor", text, lambda each: (each.id, each.name))


def _gpu(text: str, models: list[str] | None) -> str | dict[str, Any]:
    """As it was typed: the API says what it means."""
    return {"amount": text, "models": models} if models else text


def _kinds(texts: list[str] | None) -> list[str]:
    return [] if not texts or texts == ["all"] else texts


def _places(client: Client, texts: list[str] | None) -> list[str]:
    if not texts:
        return [find_organisation(client, None).id]
    return [find_organisation(client, text).id for text in texts]


def _warn_of_lack(flavor: Flavor) -> None:
    if flavor.lack is not None:
        warn(f"{flavor.name}: {flavor.lack.sentence} Work with it is infeasible until nodes change.")
