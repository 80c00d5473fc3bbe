"""`corral resume`."""

from corral.cli.acts import Works, act
from corral.cli.frame import Json, new_app

app = new_app()


@app.command()
def resume(workloads: Works, as_json: Json = False) -> None:
    """Resume work that was suspended or stopped, or that failed."""
    act("resume", "waits for its turn", workloads, as_json=as_json)
