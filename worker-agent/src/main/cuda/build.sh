#!/usr/bin/env bash
# Compiles kernels.cu into one fatbin for the class path: machine code of sm_80 and sm_90, and PTX of compute_90 that
# drivers compile for later cards.
#
#   build.sh [TARGET]        TARGET: worker-agent/target unless given
#
# Leaves TARGET/classes/dev/warmpath/worker/compute/cuda/kernels.fatbin, the toolkit's version beside it, and, for the tests, TARGET/cuda/: report.txt
# (registers, stack and spills of each kernel), compute_80.ptx, compute_90.ptx. Compiles only if a source, this script
# or the compiler changed; two builds at a time wait for each other. The compiler is $WARMPATH_NVCC if set (`none`:
# leave the kernels out), else that of CUDA 12.9 or 12.8 in /usr/local, whose machine code runs on every driver that
# can run ours (13's needs R580 or newer), else nvcc on the PATH, in $CUDA_HOME/bin, in /usr/local/cuda/bin. Without one
# there is no fatbin afterwards, an older one neither, and the script succeeds: a worker then computes on its processor. Naming one
# that does not run is an error.
set -euo pipefail

sources=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=${1:-$sources/../../../target}
package=$target/classes/dev/warmpath/worker/compute/cuda
fatbin=$package/kernels.fatbin
toolkit=$package/kernels.toolkit
reports=$target/cuda
stamp=$reports/built-from

find_nvcc() {
  if [ -n "${WARMPATH_NVCC:-}" ]; then
    echo "$WARMPATH_NVCC"
    return
  fi
  local candidate
  for candidate in /usr/local/cuda-12.9/bin/nvcc /usr/local/cuda-12.8/bin/nvcc "$(command -v nvcc || true)" "${CUDA_HOME:-}/bin/nvcc" /usr/local/cuda/bin/nvcc; do
    if [ -x "$candidate" ]; then
      echo "$candidate"
      return
    fi
  done
}

leave_out() {
  rm -rf "$fatbin" "$toolkit" "$reports"
  echo "CUDA KERNELS LEFT OUT: $1; the worker runs on processors only" >&2
  exit 0
}

nvcc=$(find_nvcc)
case $nvcc in
  none) leave_out "WARMPATH_NVCC=none asks for it" ;;
  "") leave_out "no nvcc on PATH, CUDA_HOME or /usr/local/cuda" ;;
esac
version=$("$nvcc" --version 2>/dev/null) || version=
release=$(sed -n 's/^Cuda compilation tools, release \([^,]*\).*/\1/p' <<<"$version")
if [ -z "$release" ]; then
  echo "$nvcc is no nvcc that runs here; correct WARMPATH_NVCC, or set it to none to leave the CUDA kernels out" >&2
  exit 1
fi
mkdir -p "$target"
exec 9>"$target/cuda.lock"
flock 9
"$sources/sizes.sh" "$target/cuda-sizes"
built_from=$version$(cat "$sources"/*.cu* "$sources/build.sh" "$target/cuda-sizes"/*.cuh | cksum)
if [ -f "$fatbin" ] && [ "$built_from" = "$(cat "$stamp" 2>/dev/null)" ]; then
  exit 0
fi

compile() {
  rm -rf "$fatbin" "$toolkit" "$reports"
  mkdir -p "$package" "$reports/kept"
  if ! "$nvcc" "$@" -std=c++17 -O3 -Werror all-warnings -Xptxas -v --keep --keep-dir "$reports/kept" \
      -gencode arch=compute_80,code=sm_80 -gencode "arch=compute_90,code=[sm_90,compute_90]" \
      -I "$target/cuda-sizes" -fatbin -o "$reports/kernels.fatbin" "$sources/kernels.cu" >"$reports/report.txt" 2>&1; then
    cat "$reports/report.txt"
    exit 1
  fi
}

# Whether each kernel's three lines (its name, stack and spills, registers) follow each other. Two assemblers write the
# report; should they do so at the same moment, nobody could say whose registers are whose.
is_in_order() {
  awk '/Compiling entry function/ {line = 1} /Function properties/ {line = 2} /registers/ {line = 3}
    line {if (line != last % 3 + 1) exit mixed = 1; last = line; line = 0} END {exit mixed}' "$reports/report.txt"
}

compile --threads 2
is_in_order || compile
mv "$reports/kept/kernels.compute_80.ptx" "$reports/compute_80.ptx"
mv "$reports/kept/kernels.compute_90.ptx" "$reports/compute_90.ptx"
rm -rf "$reports/kept"
echo "$release" >"$toolkit"
mv "$reports/kernels.fatbin" "$fatbin"
echo "$built_from" >"$stamp"
echo "CUDA kernels: $(wc -c <"$fatbin") bytes in $SECONDS s by nvcc $release"
