"""Makes docs/configuration.md from the settings: python -m corral.server.settings_doc --write | --check."""

import sys
from pathlib import Path

from pydantic.fields import FieldInfo

from corral.server.settings import Settings
from corral.server.settings_sources import allowed_values, flag_name, variable_name

__all__ = ["render"]

PAGE = Path("docs/configuration.md")

_INTRODUCTION = """\
# Configuration

<!-- Made from src/corral/server/settings by: uv run python -m corral.server.settings_doc --write -->

Corral runs without any configuration. What holds from start to stop is set here; what an administrator
changes while it runs (mail, registration) is in the console under Settings.

A value comes from the last of these that names it:

1. the default,
2. `corral.toml` in the data directory, or the file that `--config` or `CORRAL_CONFIG` names,
3. a `CORRAL_*` variable,
4. a flag of `corral up`.

`corral config show` prints every value and where it came from. A wrong value or an unknown name stops Corral
with a message that names the setting, the value, where it came from and what is allowed. Relative paths in
`corral.toml` start at that file, in variables and flags at the working directory. Lists are TOML arrays in
the file and separated by commas elsewhere.

```toml
# corral.toml
port = 8720
log_format = "json"
session_idle_hours = 8
```

## Beyond this machine

Corral listens on 127.0.0.1. From another machine, use an SSH tunnel and open the same address there:

```
ssh -L 8710:127.0.0.1:8710 <user>@<machine>
```

An address that others can reach needs TLS. Either Corral has its own certificate:

```toml
host = "0.0.0.0"
port = 443
host_names = ["corral.example.edu"]
tls_certificate = "/etc/corral/fullchain.pem"
tls_key = "/etc/corral/privkey.pem"
```

or a proxy in front of it ends TLS:

```toml
behind_proxy = "https://corral.example.edu"
```

## Settings
"""


def render() -> str:
    """The page as it should be."""
    sections = [_section(key, field) for key, field in Settings.model_fields.items()]
    return "\n".join([_INTRODUCTION, *sections])


def _section(key: str, field: FieldInfo) -> str:
    lines = [
        f"### {key}",
        "",
        f"{field.description}",
        "",
        f"- Default: {_default(key, field)}",
        f"- Allowed: {_escaped(allowed_values(key))}",
        f"- Variable: `{variable_name(key)}`; flag: `{flag_name(key)}`",
        "",
    ]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    # Markdown would take <name> for HTML and show nothing.
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _default(key: str, field: FieldInfo) -> str:
    if key == "home":
        return "`$XDG_DATA_HOME/corral`, or `~/.local/share/corral`"
    if field.default in (None, "", ()):
        return "empty"
    if isinstance(field.default, tuple):
        return f"`{', '.join(field.default)}`"
    return f"`{field.default}`"


def main(arguments: list[str]) -> int:
    if arguments == ["--write"]:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(render(), encoding="utf-8")
        return 0
    if arguments == ["--check"]:
        if PAGE.exists() and PAGE.read_text(encoding="utf-8") == render():
            return 0
        sys.stderr.write(f"{PAGE} is not current: python -m corral.server.settings_doc --write\n")
        return 1
    sys.stderr.write("usage: python -m corral.server.settings_doc --write | --check\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
