// The entry for a service that runs elsewhere: its API token is this Worker's secret.

import { type Call, counted, type Env as Analytics } from "./calls.ts";
import { answer, type Env as Bindings } from "./handler.ts";
import { boundedText, failure, Refusal } from "./wire.ts";

/** A secret has at least 32 characters. Commas separate several, so that one can be replaced while the service runs. */
type Env = Bindings & Analytics & { EDGE_SECRET?: string };

export default {
  async fetch(request, env): Promise<Response> {
    const call: Call = {};
    return counted(request, env, () => admitted(request, env, call), call);
  },
} satisfies ExportedHandler<Env>;

async function admitted(request: Request, env: Env, call: Call): Promise<Response> {
  if (await isAdmitted(request, env.EDGE_SECRET ?? "")) return answer(request, env, call);
  await boundedText(request, 0).catch(() => undefined); // a body left unread breaks the kept-alive connection
  call.outcome = "10000";
  return failure(new Refusal(401, 10000, "Authentication error"));
}

/** Compares digests, in a time that tells nothing of the secrets. */
async function isAdmitted(request: Request, secrets: string): Promise<boolean> {
  const digest = (text: string) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const given = await digest(request.headers.get("authorization") ?? "");
  let admitted = false;
  for (const secret of secrets.split(",").filter((each) => each.length >= 32)) {
    admitted = crypto.subtle.timingSafeEqual(given, await digest(`Bearer ${secret}`)) || admitted;
  }
  return admitted;
}
