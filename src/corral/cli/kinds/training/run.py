"""`corral run`: a command goes to the cluster, and its output comes back."""

from pathlib import Path
from typing import Any

from corral.cli.asking import (
    check_script,
    command_of,
    name_of,
    parameters_of,
    resources_of,
    secrets_of,
    variables_of,
)
from corral.cli.connection import connect
from corral.cli.frame import new_app
from corral.cli.kinds.training import options
from corral.cli.names import find_organisation
from corral.cli.refusals import CommandError
from corral.cli.submission import DryRun, Wait, check_feasible, submit, upload_here
from corral.cli.verdict_words import print_verdict

app = new_app()

_ARGUMENTS = {"allow_interspersed_args": False}


@app.command(context_settings=_ARGUMENTS)
def run(
    command: options.Command = None,
    gpu: options.Gpu = None,
    gpu_model: options.GpuModels = None,
    cpu: options.Cpu = None,
    memory: options.Memory = None,
    flavor: options.Flavor = None,
    replicas: options.Replicas = 1,
    name: options.Name = None,
    org: options.Organisation = None,
    env: options.Variables = None,
    secret: options.Secrets = None,
    param: options.Parameters = None,
    time_limit: options.TimeLimit = None,
    retries: options.Retries = 0,
    hold: options.Hold = None,
    port: options.Ports = None,
    ready: options.Ready = None,
    priority: options.Priority = None,
    runtime: options.Runtime = None,
    launch: options.Launch = "plain",
    home: options.Home = False,
    network: options.Network = True,
    upload: options.Upload = True,
    zone: options.Zone = None,
    simulate: options.Simulate = None,
    detach: options.Detach = False,
    wait: Wait = False,
    dry_run: DryRun = False,
    as_json: options.AsJson = False,
) -> None:
    """Run a command on the cluster, show its output and exit with its exit code.

    Everything after the first word of the command belongs to it: corral run --gpu 8Gi train.py --epochs 3
    """
    words = command_of(command or (), simulated=simulate is not None)
    upload = upload and simulate is None
    if upload and not home:
        check_script(words, Path.cwd())
    document: dict[str, Any] = {
        "name": name or ("simulated" if simulate and not command else name_of(words)),
        "command": words,
        "replicas": replicas,
        "environment": variables_of(env or ()),
        "secrets": secrets_of(secret or ()),
        "parameters": parameters_of(param or ()),
        "retries": retries,
        "home": home,
        "network": network,
        "launch": launch,
    }
    if flavor is None:
        document["resources"] = resources_of(gpu, cpu, memory, gpu_model or ())
    elif gpu or cpu or memory or gpu_model:
        raise CommandError(
            "A flavor says it all.", remedy="Leave out --gpu, --cpu and --memory, or --flavor."
        )
    optional = {
        "flavor": flavor,
        "time_limit_seconds": time_limit,
        "priority": priority,
        "runtime": runtime,
        "zone": zone,
        "hold_seconds": hold,
        "ports": port or None,
        "readiness": ready,
        "simulation": None if simulate is None else {"duration": simulate},
    }
    document |= {key: value for key, value in optional.items() if value is not None}
    client = connect()
    if org is not None:
        document["organisation_id"] = find_organisation(client, org).id
    if dry_run:
        print_verdict(client.training.probe(document), as_json=as_json)
        return
    if not wait:
        check_feasible(client.training, document, stays=not (detach or as_json))
    if upload:
        document["upload_id"] = upload_here(client)
    submit(client, client.training, document, detach=detach, as_json=as_json)
