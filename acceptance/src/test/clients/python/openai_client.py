"""OpenAI's own client for Python."""

import asyncio

import openai
from expect import *

client = openai.OpenAI(base_url=URL, api_key=KEY, timeout=PATIENCE)


def weather(question, **fields):
    return client.chat.completions.create(model=SCRIPTED, messages=asked(question), tools=[WEATHER], **fields)


def models_are_listed():
    equal(sorted(model.id for model in client.models.list()), [SCRIPTED, MODEL], "the list of models")
    equal(client.models.retrieve(MODEL).id, MODEL, "a model by its name")


def a_chat_that_comes_again_finds_its_prompt_cached():
    messages = [{"role": "system", "content": "Answer in one sentence, please. " * 8}] + asked(QUESTION)
    client.chat.completions.create(model=MODEL, messages=messages)
    raw = client.chat.completions.with_raw_response.create(model=MODEL, messages=messages)
    answer = raw.parse()
    equal(answer.choices[0].finish_reason, "stop", "the finish reason")
    true(answer.usage.prompt_tokens_details.cached_tokens >= 16, "a block of 16 tokens is cached at least")
    true(raw.request_id, "an answer has an x-request-id")


def a_stream_adds_up_to_the_whole_answer_and_ends_with_usage():
    chunks = list(client.chat.completions.create(model=MODEL, messages=asked(QUESTION), stream=True,
                                                 stream_options={"include_usage": True}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    true(text.startswith(ANSWER), f"the text is {text!r}")
    equal(chunks[-1].choices, [], "the choices of the last chunk")
    true(chunks[-1].usage.completion_tokens > 10, "the last chunk has the usage")


def a_stream_helper_adds_up_the_same():
    with client.chat.completions.stream(model=MODEL, messages=asked(QUESTION)) as stream:
        kinds = {event.type for event in stream}
        true({"content.delta", "content.done"} <= kinds, f"events are {kinds}")
        true(stream.get_final_completion().choices[0].message.content.startswith(ANSWER), "the final text")


def an_asynchronous_client_does_the_same():
    async def ask():
        async with openai.AsyncOpenAI(base_url=URL, api_key=KEY, timeout=PATIENCE) as other:
            answers = await asyncio.gather(*[
                other.chat.completions.create(model=MODEL, messages=asked(QUESTION)) for _ in range(4)])
            return [answer.choices[0].message.content for answer in answers]

    true(all(text.startswith(ANSWER) for text in asyncio.run(ask())), "four answers at a time")


def biases_and_penalties_shape_what_is_drawn():
    def text(a, b, **fields):
        return client.completions.create(model=MODEL, prompt="The quick brown fox", max_tokens=24,
                                         logit_bias={TOKEN_A: a, TOKEN_B: b}, **fields).choices[0].text

    equal(text(60, 40), "a" * 24, "what the larger bias draws")
    true("b" in text(60, 40, frequency_penalty=2), "a frequency penalty of 2 outweighs 20 in the end")
    true(text(100, 65, extra_body={"repetition_penalty": 2}).startswith("abaa"), "a repetition penalty halves")


def two_calls_with_what_was_thought_are_answered_by_two_results():
    choice = weather(TWO_CITIES, tool_choice="auto").choices[0]
    equal(choice.finish_reason, "tool_calls", "the finish reason")
    equal(choice.message.content, None, "the text")
    equal(choice.message.reasoning_content, THOUGHT, "the reasoning")
    calls = choice.message.tool_calls
    equal([call.function.name for call in calls], ["get_weather"] * 2, "names")
    equal([call.function.arguments for call in calls], CALLS, "arguments")
    results = [{"role": "tool", "tool_call_id": call.id, "content": result} for call, result in zip(calls, RESULTS)]
    last = client.chat.completions.create(model=SCRIPTED, tools=[WEATHER],
                                          messages=[*asked(TWO_CITIES), choice.message, *results]).choices[0]
    equal(last.message.content, TOLD_AS_THOUGHT, "the answer to results")
    equal(last.finish_reason, "stop", "its finish reason")


def calls_of_a_stream_come_in_pieces_and_add_up():
    arguments, thought, pieces, reason = ["", ""], "", 0, None
    for chunk in weather(TWO_CITIES, stream=True):
        reason = chunk.choices[0].finish_reason or reason
        delta = chunk.choices[0].delta
        thought += getattr(delta, "reasoning_content", None) or ""
        for call in delta.tool_calls or []:
            arguments[call.index] += call.function.arguments or ""
            pieces += 1
    equal(arguments, CALLS, "arguments")
    equal(thought, THOUGHT, "the reasoning")
    equal(reason, "tool_calls", "the finish reason")
    true(pieces > 8, f"there are {pieces} pieces")


def a_stream_helper_reads_calls():
    with client.chat.completions.stream(model=SCRIPTED, messages=asked(TWO_CITIES), tools=[WEATHER]) as stream:
        done = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
    equal([event.arguments for event in done], CALLS, "arguments")
    equal([event.index for event in done], [0, 1], "indexes")


def calls_are_text_where_none_is_wanted_and_one_where_they_may_not_be_parallel():
    text = weather(ONE_CITY, tool_choice="none").choices[0].message
    equal(text.tool_calls, None, "calls")
    true(text.content.startswith("<tool_call>"), f"the text is {text.content!r}")
    equal(len(weather(TWO_CITIES, parallel_tool_calls=False).choices[0].message.tool_calls), 1, "how many calls")


def who_wants_no_thoughts_gets_none():
    for fields in [{"reasoning_effort": "none"}, {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}]:
        message = weather(ONE_CITY, **fields).choices[0].message
        equal(getattr(message, "reasoning_content", None), None, f"the reasoning with {fields}")
        equal(len(message.tool_calls), 1, "how many calls")


def errors_are_the_types_that_the_client_has_for_them():
    def refused(error, code, by=client, model=MODEL, text="Hi", **fields):
        said = raises(error, lambda: by.chat.completions.create(model=model, messages=asked(text), **fields))
        equal(said.code, code, f"the code of {error.__name__}")
        return said

    refused(openai.AuthenticationError, "invalid_api_key", client.with_options(api_key=UNKNOWN_KEY))
    refused(openai.PermissionDeniedError, "forbidden", client.with_options(default_headers=STRANGE_ORIGIN))
    limited = refused(openai.RateLimitError, "rate_limit_exceeded", client.with_options(api_key=SCARCE_KEY))
    equal(limited.type, "tokens", "which limit")
    equal(limited.response.headers["x-ratelimit-limit-tokens"], "1", "the limit")
    refused(openai.NotFoundError, "model_not_found", model="gpt-4")
    long = refused(openai.BadRequestError, "context_length_exceeded", text=TOO_LONG)
    true("This model's maximum context length is 2048 tokens" in long.message, long.message)
    equal(refused(openai.BadRequestError, "invalid_value", temperature=3).param, "temperature", "the field to blame")
    refused(openai.NotFoundError, "model_not_found", model="gpt-4", stream=True)


def who_is_no_operator_may_not_ask_for_routes():
    said = raises(openai.PermissionDeniedError, lambda: client.post(
        "/route", cast_to=object, body={"model": MODEL, "messages": asked(QUESTION)}))
    equal(said.code, "permission_denied", "the code")


def nobody_goes_on_with_a_stream_that_was_closed():
    with client.chat.completions.create(model=MODEL, messages=asked(QUESTION), stream=True,
                                        max_completion_tokens=LONG, extra_body={"ignore_eos": True}) as stream:
        for _, _ in zip(range(3), stream):
            pass


def choices_and_their_log_probabilities():
    answer = client.chat.completions.create(model=MODEL, messages=asked(QUESTION), n=3, temperature=1, seed=7,
                                            max_tokens=8, logprobs=True, top_logprobs=2,
                                            extra_body={"ignore_eos": True})
    equal([choice.index for choice in answer.choices], [0, 1, 2], "indexes")
    equal(answer.usage.completion_tokens, 24, "the usage")
    equal([len(choice.logprobs.content) for choice in answer.choices], [8, 8, 8], "how many tokens are told")
    for choice in answer.choices:
        for token in choice.logprobs.content:
            true(token.logprob <= 0, "logarithms of probabilities")
            equal(len(token.top_logprobs), 2, "the likeliest")
            equal(bytes(token.bytes).decode(errors="replace"), token.token, "the token's bytes")
    true(client.chat.completions.create(model=MODEL, messages=asked(QUESTION)).choices[0].logprobs is None,
         "who asks for none gets none")


def choices_of_a_stream_are_told_apart_by_index():
    texts, ends = ["", ""], {}
    for chunk in client.chat.completions.create(model=MODEL, messages=asked(QUESTION), n=2, stream=True, logprobs=True,
                                                stream_options={"include_usage": True}):
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
            ends[choice.index] = choice.finish_reason or ends.get(choice.index)
        usage = chunk.usage
    true(all(text.startswith(ANSWER) for text in texts), f"greedy choices are alike: {texts}")
    equal(ends, {0: "stop", 1: "stop"}, "the finish reasons")
    true(usage.completion_tokens > 20, "the usage is of both")


def a_prompt_is_scored_with_and_without_a_token_after_it():
    for fields in [{"max_tokens": 1}, {"max_tokens": 0}]:
        choice = client.completions.create(model=MODEL, prompt="The quick brown fox", echo=True, logprobs=2,
                                           **fields).choices[0]
        scores = choice.logprobs
        true(choice.text.startswith("The quick brown fox"), f"the text is {choice.text!r}")
        equal("".join(scores.tokens), "<|begin|>" + choice.text, "its tokens, with the one that the model begins with")
        equal(scores.token_logprobs[0], None, "of the first token nobody knows how likely it is")
        true(all(score <= 0 for score in scores.token_logprobs[1:]), "the others' scores")
        equal(scores.text_offset[0], 0, "where the first token is")
        equal(len(scores.top_logprobs), len(scores.tokens), "the likeliest of each")


def several_prompts_are_answered_in_their_order():
    prompts = ["The quick brown fox", "A block table", "The"]
    together = client.completions.create(model=MODEL, prompt=prompts, max_tokens=8)
    equal([choice.index for choice in together.choices], [0, 1, 2], "indexes")
    alone = [client.completions.create(model=MODEL, prompt=prompt, max_tokens=8) for prompt in prompts]
    equal([choice.text for choice in together.choices], [each.choices[0].text for each in alone], "the texts")
    equal(together.usage.prompt_tokens, sum(each.usage.prompt_tokens for each in alone), "the usage")
    equal(len(client.completions.create(model=MODEL, prompt=[[5, 6, 7], [8, 9]], n=2, max_tokens=2).choices), 4,
          "two choices of each of two prompts")


run(models_are_listed,
    a_chat_that_comes_again_finds_its_prompt_cached,
    a_stream_adds_up_to_the_whole_answer_and_ends_with_usage,
    a_stream_helper_adds_up_the_same,
    an_asynchronous_client_does_the_same,
    biases_and_penalties_shape_what_is_drawn,
    two_calls_with_what_was_thought_are_answered_by_two_results,
    calls_of_a_stream_come_in_pieces_and_add_up,
    a_stream_helper_reads_calls,
    calls_are_text_where_none_is_wanted_and_one_where_they_may_not_be_parallel,
    who_wants_no_thoughts_gets_none,
    errors_are_the_types_that_the_client_has_for_them,
    who_is_no_operator_may_not_ask_for_routes,
    nobody_goes_on_with_a_stream_that_was_closed,
    choices_and_their_log_probabilities,
    choices_of_a_stream_are_told_apart_by_index,
    a_prompt_is_scored_with_and_without_a_token_after_it,
    several_prompts_are_answered_in_their_order)
