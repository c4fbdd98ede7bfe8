#!/usr/bin/env python3
"""The measurements of DecoderSpeed with vLLM's CPU build: prints tokens per second, median and best of five rounds.

    OMP_NUM_THREADS=2 VLLM_CPU_OMP_THREADS_BIND=0-1 VLLM_CPU_NUM_OF_RESERVED_CPU=0 VLLM_CPU_KVCACHE_SPACE=1 \\
        vllm_speed.py FOLDER bfloat16|float32

FOLDER is a model in Hugging Face's layout. vLLM runs alone: in a process that plans steps and one that computes them, as
it does behind its server. A decode is what 33 tokens take longer than one."""
import random
import statistics
import sys
import time

from vllm import LLM, SamplingParams

ROUNDS, WARM_UP, DRAWN, SHORT, LONG, STREAMS = 5, 2, 32, 32, 1024, 16


def main():
    folder, dtype = sys.argv[1:3]
    llm = LLM(model=folder, dtype=dtype, enable_prefix_caching=False, max_model_len=LONG + 128, block_size=32,
              max_num_seqs=STREAMS, max_num_batched_tokens=2048, disable_log_stats=True)
    ids = random.Random(1)
    vocabulary = llm.get_tokenizer().vocab_size

    def prompt(length):
        return {"prompt_token_ids": [ids.randrange(vocabulary) for _ in range(length)]}

    def seconds(prompts, tokens):
        start = time.perf_counter()
        llm.generate(prompts, SamplingParams(temperature=0, max_tokens=tokens, ignore_eos=True), use_tqdm=False)
        return time.perf_counter() - start

    speeds = {}
    for measured in range(-WARM_UP, ROUNDS):
        taken = {}
        for name, streams, length in (("decode, 1 stream", 1, SHORT), (f"decode, 1 stream behind {LONG:,}", 1, LONG),
                                      (f"decode, {STREAMS} streams", STREAMS, SHORT)):
            prompts = [prompt(length) for _ in range(streams)]
            taken[name] = streams * DRAWN / (seconds(prompts, 1 + DRAWN) - seconds(prompts, 1))
        for length in (512, LONG):
            taken[f"prefill {length:,}"] = length / seconds([prompt(length)], 1)
        if measured >= 0:
            for name, speed in taken.items():
                speeds.setdefault(name, []).append(speed)
    for name, all_rounds in speeds.items():
        print(f"| {name} | {statistics.median(all_rounds):,.0f} ({max(all_rounds):,.0f}) |", flush=True)


if __name__ == "__main__":
    main()
