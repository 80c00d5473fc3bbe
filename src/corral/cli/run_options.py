"""What `corral run` can be told: each option with its name, its unit and its help."""

from typing import Annotated

import typer

Command = Annotated[
    list[str], typer.Argument(metavar="[--] COMMAND…", help="What to run; train.py is run with python.")
]
Gpu = Annotated[
    str | None, typer.Option(metavar="GPU", help="2 whole ones; a part: 8Gi, 0.5, 1g.10gb; 2x8Gi.")
]
GpuModels = Annotated[
    list[str] | None, typer.Option(metavar="MODEL", help="Only this one; repeat it for several.")
]
Cpu = Annotated[str | None, typer.Option(metavar="CORES", help="2, 0.5 or 500m. [1]")]
Memory = Annotated[str | None, typer.Option(metavar="SIZE", help="4Gi, 512Mi. [2Gi]")]
Flavor = Annotated[
    str | None, typer.Option(metavar="FLAVOR", help="A bundle instead of numbers: corral flavor list.")
]
Replicas = Annotated[int, typer.Option("--replicas", "-n", metavar="N", help="Started together.")]
Name = Annotated[str | None, typer.Option(metavar="NAME", help="[that of the script]")]
Organisation = Annotated[
    str | None,
    typer.Option("--queue", "--organisation", "--org", metavar="ORG", help="Whose share it uses. [your own]"),
]
Variables = Annotated[
    list[str] | None,
    typer.Option("--env", "-e", metavar="A=b", help="A variable; A alone: as it is here."),
]
Secrets = Annotated[
    list[str] | None, typer.Option(metavar="VAR=NAME", help="A variable with the value of a secret.")
]
Parameters = Annotated[
    list[str] | None, typer.Option("--param", "-p", metavar="lr=0.1", help="Added as --lr 0.1.")
]
TimeLimit = Annotated[str | None, typer.Option(metavar="TIME", help="90s, 30min, 2h, 1d.")]
Retries = Annotated[int, typer.Option(metavar="N", help="How often to try again after a failure.")]
Priority = Annotated[int | None, typer.Option(metavar="1…5", help="Up to your own. [your own]")]
Runtime = Annotated[str | None, typer.Option(metavar="NAME", help="A built Python environment.")]
Launch = Annotated[str, typer.Option(metavar="HOW", help="plain: once per replica; torchrun: once per GPU.")]
Home = Annotated[bool, typer.Option("--home", help="Your home directory is there too.")]
Network = Annotated[bool, typer.Option("--network/--no-network", help="The way out to the network.")]
Upload = Annotated[bool, typer.Option("--upload/--no-upload", help="Take the working directory along.")]
Detach = Annotated[bool, typer.Option("--detach", "-d", help="Print the id and do not wait.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would become of it; submit nothing.")]
Wait = Annotated[
    bool, typer.Option("--wait", help="Also for what no node or quota here allows: wait until one does.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the work as JSON and do not wait.")]
