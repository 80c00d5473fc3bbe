"""Says hello, and what Corral says about this run."""

import os
import platform
from pathlib import Path

NAMES = ("CORRAL_NAME", "CORRAL_WORKLOAD", "CORRAL_ATTEMPT", "CORRAL_REPLICA", "CUDA_VISIBLE_DEVICES")

print(f"Hello from Python {platform.python_version()} in {Path.cwd()}")
for name in NAMES:
    print(f"{name}={os.environ.get(name, '')}")
