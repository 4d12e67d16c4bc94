// A plugin file of OpenCode, named in opencode.json: "plugin": ["./opencode.ts"]. What is said in one session is known in
// the next: opencode run "My dog is called Bello", then opencode run "What is my dog called?".

import { memoryPlugin } from "memory-gateway-client/opencode";

export default { id: "memory", server: memoryPlugin({ agent: process.env["MEMORY_GATEWAY_AGENT"] ?? "default" }) };
