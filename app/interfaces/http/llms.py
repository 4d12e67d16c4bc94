"""The text of ``llms.txt``, which tells a language model how to use the service."""

import shlex
from typing import Any

from app.domain.json_types import to_json
from app.interfaces.http import which_call
from app.interfaces.http.schemas import examples

_TEXT = """\
# Memory Gateway

> Long-term memory for AI agents, over HTTP and MCP: store what is worth remembering, and recall it in a later session
> by its words and its meaning. Each tenant's memories are apart from every other's.

Store what will matter later, such as a preference, a decision, a fact or a correction, one to a memory. Recall before
you answer what may depend on it. Once a store has answered, every recall finds the memory.

{store}

{recall}

- `agent_id` names the agent whose memory it is, and is yours to choose, unless the
  credential names one; memories of one agent are not recalled for
  another. Over MCP it is the agent of the credential, or of the header `X-Agent-Id`.
- A credential goes with every call: `Authorization: Bearer $TOKEN`. The operator of the service mints it, with
  `memory-gateway token --tenant ...`; with `--agent ...` it is good for one agent alone, and with `--admin` its
  scope is `memory admin`, which may also delete, export, import and list every agent. One of the scope `memory:read`
  or `memory:write` reads or writes alone; a 403 names the scope that is missing. {sign_in}
- The tenant is read from the credential and from nowhere else; a request that names one is refused.
- An error is `application/problem+json`: `code` names it and stays the same, `advice` says what to do about it, and
  `errors` names the fields that are wrong.

Which call is for what:

{calls}

Each path is there below `/v1` too. An old name of a field is marked `deprecated` in the OpenAPI document.

## API

- [OpenAPI document]({base}/openapi.json): every operation, with its schemas, errors and examples
- [API reference]({base}/docs): the same, as a page to read and try
- [Readiness]({base}/readyz): whether every part works; needs no credential

## Tools

- [MCP endpoint]({base}/mcp): Streamable HTTP, with the same credential
- [Tools for OpenAI chat completions]({base}/tools?format=openai)
- [Tools for OpenAI responses]({base}/tools?format=openai-responses)
- [Tools for Anthropic messages]({base}/tools?format=anthropic)
- [Tools as MCP lists them]({base}/tools?format=mcp)
- [Tools as JSON Schema]({base}/tools?format=json-schema)

## Optional

- [How a request shows its credential]({base}/.well-known/oauth-protected-resource)
"""

_NO_ISSUER = """\
There is no sign-up and no
  authorization server: without a credential, ask the operator for one."""
_ISSUER = """\
Access tokens of the
  authorization server {issuer} are taken too, for the resource {base}/mcp."""


def text(base: str, issuer: str | None = None) -> str:
    """Return the text for a service at this URL, whose tokens come from this issuer, if any, beside the operator."""
    store, recall = _curl(f"{base}/store", examples.STORE), _curl(f"{base}/recall", examples.RECALL)
    sign_in = _NO_ISSUER if issuer is None else _ISSUER.format(issuer=issuer, base=base)
    return _TEXT.format(base=base, store=store, recall=recall, sign_in=sign_in, calls=which_call.lines())


def _curl(url: str, body: dict[str, Any]) -> str:
    headers = '-H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json"'
    return f"```sh\ncurl -sS {url} {headers} -d {shlex.quote(to_json(body))}\n```"
