"""Hosts prove to each other that they have the same keys."""

import base64
import json

import pytest

from corral.core.refusals import Forbidden, Unauthenticated
from corral.hosts.credentials import SCHEME, VALID_SECONDS, HostCredentials
from corral.store.keyring import Keyring

OLD, NEW, OTHER = (bytes([number]) * 32 for number in (1, 2, 3))


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def host(name: str, clock: Clock, *keys: bytes) -> HostCredentials:
    return HostCredentials(Keyring(list(keys or (OLD,))), name, clock)


def test_a_call_is_accepted_once_and_its_answer_is_known(clock: Clock) -> None:
    one, two = host("one", clock), host("two", clock)
    call, header = one.call("two")
    accepted = two.accept(header)
    assert accepted == call
    assert one.is_answer(call, two.answer(accepted))
    with pytest.raises(Forbidden, match="answered before"):
        two.accept(header)


def test_hosts_understand_each_other_while_a_key_is_rotated(clock: Clock) -> None:
    one, two = host("one", clock, NEW, OLD), host("two", clock, OLD)
    call, header = two.call("one")
    assert two.is_answer(call, host("one", clock, OLD).answer(one.accept(header)))
    with pytest.raises(Unauthenticated):
        two.accept(one.call("two")[1])  # it does not have the new key yet, and is told to get it


def test_a_call_with_other_keys_for_another_host_or_of_another_time_is_refused(clock: Clock) -> None:
    two = host("two", clock)
    with pytest.raises(Unauthenticated):
        two.accept(host("one", clock, OTHER).call("two")[1])
    with pytest.raises(Forbidden, match="another host"):
        two.accept(host("one", clock).call("three")[1])
    header = host("one", clock).call("two")[1]
    clock.now += VALID_SECONDS + 1
    with pytest.raises(Forbidden, match="clocks"):
        two.accept(header)


def test_what_is_no_call_is_refused(clock: Clock) -> None:
    one, two = host("one", clock), host("two", clock)
    _, header = one.call("two")
    text, _, signature = header.removeprefix(f"{SCHEME} ").partition(".")
    changed = json.loads(base64.urlsafe_b64decode(text)) | {"from_host": "three"}
    forged = base64.urlsafe_b64encode(json.dumps(changed, sort_keys=True).encode()).decode()
    for bad in (
        None,
        "",
        "Bearer corral_x_y",
        SCHEME,
        f"{SCHEME} .",
        f"{SCHEME} {text}",
        f"{SCHEME} {text}.{signature[:-1]}",
        f"{SCHEME} {forged}.{signature}",
        f"{SCHEME} {'A' * 5000}.{signature}",
        f"{SCHEME} é.{signature}",
    ):
        with pytest.raises(Unauthenticated):
            two.accept(bad)


def test_an_answer_of_somebody_without_the_keys_is_none(clock: Clock) -> None:
    one = host("one", clock)
    call, _ = one.call("two")
    other_call, _ = one.call("two")
    assert not one.is_answer(call, "")
    assert not one.is_answer(call, host("two", clock, OTHER).answer(call))
    assert not one.is_answer(call, host("two", clock).answer(other_call))
