// A graph's store that lasts: node langgraph.ts NAME FACT keeps a fact of a person, node langgraph.ts NAME tells all of them.

import { MemoryClient } from "memory-gateway-client";
import { MemoryStore } from "memory-gateway-client/langgraph";

const store = new MemoryStore(new MemoryClient()); // builder.compile({ store }) gives it to a graph
const [name = "nobody", ...words] = process.argv.slice(2);
const fact = words.join(" ");
if (fact) await store.put(["people", name], fact.slice(0, 40), { fact });
for (const { value } of await store.search(["people", name], { query: fact || name })) console.log(value["fact"]);
