"""The tables that placement learns, on cases small enough to reckon by hand."""

from dataclasses import replace

import numpy as np
import pytest

from corral.core.devices import Device, DeviceMode
from corral.core.mig import A100_80GB
from corral.core.mixes import ClassCount, WorkClass
from corral.scheduling.placing.fragmentation_model import (
    FILL_UNIT,
    SHARE_UNIT,
    Counts,
    Fleet,
    FragmentationConfig,
    FragmentationModel,
    expected_fill,
    group_shapes,
    share_on,
)

A = Device("", 40960, "A")
B = Device("", 20480, "B")


def counts(*pairs: tuple[WorkClass, int]) -> Counts:
    return [ClassCount(work, count) for work, count in pairs]


def fleet(gpus: int, nodes: int = 1, together: tuple[tuple[int, ...], ...] = ((0,),)) -> Fleet:
    return Fleet((A, B), together, gpus, 1000 * gpus * nodes)


def room_left(lesson: FragmentationModel, milli: list[list[int]]) -> tuple[int, ...]:
    """Of nodes that all have the devices of the first group."""
    nodes = len(milli)
    left = np.array(milli)
    return lesson.room_left(
        np.zeros(nodes, int),
        np.full(nodes, 8000.0),
        np.full(nodes, 65536.0),
        lesson.fill[0][left].sum(axis=1),
        (left == 1000).sum(axis=1),
    )


def half(cpu: int = 1000, memory: int = 1024, models: tuple[str, ...] = ()) -> WorkClass:
    return WorkClass(cpu, memory, gpus=1, gpu_milli=500, models=models)


def whole(cpu: int = 1000, memory: int = 1024, gpus: int = 1) -> WorkClass:
    return WorkClass(cpu, memory, gpus=gpus, gpu_milli=1000)


def test_a_gpu_too_small_for_all_that_arrives_is_worth_nothing() -> None:
    fill = expected_fill(counts((half(), 3)), A, horizon=30)
    assert fill[49] == 0
    assert fill[50] == fill[99] == 500 * FILL_UNIT
    assert fill[100] == 1000 * FILL_UNIT


def test_the_fill_of_one_offer_is_its_chance_times_its_size() -> None:
    fill = expected_fill(counts((half(), 1), (whole(), 3)), A, horizon=1)
    assert fill[50] == 125 * FILL_UNIT
    assert fill[100] == (125 + 750) * FILL_UNIT


def test_the_fill_of_two_offers_follows_every_path() -> None:
    # 1/4 halves, 3/4 wholes. First a half (then only a half fits: + 1/4 · 500), or first a whole.
    fill = expected_fill(counts((half(), 1), (whole(), 3)), A, horizon=2)
    assert fill[100] == (0.25 * (500 + 125) + 0.75 * 1000) * FILL_UNIT


def test_work_for_another_model_fills_nothing() -> None:
    mix = counts((half(models=("B",)), 1))
    assert expected_fill(mix, A, horizon=30).max() == 0
    assert expected_fill(mix, B, horizon=30)[100] == 1000 * FILL_UNIT


def test_a_slice_in_mib_fills_by_the_memory_of_the_device() -> None:
    mix = counts((WorkClass(1000, 1024, gpus=1, slice_mib=20480), 1))
    assert expected_fill(mix, A, horizon=1)[100] == 500 * FILL_UNIT
    assert expected_fill(mix, B, horizon=1)[100] == 1000 * FILL_UNIT
    assert expected_fill(mix, Device("", 16384, "small"), horizon=1).max() == 0


def test_a_device_is_filled_only_by_work_that_its_mode_allows() -> None:
    mix = counts((half(), 1), (whole(), 1))
    shared = Device("", 40960, "A", DeviceMode.SHARED)
    only_whole = Device("", 40960, "A", DeviceMode.WHOLE)
    assert expected_fill(mix, shared, horizon=1)[100] == 250 * FILL_UNIT
    assert expected_fill(mix, only_whole, horizon=1)[100] == 500 * FILL_UNIT


def test_an_instance_fills_what_its_profile_takes_of_a_device_that_offers_it() -> None:
    cut = Device("", 81920, "A", geometry=A100_80GB)
    small = WorkClass(1000, 1024, 1, profile=A100_80GB.profiles[0].name)
    assert [share_on(small, kind) for kind in (cut, replace(cut, mode=DeviceMode.MIG))] == [143, 143]
    too_much = [A, replace(cut, mode=DeviceMode.WHOLE), replace(cut, mode=DeviceMode.SHARED)]
    assert {share_on(small, kind) for kind in too_much} == {1001}
    assert share_on(replace(small, models=("B",)), cut) == 1001
    # Charges are rounded up: seven would come to more than the device.
    assert expected_fill(counts((small, 1)), cut, 30)[100] == 6 * 143 * FILL_UNIT
    assert group_shapes(counts((small, 1)), [A, cut]).allowed == ((0, (1,), 1.0),)


def test_similar_classes_are_one_shape_with_their_mean() -> None:
    shapes = group_shapes(counts((half(cpu=1000), 1), (half(cpu=3000), 3), (whole(cpu=5000), 4)), [A])
    assert len(shapes) == 2
    assert sorted(shapes.cpu) == [2500, 5000]
    assert [share for _, _, share in shapes.allowed] == [0.5, 0.5]


def test_a_shape_is_split_by_the_models_it_may_use() -> None:
    shapes = group_shapes(counts((half(), 1), (half(models=("B",)), 1)), [A, B])
    assert len(shapes) == 1
    assert [allowed for _, allowed, _ in shapes.allowed] == [(0, 1), (1,)]


def test_room_is_the_smallest_of_fill_cpu_and_memory() -> None:
    lesson = FragmentationModel(counts((half(cpu=1000, memory=1024), 1)), fleet(2), FragmentationConfig())
    model = np.zeros(4, int)
    cpu = np.array([8000.0, 3000.0, 8000.0, 999.0])
    memory = np.array([65536.0, 65536.0, 2048.0, 65536.0])
    fill = np.full(4, 2000.0 * FILL_UNIT)
    rooms = lesson.rooms(model, cpu, memory, fill)[:, 0] / FILL_UNIT
    assert rooms.tolist() == [2000, 1500, 1000, 0]


def test_several_gpus_have_room_only_where_that_many_are_untouched() -> None:
    lesson = FragmentationModel(
        counts((whole(gpus=2), 1), (half(), 1)), fleet(2, nodes=2), FragmentationConfig()
    )
    left = room_left(lesson, [[1000, 1000], [1000, 500]])
    room = dict(zip((shape for shape, _, _ in lesson.shapes.allowed), left, strict=True))
    several = int(np.argmax(lesson.shapes.needs_untouched))
    # A GPU is nearly sure to be filled within 30 offers; half a GPU is filled by a half.
    assert room[several] == pytest.approx(2000 * FILL_UNIT, rel=0.001)
    assert room[1 - several] == pytest.approx(3500 * FILL_UNIT, rel=0.001)


def test_weight_grows_with_arrivals_and_with_scarcity() -> None:
    config = FragmentationConfig(scarcity_floor=0.15)
    lesson = FragmentationModel(counts((whole(gpus=2), 1), (half(), 3)), fleet(2), config)
    shapes = [shape for shape, _, _ in lesson.shapes.allowed]
    several = shapes.index(int(np.argmax(lesson.shapes.needs_untouched)))
    room = [0, 0]
    room[several] = 2000 * FILL_UNIT // 10
    room[1 - several] = 2000 * FILL_UNIT * 85 // 100
    lesson.weigh(room, config)
    # 0.25 / (0.1 + 0.15) ** 1.5 = 2 against 0.75 / (0.85 + 0.15) ** 1.5 = 0.75
    row = lesson.weights[2]
    assert row[shapes[several]] == pytest.approx(SHARE_UNIT * 2 / 2.75, abs=1)
    assert row[shapes[1 - several]] == pytest.approx(SHARE_UNIT * 0.75 / 2.75, abs=1)


def test_the_weight_of_work_for_several_gpus_is_none_where_too_few_are_untouched() -> None:
    lesson = FragmentationModel(counts((whole(gpus=2), 1)), fleet(2), FragmentationConfig())
    lesson.weigh(room_left(lesson, [[1000, 1000]]), FragmentationConfig())
    assert lesson.weights[:3, 0].tolist() == [0, 0, SHARE_UNIT]


def test_a_node_with_devices_of_several_kinds_has_room_for_work_on_each_of_them() -> None:
    mix = counts((half(models=("A",)), 1), (half(models=("B",)), 1))
    lesson = FragmentationModel(mix, fleet(2, nodes=2, together=((0,), (0, 1))), FragmentationConfig())
    lesson.weigh([1, 1], FragmentationConfig())
    weight = lesson.weights[0, 0]
    assert lesson.weights[:, 0].tolist() == [weight] * 3 + [2 * weight] * 3


def test_tables_hold_whole_numbers_so_that_sums_are_exact() -> None:
    mix = counts((half(cpu=1300, memory=777), 7), (whole(cpu=3100), 5))
    lesson = FragmentationModel(mix, fleet(2, nodes=2), FragmentationConfig())
    lesson.weigh(room_left(lesson, [[1000, 730], [310, 0]]), FragmentationConfig())
    rooms = lesson.rooms(
        np.zeros(2, int), np.full(2, 8000.0), np.full(2, 65536.0), np.array([1111.0, 2222.0])
    )
    for table in (lesson.fill, lesson.weights, rooms):
        assert (table == np.floor(table)).all()
