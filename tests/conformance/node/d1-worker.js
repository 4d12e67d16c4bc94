// Cloudflare's REST query endpoint over the D1 binding, so that the adapter talks to the real engine unchanged.
// https://developers.cloudflare.com/api/resources/d1/subresources/database/methods/query/

// A documented limit that the engine leaves to the service around it.
// https://developers.cloudflare.com/d1/platform/limits/
const VALUE_BYTES = 2_000_000;
const ROUTE = /^\/client\/v4\/accounts\/[^/]+\/d1\/database\/([^/]+)\/query$/;

export default {
  async fetch(request, env) {
    // A body left unread makes workerd reset the kept-alive connection.
    const text = await request.text();
    const route = ROUTE.exec(new URL(request.url).pathname);
    if (route === null || request.method !== "POST") {
      return refusal(404, 7003, "Could not route to the path, perhaps your object identifier is invalid?");
    }
    const database = env[route[1]];
    if (database === undefined) {
      return refusal(404, 7404, `The database ${route[1]} could not be found`);
    }
    return query(database, text);
  },
};

async function query(database, text) {
  let statements;
  try {
    statements = statementsOf(JSON.parse(text));
  } catch (error) {
    return refusal(400, 7400, error.message);
  }
  if (statements.some(({ params }) => params.some(isTooLarge))) {
    return refusal(400, 7500, "string or blob too big: SQLITE_TOOBIG");
  }
  try {
    const results = await database.batch(statements.map(({ sql, params }) => database.prepare(sql).bind(...params)));
    return Response.json({ success: true, errors: [], messages: [], result: results });
  } catch (error) {
    return refusal(400, 7500, error.message.replace(/^D1_ERROR: /, ""));
  }
}

function statementsOf(body) {
  return (body.batch ?? [body]).map(({ sql, params }) => ({ sql, params: params ?? [] }));
}

function isTooLarge(param) {
  return typeof param === "string" && new TextEncoder().encode(param).length > VALUE_BYTES;
}

function refusal(status, code, message) {
  return Response.json({ success: false, errors: [{ code, message }], messages: [], result: null }, { status });
}
