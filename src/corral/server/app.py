"""The application: everything put together from settings, database and keys."""

import asyncio
import ipaddress
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from typing import TypeVar

from fastapi import FastAPI
from sqlalchemy import select
from starlette.routing import BaseRoute, WebSocketRoute

from corral.accelerators.machine import Machine
from corral.api import metrics
from corral.api.callers import ApiContext
from corral.api.parts import part, provide
from corral.api.problems import install_problem_handlers
from corral.apps.context import AppContext
from corral.apps.desk import Desk
from corral.apps.routes import router as apps_router
from corral.apps.tickets import forget_expired
from corral.audit.context import AuditContext
from corral.audit.routes import router as audit_router
from corral.control.chores import chores_loop, flush_loop
from corral.control.loop import Loop
from corral.control.purge import Keeping
from corral.control.registry import Equipment, OpenEngine, ZoneRegistry
from corral.control.reports import keep_reports
from corral.control.running import running
from corral.control.samples import samples_loop
from corral.control.sweep import SweptUploads, sweep_loop
from corral.control.zone_metrics import Counted
from corral.control.zone_mover import ZoneMover
from corral.events.feed import EventFeed
from corral.events.routes import router as events_router
from corral.gateway.names import AppNames
from corral.history.routes import router as history_router
from corral.hosts.content import RemoteContent
from corral.hosts.credentials import HostCredentials
from corral.hosts.link import HostService
from corral.hosts.link import routes as link_routes
from corral.hosts.links import HostLinks
from corral.hosts.routes import router as hosts_router
from corral.hosts.service import note_seen
from corral.identity.access import Access
from corral.identity.context import Identity
from corral.identity.devices import Devices
from corral.identity.lane import Lane
from corral.identity.login import SessionRules
from corral.identity.passwords import Passwords
from corral.identity.providers import LocalPassword
from corral.identity.routes import routers as identity_routers
from corral.identity.tables import organisation
from corral.inputs.context import Inputs
from corral.inputs.deletion_hooks import InputsOfPeople
from corral.inputs.ownership import OWNED as OWNED_BY_INPUTS
from corral.inputs.routes import secrets_router, uploads_router
from corral.inputs.secrets import SecretBox, forget_withdrawn
from corral.inputs.upload_fetching import UploadFetcher
from corral.inputs.upload_files import UploadFiles
from corral.inputs.uploads import forget_unused
from corral.kinds.folders import WorkloadFolder
from corral.kinds.plug import Chore, Kind, KindContext, OpenKind, masks_of, open_kinds
from corral.platform.mail import SmtpMailer
from corral.platform.models import MachineFacts
from corral.platform.routes import Installation
from corral.platform.routes import router as platform_router
from corral.queues.context import QueueContext
from corral.queues.deletion_hooks import QueuesOfPeople, QuotasOfPools
from corral.queues.organisation_hooks import QueueOrganisationHooks
from corral.queues.routes import router as queues_router
from corral.server.console_files import content_security_policy, install_console
from corral.server.front import Front
from corral.server.health import router as health_router
from corral.server.kinds import KINDS
from corral.server.openapi import describe
from corral.server.readiness import Readiness
from corral.server.routing import ByResource, lay_flat
from corral.server.settings import Settings
from corral.store.database import Database, Transaction
from corral.store.keyring import Keyring
from corral.usage.context import UsageContext
from corral.usage.exposition import Withdraw, publish_samples, publish_states, publish_stock
from corral.usage.metrics.routes import router as metrics_router
from corral.usage.routes import router as usage_router
from corral.usage.samples.levels import Retention
from corral.usage.samples.routes import router as samples_router
from corral.usage.samples.sampler import Samples, open_samples
from corral.workloads.context import WorkloadContext
from corral.workloads.deletion_hooks import WorkOfPeople, WorkOfPools
from corral.workloads.entering import connection_places, session_places
from corral.workloads.entering import routes as entering_routes
from corral.workloads.masker import Masker
from corral.workloads.organisation_hooks import WorkloadOrganisationHooks
from corral.workloads.output_routes import log_places
from corral.workloads.output_routes import router as output_router
from corral.workloads.ownership import Owned
from corral.workloads.routes import router as workloads_router
from corral.workloads.use import names_in_zone, use_of_queues
from corral.workloads.visibility import find as find_workload
from corral.workloads.zone_moves import MoveRule
from corral.zones.context import ZoneContext
from corral.zones.routes import router as zones_router
from corral.zones.zones import Zone

PREFIX = "/api/v1"

T = TypeVar("T")


def no_engine(_: Zone) -> None:
    """This process drives no zone."""


@dataclass(frozen=True, slots=True)
class ThisHost:
    """Which of the hosts of this Corral it is."""

    id: str = ""
    name: str = "this host"


@dataclass(frozen=True, slots=True)
class Parts:
    """What the application is made of; tests bring their own."""

    settings: Settings
    database: Database
    keyring: Keyring
    machine: Machine
    passwords: Passwords
    open_engine: OpenEngine = no_engine  # without any, work waits
    host: ThisHost = ThisHost()
    kinds: tuple[Kind, ...] = KINDS


@dataclass(frozen=True, slots=True)
class Loops:
    """What happens by itself in this process, beside what the zones do."""

    all: tuple[Loop, ...]


def create_app(parts: Parts) -> FastAPI:
    settings, database = parts.settings, parts.database
    app = _bare_app(parts.kinds)
    app.router.lifespan_context = _lifespan
    metrics.observe_database(database)
    idle = timedelta(hours=settings.session_idle_hours)
    access = Access(
        database,
        cookie=_cookie(settings),
        origins=frozenset(_origins(settings)),
        idle=idle,
    )
    inputs = Inputs(SecretBox(parts.keyring), UploadFiles(settings.home / "uploads", settings.upload_mib))
    context = KindContext(inputs.secrets, settings.home, settings.package_index)
    kinds = open_kinds(parts.kinds, context)
    owned = Owned.all_of([*(kind.owned for kind in parts.kinds), OWNED_BY_INPUTS])
    samples = open_samples(database, _retention(settings))
    host, files = parts.host, inputs.uploads
    credentials = HostCredentials(parts.keyring, host.id, time.time)
    links = HostLinks(credentials, settings.internal_ca)
    content = RemoteContent(database, host.id, links, files.directory, files.place, files.most_bytes)
    equipment = Equipment(
        kinds,
        samples,
        keep_reports,
        only_one_person=settings.trusted,
        fetch=UploadFetcher(files, content),
        links=links,
        host=host.id,
    )
    zones = ZoneRegistry(database, parts.open_engine, equipment)
    flushes: tuple[Callable[[], Awaitable[object]], ...] = (
        partial(access.seen.flush, database),
        partial(database.write, note_seen, host.id),
    )
    loops = Loops(
        (
            *_zone_moves(parts, zones, kinds),
            samples_loop(database, samples),
            chores_loop(database, session_idle=idle, more=_chores(parts, inputs, context, owned)),
            sweep_loop(database, [SweptUploads(inputs.uploads), *_folders(parts)]),
            flush_loop(database, flushes),
        )
    )
    stopping = asyncio.Event()
    provide(
        app,
        ApiContext(database, parts.keyring, access, stopping),
        AuditContext(find_organisation_path),
        EventFeed(database, stopping),
        Installation(MachineFacts.model_validate(parts.machine.as_dict()), database.now()),
        _identity(parts, access, owned),
        ZoneContext(
            names_in_zone, (*_hooks(parts, lambda kind: kind.pool_hooks), WorkOfPools(), QuotasOfPools())
        ),
        QueueContext(use_of_queues, tuple(kinds)),
        WorkloadContext(
            zones,
            masks=partial(masks_of, kinds, context),
            masker=Masker(),
            logs=log_places(),
            sessions=session_places(),
            connections=connection_places(),
        ),
        inputs,
        context,
        UsageContext(samples, see_workload=find_workload),
        zones,
        links,
        content,
        AppContext(None if settings.apps_names is None else AppNames(*settings.apps_names)),
        Desk(
            database,
            settings.home,
            parts.keyring.derive("app grants"),
            find_caller=access.by_credential,
            reach=zones.reach,
        ),
        HostService(host.name, credentials, zones.engine_here, files.path),
        Counted(),
        loops,
        Readiness(settings.home, list(loops.all), zones),
    )
    app.add_middleware(
        Front,
        allowed_hosts=settings.allowed_hosts,
        trusted_proxies=trusted_proxies(settings),
        headers=_security_headers(settings),
        larger={f"{PREFIX}/uploads": inputs.uploads.most_bytes},
    )
    return app


def _identity(parts: Parts, access: Access, owned: Owned) -> Identity:
    settings, database = parts.settings, parts.database
    cookie = _cookie(settings)
    return Identity(
        access=access,
        passwords=parts.passwords,
        providers={"local": LocalPassword(database, parts.passwords)},
        rules=SessionRules(
            lifetime=timedelta(hours=settings.session_hours),
            link_lifetime=timedelta(minutes=settings.login_link_minutes),
        ),
        mailer=SmtpMailer(database, parts.keyring),
        console=settings.public_url,
        cookie=cookie,
        secure=settings.is_tls,
        token_max_days=settings.token_max_days,
        devices=Devices(parts.keyring, cookie.replace("_session", "_device")),
        lane=Lane(),
        organisation_hooks=(
            *_hooks(parts, lambda kind: kind.organisation_hooks),
            WorkloadOrganisationHooks(owned),
            QueueOrganisationHooks(),
        ),
        user_hooks=(
            *_hooks(parts, lambda kind: kind.user_hooks),
            InputsOfPeople(),
            WorkOfPeople(),
            QueuesOfPeople(),
        ),
    )


def _hooks(parts: Parts, hooks_of: Callable[[Kind], Iterable[T]]) -> list[T]:
    return [hook for kind in parts.kinds for hook in hooks_of(kind)]


def _chores(parts: Parts, inputs: Inputs, context: KindContext, owned: Owned) -> list[Chore]:
    """What inputs and kinds clear away, and what is long over."""
    settings = parts.settings
    keeping = Keeping(
        settings.ended_work_days,
        settings.deleted_work_days,
        history_days=settings.history_days,
        owned=owned,
    )
    of_kinds = _hooks(parts, lambda kind: kind.chores(context))
    return [
        forget_unused,
        forget_withdrawn,
        forget_expired,
        inputs.secrets.renew,
        *of_kinds,
        *keeping.chores(),
    ]


def _zone_moves(parts: Parts, zones: ZoneRegistry, kinds: Mapping[str, OpenKind]) -> list[Loop]:
    seconds = parts.settings.zone_move_seconds
    if not seconds:
        return []
    return [ZoneMover(parts.database, zones, kinds, MoveRule(timedelta(seconds=seconds))).loop()]


def _folders(parts: Parts) -> list[WorkloadFolder]:
    home = parts.settings.home
    return [WorkloadFolder(home / one.folder, one.name) for one in parts.kinds if one.folder is not None]


def describe_only() -> FastAPI:
    """The routes without anything behind them, for the API's description."""
    return _bare_app(KINDS)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    database = part(app, ApiContext).database
    samples = part(app, UsageContext).samples
    async with AsyncExitStack() as stack:
        stack.push_async_callback(part(app, Identity).access.seen.flush, database)
        stack.push_async_callback(samples.close)
        stack.callback(part(app, WorkloadContext).masker.close)
        stack.push_async_callback(part(app, HostLinks).close)
        stack.push_async_callback(part(app, RemoteContent).close)
        for withdraw in _publish(part(app, Counted), samples):
            stack.callback(withdraw)
        await database.listen()
        await stack.enter_async_context(part(app, EventFeed).running())
        await stack.enter_async_context(running(part(app, Loops).all))
        await stack.enter_async_context(part(app, ZoneRegistry).running())
        if part(app, AppContext).names is not None:
            await stack.enter_async_context(part(app, Desk).open())
        yield


def _publish(counted: Counted, samples: Samples) -> tuple[Withdraw, ...]:
    """Registers the metrics that are read when Prometheus asks."""
    return (
        publish_stock(lambda: counted.stocks),
        publish_states(lambda: counted.states),
        publish_samples(lambda: tuple(samples.latest.values())),
    )


def _bare_app(kinds: tuple[Kind, ...]) -> FastAPI:
    app = FastAPI(title="Corral", openapi_url=None, docs_url=None, redoc_url=None)
    app.router.routes.extend(_routes(kinds))
    install_problem_handlers(app)
    install_console(app)
    app.router.middleware_stack = ByResource(app)
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    return app


@cache
def _routes(kinds: tuple[Kind, ...]) -> list[BaseRoute]:
    """Built once: they hold nothing of the application that answers with them."""
    routers = (
        *identity_routers,
        platform_router,
        hosts_router,
        zones_router,
        queues_router,
        apps_router,  # before what takes any action of a workload
        workloads_router,
        output_router,
        *(router for kind in kinds for router in kind.routers),
        uploads_router,
        secrets_router,
        audit_router,
        usage_router,
        history_router,
        samples_router,
        metrics_router,
        events_router,
    )
    api = lay_flat(routers, PREFIX)
    sockets = [WebSocketRoute(PREFIX + one.path, one.endpoint) for one in (*entering_routes, *link_routes)]
    return [*api, *sockets, *lay_flat((health_router,))]


def _retention(settings: Settings) -> Retention:
    return Retention(
        raw_hours=settings.samples_raw_hours,
        minute_days=settings.samples_minute_days,
        hour_days=settings.samples_hour_days,
        day_days=settings.samples_day_days,
        workload_days=settings.samples_workload_days,
    )


def find_organisation_path(transaction: Transaction, organisation_id: str) -> str | None:
    path: str | None = transaction.scalar(
        select(organisation.c.path).where(organisation.c.id == organisation_id)
    )
    return path


def trusted_proxies(settings: Settings) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    # Without a proxy in front, whoever sends X-Forwarded-For wants to be taken for someone else.
    if not settings.behind_proxy:
        return []
    return [ipaddress.ip_network(one) for one in settings.trusted_proxies]


def _cookie(settings: Settings) -> str:
    return "__Host-corral_session" if settings.is_tls else f"corral_session_{settings.port}"


def _origins(settings: Settings) -> set[str]:
    """Where the console's own pages are served from, as browsers say it in Origin."""
    if settings.behind_proxy:
        return {settings.behind_proxy}
    scheme, default_port = ("https", 443) if settings.is_tls else ("http", 80)
    port = "" if settings.port == default_port else f":{settings.port}"
    hosts = (f"[{name}]" if ":" in name else name for name in settings.allowed_hosts)
    return {f"{scheme}://{host}{port}" for host in hosts}


def _security_headers(settings: Settings) -> list[tuple[bytes, bytes]]:
    apps = None if settings.apps_names is None else AppNames(*settings.apps_names).pattern
    headers = {
        "Content-Security-Policy": content_security_policy(apps),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    }
    if settings.is_tls:
        headers["Strict-Transport-Security"] = "max-age=31536000"
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]
