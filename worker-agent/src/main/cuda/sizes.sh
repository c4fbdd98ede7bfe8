#!/usr/bin/env bash
# Writes kernel_sizes.cuh: the numbers that kernels and their callers must agree on, taken from where the callers have
# them, the `static final int`s of KernelSizes.java, and those by which rows say what is asked of them and told.
#
#   sizes.sh DIRECTORY
set -euo pipefail

java=$(cd "$(dirname "${BASH_SOURCE[0]}")/../java/dev/warmpath/worker/compute" && pwd)
number='^    (public )?static final int ([A-Z0-9_]+) = (-?[0-9]+);.*'
unread=$(grep -hE '^ .*static final int ' "$java/cuda/KernelSizes.java" | grep -vE "$number" || true)
if [ -n "$unread" ]; then
  echo "sizes.sh reads plain numbers that stand on one line, not:"$'\n'"$unread" >&2
  exit 1
fi
mkdir -p "$1"
{
  echo "// Made by sizes.sh of KernelSizes.java, SampledTokens.java, ScoredTokens.java and LogitAdjustments.java;"
  echo "// not to be edited."
  echo "#pragma once"
  echo
  sed -nE "s/$number/constexpr int \2 = \3;/p" "$java/cuda/KernelSizes.java" "$java/SampledTokens.java" \
    "$java/ScoredTokens.java" "$java/LogitAdjustments.java"
} >"$1/kernel_sizes.cuh.$$"
mv "$1/kernel_sizes.cuh.$$" "$1/kernel_sizes.cuh"
