"""What the routes of inputs need beside the database, made once at start."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends

from corral.api.parts import using
from corral.inputs.secrets import SecretBox
from corral.inputs.upload_files import UploadFiles


@dataclass(frozen=True, slots=True)
class Inputs:
    secrets: SecretBox
    uploads: UploadFiles


InputsHere = Annotated[Inputs, Depends(using(Inputs))]
