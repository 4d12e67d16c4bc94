// A server of a test's own: it answers as it is told, and notes what it was asked.

import { once } from "node:events";
import { createServer } from "node:http";

/** Serves until the test is over; `answer` is called with a request, its body and a response. */
export async function serving(test, answer) {
  const asked = [];
  const server = createServer(async (request, response) => {
    let body = "";
    const { method, url, headers } = request;
    const noted = { method, url, headers, body: "" };
    asked.push(noted);
    request.on("error", () => undefined); // the client may leave
    if (!answer.early) for await (const chunk of request.setEncoding("utf8")) body += chunk;
    noted.body = body;
    await answer(request, response, body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  test.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}`, asked };
}

/** Returns an answer that says these in turn, and the last of them for ever. */
export function inTurn(...answers) {
  return (request, response, body) => (answers.length > 1 ? answers.shift() : answers[0])(request, response, body);
}

export function json(status, value, headers = {}) {
  return (_, response) => {
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(JSON.stringify(value));
  };
}

export function problem(status, code, { headers = {}, ...more } = {}) {
  const said = { type: `urn:${code}`, title: code, status, code, detail: `It is ${code}.`, advice: "", request_id: "r" };
  return json(status, { ...said, ...more }, { "Content-Type": "application/problem+json", ...headers });
}

/** Breaks the connection without an answer. */
export function lost(request) {
  request.socket.destroy();
}

export const RECALLED = { entries: [], confidence: 0 };
