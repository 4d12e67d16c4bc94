// A container of which it is noted how it is started. It answers at the port of the service, but for `prune`, which
// listens nowhere.

export type Started = { name: string; intercepted: string[] } & ContainerStartupOptions;

export function noted(name: string, started: Started[]): Container {
  const intercepted: string[] = [];
  let running = false;
  const listening = (port: number) => port === 8000 && name !== "prune";
  return {
    get running() {
      return running;
    },
    start(options: ContainerStartupOptions) {
      running = true;
      started.push({ name, intercepted: [...intercepted], ...options });
    },
    monitor: () => new Promise(() => undefined),
    async interceptOutboundHttp(host: string) {
      intercepted.push(host);
    },
    getTcpPort: (port: number) => ({
      async fetch(request: Request | string) {
        if (!listening(port)) throw new Error("the container is not listening in the TCP address 10.0.0.1:8000");
        return Response.json({ port, path: new URL(typeof request === "string" ? request : request.url).pathname });
      },
    }),
  } as unknown as Container;
}
