"""LiteLLM, as a library: what its callers get of a server that speaks OpenAI's API."""

import litellm
from expect import *

litellm.suppress_debug_info = True


def ask(question=QUESTION, model=MODEL, key=KEY, **fields):
    return litellm.completion(model=f"openai/{model}", api_base=URL, api_key=key, messages=asked(question),
                              timeout=PATIENCE, num_retries=0, **fields)


def a_chat_is_answered_with_its_usage():
    answer = ask()
    true(answer.choices[0].message.content.startswith(ANSWER), "the text")
    equal(answer.choices[0].finish_reason, "stop", "the finish reason")
    true(answer.usage.prompt_tokens_details.cached_tokens is not None, "cached tokens are told")


def a_stream_adds_up_to_the_whole_answer_and_ends_with_usage():
    chunks = list(ask(stream=True, stream_options={"include_usage": True}))
    whole = litellm.stream_chunk_builder(chunks, messages=asked(QUESTION))
    true(whole.choices[0].message.content.startswith(ANSWER), "the text")
    equal(whole.usage.completion_tokens, ask().usage.completion_tokens, "the usage")


def text_is_completed():
    answer = litellm.text_completion(model=f"text-completion-openai/{MODEL}", api_base=URL, api_key=KEY,
                                     prompt="The quick brown fox", max_tokens=8)
    true(answer.choices[0].text, "the text")


def two_calls_with_what_was_thought_are_answered_by_two_results():
    message = ask(TWO_CITIES, SCRIPTED, tools=[WEATHER], tool_choice="auto").choices[0].message
    equal(message.reasoning_content, THOUGHT, "the reasoning")
    equal([call.function.arguments for call in message.tool_calls], CALLS, "arguments")
    results = [{"role": "tool", "tool_call_id": call.id, "content": result}
               for call, result in zip(message.tool_calls, RESULTS)]
    last = litellm.completion(model=f"openai/{SCRIPTED}", api_base=URL, api_key=KEY, timeout=PATIENCE, tools=[WEATHER],
                              messages=[*asked(TWO_CITIES), message.model_dump(), *results])
    equal(last.choices[0].message.content, TOLD_AS_THOUGHT, "the answer to results")


def calls_of_a_stream_add_up():
    chunks = list(ask(TWO_CITIES, SCRIPTED, tools=[WEATHER], stream=True))
    message = litellm.stream_chunk_builder(chunks).choices[0].message
    equal([call.function.arguments for call in message.tool_calls], CALLS, "arguments")
    equal(message.reasoning_content, THOUGHT, "the reasoning")


def errors_are_the_types_that_the_client_has_for_them():
    raises(litellm.AuthenticationError, lambda: ask(key=UNKNOWN_KEY))
    # it has a type for 403, which it does not raise for servers of OpenAI's API
    equal(raises(litellm.APIError, lambda: ask(extra_headers=STRANGE_ORIGIN)).status_code, 403, "the status")
    raises(litellm.RateLimitError, lambda: ask(key=SCARCE_KEY))
    raises(litellm.NotFoundError, lambda: ask(model="gpt-4"))
    raises(litellm.ContextWindowExceededError, lambda: ask(TOO_LONG))
    raises(litellm.BadRequestError, lambda: ask(temperature=3))


def nobody_goes_on_with_a_stream_that_was_closed():
    stream = ask(stream=True, max_tokens=LONG, extra_body={"ignore_eos": True})
    for _, _ in zip(range(3), stream):
        pass
    stream.close()


def choices_and_their_log_probabilities():
    answer = ask(n=2, logprobs=True, top_logprobs=2, max_tokens=4)
    equal(len(answer.choices), 2, "how many choices")
    equal(len(answer.choices[1].logprobs.content[0].top_logprobs), 2, "the likeliest")


run(a_chat_is_answered_with_its_usage,
    a_stream_adds_up_to_the_whole_answer_and_ends_with_usage,
    text_is_completed,
    two_calls_with_what_was_thought_are_answered_by_two_results,
    calls_of_a_stream_add_up,
    errors_are_the_types_that_the_client_has_for_them,
    nobody_goes_on_with_a_stream_that_was_closed,
    choices_and_their_log_probabilities)
