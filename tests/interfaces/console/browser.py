"""A person with a browser that has no JavaScript: it keeps cookies, follows redirects, sends forms."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

import httpx

from app.interfaces.request_state import SESSION_COOKIE
from tests.support.service import Service

URL = "https://service"
"""The cookie of a session is sent over https alone."""
_LIKE_A_BROWSER = {"Sec-Fetch-Site": "same-origin"}


@dataclass
class Form:
    """A form of a page: where it goes, and its fields as they are filled in."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)


class _Parser(HTMLParser):
    """Reads the forms, the links and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.links: list[str] = []
        self.text: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.labels: list[str] = []
        self._area: str | None = None
        self._in_link = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append((tag, given))
        if tag == "form":
            self.forms.append(Form(given["action"], given["method"]))
        elif tag in {"input", "select", "textarea"} and given.get("name") and self.forms:
            self.forms[-1].fields[given["name"]] = given.get("value", "")
            self._area = given["name"] if tag == "textarea" else None
        elif tag == "option" and "selected" in given:
            self.forms[-1].fields[next(reversed(self.forms[-1].fields))] = given["value"]
        elif tag == "a":
            self.links.append(given.get("href", ""))
            self.labels.append("")
        self._in_link = self._in_link or tag == "a"

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = None
        self._in_link = self._in_link and tag != "a"

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self.forms[-1].fields[self._area] += data.removeprefix("\n")
        if self._in_link:
            self.labels[-1] += data
        self.text.append(data)


class Page:
    """A page as a person sees it."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self.status = answer.status_code
        self.html = answer.text
        self._parser = parser = _Parser()
        parser.feed(answer.text)
        self.forms, self.links, self.tags = parser.forms, parser.links, parser.tags
        self.text = re.sub(r"\s+", " ", " ".join(parser.text))
        self.path = answer.url.path
        self.query = dict(answer.url.params)

    def form(self, action: str) -> Form:
        """The form whose path ends so."""
        (form,) = [each for each in self.forms if each.action.partition("?")[0].endswith(action)]
        return form

    def labelled(self, label: str) -> str:
        """The link with these words."""
        return next(link for link, words in zip(self.links, self._parser.labels, strict=True) if words.strip() == label)

    def words_of(self, class_: str) -> list[str]:
        """What stands in each ``span`` that has this class, in order."""
        found = re.findall(rf'<span class="(?:[^"]* )?{class_}(?: [^"]*)?">([^<]*)</span>', self.html)
        return [words.strip() for words in found]

    def link(self, part: str) -> str:
        """The first link that has this in it."""
        return next(each for each in self.links if part in each)


class Browser:
    """One browser: its cookies are its own."""

    def __init__(self, client: httpx.AsyncClient, service: Service) -> None:
        self.client = client
        self.service = service

    async def open(self, path: str, **headers: str) -> Page:
        return Page(await self.client.get(path, headers=headers, follow_redirects=True))

    async def send(
        self, form: Form, headers: dict[str, str] | None = None, filled: dict[str, str] | None = None, **more: str
    ) -> Page:
        """Send a form with these fields filled in."""
        fields = form.fields | (filled or {}) | more
        if form.method == "get":
            return await self.open(f"{form.action}?{urlencode(fields)}")
        given = _LIKE_A_BROWSER if headers is None else headers
        answer = await self.client.post(form.action, data=fields, headers=given, follow_redirects=True)
        return Page(answer)

    async def sign_in(self, credential: dict[str, str], at: str = "/console/sign-in") -> Page:
        page = await self.open(at)
        token = credential["Authorization"].removeprefix("Bearer ")
        return await self.send(page.form("/sign-in"), credential=token)

    @property
    def cookie(self) -> str | None:
        return self.client.cookies.get(SESSION_COOKIE)


@asynccontextmanager
async def browsing(service: Service, tenant: str = "acme", **credential: Any) -> AsyncIterator[Browser]:
    """A browser that is signed in with a credential of a tenant."""
    async with stranger(service) as browser:
        page = await browser.sign_in(service.credential(tenant, **credential))
        assert page.status == 200, page.text
        yield browser


@asynccontextmanager
async def stranger(service: Service) -> AsyncIterator[Browser]:
    """A browser that is not signed in."""
    transport = httpx.ASGITransport(service.app)
    async with httpx.AsyncClient(transport=transport, base_url=URL) as client:
        yield Browser(client, service)
