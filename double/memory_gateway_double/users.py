"""Who the token belongs to: what wrangler asks before it does anything.

https://developers.cloudflare.com/api/resources/user/
"""

import hashlib
from collections.abc import Iterator

from memory_gateway_double.rights import token_id
from memory_gateway_double.routing import Route
from memory_gateway_double.v4 import ok, page
from memory_gateway_double.wire import Reply, Request

_NAME = "Double"
_EMAIL = "double@example.com"
_SINCE = "2026-01-01T00:00:00.000000Z"


class Users:
    """One user with one account and its tokens."""

    def __init__(self, account_id: str) -> None:
        """Derive the ids that nobody chooses."""
        self._account = {"id": account_id, "name": _NAME, "type": "standard", "created_on": _SINCE, "settings": {}}
        self._user_id = hashlib.sha256(account_id.encode()).hexdigest()[:32]

    def routes(self, prefix: str, account: str) -> Iterator[Route]:
        """Return the endpoints; the account itself is at its own path."""
        yield Route("tokens-verify", "GET", f"{prefix}/user/tokens/verify", self._verify)
        yield Route("tokens-verify", "GET", f"{account}/tokens/verify", self._verify)
        yield Route("user", "GET", f"{prefix}/user", self._user)
        yield Route("memberships", "GET", f"{prefix}/memberships", self._memberships)
        yield Route("accounts", "GET", f"{prefix}/accounts", self._accounts)
        yield Route("accounts", "GET", account, self._one_account)

    async def _verify(self, request: Request) -> Reply:
        token = request.headers.get("authorization", "").partition(" ")[2]
        return ok({"id": token_id(token), "status": "active"})

    async def _user(self, _: Request) -> Reply:
        return ok({"id": self._user_id, "email": _EMAIL, "first_name": _NAME, "last_name": None, "suspended": False})

    async def _memberships(self, request: Request) -> Reply:
        membership = {
            "id": self._user_id,
            "status": "accepted",
            "account": self._account,
            "roles": ["Super Administrator - All Privileges"],
        }
        return page(request, [membership], per_page=20)

    async def _accounts(self, request: Request) -> Reply:
        return page(request, [self._account], per_page=20)

    async def _one_account(self, _: Request) -> Reply:
        return ok(self._account)
