"""A child of the parent under test: keeps its side of the protocol and does what FAKE_CHILD says, in order.

FAKE_CHILD is a comma-separated list, one word per start: ready, error, crash (before ready), fall (ready,
then end with code 3), deaf (ready, ignores SIGTERM), stuck (says what it does and never gets ready), mute
(never says anything), slow (asks for the time it needs). The last word is used for all further starts.
"""

import argparse
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import NoReturn


def stay_ready(ready: int, life: int, starts: Path) -> NoReturn:
    """The gateway: none of what these tests do is done to it. LATE: it is ready after so many starts."""
    while len(starts.read_text().splitlines() if starts.exists() else "") < int(os.environ.get("LATE", "0")):
        time.sleep(0.01)
    os.write(ready, b'{"ready": true}\n')
    os.close(ready)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    os.read(life, 1)
    sys.exit(0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    for each in ("settings", "ready", "life", "listen"):
        parser.add_argument(f"--{each}-fd", type=int, required=True)
    given = parser.parse_args()
    settings = json.loads(os.pread(given.settings_fd, 1 << 20, 0))
    home = Path(settings["home"])
    if given.name == "gateway":
        stay_ready(given.ready_fd, given.life_fd, home / "starts")
    with (home / "starts").open("a") as file:
        file.write(f"{os.getpid()}\n")
    starts = len((home / "starts").read_text().splitlines())
    words = os.environ["FAKE_CHILD"].split(",")
    word = words[min(starts, len(words)) - 1]

    listener = socket.socket(fileno=given.listen_fd)
    facts = {
        "name": given.name,
        "settings": settings["settings"]["port"],
        "port": listener.getsockname()[1],
        "interrupt": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
        "quit": signal.getsignal(signal.SIGQUIT) is signal.SIG_DFL,
        "blocked": len(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "leads_group": os.getpgrp() == os.getpid(),
    }
    (home / "facts.json").write_text(json.dumps(facts))
    signal.signal(signal.SIGTERM, signal.SIG_IGN if word == "deaf" else lambda *_: sys.exit(0))

    if word == "crash":
        sys.exit(7)
    if word == "mute":
        os.read(given.life_fd, 1)
    ready = os.fdopen(given.ready_fd, "w")
    if word == "stuck":
        ready.write(json.dumps({"progress": "Upgrading the database"}) + "\n")
        ready.flush()
        os.read(given.life_fd, 1)
    if word == "slow":
        ready.write(json.dumps({"progress": "Upgrading the database", "seconds": 60}) + "\n")
        ready.flush()
        # As long as the test wants: longer than the parent would wait by itself.
        os.open(home / "go-on", os.O_RDONLY)
    if word == "error":
        ready.write(
            json.dumps({"error": "The database is newer than Corral.", "remedy": "Upgrade Corral."}) + "\n"
        )
        ready.close()
        sys.exit(1)
    report = {
        "ready": True,
        "console": settings["public_url"],
        "login_link": f"{settings['public_url']}/login#once=abc",
        "admin_name": "admin",
        "password_file": str(home / "admin-password"),
        "database": "SQLite",
        "machine": {"cpu_count": 2, "cpu_model": "Some CPU", "memory_mib": 2048, "gpus": []},
    }
    ready.write(json.dumps({"progress": "Upgrading the database"}) + "\n" + json.dumps(report) + "\n")
    ready.close()
    if word == "fall":
        sys.exit(3)
    os.read(given.life_fd, 1)  # blocks until the parent is gone
    (home / "orphaned").write_text(str(os.getpid()))


main()
