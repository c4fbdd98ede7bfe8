#!/usr/bin/env bash
# Builds the emulated device: the kernels and a fake driver and cuBLASLt that run them, in one shared library.
#
#   build.sh LIBRARY [COMPILER]        COMPILER: g++ unless given
#
# Builds only if a source changed; two builds at a time wait for each other.
set -euo pipefail

library=$1
compiler=${2:-g++}
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kernels=$(cd "$tests/../../main/cuda" && pwd)
work=$(dirname "$library")
mkdir -p "$work"

exec 9>"$work/lock"
flock 9
"$kernels/sizes.sh" "$work"
built_from=$("$compiler" --version | head -1; cat "$tests"/* "$kernels"/*.cu* "$work/kernel_sizes.cuh" | cksum)
if [ -f "$library" ] && [ "$built_from" = "$(cat "$work/built-from" 2>/dev/null)" ]; then
  exit 0
fi
rm -f "$library" "$work"/*.o

# No fused multiply-adds that the sources do not ask for: results are the same on every processor.
options=(-std=c++17 -O2 -ffp-contract=off -fPIC -fno-strict-aliasing -Wall -Wextra -Werror -Wno-unknown-pragmas
  -Wno-unused-parameter -DWARMPATH_EMULATED -I "$tests" -I "$kernels" -I "$work")

"$compiler" "${options[@]}" -E -P -DLIST_KERNELS -x c++ - <<<'#include "emulator_test_kernels.cu"
#include "kernels.cu"' | tr '\n' ' ' | grep -oE '__global__[^;{}()]*[ *]([a-z0-9_]+) *\(' \
  | sed -E 's/.*[ *]([a-z0-9_]+) *\($/KERNEL(\1)/' | sort -u >"$work/kernel_names.inc"

compilations=()
for source in kernel_table emulator fake_device fake_driver fake_cublaslt; do
  extra=(-O3)
  if [ "$source" = kernel_table ]; then
    # What a card does in these cases is not what this processor does: they are errors.
    extra=(-fsanitize=alignment,bounds,shift-exponent,float-cast-overflow -fsanitize-undefined-trap-on-error)
  fi
  "$compiler" "${options[@]}" "${extra[@]}" -c "$tests/$source.cpp" -o "$work/$source.o" &
  compilations+=($!)
done
for compilation in "${compilations[@]}"; do
  wait "$compilation"
done
"$compiler" -shared -Wl,-z,defs -o "$library.new" "$work"/*.o -lpthread
mv "$library.new" "$library"
echo "$built_from" >"$work/built-from"
