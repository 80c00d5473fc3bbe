"""Nodes of a simulated zone, as people describe them; errors name the part and the remedy."""

import json
import tracemalloc

import pytest

from corral.core.nodes import DeviceLink
from corral.core.refusals import Invalid
from corral.engines.simulated_zone import documents, inventory


def test_short_text_describes_groups_of_nodes() -> None:
    fleet = inventory.parse("4x8xH100-80GB, 2x4xL4-24GB")
    assert list(fleet.nodes) == [*(f"h100-80gb-{n}" for n in (1, 2, 3, 4)), "l4-24gb-1", "l4-24gb-2"]
    big, small = fleet.nodes["h100-80gb-4"], fleet.nodes["l4-24gb-1"]
    assert [device.id for device in big.devices] == [f"gpu{n}" for n in range(8)]
    assert {(device.model, device.memory_mib) for device in big.devices} == {("H100-80GB", 81920)}
    assert (big.cpu_milli, big.memory_mib) == (128_000, 1280 * 1024)
    assert (small.cpu_milli, small.memory_mib) == (64_000, 192 * 1024)


def test_nodes_of_eight_have_nvlink_between_all_devices() -> None:
    fleet = inventory.parse("1x8xH100-80GB,1x4xL4-24GB")
    links = fleet.nodes["h100-80gb-1"].links
    assert len(links) == 28
    assert DeviceLink("gpu0", "gpu7", inventory.NVLINK_SCORE) in links
    assert fleet.nodes["l4-24gb-1"].links == ()


def test_groups_of_one_model_are_counted_on() -> None:
    assert inventory.parse("1x8xT4-16GB,2x2xT4-16GB").names == {"t4-16gb-1", "t4-16gb-2", "t4-16gb-3"}


def test_everything_says_that_it_is_simulated() -> None:
    fleet = inventory.parse("2x2xL4-24GB")
    for facts in fleet.facts.values():
        assert "simulated" in " ".join(facts.notes)
        assert {(device.vendor, device.simulated) for device in facts.devices.values()} == {
            ("simulated", True)
        }


DOCUMENT = """
nodes:
  - name: rack1
    count: 2
    cpu: 64
    memory: 512Gi
    disk: 2Ti
    devices: 2xH100-80GB
    labels: {rack: r1}
    taints: [maintenance]
    links: nvlink
  - name: odd
    devices:
      - {model: L4-24GB, memory: 24Gi}
      - {id: card1, model: T4-16GB, memory: 16Gi}
    links: [{one: gpu0, other: card1, score: 2}]
  - name: cpu-only
    cpu: 500m
    memory: 1Gi
"""


def test_document_says_more_of_each_node() -> None:
    fleet = inventory.parse(DOCUMENT)
    assert list(fleet.nodes) == ["rack1-1", "rack1-2", "odd", "cpu-only"]
    first, odd, cpu = (fleet.nodes[name] for name in ("rack1-1", "odd", "cpu-only"))
    assert (first.cpu_milli, first.memory_mib, len(first.devices)) == (64_000, 512 * 1024, 2)
    assert (first.labels, first.taints, len(first.links)) == ({"rack": "r1"}, ("maintenance",), 1)
    assert fleet.facts["rack1-2"].disk_mib == 2 * 1024 * 1024
    assert [(device.id, device.memory_mib) for device in odd.devices] == [("gpu0", 24576), ("card1", 16384)]
    assert odd.links == (DeviceLink("gpu0", "card1", 2),)
    assert (cpu.cpu_milli, cpu.memory_mib, cpu.devices) == (500, 1024, ())


def test_json_says_the_same() -> None:
    nodes = [{"name": "a", "devices": "8xH100-80GB"}]
    assert inventory.parse(json.dumps({"nodes": nodes})) == inventory.parse(json.dumps(nodes))


@pytest.mark.parametrize(
    ("description", "field", "words"),
    [
        ("", "description", "No nodes"),
        ("8xH100-80GB", "description", "'8xH100-80GB' does not describe nodes"),
        ("4x8xH100-80GB,,2x4xL4-24GB", "description", "'' does not describe"),
        ("4x8xH100", "description", "'4x8xH100' does not name devices"),
        ("0x8xH100-80GB", "description", "does not describe nodes"),
        ("4x0xH100-80GB", "description", "does not name devices"),
        ("4x65xH100-80GB", "description", "65 devices in one node"),
        ("20001x1xL4-24GB", "description", "20001 nodes"),
        ("10001x1xL4-24GB,10000x1xT4-16GB", "description", "20001 nodes"),
        ("20000x11xL4-24GB", "description", "220000 devices"),
        ("nodes: []", "description.nodes", "No nodes"),
        ("zones: []", "description.zones", "not known"),
        ("nodes: [3]", "description.nodes[0]", "by its fields"),
        ("nodes: [{devices: 2xL4-24GB}]", "description.nodes[0].name", "needs a name"),
        ("nodes: [{name: Rack 1}]", "description.nodes[0].name", "'Rack 1' is no name"),
        ("nodes: [{name: " + "a" * 64 + "}]", "description.nodes[0].name", "is no name"),
        ("nodes: [{name: a}, {name: a}]", "description", "2 nodes are named a"),
        ("nodes: [{name: a, count: 0}]", "description.nodes[0].count", "no number"),
        ("nodes: [{name: a, count: 20001}]", "description.nodes[0].count", "20001 nodes"),
        ("nodes: [{name: a, count: yes}]", "description.nodes[0].count", "no number"),
        ("nodes: [{name: a, memory: 5}]", "description.nodes[0].memory", "unit"),
        ("nodes: [{name: a, cpu: lots}]", "description.nodes[0].cpu", "number of cores"),
        ("nodes: [{name: a, cpu: 0}]", "description.nodes[0].cpu", "out of bounds"),
        ("nodes: [{name: a, gpus: 3}]", "description.nodes[0].gpus", "not known"),
        ("nodes: [{name: a, devices: 3}]", "description.nodes[0].devices", "8xH100-80GB"),
        ("nodes: [{name: a, devices: [{model: L4}]}]", "description.nodes[0].devices[0].memory", "memory"),
        (
            "nodes: [{name: a, devices: [{id: x, model: m, memory: 1Gi}, {id: x, model: m, memory: 1Gi}]}]",
            "description.nodes[0].devices",
            "same id",
        ),
        (
            "nodes: [{name: a, devices: 2xL4-24GB, links: [{one: gpu0, other: gpu9, score: 1}]}]",
            "description.nodes[0].links[0]",
            "two devices",
        ),
        ("nodes: [{name: a, links: fast}]", "description.nodes[0].links", "two devices"),
        ("nodes: [{name: a, labels: {rack: 1}}]", "description.nodes[0].labels.rack", "label"),
        ("nodes: [{name: a, taints: one}]", "description.nodes[0].taints", "list"),
        ("nodes: [", "description", "neither JSON nor YAML"),
        ("a: &x [1]\nb: *x", "description", "alias"),
        ("[" * 50 + "]" * 50, "description.nodes[0]", "by its fields"),
        ("a: " + "[" * 50 + "x" + "]" * 50, "description", "nested too deeply"),
        ("[" * 100_000, "description", "nested too deeply"),
        ("nodes: [{name: a, cpu: 2026-02-31}]", "description", "cannot be read"),
        ("nodes: " + " " * documents.MOST_CHARACTERS + "[]", "description", "characters"),
    ],
)
def test_what_is_wrong_is_named_with_a_remedy(description: str, field: str, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        inventory.parse(description)
    (error,) = refused.value.errors
    assert error.field == field
    assert words in error.message
    assert error.remedy


def test_largest_zone_is_described_at_once() -> None:
    assert len(inventory.parse("20000x8xH100-80GB").nodes) == 20_000


@pytest.mark.parametrize(
    "text",
    [
        ",".join(["20000x1xA-1GB"] * 140),
        json.dumps([{"name": f"n{number}", "count": 20000} for number in range(60)]),
    ],
)
def test_short_text_that_names_millions_of_nodes_is_given_up_early(text: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(Invalid, match="40000 nodes are more than a zone can have"):
            inventory.parse(text)
        assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
    finally:
        tracemalloc.stop()
