"""The installed distribution and the package tell the same version."""

from importlib.metadata import version

import corral


def test_package_and_distribution_agree_on_the_version() -> None:
    assert version("corral") == corral.__version__
