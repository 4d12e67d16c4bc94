// Compiles src to dist: as ES modules and as CommonJS, each with its declarations.

import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const FORMATS = { esm: ["esnext", "module"], cjs: ["commonjs", "commonjs"] };

rmSync(`${root}/dist`, { recursive: true, force: true });
for (const [folder, [module, type]] of Object.entries(FORMATS)) {
  const told = ["tsc", "-p", "tsconfig.build.json", "--outDir", `dist/${folder}`, "--module", module];
  const { status } = spawnSync("npx", ["--no-install", ...told], { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
  mkdirSync(`${root}/dist/${folder}`, { recursive: true });
  writeFileSync(`${root}/dist/${folder}/package.json`, `${JSON.stringify({ type, sideEffects: false })}\n`);
}
