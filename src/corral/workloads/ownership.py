"""What other packages keep beside workloads: it goes when they go, and nobody has to remember it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy import ColumnElement, Select, Table, and_, not_, true

from corral.workloads.tables import workload


@dataclass(frozen=True, slots=True)
class Owned:
    """`tables` have a row or more for a `workload_id`; those that refer to others come first.

    `needed` selects the ids of work that must stay although it is over: other work uses its files.
    """

    tables: tuple[Table, ...] = ()
    needed: tuple[Select[Any], ...] = ()

    @classmethod
    def all_of(cls, parts: Iterable["Owned"]) -> Self:
        together = list(parts)
        return cls(
            tuple(table for one in together for table in one.tables),
            tuple(each for one in together for each in one.needed),
        )

    def not_needed(self) -> ColumnElement[bool]:
        return and_(true(), *(not_(workload.c.id.in_(each)) for each in self.needed))


NOTHING_OWNED = Owned()
