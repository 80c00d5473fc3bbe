"""The local password does what every login provider must, and keeps its hashes to itself."""

import pytest
from sqlalchemy import func, select

from corral.identity.passwords import Passwords
from corral.identity.providers import LocalPassword, NotProven, Proven
from corral.identity.tables import user
from corral.store.database import Database, Transaction
from tests.campus import PASSWORD, Campus
from tests.identity.login_provider_suite import Known, LoginProviderSuite


class TestLocalPassword(LoginProviderSuite):
    @pytest.fixture
    async def known(self, campus: Campus, database: Database, passwords: Passwords) -> Known:
        self._database, self._passwords = database, passwords
        return Known(
            provider=LocalPassword(database, passwords),
            subject=await campus.person("mei"),
            right={"name": "mei", "password": PASSWORD},
            wrong={"name": "mei", "password": "not the password"},
            nobody={"name": "nobody-here", "password": PASSWORD},
            restart=LocalPassword(database, passwords),
        )

    def work_done(self, known: Known) -> int:
        return self._passwords.verifications

    async def people_count(self, known: Known) -> int:
        def count(transaction: Transaction) -> int:
            return int(transaction.scalar(select(func.count()).select_from(user)))

        return await self._database.read(count)

    async def test_name_is_taken_as_people_type_it(self, known: Known) -> None:
        for typed in (" Mei ", "MEI"):
            proof = await known.provider.finish({"name": typed, "password": PASSWORD})
            assert isinstance(proof, Proven)
        for password in (PASSWORD.upper(), f" {PASSWORD}"):
            assert await known.provider.finish({"name": "mei", "password": password}) == NotProven()


async def test_hashes_are_argon2id_and_a_damaged_one_opens_nothing(passwords: Passwords) -> None:
    hashed = await passwords.hash("four words do well")
    assert hashed.startswith("$argon2id$")
    assert await passwords.verify("four words do well", hashed)
    assert not await passwords.verify("four words do well", "damaged")
    assert hashed != await passwords.hash("four words do well")
