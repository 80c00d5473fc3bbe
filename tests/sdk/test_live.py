"""The client against a running Corral: what the scripted server of the other tests cannot show."""

from contextlib import closing
from itertools import islice
from queue import Queue
from threading import Thread

import pytest
from corral_sdk import Client, Problem
from corral_sdk.models import Event

from tests.live import LiveCorral


@pytest.fixture
def client(live_corral: LiveCorral) -> Client:
    return Client(environ={"CORRAL_HOME": str(live_corral.home), "HOME": "/nonexistent"})


def test_a_change_that_happened_while_nobody_listened_is_heard_afterwards(client: Client) -> None:
    root = next(client.organisations.list())
    made = client.organisations.create(root.id, "Seen")
    with closing(client.events(last_event_id="0")) as events:
        earlier = next(each for each in islice(events, 200) if each.object_id == made.id)
    changed = client.organisations.update(made.id, name="Changed meanwhile")

    with closing(client.events(last_event_id=earlier.id)) as events:
        heard = next(each for each in islice(events, 200) if each.object_id == made.id)

    assert heard.generation == changed.generation
    assert int(heard.id) > int(earlier.id)


def test_a_change_is_heard_by_who_listens(client: Client) -> None:
    root = next(client.organisations.list())
    made = client.organisations.create(root.id, "Listened to")
    heard: Queue[Event] = Queue()

    def listen() -> None:
        with closing(client.events(last_event_id="0")) as events:
            for event in events:
                heard.put(event)
                if event.object_id == made.id and event.generation == 2:
                    return

    listener = Thread(target=listen)
    listener.start()
    while heard.get(timeout=30).object_id != made.id:
        pass
    client.organisations.update(made.id, name="Changed now")
    listener.join(30)
    assert not listener.is_alive()


def test_a_stale_change_is_refused_and_nothing_is_overwritten(client: Client) -> None:
    root = next(client.organisations.list())
    made = client.organisations.create(root.id, "Contested")
    client.organisations.update(made.id, name="Mine", generation=made.generation)

    with pytest.raises(Problem) as refused:
        client.organisations.update(made.id, name="Yours", generation=made.generation)

    assert refused.value.status == 412
    assert client.organisations.get(made.id).name == "Mine"
