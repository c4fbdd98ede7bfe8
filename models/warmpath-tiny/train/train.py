#!/usr/bin/env python3
"""Builds warmpath-tiny, the small language model that the Warmpath demo and tests run.

One run does everything, from the corpus beside this file to the files one folder up:

    tokenizer   train the byte-level BPE vocabulary on the corpus
    train       train the model; resumes from train/.checkpoints if interrupted
    export      write config, tokenizer and weights (bfloat16) into the model folder
    evaluate    ask held-out questions with and without a long system prompt
    golden      write golden.json: logits and greedy tokens another engine must reproduce
    all         all of these in order (the default)

Needs Python 3.11, PyTorch 1.13 or newer (CPU) and the `regex` package; on Debian 12:

    apt-get install python3-torch python3-regex libopenblas0-pthread
"""
import os

THREADS = int(os.environ.get("WARMPATH_TRAIN_THREADS", "2"))
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(THREADS)  # before torch is loaded

import argparse
import collections
import json
import math
import multiprocessing
import random
import re
import struct
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import regex
import torch
import torch.nn.functional as F
from torch import nn

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "corpus"
CHECKPOINTS = HERE / ".checkpoints"
MODEL_DIR = HERE.parent

CONTEXT = 2048
SEED = 20260801

# ---------------------------------------------------------------------------------------------------------------------
# Corpus: plain text files. A record is a few lines, each with a one-letter mark; records are separated by blank lines.
#   Q  training phrasings, separated by " / "          H  the held-out phrasing, never trained on
#   T  a term; "What is T?" and its relatives are added to the training phrasings
#   W  looser training phrasings, which are mixed in only when the others have been learned
#   A  the answer; the *marked* words are the key phrase that a right answer must contain
# ---------------------------------------------------------------------------------------------------------------------


@dataclass
class Record:
    """One thing the model can be asked: its phrasings, its answer and the words that make an answer right."""
    topic: str
    questions: list = field(default_factory=list)
    held_out: list = field(default_factory=list)
    answer: str = ""
    key: str = ""
    looser: list = field(default_factory=list)


TERM_PHRASINGS = ["What is {}?", "What's {}?", "Explain {}.", "Can you tell me what {} is?", "{}: what is it?",
                  "Tell me about {}.", "Describe {} in a sentence.", "What do people mean by {}?"]
LOOSER_PHRASINGS = ["What is the purpose of {}?", "What is {} good for?", "What should I know about {}?", "{}?",
                    "Why does one use {}?", "What does one use {} for?", "Give me a definition of {}.",
                    "What happens with {}?", "In a few words, what does {} mean to a server?",
                    "How can I understand {}?",
                    "Do you know what {} does?", "I want to know what {} means."]


def read_records(path):
    records = []
    for number, block in enumerate(re.split(r"\n\s*\n", path.read_text(encoding="utf-8"))):
        record = Record(topic=path.stem)
        for line in block.splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            mark, text = line[0], line[2:].strip()
            if mark == "Q":
                record.questions += [q.strip() for q in text.split(" / ")]
            elif mark == "H":
                record.held_out += [q.strip() for q in text.split(" / ")]
            elif mark == "T":
                record.questions += [upper_first(p.format(text)) for p in TERM_PHRASINGS]
                record.looser += [upper_first(p.format(text)) for p in LOOSER_PHRASINGS]
            elif mark == "W":
                record.looser += [q.strip() for q in text.split(" / ")]
            elif mark == "A":
                marked = re.findall(r"\*([^*]+)\*", text)
                if len(marked) != 1:
                    sys.exit(f"{path.name}: exactly one *key phrase* expected: {line}")
                record.key, record.answer = marked[0], text.replace("*", "")
            else:
                sys.exit(f"{path.name}: line does not start with Q, H, T, W, A or #: {line}")
        record.looser = [q for q in record.looser if q not in record.held_out]
        if record.answer:
            if len(record.questions) < 3 or not record.held_out:
                sys.exit(f"{path.name}: three phrasings and a held-out one expected: {block}")
            records.append(record)
        elif record.questions:
            sys.exit(f"{path.name}: no answer in record {number}: {block}")
    return records


def upper_first(text):
    return text[:1].upper() + text[1:]


@dataclass
class Corpus:
    facts: list        # about serving and Warmpath
    chat: list         # greetings, thanks, who are you
    offtopic: list     # questions whose honest answer is "I do not know"
    roles: list        # "You are ..." sentences that open a system prompt
    sentences: list    # rules, glossary and handbook sentences for system prompts
    test_sentences: list  # the same kind, used only in the evaluation's system prompts

    @staticmethod
    def read():
        facts = [r for path in sorted(CORPUS.glob("facts-*.txt")) for r in read_records(path)]
        roles, sentences, test_sentences = [], [], []
        for line in (CORPUS / "system.txt").read_text(encoding="utf-8").splitlines():
            if line and line[0] != "#":
                {"R": roles, "S": sentences, "H": test_sentences}[line[0]].append(line[2:].strip())
        corpus = Corpus(facts, read_records(CORPUS / "chat.txt"), read_records(CORPUS / "offtopic.txt"),
                        roles, sentences, test_sentences)
        trained = {q.lower() for r in corpus.records() for q in r.questions + r.looser}
        for record in corpus.records():
            for question in record.held_out:
                if question.lower() in trained:
                    sys.exit(f"held-out question is also a training question: {question}")
        return corpus

    def records(self):
        return self.facts + self.chat + self.offtopic


# ---------------------------------------------------------------------------------------------------------------------
# Tokenizer: byte-level BPE. Ids 0..255 are the bytes, then one id per merge in merge order, then the special tokens.
# ---------------------------------------------------------------------------------------------------------------------

VOCAB_SIZE = 2048
BEGIN, END, SYSTEM, USER, ASSISTANT, PAD = SPECIALS = [
    "<|begin|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|pad|>"]
SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
         r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def byte_symbols():
    """GPT-2's printable stand-in for every byte, which is how tokenizer.json spells byte-level tokens."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    symbols, extra = {b: chr(b) for b in printable}, 0
    for byte in range(256):
        if byte not in symbols:
            symbols[byte] = chr(256 + extra)
            extra += 1
    return [symbols[b] for b in range(256)]


class Tokenizer:
    def __init__(self, merges):
        self.merges = [tuple(m) for m in merges]
        self.ranks = {pair: 256 + i for i, pair in enumerate(self.merges)}
        self.token_bytes = [bytes([b]) for b in range(256)]
        for left, right in self.merges:
            self.token_bytes.append(self.token_bytes[left] + self.token_bytes[right])
        self.special = {s: len(self.token_bytes) + i for i, s in enumerate(SPECIALS)}
        self.size = len(self.token_bytes) + len(SPECIALS)
        self.special_pattern = re.compile("(" + "|".join(map(re.escape, SPECIALS)) + ")")
        self.split = regex.compile(SPLIT)
        self.words = {}  # pre-token -> ids

    def encode(self, text):
        """Token ids of the text; special tokens written out in it become their ids. Nothing is prepended."""
        ids = []
        for part in self.special_pattern.split(text):
            if part in self.special:
                ids.append(self.special[part])
            else:
                for word in self.split.findall(part):
                    ids += self.encode_word(word)
        return ids

    def encode_word(self, word):
        ids = self.words.get(word)
        if ids is None:
            ids = list(word.encode("utf-8"))
            while len(ids) > 1:
                rank, at = min((self.ranks.get(pair, 1 << 30), i) for i, pair in enumerate(zip(ids, ids[1:])))
                if rank == 1 << 30:
                    break
                ids[at:at + 2] = [rank]
            self.words[word] = ids
        return ids

    def decode(self, ids):
        names = {i: s.encode() for s, i in self.special.items()}
        return b"".join(names[i] if i in names else self.token_bytes[i] for i in ids).decode("utf-8", "replace")

    @staticmethod
    def train(texts, vocab_size):
        """The most frequent adjacent pair becomes the next token; ties go to the smaller ids, so runs are alike."""
        split = regex.compile(SPLIT)
        counts = collections.Counter(word for text in texts for word in split.findall(text))
        words = [list(word.encode("utf-8")) for word in counts]
        weights = list(counts.values())
        pairs, where = collections.Counter(), collections.defaultdict(set)
        for i, word in enumerate(words):
            for pair in zip(word, word[1:]):
                pairs[pair] += weights[i]
                where[pair].add(i)
        merges = []
        while len(merges) < vocab_size - 256 - len(SPECIALS):
            best = max(pairs, key=lambda p: (pairs[p], -p[0], -p[1]))
            if pairs[best] < 2:
                sys.exit("the corpus is too small for this vocabulary")
            new = 256 + len(merges)
            merges.append(best)
            for i in where.pop(best):
                word = words[i]
                for pair in zip(word, word[1:]):
                    pairs[pair] -= weights[i]
                at = 0
                while at < len(word) - 1:
                    if (word[at], word[at + 1]) == best:
                        word[at:at + 2] = [new]
                    at += 1
                for pair in zip(word, word[1:]):
                    pairs[pair] += weights[i]
                    where[pair].add(i)
            pairs = collections.Counter({p: n for p, n in pairs.items() if n > 0})
        return Tokenizer(merges)


def build_tokenizer(corpus):
    texts = []
    for record in corpus.records():
        texts += record.questions + [record.answer] * 3
    texts += corpus.roles + corpus.sentences
    texts += [t.lower() for t in texts]  # people type without capitals
    return Tokenizer.train(texts, VOCAB_SIZE)


# ---------------------------------------------------------------------------------------------------------------------
# Chat format: exactly what the chat template in tokenizer_config.json yields.
# ---------------------------------------------------------------------------------------------------------------------

CHAT_TEMPLATE = (
    "{{ bos_token }}"
    "{% for message in messages %}"
    "{% if message['role'] == 'system' %}{{ '<|system|>\\n' + message['content'] | trim + '<|end|>\\n' }}"
    "{% elif message['role'] == 'user' %}{{ '<|user|>\\n' + message['content'] | trim + '<|end|>\\n' }}"
    "{% elif message['role'] == 'assistant' %}{{ '<|assistant|>\\n' + message['content'] | trim + '<|end|>\\n' }}"
    "{% else %}{{ raise_exception('Unknown role: ' + message['role']) }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}")


def render_chat(messages, generation_prompt=True):
    """The chat template in Python: messages are (role, content) pairs."""
    text = BEGIN + "".join(f"<|{role}|>\n{content.strip()}{END}\n" for role, content in messages)
    return text + (ASSISTANT + "\n" if generation_prompt else "")


# ---------------------------------------------------------------------------------------------------------------------
# Training sequences, composed at random from the corpus: every step is a function of (seed, step) alone.
# ---------------------------------------------------------------------------------------------------------------------

LONG, MEDIUM, SHORT = 2, 1, 9   # sequences of each kind in one step
OTHER_WEIGHT = 0.1              # loss weight of a token that the assistant does not say
OTHER_SHARE = 0.25              # share of those tokens that the loss looks at
LOOSER_FROM, LOOSER_SHARE = 1300, 0.6   # the step from which looser phrasings are mixed in, and how many

OPENERS = ["please, ", "please ", "hey, ", "hi, ", "hello, ", "quick question: ", "so, ", "ok, ", "and ", "one more: ",
           "can you tell me, ", "could you help me: ", "I wonder, ", "question: ", "now, "]
CLOSERS = [" please", ", please", " thanks", " thank you", " exactly", " in short", " here"]


def lower_first(text):
    first = text.split(" ", 1)[0]
    plain = first[1:].islower() or first in ("A", "I")
    return text[0].lower() + text[1:] if plain and first not in ("Warmpath", "Redis", "Java", "Kubernetes") else text


def vary(question, rng):
    """Light noise on a phrasing, so that the model listens to the words that matter and not to the exact form."""
    if rng.random() < 0.45:
        return question
    words = question.split(" ")
    if rng.random() < 0.30 and len(words) > 4:  # drop a word or two
        for _ in range(rng.choice((1, 1, 2))):
            del words[rng.randrange(len(words) - 1)]
    if rng.random() < 0.06:  # a slip of the fingers
        at = rng.randrange(len(words))
        word = words[at]
        if len(word) > 4:
            i = rng.randrange(1, len(word) - 2)
            words[at] = word[:i] + word[i + 1] + word[i] + word[i + 2:]
    question = upper_first(" ".join(words))
    end = question[-1] if question[-1] in "?.!" else ""
    body = question[:-1] if end else question
    if rng.random() < 0.20:
        body = rng.choice(OPENERS) + lower_first(body)
        body = upper_first(body) if rng.random() < 0.5 else body
    if rng.random() < 0.10:
        body += rng.choice(CLOSERS)
    question = body + (end if rng.random() < 0.7 else "")
    return question.lower() if rng.random() < 0.35 else question


class Composer:
    def __init__(self, corpus, tokenizer):
        self.corpus, self.tokenizer = corpus, tokenizer

    def turn(self, rng, loose):
        roll = rng.random()
        records = self.corpus.facts if roll < 0.84 else self.corpus.chat if roll < 0.92 else self.corpus.offtopic
        record = rng.choice(records)
        if loose and record.looser and rng.random() < LOOSER_SHARE:
            return vary(rng.choice(record.looser), rng), record.answer
        return vary(rng.choice(record.questions), rng), record.answer

    def system_text(self, rng, tokens, sentences=None, without=None):
        """A system prompt of about this many tokens: a role, then paragraphs of rules, handbook lines and facts."""
        sentences = sentences or self.corpus.sentences
        parts = [rng.choice(self.corpus.roles)]
        length = len(self.tokenizer.encode(parts[0]))
        facts = [record for record in self.corpus.facts if record is not without]
        facts, rules = rng.sample(facts, len(facts)), rng.sample(sentences, len(sentences))
        share = rng.uniform(0.3, 0.8)  # of fact sentences
        style = rng.randrange(4)
        number = 1
        while length < tokens:
            if rng.random() < share or not rules:
                text = facts.pop().answer if facts else rng.choice(self.corpus.facts).answer
            else:
                text = rules.pop()
            if style == 0:
                text = " " + text if rng.random() < 0.8 else "\n\n" + text
            elif style == 1:
                text = "\n- " + text
            elif style == 2:
                text = f"\n{number}. {text}"
            else:
                text = "\n" + text
            number += 1
            parts.append(text)
            length += len(self.tokenizer.encode(text))
        return "".join(parts)

    def sequence(self, rng, system_tokens, turns, limit, loose):
        """Token ids and loss weights of one conversation with at most `limit` tokens."""
        ids, weights = [self.tokenizer.special[BEGIN]], [0.0]

        def add(text, weight):
            new = self.tokenizer.encode(text)
            ids.extend(new)
            weights.extend([weight] * len(new))

        if system_tokens:
            add(f"{SYSTEM}\n{self.system_text(rng, system_tokens)}{END}\n", OTHER_WEIGHT)
        for _ in range(turns):
            question, answer = self.turn(rng, loose)
            before = len(ids)
            add(f"{USER}\n{question}{END}\n", OTHER_WEIGHT)
            add(f"{ASSISTANT}\n", OTHER_WEIGHT)
            add(f"{answer}{END}", 1.0)
            add("\n", OTHER_WEIGHT)
            if len(ids) > limit:
                del ids[before:], weights[before:]
                break
        return ids, weights

    def step(self, seed, step):
        rng = random.Random(f"{seed}/{step}")
        loose = step >= LOOSER_FROM
        sequences = []
        for _ in range(LONG):
            limit = rng.randint(1150, CONTEXT)
            sequences.append(self.sequence(rng, rng.randint(900, limit - 230), 99, limit, loose))
        for _ in range(MEDIUM):
            limit = rng.randint(300, 1000)
            sequences.append(self.sequence(rng, rng.randint(60, limit - 150), 99, limit, loose))
        for _ in range(SHORT):
            system = rng.choice((0, 0, 0, 0, 0, 20, 60))
            sequences.append(self.sequence(rng, system, rng.choice((1, 1, 2, 3, 4, 5)), 600, loose))
        return sequences


# ---------------------------------------------------------------------------------------------------------------------
# Model: the Llama architecture, with parameter names as Hugging Face stores them.
# ---------------------------------------------------------------------------------------------------------------------


@dataclass
class Config:
    vocab_size: int = VOCAB_SIZE
    hidden_size: int = 192
    intermediate_size: int = 512
    num_hidden_layers: int = 6
    num_attention_heads: int = 6
    num_key_value_heads: int = 2
    head_dim: int = 32
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10000.0


class RMSNorm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(size)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), -1)


class Attention(nn.Module):
    CHUNK = 256  # query rows at a time: keys to the right of a chunk are never touched, which halves the work

    def __init__(self, c):
        super().__init__()
        self.heads, self.kv_heads, self.dim = c.num_attention_heads, c.num_key_value_heads, c.head_dim
        self.q_proj = nn.Linear(c.hidden_size, self.heads * self.dim, bias=False)
        self.k_proj = nn.Linear(c.hidden_size, self.kv_heads * self.dim, bias=False)
        self.v_proj = nn.Linear(c.hidden_size, self.kv_heads * self.dim, bias=False)
        self.o_proj = nn.Linear(self.heads * self.dim, c.hidden_size, bias=False)

    def forward(self, x, cos, sin, lengths, past):
        n = x.shape[0]
        q = self.q_proj(x).view(n, self.heads, self.dim)
        k = self.k_proj(x).view(n, self.kv_heads, self.dim)
        v = self.v_proj(x).view(n, self.kv_heads, self.dim)
        q = (q * cos + rotate_half(q) * sin) * self.dim ** -0.5
        k = k * cos + rotate_half(k) * sin
        if past is not None:  # one sequence, its earlier keys and values are kept
            if "k" in past:
                k, v = torch.cat((past["k"], k)), torch.cat((past["v"], v))
            past["k"], past["v"] = k, v
            return self.o_proj(self.attend(q, k, v))
        outputs = [self.attend(*parts) for parts in zip(q.split(lengths), k.split(lengths), v.split(lengths))]
        return self.o_proj(torch.cat(outputs))

    def attend(self, q, k, v):
        """Causal attention of one sequence; the queries are its last rows. Query heads of a group share keys."""
        rows, total, group = q.shape[0], k.shape[0], self.heads // self.kv_heads
        q = q.view(rows, self.kv_heads, group, self.dim).permute(1, 2, 0, 3)  # kv head, head in group, row, dim
        k, v = k.transpose(0, 1), v.transpose(0, 1)
        outputs = []
        for start in range(0, rows, self.CHUNK):
            end = min(start + self.CHUNK, rows)
            size, seen = end - start, total - rows + end
            scores = torch.matmul(q[:, :, start:end].reshape(self.kv_heads, group * size, self.dim),
                                  k[:, :seen].transpose(1, 2)).view(self.kv_heads, group, size, seen)
            if size > 1:
                scores[..., seen - size:] += torch.full((size, size), float("-inf")).triu(1)
            weights = scores.softmax(-1).view(self.kv_heads, group * size, seen)
            outputs.append(torch.matmul(weights, v[:, :seen]).view(self.kv_heads, group, size, self.dim))
        return torch.cat(outputs, 2).permute(2, 0, 1, 3).reshape(rows, self.heads * self.dim)


class MLP(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate_proj = nn.Linear(c.hidden_size, c.intermediate_size, bias=False)
        self.up_proj = nn.Linear(c.hidden_size, c.intermediate_size, bias=False)
        self.down_proj = nn.Linear(c.intermediate_size, c.hidden_size, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.input_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.self_attn = Attention(c)
        self.post_attention_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.mlp = MLP(c)

    def forward(self, x, cos, sin, lengths, past):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, lengths, past)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embed_tokens = nn.Embedding(c.vocab_size, c.hidden_size)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.num_hidden_layers))
        self.norm = RMSNorm(c.hidden_size, c.rms_norm_eps)


class Llama(nn.Module):
    """Rows of a batch are the tokens of all its sequences, one after the other: no padding, no mask between them."""

    def __init__(self, c):
        super().__init__()
        self.config, self.model = c, Decoder(c)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                residual = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * c.num_hidden_layers) if residual else 0.02)
        frequencies = c.rope_theta ** (-torch.arange(0, c.head_dim, 2, dtype=torch.float32) / c.head_dim)
        angles = torch.outer(torch.arange(CONTEXT, dtype=torch.float32), frequencies)
        angles = torch.cat((angles, angles), -1)  # halves, as rotate_half expects
        self.cos, self.sin = angles.cos()[:, None], angles.sin()[:, None]

    def forward(self, ids, lengths=None, cache=None, wanted=None):
        """Logits of the wanted rows (all without it). A cache is a list of one dict per layer, for one sequence."""
        start = cache[0]["k"].shape[0] if cache and "k" in cache[0] else 0
        lengths = lengths or [len(ids)]
        positions = torch.cat([torch.arange(start, start + n) for n in lengths])
        cos, sin = self.cos[positions], self.sin[positions]
        x = self.model.embed_tokens(ids)
        for i, layer in enumerate(self.model.layers):
            x = layer(x, cos, sin, lengths, cache[i] if cache is not None else None)
        x = self.model.norm(x if wanted is None else x[wanted])
        return F.linear(x, self.model.embed_tokens.weight)  # tied

    def new_cache(self):
        return [{} for _ in self.model.layers]


# ---------------------------------------------------------------------------------------------------------------------
# Training
# ---------------------------------------------------------------------------------------------------------------------

STEPS = 1900
WARMUP, HORIZON, COOLDOWN = 100, 2700, 500
PEAK_RATE, FINAL_RATE = 2.5e-3, 2e-5
WEIGHT_DECAY = 0.02
CLIP = 1.0
SAVE_EVERY = 100


def learning_rate(step, steps):
    """Warm-up, a slow cosine, and a linear cool-down to zero over the last steps, wherever the end is put."""
    if step < WARMUP:
        return PEAK_RATE * (step + 1) / WARMUP
    cosine = 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / (HORIZON - WARMUP)))
    return (FINAL_RATE + (PEAK_RATE - FINAL_RATE) * cosine) * min(1.0, (steps - step) / COOLDOWN)


def divide(sequences, parts):
    """Sequence numbers for each process, so that all have about the same work."""
    shares = [[] for _ in range(parts)]
    work = [0.0] * parts
    for i in sorted(range(len(sequences)), key=lambda i: -len(sequences[i][0])):
        least = work.index(min(work))
        shares[least].append(i)
        length = len(sequences[i][0])
        work[least] += length * (1 + length / 2500)  # attention makes long sequences cost more for each token
    return shares


def gradients_of(model, sequences, seed, step, part, parts):
    """Adds one share of a step's gradients to the parameters. Returns the share's loss and what it was summed over."""
    lengths = [len(ids) for ids, _ in sequences]
    draws = torch.rand(sum(lengths), generator=torch.Generator().manual_seed(seed + step)).split(lengths)
    mine = divide(sequences, parts)[part]
    ids = torch.tensor([token for i in mine for token in sequences[i][0]])
    # A row predicts the next token of its own sequence; the last row of a sequence predicts nothing.
    targets = torch.tensor([token for i in mine for token in sequences[i][0][1:] + [0]])
    weights = torch.tensor([weight for i in mine for weight in sequences[i][1][1:] + [0.0]])
    looked_at = (weights == 1.0) | ((weights > 0) & (torch.cat([draws[i] for i in mine]) < OTHER_SHARE))
    wanted = looked_at.nonzero().squeeze(1)
    with torch.autocast("cpu", torch.bfloat16):  # the parameters stay float32, the matrix products run in bfloat16
        logits = model(ids, [lengths[i] for i in mine], wanted=wanted)
    losses = F.cross_entropy(logits.float(), targets[wanted], reduction="none")
    weights = weights[wanted]
    loss, said = (losses * weights).sum(), weights == 1.0
    loss.backward()
    return torch.tensor([loss.item(), weights.sum().item(), losses[said].sum().item(), said.sum().item()])


def helper(model, composer, seed, part, parts, connection, buffer):
    """Another process that computes its share of every step; it reads the shared parameters and fills the buffer."""
    while True:
        step = connection.recv()
        model.zero_grad(set_to_none=True)
        figures = gradients_of(model, composer.step(seed, step), seed, step, part, parts)
        torch.cat([p.grad.flatten() for p in model.parameters()], out=buffer)
        connection.send(figures.tolist())


def train(args):
    corpus = Corpus.read()
    tokenizer = build_tokenizer(corpus)
    composer = Composer(corpus, tokenizer)
    CHECKPOINTS.mkdir(exist_ok=True)
    latest = CHECKPOINTS / "latest.pt"
    torch.manual_seed(args.seed)
    model = Llama(Config())
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": WEIGHT_DECAY},
                                   {"params": vectors, "weight_decay": 0.0}], lr=PEAK_RATE, betas=(0.9, 0.98))
    figures = {"steps": 0, "tokens": 0, "answer_tokens": 0, "sequences": 0, "long_sequences": 0, "seconds": 0.0}
    if latest.exists() and not args.restart:
        saved = torch.load(latest)
        if saved["merges"] != tokenizer.merges or saved["seed"] != args.seed:
            sys.exit("the checkpoint belongs to another corpus or seed; train with --restart")
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        figures = saved["figures"]
        print(f"resumed at step {figures['steps']}", flush=True)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{len(corpus.facts)} facts, {parameters:,} parameters, vocabulary {tokenizer.size}, {args.steps} steps",
          flush=True)

    # One process for each core and one thread in each: unlike threads, which meet after every operation, processes meet
    # once a step and hardly mind other work on the machine.
    torch.set_num_threads(1)
    model.share_memory()
    helpers = []
    for part in range(1, THREADS):
        ours, theirs = multiprocessing.Pipe()
        buffer = torch.zeros(parameters).share_memory_()
        multiprocessing.get_context("fork").Process(
            target=helper, args=(model, composer, args.seed, part, THREADS, theirs, buffer), daemon=True).start()
        helpers.append((ours, buffer))
    clock, mean_loss = time.time(), None
    start_step, session_start, session_tokens = figures["steps"], time.time(), 0
    for step in range(start_step, args.steps):
        sequences = composer.step(args.seed, step)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, args.steps)
        optimizer.zero_grad(set_to_none=True)
        for connection, _ in helpers:
            connection.send(step)
        sums = gradients_of(model, sequences, args.seed, step, 0, THREADS)
        for connection, buffer in helpers:
            sums += torch.tensor(connection.recv())
            for parameter, theirs in zip(model.parameters(), buffer.split([p.numel() for p in model.parameters()])):
                parameter.grad += theirs.view_as(parameter)
        for parameter in model.parameters():
            parameter.grad /= sums[1]
        loss, answer_loss = float(sums[0] / sums[1]), float(sums[2] / sums[3])
        tokens = sum(len(ids) for ids, _ in sequences)
        norm = nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()

        session_tokens += tokens
        figures["steps"] = step + 1
        figures["tokens"] += tokens
        figures["answer_tokens"] += sum(w == 1.0 for _, weights in sequences for w in weights)
        figures["sequences"] += len(sequences)
        figures["long_sequences"] += sum(len(ids) >= 1000 for ids, _ in sequences)
        figures["seconds"] += time.time() - clock
        clock = time.time()
        mean_loss = answer_loss if mean_loss is None else 0.9 * mean_loss + 0.1 * answer_loss
        if (step + 1) % 10 == 0 or step + 1 == args.steps:
            elapsed = time.time() - session_start
            eta = elapsed / (step + 1 - start_step) * (args.steps - step - 1)
            print(f"step {step + 1}/{args.steps}  loss {loss:.4f}  answer loss {mean_loss:.4f}  "
                  f"norm {norm:.2f}  lr {optimizer.param_groups[0]['lr']:.2e}  "
                  f"{session_tokens / elapsed:,.0f} tokens/s  ETA {eta / 60:.1f} min", flush=True)
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == args.steps:
            partial = latest.with_suffix(".part")  # renamed when complete: an interruption leaves the older one whole
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "figures": figures,
                        "merges": tokenizer.merges, "seed": args.seed}, partial)
            os.replace(partial, latest)
    share = figures["long_sequences"] / max(1, figures["sequences"])
    print(f"trained: {figures}; {share:.1%} of the sequences have 1,000 to {CONTEXT:,} tokens", flush=True)


# ---------------------------------------------------------------------------------------------------------------------
# Export
# ---------------------------------------------------------------------------------------------------------------------


def write_json(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def export_tokenizer(tokenizer, folder):
    symbols = byte_symbols()
    spelled = ["".join(symbols[b] for b in token) for token in tokenizer.token_bytes]
    vocab = {token: i for i, token in enumerate(spelled)}
    if len(vocab) != len(spelled):
        sys.exit("two merges yield the same token; change the vocabulary size by a little")

    def added(content):
        return {"content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                "special": True}

    begin = {"SpecialToken": {"id": BEGIN, "type_id": 0}}
    first, second = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}
    begin_second = {"SpecialToken": {"id": BEGIN, "type_id": 1}}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    write_json(folder / "tokenizer.json", {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": i, **added(s)} for s, i in tokenizer.special.items()],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": SPLIT}, "behavior": "Isolated", "invert": False}, byte_level]},
        "post_processor": {"type": "TemplateProcessing", "single": [begin, first],
                           "pair": [begin, first, begin_second, second],
                           "special_tokens": {BEGIN: {"id": BEGIN, "ids": [tokenizer.special[BEGIN]],
                                                      "tokens": [BEGIN]}}},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": vocab, "merges": [f"{spelled[a]} {spelled[b]}" for a, b in tokenizer.merges]}})
    write_json(folder / "tokenizer_config.json", {
        "added_tokens_decoder": {str(i): added(s) for s, i in tokenizer.special.items()},
        "bos_token": BEGIN, "eos_token": END, "pad_token": PAD, "chat_template": CHAT_TEMPLATE,
        "clean_up_tokenization_spaces": False, "model_input_names": ["input_ids", "attention_mask"],
        "model_max_length": CONTEXT, "tokenizer_class": "PreTrainedTokenizerFast"})


def export_config(tokenizer, config, folder):
    ids = {"bos_token_id": tokenizer.special[BEGIN], "eos_token_id": tokenizer.special[END],
           "pad_token_id": tokenizer.special[PAD]}
    write_json(folder / "config.json", {
        "architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, **ids,
        "head_dim": config.head_dim, "hidden_act": "silu", "hidden_size": config.hidden_size,
        "initializer_range": 0.02, "intermediate_size": config.intermediate_size, "max_position_embeddings": CONTEXT,
        "mlp_bias": False, "model_type": "llama", "num_attention_heads": config.num_attention_heads,
        "num_hidden_layers": config.num_hidden_layers, "num_key_value_heads": config.num_key_value_heads,
        "pretraining_tp": 1, "rms_norm_eps": config.rms_norm_eps, "rope_scaling": None,
        "rope_theta": config.rope_theta, "tie_word_embeddings": True, "torch_dtype": "bfloat16", "use_cache": True,
        "vocab_size": config.vocab_size})
    write_json(folder / "generation_config.json", {**ids, "do_sample": False, "max_length": CONTEXT})


def write_safetensors(tensors, path):
    header, blobs, at = {"__metadata__": {"format": "pt"}}, [], 0
    for name in sorted(tensors):
        blob = tensors[name].detach().to(torch.bfloat16).contiguous().view(torch.int16).numpy().tobytes()
        header[name] = {"dtype": "BF16", "shape": list(tensors[name].shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    partial = path.with_suffix(".part")
    partial.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))
    os.replace(partial, path)


def read_safetensors(path):
    data = path.read_bytes()
    size, = struct.unpack_from("<Q", data)
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            raw = torch.frombuffer(bytearray(data[8 + size + begin:8 + size + end]), dtype=torch.bfloat16)
            tensors[name] = raw.view(entry["shape"]).float()
    return tensors


def export(args):
    if not (CHECKPOINTS / "latest.pt").exists():
        sys.exit("nothing to export yet: train first")
    saved = torch.load(CHECKPOINTS / "latest.pt")
    tokenizer = Tokenizer(saved["merges"])
    export_tokenizer(tokenizer, MODEL_DIR)
    export_config(tokenizer, Config(), MODEL_DIR)
    write_safetensors(saved["model"], MODEL_DIR / "model.safetensors")
    size = (MODEL_DIR / "model.safetensors").stat().st_size
    print(f"exported step {saved['figures']['steps']}: {size / 1e6:.2f} MB of weights", flush=True)


def load_exported():
    """The model from the exported files: the weights as stored, rounded to bfloat16, for arithmetic in float32."""
    model = Llama(Config())
    model.load_state_dict(read_safetensors(MODEL_DIR / "model.safetensors"))
    model.eval()
    description = json.loads((MODEL_DIR / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    ids = description["vocab"]
    return model, Tokenizer([(ids[a], ids[b]) for a, b in (m.split(" ") for m in description["merges"])])


# ---------------------------------------------------------------------------------------------------------------------
# Evaluation: does the greedy answer to a held-out phrasing contain the key phrase?
# ---------------------------------------------------------------------------------------------------------------------

ASKED = 50
SYSTEM_TOKENS = 1500


@torch.no_grad()
def greedy_answer(model, tokenizer, messages, limit=80):
    ids = tokenizer.encode(render_chat(messages))
    cache, answer = model.new_cache(), []
    logits = model(torch.tensor(ids), cache=cache, wanted=torch.tensor([len(ids) - 1]))[0]
    while len(answer) < limit:
        token = int(logits.argmax())
        if token == tokenizer.special[END]:
            break
        answer.append(token)
        logits = model(torch.tensor([token]), cache=cache)[0]
    return tokenizer.decode(answer), len(ids)


def evaluate(args):
    corpus = Corpus.read()
    model, tokenizer = load_exported()
    composer = Composer(corpus, tokenizer)
    held_out = [(question, record) for record in corpus.facts for question in record.held_out]
    small_talk = [(question, record) for record in corpus.chat + corpus.offtopic for question in record.held_out]
    fixed = random.Random(SEED).sample(held_out, ASKED)

    def ask(name, questions, with_system, show_misses):
        right, prompt_tokens = 0, 0
        for number, (question, record) in enumerate(questions):
            messages = [("user", question)]
            if with_system:  # sentences and order never seen in training, and never the answer itself
                rng = random.Random(f"evaluation/{number}")
                text = composer.system_text(rng, SYSTEM_TOKENS, corpus.test_sentences, without=record)
                messages.insert(0, ("system", text))
            answer, length = greedy_answer(model, tokenizer, messages)
            prompt_tokens += length
            hit = record.key.lower() in answer.lower()
            right += hit
            if show_misses and not hit:
                print(f"    miss: {question}\n      said: {answer}\n      want: {record.key}", flush=True)
        print(f"{name}: {right}/{len(questions)} = {right / len(questions):.1%}  "
              f"(mean prompt {prompt_tokens / len(questions):.0f} tokens)", flush=True)
        return right / len(questions)

    alone = ask(f"{ASKED} held-out questions, no system prompt", fixed, False, True)
    after = ask(f"{ASKED} held-out questions, long system prompt", fixed, True, True)
    if not args.quick:
        ask("all held-out questions, no system prompt", held_out, False, False)
        ask("all held-out questions, long system prompt", held_out, True, False)
        ask("small talk and off-topic, no system prompt", small_talk, False, False)
        ask("small talk and off-topic, long system prompt", small_talk, True, False)
    for question in ("What is a KV cache?", "What does Warmpath do?", "Hello!", "What is the capital of Peru?"):
        print(f"  {question}  ->  {greedy_answer(model, tokenizer, [('user', question)])[0]}")
    if min(alone, after) < 0.7 and not args.quick:
        sys.exit("the model misses the acceptance mark of 70 %: train for more steps")


# ---------------------------------------------------------------------------------------------------------------------
# Golden file: what another engine must reproduce
# ---------------------------------------------------------------------------------------------------------------------

GOLDEN_TOKENS = 32
# The smallest accepted distance between the two best logits, relative to the largest absolute logit. Engines that add
# in another order differ by far less, so their greedy tokens are the same.
CLOSE_TIE = 4e-3
TRIES = 150


def golden_candidates(corpus, tokenizer):
    """For every golden prompt a name and a function from the number of the try to a text."""
    composer = Composer(corpus, tokenizer)
    questions = [r.held_out[0] for r in corpus.facts]

    def prose(length, attempt):
        rng = random.Random(f"golden/{length}/{attempt}")
        text = BEGIN + " ".join(r.answer for r in rng.sample(corpus.facts, 150))
        return tokenizer.decode(tokenizer.encode(text)[:length])

    def chat(attempt, system_tokens=0, turns=1, prefix=""):
        rng = random.Random(f"golden/chat/{system_tokens}/{turns}/{attempt}")
        messages = [("system", composer.system_text(rng, system_tokens))] if system_tokens else []
        for turn in range(turns):
            record = rng.choice(corpus.facts)
            messages.append(("user", prefix + record.held_out[0]))
            if turn < turns - 1:
                messages.append(("assistant", record.answer))
        return render_chat(messages)

    openings = ["Hello!", "Hello", "What is Redis?", "Paged attention", "The router", "A KV cache", "Hi there!"]
    foreign = ["Où est le café? Größe, naïve, señor. 日本語のキャッシュ 🚀 ", "Crème brûlée, Ærø, Łódź; 缓存前缀 🙂🔥 ",
               "Привет, κόσμε, 世界! 👩‍💻 à bientôt. "]
    code = ["<|begin|>int slot = table[pos / 16] * 16 + pos % 16;\nreturn {};\n",
            "<|begin|>for (int i = 0; i < {}; i++) {{\n    hash[i] = sha256(hash[i - 1], tokens);\n}}\n",
            "<|begin|>record Block(int id, int count) {{ }} // {}\n"]
    names = ["blocks", "tokens", "keys", "workers", "count", "size", "free", "limit", "total", "n"]
    return [
        ("one token", lambda i: [BEGIN, USER, SYSTEM][i] if i < 3 else None),
        ("shorter than one block", lambda i: BEGIN + openings[i] if i < len(openings) else prose(5 + i % 10, i)),
        ("17 tokens", lambda i: prose(17, i)),
        ("33 tokens", lambda i: prose(33, i)),
        ("four full blocks", lambda i: prose(64, i)),
        ("500 tokens", lambda i: prose(500, i)),
        ("chat", lambda i: render_chat([("user", "What is a KV cache?")]) if i == 0 else chat(i)),
        ("chat of several turns", lambda i: chat(i, 40, 3)),
        ("chat after a long system prompt", lambda i: chat(i, 1050)),
        ("accents, CJK and emoji", lambda i: chat(i, prefix=foreign[i % 3])),
        ("code", lambda i: code[i % 3].format(names[i // 3 % 10] + (str(i // 30) if i >= 30 else ""))),
        ("near the context limit", lambda i: prose(CONTEXT - 8, i)),
    ]


@torch.no_grad()
def golden_run(model, ids):
    """Logits after the prompt, greedy tokens (also past the end token), and the closest race on the way."""
    cache = model.new_cache()
    first = logits = model(torch.tensor(ids), cache=cache, wanted=torch.tensor([len(ids) - 1]))[0]
    greedy, gap, relative = [], math.inf, math.inf
    while len(greedy) < GOLDEN_TOKENS:
        best = logits.topk(2).values
        distance = float(best[0] - best[1])
        gap, relative = min(gap, distance), min(relative, distance / float(logits.abs().max()))
        greedy.append(int(logits.argmax()))
        if len(ids) + len(greedy) == CONTEXT:
            break
        logits = model(torch.tensor(greedy[-1:]), cache=cache)[0]
    # The same tokens in one pass, without a cache: the two ways through the model must agree.
    whole = ids + greedy[:-1]
    again = model(torch.tensor(whole), wanted=torch.arange(len(ids) - 1, len(whole))).argmax(-1).tolist()
    return first, greedy, gap, relative if again == greedy else 0.0


def golden(args):
    corpus = Corpus.read()
    model, tokenizer = load_exported()
    lengths = {"17 tokens": 17, "33 tokens": 33, "four full blocks": 64, "500 tokens": 500,
               "near the context limit": CONTEXT - 8}
    prompts = []
    for name, candidate in golden_candidates(corpus, tokenizer):
        best = None
        for attempt in range(TRIES):
            text = candidate(attempt)
            if text is None:
                break
            ids = tokenizer.encode(text)
            if "\ufffd" in text or len(ids) != lengths.get(name, len(ids)):
                continue  # cut in the middle of a word or character: it would be read back as other tokens
            result = golden_run(model, ids)
            if best is None or result[3] > best[2][3]:
                best = text, ids, result
            if result[3] > CLOSE_TIE or (args.allow_close_ties and attempt >= 3):
                break
        text, ids, (logits, greedy, gap, relative) = best
        print(f"  {name}: {len(ids)} tokens, {len(greedy)} greedy, try {attempt + 1}, closest race {gap:.4f} "
              f"({relative:.2%} of the largest logit)", flush=True)
        if relative <= CLOSE_TIE and not args.allow_close_ties:
            sys.exit(f"golden prompt '{name}' has a close tie in every wording")
        prompts.append({"name": name, "text": text, "tokens": ids,
                        "logits": [float(f"{x:.8g}") for x in logits.tolist()],
                        "greedy": greedy, "minimumTopTwoGap": float(f"{gap:.6g}")})
    head = json.dumps({"model": "warmpath-tiny", "contextLength": CONTEXT, "vocabSize": tokenizer.size})
    lines = ",\n".join(json.dumps(p, ensure_ascii=False, separators=(",", ":")) for p in prompts)  # one line each
    (MODEL_DIR / "golden.json").write_text(f'{head[:-1]}, "prompts": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"golden.json: {(MODEL_DIR / 'golden.json').stat().st_size / 1e3:.0f} kB", flush=True)


# ---------------------------------------------------------------------------------------------------------------------


def tokenizer_only(args):
    tokenizer = build_tokenizer(Corpus.read())
    export_tokenizer(tokenizer, MODEL_DIR)
    print(f"vocabulary of {tokenizer.size}", flush=True)


def main():
    steps = {"tokenizer": tokenizer_only, "train": train, "export": export, "evaluate": evaluate, "golden": golden}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="?", default="all", choices=[*steps, "all"])
    parser.add_argument("--steps", type=int, default=STEPS, help="training steps; %(default)s by default")
    parser.add_argument("--seed", type=int, default=SEED, help="seed of the weights and of the sequences")
    parser.add_argument("--restart", action="store_true", help="train from the beginning, ignoring a checkpoint")
    parser.add_argument("--quick", action="store_true", help="evaluate on the fixed 50 questions only")
    parser.add_argument("--allow-close-ties", action="store_true",
                        help="write golden.json even where greedy tokens are hardly decided (for unfinished models)")
    args = parser.parse_args()
    torch.set_num_threads(THREADS)
    for name, step in steps.items():
        if args.command in (name, "all"):
            print(f"== {name}", flush=True)
            step(args)


if __name__ == "__main__":
    main()
