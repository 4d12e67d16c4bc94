// A Worker that knows nothing but Cloudflare's binding to Agent Memory, and goes once through all of it.

import { AgentMemoryError, HttpNamespace, type Service } from "./agent-memory.ts";

interface Env extends Service {
  namespace: string;
}

export default {
  async fetch(_: Request, env: Env): Promise<Response> {
    const namespace: AgentMemoryNamespace = new HttpNamespace(env, env.namespace);
    return Response.json(await conversation(namespace));
  },
} satisfies ExportedHandler<Env>;

async function conversation(namespace: AgentMemoryNamespace): Promise<Record<string, unknown>> {
  const profile: AgentMemoryProfile = await namespace.getProfile("Ann Ångström / 2");
  const said: AgentMemoryMessage[] = [
    { role: "user", content: "We use npm for everything.", timestamp: new Date("2026-04-20T09:00:00Z") },
    { role: "assistant", content: "Understood, npm it is.", timestamp: new Date("2026-04-20T09:00:05Z") },
    { role: "user", content: "Actually, we use pnpm now.", timestamp: new Date("2026-04-21T09:00:00Z") },
    { role: "user", content: "I prefer dark mode." },
  ];
  await profile.ingest(said, { sessionId: "setup" });
  const once = await all(profile, { sessionId: "setup" });
  await profile.ingest(new Set(said), { sessionId: "setup" });
  const twice = await all(profile, { sessionId: "setup" });
  const remembered = await profile.remember({ content: "Always answer in one sentence.", sessionId: "notes" });
  const recalled = await profile.recall("Do we use npm or pnpm now?", {
    thinkingLevel: "high",
    responseLength: "short",
    referenceDate: new Date("2026-04-22T00:00:00Z"),
  });
  const nothing = await profile.recall("zzyzx qwxv", { referenceDate: "2026-04-22" });
  const got = await profile.get(remembered.id);
  const alike = await profile.list({ type: remembered.type });
  const { summary } = await profile.getSummary();
  const deleted = await profile.delete(remembered.id);
  const gone = await refusal(profile.get(remembered.id));
  await profile.deleteSession("setup");
  await profile.deleteSession("setup");
  const left = await profile.list();
  await namespace.deleteProfile("Ann Ångström / 2");
  return {
    once,
    twice,
    remembered,
    isDate: remembered.createdAt instanceof Date && remembered.updatedAt >= remembered.createdAt,
    recalled,
    nothing,
    got,
    alike,
    summary,
    deleted,
    gone,
    left,
    unknown: await refusal(profile.list()),
  };
}

/** Lists page by page, as small as a page may be. */
async function all(profile: AgentMemoryProfile, options: AgentMemoryListMemoriesOptions): Promise<string[]> {
  const summaries: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await profile.list({ ...options, limit: 1, ...(cursor !== undefined && { cursor }) });
    summaries.push(...page.memories.map((each) => each.summary));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return summaries;
}

async function refusal(asked: Promise<unknown>): Promise<unknown> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof AgentMemoryError) return [error.status, error.code, error.message];
    throw error;
  }
}
