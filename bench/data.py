"""What is stored and asked: invented notes of about 120 characters, the same in every run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle, islice
from random import Random

from app.domain.memory import Scope
from app.domain.moments import wall_clock
from app.interfaces.http.schemas.recall import RecallRequest
from app.interfaces.http.schemas.store import StoreRequest
from app.services.access.credentials import Credentials
from bench.client import post, post_json

SECRETS = {"bench": "a-secret-for-benchmarks-and-nothing-else"}
AUTH_SECRETS = ",".join(f"{kid}={secret}" for kid, secret in SECRETS.items())

_WORDS = {
    "person": "Amara,Bruno,Chiara,Dmitri,Elif,Farid,Greta,Hugo,Ingrid,Jamal,Katya,Leif,Mina,Oskar,Priya,Tomoko,Yusuf",
    "team": "accounting,design,support,logistics,marketing,security,research,purchasing,payroll,legal,training",
    "verb": "prefers,wants,refuses,postponed,approved,questioned,requested,cancelled,expects,dislikes,ordered,archived",
    "kind": "monthly,yearly,printed,encrypted,handwritten,Swedish,vegetarian,refundable,waterproof,temporary,signed",
    "thing": "invoices,contracts,keyboards,deliveries,passwords,breakfasts,dashboards,train tickets,office chairs,"
    "test reports,customer surveys,bicycle repairs,language courses,price lists,phone calls,release notes,hotel rooms",
    "place": "Lisbon,Tampere,Oslo,Nairobi,Kyoto,Denver,Porto,Gdansk,Leeds,Montreal,Adelaide,Bergen,Valencia,Izmir",
    "month": "January,February,March,April,May,June,July,August,September,October,November,December",
    "reason": "the budget is spent,the supplier closed,nobody answered,the manager is on leave,auditors asked twice,"
    "the warehouse floods,two customers complained,the new contract starts soon,travel takes too long,"
    "the printer is broken,a colleague is allergic to nuts,the server room runs hot",
}
_CHOICES = {slot: words.split(",") for slot, words in _WORDS.items()}
_NOTE = "{person} from {team} {verb} {kind} {thing} in {place} since {month} because {reason}, as case {number} says"
_WORDS_OF_MESSAGE = 60
_QUESTION = "who {verb} {thing} in {place}, case {number}?"


def _texts(form: str, seed: int) -> Iterator[str]:
    """Yield texts of this form without end; the number in each is its own, so that no two are equal."""
    random = Random(seed)
    number = 0
    while True:
        number += random.randint(1, 9)
        yield form.format(number=number, **{slot: random.choice(words) for slot, words in _CHOICES.items()})


def notes(seed: int) -> Iterator[str]:
    """Yield distinct notes of about 120 characters."""
    return _texts(_NOTE, seed)


def questions(seed: int) -> Iterator[str]:
    """Yield distinct questions of about a dozen tokens."""
    return _texts(_QUESTION, seed)


def messages(seed: int) -> Iterator[str]:
    """Yield distinct messages of 60 words, as a user writes them whole."""
    told = notes(seed)
    while True:
        yield " ".join(" ".join(islice(told, 4)).split()[:_WORDS_OF_MESSAGE])


def credential(scope: Scope, *, admin: bool = False) -> dict[str, str]:
    """Sign a credential for the scope's tenant, as a header."""
    token = Credentials(SECRETS).issue(scope.tenant_id, now=wall_clock(), admin=admin)
    return {"Authorization": f"Bearer {token}"}


class Requests:
    """Requests about a set of scopes, each scope in its turn. No text comes twice unless asked for."""

    def __init__(self, scopes: Sequence[Scope], *, seed: int) -> None:
        """Sign a credential for each scope."""
        headers = [credential(scope) for scope in scopes]
        self._scopes = cycle(zip(scopes, headers, strict=True))
        self._notes = notes(seed)
        self._questions = questions(seed)
        self._messages = messages(seed)

    def all(self, path: str, bodies: Iterable[Mapping[str, object]]) -> list[bytes]:
        """Make requests of any bodies; an agent is named in those that name none."""
        return [
            post_json(path, {"agent_id": scope.agent_id, **body}, headers)
            for body, (scope, headers) in zip(bodies, self._scopes, strict=False)
        ]

    def questions(self, count: int, **more: object) -> list[bytes]:
        """Make requests that ask what was not asked before, with further fields, such as a filter."""
        return self.all("/recall", ({"query": text, **more} for text in islice(self._questions, count)))

    def recalls_of_bytes(self, count: int, size: int) -> list[bytes]:
        """Make requests that ask with notes of so many bytes, each with others."""
        texts = (" ".join(islice(self._notes, size // 100))[:size] for _ in range(count))
        return self.all("/recall", ({"query": text} for text in texts))

    def recalls_of_facts(self, count: int) -> list[bytes]:
        """Make requests that ask for facts."""
        return self.all("/facts/recall", ({"query": text} for text in islice(self._questions, count)))

    def stores(self, count: int) -> list[bytes]:
        """Make requests that store new memories."""
        return [
            post("/store", StoreRequest(agent_id=scope.agent_id, content=text), headers)
            for text, (scope, headers) in zip(islice(self._notes, count), self._scopes, strict=False)
        ]

    def recalls(self, count: int) -> list[bytes]:
        """Make requests that ask what was not asked before."""
        return self._asking(islice(self._questions, count))

    def recalls_of_messages(self, count: int) -> list[bytes]:
        """Make requests that ask with a whole message."""
        return self._asking(islice(self._messages, count))

    def _asking(self, queries: Iterable[str]) -> list[bytes]:
        return [
            post("/recall", RecallRequest(agent_id=scope.agent_id, query=query), headers)
            for query, (scope, headers) in zip(queries, self._scopes, strict=False)
        ]


def one_agent(agent_id: str = "assistant") -> list[Scope]:
    """Return one scope."""
    return [Scope("tenant", agent_id)]


def agents(count: int) -> list[Scope]:
    """Return the scopes of as many agents of one tenant."""
    return [Scope("tenant", f"assistant-{number}") for number in range(count)]


def tenants(count: int) -> list[Scope]:
    """Return one agent's scope in each of as many tenants."""
    return [Scope(f"tenant-{number}", "assistant") for number in range(count)]
