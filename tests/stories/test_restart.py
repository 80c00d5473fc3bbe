"""Work goes on while Corral is stopped, is found again, and its ending is recorded once."""

from pathlib import Path

from tests.live import running_corral
from tests.stories.people import administrator, wait_for

COUNTS = """
import pathlib, time
for number in range(1000):
    if pathlib.Path("enough").exists():
        break
    print(number, flush=True)
    time.sleep(0.05)
"""


def test_work_outlives_corral_and_is_found_again(tmp_path: Path) -> None:
    with running_corral(tmp_path) as corral:
        admin = administrator(corral)
        work = admin.submit("counts", ["python3", "-c", COUNTS], gpus=1)
        admin.wait(work, "running")
        wait_for(lambda: admin.output(work, 1), lambda output: "\n2\n" in output)
        assert corral.stop() == 0
        assert "1 workload goes on without it and will be found again." in corral.log.read_text()
        (corral.home / "work" / "workspaces" / work / "enough").touch()
        (corral.home / "endpoints.json").unlink(missing_ok=True)
        corral.start_again()
        admin = administrator(corral)
        seen = admin.wait(work, "succeeded")
        assert (seen["attempt"], seen["exit_code"]) == (1, 0)
        assert admin.output(work, 1).splitlines()[:3] == ["0", "1", "2"]
