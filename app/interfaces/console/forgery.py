"""Tells forms of the console from forms that another site has a browser send."""

import hmac

from starlette.requests import Request

from app.domain.errors import Forbidden
from app.domain.urls import authority_of
from app.interfaces.console.fields import FormFields
from app.interfaces.console.tokens import SignIn
from app.interfaces.cursors import Keys

FIELD = "form_key"
"""The hidden field of each form of somebody who is signed in."""
_PURPOSE = "memory-gateway console form, 1"


class FormKeys:
    """Makes and checks the keys of forms. The forms of one session have one key, and no other session has it."""

    def __init__(self, keys: Keys) -> None:
        """Derive the keys from the credentials' secrets."""
        self._keys = keys.keys(_PURPOSE)

    def of(self, sign_in: SignIn) -> str:
        """Return the key of a session's forms."""
        return self._signed(self._keys[0], sign_in)

    def check(self, sign_in: SignIn, form: FormFields) -> None:
        """Raise ``Forbidden`` unless a form has the key of the session."""
        given = form[FIELD].encode()
        if not any(hmac.compare_digest(self._signed(key, sign_in).encode(), given) for key in self._keys):
            raise Forbidden("The form is not one of this session: open the page again and repeat it. Nothing was done.")

    def _signed(self, key: bytes, sign_in: SignIn) -> str:
        return hmac.new(key, sign_in.id.encode(), "sha256").hexdigest()


def check_origin(request: Request) -> None:
    """Raise ``Forbidden`` unless a browser says that a form comes from a page of this service.

    Every browser says so with a form, by one of two headers; the first is sent over https and to this machine alone.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin", "")
    if site is None and authority_of(origin) == request.headers.get("host", "").lower():
        return
    if site != "same-origin":
        raise Forbidden("The form was not sent from a page of this console. Nothing was done.")
