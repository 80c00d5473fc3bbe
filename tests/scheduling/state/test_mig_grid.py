"""Geometries: the documented numbers of instances, charges, and starts that keep most room."""

import pytest

from corral.core.devices import Device, DeviceMode
from corral.core.mig import A30_24GB, A100_40GB, A100_80GB, MigGeometry
from corral.scheduling.state.mig_grid import MigGrid, mig_grid_of

SMALL, SMALL_WIDE, TWO, THREE, FOUR, ALL = (profile.name for profile in A100_80GB.profiles)


@pytest.mark.parametrize(
    ("geometry", "counts"),
    [(A100_80GB, [7, 4, 3, 2, 1, 1]), (A100_40GB, [7, 4, 3, 2, 1, 1]), (A30_24GB, [4, 2, 1])],
)
def test_an_empty_device_takes_the_documented_number_of_instances(
    geometry: MigGeometry, counts: list[int]
) -> None:
    grid = MigGrid(geometry, None)
    assert [grid.count(profile.name, grid.full) for profile in geometry.profiles] == counts


def test_charge_is_the_larger_share_rounded_up() -> None:
    grid = MigGrid(A100_80GB, None)
    assert [grid.milli(profile.name) for profile in A100_80GB.profiles] == [143, 250, 286, 500, 572, 1000]


def test_share_of_memory_and_compute_never_adds_up_to_more_than_the_device() -> None:
    grid = MigGrid(A100_80GB, None)
    assert grid.share(SMALL, 81920) == (10240, 14)
    assert grid.share(ALL, 81920) == (81920, 100)


def test_start_leaves_the_largest_profiles_possible() -> None:
    grid = MigGrid(A100_80GB, None)
    assert grid.start(SMALL, grid.full) == 6
    assert grid.start(TWO, grid.full) == 4
    assert grid.start(THREE, grid.full) == 4
    assert grid.start(SMALL, 0b0000_1111) == 0
    assert grid.start(FOUR, 0b1111_1110) is None


@pytest.mark.parametrize(
    "order",
    [[THREE, TWO, SMALL, SMALL], [FOUR, TWO, SMALL], [TWO, TWO, TWO, SMALL], [THREE, THREE], [FOUR, THREE]],
)
def test_a_full_house_fits_from_the_largest_down(order: list[str]) -> None:
    grid = MigGrid(A100_80GB, None)
    free = grid.full
    for profile in order:
        start = grid.start(profile, free)
        assert start is not None
        bits = grid.bits(profile, start)
        assert bits & free == bits
        free &= ~bits


def test_devices_of_one_kind_share_their_grid() -> None:
    one, two = (Device(name, 81920, mode=DeviceMode.MIG, geometry=A100_80GB) for name in ("g0", "g1"))
    assert mig_grid_of(one) is mig_grid_of(two)
    assert mig_grid_of(Device("g2", 81920)) is None
