#!/usr/bin/env bash
# Checks and times the CUDA runner on the card of this machine, in under 8 minutes, and prints one table.
#
#   run.sh [--quick]
#
# Needs what pack.sh packed, an NVIDIA driver and cuBLASLt; python3 with PyTorch for the anchors; nvcc only if the
# kernels' sources are newer than the pack. Runs from a checkout (with benchmarks/gpu/target/pack) or from a copy of the
# pack alone. Three parts, each under a time limit, and a part that fails stops none of the others:
#
#   1. correctness   the tests tagged cuda-device, on the real card          150 s
#   2. anchors       PyTorch's FlashAttention-2 on contiguous keys and values 60 s
#   3. timings       GpuTimings                                              200 s
#
# Everything is also written to $OUT (./out unless set): table.md, correctness.log, anchors.json, timings.json.
# Exit code: 0 everything ran, 1 a part failed or a case did not run, 2 nothing could run, 64 it was called otherwise.
# Whether goals are met is the table's to say. The card's clocks and modes are read, never set.
# WARMPATH_CUDA_DRIVER and WARMPATH_CUBLASLT name libraries in other places; a driver named there is used without asking
# nvidia-smi (with --quick, an emulated device).
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${OUT:-$PWD/out}
quick=("$@")
if [ $# -gt 1 ] || [ "${1:---quick}" != --quick ]; then
  echo "usage: run.sh [--quick]" >&2
  exit 64
fi
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
# what an earlier run left must not pass for this one's
rm -f "$out"/{table.md,correctness.log,anchors.json,timings.json,timings.md}
pack=$here
[ -d "$here/target/pack" ] && pack=$here/target/pack
sources=$here/../../worker-agent/src/main/cuda
[ -f "$sources/build.sh" ] || sources=$pack/cuda

give_up() {
  echo "NOTHING WAS RUN: $1"
  echo "Not done: correctness of the kernels on a card, anchors, timings. No figures exist from this run."
  exit 2
}

[ -f "$pack/jre.tar.xz" ] || give_up "no pack in $pack; benchmarks/gpu/pack.sh makes it on a machine with a JDK 25"
if [ -z "${WARMPATH_CUDA_DRIVER:-}" ] && ! nvidia-smi -L >/dev/null 2>&1; then
  give_up "nvidia-smi finds no card here"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/worker-agent"
# an image without xz has python3 at best
tar -C "$work" -xJf "$pack/jre.tar.xz" 2>/dev/null || python3 -m tarfile -e "$pack/jre.tar.xz" "$work" ||
  give_up "neither tar nor python3 unpacks $pack/jre.tar.xz"
ln -s "$pack/models" "$work/models"

# card FIELDS: what nvidia-smi says of them
card() {
  nvidia-smi --query-gpu="$1" --format=csv,noheader 2>/dev/null || echo unknown
}
now=clocks.sm,clocks.mem,temperature.gpu,power.draw

# the pack's kernels, or new ones if the sources are others
kernels=$pack/kernels
built="kernels of the pack"
if ! [ -d "$kernels" ] || ! diff -rq "$pack/cuda" "$sources" >/dev/null; then
  if bash "$sources/build.sh" "$work/kernels" && [ -d "$work/kernels/classes" ]; then
    kernels=$work/kernels/classes
    built="kernels compiled here"
  else
    built="kernels of the pack, though the sources are others and could not be compiled here"
  fi
fi
java=("$work/jre/bin/java" -Dstdout.encoding=UTF-8 -Dstderr.encoding=UTF-8
  --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED -cp
  "$kernels:$(echo "$pack"/lib/*.jar | tr ' ' ':')")

# PyTorch's wheels bring cuBLASLt along, in a folder that no linker knows
find_cublaslt() {
  python3 - <<'PY' 2>/dev/null
import glob, importlib.util
spec = importlib.util.find_spec("nvidia")
for folder in spec.submodule_search_locations if spec else ():
    for found in sorted(glob.glob(folder + "/**/libcublasLt.so.*", recursive=True), reverse=True):
        print(found)
        raise SystemExit
PY
}
if [ -z "${WARMPATH_CUBLASLT:-}" ]; then
  found=$(find_cublaslt) && [ -n "$found" ] && export WARMPATH_CUBLASLT=$found
fi

head_of_table() {
  echo "# The CUDA runner on a card"
  echo
  echo "- card, driver, highest clocks, power limit: $(card \
    name,driver_version,clocks.max.sm,clocks.max.mem,power.limit)"
  echo "- clocks, temperature and power before: $(card $now)"
  echo "- commit: $(cat "$pack/COMMIT"); $built; $(date -u +%Y-%m-%dT%H:%MZ)"
  echo "- cuBLASLt: ${WARMPATH_CUBLASLT:-looked for by the worker}"
  nvcc --version 2>/dev/null | sed -n 's/.*release/- nvcc/p'
}

failed=()
# part NAME SECONDS LOG COMMAND...: its output goes to the log and to the terminal
part() {
  local name=$1 limit=$2 log=$3
  shift 3
  local begun=$SECONDS
  echo
  echo "== $name (at most $limit s)"
  timeout -k 5 "$limit" "$@" 2>&1 | tee "$log"
  local code=${PIPESTATUS[0]}
  echo "== $name: exit code $code after $((SECONDS - begun)) s"
  if [ "$code" -eq 124 ] || [ "$code" -eq 137 ]; then
    failed+=("$name was stopped at its limit of $limit s")
  elif [ "$code" -ne 0 ]; then
    failed+=("$name ended with exit code $code")
  fi
}

head_of_table | tee "$work/head.md"

# what the tests counted and measured, for the table
correctness_of_the_card() {
  local counts='s/^\[ *([0-9]+) tests (successful|failed|aborted|skipped) *\]$/ \1 \2/p'
  echo "- tests on the card:$(sed -nE "$counts" "$out/correctness.log" | paste -sd,)"
  awk -F ': error/reference = ' 'NF == 2 {
      sub(/,.*/, "", $1)
      checks[$1]++
      if ($2 + 0 > largest[$1]) largest[$1] = $2 + 0
    }
    END {
      for (kind in checks)
        printf "- attention, %s: error/reference %.1e at most, in %d checks\n", kind, largest[kind], checks[kind]
    }' "$out/correctness.log"
  sed -n 's/^keys and values in/- golden prompts, keys and values in/p' "$out/correctness.log"
}

mapfile -t classes < <(sed 's/^/--select-class=/' "$pack/cuda-device-tests")
part correctness 150 "$out/correctness.log" env -C "$work/worker-agent" "${java[@]}" \
  org.junit.platform.console.ConsoleLauncher execute "${classes[@]}" --include-tag=cuda-device --details=tree \
  --details-theme=ascii --disable-banner --disable-ansi-colors --fail-if-no-tests
# a card that cannot be opened skips its tests, which fails none of them
if grep -qE '^\[ *0 tests started *\]$' "$out/correctness.log"; then
  failed+=("correctness did not run: no test got as far as the card")
elif grep -qE '^\[ *[1-9][0-9]* (containers|tests) (skipped|aborted) *\]$' "$out/correctness.log"; then
  failed+=("correctness did not run whole: tests were skipped")
fi
part anchors 60 "$work/anchors.log" python3 "$pack/anchor.py" "$out/anchors.json"
part timings 200 "$work/timings.log" "${java[@]}" dev.warmpath.benchmarks.gpu.GpuTimings "${quick[@]}" \
  --output "$out" --model "$work/model" --anchors "$out/anchors.json" --seconds 170

{
  cat "$work/head.md"
  echo "- clocks, temperature and power after: $(card $now)"
  echo "- whole run: $SECONDS s"
  [ ${#failed[@]} -eq 0 ] || printf -- '- FAILED: %s\n' "${failed[@]}"
  correctness_of_the_card
  grep -F '[X]' "$out/correctness.log" | sed 's/^[^A-Za-z]*/- FAILED TEST: /'
  echo
  cat "$out/timings.md" 2>/dev/null || echo "No case was timed."
} >"$out/table.md"
echo
cat "$out/table.md"
[ ${#failed[@]} -eq 0 ]
