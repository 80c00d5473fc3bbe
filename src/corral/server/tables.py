"""Every table of Corral in one metadata, for migrations and the check that both agree."""

import corral.api.tables
import corral.apps.tables
import corral.audit.tables
import corral.control.tables
import corral.engines.simulated_zone.tables
import corral.events.tables
import corral.history.tables
import corral.hosts.tables
import corral.identity.tables
import corral.inputs.tables
import corral.platform.tables
import corral.queues.tables
import corral.store.fingerprint
import corral.store.leadership
import corral.usage.metrics.tables
import corral.usage.samples.tables
import corral.usage.tables
import corral.workloads.tables
import corral.zones.tables  # noqa: F401
from corral.store.schema import metadata

__all__ = ["metadata"]
