// The Node package beside the program, and its hook under the AI SDK before a provider that refuses broken histories.
//
//     node stories.mjs RETAKE PACKAGES
//
// PACKAGES holds node_modules with `retake`, `ai` and `@ai-sdk/openai`. Exit code 1: a story went another way.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [program, packages] = process.argv.slice(2);
const require = createRequire(join(resolve(packages), "stories.cjs"));
const retake = require("retake");
const { healMessages, healMiddleware } = require("retake/ai-sdk");
const { generateText, wrapLanguageModel } = require("ai");
const { createOpenAI } = require("@ai-sdk/openai");

const CALL = { id: "c1", type: "function", function: { name: "weigh", arguments: '{"what":"crate 7"}' } };
const OPEN = [
  { role: "user", content: "Weigh it." },
  { role: "assistant", content: null, tool_calls: [CALL] },
];
const ANSWER = "All is well.";

// What OpenAI refuses: a call without its output, an output without its call.
const fault = (messages) => {
  let open = [];
  for (const message of messages) {
    if (message.role === "tool") {
      if (!open.includes(message.tool_call_id)) {
        return "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
      }
      open = open.filter((id) => id !== message.tool_call_id);
    } else if (open.length) {
      break;
    } else {
      open = (message.tool_calls ?? []).map((call) => call.id);
    }
  }
  return open.length ? `An assistant message with 'tool_calls' must be followed by tool messages: ${open}` : null;
};

async function withProvider(story) {
  const bodies = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (piece) => (text += piece));
    request.on("end", () => {
      const body = JSON.parse(text);
      bodies.push(body);
      const message = fault(body.messages);
      const reply = { index: 0, message: { role: "assistant", content: ANSWER }, finish_reason: "stop" };
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
      const sound = { id: "x", object: "chat.completion", created: 1, model: "m", choices: [reply], usage };
      const refusal = { error: { message, type: "invalid_request_error", param: null, code: null } };
      response.writeHead(message ? 400 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(message ? refusal : sound));
    });
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  try {
    const openai = createOpenAI({ baseURL: `http://127.0.0.1:${server.address().port}/v1`, apiKey: "none" });
    return await story(openai.chat("m"), bodies);
  } finally {
    server.close();
  }
}

const PART = { toolCallId: "c1", toolName: "weigh" };
const asks = { role: "user", content: [{ type: "text", text: "Weigh crate 7." }] };
const again = { role: "user", content: "Go on." };
const call = { role: "assistant", content: [{ type: "tool-call", ...PART, input: { what: "crate 7" } }] };
const result = { role: "tool", content: [{ type: "tool-result", ...PART, output: { type: "text", value: "12 kg" } }] };

const stories = {
  "the package finds what the program finds"() {
    const folder = "sessions";
    const files = readdirSync(folder).filter((name) => /\.(json|jsonl|sse|db)$/.test(name));
    for (const name of files) {
      const path = join(folder, name);
      const run = spawnSync(program, ["check", "--format", "json", path], { encoding: "utf8" });
      const lines = run.stdout.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));
      const expected = lines.filter((line) => line.type === "finding");
      let found;
      try {
        found = retake.check(path);
      } catch (error) {
        assert(error instanceof retake.RetakeError && run.status >= 2, `${path}: ${error}`);
        continue;
      }
      const said = (one) => [one.rule, one.severity, one.message, one.session, one.turn, one.item, one.line, one.column];
      assert.deepEqual(found.findings.map(said), expected.map(said), path);
      assert.equal(found.isClean, run.status === 0, path);
    }
    assert(files.length > 20);
    return `${files.length} recordings`;
  },

  "a history is healed and what was given stays"() {
    const given = structuredClone(OPEN);
    const verdict = retake.willAccept(given);
    assert(!verdict.isAccepted);
    assert.deepEqual(verdict.findings.map((one) => one.rule), ["orphan-call"]);
    const healed = retake.heal(given);
    assert.deepEqual(given, OPEN);
    assert(healed.isChanged && retake.willAccept(healed.history).isAccepted);
    assert.equal(healed.history[2].tool_call_id, "c1");
    const text = retake.heal(Buffer.from(JSON.stringify(OPEN))).history;
    assert(Buffer.isBuffer(text));
    assert.deepEqual(JSON.parse(text), healed.history);
    // A recording may end on a call that waits.
    assert(retake.check(OPEN).isClean && !retake.fix(OPEN).isChanged);
  },

  "what cannot be read is an error with a reason"() {
    const refused = (work, reason) => assert.throws(work, (error) => error instanceof retake.RetakeError && reason.test(error.message));
    refused(() => retake.check(Buffer.alloc(0)), /empty/);
    refused(() => retake.check({ a: 1 }), /not recognised/);
    refused(() => retake.check(OPEN, { dialect: "cobol" }), /no dialect/);
    assert.throws(() => retake.check("no/such/file"), { name: "RetakeError", code: "ENOENT" });
    assert.throws(() => retake.heal(JSON.stringify(OPEN)), TypeError);
  },

  "the middleware heals what the AI SDK sends": () =>
    withProvider(async (model, bodies) => {
      const log = [];
      const healing = wrapLanguageModel({ model, middleware: healMiddleware({ log: (line) => log.push(line) }) });
      const messages = [asks, result, again];
      await assert.rejects(generateText({ model, messages, maxRetries: 0 }), /must be a response to a preceeding message/);
      const { text } = await generateText({ model: healing, messages, maxRetries: 0 });
      assert.equal(text, ANSWER);
      assert(retake.willAccept(bodies.at(-1)).isAccepted);
      assert.match(log.join(), /orphan-output/);

      const sound = [asks, call, result, again];
      await generateText({ model, messages: sound });
      await generateText({ model: healing, messages: sound });
      assert.deepEqual(bodies.at(-1), bodies.at(-2));
      return log.join("; ");
    }),

  "messages are healed that the AI SDK itself refuses": () =>
    withProvider(async (model, bodies) => {
      const picture = new Uint8Array([137, 80, 78, 71]);
      const first = { role: "user", content: [...asks.content, { type: "image", image: picture, mediaType: "image/png" }] };
      const messages = [first, call, again];
      let refusal;
      await generateText({ model, messages, maxRetries: 0 }).catch((error) => (refusal = error));
      assert(refusal);
      const healed = healMessages(messages, () => {});
      assert.equal(healed[0].content[1].image, picture);
      const { text } = await generateText({ model, messages: healed, maxRetries: 0 });
      assert.equal(text, ANSWER);
      assert(retake.willAccept(bodies.at(-1)).isAccepted);
      return `without it: ${refusal.message}`;
    }),
};

let failed = 0;
for (const [name, story] of Object.entries(stories)) {
  try {
    const said = await story();
    console.log(`ok  ${name}${said ? `: ${said}` : ""}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n${error.stack}`);
  }
}
process.exitCode = failed ? 1 : 0;
