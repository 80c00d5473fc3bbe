"""How much one person may have."""

from corral.core.bounds import PersonBounds
from corral.server.settings.values import Group, WholeNumber, setting

_USUAL = PersonBounds()


class People(Group):
    max_workloads_per_user: WholeNumber = setting(
        _USUAL.workloads,
        "How many workloads one person may have. Work that ended counts until its records are removed.",
        "a whole number from 1 to 10000000",
        ge=1,
        le=10_000_000,
    )
    max_tokens_per_user: WholeNumber = setting(
        _USUAL.tokens,
        "How many personal access tokens one person may have.",
        "a whole number from 1 to 100000",
        ge=1,
        le=100_000,
    )
    max_ssh_keys_per_user: WholeNumber = setting(
        _USUAL.ssh_keys,
        "How many SSH keys one person may have.",
        "a whole number from 1 to 10000",
        ge=1,
        le=10_000,
    )
    max_sessions_per_user: WholeNumber = setting(
        _USUAL.sessions,
        "How many login sessions one person may have. One more ends the one that was not used for the "
        "longest time.",
        "a whole number from 1 to 10000",
        ge=1,
        le=10_000,
    )
    max_open_invitations_per_user: WholeNumber = setting(
        _USUAL.open_invitations,
        "How many open invitations and join codes one person may have, together.",
        "a whole number from 1 to 1000000",
        ge=1,
        le=1_000_000,
    )
    max_changes_per_user_and_hour: WholeNumber = setting(
        _USUAL.changes_per_hour,
        "How many changes one person may ask for within an hour; reading does not count.",
        "a whole number from 10 to 100000000",
        ge=10,
        le=100_000_000,
    )
    max_kept_answers_per_user: WholeNumber = setting(
        _USUAL.kept_answers,
        "How many answers to creates with an Idempotency-Key are kept for one person, a day each.",
        "a whole number from 1 to 10000000",
        ge=1,
        le=10_000_000,
    )
    max_uploads_per_user: WholeNumber = setting(
        _USUAL.uploads,
        "How many uploaded working directories one person may have.",
        "a whole number from 1 to 10000",
        ge=1,
        le=10_000,
    )
    max_runtimes_per_user: WholeNumber = setting(
        _USUAL.runtimes,
        "How many runtimes one person may have.",
        "a whole number from 1 to 10000",
        ge=1,
        le=10_000,
    )
    max_secrets_per_user: WholeNumber = setting(
        _USUAL.secrets,
        "How many secrets one person may have.",
        "a whole number from 1 to 10000",
        ge=1,
        le=10_000,
    )
    max_metric_series_per_user: WholeNumber = setting(
        _USUAL.metric_series,
        "How many series of reported metrics are kept for one person, over all their work. A series is one "
        "name of one replica in one attempt.",
        "a whole number from 1 to 100000000",
        ge=1,
        le=100_000_000,
    )
    max_metric_points_per_user: WholeNumber = setting(
        _USUAL.metric_points,
        "How many points those series have together; a series has at most 4096. A point takes about 50 "
        "bytes of the database.",
        "a whole number from 1000 to 10000000000",
        ge=1000,
        le=10_000_000_000,
    )

    @property
    def person_bounds(self) -> PersonBounds:
        return PersonBounds(
            workloads=self.max_workloads_per_user,
            tokens=self.max_tokens_per_user,
            ssh_keys=self.max_ssh_keys_per_user,
            sessions=self.max_sessions_per_user,
            open_invitations=self.max_open_invitations_per_user,
            changes_per_hour=self.max_changes_per_user_and_hour,
            kept_answers=self.max_kept_answers_per_user,
            uploads=self.max_uploads_per_user,
            runtimes=self.max_runtimes_per_user,
            secrets=self.max_secrets_per_user,
            metric_series=self.max_metric_series_per_user,
            metric_points=self.max_metric_points_per_user,
        )
