"""The double: a stand-in Cloudflare account, OpenAI and reranker, with the real wire and limits and injectable faults.

``memory-gateway double`` serves it for a rehearsal, ``memory_gateway_double.server.running`` for a test. It holds D1,
Vectorize v2, Workers AI, Workers and R2's buckets under ``/client/v4``, OpenAI's embeddings and chat under ``/v1``, a
rerank endpoint of Cohere's form under ``/reranker/v1``, the S3 API of an R2 bucket under ``/r2``, and a control path
under ``/_double`` (``memory_gateway_double.control``), which exists on loopback only.

Nothing here was compared with a live account. What it does comes from three kinds of sources.

**Documented** (developers.cloudflare.com, platform.openai.com, docs.cohere.com, the published API schemas):
every path, method, body and result; the limits of D1, Vectorize, Workers AI and OpenAI; 1,200 calls in
300 seconds and the block after it, ``Ratelimit`` and ``retry-after``; what D1 forbids in SQL; the rules of
metadata filters and metadata keys; 64 indexed bytes of a string; writes to Vectorize that show later, and
metadata indexes that do not hold older vectors; approximate scores; Workers AI's 3006, 3007, 3040, 5007;
OpenAI's error form; the paths, bodies and results of Workers' scripts, secrets, versions and subdomains and of R2's
buckets; S3's paths, headers and errors as R2 has them: objects one by one, ListObjectsV2.

**Reported** by people who called the real service, in public repositories: D1: SQL errors as 400/7500 with SQLite's
names behind the text (also seen in workerd), 7400 for malformed bodies, "Invalid uuid" and parameters with several
statements, 7404, 7502 for a name in use, pages of ten databases; numbers bound as REAL (workerd). Vectorize: 3000 and
3005 for an absent and a deleted index, 400/3002 for a name in use, 40005 for an absent metadata index, creating a
metadata index twice succeeds, 1005 for a content type, 40006 (wrong dimensions of a query), 40007 with at most 20 ids
to get and 100 to delete, 40008, 40012, 40016, 40023, 40025 with top K up to 100 where neither values nor all metadata
are asked for, 40026. Workers: 10007 and 10090 for an absent script and service, and all that wrangler 4.164 and
``cf`` 0.0.5 ask for in ``deploy``, ``secret``, ``delete`` and their lists. R2: 10004, 10006 and 10008 for a bucket
that is taken, absent or not empty; keys derived from an API token. Workers AI's 5006; its reranker's scores from 0 to
1, best first, beside a ``usage``. The text and code 971 of a block; 7003, 7001, 10000, 7403.

**Guessed**, so no client may lean on it:

- the HTTP statuses of 3000 (404), 3005 (410), 40005 (404), 7502 (400) and of a wrong token (401) or account (403);
- 40006 for too many vectors, 40009 (namespace), 40014 (metadata), 3001 (what an index is made with), 40004
  (metadata indexes), 40013 (unknown ``vectorId``), 40019 (cursor), 40022 (every refused filter);
- a filter on a property without a metadata index is refused; it might as well find nothing, or everything;
- a vector that lacks an indexed property, or has it with another type, passes ``$ne``, ``$nin`` and ``null``;
  a vector that the metadata index does not hold passes nothing;
- a metadata index is listed with its own batch, and holds the vectors of the batches that end
  ``metadata_index_seconds`` later, at random; batches of writes do not overlap, last ``visibility_seconds`` at random,
  and the mark of ``info`` is the moment a batch ended;
- a REST batch is one transaction (``atomic_batch`` turns that off), and a timeout is a 500;
- whole numbers in D1's results have no fraction, as JavaScript writes them; ``rows_read`` counts rows returned;
- a token is four bytes of UTF-8; embeddings are hashed n-grams; chat echoes, fills in a schema, or
  answers the stages of Memory Gateway by simple rules, unless a test scripts it; an answer ends at its limit of tokens;
- 403 with 10000 for a token without a permission, before the form of a request is looked at; 10005, 10021 and 10056;
- a version of a Worker serves nobody until it is deployed; secrets outlive uploads;
- a model without a form of answer says so with 400, and on Workers AI with 5025 in OpenAI's form;
- scores of the rerankers are the share of the query's words, unless a test sets them;
- a batch's ``unparsable-behavior=discard`` leaves out only lines that cannot be parsed;
- bodies of 5xx: 502, 504 and 52x as plain text from the edge, the others with the product's envelope.

**Not modelled**: 200 calls a second per address; D1's import, export, time travel, replication, queue and quotas;
Vectorize's 40041 and its limit on namespaces; Workers AI's and OpenAI's own rate limits (a fault does those); Workers
run nowhere, and R2's locations and jurisdictions are not kept apart; R2's signatures (who signs and over what is
checked), multipart uploads, conditions and versions of objects; GraphQL.

Its clock runs ``time_scale`` times as fast as real time, ``Date`` and all marks included; ``retry-after``
and ``Ratelimit`` are in real seconds, as a caller waits.
"""
