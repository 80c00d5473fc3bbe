"""What the API takes and gives about the installation."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from corral.api.models import Id, Input, Instant, Mail, Output
from corral.identity.models import NewAccount

HostName = Annotated[
    str,
    StringConstraints(strip_whitespace=True, pattern=r"^[A-Za-z0-9](?:[A-Za-z0-9.:-]{0,251}[A-Za-z0-9])?$"),
    Field(examples=["smtp.example.org"]),
]
Port = Annotated[int, Field(ge=1, le=65535)]
Encryption = Literal["starttls", "tls", "none"]


class MailSettings(Output):
    host: str | None = Field(
        description="Null: no mail server; no mail is sent.", examples=["smtp.example.org"]
    )
    port: int
    encryption: Encryption
    user_name: str | None
    password_set: bool = Field(description="Whether a password is stored; it is never returned.")
    sender: str | None = Field(description="The address mail comes from.")
    tested_at: Instant | None = Field(description="When the mail server last accepted a test mail.")
    generation: int


class NewMailSettings(Input):
    host: HostName | None = None
    port: Port = 587
    encryption: Encryption = "starttls"
    user_name: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    password: Annotated[str, StringConstraints(max_length=400)] | None = Field(
        None, description="Left out or null: keep the stored one. Empty: forget it."
    )
    sender: Mail | None = None


class MailTest(Input):
    to: Mail


class MailTested(Output):
    to: str
    tested_at: Instant


class RegistrationSettings(Output):
    sign_up: bool = Field(description="Whether people may sign up; they wait for approval.")
    organisation_id: str = Field(description="The organisation that people who sign up join.")
    generation: int


class NewRegistrationSettings(Input):
    sign_up: bool
    organisation_id: Id


class Provider(Output):
    key: str = Field(examples=["local"])
    kind: Literal["form", "redirect"]


class LoginOptions(Output):
    organisation_name: str
    version: str
    providers: list[Provider]
    sign_up: bool


class SignUp(NewAccount):
    mail: Mail


class SignedUp(Output):
    state: Literal["pending"] = "pending"


class ChecklistItem(Output):
    key: Literal["password", "organisation", "people", "second_administrator", "mail"]
    done: bool
    count: int | None = Field(None, description="The number it depends on, if any.")


class Checklist(Output):
    items: list[ChecklistItem]
    done: int = Field(examples=[3])
    total: int = Field(examples=[5])


class MachineGpu(Output):
    vendor: str
    model: str
    memory_mib: int
    uuid: str


class MachineFacts(Output):
    host_name: str
    operating_system: str
    architecture: str
    cpu_model: str
    cpu_count: int
    memory_mib: int
    gpus: list[MachineGpu]
    gpus_simulated: bool = Field(description="No GPU was found: GPUs of this machine are simulated.")
    gpu_driver: str | None
    gpu_note: str | None = Field(description="A message from the driver, if there is one.")


class System(Output):
    version: str = Field(examples=["0.1.0"])
    database: Literal["sqlite", "postgresql"]
    started_at: Instant
    machine: MachineFacts
