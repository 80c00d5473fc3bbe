"""Runtimes: Python environments, each built by work of the kind `runtime`."""

from collections.abc import Sequence

from corral_sdk._decode import decode
from corral_sdk._resource import Resource
from corral_sdk.models import Runtime, Runtimes

__all__ = ["RuntimeResource"]


class RuntimeResource(Resource):
    """The caller's Python environments."""

    def list(self) -> Runtimes:
        return self._get(Runtimes, "runtimes")

    def create(self, name: str, requirements: Sequence[str] | None = None, *, build: bool = True) -> Runtime:
        """Defines a runtime, or its next version; without requirements, one that is known by its name."""
        body: dict[str, object] = {"name": name, "build": build}
        if requirements is not None:
            body["requirements"] = [*requirements]
        return self._create(Runtime, "runtimes", body=body)

    def build(self, runtime_id: str) -> Runtime:
        return decode(Runtime, self._act("runtimes", runtime_id, "build"))

    def delete(self, runtime_id: str) -> None:
        self._delete("runtimes", runtime_id)
