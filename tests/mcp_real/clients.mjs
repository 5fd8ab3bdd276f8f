// The official TypeScript clients against `retake mcp-serve`.
//
//     node clients.mjs RETAKE PACKAGES
//
// Exit code 1: a story went another way.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [retake, packages] = process.argv.slice(2).map((path) => resolve(path));
const sessions = resolve(import.meta.dirname, "../../sessions");
const load = (name) => import(pathToFileURL(createRequire(join(packages, "index.js")).resolve(name)));

const clients = {
  "@modelcontextprotocol/client": {
    client: "@modelcontextprotocol/client",
    stdio: "@modelcontextprotocol/client/stdio",
    http: "@modelcontextprotocol/client",
  },
  "@modelcontextprotocol/sdk": {
    client: "@modelcontextprotocol/sdk/client/index.js",
    stdio: "@modelcontextprotocol/sdk/client/stdio.js",
    http: "@modelcontextprotocol/sdk/client/streamableHttp.js",
  },
};

async function overStdio(names, options) {
  const { StdioClientTransport } = await load(names.stdio);
  return [new StdioClientTransport({ command: retake, args: ["mcp-serve", ...options] }), () => {}];
}

async function overHttp(names, options) {
  const { StreamableHTTPClientTransport } = await load(names.http);
  const server = spawn(retake, ["mcp-serve", "--http", "127.0.0.1:0", ...options], { stdio: ["ignore", "pipe", "inherit"] });
  const [url] = await once(createInterface({ input: server.stdout }), "line");
  return [new StreamableHTTPClientTransport(new URL(url)), () => server.kill()];
}

async function debugs(names, connect) {
  const folder = mkdtempSync(join(tmpdir(), "retake-mcp-"));
  const { Client } = await load(names.client);
  const [transport, stop] = await connect(names, ["--root", sessions, "--allow-write", folder]);
  const client = new Client({ name: "a client", version: "1" });
  try {
    await client.connect(transport);
    const text = async (name, args, isError = false) => {
      const result = await client.callTool({ name, arguments: args });
      assert.equal(Boolean(result.isError), isError, JSON.stringify(result));
      return result.content[0].text;
    };
    const { tools } = await client.listTools();
    assert.ok(tools.some((tool) => tool.name === "apply_fix" && tool.annotations.readOnlyHint === false));
    assert.ok(tools.some((tool) => tool.name === "find_defects" && tool.annotations.readOnlyHint === true));
    assert.match(await text("list_recordings", { filter: "rule:unknown-tool" }), /unknown-tool\.json/);
    const path = join(sessions, "unknown-tool.json");
    assert.match(await text("find_defects", { path }), /search_onestop_flights/);
    assert.match(await text("show_transcript", { path, max_tokens: 200 }), /call again with cursor=/);
    await text("apply_fix", { path, output: "fixed.json", action: "inject-error", words: "No {{ tool }}." });
    assert.match(readFileSync(join(folder, "fixed.json"), "utf8"), /No search_onestop_flights\./);
    await text("find_defects", { path: "/etc/hostname" }, true);
  } finally {
    await client.close();
    stop();
  }
}

let failed = 0;
for (const [name, names] of Object.entries(clients)) {
  for (const connect of [overStdio, overHttp]) {
    const story = `${name}, ${connect.name}`;
    try {
      await debugs(names, connect);
      console.log(`ok    ${story}`);
    } catch (error) {
      failed += 1;
      console.log(`WRONG ${story}: ${error.stack}`);
    }
  }
}
process.exit(failed ? 1 : 0);
