"""Paths of the organisation tree: `/root/department/lab/`, made of ids, one string per node.

A node's subtree is a contiguous range of these strings, so "at or below" is a prefix in Python
and two comparisons in SQL.
"""


def child_path(parent: str, identifier: str) -> str:
    return f"{parent}{identifier}/"


def is_root(path: str) -> bool:
    return path.count("/") == 2


def contains(scope: str, path: str) -> bool:
    """Whether `path` is the node of `scope` or below it."""
    return path.startswith(scope)


def ancestors(path: str) -> list[str]:
    """The ids from the root down to the node itself."""
    return path.strip("/").split("/")


def subtree_end(scope: str) -> str:
    """The first string after every path of the subtree: '0' follows '/' in ASCII."""
    return scope[:-1] + "0"


def outermost(scopes: list[str]) -> list[str]:
    """The scopes without those that lie inside another one."""
    kept: list[str] = []
    for scope in sorted(set(scopes)):
        if not kept or not contains(kept[-1], scope):
            kept.append(scope)
    return kept
