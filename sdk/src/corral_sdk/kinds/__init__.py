"""The kinds of work, a folder each: a new one gets its folder and its line in `Kinds`."""

from collections.abc import Mapping

from corral_sdk._transport import Transport
from corral_sdk.kinds._documents import DocumentKind
from corral_sdk.kinds.runtime import RuntimeResource
from corral_sdk.kinds.training import Training

__all__ = ["DocumentKind", "Kinds"]


class Kinds:
    """One attribute per kind of work."""

    def __init__(self, transport: Transport) -> None:
        self.training = Training(transport)
        self.runtimes = RuntimeResource(transport)

    @property
    def document_kinds(self) -> Mapping[str, DocumentKind]:
        """By name: those whose work is submitted as a document."""
        return {one.kind: one for one in vars(self).values() if isinstance(one, DocumentKind)}
