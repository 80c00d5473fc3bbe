"""Consolidate: move work together so that a taker fits; nobody loses anything."""

from collections.abc import Sequence

from corral.core.plans import Action, SearchResult
from corral.scheduling.cycle import Cycle
from corral.scheduling.search import take_for
from corral.scheduling.takers import take_turns
from corral.scheduling.victims import Candidates
from corral.scheduling.work import Chunk, WorkState


def consolidate(cycle: Cycle) -> None:
    """For preemptible takers, if what is idle or leaving would suffice in sum."""

    leaves = list(cycle.tree.leaves())

    def attempt(taker: WorkState) -> SearchResult | None:
        chunk = taker.chunk()
        assert chunk is not None
        # Work that moves is charged as before: no limit gives way.
        if cycle.refusal(chunk) is not None:
            return SearchResult.NOT_ALLOWED
        if not _capacity_suffices(cycle, taker):
            return SearchResult.IMPOSSIBLE
        candidates = Candidates(cycle.lists, taker, leaves, {})
        return take_for(cycle, Action.CONSOLIDATE, taker, candidates, _nothing_lost)

    takers = [work for work in cycle.pending() if work.preemptible]
    take_turns(cycle, Action.CONSOLIDATE, takers, attempt)


def _nothing_lost(lost: Sequence[Chunk]) -> bool:
    return not lost


def _capacity_suffices(cycle: Cycle, taker: WorkState) -> bool:
    chunk = taker.chunk()
    assert chunk is not None
    gpu = cpu = memory = 0
    for node in cycle.board.nodes:
        cpu += node.size[0] - node.used[0] + node.leaving[0] - node.promised[0]
        memory += node.size[1] - node.used[1] + node.leaving[1] - node.promised[1]
        for device in node.devices:
            held = device.mib - device.leaving_mib + device.promised_mib
            gpu += (device.memory_mib - held) * 1000 // device.memory_mib
    return chunk.amount[0] <= gpu and chunk.amount[1] <= cpu and chunk.amount[2] <= memory
