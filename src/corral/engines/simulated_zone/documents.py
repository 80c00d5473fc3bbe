"""Reads a document that describes nodes: JSON, or YAML without aliases."""

import json
from typing import Any

from corral.core.refusals import Invalid

MOST_CHARACTERS = 1_000_000
MOST_DEPTH = 20


def read_document(text: str, field: str) -> Any:
    """Raises `Invalid`, with the place that cannot be read."""
    if len(text) > MOST_CHARACTERS:
        raise Invalid.field(
            field,
            f"It has {len(text)} characters.",
            f"Write at most {MOST_CHARACTERS}; count describes many nodes that are alike.",
        )
    try:
        return json.loads(text)
    except RecursionError:
        raise _too_deep(field) from None
    except json.JSONDecodeError:
        return _read_yaml(text, field)


def _read_yaml(text: str, field: str) -> Any:
    import yaml  # here, because most descriptions are short

    try:
        depth = 0
        for event in yaml.parse(text, yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise Invalid.field(field, "It has an alias.", "Write every value out.")
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > MOST_DEPTH:
                raise _too_deep(field)
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        place = " ".join(str(error).split())[:200]
        raise Invalid.field(
            field, f"It is neither JSON nor YAML: {place}", "Write a list of nodes under nodes."
        ) from None
    except ValueError as error:  # a date that does not exist, a number that is too long
        raise Invalid.field(
            field, f"A value cannot be read: {str(error)[:200]}.", "Put it into quotes."
        ) from None


def _too_deep(field: str) -> Invalid:
    return Invalid.field(field, "It is nested too deeply.", "Write a list of nodes under nodes.")
