// The service that the tests call, and clients of it: one that is right, and those that meet a fault.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after } from "node:test";

import { MemoryClient } from "memory-gateway-client";

export const admin = new MemoryClient({ token: process.env["MEMORY_GATEWAY_ADMIN"] });

let agents = 0;

/** Returns a client for an agent that nobody else has. */
export function anyone(options: ConstructorParameters<typeof MemoryClient>[0] = {}): MemoryClient {
  agents += 1;
  return new MemoryClient({ agent: `agent-${process.pid}-${agents}`, ...options });
}

/** Returns a client with a credential for its agent alone. */
export async function alone(): Promise<MemoryClient> {
  const { agent } = anyone();
  const body = { agent_id: agent, scopes: ["read" as const, "write" as const] };
  const { token } = await admin.operations.mint_credential({ body });
  return new MemoryClient({ agent, token });
}

/** Returns what the agent of a client remembers, without those that say the same. */
export async function contents({ agent }: MemoryClient): Promise<string[]> {
  const { memories } = await admin.operations.list_memories({ query: { agent_id: agent, limit: 100 } });
  return memories.map(({ content }) => content).sort();
}

/** Returns a client that keeps the bodies of its requests by their paths. */
export function watched(options: ConstructorParameters<typeof MemoryClient>[0] = {}): [MemoryClient, Map<string, any[]>] {
  const asked = new Map<string, any[]>();
  const client = anyone({
    ...options,
    fetch: async (url, init) => {
      const { pathname } = new URL(String(url));
      const operation = pathname.split("/").at(-1) ?? "";
      asked.set(operation, [...(asked.get(operation) ?? []), JSON.parse(String(init?.body ?? "null"))]);
      return fetch(url, init);
    },
  });
  return [client, asked];
}

const silent = createServer(() => undefined);
after(() => {
  silent.closeAllConnections();
  silent.close();
});

/** Returns an address at which nothing listens. */
export async function nowhere(): Promise<string> {
  const server = createServer();
  const url = await listening(server);
  await new Promise((closed) => server.close(closed));
  return url;
}

async function listening(server: Server): Promise<string> {
  if (!server.listening) await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Clients whose service is away, silent, refuses the credential, or has answered often enough. */
export const FAULTS: Record<string, () => Promise<MemoryClient>> = {
  "is down": async () => anyone({ url: await nowhere(), timeoutMs: 1_000 }),
  "does not answer": async () => anyone({ url: await listening(silent), timeoutMs: 1_000 }),
  "refuses the credential": async () => anyone({ token: "another" }),
  "has been asked too often": async () => {
    const { token } = await admin.operations.mint_credential({ body: { requests_per_minute: 1 } });
    // A minute may pass meanwhile: each request is sent after one that spends what there is.
    const spent: typeof fetch = async (url, init) => {
      await (await fetch(url, init)).arrayBuffer();
      return fetch(url, init);
    };
    return anyone({ token, timeoutMs: 1_000, fetch: spent });
  },
};
