"""EleutherAI's lm-evaluation-harness, with three small tasks of this folder on what the model that ships has learnt."""

import os
from pathlib import Path

from expect import *

os.environ["OPENAI_API_KEY"] = KEY
os.chdir(Path(__file__).parent)  # the tasks name their data from here

import lm_eval
from lm_eval.tasks import TaskManager

TASKS = TaskManager(include_path="tasks", include_defaults=False)


def evaluate(model, task, path, **fields):
    arguments = {"model": MODEL, "base_url": f"{URL}/{path}", "num_concurrent": 2, "max_retries": 1,
                 "timeout": PATIENCE, **fields}
    results = lm_eval.simple_evaluate(model=model, model_args=arguments, tasks=[task], task_manager=TASKS,
                                      log_samples=True, apply_chat_template=model.endswith("chat-completions"),
                                      bootstrap_iters=0)
    print(task, results["results"][task], flush=True)
    return results["results"][task], results["samples"][task]


def chats_are_generated():
    result, samples = evaluate("local-chat-completions", "warmpath_questions", "chat/completions")
    equal(len(samples), 5, "how many questions")
    equal(result["exact_match,none"], 1.0, "the share of answers that are word by word what was learnt")


def continuations_are_scored():
    result, samples = evaluate("local-completions", "warmpath_continuations", "completions",
                               tokenizer=os.environ["WARMPATH_TOKENIZER"], tokenized_requests=True, max_length=2048)
    true(all(score <= 0 for sample in samples for (score, _) in sample["filtered_resps"]), "log-likelihoods")
    equal(result["acc,none"], 1.0, "the share of learnt continuations that are the likelier ones")


def batches_of_texts_are_scored_alike():
    options = {"tokenizer": os.environ["WARMPATH_TOKENIZER"], "max_length": 2048}
    _, alone = evaluate("local-completions", "warmpath_continuations", "completions", batch_size=1, **options)
    _, together = evaluate("local-completions", "warmpath_continuations", "completions", batch_size=4, **options)
    for one, other in zip(alone, together):
        for (score, greedy), (same, same_greedy) in zip(one["filtered_resps"], other["filtered_resps"]):
            true(abs(score - same) < 1e-3, f"{score} alone and {same} in a batch")
            equal(same_greedy, greedy, "whether it is what a greedy answer says")


def whole_texts_are_scored():
    result, _ = evaluate("local-completions", "warmpath_rolling", "completions",
                         tokenizer=os.environ["WARMPATH_TOKENIZER"], max_length=2048)
    true(1 < result["word_perplexity,none"] < 1_000_000, "a perplexity")


run(chats_are_generated,
    continuations_are_scored,
    batches_of_texts_are_scored_alike,
    whole_texts_are_scored)
