"""Reads the openb cluster: its GPU nodes and its task lists."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.arrays import DeviceModel, NodeArrays
from corral.core.devices import Device
from corral.core.mixes import WorkClass
from corral.core.nodes import Node

LISTS = ("default", "gpushare40", "gpushare100", "multigpu50", "gpuspec33", "cpu250")
PODS_PER_NODE = 1001
NODE_FILE = "openb_node_list_gpu_node.csv"

WHERE = """\
{folder} has no {name}. The openb lists are part of Alibaba's cluster-trace-gpu-v2023:
  https://github.com/alibaba/clusterdata, folder cluster-trace-gpu-v2023/csv
Copy {nodes} and openb_pod_list_*.csv to a folder (or to its subfolder openb)
and name it with --traces."""

# The lists do not say how much memory a device has; where slices in MiB are tried, these sizes are assumed.
DEVICE_MIB = {
    "A10": 24576,
    "G2": 24576,
    "G3": 81920,
    "P100": 16384,
    "T4": 16384,
    "V100M16": 16384,
    "V100M32": 32768,
}


def find_folder(traces: Path) -> Path:
    """The folder of the lists: `traces` or its subfolder openb; ends the program where there is none."""
    for folder in (traces, traces / "openb"):
        if (folder / NODE_FILE).is_file():
            return folder
    sys.exit(WHERE.format(folder=traces, name=NODE_FILE, nodes=NODE_FILE))


def read_nodes(folder: Path) -> NodeArrays:
    rows = _rows(folder, NODE_FILE)
    names = sorted({row["model"] for row in rows})
    return NodeArrays(
        [DeviceModel(name, DEVICE_MIB[name]) for name in names],
        cpu=np.array([int(row["cpu_milli"]) for row in rows]),
        memory=np.array([int(row["memory_mib"]) for row in rows]),
        model=np.array([names.index(row["model"]) for row in rows]),
        gpus=np.array([int(row["gpu"]) for row in rows]),
        pods=np.full(len(rows), PODS_PER_NODE),
    )


def snapshot_nodes(folder: Path) -> tuple[Node, ...]:
    """The nodes as a snapshot has them."""
    return tuple(
        Node(
            row["sn"],
            cpu_milli=int(row["cpu_milli"]),
            memory_mib=int(row["memory_mib"]),
            pods=PODS_PER_NODE,
            devices=tuple(
                Device(f"g{number}", DEVICE_MIB[row["model"]], row["model"])
                for number in range(int(row["gpu"]))
            ),
        )
        for row in _rows(folder, NODE_FILE)
    )


def reorder(nodes: NodeArrays, order: Sequence[int]) -> NodeArrays:
    """The same nodes, with what is left on them, in another order (ties go to the first)."""
    index = np.array(order)
    return NodeArrays(
        nodes.models,
        nodes.cpu[index],
        nodes.memory[index],
        nodes.model[index],
        nodes.gpus[index],
        milli=nodes.milli[index],
        pods=nodes.pods[index],
    )


def read_tasks(folder: Path, list_name: str) -> list[WorkClass]:
    tasks = [_task(row) for row in _rows(folder, f"openb_pod_list_{list_name}.csv")]
    once = {work: work for work in tasks}
    return [once[work] for work in tasks]


def _task(row: dict[str, str]) -> WorkClass:
    gpus = int(row["num_gpu"])
    models = row.get("gpu_spec") or ""
    return WorkClass(
        cpu_milli=int(row["cpu_milli"]),
        memory_mib=int(row["memory_mib"]),
        gpus=gpus,
        gpu_milli=int(row["gpu_milli"]) if gpus else 0,
        models=tuple(sorted(set(models.split("|")))) if gpus and models else (),
    )


def _rows(folder: Path, name: str) -> list[dict[str, str]]:
    path = folder / name
    if not path.is_file():
        sys.exit(WHERE.format(folder=folder, name=name, nodes=NODE_FILE))
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
