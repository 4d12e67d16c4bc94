// A container of which it is noted how it is started. It answers at the port of the service, but for `prune` and
// `away: silent`, which listen nowhere; any other `away: <error>` cannot be started, for that error. What it tells the
// Worker of a call is what the call says that it is to tell. Of those that are away nothing is noted.

export const AWAY = "away: ";

export type Started = Record<string, ({ intercepted: string[] } & ContainerStartupOptions)[]>; // by the containers' names

export function noted(name: string, started: Started): Container {
  const intercepted: string[] = [];
  let running = false;
  const listening = (port: number) => port === 8000 && name !== "prune" && !name.startsWith(AWAY);
  return {
    get running() {
      return running;
    },
    start(options: ContainerStartupOptions) {
      if (name.startsWith(AWAY) && name !== `${AWAY}silent`) throw new Error(name.slice(AWAY.length));
      running = true;
      if (!name.startsWith(AWAY)) (started[name] ??= []).push({ intercepted: [...intercepted], ...options });
    },
    monitor: () => new Promise(() => undefined),
    async interceptOutboundHttp(host: string) {
      intercepted.push(host);
    },
    getTcpPort: (port: number) => ({
      async fetch(asked: Request | string, more?: RequestInit) {
        if (!listening(port)) throw new Error("the container is not listening in the TCP address 10.0.0.1:8000");
        const { headers, url } = new Request(asked, more);
        const [report, status] = [headers.get("x-test-report"), Number(headers.get("x-test-status") ?? 200)];
        const told = { "x-request-id": "r", ...(report === null ? {} : { "x-memory-gateway-call": report }) };
        return Response.json({ port, path: new URL(url).pathname }, { status, headers: told });
      },
    }),
  } as unknown as Container;
}
