"""What Corral does with one workload. Each can fail for that workload alone."""

from enum import StrEnum


class Step(StrEnum):
    START = "start"
    SIGNAL = "signal"
    RECORD = "record"
    HEAR = "hear"
    FORGET = "forget"
    DISCARD = "discard"
    PURGE = "purge"
    FOLLOW = "follow"
    ADOPT = "adopt"
    OUTPUT = "output"
    MEASURE = "measure"
