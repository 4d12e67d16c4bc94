// An agent on Cloudflare that knows in one conversation what was said in another. In place of a model, which would get it in
// its system prompt, it says what it was told of memory.

import { AIChatAgent, type ChatResponseResult } from "@cloudflare/ai-chat";
import { routeAgentRequest } from "agents";
import { InstanceMemory, type MemoryBindings } from "memory-gateway-client/cloudflare-agents";

interface Env extends Cloudflare.Env, MemoryBindings {
  Chat: DurableObjectNamespace<Chat>;
}

export class Chat extends AIChatAgent<Env> {
  private readonly memory = new InstanceMemory(this, this.env);

  override async onChatMessage(): Promise<Response> {
    const system = await this.memory.recalled(this.messages);
    return new Response(system || "Nothing that I know has to do with that.");
  }

  protected override async onChatResponse({ status }: ChatResponseResult): Promise<void> {
    // With a model, all messages; what this one answers are memories already.
    if (status === "completed") await this.memory.handOver(this.messages.filter(({ role }) => role === "user"));
  }

  override async onRequest(request: Request): Promise<Response> {
    const text = await request.text();
    const said = { id: crypto.randomUUID(), role: "user" as const, parts: [{ type: "text" as const, text }] };
    await this.saveMessages((messages) => [...messages, said]);
    return Response.json(this.messages.at(-1)?.parts);
  }
}

export default {
  async fetch(request, env) {
    return (await routeAgentRequest(request, env)) ?? new Response("POST to /agents/chat/NAME", { status: 404 });
  },
} satisfies ExportedHandler<Env>;
