"""Node numbers of a pool's board; nodes that join and leave between cycles are applied together.

Nodes are numbered in the order of their names, and places refer to these numbers. When nodes come or go,
running work gets new numbers, and only what depends on all nodes is computed again.
"""

from collections import Counter

import numpy as np

from corral.core.devices import DeviceKind
from corral.core.nodes import Node
from corral.scheduling.state.affinity_counts import Integers
from corral.scheduling.state.board import Board
from corral.scheduling.state.node_state import NodeState


class NodeNumbering:
    """`settle` brings the board up to date."""

    def __init__(self, board: Board) -> None:
        self._kinds: Counter[DeviceKind] = Counter()
        for shape, nodes in Counter(node.shape for node in board.nodes).items():
            self._kinds.update({kind: nodes * count for kind, count in Counter(board.shapes[shape]).items()})
        self._joined: dict[str, Node] = {}
        self._left: set[str] = set()

    def add(self, node: Node) -> bool:
        """False, and nothing done, if it has devices of a new kind: what work counts for goes by kinds."""
        if any(device.kind not in self._kinds for device in node.devices):
            return False
        self._kinds.update(device.kind for device in node.devices)
        self._joined[node.name] = node
        return True

    def drop(self, node: NodeState) -> bool:
        """False, and nothing done, if it is in use, or has the last devices of a kind."""
        kinds = Counter(node.kinds)
        if node.used[2] or any(self._kinds[kind] == count for kind, count in kinds.items()):
            return False
        self._kinds.subtract(kinds)
        self._left.add(node.node.name)
        return True

    def awaits(self, name: str) -> bool:
        """Whether a node joined that the board does not have yet."""
        return name in self._joined

    def settle(self, board: Board) -> tuple[list[int], Integers] | None:
        """The number of each former node now, and the former one of each node; None if nothing changed.

        Who is not there has the number -1.
        """
        if not self._joined and not self._left:
            return None
        before = board.nodes
        nodes = [node for node in before if node.node.name not in self._left]
        nodes += (NodeState(node, -1) for node in self._joined.values())
        nodes.sort(key=lambda state: state.node.name)
        former = np.array([node.index for node in nodes], np.int64)
        after = [-1] * len(before)
        board.renumber(nodes)
        for number, index in enumerate(former.tolist()):
            if index >= 0:
                after[index] = number
        self._joined.clear()
        self._left.clear()
        return after, former
