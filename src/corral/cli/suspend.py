"""`corral suspend`."""

from corral.cli.acts import Works, act
from corral.cli.frame import Json, new_app

app = new_app()


@app.command()
def suspend(workloads: Works, as_json: Json = False) -> None:
    """Suspend work: it frees what it holds and keeps its files."""
    act("suspend", "is being suspended", workloads, as_json=as_json)
