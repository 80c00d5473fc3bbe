"""Checks of links: two different devices of the node, and each pair once."""

from collections.abc import Iterator

from corral.core.nodes import Node
from corral.core.refusals import FieldError
from corral.scheduling.validate.check_helpers import numbered, quantities


def check_links(place: str, node: Node) -> Iterator[FieldError]:
    devices = {device.id for device in node.devices}
    pairs: set[frozenset[str]] = set()
    for at, link in numbered(f"{place}.links", node.links):
        yield from quantities(at, score=link.score)
        for field, name in (("one", link.one), ("other", link.other)):
            if name not in devices:
                yield FieldError(f"{at}.{field}", f"{node.name!r} has no device {name!r}.", "Name one.")
        pair = frozenset((link.one, link.other))
        if len(pair) == 1:
            yield FieldError(f"{at}.other", "A device has no link to itself.", "Name another device.")
        elif pair in pairs:
            yield FieldError(at, "This pair has a link already.", "Name each pair once.")
        pairs.add(pair)
