"""Query plans of the statements that a piece of work really sends."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import event

from corral.store.database import Transaction


@dataclass(frozen=True)
class Plan:
    """The steps of one statement: as SQLite words them, or PostgreSQL's nodes from the outermost inwards."""

    statement: str
    steps: list[str]
    nodes: list[dict[str, Any]]


def plans_of(transaction: Transaction, work: Callable[[Transaction], object]) -> list[Plan]:
    """Runs the work, then asks the database how it answered each statement of it."""
    sent: list[tuple[str, Any]] = []

    def note(_c: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        sent.append((statement, parameters))

    event.listen(transaction.connection, "before_cursor_execute", note)
    try:
        work(transaction)
    finally:
        event.remove(transaction.connection, "before_cursor_execute", note)
    return [_plan(transaction, statement, parameters) for statement, parameters in sent]


def _plan(transaction: Transaction, statement: str, parameters: Any) -> Plan:
    run = transaction.connection.exec_driver_sql
    if transaction.is_postgresql:
        answer = run(f"EXPLAIN (FORMAT JSON) {statement}", parameters).scalar_one()
        document = json.loads(answer) if isinstance(answer, str) else answer
        nodes = list(_walk(document[0]["Plan"]))
        return Plan(statement, [_words(node) for node in nodes], nodes)
    rows = run(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    return Plan(statement, [row[3] for row in rows], [])


def _walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from _walk(child)


def _words(node: dict[str, Any]) -> str:
    keys = ("Index Name", "Relation Name", "Index Cond", "Filter", "Sort Key")
    return " · ".join([node["Node Type"], *(f"{key.lower()}: {node[key]}" for key in keys if key in node)])
