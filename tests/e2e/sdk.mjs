// SPDX-License-Identifier: Apache-2.0
// The npm `openai` SDK, unmodified: runs the cases against BASE_URL and prints one JSON object of results.
import { createRequire } from "node:module";

const require = createRequire(process.env.SAGA_NODE_DIR + "/");
const { OpenAI } = require("openai");
const client = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: "any", maxRetries: 0, timeout: 30000 });
const out = {};
const messages = [{ role: "user", content: "Say something short." }];
const tools = [{
  type: "function",
  function: { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
}];

const model = (await client.models.list()).data[0].id;
out.model = model;

const chat = await client.chat.completions.create({ model, messages, max_tokens: 8 });
out.chat = chat.choices[0].message.content;
out.usage = chat.usage;

out.stream = "";
out.streamEvents = 0;
for await (const chunk of await client.chat.completions.create({ model, messages, max_tokens: 8, stream: true })) {
  out.streamEvents += 1;
  out.stream += chunk.choices[0].delta.content ?? "";
}

let last;
for await (const chunk of await client.chat.completions.create({
  model, messages, max_tokens: 8, stream: true, stream_options: { include_usage: true },
})) last = chunk;
out.streamUsage = last.usage;

const call = await client.chat.completions.create({ model, messages, tools, tool_choice: "required", max_tokens: 64 });
out.tool = call.choices[0].message.tool_calls[0].function.name;
out.toolFinish = call.choices[0].finish_reason;

out.toolStream = "";
for await (const chunk of await client.chat.completions.create({
  model, messages, tools, tool_choice: "required", max_tokens: 64, stream: true,
})) out.toolStream += chunk.choices[0]?.delta.tool_calls?.[0]?.function?.name ?? "";

out.completion = (await client.completions.create({ model, prompt: "Once", max_tokens: 6 })).choices[0].text;
out.response = (await client.responses.create({ model, input: "Hello", max_output_tokens: 16 })).output_text;
out.responseEvents = [];
for await (const event of await client.responses.create({ model, input: "Hello", max_output_tokens: 16, stream: true })) {
  if (out.responseEvents.at(-1) !== event.type) out.responseEvents.push(event.type);
}

try {
  await client.chat.completions.create({ model: "nobody-serves-this", messages });
} catch (e) {
  out.error = { name: e.constructor.name, status: e.status, code: e.code, requestID: e.requestID };
}

const early = await client.chat.completions.create({ model, messages, max_tokens: 4000, stream: true });
for await (const _ of early) break; // leaves
process.stdout.write(JSON.stringify(out));
process.exit(0);
