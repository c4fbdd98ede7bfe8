// Vercel's AI SDK, by its provider for OpenAI and by the one for servers that are compatible.

import assert from "node:assert/strict";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";
import {
  ANSWER, CALLS, KEY, LONG, MODEL, ONE_CITY, QUESTION, raises, RESULTS, run, SCARCE_KEY, SCRIPTED,
  STRANGE_ORIGIN, THOUGHT, TOKEN_A, TOKEN_B, TOLD, TOLD_AS_THOUGHT, TOO_LONG, TWO_CITIES, UNKNOWN_KEY, URL,
} from "./expect.mjs";

// `provider(model)` alone asks for OpenAI's other API, that of responses
const openai = (model, settings) => createOpenAI({ baseURL: URL, apiKey: KEY, ...settings }).chat(model);

const compatible = (model, settings) =>
  createOpenAICompatible({ name: "warmpath", baseURL: URL, apiKey: KEY, includeUsage: true, ...settings })(model);

const weather = (execute) => ({
  get_weather: tool({
    description: "How the weather is in a city", inputSchema: z.object({ city: z.string() }), execute,
  }),
});

const scenarios = (name, provider, thinks) => ({
  async [`${name}: a chat is answered with its usage`]() {
    const { text, finishReason, usage } = await generateText({ model: provider(MODEL), prompt: QUESTION });
    assert.match(text, ANSWER);
    assert.equal(finishReason, "stop");
    assert.ok(usage.inputTokens > 5 && usage.outputTokens > 10, `the usage is ${JSON.stringify(usage)}`);
  },

  async [`${name}: a stream adds up to the whole answer and ends with usage`]() {
    const stream = streamText({ model: provider(MODEL), prompt: QUESTION });
    let whole = "";
    for await (const piece of stream.textStream) {
      whole += piece;
    }
    assert.match(whole, ANSWER);
    assert.equal(await stream.finishReason, "stop");
    assert.ok((await stream.usage).outputTokens > 10, "the usage has come");
  },

  async [`${name}: biases and penalties shape what is drawn`]() {
    const bias = { [TOKEN_A]: 60, [TOKEN_B]: 40 };
    const text = async (fields) => (await generateText({
      model: provider(MODEL), prompt: "Hi", maxOutputTokens: 24,
      providerOptions: { openai: { logitBias: bias }, warmpath: { logit_bias: bias } }, ...fields,
    })).text;
    assert.equal(await text(), "a".repeat(24));
    assert.match(await text({ frequencyPenalty: 2 }), /^aaa.*b/);
  },

  async [`${name}: two calls with what was thought are told`]() {
    const { toolCalls, reasoningText, finishReason } = await generateText({
      model: provider(SCRIPTED), prompt: TWO_CITIES, tools: weather(), toolChoice: "auto",
    });
    assert.deepEqual(toolCalls.map(({ toolName }) => toolName), ["get_weather", "get_weather"]);
    assert.deepEqual(toolCalls.map(({ input }) => input), CALLS);
    assert.equal(finishReason, "tool-calls");
    assert.equal(reasoningText, thinks ? THOUGHT : undefined);
  },

  async [`${name}: tools are called in as many steps as it takes`]() {
    const asking = [];
    const { text, steps } = await generateText({
      model: provider(SCRIPTED), prompt: TWO_CITIES, stopWhen: isStepCount(3),
      tools: weather(({ city }) => {
        asking.push(city);
        return city === "Rome" ? RESULTS[1] : RESULTS[0];
      }),
    });
    assert.equal(text, thinks ? TOLD_AS_THOUGHT : TOLD);
    assert.equal(steps.length, 2);
    assert.deepEqual(asking, ["Paris", "Rome"]);
  },

  async [`${name}: calls of a stream come in pieces and add up`]() {
    const stream = streamText({ model: provider(SCRIPTED), prompt: TWO_CITIES, tools: weather() });
    let pieces = 0;
    let thought = "";
    for await (const part of stream.fullStream) {
      pieces += part.type === "tool-input-delta" ? 1 : 0;
      thought += part.type === "reasoning-delta" ? part.text : "";
    }
    assert.deepEqual((await stream.toolCalls).map(({ input }) => input), CALLS);
    assert.equal(thought, thinks ? THOUGHT : "");
    assert.ok(pieces > 8, `there are ${pieces} pieces`);
  },

  async [`${name}: calls are text where none is wanted`]() {
    const { text, toolCalls } = await generateText({
      model: provider(SCRIPTED), prompt: ONE_CITY, tools: weather(), toolChoice: "none",
    });
    assert.deepEqual(toolCalls, []);
    assert.match(text, /^<tool_call>/);
  },

  async [`${name}: errors have the status and the body`]() {
    const refused = async (status, code, model, prompt = "Hi") => {
      const error = await raises(APICallError, generateText({ model, prompt, maxRetries: 0 }));
      assert.equal(error.statusCode, status);
      assert.equal(JSON.parse(error.responseBody).error.code, code);
      return error;
    };
    await refused(401, "invalid_api_key", provider(MODEL, { apiKey: UNKNOWN_KEY }));
    await refused(403, "forbidden", provider(MODEL, { headers: STRANGE_ORIGIN }));
    const limited = await refused(429, "rate_limit_exceeded", provider(MODEL, { apiKey: SCARCE_KEY }));
    assert.ok(limited.isRetryable);
    await refused(404, "model_not_found", provider("gpt-4"));
    const long = await refused(400, "context_length_exceeded", provider(MODEL), TOO_LONG);
    assert.match(long.message, /This model's maximum context length is 2048 tokens/);
    assert.ok(!long.isRetryable);
  },
});

await run({
  ...scenarios("openai", openai, false),
  ...scenarios("compatible", compatible, true),

  async "compatible: fields that OpenAI does not have are passed on"() {
    const { text } = await generateText({
      model: compatible(MODEL), prompt: "Hi", maxOutputTokens: 8,
      providerOptions: { warmpath: { allowed_token_ids: [Number(TOKEN_A)] } },
    });
    assert.equal(text, "a".repeat(8));
  },

  async "openai: text is completed"() {
    const model = createOpenAI({ baseURL: URL, apiKey: KEY }).completion(MODEL);
    assert.ok((await generateText({ model, prompt: "The quick brown fox", maxOutputTokens: 8 })).text);
  },

  async "compatible: nobody goes on with a stream that was closed"() {
    const leaving = new AbortController();
    const stream = streamText({
      model: compatible(MODEL), prompt: QUESTION, maxOutputTokens: LONG, abortSignal: leaving.signal,
      providerOptions: { warmpath: { ignore_eos: true } },
    });
    let pieces = 0;
    for await (const _ of stream.textStream) {
      if (++pieces === 3) {
        leaving.abort();
      }
    }
  },

  async "openai: log-probabilities are told"() {
    const { finalStep } = await generateText({
      model: openai(MODEL), prompt: QUESTION, maxOutputTokens: 4, providerOptions: { openai: { logprobs: 2 } },
    });
    const scores = finalStep.providerMetadata.openai.logprobs;
    assert.equal(scores.length, 4);
    assert.equal(scores[0].top_logprobs.length, 2);
  },
});
