"""What the doctor says to do about a part that fails."""

from pathlib import Path

import pytest

from app.domain.errors import CredentialsRefused, DatabaseUnavailable, IndexNotProvisioned, MemoryGatewayError
from app.runtime.checks import PartState
from app.runtime.doctor import diagnose
from tests.support.service import serving


@pytest.mark.parametrize(
    ("error", "finding"),
    [
        (DatabaseUnavailable("It is gone.", cure="Bring it back."), "It is gone. Bring it back."),
        (CredentialsRefused("They are refused.", cure="Look at KEY."), "They are refused. Look at KEY."),
        (IndexNotProvisioned("It is absent."), "It is absent. See deploy/README.md, Provision."),
    ],
)
async def test_an_error_s_own_cure_is_told_alone_and_else_that_of_its_code(
    tmp_path: Path, error: MemoryGatewayError, finding: str
) -> None:
    async with serving(tmp_path) as service:
        checks = await diagnose(service.runtime, [PartState("thing", "any", error)])
    assert [check.finding for check in checks if check.name == "thing"] == [finding]
