"""What Corral finds on a machine, asked of a driver library that keeps NVML's contract."""

import json
import os
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path
from typing import Any

import pytest

from corral.accelerators import simulated
from corral.core.refusals import Invalid

SOURCE = Path(__file__).with_name("fake_nvml.c")
ASK = """
import json
from corral.accelerators.machine import detect_machine
print(json.dumps(detect_machine().as_dict()))
"""
SAMPLE = """
import dataclasses, json
from corral.accelerators.nvidia import sample
print(json.dumps([dataclasses.asdict(each) for each in sample()]))
"""


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that holds the library under the name the binding asks for."""
    directory = tmp_path_factory.mktemp("driver")
    library = directory / "libnvidia-ml.so.1"
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-Wl,-soname,libnvidia-ml.so.1", "-D_GNU_SOURCE"]
    subprocess.run(["gcc", *flags, "-o", str(library), str(SOURCE)], check=True)
    return directory


def machine(driver: Path | None, **environment: str) -> dict[str, Any]:
    found: dict[str, Any] = ask(ASK, driver, **environment)
    return found


def ask(program: str, driver: Path | None, **environment: str) -> Any:
    library_path = {"LD_LIBRARY_PATH": str(driver)} if driver else {}
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **library_path, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(answer.stdout)


def test_devices_of_different_models_are_listed_with_memory_and_uuid(driver: Path) -> None:
    found = machine(driver, FAKE_NVML_DEVICES="NVIDIA H100 80GB HBM3=81559;NVIDIA L4=23034")

    assert found["gpus"] == [
        {
            "vendor": "NVIDIA",
            "model": "NVIDIA H100 80GB HBM3",
            "memory_mib": 81559,
            "uuid": "GPU-00000000-0000-4000-8000-000000000000",
            "index": 0,
            "bus": "00000000:01:00.0",
        },
        {
            "vendor": "NVIDIA",
            "model": "NVIDIA L4",
            "memory_mib": 23034,
            "uuid": "GPU-00000000-0000-4000-8000-000000000001",
            "index": 1,
            "bus": "00000000:02:00.0",
        },
    ]
    assert found["gpu_driver"] == "NVIDIA 615.71.01"
    assert found["gpus_simulated"] is False
    assert found["gpu_note"] is None


def test_a_card_that_fell_off_the_bus_does_not_hide_the_others(driver: Path) -> None:
    found = machine(driver, FAKE_NVML_DEVICES="NVIDIA L4=lost;NVIDIA L4=23034")

    assert [gpu["memory_mib"] for gpu in found["gpus"]] == [23034]
    assert found["gpu_note"] == "GPU 0: GPU is lost"


@pytest.mark.skipif(find_library("nvidia-ml") is not None, reason="this machine has an NVIDIA driver")
def test_without_the_driver_library_the_reason_is_said_and_gpus_are_simulated() -> None:
    found = machine(None)

    assert found["gpus"] == []
    assert found["gpus_simulated"] is True
    assert found["gpu_driver"] is None
    assert found["gpu_note"] == "No NVIDIA driver: libnvidia-ml.so.1 is not installed."


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("12", "No NVIDIA driver: libnvidia-ml.so.1 is not installed."),
        ("9", "The NVIDIA driver is installed but not loaded."),
        ("4", "This user may not use the NVIDIA driver."),
        ("999", "The NVIDIA driver does not answer: Unknown Error."),
    ],
)
def test_a_driver_that_cannot_be_used_says_why(driver: Path, code: str, reason: str) -> None:
    found = machine(driver, FAKE_NVML_INIT=code, FAKE_NVML_DEVICES="NVIDIA L4=23034")

    assert found["gpus"] == []
    assert found["gpu_note"] == reason


def test_a_driver_without_devices_is_told_apart_from_no_driver(driver: Path) -> None:
    found = machine(driver)

    assert found["gpus"] == []
    assert found["gpu_driver"] == "NVIDIA 615.71.01"


def test_processors_and_memory_are_those_this_process_may_use() -> None:
    found = machine(None)

    assert found["cpu_count"] == len(os.sched_getaffinity(0))
    assert found["cpu_model"]
    physical_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    assert 0 < found["memory_mib"] <= physical_mib


def test_importing_the_package_does_not_import_the_binding() -> None:
    ask = "import sys, corral.accelerators.machine; sys.exit('pynvml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", ask], check=False).returncode == 0


def test_what_devices_do_is_told_as_far_as_they_have_sensors(driver: Path) -> None:
    samples = ask(SAMPLE, driver, FAKE_NVML_DEVICES="NVIDIA L4=23034;NVIDIA L4=lost")

    there = {"busy_percent": 37, "memory_used_mib": 0, "temperature_celsius": 61, "power_milliwatts": None}
    assert samples == [{"index": 0, **there}, {"index": 1, **dict.fromkeys(there)}]
    assert ask(SAMPLE, None) == [] or find_library("nvidia-ml")


def test_simulated_devices_are_named_in_words() -> None:
    devices = simulated.parse("2xH100-80GB, 1xT4-16GB")
    assert [(device.model, device.memory_mib, device.index) for device in devices] == [
        ("H100-80GB", 81920, 0),
        ("H100-80GB", 81920, 1),
        ("T4-16GB", 16384, 2),
    ]


@pytest.mark.parametrize("text", ["H100", "0xH100-80GB", "8xH100-0GB", "9999xH100-80GB", "8xH100-80"])
def test_what_does_not_name_devices_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        simulated.parse(text)
    assert refused.value.errors[0].field == "simulated_gpus"
