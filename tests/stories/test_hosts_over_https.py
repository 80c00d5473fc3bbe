"""Two hosts that serve HTTPS with certificates of a private authority verify each other."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from corral_sdk import Client, Problem
from corral_sdk.models import WorkloadDetail

from tests.databases import postgresql_database
from tests.live import LiveCorral, running_corral
from tests.postgres import Server
from tests.server.authority import Authority
from tests.stories.hosts import GPUS, run_corral
from tests.stories.people import NOWHERE, wait_for


class Host:
    def __init__(self, corral: LiveCorral, trusts: Path) -> None:
        self.corral = corral
        self.id = (corral.home / "zone-id").read_text().strip()
        self.client = Client(corral.url, corral.local_token, ca_file=str(trusts), environ=NOWHERE)

    def run_at(self, other: "Host", command: list[str]) -> WorkloadDetail:
        zone = next(one.name for one in self.client.zones.list() if one.identity == other.id)
        resources = {"cpu_milli": 50, "memory_mib": 128}
        document = {"name": "far", "command": command, "resources": resources, "zone": zone}
        return self.client.training.submit(document)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory, postgresql_server: Server) -> Iterator[tuple[Host, Host]]:
    """The second trusts nobody but the machine's authorities, so it cannot verify the first."""
    folder = tmp_path_factory.mktemp("https")
    authority = Authority(folder)
    with postgresql_database(postgresql_server) as url, ExitStack() as stack:
        made: list[Host] = []
        for name, more in (("first", {"CORRAL_INTERNAL_CA": str(authority.ca_file)}), ("second", {})):
            (folder / name).mkdir()
            pair = authority.issue("127.0.0.1", label=name)
            tls = {"CORRAL_TLS_CERTIFICATE": str(pair.certificate), "CORRAL_TLS_KEY": str(pair.key)}
            if made:
                bundle = folder / "join"
                run_corral(made[0].corral.home, "host", "bundle", str(bundle), CORRAL_DATABASE_URL=url)
                run_corral(folder / name / "home", "join", str(bundle))
            environment = GPUS | tls | more | ({} if made else {"CORRAL_DATABASE_URL": url})
            corral = stack.enter_context(running_corral(folder / name, environment=environment))
            made.append(Host(corral, authority.ca_file))
        yield made[0], made[1]


def test_output_of_work_on_the_other_host_is_read_over_https(hosts: tuple[Host, Host]) -> None:
    first, second = hosts
    assert all(one.url.startswith("https://127.0.0.1:") for one in first.client.hosts.list())
    work = first.run_at(second, ["echo", "hello"])
    wait_for(lambda: first.client.workloads.get(work.id).state, lambda state: state == "succeeded")
    assert first.client.workloads.log(work.id).text == "hello\n"


def test_host_whose_certificate_nobody_vouches_for_is_not_asked(hosts: tuple[Host, Host]) -> None:
    first, second = hosts
    work = second.run_at(first, ["echo", "hello"])
    wait_for(lambda: second.client.workloads.get(work.id).state, lambda state: state == "succeeded")
    with pytest.raises(Problem, match=r"cannot be reached from here.*certificate"):
        second.client.workloads.log(work.id)
