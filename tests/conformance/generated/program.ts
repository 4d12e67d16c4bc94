// The program for the generator typescript-fetch of openapi-generator.

import {
  Configuration,
  ContextApi,
  DataApi,
  EpisodesApi,
  FactsApi,
  MemoryApi,
  ProblemFromJSON,
  ResponseError,
  TransferApi,
  WorkingMemoryApi,
} from "./client";

declare const process: { env: Record<string, string> };

async function main() {
  const given: { metadata: { [key: string]: unknown }; data: { [key: string]: unknown }; lines: string } = JSON.parse(process.env.GIVEN);
  const configuration = new Configuration({ basePath: process.env.URL, accessToken: process.env.TOKEN });
  const memory = new MemoryApi(configuration);
  const data = new DataApi(configuration);
  const transfer = new TransferApi(configuration);
  const runs = new EpisodesApi(configuration);
  const working = new WorkingMemoryApi(configuration);

  const { metadata } = given;
  const stored = await memory.store({ storeRequest: { agentId: "bot", content: "a red fox", metadata } });
  const recalled = await memory.recall({ recallRequest: { agentId: "bot", query: "fox" } });
  const listed = await data.listMemories({ agentId: "bot" });
  const report = await transfer._import({ body: new Blob([given.lines]) });
  const exported = await transfer._export();
  const started = { agentId: "bot", agentType: "support", input: metadata };
  const run = await runs.startRun({ startRunRequest: started });
  const episodes = [{ type: "answer", content: "a white owl", data: given.data }];
  const appended = await runs.appendEpisode({ runId: run.runId, appendEpisodesRequest: { episodes } });
  const key = { agentId: "bot", instance: "one", key: "plan" };
  await working.setWorking({ ...key, workingRequest: { value: metadata } });
  const learnFactRequest = { agentId: "bot", subject: "the owl", predicate: "is", object: "white" };
  const fact = await new FactsApi(configuration).learn({ learnFactRequest });
  const wanted = { agentId: "bot", agentType: "support" };
  const assembled = await new ContextApi(configuration).assembleContext({ assembleRequest: wanted });
  let refused: unknown;
  try {
    const expiresAt = new Date(Date.UTC(2026, 0, 2));
    await memory.store({ storeRequest: { agentId: "bot", content: "a bear", expiresAt } });
  } catch (error) {
    if (!(error instanceof ResponseError)) throw error;
    const problem = ProblemFromJSON(await error.response.json());
    refused = [error.response.status, problem.code, problem.errors?.map((each) => each.field)];
  }
  const answers = {
    stored: stored.stored,
    recalled: recalled.entries.map((entry) => entry.metadata),
    listed: listed.memories.map((each) => each.metadata),
    report: await report.text(),
    exported: await exported.text(),
    tiers: [run.input, appended.written, (await working.getWorking(key)).value, fact.holds],
    assembled: assembled.pieces.filter((piece) => piece.part === "episodes").map((piece) => piece.content),
    refused,
  };
  console.log(JSON.stringify(answers));
}

main();
