"""Quantities as people read them: 2 GPUs, 500m or 4 CPUs, 16Gi of memory."""

from corral_sdk.models import FlavorGpu

__all__ = ["UNLIMITED", "shown", "shown_gpu"]

UNLIMITED = -1
_WHOLE = 1000


def shown(number: int | None, resource: str) -> str:
    """For a table: 2.5, 16 GiB; ∞ where there is no bound."""
    if number is None:
        return ""
    if number == UNLIMITED:
        return "∞"
    if resource == "memory_mib":
        return f"{round(number / 1024, 1):g} GiB" if number >= 1024 else f"{number} MiB"
    return f"{number / _WHOLE:g}"


def shown_gpu(gpu: FlavorGpu | None) -> str:
    """2x whole, 1x 8 GiB, 1x 50 %, 1x 1g.10gb; with the models it must be."""
    if gpu is None:
        return ""
    if gpu.memory_mib is not None:
        size = shown(gpu.memory_mib, "memory_mib")
    elif gpu.fraction_milli is not None:
        size = f"{gpu.fraction_milli / 10:g} %"
    else:
        size = gpu.profile or "whole"
    return f"{gpu.count}x {size}" + (f" of {', '.join(gpu.models)}" if gpu.models else "")
