"""Runtimes: Python environments, each built by work of the kind `runtime`."""

from collections.abc import Sequence

from corral_sdk._decode import decode
from corral_sdk._resource import Resource, given
from corral_sdk.models import Runtime, Runtimes

__all__ = ["RuntimeResource"]


class RuntimeResource(Resource):
    """The caller's Python environments."""

    def list(self) -> Runtimes:
        return self._get(Runtimes, "runtimes")

    def create(
        self,
        name: str,
        requirements: Sequence[str] | None = None,
        *,
        build: bool = True,
        zone: str | None = None,
    ) -> Runtime:
        """Defines a runtime, or its next version; without requirements, one that is known by its name.

        It is built in the zone, by name or id, and work with it runs there.
        """
        body: dict[str, object] = {"name": name, "build": build, **given(zone=zone)}
        if requirements is not None:
            body["requirements"] = [*requirements]
        return self._create(Runtime, "runtimes", body=body)

    def build(self, runtime_id: str, *, zone: str | None = None) -> Runtime:
        return decode(Runtime, self._act("runtimes", runtime_id, "build", body=given(zone=zone)))

    def delete(self, runtime_id: str) -> None:
        self._delete("runtimes", runtime_id)
