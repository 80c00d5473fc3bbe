"""NVIDIA devices through NVML. The binding is imported when asked for: most machines have no driver."""

from dataclasses import dataclass
from typing import Any

from corral.accelerators.device import Device, DeviceSample

__all__ = ["NvidiaDevices", "NvidiaUnavailable", "discover", "sample"]

_MIB = 1024 * 1024


@dataclass(frozen=True)
class NvidiaDevices:
    """The driver answered. `faults` names devices that are there but would not tell about themselves."""

    driver_version: str
    devices: tuple[Device, ...]
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class NvidiaUnavailable:
    """No driver that can be used, and why."""

    reason: str
    remedy: str


def discover() -> NvidiaDevices | NvidiaUnavailable:
    """Asks the driver for its devices. Takes milliseconds; blocks, so call it in a thread."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return _unavailable(pynvml, error)
    try:
        return _read(pynvml)
    except pynvml.NVMLError as error:
        return _unavailable(pynvml, error)
    finally:
        pynvml.nvmlShutdown()


def _read(nvml: Any) -> NvidiaDevices:
    devices: list[Device] = []
    faults: list[str] = []
    for index in range(nvml.nvmlDeviceGetCount()):
        # One card that has fallen off the bus must not hide the others.
        try:
            devices.append(_device(nvml, index, nvml.nvmlDeviceGetHandleByIndex(index)))
        except nvml.NVMLError as error:
            faults.append(f"GPU {index}: {error}")
    return NvidiaDevices(str(nvml.nvmlSystemGetDriverVersion()), tuple(devices), tuple(faults))


def _device(nvml: Any, index: int, handle: Any) -> Device:
    return Device(
        vendor="NVIDIA",
        model=str(nvml.nvmlDeviceGetName(handle)),
        memory_mib=int(nvml.nvmlDeviceGetMemoryInfo(handle).total) // _MIB,
        uuid=str(nvml.nvmlDeviceGetUUID(handle)),
        index=index,
        bus=str(nvml.nvmlDeviceGetPciInfo(handle).busId),
    )


def sample() -> tuple[DeviceSample, ...]:
    """What every device does now; nothing without a driver. Blocks for some milliseconds."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ()
    try:
        return tuple(_sample(pynvml, index) for index in range(pynvml.nvmlDeviceGetCount()))
    finally:
        pynvml.nvmlShutdown()


def _sample(nvml: Any, index: int) -> DeviceSample:
    def ask(read: Any) -> Any:
        # Not every device has every sensor, and one that has fallen off the bus has none.
        try:
            return read(nvml.nvmlDeviceGetHandleByIndex(index))
        except nvml.NVMLError:
            return None

    use, memory = ask(nvml.nvmlDeviceGetUtilizationRates), ask(nvml.nvmlDeviceGetMemoryInfo)
    return DeviceSample(
        index,
        None if use is None else int(use.gpu),
        None if memory is None else int(memory.used) // _MIB,
        ask(lambda handle: int(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))),
        ask(lambda handle: int(nvml.nvmlDeviceGetPowerUsage(handle))),
    )


def _unavailable(nvml: Any, error: Any) -> NvidiaUnavailable:
    if isinstance(error, nvml.NVMLError_LibraryNotFound):
        return NvidiaUnavailable(
            "No NVIDIA driver: libnvidia-ml.so.1 is not installed.",
            "Install the NVIDIA driver of this machine's GPU; without a GPU nothing is missing.",
        )
    if isinstance(error, nvml.NVMLError_DriverNotLoaded):
        return NvidiaUnavailable("The NVIDIA driver is installed but not loaded.", "Load it: modprobe nvidia")
    if isinstance(error, nvml.NVMLError_NoPermission):
        return NvidiaUnavailable(
            "This user may not use the NVIDIA driver.", "Give access to /dev/nvidiactl and /dev/nvidia*."
        )
    return NvidiaUnavailable(
        f"The NVIDIA driver does not answer: {error}.", "Run nvidia-smi and see its message."
    )
