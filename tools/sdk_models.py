"""Writes the SDK's models (sdk/src/corral_sdk/models.py) from the API's description.

python tools/sdk_models.py            # after a change of the routes; `make api-types` runs it
python tools/sdk_models.py --check    # only says whether they are current

Every object that the API answers becomes a frozen dataclass with the same name and fields. Values of an
enumeration stay `str`: a newer Corral may answer one that this client does not know.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "sdk" / "src" / "corral_sdk" / "models.py"
WIDTH = 110

# Methods that a model has beside its fields, and models that no schema describes: written by hand.
METHODS = {"Workload": ("corral_sdk._workload_states", "WorkloadStates")}
BY_HAND = {"Event": "corral_sdk._events"}
# The pages of a list are `Page[T]` and iterators of `T` in the client.
ENVELOPE = {"items", "next_cursor"}

HEADER = '''"""The objects of the API, as frozen dataclasses. Times are aware and in UTC; ids sort by time.

Written by tools/sdk_models.py from the API's description; not edited by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

'''

Schema = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only")
    check: bool = parser.parse_args().check
    text = _formatted(generate(_description()))
    shown = TARGET.relative_to(ROOT)
    if not check:
        TARGET.write_text(text, encoding="utf-8")
        print(f"Wrote {shown}.")
        return 0
    if TARGET.read_text(encoding="utf-8") != text:
        print(f"{shown} is not current: run `make api-types` and commit the result.", file=sys.stderr)
        return 1
    print(f"{shown} is current.")
    return 0


def generate(document: Mapping[str, Any]) -> str:
    """The module's text, not yet formatted."""
    schemas: dict[str, Schema] = document["components"]["schemas"]
    names = sorted(_answered(document, schemas))
    models = {_class_name(name): schemas[name] for name in names if _is_model(schemas[name])}
    bases = {name: _base(name, models) for name in models}
    imports = {**dict(METHODS.values()), **{module: name for name, module in BY_HAND.items()}}
    lines = [f"from {module} import {name}" for module, name in sorted(imports.items())]
    exported = sorted([*models, *BY_HAND])
    classes = [_dataclass(name, models[name], bases[name], models, schemas) for name in _bases_first(bases)]
    return HEADER + "\n".join([*lines, "", f"__all__ = {exported!r}", *classes])


def _description() -> dict[str, Any]:
    from corral.server.app import describe_only
    from corral.server.openapi import describe

    return describe(describe_only())


def _answered(document: Mapping[str, Any], schemas: Mapping[str, Schema]) -> set[str]:
    """The schemas that answers consist of; what only requests use is left out."""
    pending = [
        name
        for operations in document["paths"].values()
        for operation in operations.values()
        for status, response in operation["responses"].items()
        if status.startswith("2")
        for name in _references(response)
    ]
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(_references(schemas[name]))
    return found


def _references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key == "$ref":
                yield str(each).rsplit("/", 1)[1]
            else:
                yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def _is_model(schema: Schema) -> bool:
    return "properties" in schema and not set(schema["properties"]) <= ENVELOPE


def _class_name(name: str) -> str:
    return name.removesuffix("-Output")


def _base(name: str, models: Mapping[str, Schema]) -> str | None:
    """The model that this one extends: its name is part of this one's, and its fields are among them."""
    fields = models[name]["properties"]
    found = [
        other
        for other, schema in models.items()
        if other != name
        and other in name
        and all(fields.get(key) == value for key, value in schema["properties"].items())
    ]
    return max(found, key=len, default=None)


def _bases_first(bases: Mapping[str, str | None]) -> list[str]:
    ordered: list[str] = []

    def place(name: str) -> None:
        if name not in ordered:
            if base := bases[name]:
                place(base)
            ordered.append(name)

    for name in bases:
        place(name)
    return ordered


def _dataclass(
    name: str, schema: Schema, base: str | None, models: Mapping[str, Schema], schemas: Mapping[str, Schema]
) -> str:
    methods = METHODS[name][1] if name in METHODS else None
    parents = ", ".join(each for each in (base, methods) if each)
    inherited = models[base]["properties"] if base else {}
    heading = f"class {name}({parents}):" if parents else f"class {name}:"
    lines = ["", "", "@dataclass(frozen=True, kw_only=True)", heading]
    if schema.get("description"):
        lines += [*_docstring(schema["description"]), ""]
    own = {key: value for key, value in schema["properties"].items() if key not in inherited}
    for key, value in own.items():
        lines += _field(key, value, key in schema.get("required", ()), schemas)
    return "\n".join(lines if own or schema.get("description") else [*lines, "    pass"])


def _field(name: str, schema: Schema, required: bool, schemas: Mapping[str, Schema]) -> list[str]:
    hint = _hint(schema, schemas)
    default = "" if required else f" = {_default(schema, hint)}"
    if default == " = None" and "None" not in hint and hint != "Any":
        hint = f"{hint} | None"
    about = " ".join(each for each in (schema.get("description", ""), _values(schema, schemas)) if each)
    return [f"    {name}: {hint}{default}", *(_docstring(about) if about else ())]


def _docstring(text: str) -> list[str]:
    if '"""' in text or "\\" in text:
        raise SystemExit(f"A description cannot be a docstring: {text}")
    paragraphs = [" ".join(part.split()) for part in text.strip().split("\n\n")]
    lines: list[str] = []
    for number, paragraph in enumerate(paragraphs):
        lines += [""] if number else []
        # The quotes of the first and of the last line stand on the same lines.
        lines += textwrap.wrap(paragraph, WIDTH - len('    """') - len('"""'), break_on_hyphens=False)
    lines[0] = f'"""{lines[0]}'
    if lines[-1].endswith('"') or len(paragraphs) > 1:
        lines.append("")
    lines[-1] += '"""'
    return [f"    {line}".rstrip() for line in lines]


def _hint(schema: Schema, schemas: Mapping[str, Schema]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return _class_name(name) if "properties" in schemas[name] else _hint(schemas[name], schemas)
    if "anyOf" in schema:
        hints = list(dict.fromkeys(_hint(each, schemas) for each in schema["anyOf"]))
        # An optional value; the decoder does not choose among several objects.
        if len([hint for hint in hints if hint != "None"]) > 1:
            raise SystemExit(f"An answer may be one of several kinds: {schema}")
        return " | ".join(hints)
    match schema.get("type"):
        case "string":
            return "datetime" if schema.get("format") == "date-time" else "str"
        case "array":
            return f"tuple[{_hint(schema['items'], schemas)}, ...]"
        case "object":
            values = schema.get("additionalProperties")
            return f"Mapping[str, {_hint(values, schemas) if isinstance(values, dict) else 'Any'}]"
        case "integer" | "number" | "boolean" | "null" as kind:
            return {"integer": "int", "number": "float", "boolean": "bool", "null": "None"}[kind]
    return "Any"


def _default(schema: Schema, hint: str) -> str:
    if hint.startswith("Mapping["):
        return "field(default_factory=dict)"
    if hint.startswith("tuple["):
        return repr(tuple(schema.get("default", ())))
    return repr(schema.get("default"))


def _values(schema: Schema, schemas: Mapping[str, Schema]) -> str:
    """The values of an enumeration, in words."""
    options = [schema, *schema.get("anyOf", ())]
    if "items" in schema:
        options.append(schema["items"])
    for each in options:
        found = schemas[each["$ref"].rsplit("/", 1)[1]] if "$ref" in each else each
        if "enum" in found:
            return f"One of: {', '.join(f'`{value}`' for value in found['enum'])}."
    return ""


def _formatted(text: str) -> str:
    ruff = [str(ROOT / ".venv" / "bin" / "ruff")]
    for arguments in (["check", "--quiet", "--fix", "--select=I,F401"], ["format"]):
        command = [*ruff, *arguments, "--stdin-filename", str(TARGET), "-"]
        done = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
        text = done.stdout
    return text


if __name__ == "__main__":
    sys.exit(main())
