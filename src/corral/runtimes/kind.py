"""Builds of runtimes, as Corral knows them."""

from corral.kinds.plug import Kind
from corral.runtimes.builds import SUBMISSION, tasks
from corral.runtimes.routes import router
from corral.runtimes.service import forget_unused

RUNTIME = Kind(SUBMISSION, tasks, routers=(router,), chores=lambda _: [forget_unused])
