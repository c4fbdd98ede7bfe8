"""NVIDIA's AIPerf: a load of 50 streamed chats, whose report has to tell times to first tokens."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from expect import *

REQUESTS = 50


# told that it is offline, it looks for a folder's name in its cache; else it takes the folder
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.endswith("_OFFLINE")}


def a_load_of_50_requests_is_measured():
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run([
            Path(sys.executable).with_name("aiperf"), "profile", "--model", MODEL, "--url", URL.removesuffix("/v1"),
            "--endpoint-type", "chat", "--streaming", "--api-key", KEY, "--tokenizer", os.environ["WARMPATH_TOKENIZER"],
            "--request-count", str(REQUESTS), "--concurrency", "4", "--synthetic-input-tokens-mean", "100",
            "--output-tokens-mean", "16", "--extra-inputs", "ignore_eos:true", "--ui", "none",
            "--artifact-dir", folder, "--no-gpu-telemetry", "--no-server-metrics",
        ], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=2 * PATIENCE)
        equal(said.returncode, 0, f"the exit status ({said.stdout[-4_000:]})")
        report = json.loads(next(Path(folder).rglob("profile_export_aiperf.json")).read_text())
    equal(report["request_count"]["avg"], REQUESTS, "requests that were answered")
    equal(report.get("error_summary"), [], "errors")
    for metric in ["time_to_first_token", "inter_token_latency", "request_latency", "output_sequence_length"]:
        true(report[metric]["avg"] > 0, f"{metric} is told")
        print(metric, {name: report[metric][name] for name in ["avg", "p50", "p99", "unit"]}, flush=True)


run(a_load_of_50_requests_is_measured)
