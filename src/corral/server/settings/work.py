"""What work on this machine is given, and how much of its disk."""

from pydantic import field_validator
from pydantic_core import PydanticCustomError

from corral.accelerators.simulated import parse as parse_simulated
from corral.core.refusals import Invalid
from corral.engines.local.doors.address_policy import read_allowed
from corral.server.settings.values import HOST_NAME, Group, Names, WholeNumber, setting


class Work(Group):
    simulated_gpus: str = setting(
        "",
        "Simulated GPUs of this machine: they are scheduled and metered; code computes on the CPU. "
        "Empty: the real ones, or a few simulated ones where there are none.",
        "empty, none, or a list such as 8xH100-80GB,2xT4-16GB",
        max_length=400,
    )
    trusted: bool = setting(
        False,
        "Run work even where it cannot be isolated or limited. Only for one person on their own machine: "
        "while others have accounts here, such work is refused.",
        "true or false",
    )

    package_index: str = setting(
        "",
        "The package index that runtimes are built from. Empty: PyPI. It must be reachable for work.",
        "empty, or https://<host>/<path>/simple",
        max_length=500,
    )
    zone_move_seconds: WholeNumber = setting(
        30,
        "Work that left its zone to Corral and has waited for so many seconds is given another zone if that "
        "would start it at once; it is not moved again for ten times as long. 0 leaves work where it is.",
        "a whole number from 0 to 86400",
        ge=0,
        le=86400,
    )
    upload_mib: WholeNumber = setting(
        512,
        "The largest working directory that can be uploaded with work, packed, in MiB.",
        "a whole number from 1 to 65536",
        ge=1,
        le=65536,
    )
    home_mib: WholeNumber = setting(
        51200,
        "How much a person's home on this machine may hold, in MiB. It is found by looking: work that has "
        "the home open while it grows beyond this is ended. 0 sets no bound.",
        "a whole number from 0 to 1073741824",
        ge=0,
        le=2**30,
    )
    workspace_files: WholeNumber = setting(
        1_000_000,
        "How many files and directories the workspace of a workload may hold, and a person's home. 0 sets no "
        "bound.",
        "a whole number from 0 to 1073741824",
        ge=0,
        le=2**30,
    )
    person_mib: WholeNumber = setting(
        204_800,
        "How much all workspaces of one person on this machine may hold together, in MiB. Over it no new "
        "work of that person begins, and work that adds to it is ended. 0 sets no bound.",
        "a whole number from 0 to 1073741824",
        ge=0,
        le=2**30,
    )
    person_files: WholeNumber = setting(
        5_000_000,
        "The same for files and directories. 0 sets no bound.",
        "a whole number from 0 to 1073741824",
        ge=0,
        le=2**30,
    )
    first_uid: WholeNumber = setting(
        200_000,
        "As root, the work of every person runs under a uid of its own: the first of 65536 that nobody else "
        "uses on this machine. Who has one keeps it.",
        "a whole number from 1000 to 2000000000",
        ge=1000,
        le=2_000_000_000,
    )
    allowed_networks: Names = setting(
        (),
        "Private networks, and names that lead into them, which work may reach. Public addresses it reaches "
        "anyway; loopback, link-local and this machine's own addresses never.",
        "networks such as 10.1.0.0/16 and names such as mirror.lab or .lab, separated by commas",
    )

    @field_validator("simulated_gpus")
    @classmethod
    def _known_gpus(cls, text: str) -> str:
        if text not in {"", "none"}:
            try:
                parse_simulated(text)
            except Invalid as error:
                raise PydanticCustomError("simulated_gpus", "{why}", {"why": error.detail}) from None
        return text

    @field_validator("allowed_networks")
    @classmethod
    def _networks_or_names(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        try:
            names = read_allowed(entries).names
        except ValueError as error:
            raise PydanticCustomError("network", "{why}", {"why": str(error)}) from None
        for name in names:
            if not HOST_NAME.fullmatch(name.removeprefix(".")):
                raise PydanticCustomError("host", "{what} is not a network or name", {"what": name})
        return entries
