"""The runner of `make test`, loaded as a module."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

_FILE = Path(__file__).parents[2] / "tools" / "test.py"


@pytest.fixture(scope="module")
def runner() -> Iterator[ModuleType]:
    specification = importlib.util.spec_from_file_location("corral_test_runner", _FILE)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(_FILE.parent))  # as when it runs as a program
        specification.loader.exec_module(module)
        yield module
