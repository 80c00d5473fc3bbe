"""Decides for every request of a browser: who it is, whether they may, and where it goes.

    POST /.corral/enter     a ticket, posted by the console: gives the cookie, leads to the app
    everything else         to the workload, with the cookie of its own host name

A request that another page makes is refused, whatever cookies it brings: apps are not made to be embedded.
"""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from urllib.parse import parse_qs, quote

from corral.gateway.broker import Admission, AppState, Broker, BrokerUnavailableError, NotAdmittedError
from corral.gateway.front import Front, Later, Refused, Target
from corral.gateway.grants import Grant, GrantCookies
from corral.gateway.heads import Addition, Header, RequestHead
from corral.gateway.names import AppName, AppNames
from corral.gateway.pages import page, plain
from corral.gateway.upstream import Pool, Upstream

ENTER = b"/.corral/enter"
_OWN = b"/.corral/"
_MOST_FORM_BYTES = 8192
# An answer of the API holds so long; a person who was shut out notices within this and a sweep.
FRESH_SECONDS = 2.0
# While the API does not answer, who was inside may stay.
STALE_SECONDS = 300.0
# So long a request waits for the API to come back.
PATIENCE_SECONDS = 30.0
_REMEMBERED = 10_000
MOST_PER_PERSON = 256
_GRANTS_AT_ONCE = 100
_SAFE = (b"GET", b"HEAD")

_ISOLATION: tuple[Header, ...] = (
    (b"content-security-policy", b"frame-ancestors 'self'"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


@dataclass(slots=True)
class AppTarget:
    router: "Router"
    grant: Grant
    admission: Admission
    addition: Addition
    own_cookies: frozenset[bytes]
    answer_headers: tuple[Header, ...] = _ISOLATION

    def take(self) -> Upstream | None:
        return self.router.pool.take((self.admission.run, self.admission.port))

    async def connect(self) -> Upstream:
        return await self.router.connect(self.grant, self.admission)

    def entered(self, front: Front) -> None:
        self.router.inside[front] = self.grant
        self.router.per_person[self.grant.user_id] += 1

    def left(self, front: Front) -> None:
        if self.router.inside.pop(front, None) is not None:
            self.router.per_person[self.grant.user_id] -= 1
            if not self.router.per_person[self.grant.user_id]:
                del self.router.per_person[self.grant.user_id]


class Router:
    def __init__(self, names: AppNames, console: str, cookies: GrantCookies, broker: Broker) -> None:
        self._names = names
        self._console = console
        self._cookies = cookies
        self._broker = broker
        self._scheme = names.scheme.encode()
        self._admissions: dict[Grant, tuple[float, Admission]] = {}
        self.pool = Pool()
        # Whose requests and WebSockets are under way.
        self.inside: dict[Front, Grant] = {}
        self.per_person: Counter[str] = Counter()

    # The way of a request

    def route(self, head: RequestHead, front: Front) -> Target | Later:
        name = self._names.read(head.host)
        if name is None:
            raise page(
                HTTPStatus.NOT_FOUND,
                "There is no app at this address",
                "Apps have host names of their own. Open yours from the console.",
                link=(self._console, "Go to the console"),
            )
        if head.target.startswith(_OWN):
            return self._own(head, front, name)
        self._check_origin(head, name)
        grant = self._cookies.read(head.cookies, name)
        if grant is None:
            raise self._ask_for_ticket(head, name)
        known = self._admissions.get(grant)
        if known is not None and time.monotonic() - known[0] < FRESH_SECONDS:
            return self._target(head, front, grant, known[1])
        return partial(self._admit, head, front, grant)

    async def _admit(self, head: RequestHead, front: Front, grant: Grant) -> Target:
        try:
            admission = await self.admission(grant)
        except NotAdmittedError:
            raise self._ask_for_ticket(head, grant.name) from None
        except BrokerUnavailableError:
            raise page(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "Corral does not answer just now",
                "Your work goes on. This page tries again by itself.",
                refresh=True,
            ) from None
        return self._target(head, front, grant, admission)

    async def admission(self, grant: Grant) -> Admission:
        """What the API says now; what it said last while it does not answer."""
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                admission = await self._broker.admit(grant)
            except BrokerUnavailableError:
                known = self._admissions.get(grant)
                if known is not None and time.monotonic() - known[0] < STALE_SECONDS:
                    return known[1]
                if time.monotonic() >= until:
                    raise
                await asyncio.sleep(0.25)
            except NotAdmittedError:
                self._admissions.pop(grant, None)
                raise
            else:
                if len(self._admissions) >= _REMEMBERED:
                    self._admissions.clear()
                self._admissions[grant] = (time.monotonic(), admission)
                return admission

    def _target(self, head: RequestHead, front: Front, grant: Grant, admission: Admission) -> Target:
        if admission.state is not AppState.READY:
            raise self._not_ready(head, admission)
        if admission.read_only and (head.method not in _SAFE or head.websocket):
            raise plain(HTTPStatus.FORBIDDEN, "This app is shared with you for reading only.")
        if self.per_person[grant.user_id] >= MOST_PER_PERSON:
            raise plain(
                HTTPStatus.TOO_MANY_REQUESTS,
                f"You have {MOST_PER_PERSON} connections to apps open. Close some tabs, then try again.",
            )
        addition = Addition(self._scheme, front.client, admission.headers, self._cookies.names)
        return AppTarget(self, grant, admission, addition, self._cookies.names)

    async def connect(self, grant: Grant, admission: Admission) -> Upstream:
        key = (admission.run, admission.port)
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                lent = await self._broker.connect(grant, *key)
                break
            except NotAdmittedError:
                raise plain(HTTPStatus.FORBIDDEN, "You may not enter this app any more.") from None
            except ConnectionError as error:
                raise page(
                    HTTPStatus.BAD_GATEWAY,
                    "The app does not answer",
                    f"Nothing listens on port {key[1]} of {admission.title or 'the workload'} ({error}). "
                    "If it has just started, try again in a moment; its output says more.",
                    link=(f"{self._console}/workloads/{grant.workload_id}", "Show the workload"),
                ) from None
            except BrokerUnavailableError:
                if time.monotonic() >= until:
                    raise plain(HTTPStatus.SERVICE_UNAVAILABLE, "Corral does not answer just now.") from None
                await asyncio.sleep(0.25)
        loop = asyncio.get_running_loop()
        try:
            _, upstream = await loop.create_connection(
                lambda: Upstream(self.pool, key, lent.give_back), sock=lent.connected
            )
        except BaseException:  # also when the client has gone meanwhile
            lent.connected.close()
            lent.give_back()
            raise
        return upstream

    async def shut_out(self) -> int:
        """Ends what is under way of those who may not be inside any more; how many that were."""
        grants = list(set(self.inside.values()))
        ended = 0
        for begin in range(0, len(grants), _GRANTS_AT_ONCE):
            some = grants[begin : begin + _GRANTS_AT_ONCE]
            try:
                stand = await self._broker.standing(some)
            except BrokerUnavailableError:
                return ended
            fallen = {grant for grant, stands in zip(some, stand, strict=True) if not stands}
            for grant in fallen:
                self._admissions.pop(grant, None)
            for front in [each for each, grant in self.inside.items() if grant in fallen]:
                front.end()
                ended += 1
        return ended

    # What the gateway answers itself

    def _own(self, head: RequestHead, front: Front, name: AppName) -> Later:
        path = head.target.partition(b"?")[0]
        if path != ENTER:
            raise plain(HTTPStatus.NOT_FOUND, "There is nothing here.")
        if head.method != b"POST":
            raise plain(HTTPStatus.METHOD_NOT_ALLOWED, "Tickets are posted by the console.")
        return partial(self._enter, front, name)

    async def _enter(self, front: Front, name: AppName) -> Target:
        form = parse_qs((await front.body(_MOST_FORM_BYTES)).decode("ascii", "replace"))
        ticket, path = form.get("ticket", [""])[0], form.get("path", ["/"])[0]
        if not path.startswith("/") or path.startswith(("//", "/\\")) or not path.isprintable():
            path = "/"
        try:
            grant = await self._broker.redeem(ticket, name)
        except NotAdmittedError:
            raise page(
                HTTPStatus.FORBIDDEN,
                "This ticket opens nothing",
                "A ticket works once, within a minute, for one app. Open the app from the console again.",
                link=(f"{self._console}/workloads/{name.workload_id}", "Show the workload"),
            ) from None
        except BrokerUnavailableError:
            raise plain(HTTPStatus.SERVICE_UNAVAILABLE, "Corral does not answer just now.") from None
        location = quote(path, safe="/?&=%#~:;,+!*'()@$[]").encode()
        headers = ((b"location", location), (b"set-cookie", self._cookies.write(grant)))
        raise Refused(int(HTTPStatus.SEE_OTHER), b"", headers)

    def _ask_for_ticket(self, head: RequestHead, name: AppName) -> Refused:
        if head.websocket or head.fetch_mode not in (b"", b"navigate") or head.method not in _SAFE:
            return plain(HTTPStatus.UNAUTHORIZED, "Open this app from the console first.")
        path = quote(head.target.decode("latin-1"), safe="")
        port = "" if name.port is None else f"&port={name.port}"
        return page(
            HTTPStatus.UNAUTHORIZED,
            "Open this app from the console",
            "You have not entered it yet, or your session has ended.",
            link=(f"{self._console}/open/{name.workload_id}?path={path}{port}", "Open it"),
        )

    def _not_ready(self, head: RequestHead, admission: Admission) -> Refused:
        status = HTTPStatus.GONE if admission.state is AppState.GONE else HTTPStatus.SERVICE_UNAVAILABLE
        title, text = _WORDS[admission.state]
        if head.websocket or head.fetch_mode not in (b"", b"navigate"):
            return plain(status, text)
        waits = admission.state in (AppState.STARTING, AppState.QUEUED)
        return page(
            status,
            title.format(name=admission.title or "The app"),
            f"{text} {admission.detail}".strip(),
            refresh=waits,
            link=(self._console, "Go to the console"),
        )

    def _check_origin(self, head: RequestHead, name: AppName) -> None:
        own = self._names.origin(name).encode()
        if head.origin is not None and head.origin != own:
            raise plain(HTTPStatus.FORBIDDEN, "Another site may not use this app for you.")
        if head.websocket and head.origin is None:
            raise plain(HTTPStatus.FORBIDDEN, "A WebSocket to an app comes from the app's own page.")
        if head.fetch_site in (b"cross-site", b"same-site") and not (
            head.fetch_mode == b"navigate" and head.method in _SAFE
        ):
            raise plain(HTTPStatus.FORBIDDEN, "Another site may not use this app for you.")


_WORDS = {
    AppState.STARTING: ("{name} is starting", "This page opens it as soon as it answers."),
    AppState.QUEUED: ("{name} is waiting for resources", "This page opens it as soon as it runs."),
    AppState.SUSPENDED: ("{name} is suspended", "Resume it from the console; its files are kept."),
    AppState.STOPPED: ("{name} has stopped", "Start it from the console; its files are kept."),
    AppState.GONE: ("{name} is gone", "It was deleted, or you have no access to it any more."),
}
