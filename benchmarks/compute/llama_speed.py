#!/usr/bin/env python3
"""llama.cpp's side of DecoderSpeed: reads a measurement a line, answers with seconds.

    llama_speed.py MODEL.gguf THREADS STREAMS TOKENS_PER_SEQUENCE

    prefill LENGTH              one prompt in batches of 2,048 (micro-batches of 512, llama.cpp's default)
    decode STREAMS FROM COUNT   COUNT tokens each of STREAMS sequences whose first FROM positions are there
    fill STREAMS FROM           computes those positions, untimed

Needs llama-cpp-python, built on this machine. No tokens are drawn: each step's tokens are given, as llama-bench does."""
import sys
import time

import llama_cpp as ll


class Model:
    def __init__(self, path, threads, streams, length):
        ll.llama_backend_init()
        self.model = ll.llama_model_load_from_file(path.encode(), ll.llama_model_default_params())
        params = ll.llama_context_default_params()
        params.n_ctx = streams * length
        params.n_batch = 2048
        params.n_seq_max = streams
        params.n_threads = params.n_threads_batch = threads
        self.context = ll.llama_init_from_model(self.model, params)
        self.memory = ll.llama_get_memory(self.context)
        self.vocabulary = ll.llama_vocab_n_tokens(ll.llama_model_get_vocab(self.model))
        self.batch = ll.llama_batch_init(2048, 0, 1)
        self.random = 1

    def token(self):
        self.random = (self.random * 1103515245 + 12345) % 2**31
        return self.random % self.vocabulary

    def put(self, sequence, position, wanted):
        i = self.batch.n_tokens
        self.batch.token[i] = self.token()
        self.batch.pos[i] = position
        self.batch.n_seq_id[i] = 1
        self.batch.seq_id[i][0] = sequence
        self.batch.logits[i] = wanted
        self.batch.n_tokens = i + 1

    def run(self):
        if ll.llama_decode(self.context, self.batch) != 0:
            raise SystemExit("llama_decode failed")
        ll.llama_synchronize(self.context)
        self.batch.n_tokens = 0

    def prefill(self, sequence, length):
        ll.llama_memory_seq_rm(self.memory, sequence, -1, -1)
        for position in range(length):
            self.put(sequence, position, position == length - 1)
            if self.batch.n_tokens == 2048 or position == length - 1:
                self.run()

    def fill(self, streams, length):
        for sequence in range(streams):
            self.prefill(sequence, length)

    def decode(self, streams, start, count):
        for sequence in range(streams):
            ll.llama_memory_seq_rm(self.memory, sequence, start, -1)
        for position in range(start, start + count):
            for sequence in range(streams):
                self.put(sequence, position, True)
            self.run()


def main():
    path, threads, streams, length = sys.argv[1], *map(int, sys.argv[2:5])
    model = Model(path, threads, streams, length)
    print("ready", flush=True)
    for line in sys.stdin:
        name, *numbers = line.split()
        numbers = [int(number) for number in numbers]
        start = time.perf_counter()
        if name == "prefill":
            model.prefill(0, *numbers)
        elif name == "fill":
            model.fill(*numbers)
        else:
            model.decode(*numbers)
        print(time.perf_counter() - start, flush=True)


main()
