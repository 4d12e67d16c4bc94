"""Makes HTML of templates, which write every value as text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from app.domain.moments import format_moment
from app.interfaces.console.act_words import about, act_in_words, act_verb, counts_in_words
from app.interfaces.console.fields import shown_moment
from app.interfaces.console.page import ROOT, ConsolePage, Group, View
from app.interfaces.console.words import explained, field_named, in_words, label_of
from app.interfaces.text import json_text, visible
from app.services.access.credentials import Principal

_FOLDER = Path(__file__).parent
STATIC: Mapping[str, str] = {"console.css": "text/css", "icon.svg": "image/svg+xml"}
"""The files that are served as they are, with their media types."""
_MARKS = {name: sha256((_FOLDER / "static" / name).read_bytes()).hexdigest()[:16] for name in STATIC}
_GROUPS: Sequence[Group] = ("Memory", "Knowledge", "Operation")


@dataclass(frozen=True, slots=True)
class Layout:
    """What stands around a page: who is signed in, the menu, and the prefix of all links.

    Without a principal nobody is signed in, and there is no menu.
    """

    prefix: str
    """The path below which a proxy shows the service; usually empty."""
    pages: Sequence[ConsolePage]
    page: ConsolePage | None = None
    """The page that is shown, where it is one of the menu's."""
    principal: Principal | None = None
    agent_id: str | None = None
    form_key: str = ""
    now: int = 0
    """When the request came, ms since the epoch, where somebody is signed in."""

    @property
    def menu(self) -> Sequence[tuple[Group, Sequence[ConsolePage]]]:
        """The groups of the menu, with the pages that the principal is shown."""
        shown = [page for page in self.pages if self.principal is not None and page.is_for(self.principal)]
        groups = [(group, [page for page in shown if page.group == group]) for group in _GROUPS]
        return [(group, pages) for group, pages in groups if pages]

    def url(self, path: str, **query: object) -> str:
        """Return the link to a path below the console; parameters that are None or empty are left out."""
        given = {name: value for name, value in query.items() if value not in {None, ""}}
        return f"{self.prefix}{ROOT}{quote(path)}{'?' if given else ''}{urlencode(given)}"

    def static(self, name: str) -> str:
        """Return the link to a file of ``STATIC`` as it is now."""
        return self.url(f"/{name}", v=_MARKS[name])


def static_file(name: str) -> bytes:
    """Return the content of a file of ``STATIC``."""
    return (_FOLDER / "static" / name).read_bytes()


@cache
def _environment() -> Environment:
    """Return the templates, which are compiled when they are first shown, and are the same for every application."""
    # A value that no page gave is a defect; every value is escaped.
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(
        moment=_moment,
        day=_day,
        shown=visible,
        json=_json,
        percent=_percent,
        number=_number,
        words=in_words,
        labelled=_labelled,
        act_verb=act_verb,
        act_about=about,
        act_counts=counts_in_words,
        act_in_words=act_in_words,
        clipped=_clipped,
        explained=explained,
        label=label_of,
    )
    return environment


def render(view: View, layout: Layout) -> str:
    """Return the HTML of a view within a layout.

    Its fields that a refusal is about are marked; ``names`` of the view has their names in the form, where a service
    has others.
    """
    refusal = view.values.get("refusal")
    names: Mapping[str, str] = view.values.get("names", {})
    wrong = (
        {names.get(each.field) or field_named(each.field): each.message for each in refusal.errors} if refusal else {}
    )
    around = {"here": layout, "url": layout.url, "agent": layout.agent_id, "wrong": wrong}
    values: Mapping[str, Any] = {**view.values, **around}
    return _environment().get_template(view.template).render(values)


def _moment(milliseconds: int | None) -> Markup | str:
    if milliseconds is None:
        return ""
    return Markup('<time datetime="{}">{}</time>').format(format_moment(milliseconds), shown_moment(milliseconds))


def _day(milliseconds: int | None) -> str:
    return "" if milliseconds is None else format_moment(milliseconds)[:10]


def _clipped(text: str, most: int = 120) -> str:
    line = " ".join(text[: 10 * most].split())
    return line if len(line) <= most else f"{line[:most].rstrip()}\u2026"


def _json(value: Any) -> str:  # noqa: ANN401 - whatever JSON has
    return json_text(value, spaced=True)


def _percent(share: float) -> str:
    shown = round(100 * share)
    return "below 1 %" if share > 0 and not shown else f"{shown} %"


def _labelled(rows: str, heads: Sequence[str]) -> Markup:
    """Give each cell of the rows of a table its column's head, which a small screen shows beside it."""
    return Markup('<tr role="row"').join(map(Markup, (_labelled_row(row, heads) for row in str(rows).split("<tr"))))


def _labelled_row(row: str, heads: Sequence[str]) -> str:
    before, *cells = row.split("<td")
    labels = [*heads, *[""] * len(cells)]
    return before + "".join(
        f'<td role="cell" data-label="{escape(label)}"{cell}' for label, cell in zip(labels, cells, strict=False)
    )


def _number(value: float) -> str:
    return f"{value:,}".replace(",", "\u202f")
