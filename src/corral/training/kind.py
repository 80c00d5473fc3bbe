"""Training, as Corral knows it."""

from corral.kinds.plug import Kind
from corral.training.routes import router
from corral.training.service import SUBMISSION
from corral.training.tasks import tasks

TRAINING = Kind(SUBMISSION, tasks, routers=(router,))
