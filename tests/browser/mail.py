"""The tests' SMTP server in a thread of its own: Playwright keeps the loop of the main one."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from tests.platform.smtp import MailServer, mail_server

_SECONDS = 10


@contextmanager
def mail_server_beside() -> Iterator[MailServer]:
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="mail server")
    thread.start()
    serving = mail_server()
    try:
        yield asyncio.run_coroutine_threadsafe(serving.__aenter__(), loop).result(_SECONDS)
        asyncio.run_coroutine_threadsafe(serving.__aexit__(None, None, None), loop).result(_SECONDS)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_SECONDS)
        loop.close()
