"""The API's description, generated once for all processes of a run: that takes seconds of CPU."""

import json
from functools import cache
from typing import Any

from tests.runs import current_run


def api_description() -> dict[str, Any]:
    """What `/api/v1/openapi.json` answers; a copy of the caller's own."""
    read: dict[str, Any] = json.loads(_text())
    return read


@cache
def _text() -> str:
    run = current_run()
    file, unfinished = run.folder / "openapi.json", run.folder / "openapi.new.json"
    with run.lock("openapi"):
        if not file.exists():
            from corral.server.app import describe_only

            unfinished.write_text(json.dumps(describe_only().openapi()), encoding="utf-8")
            unfinished.rename(file)
    return file.read_text(encoding="utf-8")
