"""What inputs keep beside workloads."""

from sqlalchemy import select

from corral.inputs.tables import runtime, secret_use, upload_use
from corral.workloads.ownership import Owned

# Work runs in the files of what built its runtime.
_BUILDERS = select(runtime.c.workload_id).where(runtime.c.workload_id.is_not(None))
OWNED = Owned(tables=(secret_use, upload_use), needed=(_BUILDERS,))
