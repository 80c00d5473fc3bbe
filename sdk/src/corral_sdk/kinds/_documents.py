"""Kinds whose work is submitted as a document."""

from collections.abc import Mapping
from typing import Any, ClassVar

from corral_sdk._decode import decode
from corral_sdk._resource import Resource
from corral_sdk.models import Verdict, WorkloadDetail

__all__ = ["DocumentKind"]


class DocumentKind(Resource):
    """`kind` is also the path of its routes."""

    kind: ClassVar[str]

    def submit(self, spec: Mapping[str, Any]) -> WorkloadDetail:
        """Queues it. The document is that of `corral apply`."""
        return self._create(WorkloadDetail, self.kind, body=dict(spec))

    def probe(self, spec: Mapping[str, Any]) -> Verdict:
        """Whether and when it would run now; nothing is kept."""
        return decode(Verdict, self._act(self.kind, "probe", body=dict(spec)))
