// What the programs of this folder have in common: where the fleet is, and how something is held against it.

import assert from "node:assert/strict";

export const { WARMPATH_URL: URL, WARMPATH_KEY: KEY, WARMPATH_UNKNOWN_KEY: UNKNOWN_KEY } = process.env;
export const SCARCE_KEY = process.env.WARMPATH_SCARCE_KEY; // one token a minute: refused whatever it asks
export const { WARMPATH_TOKEN_A: TOKEN_A, WARMPATH_TOKEN_B: TOKEN_B } = process.env;
export const STRANGE_ORIGIN = { origin: "https://elsewhere.example" };

export const MODEL = "warmpath-tiny";
export const SCRIPTED = "scripted"; // thinks, and calls get_weather for each "in Somewhere" of the last question
export const QUESTION = "What is a KV cache?";
export const ANSWER = /^A KV cache keeps the keys and values of every earlier token/;
export const ONE_CITY = "What is the weather in Paris?";
export const TWO_CITIES = "What is the weather in Paris and in Rome?";
export const THOUGHT = "A tool knows that.";
export const CALLS = [{ city: "Paris" }, { city: "Rome" }];
export const RESULTS = ["21 degrees", "9 degrees"];
export const TOLD = "The tools say: 21 degrees and 9 degrees.";
export const TOLD_AS_THOUGHT = "As I thought, the tools say: 21 degrees and 9 degrees."; // its thought came back to it
export const LONG = 1900; // tokens of an answer that nobody waits for
export const TOO_LONG = "word ".repeat(3000);
export const PATIENCE = 600_000; // ms, longer than any machine takes

export const WEATHER = {
  type: "function",
  function: {
    name: "get_weather",
    description: "How the weather is in a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

export const asked = (question) => [{ role: "user", content: question }];

export const parsed = (calls) => calls.map((call) => JSON.parse(call.function.arguments));

/** What a promise fails with, which has to be of this type. */
export async function raises(type, promise) {
  const error = await promise.then(
    () => assert.fail(`${type.name} was expected, and nothing was thrown`),
    (reason) => reason,
  );
  assert.ok(error instanceof type, `${type.name} was expected, and this was thrown: ${error.stack}`);
  return error;
}

/** Runs all of them, says which hold, and ends this process: with 1 if one does not. */
export async function run(scenarios) {
  let failed = 0;
  for (const [name, scenario] of Object.entries(scenarios)) {
    try {
      await scenario();
      console.log("ok    ", name);
    } catch (error) {
      failed++;
      console.log("FAILED", name);
      console.log(error);
    }
  }
  const count = Object.keys(scenarios).length;
  console.log(`${count - failed} of ${count} scenarios hold`);
  process.exit(failed ? 1 : 0);
}
