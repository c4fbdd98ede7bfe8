#!/usr/bin/env python3
"""The six loads of the hit-rate table on a fleet of four workers and in the planner, on the same arrivals.

Starts a fleet with the model that ships, on loopback, twice: with prefix caching and without. Each load is put on it by
`./warmpath bench`; the router's log of it is what the planner simulates, with costs as the workers have measured them.
Prints a table. Times are from the router's decision to the first token, which is what both know.

    benchmarks/planner/fleet_against_planner.py [PORT]

Needs Python 3 and nothing else; takes about twenty minutes, on a machine that does nothing else.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HOME = pathlib.Path(__file__).resolve().parents[2]
PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 18080
WORKERS = 4
RATE = 5
# name, requests, and how much shorter than drawn; what is longer than the model's context even so is left out
LOADS = [("chatbot", 240, 1), ("multi-turn", 240, 0.19), ("rag", 1000, 0.5), ("code-completion", 240, 0.25),
         ("summaries", 240, 0.9), ("random", 240, 1)]
WARM_UP = 240

state = pathlib.Path(tempfile.mkdtemp(prefix="fleet-against-planner-"))
environment = dict(os.environ, WARMPATH_STATE=str(state))


def warmpath(*arguments):
    """What the command prints; ends the program if it fails."""
    done = subprocess.run([str(HOME / "warmpath"), *arguments], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"warmpath {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def lines(log):
    return log.read_text().splitlines() if log.exists() else []


def bench(log, load, requests, scale, seed):
    """Puts a load on the fleet. Gives the file of its lines in the router's log, mean first token in ms, hit rate."""
    before = len(lines(log))
    warmpath("bench", "--load", load, "--requests", str(requests), "--rate", str(RATE), "--seed", str(seed),
             "--scale", str(scale))
    own = lines(log)[before:]
    part = state / f"{load}.jsonl"
    part.write_text("\n".join(own) + "\n")
    attempts = [each for line in own for each in json.loads(line)["decisions"]]
    firsts = [each["outcome"]["first_token_ms"] for each in attempts if each["outcome"]["first_token_ms"] is not None]
    blocks = sum(each["prompt_tokens"] // each["block_size"] for each in attempts)
    found = sum((each["outcome"]["cached_tokens"] or 0) // each["block_size"] for each in attempts)
    return part, sum(firsts) / len(firsts), found / blocks


def simulate(part, cost, cache):
    result = json.loads(warmpath("plan", "simulate", str(part), "--workers", str(WORKERS), "--policy", "default",
                                 "--cost", str(cost), "--cache", cache, "--json"))["results"][0]
    return result["ttft_mean_seconds"] * 1e3, result["hit_rate"]


def measure(caching):
    """Rows of one fleet: load -> (fleet's ms, planner's ms, fleet's hit rate, planner's)."""
    log = state / f"decisions-{caching}.jsonl"
    warmpath("up", "--workers", str(WORKERS), "--detach", "--port", str(PORT),
             "--set", f"router:warmpath.decisions.file={log}", "--set", "router:warmpath.decisions.replay=true",
             "--set", "router:warmpath.decisions.max-file-size=1GB",
             "--set", f"worker:warmpath.kv.prefix-caching={'true' if caching else 'false'}")
    rows = {}
    try:
        bench(log, "rag", WARM_UP, 0.5, 90)
        quiet, _, _ = bench(log, "chatbot", WARM_UP, 1, 91)
        quiet = quiet.rename(state / "quiet.jsonl")
        for seed, (load, requests, scale) in enumerate(LOADS):
            part, millis, hits = bench(log, load, requests, scale, seed)
            cost = state / "cost.json"
            told = json.loads(warmpath("plan", "calibrate", f"http://127.0.0.1:{PORT + 1000}", "--log", str(quiet),
                                       "--out", str(cost), "--json"))
            blocks = told["workers"][0]["blocks"] or 2456
            cache = str(blocks * 16) if caching else "off"
            planned, planned_hits = simulate(part, cost, cache)
            rows[load] = (millis, planned, hits, planned_hits)
            print(f"{load}: fleet {millis:.1f} ms, {hits:.3f}; planner {planned:.1f} ms, {planned_hits:.3f}",
                  file=sys.stderr)
    finally:
        warmpath("down")
    return rows


def main():
    cached = measure(True)
    plain = measure(False)
    print("| load | requests | hits: fleet | planner | TTFT, ms: fleet | planner | differs by | without caching: fleet "
          "| planner | gain: fleet | planner |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for load, requests, _ in LOADS:
        millis, planned, hits, planned_hits = cached[load]
        without, planned_without, _, _ = plain[load]
        print(f"| {load} | {requests} | {hits:.1%} | {planned_hits:.1%} | {millis:.1f} | {planned:.1f} "
              f"| {planned / millis - 1:+.0%} | {without:.1f} | {planned_without:.1f} | {without / millis:.1f} "
              f"| {planned_without / planned:.1f} |")


if __name__ == "__main__":
    main()
