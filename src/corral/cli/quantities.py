"""Quantities as people write and read them: 2 GPUs, 500m or 4 CPUs, 16Gi of memory."""

from decimal import Decimal, InvalidOperation

from corral_sdk.models import FlavorGpu

from corral.cli.refusals import CommandError
from corral.core import quantities

__all__ = ["UNLIMITED", "amount", "shown", "shown_gpu"]

UNLIMITED = -1
_WHOLE = 1000


def amount(text: str, resource: str, place: str) -> int:
    """In the unit of the resource: 2.5 of gpu_milli is 2500, 16Gi of memory_mib is 16384."""
    if resource == "memory_mib":
        return _mebibytes(text, place)
    if resource == "cpu_milli" and text.endswith("m") and text[:-1].isdigit():
        return int(text[:-1])
    return _milli(text, place)


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


def _mebibytes(text: str, place: str) -> int:
    try:
        return quantities.mebibytes(text)
    except ValueError:
        raise CommandError(
            f"{place} {text!r} is not an amount of memory.", remedy="Write 512Mi, 16Gi or 1.5Ti."
        ) from None


def _milli(text: str, place: str) -> int:
    try:
        milli = Decimal(text) * _WHOLE
    except InvalidOperation:
        milli = Decimal("NaN")
    if not milli.is_finite() or milli < 0 or milli != milli.to_integral_value():
        raise CommandError(f"{place} {text!r} is not a number.", remedy="Write 2 or 0.5.")
    return int(milli)
