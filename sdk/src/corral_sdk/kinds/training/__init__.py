"""Training: work that ends by itself."""

from collections.abc import Mapping
from typing import Any

from corral_sdk._decode import decode
from corral_sdk.kinds._documents import DocumentKind
from corral_sdk.models import Preview

__all__ = ["Training"]


class Training(DocumentKind):
    """A command, run by every replica. A document has at least name, command and what it needs."""

    kind = "training"

    def preview(self, spec: Mapping[str, Any]) -> Preview:
        """The command line and variables of every replica; secrets are masked."""
        return decode(Preview, self._act("training", "preview", body=dict(spec)))
