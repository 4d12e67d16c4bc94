// The entry for a service that runs in a Cloudflare Container: the image as it is. Its calls of memory.internal are
// answered here, so that its database and index have no public endpoint and nobody holds a secret for them.

import { Container, ContainerProxy, getContainer } from "@cloudflare/containers";
import { counted, type Env as Analytics } from "./calls.ts";
import { answer, type Env as Bindings } from "./handler.ts";

export { ContainerProxy };

interface Env extends Bindings, Analytics {
  MEMORY_GATEWAY: DurableObjectNamespace<MemoryGateway>;
  AUTH_SECRETS: string;
  SETTINGS: Record<string, string>; // of the service, by their names: CLOUDFLARE_D1_DATABASE_ID, and more
}

const HOST = "memory.internal";
const PRUNE = ["memory-gateway", "prune", "--calls-per-minute", "600"];
const PUBLIC = /^\/(?!(?:metrics|readyz|healthz)\b)[\w.-]*(?:\/|$)/; // the rest asks for a credential or has no data

export class MemoryGateway extends Container<Env> {
  override defaultPort = 8000;
  override pingEndpoint = "localhost/healthz";
  override sleepAfter = "15m"; // by then the indexer has confirmed what was stored
  override enableInternet = false;
  override envVars = {
    CLOUDFLARE_API_BASE_URL: `http://${HOST}/client/v4`,
    CLOUDFLARE_ACCOUNT_ID: "0".repeat(32),
    ...{ CLOUDFLARE_API_TOKEN: "not-asked-for", ALLOWED_HOSTS: "*" }, // it is asked by this Worker alone, by any name
    ...(this.env.CALLS ? { REPORT_CALLS: "true" } : {}),
    ...this.env.SETTINGS,
    AUTH_SECRETS: this.env.AUTH_SECRETS,
  };
}
MemoryGateway.outboundByHost = { [HOST]: (request, env) => answer(request, env as Env) };

export default {
  async fetch(request, env): Promise<Response> {
    if (PUBLIC.test(new URL(request.url).pathname)) {
      return counted(request, env, async () => getContainer(env.MEMORY_GATEWAY, "service").fetch(request));
    }
    const refused = async () => new Response("Not found\n", { status: 404 });
    return counted(request, env, refused, { outcome: "http_404" });
  },
  async scheduled(_, env): Promise<void> {
    await getContainer(env.MEMORY_GATEWAY, "prune").start({ entrypoint: PRUNE });
  },
} satisfies ExportedHandler<Env>;
