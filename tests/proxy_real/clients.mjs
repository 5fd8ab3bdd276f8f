// Agents as users write them, on the SDKs of OpenAI and Anthropic for Node: what `clients.py` does, job by job.
//
//     node clients.mjs MODULES < JOBS
//
// MODULES is the folder of the packages. All jobs run at once; what came of them is one JSON array on stdout.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const require = createRequire(resolve(process.argv[2], "package.json"));
const OpenAI = require("openai").default;
const Anthropic = require("@anthropic-ai/sdk").default;

const QUESTION = "From New York to Lisbon on 11 May, please.";

const schema = (...names) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
  required: names,
  additionalProperties: false,
});

const SCHEMAS = { search_flights: schema("from", "to", "date"), get_weather: schema("city", "date") };
const TOOLS = {
  search_flights: () => "TP 204, 18:30 to 06:25 the next day, 489.50 EUR",
  get_weather: ({ city }) => `${city}: 18 degrees, sunny`,
};

class Responses {
  constructor(job) {
    this.client = new OpenAI({ baseURL: `${job.base}/v1`, apiKey: "none", maxRetries: 0, timeout: job.timeout * 1000 });
    this.input = [{ role: "user", content: QUESTION }];
    this.tools = Object.entries(SCHEMAS).map(([name, parameters]) => ({ type: "function", name, parameters, strict: true }));
  }

  async ask(streams, seen) {
    const request = { model: "any", input: this.input, tools: this.tools };
    let reply;
    if (streams) {
      const stream = this.client.responses.stream(request);
      for await (const event of stream) seen.push(event.type);
      reply = await stream.finalResponse();
    } else {
      reply = await this.client.responses.create(request);
    }
    this.input.push(...reply.output.map(({ status, parsed_arguments, ...item }) => item));
    const calls = reply.output.filter((item) => item.type === "function_call");
    return { reply, text: reply.output_text, calls: calls.map((call) => [call.call_id, call.name, JSON.parse(call.arguments)]) };
  }

  answer(outputs) {
    this.input.push(...outputs.map(([call_id, output]) => ({ type: "function_call_output", call_id, output })));
  }
}

class Chat {
  constructor(job) {
    this.client = new OpenAI({ baseURL: `${job.base}/v1`, apiKey: "none", maxRetries: 0, timeout: job.timeout * 1000 });
    this.messages = [{ role: "user", content: QUESTION }];
    this.tools = Object.entries(SCHEMAS).map(([name, parameters]) => ({ type: "function", function: { name, parameters, strict: true } }));
  }

  async ask(streams, seen) {
    const request = { model: "any", messages: this.messages, tools: this.tools };
    let reply;
    if (streams) {
      const stream = this.client.chat.completions.stream({ ...request, stream_options: { include_usage: true } });
      for await (const chunk of stream) seen.push(chunk.object);
      reply = await stream.finalChatCompletion();
    } else {
      reply = await this.client.chat.completions.create(request);
    }
    const message = reply.choices[0].message;
    const made = message.tool_calls ?? [];
    this.messages.push({ role: "assistant", content: message.content, ...(made.length ? { tool_calls: made } : {}) });
    return { reply, text: message.content, calls: made.map((call) => [call.id, call.function.name, JSON.parse(call.function.arguments)]) };
  }

  answer(outputs) {
    this.messages.push(...outputs.map(([tool_call_id, content]) => ({ role: "tool", tool_call_id, content })));
  }
}

class Messages {
  constructor(job) {
    this.client = new Anthropic({ baseURL: job.base, apiKey: "none", maxRetries: 0, timeout: job.timeout * 1000 });
    this.messages = [{ role: "user", content: QUESTION }];
    this.tools = Object.entries(SCHEMAS).map(([name, input_schema]) => ({ name, input_schema }));
  }

  async ask(streams, seen) {
    const request = { model: "any", max_tokens: 1000, messages: this.messages, tools: this.tools };
    let reply;
    if (streams) {
      const stream = this.client.messages.stream(request);
      for await (const event of stream) seen.push(event.type);
      reply = await stream.finalMessage();
    } else {
      reply = await this.client.messages.create(request);
    }
    this.messages.push({ role: "assistant", content: reply.content });
    const text = reply.content.filter((block) => block.type === "text").map((block) => block.text).join("");
    return { reply, text, calls: reply.content.filter((block) => block.type === "tool_use").map((block) => [block.id, block.name, block.input]) };
  }

  answer(outputs) {
    const content = outputs.map(([tool_use_id, content]) => ({ type: "tool_result", tool_use_id, content }));
    this.messages.push({ role: "user", content });
  }
}

const CLIENTS = { "openai responses": Responses, "openai chat": Chat, "anthropic messages": Messages };

async function carryOut(job) {
  const turns = [];
  let answer = null;
  let error = null;
  const talk = new CLIENTS[job.client](job);
  while (answer === null && error === null) {
    const seen = [];
    let told = false;
    try {
      const { reply, text, calls } = await talk.ask(job.streams, seen);
      turns.push({ events: seen, reply });
      told = true;
      talk.answer(calls.map(([id, name, given]) => [id, TOOLS[name](given)]));
      if (job.once || calls.length === 0) answer = text ?? "";
    } catch (raised) {
      error = { class: raised.constructor.name, status: raised.status ?? null, message: String(raised.message) };
      if (seen.length && !told) turns.push({ events: seen, reply: null });
    }
  }
  return { turns, answer, error };
}

const jobs = JSON.parse(readFileSync(0, "utf-8"));
const results = await Promise.all(jobs.map(carryOut));
process.stdout.write(JSON.stringify(results), () => process.exit(0));
