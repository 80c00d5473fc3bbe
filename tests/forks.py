"""`pytest --forks=2`: tests are collected once, and the processes that run them are forks of that one.

Loading the application and collecting a few thousand tests is ten seconds of CPU and more, which pytest-xdist
spends in every process of every stage. Here each fork has all of it, and takes one test after another, or one
module where its tests share what is expensive (`xdist_group`), until none is left. Reports go back to the
first process, which writes them down as if it had run the tests. A fork that dies fails the test it was at,
and another one goes on.
"""

import contextlib
import gc
import os
import traceback
import warnings
from collections import deque
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, Literal

import pytest
from _pytest.runner import runtestprotocol

Group = list[int]  # tests by their place among the collected ones


def add_options(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, metavar="N", help="run the tests in so many forks")
    parser.addoption(
        "--forks-by",
        choices=("test", "file"),
        default="test",
        help="what a fork takes at a time: a test (or a module that shares a fixture), or a file",
    )


def register(config: pytest.Config) -> None:
    if config.getoption("--forks") > 1 and not config.getoption("collectonly"):
        config.pluginmanager.register(Forks(config), "forks")


def groups(items: list[pytest.Item], by: Literal["test", "file"]) -> list[Group]:
    """What is run by one process, in its order; the largest first, so that none is left over at the end."""
    together: dict[str, Group] = {}
    for index, item in enumerate(items):
        mark = item.get_closest_marker("xdist_group")
        alone = str(mark.args[0]) if mark else item.nodeid
        name = item.nodeid.partition("::")[0] if by == "file" else alone
        together.setdefault(name, []).append(index)
    return sorted(together.values(), key=len, reverse=True)


@dataclass
class Fork:
    """A process that runs tests, as the first one sees it."""

    pid: int
    line: Connection
    group: Group = field(default_factory=list)  # what it has still to be given
    given: list[int] = field(default_factory=list)  # the test that runs, if one does, and the one after it
    runs: bool = False


class Forks:
    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.count: int = config.getoption("--forks")
        self.items: list[pytest.Item] = []
        self.waiting: deque[Group] = deque()
        self.forks: list[Fork] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed and not session.config.option.continue_on_collection_errors:
            return None  # pytest says so
        self.items = session.items
        self.waiting.extend(groups(self.items, self.config.getoption("--forks-by")))
        gc.collect()
        gc.freeze()  # what is loaded stays: no fork looks through it for garbage, or copies it by doing so
        try:
            for _ in range(min(self.count, len(self.waiting))):
                self._fork(session)
            while self.forks:
                for line in wait([one.line for one in self.forks]):
                    self._hear(session, next(one for one in self.forks if one.line is line))
        finally:
            for one in self.forks:  # this process was interrupted, or cannot write any more: they end, too
                one.line.close()
                os.waitpid(one.pid, 0)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        return True

    def _fork(self, session: pytest.Session) -> None:
        here, there = Pipe()
        number = len(self.forks)
        base = self._base_folder()
        with warnings.catch_warnings():
            # Threads of libraries that were loaded (numpy's) do nothing yet.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            here.close()
            for one in self.forks:
                one.line.close()
            _Runner(session, there).run(base, number)
        there.close()
        self.forks.append(Fork(pid, here))

    def _base_folder(self) -> Any:
        factory: Any = self.config._tmp_path_factory  # type: ignore[attr-defined]
        return factory.getbasetemp()

    def _hear(self, session: pytest.Session, fork: Fork) -> None:
        try:
            kind, value = fork.line.recv()
        except (EOFError, ConnectionResetError):
            self._bury(session, fork)
            return
        if kind == "next":
            fork.line.send(self._next(session, fork))
        elif kind == "begins":
            fork.runs = True
        elif kind == "ended":
            fork.runs = False
            fork.given.remove(value)
        else:
            report = self.config.hook.pytest_report_from_serializable(config=self.config, data=value)
            self.config.hook.pytest_runtest_logreport(report=report)

    def _next(self, session: pytest.Session, fork: Fork) -> int | None:
        if session.shouldfail or session.shouldstop:
            return None
        if not fork.group and self.waiting:
            fork.group = self.waiting.popleft()
        if not fork.group:
            return None
        fork.given.append(fork.group.pop(0))
        return fork.given[-1]

    def _bury(self, session: pytest.Session, fork: Fork) -> None:
        """It ended: because nothing is left, or in the middle of a test."""
        fork.line.close()
        self.forks.remove(fork)
        _, status = os.waitpid(fork.pid, 0)
        if fork.runs:
            self._report_death(self.items[fork.given.pop(0)], os.waitstatus_to_exitcode(status))
        left = [*fork.given, *fork.group]
        if left and not (session.shouldfail or session.shouldstop):
            self.waiting.appendleft(left)
            self._fork(session)

    def _report_death(self, item: pytest.Item, code: int) -> None:
        report = pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords={},
            outcome="failed",
            longrepr=f"The process that ran this test ended with {code}.",
            when="call",
        )
        self.config.hook.pytest_runtest_logreport(report=report)


class _Runner:
    """The fork's side: asks for tests, runs them, sends the reports."""

    def __init__(self, session: pytest.Session, line: Connection) -> None:
        self.session = session
        self.line = line

    def run(self, base: Any, number: int) -> None:
        """Ends the process; what the first one is to do at its end is not for this one."""
        code = 1
        try:
            self._be_apart(base, number)
            self._run_all()
            code = 0
        except (KeyboardInterrupt, EOFError, BrokenPipeError):  # or the first process is gone
            with contextlib.suppress(BaseException):
                self.session._setupstate.teardown_exact(None)  # stop what its fixtures started
        except BaseException:  # noqa: BLE001 - as an interpreter does at its end
            traceback.print_exc()
        finally:
            os._exit(code)

    def _be_apart(self, base: Any, number: int) -> None:
        """Captured output and temporary files of its own."""
        config: Any = self.session.config
        capture: Any = config.pluginmanager.getplugin("capturemanager")
        capture.stop_global_capturing()
        capture.start_global_capturing()
        folder = base / f"fork-{os.getpid()}-{number}"
        folder.mkdir(mode=0o700)
        config._tmp_path_factory._basetemp = folder
        config.pluginmanager.register(self, "fork")

    def _run_all(self) -> None:
        now = self._next()
        while now is not None:
            self.line.send(("begins", now))
            # Asked for before the test ends: what they share is kept until the last one.
            after = self._next()
            item = self.session.items[now]
            following = None if after is None else self.session.items[after]
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self.line.send(("ended", now))
            now = after

    def _next(self) -> int | None:
        self.line.send(("next", None))
        given: int | None = self.line.recv()
        return given

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        for report in runtestprotocol(item, nextitem=nextitem, log=False):
            data = self.session.config.hook.pytest_report_to_serializable(
                config=self.session.config, report=report
            )
            self.line.send(("report", data))
        return True
