"""What is counted, and that the number of series stays bounded whatever is asked for."""

from contextlib import suppress

import pytest
from prometheus_client.parser import text_string_to_metric_families

from corral.api import metrics
from corral.api.metrics import REGISTRY, exposition, in_progress, observe, observe_database
from corral.store.database import Database


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def requests(route: str, method: str, status: str) -> float:
    return value("corral_http_requests_total", route=route, method=method, status=status)


def test_requests_are_counted_by_route_method_and_class_of_status() -> None:
    route = "/counted/only/here/{user_id}"
    for status in (200, 204, 404, 503):
        observe(route, "GET", status, 0.02)
    assert requests(route, "GET", "2xx") == 2
    assert requests(route, "GET", "4xx") == requests(route, "GET", "5xx") == 1
    assert value("corral_http_request_seconds_sum", route=route, method="GET") == pytest.approx(0.08)
    assert value("corral_http_request_seconds_bucket", route=route, method="GET", le="0.025") == 4


def test_what_callers_invent_makes_no_series() -> None:
    before = requests("unmatched", "other", "4xx")
    for number in range(100):
        observe(None, f"INVENTED{number}", 405, 0.001)
    assert requests("unmatched", "other", "4xx") == before + 100


def test_number_of_routes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_MOST_ROUTES", len(metrics._routes) + 2)
    before = requests("unmatched", "GET", "2xx")
    for number in range(10):
        observe(f"/made/up/{number}", "GET", 200, 0.001)
    assert requests("/made/up/0", "GET", "2xx") == 1
    assert requests("/made/up/9", "GET", "2xx") == 0
    assert requests("unmatched", "GET", "2xx") == before + 8


def test_requests_in_progress_go_up_and_down() -> None:
    before = value("corral_http_requests_in_progress")
    with suppress(ZeroDivisionError), in_progress():
        assert value("corral_http_requests_in_progress") == before + 1
        raise ZeroDivisionError
    assert value("corral_http_requests_in_progress") == before


async def test_transactions_are_timed(database: Database) -> None:
    observe_database(database)
    before = value("corral_database_seconds_count", verb="read", result="done")
    await database.read(lambda transaction: None)
    assert value("corral_database_seconds_count", verb="read", result="done") == before + 1


def test_page_can_be_read_by_prometheus() -> None:
    observe("/healthz", "GET", 200, 0.001)
    families = {family.name for family in text_string_to_metric_families(exposition().decode())}
    assert {"corral_http_requests", "corral_database_seconds", "process_resident_memory_bytes"} <= families
