// Agents that leave their history with the provider: what `kept.py` does, on Node.
//
//     node kept.mjs MODULES < JOBS

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const require = createRequire(resolve(process.argv[2], "package.json"));
const OpenAI = require("openai").default;
const Anthropic = require("@anthropic-ai/sdk").default;
const { betaTool } = require("@anthropic-ai/sdk/helpers/beta/json-schema");

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

// `beta.messages.toolRunner`, which keeps a thread unless it is told not to.
async function runner(job, ran) {
  const client = new Anthropic({ baseURL: job.base, apiKey: "none", maxRetries: 0, timeout: job.timeout * 1000 });
  const tools = Object.entries(SCHEMAS).map(([name, inputSchema]) =>
    betaTool({
      name,
      inputSchema,
      description: name,
      run: (given) => {
        ran.push(name);
        return TOOLS[name](given);
      },
    }),
  );
  const request = { model: "any", max_tokens: 1000, messages: [{ role: "user", content: QUESTION }], tools };
  let last;
  if (job.streams) {
    for await (const stream of client.beta.messages.toolRunner({ ...request, stream: true })) last = await stream.finalMessage();
  } else {
    for await (const message of client.beta.messages.toolRunner(request)) last = message;
  }
  return last.content.filter((block) => block.type === "text").map((block) => block.text).join("");
}

// A loop of one's own over `client.responses`.
async function responses(job, ran) {
  const client = new OpenAI({ baseURL: `${job.base}/v1`, apiKey: "none", maxRetries: 0, timeout: job.timeout * 1000 });
  const tools = Object.entries(SCHEMAS).map(([name, parameters]) => ({ type: "function", name, parameters, strict: true }));
  let request = { model: "any", input: [{ role: "user", content: QUESTION }], tools };
  for (;;) {
    const reply = job.streams ? await client.responses.stream(request).finalResponse() : await client.responses.create(request);
    const calls = reply.output.filter((item) => item.type === "function_call");
    if (!calls.length) return reply.output_text;
    ran.push(...calls.map((call) => call.name));
    const outputs = calls.map((call) => ({
      type: "function_call_output",
      call_id: call.call_id,
      output: TOOLS[call.name](JSON.parse(call.arguments)),
    }));
    request = { model: "any", input: outputs, tools, previous_response_id: reply.id };
  }
}

const CLIENTS = { "anthropic tool runner": runner, "openai previous response": responses };

async function carryOut(job) {
  const ran = [];
  try {
    return { ran, answer: await CLIENTS[job.client](job, ran), error: null };
  } catch (raised) {
    return { ran, answer: null, error: { class: raised.constructor.name, status: raised.status ?? null, message: String(raised.message) } };
  }
}

const jobs = JSON.parse(readFileSync(0, "utf-8"));
const results = [];
// One after another: see `Bench.kept` in stories.py.
for (const job of jobs) results.push(await carryOut(job));
process.stdout.write(JSON.stringify(results), () => process.exit(0));
