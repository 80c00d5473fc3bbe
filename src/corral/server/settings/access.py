"""How long sessions, links and tokens last."""

from typing import Self

from pydantic import model_validator

from corral.server.settings.values import Group, WholeNumber, conflict, setting


class Access(Group):
    session_hours: WholeNumber = setting(
        168,
        "A login session ends after this many hours, used or not.",
        "a whole number from 1 to 8760",
        ge=1,
        le=8760,
    )
    session_idle_hours: WholeNumber = setting(
        24,
        "A login session ends after this many hours without a request.",
        "a whole number from 1 to 8760, not more than session_hours",
        ge=1,
        le=8760,
    )
    login_link_minutes: WholeNumber = setting(
        15,
        "A one-time login link works for this many minutes.",
        "a whole number from 1 to 1440",
        ge=1,
        le=1440,
    )
    token_max_days: WholeNumber = setting(
        365,
        "The longest life of a personal access token, in days.",
        "a whole number from 1 to 3650",
        ge=1,
        le=3650,
    )

    @model_validator(mode="after")
    def _idle_within_session(self) -> Self:
        if self.session_idle_hours > self.session_hours:
            raise conflict("session_idle_hours", f"it is more than session_hours ({self.session_hours})")
        return self
