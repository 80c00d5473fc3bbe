"""Checks of the mixes of a snapshot: what placement learns from must belong to its pools and devices."""

from collections.abc import Iterator, Sequence

from corral.core.devices import Device
from corral.core.mixes import ClassCount, Experience, WorkClass
from corral.core.refusals import FieldError
from corral.scheduling.placing.fragmentation_model import bucket_count, kind_name
from corral.scheduling.validate.snapshot import Snapshot

_REMEDY = "Leave `learnt` out: the cycle then learns from the counts."


def check_mixes(snapshot: Snapshot) -> Iterator[FieldError]:
    pools = {pool.name: pool for pool in snapshot.pools}
    for name, mix in snapshot.mix.items():
        place = f"mix.{name}"
        if name not in pools:
            yield FieldError(place, f"There is no pool {name!r}.", "Name a pool.")
            continue
        if mix.arrivals < 0:
            yield FieldError(f"{place}.arrivals", f"{mix.arrivals} is negative.", "Count from 0.")
        if mix.departures < 0:
            yield FieldError(f"{place}.departures", f"{mix.departures} is negative.", "Count from 0.")
        yield from _counts(f"{place}.counts", mix.counts)
        if mix.learnt is not None:
            labels = pools[name].labels
            kinds = {
                device.kind: device
                for node in snapshot.nodes
                if all(node.labels.get(key) == value for key, value in labels.items())
                for device in node.devices
            }
            yield from _learnt(f"{place}.learnt", mix.learnt, [kinds[kind] for kind in sorted(kinds)])


def _counts(place: str, counts: Sequence[ClassCount]) -> Iterator[FieldError]:
    first_index: dict[WorkClass, int] = {}
    for index, each in enumerate(counts):
        at = f"{place}[{index}]"
        if each.count < 1:
            yield FieldError(f"{at}.count", f"{each.count} is below 1.", "Leave the class out.")
        if each.work in first_index:
            yield FieldError(
                f"{at}.work",
                f"{place}[{first_index[each.work]}] is the same class.",
                "Count each class once.",
            )
        first_index.setdefault(each.work, index)


def _learnt(place: str, learnt: Experience, kinds: Sequence[Device]) -> Iterator[FieldError]:
    wrong = list(_counts(f"{place}.counts", learnt.counts))
    for index, each in enumerate(learnt.counts):
        if not each.work.gpus:
            wrong.append(
                FieldError(
                    f"{place}.counts[{index}].work",
                    "Only work on GPUs is learnt from.",
                    "Leave the class out.",
                )
            )
    yield from wrong
    if not 0 <= learnt.turnover <= 1000:
        yield FieldError(f"{place}.turnover", f"{learnt.turnover} is not between 0 and 1000.", _REMEDY)
    for index, left in enumerate(learnt.room):
        if left < 0:
            yield FieldError(f"{place}.room[{index}]", f"{left} is negative.", _REMEDY)
    # What was learnt for other devices is not used.
    if not wrong and learnt.kinds == tuple(map(kind_name, kinds)):
        needed = bucket_count(learnt.counts, kinds) if learnt.counts and kinds else 0
        if len(learnt.room) != needed:
            yield FieldError(
                f"{place}.room", f"It has {len(learnt.room)} entries; its counts need {needed}.", _REMEDY
            )
