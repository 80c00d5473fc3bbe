"""What every login provider must do: inherit `LoginProviderSuite` and say how to make one."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from corral.identity.providers import Form, LoginProvider, NotProven, Proven, Redirect


@dataclass(frozen=True)
class Known:
    """A provider, someone it knows with an answer that proves it, and one that does not."""

    provider: LoginProvider
    subject: str
    right: Mapping[str, str]
    wrong: Mapping[str, str]
    nobody: Mapping[str, str]
    restart: LoginProvider  # the same provider as after a restart of Corral


class LoginProviderSuite(ABC):
    @pytest.fixture
    @abstractmethod
    async def known(self) -> Known: ...

    @abstractmethod
    def work_done(self, known: Known) -> int:
        """A count that grows with the costly part of a proof (hashes, calls), to compare answers by."""

    @abstractmethod
    async def people_count(self, known: Known) -> int: ...

    async def test_key_is_fit_for_the_api(self, known: Known) -> None:
        assert known.provider.key
        assert known.provider.key == known.provider.key.lower()
        assert len(known.provider.key) <= 40

    async def test_start_says_how_and_has_no_effect(self, known: Known) -> None:
        first, second = known.provider.start(), known.provider.start()
        if isinstance(first, Form):
            assert first == second
            assert first.fields
            assert {field.key for field in first.fields} == set(known.right)
        else:
            assert isinstance(first, Redirect)
            assert first.url.startswith("https://")

    async def test_right_answer_proves_the_same_subject_every_time(self, known: Known) -> None:
        for provider in (known.provider, known.provider, known.restart):
            proof = await provider.finish(known.right)
            assert isinstance(proof, Proven)
            assert proof.subject == known.subject

    async def test_wrong_answer_and_nobody_look_the_same(self, known: Known) -> None:
        assert await known.provider.finish(known.wrong) == NotProven()
        assert await known.provider.finish(known.nobody) == NotProven()

    async def test_nobody_costs_as_much_as_somebody(self, known: Known) -> None:
        await known.provider.finish(known.nobody)  # whatever is made once is made now
        before = self.work_done(known)
        await known.provider.finish(known.wrong)
        for_somebody = self.work_done(known) - before
        await known.provider.finish(known.nobody)
        assert self.work_done(known) - before - for_somebody == for_somebody > 0

    async def test_odd_answers_are_not_proven_and_never_raise(self, known: Known) -> None:
        odd = ["", " ", "\x00", "\ud800", "x" * 100_000, "'; drop table user_account; --", "🦙" * 40]
        for text in odd:
            for field in known.right:
                assert await known.provider.finish({**known.right, field: text}) == NotProven()
        assert await known.provider.finish({}) == NotProven()
        for field in known.right:
            missing = {key: value for key, value in known.right.items() if key != field}
            assert await known.provider.finish(missing) == NotProven()

    async def test_nobody_is_created(self, known: Known) -> None:
        before = await self.people_count(known)
        for answer in (known.right, known.wrong, known.nobody):
            await known.provider.finish(answer)
        assert await self.people_count(known) == before
