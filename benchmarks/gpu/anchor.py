#!/usr/bin/env python3
"""Times PyTorch's FlashAttention-2 (and cuDNN) on contiguous keys and values: what paged prefill is held against.

    anchor.py FILE     writes a JSON object to FILE

The shapes and their names are those of benchmarks' Sizes.java: 32 query heads over 8 of 128, bf16, causal. Each is
timed as it is timed for Warmpath: captured as a graph, replayed with a cold L2 between device events, the median of 60.
FlashAttention-2 is called in every way that PyTorch has for the shape, each checked against float64 first, and the
fastest counts. Without PyTorch or a card the file holds {"error": why} and the exit code is 0: the table says so.
"""
import json
import statistics
import sys

QUERY_HEADS, KV_HEADS, HEAD_SIZE = 32, 8, 128
# name: sequences, new tokens of each, positions of each (the new ones included)
SHAPES = {
    "prefill 1 x 4k": (1, 4096, 4096),
    "prefill 2 x 4k": (2, 4096, 4096),
    "prefill 4 x 4k": (4, 4096, 4096),
    "prefill 512 on 8k": (1, 512, 8704),
    "suffix 30 on 8k": (1, 30, 8222),
    "suffix 30 on 32k": (1, 30, 32798),
}
CHECKED_SHAPE = (2, 48, 112)
WARM_UPS, REPETITIONS = 5, 60
FLUSHED_BYTES = 256 << 20
LARGEST_ERROR = 1e-2


def flash_direct(torch, query, key, value):
    """The operator below SDPA; its causal mask is aligned to the last position, as a chunk on a cached prefix wants."""
    return torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, 0.0, True, False)[0]


def flash_grouped(torch, query, key, value):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.attention.bias import causal_lower_right
    square = query.shape[-2] == key.shape[-2]
    mask = None if square else causal_lower_right(query.shape[-2], key.shape[-2])
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=square, enable_gqa=True)


def flash_expanded(torch, query, key, value):
    """With keys and values repeated for each query head beforehand, which is not timed."""
    return flash_direct(torch, query, key, value)


def cudnn(torch, query, key, value):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)


# Whatever PyTorch raises in one of them, the others still count: failures are noted by name.
FLASH_WAYS = {"direct": flash_direct, "grouped": flash_grouped, "expanded": flash_expanded}


def inputs(torch, shape, way, token_major):
    """Random [sequences, heads, tokens, size], contiguous as they are or with tokens before heads."""
    sequences, new, context = shape
    kv_heads = QUERY_HEADS if way == "expanded" else KV_HEADS

    def draw(heads, tokens):
        if token_major:
            return torch.randn(sequences, tokens, heads, HEAD_SIZE, device="cuda", dtype=torch.bfloat16).transpose(1, 2)
        return torch.randn(sequences, heads, tokens, HEAD_SIZE, device="cuda", dtype=torch.bfloat16)

    return draw(QUERY_HEADS, new), draw(kv_heads, context), draw(kv_heads, context)


def reference(torch, query, key, value):
    """float64, by the definition: new token r sees the positions up to context - new + r."""
    group = query.shape[1] // key.shape[1]
    key = key.double().repeat_interleave(group, dim=1)
    value = value.double().repeat_interleave(group, dim=1)
    scores = query.double() @ key.transpose(-1, -2) / HEAD_SIZE ** 0.5
    new, context = scores.shape[-2:]
    seen = torch.ones(new, context, dtype=torch.bool, device=query.device).tril(context - new)
    return torch.softmax(scores.masked_fill(~seen, float("-inf")), dim=-1) @ value


def relative_error(torch, way, name):
    tensors = inputs(torch, CHECKED_SHAPE, name, False)
    expected = reference(torch, *tensors)
    return ((way(torch, *tensors).double() - expected).norm() / expected.norm()).item()


def summary(micros):
    ordered = sorted(micros)
    return {
        "median_us": statistics.median(ordered),
        "min_us": ordered[0],
        "p90_us": ordered[-(-9 * len(ordered) // 10) - 1],
        "repetitions": len(ordered),
    }


def time_way(torch, way, tensors, flushed):
    """Microseconds of each replay."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            way(torch, *tensors)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        way(torch, *tensors)
    micros = []
    for repetition in range(-WARM_UPS, REPETITIONS):
        flushed.random_(0, 255)
        flushed.sum()  # or lines that were only written would be written back while something is timed
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        if repetition >= 0:
            micros.append(start.elapsed_time(end) * 1e3)
    return summary(micros)


def fastest_flash(torch, shape, ways, flushed):
    best, failures = None, {}
    for name, way in ways.items():
        for token_major in (False, True):
            label = name + (", tokens before heads" if token_major else "")
            try:
                times = time_way(torch, way, inputs(torch, shape, name, token_major), flushed)
            except Exception as e:
                failures[label] = str(e).splitlines()[0]
                continue
            print(f"  {label}: {times['median_us']:.1f} us", flush=True)
            if best is None or times["median_us"] < best["median_us"]:
                best = {**times, "way": label}
    return best, failures


def measure(torch):
    torch.manual_seed(1)
    result = {"torch": torch.__version__, "device": torch.cuda.get_device_name(), "errors": {}, "cases": {}}
    flushed = torch.empty(FLUSHED_BYTES, dtype=torch.uint8, device="cuda")
    ways = {}
    for name, way in FLASH_WAYS.items():
        try:
            error = relative_error(torch, way, name)
        except Exception as e:
            result["errors"][name] = str(e).splitlines()[0]
            continue
        result["errors"][name] = error
        print(f"FlashAttention-2, {name}: relative error {error:.1e}", flush=True)
        if error <= LARGEST_ERROR:
            ways[name] = way
    for name, shape in SHAPES.items():
        print(name, flush=True)
        best, failures = fastest_flash(torch, shape, ways, flushed)
        case = {"flash": best, "failures": failures} if best else {"failures": failures}
        if shape[1] == shape[2]:
            try:
                case["cudnn"] = time_way(torch, cudnn, inputs(torch, shape, "grouped", False), flushed)
                print(f"  cuDNN: {case['cudnn']['median_us']:.1f} us", flush=True)
            except Exception as e:
                case["failures"]["cudnn"] = str(e).splitlines()[0]
        result["cases"][name] = case
    return result


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        import torch
        if not torch.cuda.is_available():
            result = {"error": "PyTorch sees no card"}
        else:
            result = measure(torch)
    except ImportError as e:
        result = {"error": f"no PyTorch here: {e}"}
    except Exception as e:
        result = {"error": str(e).splitlines()[0]}
    with open(sys.argv[1], "w") as file:
        json.dump(result, file, indent=1)
    print(result.get("error", f"anchors of {len(result.get('cases', {}))} shapes written"), flush=True)


if __name__ == "__main__":
    main()
