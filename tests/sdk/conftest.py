"""A small HTTP server that answers what a test tells it to, and remembers what it was asked."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Reply:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    hang_up: bool = False


@dataclass
class Script:
    """Replies in order; the last one is repeated."""

    url: str
    replies: list[Reply] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    def reply(self, status: int = 200, body: Any = None, **headers: str) -> None:
        self.replies.append(Reply(status, body, {k.replace("_", "-"): v for k, v in headers.items()}))

    def hang_up(self) -> None:
        self.replies.append(Reply(hang_up=True))

    def next(self) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


def handler(script: Callable[[], Script]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            headers = {name.lower(): value for name, value in self.headers.items()}
            script().asked.append(Asked(self.command, self.path, headers, body))
            reply = script().next()
            if reply.hang_up:
                self.close_connection = True
                return
            payload = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            payload = b"" if reply.body is None else payload
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    return Handler


@pytest.fixture
def server() -> Iterator[Script]:
    script: Script
    with ThreadingHTTPServer(("127.0.0.1", 0), handler(lambda: script)) as http:
        script = Script(f"http://127.0.0.1:{http.server_address[1]}")
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield script
        http.shutdown()
        thread.join()
