// LangChain's chat model for OpenAI.

import assert from "node:assert/strict";
import { ContextOverflowError } from "@langchain/core/errors";
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI, OpenAI } from "@langchain/openai";
import { z } from "zod";
import {
  ANSWER, CALLS, KEY, LONG, MODEL, ONE_CITY, PATIENCE, QUESTION, raises, RESULTS, run, SCARCE_KEY, SCRIPTED,
  STRANGE_ORIGIN, THOUGHT, TOKEN_A, TOKEN_B, TOLD, TOO_LONG, TWO_CITIES, UNKNOWN_KEY, URL,
} from "./expect.mjs";

const chat = (fields, configuration) => new ChatOpenAI({
  model: MODEL, apiKey: KEY, timeout: PATIENCE, maxRetries: 0, configuration: { baseURL: URL, ...configuration },
  ...fields,
});

const getWeather = tool(({ city }) => (city === "Rome" ? RESULTS[1] : RESULTS[0]), {
  name: "get_weather", description: "How the weather is in a city", schema: z.object({ city: z.string() }),
});

await run({
  async "a chat is answered with its usage"() {
    const answer = await chat().invoke(QUESTION);
    assert.match(answer.content, ANSWER);
    assert.equal(answer.response_metadata.finish_reason, "stop");
    assert.ok(answer.usage_metadata.output_tokens > 10, "the usage has come");
  },

  async "a batch is answered in its order"() {
    const answers = await chat().batch([QUESTION, QUESTION, "What is a block table?"]);
    assert.match(answers[0].content, ANSWER);
    assert.match(answers[1].content, ANSWER);
    assert.match(answers[2].content, /^A block table/);
  },

  async "a stream adds up to the whole answer and ends with usage"() {
    let whole;
    for await (const piece of await chat().stream(QUESTION)) {
      whole = whole === undefined ? piece : whole.concat(piece);
    }
    assert.match(whole.content, ANSWER);
    assert.ok(whole.usage_metadata.output_tokens > 10, "the usage has come");
  },

  async "biases and penalties shape what is drawn"() {
    const text = async (bias, fields) => (await chat({
      maxTokens: 24, ...fields, modelKwargs: { logit_bias: { [TOKEN_A]: bias[0], [TOKEN_B]: bias[1] },
        ...fields?.modelKwargs },
    }).invoke("Hi")).content;
    assert.equal(await text([60, 40]), "a".repeat(24));
    assert.match(await text([60, 40], { frequencyPenalty: 2 }), /^aaa.*b/);
    assert.match(await text([100, 65], { modelKwargs: { repetition_penalty: 2 } }), /^abaa/);
  },

  async "text is completed"() {
    const model = new OpenAI({
      model: MODEL, apiKey: KEY, maxTokens: 8, maxRetries: 0, configuration: { baseURL: URL },
    });
    assert.ok(await model.invoke("The quick brown fox"));
  },

  async "two bound tools are called and their results sent back"() {
    const model = chat({ model: SCRIPTED }).bindTools([getWeather]);
    const question = new HumanMessage(TWO_CITIES);
    const calling = await model.invoke([question]);
    assert.deepEqual(calling.tool_calls.map(({ args }) => args), CALLS);
    assert.equal(calling.additional_kwargs.reasoning_content, THOUGHT);
    const results = await Promise.all(calling.tool_calls.map((call) => getWeather.invoke(call)));
    assert.ok(results.every((result) => result instanceof ToolMessage), "results are messages");
    assert.equal((await model.invoke([question, calling, ...results])).content, TOLD);
  },

  async "calls of a stream come in pieces and add up"() {
    let whole;
    let pieces = 0;
    for await (const piece of await chat({ model: SCRIPTED }).bindTools([getWeather]).stream(TWO_CITIES)) {
      whole = whole === undefined ? piece : whole.concat(piece);
      pieces += piece.tool_call_chunks.length;
    }
    assert.deepEqual(whole.tool_calls.map(({ args }) => args), CALLS);
    assert.ok(pieces > 8, `there are ${pieces} pieces`);
  },

  async "calls are text where none is wanted and one where they may not be parallel"() {
    const none = await chat({ model: SCRIPTED }).bindTools([getWeather], { tool_choice: "none" }).invoke(ONE_CITY);
    assert.deepEqual(none.tool_calls, []);
    assert.match(none.content, /^<tool_call>/);
    const one = await chat({ model: SCRIPTED }).bindTools([getWeather], { parallel_tool_calls: false })
      .invoke(TWO_CITIES);
    assert.equal(one.tool_calls.length, 1);
  },

  async "errors keep status and code, or are a type of its own"() {
    const refused = async (status, code, model, prompt = "Hi") => {
      const error = await raises(Error, model.invoke(prompt));
      assert.equal(error.status, status, error.stack);
      assert.equal(error.code, code);
      return error;
    };
    const keyless = await refused(401, "invalid_api_key", chat({ apiKey: UNKNOWN_KEY }));
    assert.equal(keyless.lc_error_code, "MODEL_AUTHENTICATION");
    await refused(403, "forbidden", chat({}, { defaultHeaders: STRANGE_ORIGIN }));
    const limited = await refused(429, "rate_limit_exceeded", chat({ apiKey: SCARCE_KEY }));
    assert.equal(limited.lc_error_code, "MODEL_RATE_LIMIT");
    const unknown = await refused(404, "model_not_found", chat({ model: "gpt-4" }));
    assert.equal(unknown.lc_error_code, "MODEL_NOT_FOUND");
    await raises(ContextOverflowError, chat().invoke(TOO_LONG));
  },

  async "nobody goes on with a stream that was closed"() {
    let pieces = 0;
    const model = chat({ maxTokens: LONG, modelKwargs: { ignore_eos: true } });
    for await (const _ of await model.stream(QUESTION)) {
      if (++pieces === 3) {
        break;
      }
    }
  },

  async "choices and their log-probabilities"() {
    const { generations: [choices] } = await chat({ n: 2, logprobs: true, topLogprobs: 2, maxTokens: 4 })
      .generate([[new HumanMessage(QUESTION)]]);
    assert.equal(choices.length, 2);
    assert.equal(choices[0].message.response_metadata.logprobs.content[0].top_logprobs.length, 2);
  },
});
