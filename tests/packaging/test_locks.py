"""The lock files serve every platform, not only the one they were written on."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_lock_of_the_console_holds_every_optional_package() -> None:
    """`npm ci` refuses a lock in which the builds for other platforms are missing."""
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    missing = {
        name
        for package in packages.values()
        for name in package.get("optionalDependencies", {})
        if f"node_modules/{name}" not in packages
    }
    assert missing == set()


def test_lock_files_name_public_registries_only() -> None:
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    addresses = {package["resolved"] for package in packages.values() if "resolved" in package}
    assert {
        address for address in addresses if not address.startswith("https://registry.npmjs.org/")
    } == set()
    for line in (ROOT / "uv.lock").read_text().splitlines():
        if "registry = " in line:
            assert 'registry = "https://pypi.org/simple"' in line
