"""How hosts prove to each other that they have the same keys: a signed call, and a signed answer to it.

A call names who asks whom, when, and a number that is used once. The answer signs that number, so whoever
listens at a host's address without having its keys learns no more than that somebody asked.
"""

import base64
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from corral.core.refusals import Forbidden, Unauthenticated
from corral.store.keyring import Keyring

SCHEME = "CorralHost"
# For how long a call is good: the way to the other host, and clocks that differ.
VALID_SECONDS = 60
MOST_NUMBERS = 100_000
_CALL, _ANSWER = "host-call", "host-answer"


@dataclass(frozen=True, slots=True)
class Call:
    """`number` is that of the call, to be signed by whoever answers."""

    from_host: str
    to_host: str
    number: str
    at: int


class HostCredentials:
    """Of one host: signs its calls, checks those of others."""

    def __init__(self, keyring: Keyring, host_id: str, now: Callable[[], float]) -> None:
        self.host_id = host_id
        self._keyring = keyring
        self._now = now
        self._numbers: dict[str, int] = {}  # of calls that were answered, with when each is too old anyway

    def call(self, to_host: str) -> tuple[Call, str]:
        """A new call, and the header that carries it."""
        call = Call(self.host_id, to_host, secrets.token_hex(16), int(self._now()))
        text = base64.urlsafe_b64encode(_bytes(call)).decode()
        return call, f"{SCHEME} {text}.{self._keyring.sign(_bytes(call), _CALL)}"

    def accept(self, header: str | None) -> Call:
        """The call of another host that has the same keys; refuses everybody else."""
        scheme, _, rest = (header or "").partition(" ")
        text, _, signature = rest.partition(".")
        if scheme != SCHEME or len(rest) > 2000:
            raise _unknown()
        try:
            message = base64.urlsafe_b64decode(text.encode("ascii"))
            if not self._keyring.is_signature(message, signature, _CALL):
                raise _unknown()
            call = Call(**json.loads(message))
        except (ValueError, TypeError):
            raise _unknown() from None
        self._check(call)
        return call

    def _check(self, call: Call) -> None:
        if call.to_host != self.host_id:
            raise Forbidden(
                "This call is for another host.",
                "Give the host that was meant an internal_url that leads to it alone.",
            )
        now = int(self._now())
        if abs(now - call.at) > VALID_SECONDS:
            raise Forbidden(
                f"The clocks of the two hosts differ by {abs(now - call.at)} s.", "Set them by NTP."
            )
        self._numbers = {number: end for number, end in self._numbers.items() if end >= now}
        if call.number in self._numbers or len(self._numbers) >= MOST_NUMBERS:
            raise Forbidden("This call was answered before.", "Make a new one.")
        self._numbers[call.number] = call.at + VALID_SECONDS

    def answer(self, call: Call) -> str:
        """Proves to the caller that this host has the keys, too."""
        return self._keyring.sign(_bytes(call), _ANSWER)

    def is_answer(self, call: Call, signature: str) -> bool:
        return self._keyring.is_signature(_bytes(call), signature, _ANSWER)


def _bytes(call: Call) -> bytes:
    values = {
        "from_host": call.from_host,
        "to_host": call.to_host,
        "number": call.number,
        "at": call.at,
    }
    return json.dumps(values, sort_keys=True).encode()


def _unknown() -> Unauthenticated:
    return Unauthenticated("This is for hosts of this Corral.", "Join with its keys: corral join.")
