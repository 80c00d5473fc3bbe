"""Documents that people give as a file: YAML or JSON, read with bounds.

Only plain values are made of YAML. Aliases are refused (a few lines of them stand for gigabytes), and so are
keys that are given twice (one of them would be lost) and what is nested without end.
"""

import json
from typing import Any

from corral.cli.refusals import CommandError
from corral.core.json_text import is_deeper

MOST_BYTES = 1024 * 1024
MOST_DEPTH = 32
_REMEDY = "Correct it there."


def read_document(place: str, text: str) -> Any:
    """What the text says; refused in words, with the line where YAML knows it."""
    if len(text) > MOST_BYTES:
        raise CommandError(
            f"{place} is longer than {MOST_BYTES // 1024} KiB.", remedy="Describe less work in it."
        )
    try:
        document = _json(text) if text.lstrip().startswith("{") else _yaml(text)
    except RecursionError:
        raise _too_deep(place) from None
    except ValueError as error:
        raise CommandError(f"{place} cannot be read: {error}.", remedy=_REMEDY) from None
    if is_deeper(document, MOST_DEPTH):
        raise _too_deep(place)
    return document


def _json(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key is given twice")
        return found

    try:
        return json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not valid JSON: {error}") from None


def _yaml(text: str) -> Any:
    import yaml

    class Plain(yaml.SafeLoader):
        """Values only, each of them written out."""

        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                event = self.peek_event()  # type: ignore[no-untyped-call]
                raise yaml.MarkedYAMLError(None, None, "aliases are not allowed", event.start_mark)
            self.depth += 1
            if self.depth > MOST_DEPTH:
                raise RecursionError
            try:
                return super().compose_node(parent, index)
            finally:
                self.depth -= 1

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            seen = set()
            for key, _ in node.value:
                if key.tag == "tag:yaml.org,2002:merge" or not isinstance(key, yaml.ScalarNode):
                    raise yaml.MarkedYAMLError(None, None, "a key must be a plain name", key.start_mark)
                if key.value in seen:
                    raise yaml.MarkedYAMLError(None, None, f"{key.value} is given twice", key.start_mark)
                seen.add(key.value)
            return dict(super().construct_mapping(node, deep))

    try:
        return yaml.load(text, Plain)  # noqa: S506 - a safe loader, and stricter
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or "it cannot be read"
        raise ValueError(f"it is not valid YAML: {where}{problem}") from None


def _too_deep(place: str) -> CommandError:
    return CommandError(f"{place} is nested more than {MOST_DEPTH} levels deep.", remedy=_REMEDY)
