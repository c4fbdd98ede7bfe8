#!/usr/bin/env bash
# program-image.sh IMAGE BASE PROGRAM...: an image of programs of this machine, or of files, with the libraries that they
# need, at the same names under /usr/bin. The first program is what runs.
set -euo pipefail
image=$1 base=$2
shift 2
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
for program in "$@"; do
  file=$(realpath "$(command -v "$program")")
  install -D -m 755 "$file" "$context/root/usr/bin/$(basename "$program")"
  # whatever is linked statically needs none
  { ldd "$file" 2>/dev/null || true; } | awk '$2 == "=>" && $3 ~ "^/" {print $3} $1 ~ "^/lib.*ld-linux" {print $1}'
done | sort -u | while read -r library; do
  install -D -m 755 "$(realpath "$library")" "$context/root$library"
done
printf 'FROM %s\nCOPY root/ /\nENV PATH=/usr/bin\nENTRYPOINT ["/usr/bin/%s"]\n' "$base" "$(basename "$1")" \
  >"$context/Dockerfile"
podman build -q -t "$image" "$context"
