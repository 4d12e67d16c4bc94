// Makes the calls of a session with Cloudflare's own client and prints what it sends for each.

import Cloudflare from "cloudflare";
import { calls } from "./session.ts";

async function sentBy(call: (client: Cloudflare) => PromiseLike<unknown>): Promise<unknown> {
  let sent: unknown;
  const client = new Cloudflare({
    apiToken: "none",
    baseURL: "http://127.0.0.1/client/v4",
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const url = new URL(request.url);
      sent = {
        method: request.method,
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        content_type: request.headers.get("content-type"),
        body: await request.text(),
      };
      return Response.json({ success: true, errors: [], messages: [], result: [] });
    },
  });
  await call(client);
  return sent;
}

console.log(JSON.stringify(await Promise.all(calls.map(sentBy))));
