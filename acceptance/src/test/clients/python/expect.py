"""What the programs of this folder have in common: where the fleet is, and how something is held against it."""

import os
import sys
import traceback

URL = os.environ["WARMPATH_URL"]
KEY = os.environ["WARMPATH_KEY"]
SCARCE_KEY = os.environ["WARMPATH_SCARCE_KEY"]  # one token a minute: refused whatever it asks
UNKNOWN_KEY = os.environ["WARMPATH_UNKNOWN_KEY"]
TOKEN_A = os.environ["WARMPATH_TOKEN_A"]
TOKEN_B = os.environ["WARMPATH_TOKEN_B"]
STRANGE_ORIGIN = {"origin": "https://elsewhere.example"}

MODEL = "warmpath-tiny"
SCRIPTED = "scripted"  # thinks, and calls get_weather for each "in Somewhere" of the last question
QUESTION = "What is a KV cache?"
ANSWER = "A KV cache keeps the keys and values of every earlier token"
ONE_CITY = "What is the weather in Paris?"
TWO_CITIES = "What is the weather in Paris and in Rome?"
THOUGHT = "A tool knows that."
CALLS = ['{"city": "Paris"}', '{"city": "Rome"}']
RESULTS = ["21 degrees", "9 degrees"]
TOLD_AS_THOUGHT = "As I thought, the tools say: 21 degrees and 9 degrees."  # with its thought, which came back to it
LONG = 1_900  # tokens of an answer that nobody waits for
TOO_LONG = "word " * 3_000
PATIENCE = 600  # seconds, longer than any machine takes

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "How the weather is in a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}


def asked(question):
    return [{"role": "user", "content": question}]


def equal(actual, expected, what):
    if actual != expected:
        raise AssertionError(f"{what} should be {expected!r} and is {actual!r}")


def true(condition, what):
    if not condition:
        raise AssertionError(what)


def raises(error, action):
    try:
        action()
    except error as e:
        return e
    raise AssertionError(f"{error.__name__} was expected, and nothing was raised")


def run(*scenarios):
    """Runs all of them, says which hold, and ends this process: with 1 if one does not."""
    failed = 0
    for scenario in scenarios:
        try:
            scenario()
            print("ok    ", scenario.__name__, flush=True)
        except Exception:
            failed += 1
            print("FAILED", scenario.__name__, flush=True)
            traceback.print_exc(file=sys.stdout)
    print(f"{len(scenarios) - failed} of {len(scenarios)} scenarios hold", flush=True)
    sys.exit(1 if failed else 0)
