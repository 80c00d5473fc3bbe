"""Readers of traces: what they make of a line, and what they say about a wrong one."""

from pathlib import Path

import pytest

from corral.core.refusals import Invalid
from corral.core.workloads import DeviceRequest
from corral.replay.jobs import gang
from corral.replay.traces.find import read_trace

PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster\n"
MURI = "job_id,num_gpu,submit_time,iterations,duration\n"
OPENB = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time\n"
)


def philly(folder: Path, lines: str) -> Path:
    (folder / "philly.csv").write_text(PHILLY + lines)
    (folder / "philly_vc_nodes.csv").write_text("vc,node num\na,4\nb,2\n")
    return folder


@pytest.mark.parametrize(
    ("gpus", "replicas", "each"), [(1, 1, 1), (8, 1, 8), (12, 2, 6), (24, 3, 8), (9, 3, 3), (13, 13, 1)]
)
def test_gang_has_as_few_equal_parts_as_nodes_allow(gpus: int, replicas: int, each: int) -> None:
    assert gang(gpus, 8) == (replicas, DeviceRequest(each))


def test_philly_is_ordered_by_arrival_with_virtual_clusters_as_queues(tmp_path: Path) -> None:
    lines = "2017-10-09 07:00:10,66.4,1,66,a\n2017-10-09 07:00:00,100.0,16,1600,b\n"
    trace = read_trace(philly(tmp_path, lines), gpus_per_node=8)
    first, second = trace.jobs
    assert (first.queue, first.arrives, first.work_seconds, first.replicas) == ("b", 0, 100, 2)
    assert (second.queue, second.arrives, second.work_seconds) == ("a", 10, 66)
    assert trace.guarantees == {"a": 32, "b": 16}
    assert len(trace.nodes) == 6


def test_philly_can_be_made_smaller_evenly(tmp_path: Path) -> None:
    folder = philly(tmp_path, "2017-10-09 07:00:10,66.4,1,66,a\n")
    trace = read_trace(folder, gpus_per_node=8, nodes_divided_by=2)
    assert trace.guarantees == {"a": 16, "b": 8}


def test_muri_counts_in_milliseconds(tmp_path: Path) -> None:
    file = tmp_path / "set.csv"
    file.write_text(MURI + "3,16,201694000,1,4472936000\n")
    (job,) = read_trace(file, gpus_per_node=8).jobs
    assert (job.arrives, job.work_seconds, job.gpu_milli, job.replicas) == (201_694, 4_472_936, 16_000, 2)


def test_openb_has_parts_of_devices_models_and_work_without_any(tmp_path: Path) -> None:
    file = tmp_path / "openb_pod_list_default.csv"
    file.write_text(
        OPENB
        + "p0,6000,12288,1,460,V100M32|A10,LS,Running,10,110,20\n"
        + "p1,6000,12288,0,0,,BE,Succeeded,0,50,0\n"
        + "p2,6000,12288,1,1000,,BE,Pending,0,50,\n"
    )
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(
        "sn,cpu_milli,memory_mib,gpu,model\nn0,8000,100,2,T4\n"
    )
    trace = read_trace(tmp_path, gpus_per_node=8)
    without, part = trace.jobs
    assert without.request.devices is None
    assert part.request.devices == DeviceRequest(1, fraction_milli=460, models=("A10", "V100M32"))
    assert (part.arrives, part.work_seconds) == (10, 90)
    assert len(trace.nodes[0].devices) == 2
    assert trace.notes == ("1 tasks that never got a place in the record are left out.",)


@pytest.mark.parametrize(
    ("lines", "place", "told"),
    [
        ("yesterday,66.4,1,66,a\n", "line 2, timestamp", "'yesterday' is no date and time"),
        ("2017-10-09 07:00:10,long,1,66,a\n", "line 2, duration", "'long' is not a number"),
        ("2017-10-09 07:00:10,nan,1,66,a\n", "line 2, duration", "an is not between"),
        ("2017-10-09 07:00:10,66,1.5,66,a\n", "line 2, num_gpus", "1.5 is not a whole number"),
        ("2017-10-09 07:00:10,66,0,66,a\n", "line 2, num_gpus", "0 is not between 1"),
        ("2017-10-09 07:00:10,66,1,66,\n", "line 2, cluster", "Is empty"),
        ("", "philly.csv", "The trace is empty"),
    ],
)
def test_wrong_line_is_named(tmp_path: Path, lines: str, place: str, told: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_trace(philly(tmp_path, lines), gpus_per_node=8)
    (error,) = refused.value.errors
    assert error.field.endswith(place)
    assert told in error.message
    assert error.remedy


def test_missing_and_unknown_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="no known trace"):
        read_trace(tmp_path, gpus_per_node=8)
    with pytest.raises(Invalid, match="cannot be read"):
        read_trace(tmp_path / "absent.csv", gpus_per_node=8)
    unknown = tmp_path / "unknown.csv"
    unknown.write_text("a,b\n1,2\n")
    with pytest.raises(Invalid, match="columns a, b are those of no known trace"):
        read_trace(unknown, gpus_per_node=8)
    (tmp_path / "philly.csv").write_text(PHILLY)
    with pytest.raises(Invalid, match="nodes of the virtual clusters are missing"):
        read_trace(tmp_path / "philly.csv", gpus_per_node=8)
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Invalid, match="no CSV file"):
        read_trace(binary, gpus_per_node=8)
