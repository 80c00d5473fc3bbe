"""Ports and readiness in a document: what is refused, and what reaches the engine."""

from typing import Any

from corral.engines.local.sandbox.namespaces import OUT_DOOR
from corral.engines.tasks import HttpReadiness, OutputReadiness, Port, PortProtocol, Readiness, TcpReadiness
from corral.workloads.port_spec import PROXY_PORT
from tests.campus import made, refused
from tests.control.ground import Ground

READINESS: list[tuple[Any, Readiness | None]] = [
    ("8000", TcpReadiness(8000)),
    (8000, TcpReadiness(8000)),
    ("web", TcpReadiness(8000)),
    ("web/healthz?a=1", HttpReadiness(8000, "/healthz?a=1")),
    ({"port": "web", "path": "/"}, HttpReadiness(8000, "/")),
    ("output: Listening on", OutputReadiness("Listening on")),
    (None, None),
]
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"ports": ["web=0"]}, "body.ports.0.number"),
    ({"ports": ["web=70000"]}, "body.ports.0.number"),
    ({"ports": ["Web=80"]}, "body.ports.0.name"),
    ({"ports": ["web=80/udp"]}, "body.ports.0.protocol"),
    ({"ports": ["web 80"]}, "body.ports.0"),
    ({"ports": ["a=80", "a=81"]}, "body.ports"),
    ({"ports": ["a=80", "b=80"]}, "body.ports"),
    ({"ports": list(range(1, 18))}, "body.ports"),
    ({"ports": [PROXY_PORT]}, "body.ports.0.number"),
    ({"readiness": PROXY_PORT}, "body.readiness.port"),
    ({"readiness": "70000"}, "body.readiness.port"),
    ({"readiness": "web"}, "body.readiness.port"),
    ({"readiness": "web", "ports": ["other=80"]}, "body.readiness.port"),
    ({"readiness": "80/a b"}, "body.readiness.path"),
    ({"readiness": {"port": 80, "path": "/\r\nHost: elsewhere"}}, "body.readiness.path"),
    ({"readiness": {"port": 80, "path": "healthz"}}, "body.readiness.path"),
    ({"readiness": {"output": "two\nlines"}}, "body.readiness.output"),
    ({"readiness": "output:" + "x" * 201}, "body.readiness.output"),
    ({"readiness": "output:"}, "body.readiness.output"),
    ({"readiness": {"port": 80, "output": "x"}}, "body.readiness"),
    ({"readiness": {"path": "/x", "output": "x"}}, "body.readiness"),
    ({"readiness": {}}, "body.readiness"),
]


async def test_ports_and_readiness_reach_the_engine(ground: Ground) -> None:
    for given, readiness in READINESS:
        ground.started.clear()
        work = await ground.submit(
            ground.campus.admin, "serve", ports=["web=8000/http", 9000], readiness=given
        )
        await ground.settle()
        task = ground.started[0].task
        assert task is not None
        assert task.ports == (Port("web", 8000, PortProtocol.HTTP), Port("port-9000", 9000))
        assert task.readiness == readiness
    spec = (await ground.get(work))["spec"]
    assert spec["ports"][0] == {"name": "web", "number": 8000, "protocol": "http"}


async def test_stored_document_has_the_number_of_the_port_that_readiness_names(ground: Ground) -> None:
    work = await ground.submit(ground.campus.admin, "serve", ports=["web=8000"], readiness="web")
    assert (await ground.get(work))["spec"]["readiness"]["port"] == 8000


async def test_ports_and_readiness_that_mean_nothing_are_refused_by_field(ground: Ground) -> None:
    document = {"name": "x", "command": ["true"], "resources": {"cpu": 1, "memory": "1Gi"}}
    for given, field in MISTAKES:
        refused(await ground.campus.admin.post("/training", document | given), 422, field=field)


def test_port_of_the_proxy_is_the_one_that_is_refused() -> None:
    assert OUT_DOOR[1] == PROXY_PORT


async def test_lists_count_ready_replicas_and_say_since_when_all_are(ground: Ground) -> None:
    admin = ground.campus.admin
    work = await ground.submit(admin, "gang", replicas=2)

    async def listed() -> tuple[int, Any]:
        (one,) = made(await admin.get("/workloads"))["items"]
        return one["ready_replicas"], one["ready_at"]

    assert await listed() == (0, None)
    await ground.settle()
    assert await listed() == (0, None)
    await ground.pass_time(2)
    replicas = (await ground.get(work))["attempts"][0]["replicas"]
    assert await listed() == (2, max(one["ready_at"] for one in replicas))
    await ground.pass_time(110)
    assert await listed() == (0, None)
