// Cloudflare's REST paths, bodies and envelopes for D1, Vectorize and Workers AI, answered from a Worker's bindings.
// Nothing here asks who calls: `worker.ts` and `container.ts` decide who may.

import type { Call as Counted } from "./calls.ts";
import { boundedText, failure, hitsAsJson, object, own, Refusal, success } from "./wire.ts";

export interface Env {
  /** The name of the binding of each database, by the database's id. */
  DATABASES: Record<string, string>;
  /** The binding of each index, by the index's name, and its metadata indexes, which a binding cannot tell. */
  INDEXES: Record<string, { binding: string; metadata: Record<string, string> }>;
  MODELS?: string[]; // of Workers AI, that may be run
  AI?: Ai;
}

type Call = { env: Env; name: string; method: string; bookmark: string | undefined; text: () => Promise<string> };
type Route = [method: string, path: RegExp, answer: (call: Call) => Promise<Response>, template: string];
type Statement = { sql: string; params: unknown[] };

const BODY_BYTES = 16 * 1024 * 1024;
const STATEMENTS = 100; // in a batch: https://developers.cloudflare.com/d1/platform/limits/
const BOOKMARK = /^[A-Za-z0-9-]{1,128}$/;
const INDEX = "/vectorize/v2/indexes/([^/]+)";
const ROUTES: Route[] = [
  ["GET", at("/capabilities"), capabilities, "/capabilities"],
  ["POST", at("/recall-fused"), recallFused, "/recall-fused"],
  ["POST", at("/d1/database/([^/]+)/query"), query, "/d1/database/{database}/query"],
  ["GET", at(`${INDEX}/info`), info, "/vectorize/{index}/info"],
  ["GET", at(`${INDEX}/metadata_index/list`), metadataIndexes, "/vectorize/{index}/metadata_index/list"],
  ["POST", at(`${INDEX}/(query|upsert|insert|get_by_ids|delete_by_ids)`), vectors, "/vectorize/{index}/$2"],
  ["POST", at("/ai/run/(@[A-Za-z0-9_./-]+)"), run, "/ai/run/{model}"],
];
const ELSEWHERE = at("/(?:d1/database|vectorize/v2/indexes|ai)(?:/.*)?"); // what no binding has an answer for

function at(path: string): RegExp {
  return new RegExp(`^(?:/client/v4)?(?:/accounts/[A-Za-z0-9_-]{1,64})?${path}$`);
}

/** Answers one request of whoever may ask, and tells `call` what it was. It throws nothing. */
export async function answer(request: Request, env: Env, call: Counted = {}): Promise<Response> {
  try {
    const path = new URL(request.url).pathname;
    const there = ROUTES.filter(([, each]) => each.test(path));
    const route = there.find(([method]) => method === request.method);
    if (route === undefined) throw lost(request.method, path, there.length > 0);
    call.route = path.replace(route[1], route[3]);
    const [, name = "", method = ""] = route[1].exec(path) ?? [];
    const bookmark = request.headers.get("x-d1-bookmark") ?? undefined;
    if (!BOOKMARK.test(bookmark ?? "none")) throw new Refusal(400, 7400, "The header x-d1-bookmark holds no bookmark.");
    return await route[2]({ env, name, method, bookmark, text: () => boundedText(request, BODY_BYTES) });
  } catch (error) {
    await boundedText(request, 0).catch(() => undefined); // a body left unread breaks the kept-alive connection
    const refusal = error instanceof Refusal ? error : new Refusal(500, 7500, `internal error: ${said(error)}`);
    call.outcome = String(refusal.code);
    return failure(refusal);
  }
}

function lost(method: string, path: string, isThere: boolean): Refusal {
  if (!isThere && !ELSEWHERE.test(path)) return new Refusal(404, 7003, "Could not route to the path of this request.");
  return new Refusal(405, 7001, `The bindings of a Worker do not answer ${method} here: see deploy/edge/README.md.`);
}

async function capabilities({ env }: Call): Promise<Response> {
  const [databases, indexes] = [Object.keys(env.DATABASES), Object.keys(env.INDEXES)];
  return success({ version: 1, databases, indexes, models: env.MODELS ?? [], features: ["recall-fused", "sessions"] });
}

async function query({ env, name, bookmark, text }: Call): Promise<Response> {
  return success(...(await batch(d1(env, name), statements(object(await text())), bookmark)));
}

/** Asks indexes, puts what each finds into the parameters in place of its text `hits`, and runs the batch. */
async function recallFused({ env, bookmark, text }: Call): Promise<Response> {
  const body = object(await text());
  const [database, reads] = [d1(env, body.database), statements(body)];
  const queries: unknown[] = Array.isArray(body.queries) ? body.queries : [];
  if (queries.length === 0 || queries.length > STATEMENTS) throw new Refusal(400, 7400, "There are 1 to 100 queries.");
  const asked = queries.map(object).map((each) => {
    if (typeof each.hits !== "string" || each.hits.length < 16) throw new Refusal(400, 7400, "hits is no long text.");
    return { search: searching(vectorize(env, each.index), each.query), hits: each.hits };
  });
  const found = await Promise.all(asked.map(({ search }) => search()));
  const put = (text: string, { hits }: { hits: string }, n: number) =>
    text.replaceAll(hits, () => hitsAsJson(found[n]?.matches ?? []));
  const complete = (param: unknown) => (typeof param === "string" ? asked.reduce(put, param) : param);
  const completed = reads.map(({ sql, params }) => ({ sql, params: params.map(complete) }));
  const [results, latest] = await batch(database, completed, bookmark);
  return success({ queries: found, batch: results }, latest);
}

async function info({ env, name }: Call): Promise<Response> {
  const told = await vectorize(env, name).describe().catch(vectorizeRefusal);
  const at: unknown = told.processedUpToDatetime; // a text by its documentation, a number by its type
  return success({ ...told, processedUpToDatetime: typeof at === "number" ? new Date(at) : at });
}

async function metadataIndexes({ env, name }: Call): Promise<Response> {
  const declared = vectorize(env, name) && Object.entries(env.INDEXES[name]?.metadata ?? {});
  return success({ metadataIndexes: declared.map(([propertyName, indexType]) => ({ propertyName, indexType })) });
}

async function vectors({ env, name, method, text }: Call): Promise<Response> {
  const [index, sent] = [vectorize(env, name), await text()];
  if (method === "query") return success(await searching(index, sent)());
  if (method === "upsert" || method === "insert") {
    const lines: unknown[] = sent.split("\n").filter((line) => line.trim() !== "").map(object);
    return success(await index[method](lines as VectorizeVector[]).catch(vectorizeRefusal));
  }
  const { ids } = object(sent);
  if (!Array.isArray(ids)) throw new Refusal(400, 40026, "ids is no array.");
  const asked: Promise<unknown> = method === "get_by_ids" ? index.getByIds(ids) : index.deleteByIds(ids);
  return success(await asked.catch(vectorizeRefusal));
}

async function run({ env, name, text }: Call): Promise<Response> {
  const ai = env.AI as unknown as { run(model: string, inputs: unknown): Promise<unknown> } | undefined;
  if (ai === undefined || !env.MODELS?.includes(name)) throw new Refusal(404, 5007, `MODELS or AI lack ${name}.`);
  return success(await ai.run(name, object(await text())).catch(aiRefusal));
}

/** Returns a query that can be sent: what is wrong with it is said before another one is under way. */
function searching(index: Vectorize, query: unknown): () => Promise<VectorizeMatches> {
  const { vector, ...options } = object(query);
  const isVector = Array.isArray(vector) && vector.every(Number.isFinite);
  if (!isVector) throw new Refusal(400, 40026, "vector is no array of finite numbers.");
  return () => index.query(vector, options).catch(vectorizeRefusal);
}

async function batch(database: D1Database, all: Statement[], bookmark?: string): Promise<[D1Result[], string | null]> {
  try {
    const on = bookmark === undefined ? database : database.withSession(bookmark); // to tell a bookmark takes time
    const results = await on.batch(all.map(({ sql, params }) => on.prepare(sql).bind(...params)));
    return [results, "getBookmark" in on ? on.getBookmark() : null];
  } catch (error) {
    const text = said(error).replace(/^D1_ERROR: /, "");
    throw new Refusal(/SQLITE_|D1_TYPE_ERROR|Wrong number of parameter/.test(text) ? 400 : 500, 7500, text);
  }
}

function statements(body: Record<string, unknown>): Statement[] {
  const list = Array.isArray(body.batch) ? (body.batch as unknown[]) : [body];
  if (list.length === 0 || list.length > STATEMENTS) throw new Refusal(400, 7400, `A batch has 1 to ${STATEMENTS}.`);
  return list.map((each) => {
    const { sql, params = [] } = object(each);
    if (typeof sql === "string" && Array.isArray(params)) return { sql, params };
    throw new Refusal(400, 7400, "A statement has sql and params.");
  });
}

function d1(env: Env, id: unknown): D1Database {
  return bound(env, own(env.DATABASES, id), new Refusal(404, 7404, `The database ${id} could not be found.`));
}

function vectorize(env: Env, name: unknown): Vectorize {
  return bound(env, own(env.INDEXES, name)?.binding, new Refusal(404, 3000, `The index ${name} was not found.`));
}

function bound<T>(env: object, binding: string | undefined, unknown: Refusal): T {
  const value = own(env as Record<string, T>, binding);
  if (value === undefined) throw unknown;
  return value;
}

// Bindings tell a code in their message, and no status.
const vectorizeRefusal = refusing(/\(code = (\d+)\)/, /^400..$/, { 3000: 404, 3005: 410, 40041: 429 });
const aiRefusal = refusing(/\b(\d{4}):/, /^5|^3003/, {
  3006: 413, 3007: 408, 3008: 408, 3023: 403, 3036: 429, 3040: 429, 3041: 403, 3042: 404, 5018: 403, 5035: 403,
});

function refusing(coded: RegExp, callers: RegExp, statuses: Record<number, number>) {
  return (error: unknown): never => {
    const code = Number(coded.exec(said(error))?.[1] ?? 0);
    throw new Refusal(statuses[code] ?? (callers.test(String(code)) ? 400 : 503), code, said(error));
  };
}

const said = (error: unknown) => (error instanceof Error ? error.message : String(error));
