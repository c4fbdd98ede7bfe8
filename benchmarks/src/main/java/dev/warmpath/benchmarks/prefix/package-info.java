/**
 * What the router's prefix index costs at 100 workers of 100,000 blocks: memory, matches alone and beside a writer,
 * changes and snapshots. Built and run from the repository's root with
 * <pre>
 *   mvn -q -B -pl benchmarks -am package dependency:build-classpath -DskipTests -Dmdep.outputFile=target/classpath
 *   java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) org.openjdk.jmh.Main benchmarks.prefix
 *   java -Xmx3g -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        dev.warmpath.benchmarks.prefix.PrefixIndexFootprint
 * </pre>
 * {@link dev.warmpath.benchmarks.prefix.IndexRows} measures among conversations that share system prompts, in a world
 * that {@code benchmarks/index-peers} asks other routers' indexes about.
 * The tables are larger than the caches and the chains are drawn at random, so memory's latency rules: another program
 * on the machine that uses the cache makes every figure worse.
 */
@NullMarked
package dev.warmpath.benchmarks.prefix;

import org.jspecify.annotations.NullMarked;
