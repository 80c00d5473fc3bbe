"""The JSON form: it round-trips, its schema is produced by the code, and wrong places are named."""

import json
from dataclasses import replace
from typing import Any

import pytest

from corral.core.refusals import Invalid
from corral.scheduling.live.mix_learning import learn
from corral.scheduling.planning.planner_state import schedule
from corral.scheduling.validate.snapshot import (
    Snapshot,
    read_plan,
    read_snapshot,
    snapshot_schema,
    write_plan,
    write_snapshot,
)
from tests.scheduling.scenario import Scenario, load_scenarios

SCENARIOS = load_scenarios()


@pytest.mark.parametrize("scenario", SCENARIOS[::5], ids=[scenario.name for scenario in SCENARIOS[::5]])
def test_snapshot_and_plan_survive_the_journey_through_json(scenario: Scenario) -> None:
    again = read_snapshot(write_snapshot(scenario.snapshot))
    assert again == scenario.snapshot
    plan = schedule(scenario.snapshot, scenario.config)
    assert schedule(again, scenario.config) == plan
    assert read_plan(write_plan(plan)) == plan


def test_order_of_what_is_listed_does_not_matter() -> None:
    for scenario in SCENARIOS[::3]:
        turned = replace(
            scenario.snapshot,
            nodes=scenario.snapshot.nodes[::-1],
            queues=scenario.snapshot.queues[::-1],
            workloads=scenario.snapshot.workloads[::-1],
        )
        assert schedule(turned, scenario.config) == schedule(scenario.snapshot, scenario.config)


def test_schema_is_produced_from_the_code() -> None:
    schema = snapshot_schema()
    assert schema["required"] == ["now", "nodes", "queues", "workloads"]
    assert schema["additionalProperties"] is False
    assert {"Node", "Queue", "Workload"} <= set(schema["$defs"])


def document() -> dict[str, Any]:
    return {
        "now": 1000,
        "nodes": [
            {"name": "n0", "cpu_milli": 8000, "memory_mib": 1000, "devices": [{"id": "g0", "memory_mib": 80}]}
        ],
        "queues": [{"name": "a"}],
        "workloads": [
            {
                "name": "w",
                "queue": "a",
                "groups": [{"name": "main", "minimum": 1, "replicas": [{"name": "w-0"}]}],
            }
        ],
    }


def refused(changed: dict[str, Any]) -> list[str]:
    with pytest.raises(Invalid) as caught:
        read_snapshot(json.dumps(changed))
    assert all(error.message and error.remedy for error in caught.value.errors)
    return [error.field for error in caught.value.errors]


def test_small_document_is_accepted() -> None:
    snapshot = read_snapshot(json.dumps(document()))
    assert isinstance(snapshot, Snapshot)
    assert [each.node for each in schedule(snapshot).placements] == ["n0"]


def _set(path: str, value: Any) -> dict[str, Any]:
    changed = document()
    *parents, last = path.split("/")
    here: Any = changed
    for part in parents:
        here = here[int(part)] if part.isdigit() else here[part]
    here[int(last) if last.isdigit() else last] = value
    return changed


def _hold(**changed: Any) -> dict[str, Any]:
    return {"name": "class", "starts_at": 10, "places": [{"node": "n0"}], **changed}


REPLICA = "workloads/0/groups/0/replicas/0"


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        ("workloads/0/queue", "b", "workloads[0].queue"),
        ("queues/0/parent", "b", "queues[0].parent"),
        ("queues/0/parent", "a", "queues[0].parent"),
        ("nodes/0/cpu_milli", -1, "nodes[0].cpu_milli"),
        ("nodes/0/cpu_milli", 1 << 60, "nodes[0].cpu_milli"),
        ("nodes/0/devices/0/memory_mib", 0, "nodes[0].devices[0].memory_mib"),
        ("workloads/0/groups/0/minimum", 2, "workloads[0].groups[0].minimum"),
        ("workloads/0/groups/0/minimum", -1, "workloads[0].groups[0].minimum"),
        ("workloads/0/groups", [], "workloads[0].groups"),
        (f"{REPLICA}/state", "running", "workloads[0].groups[0].replicas[0].node"),
        (f"{REPLICA}/node", "n0", "workloads[0].groups[0].replicas[0].node"),
        ("workloads/0/pools", ["other"], "workloads[0].pools[0]"),
        ("workloads/0/pools", ["default", "default"], "workloads[0].pools[1]"),
        ("workloads/0/pool_patience_seconds", 0, "workloads[0].pool_patience_seconds"),
        (
            "queues/0/quotas",
            {"default": {"gpu_milli": {"limit": -2}}},
            "queues[0].quotas.default.gpu_milli.limit",
        ),
        ("queues/0/quotas", {"other": {}}, "queues[0].quotas.other"),
        (
            "workloads/0/groups/0/request",
            {"devices": {"memory_mib": 81}},
            "workloads[0].groups[0].request.devices.memory_mib",
        ),
        (
            "workloads/0/groups/0/request",
            {"devices": {"count": 0}},
            "workloads[0].groups[0].request.devices.count",
        ),
        ("pools", [], "pools"),
        ("pools", [{"name": "other", "labels": {"zone": "b"}}], "nodes[0].labels"),
        ("workloads/0/colour", "red", "workloads[0].colour"),
        ("workloads/0/runtime_limit_seconds", 0, "workloads[0].runtime_limit_seconds"),
        ("workloads/0/runtime_estimate_seconds", -5, "workloads[0].runtime_estimate_seconds"),
        ("queues/0/typical_runtime_seconds", 0, "queues[0].typical_runtime_seconds"),
        ("queues/0/runtimes_seconds", [5, 4], "queues[0].runtimes_seconds[1]"),
        ("pools", [{"name": "default", "reservations": -1}], "pools[0].reservations"),
        ("holds", [_hold(ends_at=10)], "holds[0].ends_at"),
        ("holds", [_hold(queue="b")], "holds[0].queue"),
        ("holds", [_hold(workload="other")], "holds[0].workload"),
        ("holds", [_hold(queue="a", workload="w")], "holds[0]"),
        ("holds", [_hold(places=[])], "holds[0]"),
        ("holds", [_hold(pool="default", devices=1)], "holds[0]"),
        ("holds", [_hold(devices=1)], "holds[0].devices"),
        ("holds", [_hold(places=[], pool="other", devices=1)], "holds[0].pool"),
        ("holds", [_hold(places=[], pool="default", devices=2)], "holds[0].devices"),
        ("holds", [_hold(places=[{"node": "n1"}])], "holds[0].places[0].node"),
        ("holds", [_hold(places=[{"node": "n0", "cpu_milli": 9000}])], "holds[0].places[0].cpu_milli"),
        (
            "holds",
            [_hold(places=[{"node": "n0", "devices": [{"device": "g1"}]}])],
            "holds[0].places[0].devices[0].device",
        ),
        (
            "holds",
            [_hold(places=[{"node": "n0", "devices": [{"device": "g0", "memory_mib": 81}]}])],
            "holds[0].places[0].devices[0].memory_mib",
        ),
        ("holds", [_hold(), _hold()], "holds[1].name"),
        ("now", "yesterday", "now"),
        ("mix", {"other": {}}, "mix.other"),
        ("mix", {"default": {"arrivals": -1}}, "mix.default.arrivals"),
        ("mix", {"default": {"counts": [{"work": {}, "count": 0}]}}, "mix.default.counts[0].count"),
        ("mix", {"default": {"counts": [{"work": {"gpus": 1}, "count": 1}]}}, "mix.default.counts[0].work"),
        (
            "mix",
            {"default": {"counts": [{"work": {}, "count": 1}, {"work": {}, "count": 2}]}},
            "mix.default.counts[1].work",
        ),
        (
            "mix",
            {
                "default": {
                    "learnt": {
                        "counts": [{"work": {"gpus": 1, "gpu_milli": 500}, "count": 1}],
                        "kinds": [":80:any"],
                        "room": [1, 2],
                    }
                }
            },
            "mix.default.learnt.room",
        ),
        (
            "mix",
            {"default": {"learnt": {"counts": [{"work": {}, "count": 1}], "kinds": [], "room": []}}},
            "mix.default.learnt.counts[0].work",
        ),
        ("nodes/0/memory_mib", 1.5, "nodes[0].memory_mib"),
    ],
)
def test_wrong_place_is_named(path: str, value: Any, place: str) -> None:
    assert place in refused(_set(path, value))


def test_missing_nodes_are_not_guessed() -> None:
    changed = document()
    del changed["nodes"]
    assert refused(changed) == ["nodes"]


@pytest.mark.parametrize("field", ["nodes", "queues", "workloads"])
def test_names_are_unique(field: str) -> None:
    changed = document()
    changed[field].append(changed[field][0])
    assert f"{field}[1].name" in refused(changed)


def test_cycle_of_queues_is_named_at_every_queue_in_it() -> None:
    changed = document()
    changed["queues"] = [{"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}]
    assert {"queues[0].parent", "queues[1].parent"} <= set(refused(changed))


def test_workloads_are_in_leaves_only() -> None:
    changed = document()
    changed["queues"].append({"name": "below", "parent": "a"})
    assert refused(changed) == ["workloads[0].queue"]


def test_all_wrong_places_are_named_at_once() -> None:
    changed = _set("workloads/0/queue", "b")
    changed["nodes"][0]["cpu_milli"] = -1
    assert set(refused(changed)) == {"workloads[0].queue", "nodes[0].cpu_milli"}


NET = {"name": "default", "topologies": [{"name": "net", "levels": ["zone", "rack"]}]}


@pytest.mark.parametrize(
    ("wish", "place"),
    [
        ({"topology": "other", "required": "rack"}, "topology.topology"),
        ({"topology": "net", "required": "row"}, "topology.required"),
        ({"topology": "net", "preferred": "row"}, "topology.preferred"),
        ({"topology": "net", "required": "rack", "preferred": "zone"}, "topology.preferred"),
        ({"topology": "net"}, "topology"),
    ],
)
def test_wrong_wish_for_a_topology_is_named(wish: dict[str, str], place: str) -> None:
    for path in ("workloads/0/topology", "workloads/0/groups/0/topology"):
        changed = _set(path, wish)
        changed["pools"] = [NET]
        owner = "workloads[0]" if path.count("/") == 2 else "workloads[0].groups[0]"
        assert refused(changed) == [f"{owner}.{place}"]


@pytest.mark.parametrize(
    ("levels", "place"),
    [([], "levels"), (["zone", "zone"], "levels[1]"), (["zone", "node"], "levels[1]")],
)
def test_levels_of_a_topology_are_named_once_and_never_node(levels: list[str], place: str) -> None:
    changed = document()
    changed["pools"] = [{"name": "default", "topologies": [{"name": "net", "levels": levels}]}]
    assert refused(changed) == [f"pools[0].topologies[0].{place}"]


def test_what_was_learnt_survives_the_journey_through_json_and_decides_the_same() -> None:
    scenario = next(each for each in SCENARIOS if "wanted model free" in each.name)
    learnt = learn(scenario.snapshot, "default")
    snapshot = replace(scenario.snapshot, mix={"default": learnt})
    again = read_snapshot(write_snapshot(snapshot))
    assert again == snapshot
    assert learnt.learnt is not None
    assert schedule(again) == schedule(scenario.snapshot)


THREE = {"name": "3g", "memory_slices": 4, "compute_slices": 3, "starts": [0, 4]}
SLICES = {"memory_slices": 8, "compute_slices": 7, "profiles": [THREE]}
DEVICE = {"id": "g0", "memory_mib": 80, "mode": "mig", "geometry": SLICES}
DEVICE_PLACE = "nodes[0].devices[0]"


@pytest.mark.parametrize(
    ("device", "place"),
    [
        ({**DEVICE, "geometry": None}, "geometry"),
        ({**DEVICE, "geometry": {**SLICES, "memory_slices": 9}}, "geometry.memory_slices"),
        ({**DEVICE, "geometry": {**SLICES, "compute_slices": 2}}, "geometry.profiles[0].compute_slices"),
        ({**DEVICE, "geometry": {**SLICES, "memory_slices": 7}}, "geometry.profiles[0].starts"),
        ({**DEVICE, "geometry": {**SLICES, "profiles": [THREE, THREE]}}, "geometry.profiles[1].name"),
        ({**DEVICE, "instances": [{"profile": "1g", "start": 0}]}, "instances[0]"),
        ({**DEVICE, "instances": [{"profile": "3g", "start": 1}]}, "instances[0]"),
        ({**DEVICE, "instances": [{"profile": "3g", "start": 0}] * 2}, "instances[1].start"),
        ({**DEVICE, "mode": "any", "instances": []}, "instances"),
        ({"id": "g0", "memory_mib": 80, "instances": []}, "instances"),
    ],
)
def test_wrong_mig_device_is_named(device: dict[str, Any], place: str) -> None:
    assert f"{DEVICE_PLACE}.{place}" in refused(_set("nodes/0/devices/0", device))


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        ({"profile": "1g"}, "devices.profile"),
        ({"profile": "3g", "memory_mib": 10}, "devices"),
        ({"profile": "3g", "compute_percent": 10}, "devices"),
    ],
)
def test_wrong_wish_for_a_profile_is_named(wanted: dict[str, Any], place: str) -> None:
    changed = _set("nodes/0/devices/0", DEVICE)
    changed["workloads"][0]["groups"][0]["request"] = {"devices": wanted}
    assert f"workloads[0].groups[0].request.{place}" in refused(changed)


@pytest.mark.parametrize(
    ("uses", "place"),
    [
        ([{"device": "g0"}], "replicas[0].devices[0].profile"),
        ([{"device": "g0", "profile": "3g"}], "replicas[0].devices[0].profile"),
        ([{"device": "g0", "profile": "3g", "start": 2}], "replicas[0].devices[0]"),
    ],
)
def test_running_instance_is_where_the_device_has_it(uses: list[dict[str, Any]], place: str) -> None:
    changed = _set("nodes/0/devices/0", DEVICE)
    group = changed["workloads"][0]["groups"][0]
    group["request"] = {"devices": {"profile": "3g"}}
    group["replicas"] = [{"name": "w-0", "state": "running", "node": "n0", "devices": uses}]
    assert f"workloads[0].groups[0].{place}" in refused(changed)


def test_two_replicas_do_not_hold_the_same_slices() -> None:
    changed = _set("nodes/0/devices/0", DEVICE)
    group = changed["workloads"][0]["groups"][0]
    group["request"] = {"devices": {"profile": "3g"}}
    use = {"device": "g0", "profile": "3g", "start": 4}
    group["replicas"] = [
        {"name": name, "state": "running", "node": "n0", "devices": [use]} for name in ("w-0", "w-1")
    ]
    assert refused(changed) == ["workloads[0].groups[0].replicas[1].devices[0].start"]


@pytest.mark.parametrize(
    ("affinity", "place"),
    [
        ({"kind": "near"}, "kind"),
        ({"kind": "apart", "weight": 0}, "weight"),
        ({"kind": "apart", "level": "rack"}, "topology"),
        ({"kind": "apart", "level": "rack", "topology": "other"}, "topology"),
        ({"kind": "apart", "level": "row", "topology": "net"}, "level"),
    ],
)
def test_wrong_affinity_is_named(affinity: dict[str, Any], place: str) -> None:
    changed = _set("workloads/0/groups/0/request", {"affinity": [affinity]})
    changed["pools"] = [NET]
    assert refused(changed) == [f"workloads[0].groups[0].request.affinity[0].{place}"]


@pytest.mark.parametrize(
    ("links", "place"),
    [
        ([{"one": "g0", "other": "g9", "score": 1}], "links[0].other"),
        ([{"one": "g0", "other": "g0", "score": 1}], "links[0].other"),
        ([{"one": "g0", "other": "g1", "score": -1}], "links[0].score"),
        ([{"one": "g0", "other": "g1", "score": 1}, {"one": "g1", "other": "g0", "score": 1}], "links[1]"),
    ],
)
def test_wrong_link_is_named(links: list[dict[str, Any]], place: str) -> None:
    changed = _set("nodes/0/links", links)
    changed["nodes"][0]["devices"].append({"id": "g1", "memory_mib": 80})
    assert refused(changed) == [f"nodes[0].{place}"]
