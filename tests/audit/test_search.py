"""Whoever searches the audit log finds what they may read, all of it and nothing else."""

from dataclasses import dataclass
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corral.audit.record import Result
from corral.audit.search import Filters, find_entry, search
from corral.core.ids import Kind
from corral.core.refusals import NotFound
from corral.core.scopes import ancestors, child_path, outermost
from corral.store.database import Database
from tests.audit.factories import (
    MORNING,
    Happening,
    Tree,
    create_caller,
    create_id,
    create_path,
    last_id,
    record_all,
)

ACTORS = [create_id(Kind.USER) for _ in range(3)]
OBJECTS = [create_id(Kind.USER) for _ in range(2)]
ACTIONS = ["user.change", "role.create", "session.create"]
RESULTS: list[Result] = ["done", "refused"]


@dataclass(frozen=True)
class Case:
    """A tree before and after organisations moved, what happened, who searches, for what."""

    before: list[str]
    now: list[str]
    happenings: list[Happening]
    readable: list[str]
    filters: Filters
    page: int


@st.composite
def cases(draw: st.DrawFn) -> Case:
    size = draw(st.integers(1, 6))
    ids = [create_id(Kind.ORGANISATION) for _ in range(size)]
    before, now = (_tree(draw, ids) for _ in range(2))
    happenings = draw(
        st.lists(
            st.builds(
                Happening,
                path=st.sampled_from(before + now),
                actor_id=st.sampled_from(ACTORS),
                action=st.sampled_from(ACTIONS),
                object_id=st.sampled_from(OBJECTS),
                result=st.sampled_from(RESULTS),
                minutes=st.integers(0, 5),
            ),
            min_size=5,
            max_size=30,
        )
    )
    # Few filters at a time, else nearly every search finds nothing.
    chosen = draw(
        st.sets(st.sampled_from(("actor", "action", "object", "organisation", "result", "time")), max_size=3)
    )
    minutes = draw(st.lists(st.none() | st.integers(0, 6), min_size=2, max_size=2))
    since, until = (None if minute is None else MORNING + timedelta(minutes=minute) for minute in minutes)
    filters = Filters(
        actor_id=draw(st.sampled_from(ACTORS)) if "actor" in chosen else None,
        actions=tuple(draw(st.lists(st.sampled_from(ACTIONS), max_size=3))) if "action" in chosen else (),
        object_id=draw(st.sampled_from(OBJECTS)) if "object" in chosen else None,
        organisation_id=draw(st.sampled_from(ids)) if "organisation" in chosen else None,
        result=draw(st.sampled_from(RESULTS)) if "result" in chosen else None,
        since=since if "time" in chosen else None,
        until=until if "time" in chosen else None,
    )
    readable = draw(st.lists(st.sampled_from(now), min_size=1, max_size=3))
    return Case(before, now, happenings, readable, filters, draw(st.integers(1, 6)))


def _tree(draw: st.DrawFn, ids: list[str]) -> list[str]:
    paths = [child_path("/", ids[0])]
    for one in ids[1:]:
        paths.append(child_path(draw(st.sampled_from(paths)), one))
    return paths


def expected(case: Case, entry_ids: list[str]) -> list[str] | None:
    """A plain reading of the rules over a list; None where the organisation may not be read."""
    scopes = {last_id(path) for path in outermost(case.readable)}
    filters = case.filters
    if filters.organisation_id is not None:
        path = Tree(*case.now).paths[filters.organisation_id]
        if not any(path.startswith(scope) for scope in case.readable):
            return None
        scopes = {filters.organisation_id}
    return sorted(
        (
            entry_id
            for entry_id, one in zip(entry_ids, case.happenings, strict=True)
            if scopes & set(ancestors(one.path))
            and filters.actor_id in (None, one.actor_id)
            and (not filters.actions or one.action in filters.actions)
            and filters.object_id in (None, one.object_id)
            and filters.result in (None, one.result)
            and (filters.since is None or one.at >= filters.since)
            and (filters.until is None or one.at < filters.until)
        ),
        reverse=True,
    )


@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(case=cases())
async def test_search_finds_what_a_plain_filter_finds_and_pages_make_up_the_whole(
    database: Database, case: Case
) -> None:
    entry_ids = await database.write(record_all, case.happenings)
    caller, tree = create_caller(*case.readable), Tree(*case.now)
    wanted = expected(case, entry_ids)

    async def page(before: str | None) -> list[str]:
        rows = await database.read(
            search, caller, case.filters, tree.find_path, before=before, limit=case.page
        )
        return [row.id for row in rows]

    if wanted is None:
        with pytest.raises(NotFound):
            await page(None)
        return
    found = await page(None)
    last = found
    while len(last) == case.page:
        last = await page(found[-1])
        found += last
    assert found == wanted
    for entry_id in wanted:
        row = await database.read(find_entry, caller, entry_id, tree.find_path)
        assert row.id == entry_id


async def test_entry_of_another_organisation_is_not_found(database: Database) -> None:
    root = create_path()
    mine, theirs = create_path(root), create_path(root)
    (entry_id,) = await database.write(record_all, [Happening(theirs)])
    caller, tree = create_caller(mine), Tree(root, mine, theirs)
    with pytest.raises(NotFound):
        await database.read(find_entry, caller, entry_id, tree.find_path)
    assert await database.read(search, caller, Filters(), tree.find_path, limit=10) == []


async def test_unreadable_and_unknown_organisations_are_refused_alike(database: Database) -> None:
    root = create_path()
    mine, theirs = create_path(root), create_path(root)
    await database.write(record_all, [Happening(theirs)])
    caller, tree = create_caller(mine), Tree(root, mine, theirs)
    for organisation_id in (last_id(theirs), create_id(Kind.ORGANISATION)):
        with pytest.raises(NotFound) as refused:
            await database.read(
                search, caller, Filters(organisation_id=organisation_id), tree.find_path, limit=10
            )
        assert refused.value.detail.replace(organisation_id, "…") == (
            "There is no organisation …, or you may not read its audit log."
        )


async def test_history_of_a_deleted_organisation_stays_with_the_one_above(database: Database) -> None:
    root = create_path()
    lab, other = create_path(root), create_path(root)
    desk = create_path(lab)
    (entry_id,) = await database.write(record_all, [Happening(desk, action="organisation.delete")])
    tree, wanted = Tree(root, lab, other), Filters(organisation_id=last_id(desk))
    rows = await database.read(search, create_caller(lab), wanted, tree.find_path, limit=10)
    assert [row.id for row in rows] == [entry_id]
    with pytest.raises(NotFound):
        await database.read(search, create_caller(other), wanted, tree.find_path, limit=10)


async def test_organisation_that_moved_takes_its_history_along(database: Database) -> None:
    root = create_path()
    old, new = create_path(root), create_path(root)
    lab = create_id(Kind.ORGANISATION)
    (entry_id,) = await database.write(record_all, [Happening(child_path(old, lab))])
    tree = Tree(root, old, new, child_path(new, lab))
    newcomer = create_caller(new)
    rows = await database.read(search, newcomer, Filters(organisation_id=lab), tree.find_path, limit=10)
    assert [row.id for row in rows] == [entry_id]
    assert (await database.read(find_entry, newcomer, entry_id, tree.find_path)).id == entry_id


async def test_page_is_full_although_entries_lie_in_two_readable_scopes(database: Database) -> None:
    root = create_path()
    old, new = create_path(root), create_path(root)
    lab = create_id(Kind.ORGANISATION)
    happenings = [Happening(child_path(old, lab), minutes=minute) for minute in range(6)]
    entry_ids = await database.write(record_all, happenings)
    moved = child_path(new, lab)
    rows = await database.read(
        search, create_caller(old, moved), Filters(), Tree(root, old, new, moved).find_path, limit=4
    )
    assert [row.id for row in rows] == entry_ids[:1:-1]


async def test_more_scopes_than_one_statement_takes_are_searched_together(database: Database) -> None:
    root = create_path()
    labs = [create_path(root) for _ in range(20)]
    happenings = [Happening(lab, minutes=minute) for minute, lab in enumerate(labs)]
    entry_ids = await database.write(record_all, happenings)
    caller, tree = create_caller(*labs), Tree(root, *labs)
    rows = await database.read(search, caller, Filters(), tree.find_path, limit=7)
    assert [row.id for row in rows] == entry_ids[:-8:-1]


async def test_who_may_read_nothing_finds_nothing(database: Database) -> None:
    root = create_path()
    await database.write(record_all, [Happening(root)])
    assert await database.read(search, create_caller(), Filters(), Tree(root).find_path, limit=10) == []
