"""Why work waits, for people."""

from corral_sdk import encode
from corral_sdk.models import Verdict

from corral.cli.output import print_json, say

__all__ = ["print_verdict", "verdict_line"]

_CHOSEN = " It would go there."


def verdict_line(verdict: Verdict) -> str:
    """In one line: why, at which place, and when it will probably start."""
    parts = [verdict.sentence]
    if verdict.in_queue is not None and verdict.in_queue.of > 1:
        parts.append(f"Number {verdict.in_queue.number} of {verdict.in_queue.of} in its queue.")
    if verdict.expectation:
        parts.append(f"Start: {verdict.expectation}.")
    return " ".join(parts)


def print_verdict(verdict: Verdict, *, as_json: bool) -> None:
    if as_json:
        print_json(encode(verdict))
        return
    say(verdict_line(verdict))
    for detail in verdict.details:
        say(f"  {detail}")
    if verdict.takes_from:
        say(f"  It takes the place of {', '.join(verdict.takes_from)}.")
    if len(verdict.zones) > 1:
        for zone in verdict.zones:
            say(f"  {zone.zone_name}: {zone.sentence}{_CHOSEN if zone.zone_id == verdict.zone_id else ''}")
    for help_ in verdict.helps:
        say(f"  {help_.sentence}")
