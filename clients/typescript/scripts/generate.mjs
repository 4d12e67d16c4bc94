// Makes src/generated of the service's OpenAPI document: node scripts/generate.mjs openapi.json src/generated

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const NOTE = "// Made by scripts/generate.mjs of the service's OpenAPI document; not edited by hand.\n";
const PLAIN = { string: "string", integer: "number", number: "number", boolean: "boolean", null: "null" };
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

const name = (key) => (IDENTIFIER.test(key) ? key : JSON.stringify(key));
const union = (types) => [...new Set(types)].join(" | ");
const unique = (text) => text.replaceAll("*/", "*\\/");

/** Returns a comment of these paragraphs, or nothing. */
function comment(indent, ...paragraphs) {
  const lines = paragraphs.filter(Boolean).flatMap((each, at) => [...(at ? [""] : []), ...unique(each).split("\n")]);
  if (lines.length === 0) return "";
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

/** Returns the type of a schema, as it is written. */
function typed(schema, indent = "") {
  const { $ref, const: only, type } = schema;
  if ($ref !== undefined) return /^#\/components\/schemas\/(\w+)$/.exec($ref)?.[1] ?? "unknown";
  if (only !== undefined) return JSON.stringify(only);
  if (schema.enum) return union(schema.enum.map((each) => JSON.stringify(each)));
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return union(choices.map((each) => typed(each, indent)));
  if (schema.allOf) return schema.allOf.map((each) => `(${typed(each, indent)})`).join(" & ");
  if (Array.isArray(type)) return union(type.map((each) => typed({ ...schema, type: each }, indent)));
  if (type === "array") return `Array<${schema.items ? typed(schema.items, indent) : "unknown"}>`;
  if (schema.properties) return members(schema, indent);
  if (type === "object") return record(schema.additionalProperties, indent);
  return PLAIN[type] ?? "unknown";
}

function record(values, indent) {
  return `Record<string, ${values && values !== true && !values.if ? typed(values, indent) : "unknown"}>`;
}

function members({ properties, required = [] }, indent) {
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(([key, schema]) => {
    const deprecated = schema.deprecated ? "@deprecated" : "";
    const may = required.includes(key) ? "" : "?";
    const type = typed(schema, inner);
    return `${comment(inner, schema.description, deprecated)}${inner}${name(key)}${may}: ${type}${may && " | undefined"};\n`;
  });
  return `{\n${lines.join("")}${indent}}`;
}

/** Returns the declaration of a component's schema. */
function component([title, schema]) {
  const said = comment("", schema.description, schema.deprecated ? "@deprecated" : "");
  if (schema.type === "object" && schema.properties) return `${said}export interface ${title} ${members(schema, "")}\n`;
  return `${said}export type ${title} = ${typed(schema)};\n`;
}

const isBinary = ({ schema = {} }) => schema.format === "binary";

function bodyOf({ requestBody }) {
  if (!requestBody) return undefined;
  const [content] = Object.values(requestBody.content);
  const binary = isBinary(content);
  return { binary, required: requestBody.required === true, type: binary ? "BinaryBody" : typed(content.schema, "    ") };
}

function sentBody({ binary, required, type }) {
  const media = "    /** The media type of the bytes. */\n    contentType?: string | undefined;\n";
  return `    body${required ? "" : "?"}: ${type};\n${binary ? media : ""}`;
}

/** Returns what an operation answers: its kind, its type, and what is never missing in it. */
function answerOf({ responses }, schemas) {
  const done = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  const contents = done.flatMap(([, { content = {} }]) => Object.entries(content));
  if (contents.length === 0) return { kind: "none", type: "void", required: [] };
  if (contents.some(([, content]) => isBinary(content))) return { kind: "stream", type: "BinaryAnswer", required: [] };
  const [[media, { schema }]] = contents;
  if (media !== "application/json") return { kind: "text", type: "string", required: [] };
  const { required = [] } = schemas[typed(schema)] ?? {};
  return { kind: "json", type: union(contents.map(([, each]) => typed(each.schema))), required };
}

/** Returns the type of a parameter: one that takes the words true and false takes booleans too. */
function parameterType(schema) {
  const words = [...(schema.enum ?? [])].sort().join();
  return words === "false,true" ? "boolean" : typed(schema, "      ");
}

/** Returns a member of an operation's input that holds parameters of one place, or nothing. */
function group(key, parameters) {
  if (parameters.length === 0) return "";
  const may = parameters.some(({ required }) => required) ? "" : "?";
  const lines = parameters.map((each) => {
    const content = each.content && Object.values(each.content)[0];
    const optional = each.required ? "" : "?";
    const type = parameterType(each.schema ?? content?.schema ?? {});
    const said = comment("      ", each.description, each.deprecated ? "@deprecated" : "");
    return `${said}      ${name(each.name)}${optional}: ${type}${optional && " | undefined"};\n`;
  });
  return `    ${key}${may}: {\n${lines.join("")}    };\n`;
}

function operationsOf({ paths, components: { schemas } }) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const parameters = operation.parameters ?? [];
      const at = (place) => parameters.filter((each) => each.in === place);
      const body = bodyOf(operation);
      const groups = [group("path", at("path")), group("query", at("query")), group("headers", at("header"))];
        const sent = body ? sentBody(body) : "";
      const needed = body?.required === true || parameters.some(({ required }) => required);
      return {
        id: operation.operationId,
        method: method.toUpperCase(),
        path,
        body: body ? (body.binary ? "binary" : "json") : "none",
        answer: answerOf(operation, schemas),
        input: `{\n${groups.join("")}${sent}  }`,
        needed,
        said: comment("  ", operation.summary, operation.description, operation.deprecated ? "@deprecated" : ""),
      };
    }),
  );
}

function method({ id, answer, input, needed, said }) {
  return `${said}  ${name(id)}(input${needed ? "" : "?"}: ${input} & CallOptions): Promise<${answer.type}>;\n`;
}

function row({ id, method, path, body, answer }) {
  return `  ${name(id)}: ${JSON.stringify([method, path, body, answer.kind, ...answer.required])},\n`;
}

const [from, to] = process.argv.slice(2);
const document = JSON.parse(readFileSync(from, "utf8"));
const operations = operationsOf(document);
const schemas = Object.entries(document.components.schemas);
const used = schemas.map(([title]) => title).filter((title) => operations.some((each) => `${each.input}${each.answer.type}`.match(`\\b${title}\\b`)));
mkdirSync(to, { recursive: true });
writeFileSync(`${to}/types.ts`, `${NOTE}\n${schemas.map(component).join("\n")}`);
writeFileSync(
  `${to}/operations.ts`,
  `${NOTE}
import type { BinaryAnswer, BinaryBody } from "../binary.js";
import type { CallOptions, OperationRow } from "../operation.js";
import type { ${used.join(", ")} } from "./types.js";

/** Every operation of the service, by its \`operationId\`. */
export interface Operations {
${operations.map(method).join("\n")}}

/** How each is sent: method, path, body, answer, and what is never missing in the answer. */
export const OPERATIONS: Readonly<Record<keyof Operations, OperationRow>> = {
${operations.map(row).join("")}};

export const VERSION = ${JSON.stringify(document.info.version)};
`,
);
