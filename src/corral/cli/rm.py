"""`corral rm`."""

from corral.cli.acts import Works, act
from corral.cli.frame import Json, new_app

app = new_app()


@app.command()
def rm(workloads: Works, as_json: Json = False) -> None:
    """Delete work that has ended, with its output and files."""
    act("delete", "is deleted", workloads, as_json=as_json)
