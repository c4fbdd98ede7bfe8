#!/usr/bin/env python3
"""Makes the golden files beside it: for each family tiny models, and what they compute.

    generate.py              write CASE.json for every case, or for those named
    generate.py --check      compare every case with transformers' own model of that family, too

A case is a config.json, a list of tensors and, for some prompts, the logits behind the last token and the tokens that
greedy decoding goes on with. Weights are not stored: element i of a tensor is

    truncated to bfloat16: center + spread * u(i),   u(i) = (splitmix64(fnv1a64(name) + i) >> 40) / 2^23 - 1

which FamilyModel.java computes likewise. The forward passes below are written from the papers and the published
configurations, in plain PyTorch over float64, one sequence and no cache at a time; only rotary frequencies and angles
are rounded to float32, as transformers rounds them. Needs PyTorch 2 and NumPy; --check transformers 4.57 or 5 besides.
"""
import json
import math
import sys
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F

HERE = Path(__file__).resolve().parent
GREEDY = 64
# A greedy token is worth comparing only if float32 finds it, too.
LEAST_GAP = 5e-4

# ---------------------------------------------------------------------------------------------------------------------
# Weights by rule
# ---------------------------------------------------------------------------------------------------------------------


def fnv1a64(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def values(name, count, center, spread, first=0):
    state = numpy.arange(first, first + count, dtype=numpy.uint64) + numpy.uint64(fnv1a64(name))
    state = state + numpy.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    state = state ^ (state >> numpy.uint64(31))
    u = (state >> numpy.uint64(40)).astype(numpy.float64) * 2.0**-23 - 1
    exact = (center + spread * u).astype(numpy.float32)
    return (exact.view(numpy.uint32) & numpy.uint32(0xFFFF0000)).view(numpy.float32)


class Tensors(list):
    """What a model's files hold: name, shape, and the rule's two numbers."""

    def matrix(self, name, rows, columns, gain=1.0):
        self.append({"name": name + ".weight", "shape": [rows, columns], "center": 0.0,
                     "spread": round(gain * math.sqrt(3 / columns), 4)})

    def vector(self, name, size, center, spread):
        self.append({"name": name, "shape": [size], "center": center, "spread": spread})

    def weights(self):
        made = {}
        for tensor in self:
            flat = values(tensor["name"], math.prod(tensor["shape"]), tensor["center"], tensor["spread"])
            made[tensor["name"]] = torch.from_numpy(flat.copy()).double().reshape(tensor["shape"])
        return made


# ---------------------------------------------------------------------------------------------------------------------
# Parts of a forward pass
# ---------------------------------------------------------------------------------------------------------------------


def rms_norm(x, weight, epsilon):
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + epsilon) * weight


def plain_frequencies(size, theta):
    return 1.0 / theta ** (torch.arange(0, size, 2).double() / size)


def linear_frequencies(size, theta, factor):
    return plain_frequencies(size, theta) / factor


def llama3_frequencies(size, theta, scaling):
    """By wavelength: short ones stay, long ones are divided, those in between by a share."""
    original = scaling["original_max_position_embeddings"]
    low, high, factor = scaling["low_freq_factor"], scaling["high_freq_factor"], scaling["factor"]
    scaled = []
    for frequency in plain_frequencies(size, theta).tolist():
        wavelength = 2 * math.pi / frequency
        if wavelength < original / high:
            scaled.append(frequency)
        elif wavelength > original / low:
            scaled.append(frequency / factor)
        else:
            smooth = (original / wavelength - low) / (high - low)
            scaled.append((1 - smooth) * frequency / factor + smooth * frequency)
    return torch.tensor(scaled, dtype=torch.double)


def yarn_frequencies(size, theta, scaling):
    original, factor = scaling["original_max_position_embeddings"], scaling["factor"]

    def pair(turns):
        return size * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low = max(math.floor(pair(scaling.get("beta_fast", 32))), 0)
    high = min(math.ceil(pair(scaling.get("beta_slow", 1))), size - 1)
    kept = 1 - torch.clamp((torch.arange(size // 2).double() - low) / ((high - low) or 0.001), 0, 1)
    plain = plain_frequencies(size, theta)
    return plain / factor * (1 - kept) + plain * kept


def angles(frequencies, length, amplitude=1.0):
    """Cosines and sines, [length, pairs]; angles in float32."""
    turned = torch.arange(length).float()[:, None] * frequencies.float()[None, :]
    return torch.cos(turned.double()) * amplitude, torch.sin(turned.double()) * amplitude


def rotate(heads, cosines, sines):
    """heads [tokens, heads, size]: element i of the turned part with the one half of it further on; the rest stays."""
    pairs = cosines.shape[-1]
    first, second, rest = heads[..., :pairs], heads[..., pairs:2 * pairs], heads[..., 2 * pairs:]
    cosines, sines = cosines[:, None, :], sines[:, None, :]
    return torch.cat((first * cosines - second * sines, second * cosines + first * sines, rest), -1)


def attend(queries, keys, values_, scale, window=None, cap=None):
    """All [tokens, heads, size]; a query head takes the key head of its group. window counts the token itself."""
    length, group = queries.shape[0], queries.shape[1] // keys.shape[1]
    keys, values_ = keys.repeat_interleave(group, 1), values_.repeat_interleave(group, 1)
    scores = torch.einsum("qhd,khd->hqk", queries, keys) * scale
    if cap:
        scores = cap * torch.tanh(scores / cap)
    distance = torch.arange(length)[:, None] - torch.arange(length)[None, :]
    hidden = distance < 0 if window is None else (distance < 0) | (distance >= window)
    weights = torch.softmax(scores.masked_fill(hidden, -math.inf), -1)
    return torch.einsum("hqk,khd->qhd", weights, values_).reshape(length, -1)


def split(x, config):
    return x.reshape(x.shape[0], -1, config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"])


def head_size(config):
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


def project(w, prefix, x):
    y = x @ w[prefix + ".weight"].T
    return y + w[prefix + ".bias"] if prefix + ".bias" in w else y


def swiglu(w, prefix, x):
    gate = F.silu(project(w, prefix + "gate_proj", x))
    return project(w, prefix + "down_proj", gate * project(w, prefix + "up_proj", x))


def head(w, config, x):
    tied = config.get("tie_word_embeddings")
    return x @ w["model.embed_tokens.weight" if tied else "lm_head.weight"].T


# ---------------------------------------------------------------------------------------------------------------------
# Families: logits of all positions
# ---------------------------------------------------------------------------------------------------------------------


def pre_norm(w, config, tokens, attention, scale_embedding=1.0, scale_residual=1.0):
    """Llama's skeleton: attention(layer, normed) and SwiGLU, each added to what it read."""
    x = w["model.embed_tokens.weight"][tokens] * scale_embedding
    epsilon = config["rms_norm_eps"]
    for layer in range(config["num_hidden_layers"]):
        p = f"model.layers.{layer}."
        x = x + scale_residual * attention(layer, rms_norm(x, w[p + "input_layernorm.weight"], epsilon))
        x = x + scale_residual * swiglu(w, p + "mlp.", rms_norm(x, w[p + "post_attention_layernorm.weight"], epsilon))
    return head(w, config, rms_norm(x, w["model.norm.weight"], epsilon))


def llama(w, config, tokens, windows=None, without_positions=(), scale=None, **scales):
    size, theta = head_size(config), config["rope_theta"]
    scaling = config.get("rope_scaling") or {"rope_type": "default"}
    amplitude = 1.0
    if scaling["rope_type"] == "linear":
        frequencies = linear_frequencies(size, theta, scaling["factor"])
    elif scaling["rope_type"] == "llama3":
        frequencies = llama3_frequencies(size, theta, scaling)
    elif scaling["rope_type"] == "yarn":
        frequencies = yarn_frequencies(size, theta, scaling)
        amplitude = 0.1 * math.log(scaling["factor"]) + 1
    else:
        frequencies = plain_frequencies(size, theta)
    turn = angles(frequencies, len(tokens), amplitude)

    def attention(layer, x):
        p = f"model.layers.{layer}.self_attn."
        q, k, v = (split(project(w, p + f"{name}_proj", x), config) for name in "qkv")
        if p + "q_norm.weight" in w:
            q = rms_norm(q, w[p + "q_norm.weight"], config["rms_norm_eps"])
            k = rms_norm(k, w[p + "k_norm.weight"], config["rms_norm_eps"])
        if layer not in without_positions:
            q, k = rotate(q, *turn), rotate(k, *turn)
        window = windows[layer] if windows else None
        return project(w, p + "o_proj", attend(q, k, v, scale or size**-0.5, window))

    return pre_norm(w, config, tokens, attention, **scales)


def mistral(w, config, tokens):
    return llama(w, config, tokens, windows=[config["sliding_window"]] * config["num_hidden_layers"])


def qwen(w, config, tokens):
    """2 with biases, 3 with norms of heads: whichever the files hold."""
    first = config["max_window_layers"] if config["use_sliding_window"] else config["num_hidden_layers"]
    return llama(w, config, tokens, windows=[config["sliding_window"] if layer >= first else None
                                             for layer in range(config["num_hidden_layers"])])


def smollm3(w, config, tokens):
    return llama(w, config, tokens,
                 without_positions=[layer for layer, turns in enumerate(config["no_rope_layers"]) if not turns])


def granite(w, config, tokens):
    logits = llama(w, config, tokens, scale=config["attention_multiplier"],
                   scale_embedding=config["embedding_multiplier"], scale_residual=config["residual_multiplier"])
    return logits / config["logits_scaling"]


def phi3(w, config, tokens):
    """Fused projections; a part of each head turned; factors of their own for each frequency."""
    size = head_size(config)
    turned = int(size * config.get("partial_rotary_factor", 1.0))
    frequencies, amplitude = plain_frequencies(turned, config["rope_theta"]), 1.0
    scaling, original = config.get("rope_scaling"), config["original_max_position_embeddings"]
    if scaling:
        factors = scaling["long_factor" if config["served"] > original else "short_factor"]
        frequencies = frequencies / torch.tensor(factors, dtype=torch.double)
        ratio = config["max_position_embeddings"] / original
        amplitude = math.sqrt(1 + math.log(ratio) / math.log(original))
    turn = angles(frequencies, len(tokens), amplitude)
    queries = config["num_attention_heads"] * size
    keys = config["num_key_value_heads"] * size
    x = w["model.embed_tokens.weight"][tokens]
    for layer in range(config["num_hidden_layers"]):
        p = f"model.layers.{layer}."
        normed = rms_norm(x, w[p + "input_layernorm.weight"], config["rms_norm_eps"])
        q, k, v = (split(part, config) for part in
                   project(w, p + "self_attn.qkv_proj", normed).split((queries, keys, keys), -1))
        mixed = attend(rotate(q, *turn), rotate(k, *turn), v, size**-0.5, config["sliding_window"])
        x = x + project(w, p + "self_attn.o_proj", mixed)
        normed = rms_norm(x, w[p + "post_attention_layernorm.weight"], config["rms_norm_eps"])
        gate, up = project(w, p + "mlp.gate_up_proj", normed).chunk(2, -1)
        x = x + project(w, p + "mlp.down_proj", F.silu(gate) * up)
    return head(w, config, rms_norm(x, w["model.norm.weight"], config["rms_norm_eps"]))


def geglu(w, prefix, x):
    gate = F.gelu(project(w, prefix + "gate_proj", x), approximate="tanh")
    return project(w, prefix + "down_proj", gate * project(w, prefix + "up_proj", x))


def gemma(w, config, tokens):
    """The first: pre-norms whose weights are stored less 1, GeGLU, embeddings times the root of the width."""
    size, epsilon = head_size(config), config["rms_norm_eps"]
    turn = angles(plain_frequencies(size, config["rope_theta"]), len(tokens))
    x = w["model.embed_tokens.weight"][tokens] * math.sqrt(config["hidden_size"])
    for layer in range(config["num_hidden_layers"]):
        p = f"model.layers.{layer}."
        normed = rms_norm(x, 1 + w[p + "input_layernorm.weight"], epsilon)
        q, k, v = (split(project(w, p + f"self_attn.{name}_proj", normed), config) for name in "qkv")
        x = x + project(w, p + "self_attn.o_proj", attend(rotate(q, *turn), rotate(k, *turn), v, size**-0.5))
        x = x + geglu(w, p + "mlp.", rms_norm(x, 1 + w[p + "post_attention_layernorm.weight"], epsilon))
    return head(w, config, rms_norm(x, 1 + w["model.norm.weight"], epsilon))


def gemma2(w, config, tokens):
    """Norms of what blocks make, caps of scores and logits, a window in the layers 0, 2, 4 …; 3: norms of heads, a
    window and faster turns in all but every sixth layer (or as the pattern says)."""
    size, epsilon = head_size(config), config["rms_norm_eps"]
    pattern = config.get("sliding_window_pattern", 2)
    local = angles(plain_frequencies(size, config.get("rope_local_base_freq", config["rope_theta"])), len(tokens))
    scaling = config.get("rope_scaling") or {"factor": 1.0}
    whole = angles(linear_frequencies(size, config["rope_theta"], scaling["factor"]), len(tokens))
    x = w["model.embed_tokens.weight"][tokens] * math.sqrt(config["hidden_size"])
    for layer in range(config["num_hidden_layers"]):
        p = f"model.layers.{layer}."
        slides = (layer + 1) % pattern != 0
        normed = rms_norm(x, 1 + w[p + "input_layernorm.weight"], epsilon)
        q, k, v = (split(project(w, p + f"self_attn.{name}_proj", normed), config) for name in "qkv")
        if p + "self_attn.q_norm.weight" in w:
            q = rms_norm(q, 1 + w[p + "self_attn.q_norm.weight"], epsilon)
            k = rms_norm(k, 1 + w[p + "self_attn.k_norm.weight"], epsilon)
        turn = local if slides else whole
        mixed = attend(rotate(q, *turn), rotate(k, *turn), v, config["query_pre_attn_scalar"]**-0.5,
                       config["sliding_window"] if slides else None, config["attn_logit_softcapping"])
        made = project(w, p + "self_attn.o_proj", mixed)
        x = x + rms_norm(made, 1 + w[p + "post_attention_layernorm.weight"], epsilon)
        made = geglu(w, p + "mlp.", rms_norm(x, 1 + w[p + "pre_feedforward_layernorm.weight"], epsilon))
        x = x + rms_norm(made, 1 + w[p + "post_feedforward_layernorm.weight"], epsilon)
    logits = head(w, config, rms_norm(x, 1 + w["model.norm.weight"], epsilon))
    cap = config["final_logit_softcapping"]
    return cap * torch.tanh(logits / cap) if cap else logits


# ---------------------------------------------------------------------------------------------------------------------
# Cases
# ---------------------------------------------------------------------------------------------------------------------


def tensors(config, fused=False, biases=False, head_norms=False, output_norms=False, center=1.0):
    """@param center of norm weights as they are stored"""
    made = Tensors()
    hidden, wide, size = config["hidden_size"], config["intermediate_size"], head_size(config)
    queries, keys = config["num_attention_heads"] * size, config["num_key_value_heads"] * size
    made.append({"name": "model.embed_tokens.weight", "shape": [config["vocab_size"], hidden], "center": 0.0,
                 "spread": 1.0 if not config.get("tie_word_embeddings") else 0.5})
    for layer in range(config["num_hidden_layers"]):
        p = f"model.layers.{layer}."
        made.vector(p + "input_layernorm.weight", hidden, center, 0.5)
        made.vector(p + "post_attention_layernorm.weight", hidden, center, 0.5)
        if output_norms:
            made.vector(p + "pre_feedforward_layernorm.weight", hidden, center, 0.5)
            made.vector(p + "post_feedforward_layernorm.weight", hidden, center, 0.5)
        if head_norms:
            made.vector(p + "self_attn.q_norm.weight", size, center, 0.5)
            made.vector(p + "self_attn.k_norm.weight", size, center, 0.5)
        if fused:
            made.matrix(p + "self_attn.qkv_proj", queries + 2 * keys, hidden, 1.4)
            made.matrix(p + "mlp.gate_up_proj", 2 * wide, hidden, 1.4)
        else:
            for name, rows in (("q_proj", queries), ("k_proj", keys), ("v_proj", keys)):
                made.matrix(p + "self_attn." + name, rows, hidden, 1.4)
                if biases:
                    made.vector(p + f"self_attn.{name}.bias", rows, 0.0, 0.8)
            made.matrix(p + "mlp.gate_proj", wide, hidden, 1.4)
            made.matrix(p + "mlp.up_proj", wide, hidden, 1.4)
        made.matrix(p + "self_attn.o_proj", hidden, queries)
        made.matrix(p + "mlp.down_proj", hidden, wide)
    made.vector("model.norm.weight", hidden, center, 0.5)
    if not config.get("tie_word_embeddings"):
        made.matrix("lm_head", config["vocab_size"], hidden, 2.0)
    return made


LEFT_OUT = object()
BASE = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 256, "max_position_embeddings": 256,
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False, "hidden_act": "silu", "torch_dtype": "bfloat16",
        "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "use_cache": True}


def config_of(model_type, classes, **changes):
    """@param changes of the base; LEFT_OUT: the key is not there"""
    config = {"architectures": [classes + "ForCausalLM"], "model_type": model_type, **BASE, **changes}
    return {key: value for key, value in config.items() if value is not LEFT_OUT}


def cases():
    """name: (forward, config, options of tensors)"""
    scaled = {"rope_theta": 500.0, "max_position_embeddings": 512}
    every = {
        "llama": (llama, config_of("llama", "Llama"), {}),
        "llama-linear": (llama, config_of("llama", "Llama", rope_scaling={"rope_type": "linear", "factor": 4.0}), {}),
        "llama-llama3": (llama, config_of("llama", "Llama", **scaled, rope_scaling={
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64}), {}),
        "llama-yarn": (llama, config_of("llama", "Llama", **scaled, rope_scaling={
            "rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 64}), {}),
        "smollm2": (llama, config_of("llama", "Llama", num_attention_heads=3, num_key_value_heads=1, hidden_size=96,
                                     tie_word_embeddings=True, is_llama_config=True, rope_interleaved=False), {}),
        "mistral": (mistral, config_of("mistral", "Mistral", sliding_window=21), {}),
        "mistral-no-window": (mistral, config_of("mistral", "Mistral", sliding_window=None, hidden_size=80), {}),
        "qwen2": (qwen, config_of("qwen2", "Qwen2", use_sliding_window=False, sliding_window=4096, max_window_layers=2,
                                  tie_word_embeddings=True, head_dim=LEFT_OUT, hidden_size=128), {"biases": True}),
        "qwen2-windows": (qwen, config_of("qwen2", "Qwen2", use_sliding_window=True, sliding_window=13,
                                          max_window_layers=1, head_dim=LEFT_OUT, hidden_size=128), {"biases": True}),
        "qwen3": (qwen, config_of("qwen3", "Qwen3", use_sliding_window=False, sliding_window=None, max_window_layers=3,
                                  attention_bias=False, rms_norm_eps=1e-6), {"head_norms": True}),
        "smollm3": (smollm3, config_of("smollm3", "SmolLM3", num_hidden_layers=5, no_rope_layers=[1, 1, 1, 0, 1],
                                       no_rope_layer_interval=4, use_sliding_window=False, tie_word_embeddings=True,
                                       head_dim=LEFT_OUT, hidden_size=128), {}),
        "granite": (granite, config_of("granite", "Granite", embedding_multiplier=3.0, residual_multiplier=0.22,
                                       attention_multiplier=0.11, logits_scaling=2.5, attention_bias=False,
                                       mlp_bias=False, head_dim=LEFT_OUT, hidden_size=128,
                                       tie_word_embeddings=True), {}),
        "phi3": (phi3, config_of("phi3", "Phi3", hidden_size=192, num_attention_heads=2, num_key_value_heads=2,
                                 head_dim=LEFT_OUT, sliding_window=19, original_max_position_embeddings=256),
                 {"fused": True}),
    }
    pairs = 24  # of 64 elements, 3/4 of which turn
    longrope = {"partial_rotary_factor": 0.75, "original_max_position_embeddings": 40, "sliding_window": None,
                "rope_scaling": {"type": "longrope", "short_factor": [round(1 + 0.02 * i, 2) for i in range(pairs)],
                                 "long_factor": [round(1 + 0.1 * i * i, 2) for i in range(pairs)]}}
    phi4 = config_of("phi3", "Phi3", hidden_size=256, head_dim=LEFT_OUT, **longrope)
    every["phi4-mini"] = (phi3, {**phi4, "served": 256}, {"fused": True})
    every["phi4-mini-short"] = (phi3, {**phi4, "max_position_embeddings": 200, "original_max_position_embeddings": 190,
                                       "served": 190}, {"fused": True})
    tanh = {"hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True}
    shifted = {"center": 0.0}
    every["gemma"] = (gemma, config_of("gemma", "Gemma", **{**tanh, "hidden_activation": None}), shifted)
    every["gemma2"] = (gemma2, config_of("gemma2", "Gemma2", **tanh, num_hidden_layers=4, sliding_window=17,
                                         query_pre_attn_scalar=24, attn_logit_softcapping=4.0,
                                         final_logit_softcapping=6.0, cache_implementation="hybrid"),
                       {"output_norms": True, **shifted})
    every["gemma3"] = (gemma2, config_of("gemma3_text", "Gemma3", **tanh, num_hidden_layers=4, sliding_window=15,
                                         sliding_window_pattern=3, query_pre_attn_scalar=24, head_dim=256,
                                         num_attention_heads=2, num_key_value_heads=1, hidden_size=48,
                                         attn_logit_softcapping=None, final_logit_softcapping=None,
                                         rope_theta=1000000.0, rope_local_base_freq=10000.0,
                                         rope_scaling={"rope_type": "linear", "factor": 8.0}),
                       {"output_norms": True, "head_norms": True, **shifted})
    return every


# One layer as wide as real ones. Its logits are too many to keep all of them.
WIDE = config_of("llama", "Llama", hidden_size=4096, intermediate_size=2048, num_hidden_layers=1,
                 num_attention_heads=32, num_key_value_heads=8, head_dim=128, vocab_size=128256, tie_word_embeddings=True, rope_theta=500000.0,
                 rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                               "original_max_position_embeddings": 8192})
WIDE_KEPT = 512


def prompts(name, vocabulary, lengths):
    return [[int(x) for x in (values(f"{name} prompt {i}", length, 0.5, 0.5).astype(numpy.float64) * vocabulary)
             .astype(int) % vocabulary] for i, length in enumerate(lengths)]


def greedy(forward, w, config, prompt, count):
    tokens, gap = list(prompt), math.inf
    for _ in range(count):
        logits = forward(w, config, torch.tensor(tokens))[-1]
        best = torch.topk(logits, 2)
        gap = min(gap, float(best.values[0] - best.values[1]) / float(logits.abs().max()))
        tokens.append(int(best.indices[0]))
    return tokens[len(prompt):], gap


def case_of(name, forward, config, options, lengths):
    made = tensors(config, **options)
    w = made.weights()
    told, index = [], 0  # one prompt of each length
    for prompt in prompts(name, config["vocab_size"], lengths * 20):
        length = lengths[index]
        if len(prompt) != length:
            continue
        tokens, gap = greedy(forward, w, config, prompt, GREEDY)
        if gap < LEAST_GAP:
            continue  # two tokens are too near each other somewhere: the next prompt of that length
        logits = forward(w, config, torch.tensor(prompt))[-1]
        told.append({"tokens": prompt, "logits": [float(f"{x:.6g}") for x in logits.tolist()], "greedy": tokens})
        index += 1
        if index == len(lengths):
            break
    if index < len(lengths):
        raise SystemExit(f"{name}: no prompt of {lengths[index]} tokens whose greedy tokens stand apart")
    served = {"contextLength": config["served"]} if "served" in config else {}
    stored = {key: value for key, value in config.items() if key != "served"}
    return {"config": stored, **served, "tensors": list(made), "prompts": told}


def wide_case():
    """The tied embedding, 4 GB in float64, is made row by row where it is looked up, and in parts where it is the head."""
    made, hidden, rows = tensors(WIDE), WIDE["hidden_size"], 4096
    embedding = made[0]

    def part(first, count):
        flat = values(embedding["name"], count * hidden, 0.0, embedding["spread"], first * hidden)
        return torch.from_numpy(flat).double().reshape(count, hidden)

    prompt = prompts("wide", WIDE["vocab_size"], (9,))[0]
    w = Tensors(made[1:]).weights()
    w["model.embed_tokens.weight"] = torch.cat([part(token, 1) for token in prompt])
    w["lm_head.weight"] = torch.eye(hidden, dtype=torch.double)
    normed = llama(w, {**WIDE, "tie_word_embeddings": False}, torch.arange(len(prompt)))[-1]
    logits = torch.cat([part(first, min(rows, WIDE["vocab_size"] - first)) @ normed
                        for first in range(0, WIDE["vocab_size"], rows)])
    ids = sorted({int(i) for i in torch.topk(logits, 16).indices} | set(range(0, WIDE["vocab_size"], 253)))[:WIDE_KEPT]
    return {"config": WIDE, "tensors": list(made), "tokens": prompt, "largest": float(logits.abs().max()),
            "best": int(logits.argmax()), "ids": ids, "logits": [float(f"{logits[i]:.6g}") for i in ids]}


def write(name, case):
    lines = json.dumps(case, indent=None, separators=(",", ":"))
    for mark in ('"tensors":', '{"name":', '"prompts":', '{"tokens":', '"logits":', '"greedy":'):
        lines = lines.replace(mark, "\n" + mark)
    (HERE / f"{name}.json").write_text(lines + "\n", encoding="utf-8")


# ---------------------------------------------------------------------------------------------------------------------
# Against transformers
# ---------------------------------------------------------------------------------------------------------------------


def check(name, case):
    """@return the largest deviation of transformers' float32 logits, as a share of the largest logit"""
    import transformers
    config = transformers.AutoConfig.for_model(**{key: value for key, value in case["config"].items()
                                                  if key not in ("architectures", "torch_dtype")})
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    state = {key: value.float() for key, value in Tensors(case["tensors"]).weights().items()}
    missing, unexpected = model.load_state_dict(state, strict=False)
    missing = [key for key in missing if not (key == "lm_head.weight" and case["config"]["tie_word_embeddings"])]
    if missing or unexpected:
        raise SystemExit(f"{name}: missing {missing}, unexpected {unexpected}")
    model.tie_weights()
    worst = 0.0
    for prompt in case["prompts"]:
        tokens = torch.tensor([prompt["tokens"] + prompt["greedy"]])
        with torch.no_grad():
            logits = model(tokens).logits[0]
            alone = model(tokens[:, :len(prompt["tokens"])]).logits[0, -1]
        expected = torch.tensor(prompt["logits"])
        worst = max(worst, float((alone - expected).abs().max() / expected.abs().max()))
        drawn = logits[len(prompt["tokens"]) - 1:-1].argmax(-1).tolist()
        if drawn != prompt["greedy"]:
            raise SystemExit(f"{name}: greedy tokens differ from transformers'")
    return worst


def main():
    named = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    for name, (forward, config, options) in cases().items():
        if named and name not in named:
            continue
        # longer than the original context, where there is one that is shorter than what is served
        lengths = (70, 90) if name == "phi4-mini" else (3, 40)
        case = case_of(name, forward, config, options, lengths)
        write(name, case)
        if "--check" in sys.argv:
            print(f"{name:20} {check(name, case):.1e}", flush=True)
    if not named or "wide" in named:
        write("wide", wide_case())


if __name__ == "__main__":
    main()
