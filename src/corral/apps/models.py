"""Apps, as the API says them."""

from pydantic import Field

from corral.api.models import Input, Output


class NewTicket(Input):
    port: int | None = Field(
        None, ge=1, le=65535, description="Left out: the first port that the workload declares for browsers."
    )


class Ticket(Output):
    """Post `ticket` as a form to `action`: it opens the app, once, within a minute."""

    ticket: str
    action: str = Field(description="On the host name of the app.")
    url: str = Field(description="Where the app is, for whoever is inside.")
