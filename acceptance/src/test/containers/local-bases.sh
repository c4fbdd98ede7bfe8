#!/usr/bin/env bash
# local-bases.sh JDK PREFIX: the images that ours are built on, made of what this machine has, where no registry can be
# asked: PREFIX/jdk (the folder JDK at /opt/jdk) and PREFIX/runtime (shared libraries and the user 65532).
set -euo pipefail
jdk=$1 prefix=$2
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
root=$context/root
mkdir -p "$root"/{etc,proc,sys,dev,home/nonroot}
install -d -m 1777 "$root/tmp"
printf 'root:x:0:0:root:/:/none\nnonroot:x:65532:65532:nonroot:/home/nonroot:/none\n' >"$root/etc/passwd"
printf 'root:x:0:\nnonroot:x:65532:\n' >"$root/etc/group"
printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"
# what a JVM links to, with the program that loads it; the tokenizers' library wants C++'s, names are found by nss's
for file in "$jdk/bin/java" "$jdk/lib/server/libjvm.so"; do
  ldd "$file" | awk '$2 == "=>" && $3 ~ "^/" {print $3} $1 ~ "^/lib.*ld-linux" {print $1}'
done | grep -v "^$jdk/" >"$context/libraries"
for name in libstdc++.so.6 libgcc_s.so.1 libm.so.6 libnss_dns.so.2 libnss_files.so.2 libresolv.so.2; do
  ldconfig -p | awk -v name="$name" '$1 == name && /x86-64|AArch64/ {print $NF; exit}' >>"$context/libraries"
done
sort -u "$context/libraries" | while read -r library; do
  install -D -m 755 "$(realpath "$library")" "$root$library"
done
# a JDK of a package links to the system's certificates
certificates=$(realpath "$jdk/lib/security/cacerts")
[ "${certificates#"$(realpath "$jdk")/"}" != "$certificates" ] || install -D -m 644 "$certificates" "$root$certificates"
printf 'FROM scratch\nCOPY root/ /\nUSER 65532:65532\n' >"$context/Dockerfile"
podman build -q -t "$prefix/runtime" "$context"
printf 'FROM %s/runtime\nUSER 0\nCOPY . /opt/jdk\nENV PATH=/opt/jdk/bin LANG=C.UTF-8\n' "$prefix" >"$context/Dockerfile"
podman build -q -t "$prefix/jdk" -f "$context/Dockerfile" "$jdk"
