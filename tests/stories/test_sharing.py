"""Three people share 8 GPUs, 2 are guaranteed to each: borrowed, given back at once, resumed later by itself.

Real processes on simulated GPUs: what is seen is what the programs themselves wrote.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live import LiveCorral, running_corral
from tests.stories.people import Person, administrator, guarantee, new_person, wait_for

# Counts steps, keeps the count in its workspace, and saves when it is told to go.
TRAINING = """
import json, os, pathlib, signal, sys, time
saved = pathlib.Path("steps.json")
step = json.loads(saved.read_text()) if saved.exists() else 0
print("resumed at" if os.environ["CORRAL_RESUME"] == "1" else "began at", step, flush=True)
def leave(*_):
    saved.write_text(json.dumps(step))
    print("saved", step, flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, leave)
while step < int(sys.argv[1]):
    time.sleep(0.1)
    step += 1
print("finished at", step, flush=True)
"""


@pytest.fixture
def corral(tmp_path: Path) -> Iterator[LiveCorral]:
    with running_corral(tmp_path, environment={"CORRAL_SIMULATED_GPUS": "8xH100-80GB"}) as running:
        yield running
        admin = administrator(running)
        ids = [one["id"] for one in admin.call("GET", "/workloads?limit=100")["items"]]
        if ids:
            admin.call("POST", "/workloads/actions", {"action": "stop", "ids": ids})
            live = {"starting", "running", "suspending", "stopping"}
            wait_for(
                lambda: admin.call("GET", "/workloads?limit=100")["items"],
                lambda items: not [one for one in items if one["state"] in live],
            )


def test_borrowed_gpus_go_back_and_the_borrower_resumes_from_its_checkpoint(corral: LiveCorral) -> None:
    admin = administrator(corral)
    people: dict[str, Person] = {}
    for name in ("ana", "bert", "carl"):
        people[name] = new_person(admin, name)
        guarantee(admin, people[name], 2)
    ana, bert, carl = people["ana"], people["bert"], people["carl"]
    train = ["python3", "-c", TRAINING]

    # ana is alone and takes all: 2 of her own, 6 that she borrows.
    work = [ana.submit(f"ana-{number}", [*train, "100000"], gpus=2) for number in range(4)]
    for one in work:
        ana.wait(one, "running")
        # Only then it listens to being told to go.
        wait_for(lambda one=one: ana.output(one, 1), lambda text: "began at" in text)

    # bert and carl come back: theirs is returned at once.
    back = {
        "bert": bert.submit("bert-1", [*train, "30"], gpus=2),
        "carl": carl.submit("carl-1", [*train, "30"], gpus=2),
    }
    bert.wait(back["bert"], "running")
    carl.wait(back["carl"], "running")
    states = wait_for(
        lambda: sorted(ana.look(one)["state"] for one in work),
        lambda seen: seen == ["running", "running", "suspended", "suspended"],
    )
    assert states
    victims = [one for one in work if ana.look(one)["state"] == "suspended"]
    for one in victims:
        seen = ana.look(one)
        assert "takes back its queue's guarantee" in seen["reason"]["sentence"]
        assert "saved" in ana.output(one, 1)

    # Their work ends, and ana's goes on by itself, from where it stopped.
    bert.wait(back["bert"], "succeeded")
    carl.wait(back["carl"], "succeeded")
    for one in victims:
        seen = ana.wait(one, "running")
        assert seen["attempt"] == 2
        saved = ana.output(one, 1).rpartition("saved ")[2].split()[0]
        wait_for(lambda one=one: ana.output(one, 2), lambda text, saved=saved: f"resumed at {saved}" in text)
