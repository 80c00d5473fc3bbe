"""Training work as it is stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from corral.store.schema import JsonObject
from corral.training.spec import parameter_text
from corral.workloads.documents import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingDocument(Document):
    command: tuple[str, ...]
    parameters: Mapping[str, str]
    environment: Mapping[str, str]
    secrets: Mapping[str, str]
    upload_id: str | None
    home: bool
    runtime: str | None
    launch: Literal["plain", "torchrun"]
    network: bool

    @staticmethod
    def upgrade(version: int, content: JsonObject) -> JsonObject:
        """Version 1 kept parameters as they came: text, numbers or booleans."""
        upgraded = Document.upgrade(version, content)
        parameters = content.get("parameters")
        if version == 1 and isinstance(parameters, dict):
            upgraded["parameters"] = {name: parameter_text(value) for name, value in parameters.items()}
        return upgraded
