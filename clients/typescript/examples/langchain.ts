// A chain that remembers: node langchain.ts "My dog is called Rex", and later node langchain.ts "What is my dog called?"

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { StringOutputParser } from "@langchain/core/output_parsers";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { RunnableLambda, RunnablePassthrough, RunnableSequence } from "@langchain/core/runnables";
import { MemoryClient } from "memory-gateway-client";
import { asContext, MemoryRetriever } from "memory-gateway-client/langchain";

const memory = new MemoryClient();
const retriever = new MemoryRetriever(memory, { top_k: 5, min_score: 0.2 });
const prompt = ChatPromptTemplate.fromMessages([
  ["system", "You are a helpful assistant.\n{context}"],
  ["human", "{said}"],
]);
const chain = RunnableSequence.from([
  { context: retriever.pipe(asContext), said: new RunnablePassthrough<string>() },
  prompt,
  scriptedModel(), // PUT YOUR MODEL HERE, such as new ChatOpenAI({ model: "gpt-5" }); this one needs no key
  new StringOutputParser(),
]);

const said = process.argv.slice(2).join(" ");
console.log(await chain.invoke(said));
if (!said.endsWith("?")) await memory.store(said);

function scriptedModel() {
  return RunnableLambda.from((value: { toChatMessages(): BaseMessage[] }) => {
    const [system, human] = value.toChatMessages();
    return new AIMessage(scripted(String(system?.content), String(human?.content)));
  });
}

/** Notes what it is told, and answers a question with what is remembered first. */
function scripted(prompt: string, said: string): string {
  if (!said.endsWith("?")) return "I will keep that in mind.";
  const [, best] = /^- \d{4}-\d\d-\d\d[^"\n]*: (".*")$/m.exec(prompt) ?? [];
  if (best) return `You told me: ${JSON.parse(best)}`;
  return prompt.includes("memory is unavailable") ? "My memory is unavailable." : "You have not told me that.";
}
