"""`corral doctor` asks the Corral that runs here what does not work."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from corral.cli.running_checks import running_checks
from corral.server.lock import lock_home
from corral.server.settings import Settings

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root has a uid for every person")
FAILING = {
    "detail": "Corral is not ready: …",
    "errors": [{"field": "reconcile/z1", "message": "The loop reconcile/z1 fails since …", "remedy": "See."}],
}


@contextmanager
def answering(status: int, body: object) -> Iterator[int]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == "/readyz"
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def test_loop_that_fails_is_named(tmp_path: Path) -> None:
    lock = lock_home(tmp_path)
    try:
        with answering(503, FAILING) as port:
            (found,) = running_checks(Settings(home=tmp_path, port=port))
        assert (found.name, found.state) == ("reconcile/z1", "missing")
        assert found.found.startswith("The loop reconcile/z1 fails")
        with answering(200, {"status": "ok"}) as port:
            (found,) = running_checks(Settings(home=tmp_path, port=port))
        assert (found.name, found.state) == ("Running", "ok")
        (found,) = running_checks(Settings(home=tmp_path, port=port))
        assert (found.state, found.remedy) == ("missing", "Start it again: corral up")
    finally:
        os.close(lock)


@AS_ROOT
def test_damaged_map_of_people_is_found_without_a_running_corral(tmp_path: Path) -> None:
    assert list(running_checks(Settings(home=tmp_path))) == []
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "people.json").write_text('{"version": 1, "uids": {"a')
    (found,) = running_checks(Settings(home=tmp_path))
    assert (found.name, found.state) == ("people.json", "missing")
    assert "cannot be read" in found.found
    assert found.remedy.startswith("Restore people.json from a backup")
