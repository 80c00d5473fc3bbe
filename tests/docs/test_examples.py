"""The examples of the documents are run, in order, against a Corral of their own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_documents import ROOT
from tests.live import LiveCorral, corral_environment

_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def examples(document: Path) -> dict[str, str]:
    """The runnable blocks, one program per language: later blocks use what earlier ones made."""
    programs: dict[str, str] = {}
    for language, code in _BLOCK.findall(document.read_text()):
        programs[language] = programs.get(language, "") + code
    return programs


@pytest.mark.parametrize("name", ["tutorial", "run", "api", "training", "zones"])
def test_examples_run_as_they_are_written(name: str, live_corral: LiveCorral, tmp_path: Path) -> None:
    programs = examples(ROOT / "docs" / f"{name}.md")
    environment = corral_environment(live_corral.home, live_corral.port) | {
        "CORRAL_URL": live_corral.url,
        "CORRAL_TOKEN": live_corral.local_token,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
    }
    commands = {"sh": ["bash", "-eu", "-c"], "python": [sys.executable, "-c"]}
    for language, program in programs.items():
        done = subprocess.run(
            [*commands[language], program],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def test_documents_have_examples_to_run() -> None:
    assert len(examples(ROOT / "docs" / "tutorial.md")["sh"].splitlines()) > 20
    assert set(examples(ROOT / "docs" / "api.md")) == {"sh", "python"}
