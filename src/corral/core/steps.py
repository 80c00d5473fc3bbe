"""What Corral does with one workload. Each can fail for that workload alone."""

from enum import StrEnum


class Step(StrEnum):
    PLAN = "plan"
    EXPLAIN = "explain"
    START = "start"
    SIGNAL = "signal"
    RECORD = "record"
    HEAR = "hear"
    REPORT = "report"
    FORGET = "forget"
    DISCARD = "discard"
    PURGE = "purge"
    FOLLOW = "follow"
    ADOPT = "adopt"
    OUTPUT = "output"
    MEASURE = "measure"


OF_PLANNING = frozenset({Step.PLAN, Step.EXPLAIN})
"""Steps that the schedule loop reports."""
OF_CHORES = frozenset({Step.PURGE})
OF_RECONCILING = frozenset(Step) - OF_PLANNING - OF_CHORES
"""Steps that the reconcile loop and the engine report."""
