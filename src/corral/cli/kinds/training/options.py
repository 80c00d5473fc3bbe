"""The options of `corral run`: name, unit and help of each."""

from typing import Annotated

import typer

Command = Annotated[
    list[str] | None,
    typer.Argument(metavar="[--] COMMAND…", help="Command to run; train.py runs with python."),
]
Gpu = Annotated[
    str | None, typer.Option(metavar="GPU", help="2 for whole GPUs; a slice: 8Gi, 0.5, 1g.10gb; 2x8Gi.")
]
GpuModels = Annotated[list[str] | None, typer.Option(metavar="MODEL", help="Only this model; repeatable.")]
Cpu = Annotated[str | None, typer.Option(metavar="CORES", help="2, 0.5 or 500m. [1]")]
Memory = Annotated[str | None, typer.Option(metavar="SIZE", help="4Gi, 512Mi. [2Gi]")]
Flavor = Annotated[
    str | None, typer.Option(metavar="FLAVOR", help="Use a flavor instead of numbers: corral flavor list.")
]
Replicas = Annotated[int, typer.Option("--replicas", "-n", metavar="N", help="How many to start together.")]
Name = Annotated[str | None, typer.Option(metavar="NAME", help="Name of the work. [the script's]")]
Organisation = Annotated[
    str | None,
    typer.Option(metavar="ORG", help="Organisation whose share it uses. [yours]"),
]
Variables = Annotated[
    list[str] | None,
    typer.Option("--env", "-e", metavar="A=b", help="Set a variable; A alone passes yours on."),
]
Secrets = Annotated[list[str] | None, typer.Option(metavar="VAR=NAME", help="Set a variable from a secret.")]
Parameters = Annotated[
    list[str] | None, typer.Option("--param", "-p", metavar="lr=0.1", help="Parameter, added as --lr 0.1.")
]
TimeLimit = Annotated[str | None, typer.Option(metavar="TIME", help="Stop it after 90s, 30min, 2h, 1d.")]
Retries = Annotated[int, typer.Option(metavar="N", help="How often to retry after a failure.")]
Hold = Annotated[str | None, typer.Option(metavar="TIME", help="Keep its place for a retry for 60s, 5min, …")]
Ports = Annotated[
    list[str] | None,
    typer.Option("--port", metavar="PORT", help="Port it listens on: 8000, web=8000/http; repeatable."),
]
Ready = Annotated[
    str | None,
    typer.Option(metavar="CHECK", help="It is ready when 8000 or 8000/healthz answers, or output:TEXT."),
]
Priority = Annotated[int | None, typer.Option(metavar="1…5", help="At most yours. [yours]")]
Runtime = Annotated[str | None, typer.Option(metavar="NAME", help="Python environment: corral runtime list.")]
Launch = Annotated[
    str, typer.Option(metavar="HOW", help="plain (once per replica) or torchrun (once per GPU).")
]
Home = Annotated[bool, typer.Option("--home", help="Mount your home directory.")]
Network = Annotated[bool, typer.Option("--network/--no-network", help="Allow network access.")]
Upload = Annotated[bool, typer.Option("--upload/--no-upload", help="Upload the working directory.")]
Zone = Annotated[str | None, typer.Option(metavar="ZONE", help="Zone to run in: corral zone list.")]
Simulate = Annotated[
    str | None, typer.Option(metavar="TIME", help="Pretend to run for 60s, 2h, … in a simulated zone.")
]
Detach = Annotated[bool, typer.Option("--detach", "-d", help="Print the id and return.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the work as JSON and return.")]
