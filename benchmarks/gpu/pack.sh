#!/usr/bin/env bash
# Packs what run.sh needs on a GPU machine without a JDK or network: a Java runtime, the worker's classes and tests with
# their few libraries, the kernels (if nvcc is here) and the tiny model.
#
#   pack.sh        leaves benchmarks/gpu/target/pack, which may also be copied there and run on its own
#
# Needs a JDK 25, Maven and xz. Of the libraries it takes only those that engine, model and tests load: Spring and Netty
# stay behind, a GPU machine serves nobody here. JUnit's console is fetched by Maven and no dependency of the build.
set -euo pipefail

gpu=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$gpu/../.." && pwd)
pack=$gpu/target/pack
largest_mib=60
modules=java.base,java.logging,java.naming,java.xml,jdk.incubator.vector,jdk.unsupported
libraries='jackson-core|jackson-databind|jackson-annotations|slf4j-api|logback-core|logback-classic'
libraries+='|assertj-core|jspecify'

find_jdk() {
  local home
  for home in "${JAVA_HOME:-/nowhere}" /usr/lib/jvm/*25*; do
    if [ -x "$home/bin/jlink" ] && grep -q '^JAVA_VERSION="25' "$home/release"; then
      echo "$home"
      return
    fi
  done
  echo "pack.sh: no JDK 25 in JAVA_HOME or /usr/lib/jvm" >&2
  return 1
}

jdk=$(find_jdk)
rm -rf "$gpu/target"
mkdir -p "$pack/lib"

cd "$root"
mvn -q -B -pl benchmarks -am test-compile dependency:build-classpath \
  -Dmdep.includeScope=test -Dmdep.outputFile=target/classpath
tr ':' '\n' <benchmarks/target/classpath | grep -E "/($libraries)-[0-9][^/]*\.jar$" | xargs -I{} cp {} "$pack/lib/"
junit=$(tr ':' '\n' <benchmarks/target/classpath | sed -n 's/.*junit-platform-engine-\(.*\)\.jar$/\1/p')
mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:copy \
  -Dartifact="org.junit.platform:junit-platform-console-standalone:$junit" -DoutputDirectory="$pack/lib"
"$jdk/bin/jar" -c -f "$pack/lib/kv-protocol.jar" -C kv-protocol/target/classes .
"$jdk/bin/jar" -c -f "$pack/lib/worker-agent.jar" -C worker-agent/target/classes .
"$jdk/bin/jar" -c -f "$pack/lib/worker-agent-tests.jar" -C worker-agent/target/test-classes .
"$jdk/bin/jar" -c -f "$pack/lib/benchmarks.jar" -C benchmarks/target/classes dev/warmpath/benchmarks/gpu
# JUnit is told the classes by name: looking through all of them would load what was left behind
grep -rl '@OnCard$' worker-agent/src/test/java | sed 's:.*/java/::; s:\.java$::; s:/:.:g' | sort \
  >"$pack/cuda-device-tests" || { echo "pack.sh: no test is @OnCard" >&2; exit 1; }

fatbin=dev/warmpath/worker/compute/cuda/kernels.fatbin
if [ -f "worker-agent/target/classes/$fatbin" ]; then
  mkdir -p "$pack/kernels/${fatbin%/*}"
  cp "worker-agent/target/classes/$fatbin" "$pack/kernels/$fatbin"
else
  echo "pack.sh: no nvcc here, the kernels have to be compiled on the GPU machine"
fi

cp "$gpu/run.sh" "$gpu/anchor.py" "$pack/"
cp -r worker-agent/src/main/cuda "$pack/cuda"
mkdir "$pack/models"
cp -r models/warmpath-tiny "$pack/models/"
rm -rf "$pack/models/warmpath-tiny/train"
{
  git rev-parse --short HEAD
  [ -z "$(git status --porcelain --untracked-files=no)" ] || echo "with changes that are not committed"
} | paste -sd' ' >"$pack/COMMIT"

# uncompressed modules and xz over all of them: half of what compressed modules come to
"$jdk/bin/jlink" --add-modules "$modules" --strip-debug --no-header-files --no-man-pages --compress=zip-0 \
  --output "$gpu/target/jre"
tar -C "$gpu/target" -c jre | xz -9 -T0 >"$pack/jre.tar.xz"
rm -rf "$gpu/target/jre"

size_kib=$(du -sk "$pack" | cut -f1)
echo "pack: $((size_kib / 1024)) MiB of at most $largest_mib in $pack, commit $(cat "$pack/COMMIT")"
[ "$size_kib" -le $((largest_mib * 1024)) ] || { echo "pack.sh: the pack is too large" >&2; exit 1; }
