"""Placement by the room that is left for the work that usually arrives."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corral.scheduling.room import Place, Room
from corral.scheduling.room_mix import Mix, WorkClass
from corral.scheduling.room_nodes import DeviceModel, NodeArrays

MODELS = [DeviceModel("A", 81920), DeviceModel("B", 24576)]
WORK = [
    WorkClass(1000, 2048),
    WorkClass(2000, 4096, gpus=1, gpu_milli=250),
    WorkClass(3500, 9000, gpus=1, gpu_milli=370),
    WorkClass(4000, 16384, gpus=1, gpu_milli=1000),
    WorkClass(4000, 8192, gpus=1, gpu_milli=600, models=("B",)),
    WorkClass(2000, 8192, gpus=1, slice_mib=10000),
    WorkClass(2000, 8192, gpus=1, slice_mib=30000),
    WorkClass(2000, 8192, gpus=2, slice_mib=5000),
    WorkClass(8000, 32768, gpus=2, gpu_milli=1000),
    WorkClass(16000, 65536, gpus=4, gpu_milli=1000, models=("A",)),
]


def cluster(count: int = 12, pods: int = 30) -> NodeArrays:
    number = np.arange(count)
    return NodeArrays(
        MODELS,
        cpu=np.where(number % 3 == 0, 32000, 16000),
        memory=np.where(number % 4 == 0, 131072, 65536),
        model=number % 2,
        gpus=np.where(number % 2 == 0, 4, 2),
        pods=np.full(count, pods),
    )


def totals(nodes: NodeArrays) -> list[object]:
    return [array.tolist() for array in (nodes.cpu, nodes.memory, nodes.pods, nodes.milli)]


@dataclass(frozen=True)
class Step:
    work: int
    leaves: int | None  # which of the running ones leaves first


STEPS = st.lists(
    st.builds(Step, st.integers(0, len(WORK) - 1), st.none() | st.integers(0, 1000)), min_size=1, max_size=40
)


def follow(room: Room, steps: list[Step]) -> list[tuple[WorkClass, Place]]:
    running: list[tuple[WorkClass, Place]] = []
    for step in steps:
        if step.leaves is not None and running:
            room.release(*running.pop(step.leaves % len(running)))
            room.leave()
        work = WORK[step.work]
        room.arrive(work)
        place = room.choose(work)
        if place is not None:
            room.place(work, place)
            running.append((work, place))
    return running


@settings(max_examples=30, deadline=None)
@given(STEPS)
def test_cached_scores_equal_those_of_a_fresh_start_from_the_stored_mix(steps: list[Step]) -> None:
    room = Room(cluster(), Mix())
    follow(room, steps)
    nodes = room.nodes
    copy = NodeArrays(
        MODELS, nodes.cpu, nodes.memory, nodes.model, nodes.gpus, milli=nodes.milli, pods=nodes.pods
    )
    fresh = Room(copy, Mix.from_json(json.loads(json.dumps(room.mix.as_json()))))
    everywhere = np.arange(len(nodes))
    for work in WORK:
        assert room.rank(work, everywhere).tolist() == fresh.rank(work, everywhere).tolist()
        assert room.choose(work) == fresh.choose(work)


@settings(max_examples=30, deadline=None)
@given(STEPS)
def test_nothing_is_over_committed_and_all_comes_back_when_work_leaves(steps: list[Step]) -> None:
    room = Room(cluster(), Mix())
    running = follow(room, steps)
    nodes, empty = room.nodes, cluster()
    for node in range(len(nodes)):
        here = [(work, place) for work, place in running if place.node == node]
        memory_mib = MODELS[nodes.model[node]].memory_mib
        assert nodes.cpu[node] == empty.cpu[node] - sum(work.cpu_milli for work, _ in here) >= 0
        assert nodes.memory[node] == empty.memory[node] - sum(work.memory_mib for work, _ in here) >= 0
        assert nodes.pods[node] == empty.pods[node] - len(here) >= 0
        for gpu in range(nodes.milli.shape[1]):
            used = sum(work.milli_on(memory_mib) for work, place in here if gpu in place.gpus)
            assert nodes.milli[node, gpu] == empty.milli[node, gpu] - used >= 0
        assert all(len(set(place.gpus)) == work.gpus for work, place in here)
        assert all(work.allows(MODELS[nodes.model[node]].name) for work, _ in here if work.gpus)
    for work, place in running:
        room.release(work, place)
    assert totals(nodes) == totals(empty)


@settings(max_examples=30, deadline=None)
@given(STEPS)
def test_work_is_refused_only_where_no_node_could_take_it(steps: list[Step]) -> None:
    room = Room(cluster(count=4), Mix())
    follow(room, steps)
    nodes = room.nodes
    for work in WORK:
        possible = any(
            nodes.cpu[node] >= work.cpu_milli
            and nodes.memory[node] >= work.memory_mib
            and (not work.gpus or work.allows(MODELS[nodes.model[node]].name))
            and (nodes.milli[node] >= work.milli_on(MODELS[nodes.model[node]].memory_mib)).sum() >= work.gpus
            for node in range(len(nodes))
        )
        assert (room.choose(work) is not None) == possible


@settings(max_examples=10, deadline=None)
@given(STEPS)
def test_the_same_arrivals_find_the_same_places(steps: list[Step]) -> None:
    assert follow(Room(cluster(), Mix()), steps) == follow(Room(cluster(), Mix()), steps)


def test_with_an_empty_mix_every_node_that_fits_is_as_good() -> None:
    room = Room(cluster(), Mix())
    losses = room.rank(WORK[3], np.arange(12))
    assert set(losses.tolist()) == {0.0}
    losses = room.rank(WORK[4], np.arange(12))
    assert [loss == 0 for loss in losses] == [node % 2 == 1 for node in range(12)]


def test_a_slice_goes_where_it_leaves_a_gap_that_others_fill() -> None:
    nodes = NodeArrays(
        MODELS[:1],
        cpu=np.full(2, 64000),
        memory=np.full(2, 262144),
        model=np.zeros(2, int),
        gpus=np.full(2, 1),
        milli=np.array([[700], [1000]]),
    )
    room = Room(nodes, Mix())
    room.mix.counts = {WorkClass(1000, 1024, gpus=1, gpu_milli=700): 10_000}
    room.refresh()
    slice_ = WorkClass(1000, 1024, gpus=1, gpu_milli=300)
    # On GPU 0 it would end the last place for a 700; on GPU 1 it takes what a 700 leaves over anyway.
    assert room.choose(slice_) == Place(1, (0,))
    assert room.rank(slice_, [0, 1])[1] == 0
    assert room.rank(slice_, [0, 1])[0] > 0


def test_work_without_gpus_stays_off_the_cpus_that_gpus_need() -> None:
    nodes = NodeArrays(
        MODELS[:1],
        cpu=np.array([8000, 8000]),
        memory=np.full(2, 262144),
        model=np.zeros(2, int),
        gpus=np.full(2, 2),
        milli=np.array([[1000, 1000], [0, 0]]),
    )
    mix = Mix()
    mix.counts = {WorkClass(4000, 1024, gpus=1, gpu_milli=1000): 10_000}
    room = Room(nodes, mix)
    room.refresh()
    assert room.choose(WorkClass(4000, 1024)) == Place(1, ())


ADMITTED = [
    WorkClass(2000, 8192, gpus=1, gpu_milli=1000),
    WorkClass(14000, 8192, gpus=1, gpu_milli=1000),
    WorkClass(3000, 8192, gpus=1, gpu_milli=700),
    WorkClass(3000, 8192, gpus=1, gpu_milli=400),
    WorkClass(8000, 32768, gpus=4, gpu_milli=1000),
    WorkClass(6000, 16384),
]


def inflatable() -> NodeArrays:
    number = np.arange(40)
    return NodeArrays(
        MODELS[:1],
        cpu=np.where(number % 2 == 0, 48000, 24000),
        memory=np.full(40, 262144),
        model=np.zeros(40, int),
        gpus=np.full(40, 4),
    )


def admitted_by_room(arrivals: list[WorkClass]) -> int:
    room, milli = Room(inflatable(), Mix()), 0
    for work in arrivals:
        room.arrive(work)
        place = room.choose(work)
        if place is not None:
            room.place(work, place)
            milli += work.gpus * work.gpu_milli
    return milli


def admitted_by_best_fit(arrivals: list[WorkClass]) -> int:
    nodes, milli = inflatable(), 0
    for work in arrivals:
        enough = (nodes.milli >= work.gpu_milli).sum(axis=1) >= work.gpus
        fits = (nodes.cpu >= work.cpu_milli) & enough
        if not fits.any():
            continue
        left = nodes.milli.sum(axis=1) / 4000 + nodes.cpu / 48000
        node = int(np.where(fits, left, np.inf).argmin())
        fullest = np.argsort(
            np.where(nodes.milli[node] >= work.gpu_milli, nodes.milli[node], 9999), kind="stable"
        )
        nodes.cpu[node] -= work.cpu_milli
        nodes.milli[node, fullest[: work.gpus]] -= work.gpu_milli
        milli += work.gpus * work.gpu_milli
    return milli


def test_room_admits_more_than_best_fit_on_a_cluster_that_fills_up() -> None:
    by_room = by_best_fit = 0
    for seed in range(5):
        drawn = np.random.default_rng(seed).choice(len(ADMITTED), 400, p=[0.15, 0.2, 0.2, 0.2, 0.1, 0.15])
        arrivals = [ADMITTED[index] for index in drawn]
        by_room += admitted_by_room(arrivals)
        by_best_fit += admitted_by_best_fit(arrivals)
    assert by_room > 1.01 * by_best_fit


def test_changes_from_outside_are_seen() -> None:
    room = Room(cluster(), Mix())
    room.arrive(WORK[3])
    first = room.choose(WORK[3])
    assert first is not None
    room.nodes.cpu[first.node] = 0
    room.changed([first.node])
    again = room.choose(WORK[3])
    assert again is not None
    assert again.node != first.node


def test_placing_more_than_is_left_is_refused() -> None:
    room = Room(cluster(), Mix())
    with pytest.raises(ValueError, match="too little left"):
        room.place(WorkClass(64000, 0), Place(0, ()))
    room.place(WORK[3], Place(0, (0,)))
    with pytest.raises(ValueError, match="too little left"):
        room.place(WORK[1], Place(0, (0,)))


def test_releasing_what_was_not_there_is_refused() -> None:
    room = Room(cluster(), Mix())
    with pytest.raises(ValueError, match="was not on"):
        room.release(WORK[3], Place(0, (0,)))
