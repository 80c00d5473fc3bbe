"""The whole API, called with whatever its description allows and with what it does not, on a running Corral.

No call ends in an error of ours, and every answer is one that the description promises.
"""

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.result import Ok

from tests.description import api_description
from tests.live import LiveCorral

EXAMPLES = 12
SECONDS = 20
# The stream never ends; tests/events reads it.
ENDLESS = {"/api/v1/events"}

# Archives are bytes, as they are generated.
for archive in ("application/x-tar", "application/gzip"):
    schemathesis.serializer.alias(archive, "application/octet-stream")
load_all_checks()
PROMISES: list[Any] = CHECKS.get_by_names(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    ]
)
SCHEMA = schemathesis.openapi.from_dict(api_description())
OPERATIONS = {
    found.ok().label: found.ok()
    for found in SCHEMA.get_all_operations()
    if isinstance(found, Ok) and found.ok().path not in ENDLESS
}


@dataclass
class Server:
    """A running Corral, and ids of things that are really there."""

    url: str
    session: requests.Session
    token: dict[str, str]
    real: dict[str, str] = field(default_factory=dict)

    def call(self, case: Case[Any], *, signed_in: bool, real: bool) -> None:
        headers = dict(self.token) if signed_in else {}
        if real:
            self._with_real_ids(case)
            headers |= {"If-Match": "*"} if case.method in {"PUT", "PATCH", "DELETE"} else {}
        case.call_and_validate(
            base_url=self.url, session=self.session, headers=headers, checks=PROMISES, timeout=SECONDS
        )

    def _with_real_ids(self, case: Case[Any]) -> None:
        """Invented ids find nothing; with these a call gets further."""
        for values in (case.path_parameters, case.query, case.body):
            if isinstance(values, MutableMapping):
                values.update({key: one for key, one in self.real.items() if key in values})


@pytest.fixture(scope="module")
def server(live_corral: LiveCorral) -> Iterator[Server]:
    with requests.Session() as session:
        token = {"Authorization": f"Bearer {live_corral.local_token}"}
        made = Server(live_corral.url, session, token)
        made.real = real_ids(made)
        yield made


def real_ids(server: Server) -> dict[str, str]:
    api = f"{server.url}/api/v1"

    def read(path: str) -> Any:
        return server.session.get(api + path, headers=server.token, timeout=SECONDS).json()["items"]

    def make(path: str, **body: Any) -> Any:
        answer = server.session.post(api + path, json=body, headers=server.token, timeout=SECONDS)
        assert answer.status_code == 201, answer.text
        return answer.json()

    root = read("/organisations")[0]["id"]
    lab = make("/organisations", parent_id=root, name="Lab")["id"]
    role = next(one["id"] for one in read("/roles") if one["key"] == "user")
    person = make("/users", name="fuzzed", display_name="Fuzzed", organisation_id=lab, role_id=role)["user"]
    return {
        "organisation_id": lab,
        "organisation": lab,
        "parent_id": root,
        "role_id": role,
        "role": role,
        "user_id": person["id"],
        "actor": person["id"],
        "grant_id": person["roles"][0]["grant_id"],
        "id": read("/audit")[0]["id"],
    }


def test_every_operation_can_be_called() -> None:
    assert len(OPERATIONS) + len(ENDLESS) == sum(len(one) for one in api_description()["paths"].values())


@pytest.mark.parametrize("label", sorted(OPERATIONS))
def test_every_answer_is_one_that_was_promised(server: Server, label: str) -> None:
    operation = OPERATIONS[label]
    as_described = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    otherwise = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(
        case=as_described | otherwise,
        real=st.booleans(),
        signed_in=st.sampled_from([True, True, True, False]),
    )
    def fuzz(case: Case[Any], real: bool, signed_in: bool) -> None:
        server.call(case, signed_in=signed_in, real=real)

    fuzz()
