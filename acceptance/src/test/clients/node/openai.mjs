// OpenAI's own client for Node.

import assert from "node:assert/strict";
import OpenAI from "openai";
import {
  ANSWER, asked, CALLS, KEY, LONG, MODEL, ONE_CITY, parsed, PATIENCE, QUESTION, raises, RESULTS, run,
  SCARCE_KEY, SCRIPTED, STRANGE_ORIGIN, THOUGHT, TOKEN_A, TOKEN_B, TOLD, TOLD_AS_THOUGHT, TOO_LONG, TWO_CITIES,
  UNKNOWN_KEY, URL, WEATHER,
} from "./expect.mjs";

const client = new OpenAI({ baseURL: URL, apiKey: KEY, timeout: PATIENCE });

const chat = (fields, by = client) =>
  by.chat.completions.create({ model: MODEL, messages: asked(QUESTION), ...fields });

const weather = (question, fields) =>
  chat({ model: SCRIPTED, messages: asked(question), tools: [WEATHER], ...fields });

const text = async (bias, fields) =>
  (await client.completions.create({
    model: MODEL, prompt: "The quick brown fox", max_tokens: 24,
    logit_bias: { [TOKEN_A]: bias[0], [TOKEN_B]: bias[1] }, ...fields,
  })).choices[0].text;

await run({
  async "models are listed"() {
    const ids = [];
    for await (const model of client.models.list()) {
      ids.push(model.id);
    }
    assert.deepEqual(ids.sort(), [SCRIPTED, MODEL]);
  },

  async "a chat that comes again finds its prompt cached"() {
    const messages = [{ role: "system", content: "Be brief in all that you say. ".repeat(8) }, ...asked(QUESTION)];
    await chat({ messages });
    const answer = await chat({ messages });
    assert.equal(answer.choices[0].finish_reason, "stop");
    assert.ok(answer.usage.prompt_tokens_details.cached_tokens >= 16, "a block of 16 tokens is cached at least");
    assert.ok(answer._request_id, "an answer has an x-request-id");
  },

  async "a stream adds up to the whole answer and ends with usage"() {
    let whole = "";
    let last;
    for await (const chunk of await chat({ stream: true, stream_options: { include_usage: true } })) {
      whole += chunk.choices[0]?.delta.content ?? "";
      last = chunk;
    }
    assert.match(whole, ANSWER);
    assert.deepEqual(last.choices, []);
    assert.ok(last.usage.completion_tokens > 10, "the last chunk has the usage");
  },

  async "biases and penalties shape what is drawn"() {
    assert.equal(await text([60, 40]), "a".repeat(24));
    assert.match(await text([60, 40], { frequency_penalty: 2 }), /^aaa.*b/);
    assert.match(await text([100, 65], { repetition_penalty: 2 }), /^abaa/);
  },

  async "two calls with what was thought are answered by two results"() {
    const { choices: [choice] } = await weather(TWO_CITIES, { tool_choice: "auto" });
    assert.equal(choice.finish_reason, "tool_calls");
    assert.equal(choice.message.content, null);
    assert.equal(choice.message.reasoning_content, THOUGHT);
    assert.deepEqual(parsed(choice.message.tool_calls), CALLS);
    const results = choice.message.tool_calls.map(({ id }, i) =>
      ({ role: "tool", tool_call_id: id, content: RESULTS[i] }));
    const last = await weather("", { messages: [...asked(TWO_CITIES), choice.message, ...results] });
    assert.equal(last.choices[0].message.content, TOLD_AS_THOUGHT);
  },

  async "calls of a stream come in pieces and add up"() {
    const stream = client.chat.completions.stream({ model: SCRIPTED, messages: asked(TWO_CITIES), tools: [WEATHER] });
    let pieces = 0;
    let thought = "";
    stream.on("chunk", (chunk) => {
      pieces += chunk.choices[0].delta.tool_calls?.length ?? 0;
      thought += chunk.choices[0].delta.reasoning_content ?? "";
    });
    const message = await stream.finalMessage();
    assert.deepEqual(parsed(message.tool_calls), CALLS);
    assert.equal(thought, THOUGHT);
    assert.ok(pieces > 8, `there are ${pieces} pieces`);
  },

  async "a runner calls functions by itself"() {
    const asking = [];
    const runner = client.chat.completions.runTools({
      model: SCRIPTED, messages: asked(TWO_CITIES),
      tools: [{
        type: "function",
        function: {
          ...WEATHER.function, parse: JSON.parse,
          function: ({ city }) => {
            asking.push(city);
            return city === "Rome" ? RESULTS[1] : RESULTS[0];
          },
        },
      }],
    });
    assert.equal(await runner.finalContent(), TOLD, "it sends no thoughts back");
    assert.deepEqual(asking, ["Paris", "Rome"]);
  },

  async "calls are text where none is wanted and one where they may not be parallel"() {
    const none = await weather(ONE_CITY, { tool_choice: "none" });
    assert.equal(none.choices[0].message.tool_calls, undefined);
    assert.match(none.choices[0].message.content, /^<tool_call>/);
    const one = await weather(TWO_CITIES, { parallel_tool_calls: false });
    assert.equal(one.choices[0].message.tool_calls.length, 1);
  },

  async "who wants no thoughts gets none"() {
    const answer = await weather(ONE_CITY, { reasoning_effort: "none" });
    assert.equal(answer.choices[0].message.reasoning_content, undefined);
  },

  async "errors are the types that the client has for them"() {
    const refused = async (type, code, fields, by) => {
      const error = await raises(type, chat(fields, by));
      assert.equal(error.code, code);
      return error;
    };
    await refused(OpenAI.AuthenticationError, "invalid_api_key", {}, client.withOptions({ apiKey: UNKNOWN_KEY }));
    await refused(OpenAI.PermissionDeniedError, "forbidden", {},
      client.withOptions({ defaultHeaders: STRANGE_ORIGIN }));
    const limited = await refused(OpenAI.RateLimitError, "rate_limit_exceeded", {},
      client.withOptions({ apiKey: SCARCE_KEY }));
    assert.equal(limited.type, "tokens");
    assert.equal(limited.headers.get("x-ratelimit-limit-tokens"), "1");
    await refused(OpenAI.NotFoundError, "model_not_found", { model: "gpt-4" });
    await refused(OpenAI.NotFoundError, "model_not_found", { model: "gpt-4", stream: true });
    const long = await refused(OpenAI.BadRequestError, "context_length_exceeded", { messages: asked(TOO_LONG) });
    assert.match(long.message, /This model's maximum context length is 2048 tokens/);
    assert.equal((await refused(OpenAI.BadRequestError, "invalid_value", { temperature: 3 })).param, "temperature");
  },

  async "nobody goes on with a stream that was closed"() {
    let chunks = 0;
    const stream = await chat({ stream: true, max_completion_tokens: LONG, ignore_eos: true });
    for await (const _ of stream) {
      if (++chunks === 3) {
        break;
      }
    }
    assert.ok(stream.controller.signal.aborted, "leaving the loop closes the stream");
  },

  async "choices and their log-probabilities"() {
    const answer = await chat({ n: 3, temperature: 1, seed: 7, max_tokens: 8, logprobs: true, top_logprobs: 2 });
    assert.deepEqual(answer.choices.map(({ index }) => index), [0, 1, 2]);
    for (const token of answer.choices.flatMap(({ logprobs }) => logprobs.content)) {
      assert.ok(token.logprob <= 0, "logarithms of probabilities");
      assert.equal(token.top_logprobs.length, 2);
    }
  },

  async "choices of a stream are told apart by index"() {
    const stream = client.chat.completions.stream({ model: MODEL, messages: asked(QUESTION), n: 2, logprobs: true });
    const { choices } = await stream.finalChatCompletion();
    assert.equal(choices.length, 2);
    choices.forEach(({ message, logprobs }) => {
      assert.match(message.content, ANSWER);
      assert.ok(logprobs.content.length > 10, "every token is scored");
    });
  },

  async "a prompt is scored with and without a token after it"() {
    for (const max_tokens of [1, 0]) {
      const { choices: [{ text: said, logprobs }] } = await client.completions.create({
        model: MODEL, prompt: "The quick brown fox", echo: true, logprobs: 2, max_tokens,
      });
      assert.match(said, /^The quick brown fox/);
      assert.equal(logprobs.tokens.join(""), `<|begin|>${said}`, "the model begins with a token of its own");
      assert.equal(logprobs.token_logprobs[0], null);
      assert.ok(logprobs.token_logprobs.slice(1).every((score) => score <= 0), "the others' scores");
    }
  },

  async "several prompts are answered in their order"() {
    const prompt = ["The quick brown fox", "A block table"];
    const create = (fields) => client.completions.create({ model: MODEL, max_tokens: 8, ...fields });
    const together = await create({ prompt });
    const alone = await Promise.all(prompt.map((each) => create({ prompt: each })));
    assert.deepEqual(together.choices.map(({ text: said }) => said), alone.map(({ choices }) => choices[0].text));
  },
});
