// Both entries of deploy/edge, over as many databases and indexes as the tests bind, and what only a test has: the path
// says which entry is asked and whose bindings it has (/worker/3/...), what reached a binding is counted, a replica of
// a database stays as far behind as its bookmark allows, of a container it is noted how it is started, and of each
// comparison in constant time how long what it compared is and what it found. A header says whether there is a dataset of
// Analytics Engine, which notes what is written to it, or fails.

import worker from "../../../deploy/edge/src/worker.ts";
import container, { ContainerProxy, MemoryGateway as Gateway } from "../../../deploy/edge/src/container.ts";
import { lagging } from "./lagging-replica.ts";
import { AWAY, noted, type Started } from "./noted-container.ts";

export { ContainerProxy };

type Env = Parameters<typeof worker.fetch>[1] & Parameters<typeof container.fetch>[1] & Record<string, unknown>;

const reached: string[] = [];
const called: string[] = [];
const started: Started = {};
const compared: { bytes: [number, number]; equal: boolean }[] = [];
const points: AnalyticsEngineDataPoint[] = [];
const datasets: Record<string, AnalyticsEngineDataset | undefined> = {
  recording: { writeDataPoint: (point) => void points.push(point!) },
  broken: {
    writeDataPoint(): never {
      throw new TypeError("too many points");
    },
  },
};
let fused = "{}";

const timingSafeEqual = crypto.subtle.timingSafeEqual.bind(crypto.subtle);
Object.defineProperty(crypto.subtle, "timingSafeEqual", {
  value(given: ArrayBuffer, wanted: ArrayBuffer): boolean {
    const equal = timingSafeEqual(given, wanted);
    compared.push({ bytes: [given.byteLength, wanted.byteLength], equal });
    return equal;
  },
});

export class MemoryGateway extends Gateway {
  constructor(ctx: DurableObjectState<{}>, env: Env) {
    Object.defineProperty(ctx, "container", { value: noted(String(ctx.id.name), started) });
    super(ctx, ctx.id.name === "counted" ? ({ ...env, CALLS: datasets.recording } as Env) : env);
  }
}

export default {
  scheduled: container.scheduled,
  async fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
    const url = new URL(request.url);
    const [, entry = "", slot = "", ...path] = url.pathname.split("/");
    if (entry === "reached") return Response.json(reached.splice(0));
    if (entry === "called") return Response.json(called.splice(0));
    if (entry === "compared") return Response.json(compared.splice(0));
    if (entry === "started") return Response.json(started);
    if (entry === "points") return Response.json(points.splice(0));
    const CALLS = datasets[request.headers.get("x-test-dataset") ?? ""];
    if (entry === "public") {
      const asked = new Request(`https://service.example/${[slot, ...path].join("/")}`, request) as never;
      const MEMORY_GATEWAY = CALLS === undefined ? env.MEMORY_GATEWAY : counting(env, request);
      return container.fetch(asked, { ...env, CALLS, MEMORY_GATEWAY } as Env, ctx);
    }
    if (entry === "fused") return new Response(fused);
    called.push(`${request.method} ${url.pathname}`);
    if (entry === "worker" && url.pathname.endsWith("/recall-fused")) fused = await request.clone().text();
    const own = { ...bindings(env, slot, entry === "replicated"), CALLS } as Env;
    if (entry === "worker" || entry === "replicated") {
      return worker.fetch(new Request(`https://edge.example/${path.join("/")}`, request) as never, own, ctx);
    }
    const asked = new Request(`http://memory.internal/${path.join("/")}`, request);
    if (entry === "proxy") {
      const props = { className: "MemoryGateway", containerId: "c", enableInternet: false };
      return (ctx as any).exports.ContainerProxy({ props }).fetch(asked);
    }
    const context = { containerId: "c", className: "MemoryGateway" };
    return Gateway.outboundByHost!["memory.internal"]!(asked, own, context as never);
  },
};

/** Another container than that of tests without a dataset; one that fails as the request says, or no binding of one. */
function counting({ MEMORY_GATEWAY }: Env, request: Request): unknown {
  const away = request.headers.get("x-test-away");
  if (away === "unbound") return undefined;
  const named = { idFromName: () => MEMORY_GATEWAY.idFromName(away === null ? "counted" : `${AWAY}${away}`) };
  return Object.assign(named, { get: (id: DurableObjectId) => MEMORY_GATEWAY.get(id) });
}

/** The bindings of one test, as a Worker of its own has them. */
function bindings(env: Env, slot: string, replicated: boolean): Env {
  const all = (env.SLOTS as Record<string, Pick<Env, "DATABASES" | "INDEXES">>)[slot]!;
  const own: Record<string, unknown> = { ...all, EDGE_SECRET: env.EDGE_SECRET, MODELS: env.MODELS };
  own.AI = counted(env.AI!, "AI");
  for (const name of Object.values(all.DATABASES)) {
    const database = env[name] as D1Database;
    own[name] = counted(replicated ? replica(env, name) : database, name);
  }
  for (const { binding } of Object.values(all.INDEXES)) own[binding] = counted(env[binding] as Vectorize, binding);
  return own as Env;
}

function replica(env: Env, name: string): D1Database {
  const other = counted(env[`${name}_REPLICA`] as D1Database, `${name}_REPLICA`);
  return lagging(name, env[name] as D1Database, other);
}

function counted<T extends object>(binding: T, name: string): T {
  return new Proxy(binding, {
    get(target, method) {
      const value = Reflect.get(target, method) as unknown;
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        reached.push(`${name}.${String(method)}`);
        return value.apply(target, given);
      };
    },
  });
}
